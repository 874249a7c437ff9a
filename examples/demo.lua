-- What `make demo` runs: LeNet learns Fashion-MNIST in three epochs.
-- batches: how many an epoch has, else all.
local flow = require "jfl"

local BATCH_SIZE = 100
local o = flow.arguments "[epochs=3] [batches=N]"
local EPOCHS, BATCHES = o.epochs, o.batches

local function options(more)
  more.activation, more.kernel_initializer = flow.nn.relu, flow.truncated_normal(0.1)
  return more
end

local lenet = flow.model("lenet", function(images)
  local x = flow.layers.conv2d(images, 32, 5, options { padding = "SAME" }):max_pool2d(2)
  x = flow.layers.conv2d(x, 64, 5, options { padding = "SAME" }):max_pool2d(2)
  x = flow.layers.dense(x:reshape(images.shape[1], -1), 512, options {})
  x = x:dropout(0.5)                             -- in training alone
  return flow.layers.dense(x, 10, { kernel_initializer = flow.truncated_normal(0.1) })
end)

local pictures = flow.float32 { -1, 1, 28, 28 }
local train_job = lenet:train { inputs = { pictures, flow.int32 { -1 } },
  loss = flow.nn.cross_entropy, optimizer = flow.optimizer.SGD(0.1, { momentum = 0 }) }
local eval_job = lenet:predict { inputs = { pictures } }

flow.random.seed(1)
local train, test = flow.data.load_mnist(BATCH_SIZE)
local images = BATCHES and train.images:slice(1, BATCHES) or train.images

for epoch = 1, EPOCHS do
  local bar = flow.progress(flow.zip(images, train.labels),
    { desc = ("epoch %d/%d"):format(epoch, EPOCHS) })
  for _, x, y in bar do
    bar.loss = train_job(x, y)
  end
end

local correct = 0
for _, x, y in flow.progress(flow.zip(test.images, test.labels), { desc = "test" }) do
  correct = correct + eval_job(x):argmax(1):eq(y):sum()
end
print(("test accuracy: %.2f%%"):format(100 * correct / test.labels.size))
