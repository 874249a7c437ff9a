"""Misuse of libjfl.so by ctypes, on several threads: freed and wrong objects, NULL, and a function
of the host that raises. Usage: misuse.py build/libjfl.so"""
import ctypes
import gc
import sys
import threading

jfl = ctypes.CDLL(sys.argv[1])
jfl.jfl_errmsg.restype = ctypes.c_char_p
ROUNDS, THREADS = 200, 4
CALLED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
                          ctypes.c_void_p)
wrong = []
sys.unraisablehook = lambda what: None


def check(ok, what):
    if not ok:
        wrong.append("%s: %s" % (what, jfl.jfl_errmsg().decode()))


def says(text):
    return text in jfl.jfl_errmsg().decode()


@CALLED
def raises(ud, arg, count, result):
    raise ValueError("on purpose")        # ctypes tells the hook and gives 0


def run(script, text):
    data = text.encode()
    return jfl.jfl_script_run(script, data, ctypes.c_size_t(len(data)), b"text")


def misuse():
    for _ in range(ROUNDS):
        script = ctypes.c_void_p()
        check(jfl.jfl_script_new(None, ctypes.byref(script)) == 0, "a script")
        check(jfl.jfl_script_define(script, b"raises", raises, None) == 0, "a function")
        check(run(script, "raises()") == 0, "a function that raises")
        check(run(None, "x = 1") and says("NULL"), "NULL")
        check(jfl.jfl_session_set(script, None) and says("must be a session"), "another kind")
        jfl.jfl_script_free(script)
        check(run(script, "x = 1") and says("script"), "use after it was freed")
        jfl.jfl_script_free(script)
        check(says("script"), "freed twice")
        gc.collect(0)


threads = [threading.Thread(target=misuse) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("\n".join(sorted(set(wrong))) or "well")
