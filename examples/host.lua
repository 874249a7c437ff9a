-- What examples/host.c runs: training that goes on while the host does other things. The host calls
-- what this returns.
local flow = require "jfl"

local BATCH, STEPS = 64, 2000

flow.random.seed(1)

local sine = flow.model("sine", function(x)
  local hidden = flow.layers.dense(x, 32, { activation = flow.math.tanh, name = "hidden" })
  return flow.layers.dense(hidden, 1, { name = "out" })
end)

local train = sine:train {
  inputs = { x = flow.float32 { BATCH, 1 }, y = flow.float32 { BATCH, 1 } },
  loss = flow.nn.mse_loss,
  optimizer = flow.optimizer.Adam(0.01),
  returns = flow.typing.Callback(flow.typing.Numpy),
}

local host = { done = 0, loss = nil }

-- Each callback submits the next step, so one is always out and none piles up.
local function submit()
  local x = flow.random.uniform({ BATCH, 1 }, { minval = -3, maxval = 3 })
  train(x, flow.math.sin(x))(function(loss)
    host.done, host.loss = host.done + 1, loss:mean()
    if host.done < STEPS then submit() end
  end)
end

host.start = submit
host.fd = flow.fd

--- Runs callbacks that are due, for at most 2 ms of a frame; gives whether more is to be done.
function host.poll()
  flow.poll(0.002)
  return host.done < STEPS
end

function host.report()
  return ("%d steps, loss %.4f"):format(host.done, host.loss)
end

return host
