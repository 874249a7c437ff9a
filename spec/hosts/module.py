"""The module jfl of scripts/package/python: trains, asks, saves, loads and is told of mistakes."""
import os
import sys

import numpy as np

import jfl

NETWORK = """
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
flow.global_function { name = "parts", returns = tp.Dict(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder { 3 } }, { "by", tp.Numpy.Placeholder({}, flow.int32) } },
  body = function(x, by)
    return { sum = flow.math.reduce_sum(x), scaled = x * flow.cast(by, flow.float) }
  end }
flow.global_function { name = "both", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder { 2, 2 } } },
  body = function(x) return flow.cast(x, flow.bfloat16), flow.cast(x, flow.int8) end }
"""


LENGTHS = """
local flow = require "jfl"
flow.global_function { name = "mean", inputs = { x = flow.float32 { -1, { max = 5 } } },
  body = function(x) return flow.math.reduce_sum(x, 1) / x.shape[2] end }
"""


def fails(call, text):
    try:
        call()
    except jfl.Error as error:
        assert text in str(error), str(error)
    else:
        raise AssertionError("no error with: " + text)


def trains(script):
    train, predict = script.job("train"), script.job("predict")
    random = np.random.default_rng(1)
    for _ in range(1500):
        x = random.uniform(-3, 3, (64, 1)).astype("float32")
        loss = train(x, np.sin(x))
    assert loss < 0.01, loss
    x = np.linspace(-2.5, 2.5, 50, dtype="float32").reshape(50, 1)
    assert abs(predict(x) - np.sin(x)).max() < 0.1
    return x, predict(x)


def gives_results(script):
    parts = script.job("parts")([1, 2, 3], 2)
    assert parts["sum"] == 6 and (parts["scaled"] == [2, 4, 6]).all()
    turned = np.arange(4, dtype="float32").reshape(2, 2).T
    wide, small = script.job("both")(turned)
    assert wide.dtype == np.float32 and small.dtype == np.int8
    assert (wide == [[0, 2], [1, 3]]).all() and (small == wide).all()
    assert script.job("train").inputs == [("x", "float32", (-1, 1)), ("y", "float32", (-1, 1))]
    assert [job.name for job in script.jobs] == ["train", "predict", "parts", "both"]


def takes_what_fits(script):
    script.run(LENGTHS)
    mean = script.job("mean")
    assert mean.inputs == [("x", "float32", (-1, -1))] and mean.bounds == {"x": (-1, 5)}
    for n in range(1, 6):
        x = np.arange(2 * n, dtype="float32").reshape(2, n)
        assert (mean(x) == x.sum(1) / np.float32(n)).all()
    fails(lambda: mean(np.zeros((1, 6), "float32")), "must be 1 to 5 long, got 6")


def goes_on_behind(script, x):
    got, predict = [], script.job("predict")
    for _ in range(5):
        predict.submit(x, done=got.append)
    predict.submit(x)
    script.sync()
    assert len(got) == 5 and (got[0] == predict(x)).all()
    predict.submit(x, done=lambda _: fails(lambda: script.run("error 'no'"), "no"))
    script.sync()


def tells(script):
    fails(lambda: script.job("tarin"), "did you mean train")
    fails(lambda: script.job("question"), "; its jobs are both, parts, predict, train")
    fails(lambda: script.job("predict")(), "predict: takes 1 arguments (x), got 0")
    fails(lambda: script.job("predict")(np.zeros((2, 2), "float32")), "must be of shape (2, 1)")
    fails(lambda: script.job("predict")(np.array([["a"]])), "an array must be of one of float32")
    fails(lambda: jfl.text("x =", "@net.lua"), "net.lua:1:")


def main():
    script = jfl.text(NETWORK)
    x, before = trains(script)
    gives_results(script)
    takes_what_fits(jfl.Script())
    goes_on_behind(script, x)
    tells(script)
    script.save("model")
    with open("net.lua", "w") as file:
        file.write(NETWORK)
    other = jfl.script("net.lua")
    assert not (other.job("predict")(x) == before).all()
    other.load("model")
    assert (other.job("predict")(x) == before).all()
    assert os.path.exists("model/model.safetensors")
    print("well with jfl " + jfl.version())


if __name__ == "__main__":
    sys.exit(main())
