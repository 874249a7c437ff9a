"""jfl in Python: a Lua script defines jobs, Python calls them with numpy's arrays.

    import jfl
    script = jfl.script("train.lua")
    loss = script.job("train")(images, labels)
    script.save("model")

It needs libjfl.so, which `make install` puts at its place. JFL_LIBRARY names another.
"""
import ctypes as c
import os
import shutil
import sys
import weakref

import numpy

__all__ = ["Error", "Job", "Script", "script", "text", "version"]


class Error(RuntimeError):
    """What jfl says went wrong."""


# ---- the library ----

class _Shape(c.Structure):
    _fields_ = [("n", c.c_int), ("d", c.c_int64 * 8)]


_Done = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)
_object, _objects = c.c_void_p, c.POINTER(c.c_void_p)
_integer = c.POINTER(c.c_int)

_FULL = 9                            # JFL_EFULL: as many calls are under way as may be

# What each function gives and takes: without this ctypes takes pointers for numbers of 32 bits.
_FUNCTIONS = {
    "jfl_version": (c.c_char_p,),
    "jfl_errmsg": (c.c_char_p,),
    "jfl_array_new": (c.c_int, c.c_int, c.POINTER(_Shape), _objects),
    "jfl_array_data": (_object, _object),
    "jfl_array_dtype": (c.c_int, _object),
    "jfl_array_shape": (c.POINTER(_Shape), _object),
    "jfl_array_cast": (c.c_int, _object, c.c_int, c.c_int, _objects),
    "jfl_array_ref": (_object, _object),
    "jfl_array_unref": (None, _object),
    "jfl_script_new": (c.c_int, c.c_void_p, _objects),
    "jfl_script_free": (None, _object),
    "jfl_script_run": (c.c_int, _object, c.c_char_p, c.c_size_t, c.c_char_p),
    "jfl_script_jobs": (c.c_int, _object),
    "jfl_script_job_at": (c.c_int, _object, c.c_int, _objects),
    "jfl_script_job_name": (c.c_char_p, _object),
    "jfl_script_job_find": (c.c_int, _object, c.c_char_p, _objects),
    "jfl_script_job_about": (c.c_int, _object, _integer, _integer, _integer),
    "jfl_script_job_input": (c.c_int, _object, c.c_int, c.POINTER(c.c_char_p), _integer,
                             c.POINTER(_Shape)),
    "jfl_script_job_bound": (c.c_int, _object, c.c_int, c.POINTER(_Shape)),
    "jfl_script_job_output": (c.c_int, _object, c.c_int, c.POINTER(c.c_char_p), _integer,
                              c.POINTER(_Shape)),
    "jfl_script_call": (c.c_int, _object, _objects, c.c_int, _objects, c.c_int),
    "jfl_script_submit": (c.c_int, _object, _objects, c.c_int, _Done, c.c_void_p, _objects),
    "jfl_script_poll": (c.c_int, _object, c.c_double, _integer),
    "jfl_script_sync": (c.c_int, _object),
    "jfl_script_save": (c.c_int, _object, c.c_char_p, c.c_int),
    "jfl_script_load": (c.c_int, _object, c.c_char_p, c.c_int),
    "jfl_request_status": (c.c_int, _object),
    "jfl_request_output": (_object, _object, c.c_int),
}


def _places():
    """Where the library may be: as said, as the system finds it, where `make install` puts it, in
    this environment of Python, beside the command jfl."""
    name = {"win32": "jfl.dll"}.get(sys.platform, "libjfl.so.1")
    if "JFL_LIBRARY" in os.environ:
        return [os.environ["JFL_LIBRARY"]]
    prefixes = [sys.prefix, os.path.expanduser("~/.local"), "/usr/local"]
    command = shutil.which("jfl")
    if command:
        prefixes.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(command))))
    return [name] + [os.path.join(prefix, "lib", name) for prefix in prefixes]


def _open():
    failed = []
    for place in _places():
        try:
            library = c.CDLL(place)
        except OSError as error:
            failed.append(str(error))
            continue
        for name, (gives, *takes) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = gives, takes
        return library
    raise Error("libjfl is not there; `make install PREFIX=%s` puts it where it is found, and "
                "JFL_LIBRARY=PATH names another: " % sys.prefix + "; ".join(failed))


_jfl = _open()


def _check(status):
    if status:
        raise Error(_jfl.jfl_errmsg().decode())


def _made(function, *arguments):
    """What a function gives by its last argument."""
    out = c.c_void_p()
    _check(function(*arguments, c.byref(out)))
    return out.value


