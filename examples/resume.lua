-- Training that goes on after a process was killed, with the same result as without that:
--
--   jfl --ranks 2 --restart 5 examples/resume.lua
--
-- Each rank computes its part of every batch. The folder keeps checkpoints, with the place in the
-- data; whatever happened since the last of them is done again.
local flow = require "jfl"

local o = flow.arguments "[folder=./resume] [steps=200]"
local folder, steps = o.folder, o.steps
local BATCH, SAMPLES = 32, 320

flow.random.seed(1)

-- A network learns the sine from points of it.
local net = flow.model("sine", function(x)
  return flow.layers.dense(flow.layers.dense(x, 32, { activation = flow.nn.tanh }), 1)
end)

local points = flow.float32 { BATCH, 1 }
local train = net:train { inputs = { x = points, y = points }, loss = flow.nn.mse_loss,
  optimizer = flow.optimizer.Adam(0.01) }

local xs = flow.ndarray.arange(1, SAMPLES + 1):reshape(-1, 1) / SAMPLES * 6 - 3
local set = { { "x", xs }, { "y", flow.math.sin(xs) } }

local manager = flow.train.SimpleCheckPointManager(folder, { keep = 2 })
manager:initialize_or_restore()

local per_epoch = SAMPLES / BATCH
local options = { batch_size = BATCH, shuffle = true, epochs = math.ceil(steps / per_epoch) }
for epoch, i, x, y in flow.data.batches(set, options) do
  local step = (epoch - 1) * per_epoch + i
  local loss = train(x, y)
  if step % 10 == 0 then
    manager:save()
    print(("step %d: loss %.6f"):format(step, loss:item()))
  end
end
