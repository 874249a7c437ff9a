"""jfl in a Python program, by ctypes alone: a Lua text defines a network that learns the sine, and
Python trains it in the background, asks it and saves it. It shows that libjfl.so can be used from
any language that calls C. With numpy, `pip install scripts/package/python` does the same in less.

    python3 examples/embed.py [build/libjfl.so]

Where jfl is installed its name is enough: python3 embed.py libjfl.so.1
"""
import ctypes as c
import math
import random
import sys

ROWS = 64

NETWORK = b"""
local flow = require "jfl"
local tp = flow.typing
flow.random.seed(1)

local function network(x)
  x = flow.layers.dense(x, 32, { activation = flow.math.tanh, name = "hidden" })
  return flow.layers.dense(x, 1, { name = "output" })
end

flow.global_function { name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder { -1, 1 } }, { "y", tp.Numpy.Placeholder { -1, 1 } } },
  body = function(x, y)
    local loss = flow.math.reduce_mean(flow.math.squared_difference(network(x), y))
    flow.optimizer.Adam(0.01):minimize(loss)
    return loss
  end }

flow.global_function { name = "predict", returns = tp.Numpy, body = network,
  inputs = { { "x", tp.Numpy.Placeholder { -1, 1 } } } }
"""


class Shape(c.Structure):
    _fields_ = [("n", c.c_int), ("d", c.c_int64 * 8)]


Done = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)
object_p, objects = c.c_void_p, c.POINTER(c.c_void_p)

# What each function gives and takes: without this ctypes takes pointers for numbers of 32 bits.
FUNCTIONS = {
    "jfl_version": (c.c_char_p,),
    "jfl_errmsg": (c.c_char_p,),
    "jfl_array_new": (c.c_int, c.c_int, c.POINTER(Shape), objects),
    "jfl_array_data": (object_p, object_p),
    "jfl_array_unref": (None, object_p),
    "jfl_script_new": (c.c_int, c.c_void_p, objects),
    "jfl_script_free": (None, object_p),
    "jfl_script_run": (c.c_int, object_p, c.c_char_p, c.c_size_t, c.c_char_p),
    "jfl_script_job_find": (c.c_int, object_p, c.c_char_p, objects),
    "jfl_script_call": (c.c_int, object_p, objects, c.c_int, objects, c.c_int),
    "jfl_script_submit": (c.c_int, object_p, objects, c.c_int, Done, c.c_void_p, objects),
    "jfl_script_poll": (c.c_int, object_p, c.c_double, c.POINTER(c.c_int)),
    "jfl_script_sync": (c.c_int, object_p),
    "jfl_script_pending": (c.c_int, object_p),
    "jfl_script_save": (c.c_int, object_p, c.c_char_p, c.c_int),
    "jfl_request_status": (c.c_int, object_p),
    "jfl_request_output": (object_p, object_p, c.c_int),
}


def library(path):
    lib = c.CDLL(path)
    for name, (gives, *takes) in FUNCTIONS.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = gives, takes
    return lib


jfl = library(sys.argv[1] if len(sys.argv) > 1 else "build/libjfl.so")


def check(status):
    if status:
        raise RuntimeError(jfl.jfl_errmsg().decode())


def made(function, *arguments):
    """What a function gives by its last argument."""
    out = c.c_void_p()
    check(function(*arguments, c.byref(out)))
    return out


def floats(array, count):
    return (c.c_float * count).from_address(jfl.jfl_array_data(array))


def fill(array, numbers):
    floats(array, ROWS)[:] = numbers


def main():
    script = made(jfl.jfl_script_new, None)
    check(jfl.jfl_script_run(script, NETWORK, len(NETWORK), b"=network"))
    train = made(jfl.jfl_script_job_find, script, b"train")
    predict = made(jfl.jfl_script_job_find, script, b"predict")
    column = Shape(2, (c.c_int64 * 8)(ROWS, 1))
    x = made(jfl.jfl_array_new, 0, column)
    y = made(jfl.jfl_array_new, 0, column)

    losses = []

    @Done
    def note(_, request):
        check(jfl.jfl_request_status(request))
        losses.append(floats(jfl.jfl_request_output(request, 0), 1)[0])

    random.seed(1)
    pair = (c.c_void_p * 2)(x, y)
    for _ in range(2000):
        angles = [random.uniform(-math.pi, math.pi) for _ in range(ROWS)]
        fill(x, angles)
        fill(y, [math.sin(a) for a in angles])
        check(jfl.jfl_script_submit(train, pair, 2, note, None, None))     # copies both
        check(jfl.jfl_script_poll(script, 0.001, None))  # callbacks run here, and nowhere else
        if jfl.jfl_script_pending(script) == 2:          # as many as a job may have in flight
            check(jfl.jfl_script_sync(script))
    check(jfl.jfl_script_sync(script))
    print("jfl %s: loss %.5f, then %.5f" % (jfl.jfl_version().decode(), losses[0], losses[-1]))

    fill(x, [-3 + 6 * i / (ROWS - 1) for i in range(ROWS)])
    answer = (c.c_void_p * 1)()
    check(jfl.jfl_script_call(predict, (c.c_void_p * 1)(x), 1, answer, 1))
    worst = max(abs(a - math.sin(b)) for a, b in zip(floats(answer[0], ROWS), floats(x, ROWS)))
    print("the largest error is %.3f" % worst)
    check(jfl.jfl_script_save(script, b"sine", 1))

    try:                                                 # errors are exceptions here
        made(jfl.jfl_script_job_find, script, b"tarin")
    except RuntimeError as error:
        print(error)
    for array in (x, y, answer[0]):
        jfl.jfl_array_unref(array)
    jfl.jfl_script_free(script)
    return 0 if worst < 0.1 and len(losses) == 2000 else 1


if __name__ == "__main__":
    sys.exit(main())
