-- What examples/embed_script.c runs: the jobs, described in Lua and called from C.
-- luacheck: globals report show
local flow = require "jfl"

flow.random.seed(1)
flow.config.background(true)           -- what draws frames goes first

local sine = flow.model("sine", function(x)
  local hidden = flow.layers.dense(x, 32, { activation = flow.math.tanh, name = "hidden",
    kernel_initializer = flow.random_normal_initializer() })
  return flow.layers.dense(hidden, 1, { name = "out" })
end)

-- The jobs are called sine-train and sine-predict.
sine:train { inputs = { x = flow.float32 { 64, 1 }, y = flow.float32 { 64, 1 } },
  loss = flow.nn.mse_loss,
  optimizer = flow.optimizer.Adam(0.01) }
sine:predict { inputs = { flow.float32 { -1, 1 } } }

--- The program calls this after each step, and draws what it shows; true ends the training.
function report(steps, loss)
  show(("%d steps, loss %.4f"):format(steps, loss))
  return loss < 0.0003 or steps == 10000
end
