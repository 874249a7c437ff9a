-- What a network of convolutions loses in int8: trains LeNet on Fashion-MNIST as examples/demo.lua
-- does, and prints how many of the test's pictures it tells right in float32, in int8, and in int8
-- computed in float32, as processors without instructions for bytes do.
--   jfl scripts/bench/int8_lenet.lua [epochs]
local flow = require "jfl"

local BATCH, EPOCHS, CALIBRATION = 100, tonumber(arg[1] or 3), 20

local function options(more)
  more.activation, more.kernel_initializer = flow.nn.relu, flow.truncated_normal(0.1)
  return more
end

flow.random.seed(1)
local lenet = flow.model("lenet", function(images)
  local x = flow.layers.conv2d(images, 32, 5, options { padding = "SAME" }):max_pool2d(2)
  x = flow.layers.conv2d(x, 64, 5, options { padding = "SAME" }):max_pool2d(2)
  x = flow.layers.dense(x:reshape(images.shape[1], -1), 512, options {})
  return flow.layers.dense(x:dropout(0.5), 10, { kernel_initializer = flow.truncated_normal(0.1) })
end)
local pictures = flow.float32 { -1, 1, 28, 28 }
local train = lenet:train { inputs = { pictures, flow.int32 { -1 } },
  loss = flow.nn.cross_entropy, optimizer = flow.optimizer.SGD(0.1, { momentum = 0 }) }
local data, test = flow.data.load_mnist(BATCH)
for _ = 1, EPOCHS do
  for _, x, y in flow.zip(data.images, data.labels) do train(x, y) end
end

local function predict(name) return lenet:predict { name = name, inputs = { pictures } } end

local function measure(name, job)
  local right = 0
  for _, x, y in flow.zip(test.images, test.labels) do
    right = right + job(x):argmax(1):eq(y):sum()
  end
  print(("%-16s %.2f %% right"):format(name, 100 * right / test.labels.size))
end

local job, some = predict "predict", {}
measure("float32", job)
for _, x in flow.zip(data.images:slice(1, CALIBRATION)) do some[#some + 1] = x end
flow.quantization.quantize(lenet, { form = "int8", job = job, batches = some })
measure("int8", job)
flow.config.passes "-integers"
measure("int8 in float32", predict "slow")
