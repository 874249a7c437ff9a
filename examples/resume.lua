-- Training that goes on after a process was killed, with the same result as without that:
--
--   jfl --ranks 2 --restart 5 examples/resume.lua [folder] [steps]
--
-- Each rank computes its part of every batch. The folder keeps checkpoints, with the place in the
-- data; whatever happened since the last of them is done again.
local flow = require "jfl"
local tp = flow.typing

local folder, steps = arg[1] or "./resume", tonumber(arg[2] or 200)
local BATCH, SAMPLES = 32, 320

flow.random.seed(1)

-- A network learns the sine from points of it.
local train = flow.global_function {
  name = "train",
  type = "train",
  inputs = {
    { "x", tp.Numpy.Placeholder({ BATCH, 1 }) },
    { "y", tp.Numpy.Placeholder({ BATCH, 1 }) },
  },
  returns = tp.Numpy,
  body = function(x, y)
    local h = flow.layers.dense(x, 32, { activation = flow.math.tanh, name = "hidden" })
    local error = flow.layers.dense(h, 1, { name = "out" }) - y
    local loss = flow.math.reduce_mean(error * error)
    flow.optimizer.Adam(0.01):minimize(loss)
    return loss
  end,
}

local points, sines = {}, {}
for i = 1, SAMPLES do
  points[i] = { i / SAMPLES * 6 - 3 }
  sines[i] = { math.sin(points[i][1]) }
end
local set = { { "x", flow.ndarray.array(points) }, { "y", flow.ndarray.array(sines) } }

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