def version():
    """The library's version."""
    return _jfl.jfl_version().decode()


# ---- arrays ----

# In the order of jfl_dtype.
_NAMES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
_NUMBERS = {name: number for number, name in enumerate(_NAMES)}


def _shape(extents):
    if len(extents) > 8:
        raise Error("an array must have at most 8 axes, got %d" % len(extents))
    return _Shape(len(extents), (c.c_int64 * 8)(*extents))


def _from_numpy(array):
    """A new array of the library with a copy of numpy's."""
    if array.dtype == numpy.bool_:
        array = array.astype(numpy.int8)
    number = _NUMBERS.get(array.dtype.name)
    if number is None:
        raise Error("an array must be of one of %s, got %s" % (", ".join(_NUMBERS), array.dtype))
    if not array.flags.c_contiguous:
        array = array.copy()
    out = _made(_jfl.jfl_array_new, number, _shape(array.shape))
    if array.nbytes:
        c.memmove(_jfl.jfl_array_data(out), array.ctypes.data, array.nbytes)
    return out


def _to_numpy(array):
    """numpy's array of a result, which it takes; numpy has no bfloat16, so that is widened."""
    if _NAMES[_jfl.jfl_array_dtype(array)] == "bfloat16":
        wide = _made(_jfl.jfl_array_cast, array, _NUMBERS["float32"], 0)
        _jfl.jfl_array_unref(array)
        array = wide
    shape = _jfl.jfl_array_shape(array).contents
    dtype = numpy.dtype(_NAMES[_jfl.jfl_array_dtype(array)])
    out = numpy.empty(tuple(shape.d[:shape.n]), dtype)
    if out.nbytes:
        c.memmove(out.ctypes.data, _jfl.jfl_array_data(array), out.nbytes)
    _jfl.jfl_array_unref(array)
    return out


# ---- jobs ----

def _argument(value, name):
    """An argument as numpy's array: numbers of Python as the dtype that the job has."""
    if isinstance(value, numpy.ndarray) or isinstance(value, numpy.generic):
        return numpy.asarray(value)
    array = numpy.asarray(value)
    return array.astype(name) if name in ("float16", "float32") else array


class Job:
    """A job of a script: called with arrays, it gives its results.

    One result is an array. Several are a dictionary by the names that `returns` has, or a tuple
    where it has none."""

    def __init__(self, script, handle):
        self._script, self._handle = script, handle
        self.name = _jfl.jfl_script_job_name(handle).decode()

    def __repr__(self):
        return "<jfl.Job %s>" % self.name

    def _about(self, function, count):
        found = []
        for i in range(count):
            name, dtype, shape = c.c_char_p(), c.c_int(), _Shape()
            _check(function(self._handle, i, c.byref(name), c.byref(dtype), c.byref(shape)))
            found.append((name.value.decode(), _NAMES[dtype.value], tuple(shape.d[:shape.n])))
        return found

    def _count(self, of_results):
        mode, n_in, n_out = c.c_int(), c.c_int(), c.c_int()
        out = c.byref(n_out) if of_results else None
        _check(_jfl.jfl_script_job_about(self._handle, c.byref(mode), c.byref(n_in), out))
        return n_out.value if of_results else n_in.value

    @property
    def inputs(self):
        """Name, dtype and shape of each argument; an extent of -1 varies, see `bounds`."""
        return self._about(_jfl.jfl_script_job_input, self._count(False))

    @property
    def bounds(self):
        """The largest shape of each argument, by name; a first extent of -1 takes any."""
        found = {}
        for i, (name, _, _) in enumerate(self.inputs):
            shape = _Shape()
            _check(_jfl.jfl_script_job_bound(self._handle, i, c.byref(shape)))
            found[name] = tuple(shape.d[:shape.n])
        return found

    @property
    def outputs(self):
        """Name, dtype and shape of each result, for one row where any number is taken."""
        return self._about(_jfl.jfl_script_job_output, self._count(True))

    def _take(self, arguments):
        """The library's arrays of the arguments."""
        wanted, taken = self.inputs, []
        if len(arguments) != len(wanted):
            raise Error("%s: takes %d arguments (%s), got %d" % (
                self.name, len(wanted), ", ".join(name for name, _, _ in wanted), len(arguments)))
        try:
            for value, (_, dtype, _) in zip(arguments, wanted):
                array, number = _from_numpy(_argument(value, dtype)), _NUMBERS[dtype]
                taken.append(array)
                if _jfl.jfl_array_dtype(array) != number:
                    taken[-1] = _made(_jfl.jfl_array_cast, array, number, 1)
                    _jfl.jfl_array_unref(array)
        except Exception:
            self._leave(taken)
            raise
        return (c.c_void_p * len(taken))(*taken), taken

    @staticmethod
    def _leave(arrays):
        for array in arrays:
            _jfl.jfl_array_unref(array)

    def _give(self, arrays):
        """What a call gives, of arrays of numpy."""
        if len(arrays) < 2:
            return arrays[0] if arrays else None
        names = [name for name, _, _ in self.outputs]
        if all(not name[:1].isdigit() for name in names):
            return dict(zip(names, arrays))
        return tuple(arrays)

    def __call__(self, *arguments):
        """Runs the job and gives its results. Arguments are copied, and cast as calls in Lua do."""
        count = self._count(True)
        given, taken = self._take(arguments)
        out = (c.c_void_p * max(count, 1))()
        try:
            _check(_jfl.jfl_script_call(self._handle, given, len(taken), out, count))
        finally:
            self._leave(taken)
        return self._give([_to_numpy(array) for array in out[:count]])

    def submit(self, *arguments, done=None):
        """Runs the job on another thread. done(results) is called by Script.poll or Script.sync; it
        gets an Error where the call failed. Where as many calls are under way as a job may have, it
        waits for those first."""
        count = self._count(True)
        given, taken = self._take(arguments)
        script = self._script

        def finish(_, request):
            script._ended.append(callback)           # which is running now, so it stays till then
            if done is None:
                return
            if _jfl.jfl_request_status(request):
                done(Error(_jfl.jfl_errmsg().decode()))
                return
            outputs = [_jfl.jfl_request_output(request, i) for i in range(count)]
            done(self._give([_to_numpy(_jfl.jfl_array_ref(array)) for array in outputs]))

        callback = _Done(finish)
        call = (self._handle, given, len(taken), callback, None, None)
        try:
            status = _jfl.jfl_script_submit(*call)
            if status == _FULL:
                script.sync()
                status = _jfl.jfl_script_submit(*call)
            _check(status)
            script._running.append(callback)
        finally:
            self._leave(taken)


