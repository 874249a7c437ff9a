-- What `make demo` runs: LeNet learns Fashion-MNIST in three epochs.
-- Usage: jfl examples/demo.lua [epochs [batches an epoch]]
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local EPOCHS = tonumber((...)) or 3
local BATCHES = tonumber((select(2, ...)))

local function lenet(data, train)
  local initializer = flow.truncated_normal(0.1)
  local conv1 = flow.layers.conv2d(data, 32, 5, {
    padding = "SAME",
    activation = flow.nn.relu,
    name = "conv1",
    kernel_initializer = initializer,
  })
  local pool1 = flow.nn.max_pool2d(conv1,
    { ksize = 2, strides = 2, padding = "SAME", name = "pool1" })
  local conv2 = flow.layers.conv2d(pool1, 64, 5, {
    padding = "SAME",
    activation = flow.nn.relu,
    name = "conv2",
    kernel_initializer = initializer,
  })
  local pool2 = flow.nn.max_pool2d(conv2,
    { ksize = 2, strides = 2, padding = "SAME", name = "pool2" })
  local reshape = flow.reshape(pool2, { pool2.shape[1], -1 })
  local hidden = flow.layers.dense(reshape, 512, {
    activation = flow.nn.relu,
    kernel_initializer = initializer,
    name = "dense1",
  })
  if train then
    hidden = flow.nn.dropout(hidden, { rate = 0.5, name = "dropout" })
  end
  return flow.layers.dense(hidden, 10, { kernel_initializer = initializer, name = "dense2" })
end

local inputs = {
  { "images", tp.Numpy.Placeholder({ -1, 1, 28, 28 }) },
  { "labels", tp.Numpy.Placeholder({ -1 }, { dtype = flow.int32 }) },
}

local train_job = flow.global_function {
  name = "train_job",
  type = "train",
  inputs = inputs,
  returns = tp.Numpy,
  body = function(images, labels)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, lenet(images, true))
    flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

local eval_job = flow.global_function {
  name = "eval_job",
  inputs = { inputs[1] },
  returns = tp.Numpy,
  body = function(images) return lenet(images, false) end,
}

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
