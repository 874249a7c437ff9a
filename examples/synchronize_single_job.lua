-- Training LeNet with synchronous calls, one result each.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local EPOCHS = flow.arguments("[epochs=20]").epochs

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

local train_job = flow.global_function {
  name = "train_job",
  type = "train",
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH_SIZE, 1, 28, 28 }, { dtype = flow.float }) },
    { "labels", tp.Numpy.Placeholder({ BATCH_SIZE }, { dtype = flow.int32 }) },
  },
  returns = tp.Numpy,
  body = function(images, labels)
    local loss = flow.scope.placement("gpu", "0:0", function()
      local logits = lenet(images, true)
      return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
        { name = "softmax_loss" })
    end)
    local lr_scheduler = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
    flow.optimizer.SGD(lr_scheduler, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

flow.config.gpu_device_num(1)
-- The folder is checked before the training, not after it.
assert(not io.open("./lenet_models_1"), "remove the existing folder ./lenet_models_1 first")
local check_point = flow.train.CheckPoint()
check_point:init()

local train = flow.data.load_mnist(BATCH_SIZE)

for epoch = 1, EPOCHS do
  local bar = flow.progress(flow.zip(train.images, train.labels),
    { desc = ("epoch %d/%d"):format(epoch, EPOCHS) })
  for i, images, labels in bar do
    local loss = train_job(images, labels)
    bar.loss = loss
    if (i - 1) % 20 == 0 then
      print(loss:mean())
    end
  end
end
check_point:save("./lenet_models_1")  -- fails if the folder exists
print("model saved")
