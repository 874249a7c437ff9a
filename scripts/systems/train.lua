-- train.lua make|check FOLDER: one system's training beside another's. make: trains a LeNet from a
-- seed and keeps its losses, its variables and what it then predicts in the folder. check: trains
-- it too and compares the losses with those kept there, of another system; then loads those
-- variables and compares what they predict, from asynchronous calls too. The last line counts.
local flow = require "jfl"
local tp = flow.typing

local STEPS, BATCH, MOST = 8, 10, 1e-5
local what, folder = ...

local function lenet(images)
  local function conv(x, channels, name)
    x = flow.layers.conv2d(x, channels, 5,
      { padding = "SAME", activation = flow.nn.relu, name = name })
    return flow.nn.max_pool2d(x, { ksize = 2, strides = 2, padding = "SAME" })
  end
  local x = conv(conv(images, 32, "conv1"), 64, "conv2")
  x = flow.layers.dense(flow.reshape(x, { BATCH, -1 }), 512,
    { activation = flow.nn.relu, name = "dense1" })
  return flow.layers.dense(x, 10, { name = "dense2" })
end

local inputs = {
  { "images", tp.Numpy.Placeholder({ BATCH, 1, 28, 28 }) },
  { "labels", tp.Numpy.Placeholder({ BATCH }, { dtype = flow.int32 }) },
}
local train = flow.global_function {
  name = "train", type = "train", inputs = inputs, returns = tp.Numpy,
  body = function(images, labels)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, lenet(images))
    flow.optimizer.SGD(0.02, { momentum = 0.9 }):minimize(loss)
    return loss
  end,
}
local predict = flow.global_function {
  name = "predict", inputs = { inputs[1] }, returns = tp.Numpy,
  body = function(images) return flow.nn.softmax(lenet(images)) end,
}
local later = flow.global_function {
  name = "later", inputs = { inputs[1] }, returns = tp.Callback(tp.Numpy),
  body = function(images) return flow.nn.softmax(lenet(images)) end,
}

--- Pictures and labels of step i, by a rule that gives every system the same.
local function batch(i)
  local pixels, labels = {}, {}
  for k = 1, BATCH * 28 * 28 do pixels[k] = math.sin(k * (1 + 0.1 * i) + k * k * 1e-3) end
  for k = 1, BATCH do labels[k] = (k * 7 + i) % 10 end
  local array = flow.ndarray.array
  return array(pixels):reshape({ BATCH, 1, 28, 28 }), array(labels, flow.int32)
end

--- Numbers, one a line.
local function keep(name, list)
  local f = assert(io.open(folder .. "/" .. name, "w"))
  for _, number in ipairs(list) do f:write(("%.9g\n"):format(number)) end
  assert(f:close())
end

local passed, failed = 0, 0
local function compare(name, list)
  local furthest, n = 0, 0
  for line in io.lines(folder .. "/" .. name) do
    n = n + 1
    furthest = math.max(furthest, math.abs(tonumber(line) - (list[n] or 1 / 0)))
  end
  local good = n == #list and n > 0 and furthest <= MOST
  if good then passed = passed + 1 else failed = failed + 1 end
  print(("%s: %d numbers, at most %.2g apart"):format(name, n, furthest))
end

local function flat(array) return array:reshape({ -1 }):totable() end

flow.random.seed(3)
local losses = {}
for i = 1, STEPS do losses[i] = train(batch(i)):mean() end

local images = batch(0)
if what == "make" then
  flow.train.CheckPoint():save(folder .. "/variables", { overwrite = true })
  keep("losses", losses)
  keep("predictions", flat(predict(images)))
  return
end
compare("losses", losses)
flow.train.CheckPoint():load(folder .. "/variables")
compare("predictions", flat(predict(images)))
later(images)(function(result) compare("predictions", flat(result)) end)
flow.sync()
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
