-- What examples/embed_script.c runs: the jobs, described in Lua and called from C.
-- luacheck: globals report show
local flow = require "jfl"
local tp = flow.typing

flow.random.seed(1)
flow.config.background(true)           -- what draws frames goes first

local function network(x)
  local hidden = flow.layers.dense(x, 32, { activation = flow.math.tanh, name = "hidden",
    kernel_initializer = flow.random_normal_initializer() })
  return flow.layers.dense(hidden, 1, { name = "out" })
end

flow.global_function {
  name = "train",
  type = "train",
  inputs = {
    { "x", tp.Numpy.Placeholder({ 64, 1 }) },
    { "y", tp.Numpy.Placeholder({ 64, 1 }) },
  },
  returns = tp.Numpy,
  body = function(x, y)
    local loss = flow.math.squared_difference(network(x), y)
    flow.optimizer.Adam(0.01):minimize(loss)
    return loss
  end,
}

flow.global_function {
  name = "ask",
  inputs = { { "x", tp.Numpy.Placeholder({ -1, 1 }) } },
  returns = tp.Numpy,
  body = network,
}

--- The program calls this after each step, and draws what it shows; true ends the training.
function report(steps, loss)
  show(("%d steps, loss %.4f"):format(steps, loss))
  return loss < 0.0003 or steps == 10000
end