# ---- scripts ----

class Script:
    """A state of Lua with the jobs that its texts define. It belongs to one thread at a time."""

    def __init__(self):
        self._handle = _made(_jfl.jfl_script_new, None)
        self._running, self._ended = [], []          # callbacks, by whether they were called
        self._jobs = {}
        self._close = weakref.finalize(self, _jfl.jfl_script_free, self._handle)

    def run(self, text, name="=text"):
        """Runs a text of Lua. name: what its errors call it, "@net.lua" for a file."""
        data = text.encode() if isinstance(text, str) else bytes(text)
        _check(_jfl.jfl_script_run(self._handle, data, len(data), name.encode()))

    def job(self, name):
        """The job of that name."""
        handle = _made(_jfl.jfl_script_job_find, self._handle, name.encode())
        if handle not in self._jobs:
            self._jobs[handle] = Job(self, handle)
        return self._jobs[handle]

    @property
    def jobs(self):
        """All jobs, in the order in which they were defined."""
        names = []
        for i in range(_jfl.jfl_script_jobs(self._handle)):
            handle = _made(_jfl.jfl_script_job_at, self._handle, i)
            names.append(_jfl.jfl_script_job_name(handle).decode())
        return [self.job(name) for name in names]

    def poll(self, seconds=-1):
        """Calls what is due of submitted calls, for so many seconds; gives how many."""
        count = c.c_int()
        _check(_jfl.jfl_script_poll(self._handle, seconds, c.byref(count)))
        self._forget()
        return count.value

    def sync(self):
        """Waits for all calls that were submitted."""
        _check(_jfl.jfl_script_sync(self._handle))
        self._forget()

    def _forget(self):
        """Lets go of callbacks that were called."""
        for callback in self._ended:
            self._running.remove(callback)
        self._ended = []

    def save(self, path, overwrite=True):
        """Writes all variables as a checkpoint."""
        _check(_jfl.jfl_script_save(self._handle, os.fsencode(path), int(overwrite)))

    def load(self, path, strict=False):
        """Reads the variables of a checkpoint."""
        _check(_jfl.jfl_script_load(self._handle, os.fsencode(path), int(strict)))


def text(lua, name="=text"):
    """A script of a text of Lua."""
    made = Script()
    made.run(lua, name)
    return made


def script(path):
    """A script of a file of Lua."""
    with open(path, "rb") as file:
        return text(file.read(), "@" + os.fspath(path))
