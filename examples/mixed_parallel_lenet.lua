-- LeNet as a pipeline of two devices: the dense layers are placed on one each, and what the first
-- computes is copied to the second.
-- steps: of an epoch, else all; every: so many steps it prints a line.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local o = flow.arguments "[epochs=50] [devices=2] [steps=N] [every=20]"

local LAST = ("0:%d"):format(o.devices - 1)      -- the last device

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
  local hidden = flow.scope.placement("gpu", "0:0", function()
    return flow.layers.dense(reshape, 512, {
      activation = flow.nn.relu,
      kernel_initializer = initializer,
      name = "hidden",
    })
  end)
  if train then
    hidden = flow.nn.dropout(hidden, { rate = 0.5, name = "dropout" })
  end
  return flow.scope.placement("gpu", LAST, function()
    return flow.layers.dense(hidden, 10, { kernel_initializer = initializer, name = "outlayer" })
  end)
end

local train_job = flow.global_function {
  name = "train_job",
  type = "train",
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH_SIZE, 1, 28, 28 }, { dtype = flow.float }) },
    { "labels", tp.Numpy.Placeholder({ BATCH_SIZE }, { dtype = flow.int32 }) },
  },
  returns = tp.Numpy,
  body = function(images, labels)
    local logits = lenet(images, true)
    local loss = flow.scope.placement("gpu", LAST, function()
      return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
        { name = "softmax_loss" })
    end)
    local lr_scheduler = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
    flow.optimizer.SGD(lr_scheduler, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

flow.config.gpu_device_num(o.devices)      -- so many CPU devices, where there is no GPU
flow.train.CheckPoint():init()

local train = flow.data.load_mnist(BATCH_SIZE)

for _ = 1, o.epochs do
  for i, images, labels in flow.zip(train.images, train.labels) do
    if o.steps and i > o.steps then break end
    local loss = train_job(images, labels)
    if (i - 1) % o.every == 0 then print(loss:mean()) end
  end
end
