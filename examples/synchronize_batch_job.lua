-- Evaluating the LeNet of synchronize_single_job.lua, two results a call.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local EPOCHS = flow.arguments("[epochs=1]").epochs

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

local eval_job = flow.global_function {
  name = "eval_job",
  type = "predict",
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH_SIZE, 1, 28, 28 }, { dtype = flow.float }) },
    { "labels", tp.Numpy.Placeholder({ BATCH_SIZE }, { dtype = flow.int32 }) },
  },
  returns = tp.Tuple(tp.Numpy, tp.Numpy),
  body = function(images, labels)
    local logits = flow.scope.placement("gpu", "0:0", function()
      return lenet(images, false)
    end)

    return labels, logits
  end,
}

local total = 0
local correct = 0

local function acc(labels, logits)
  local predictions = logits:argmax(1)
  local right_count = predictions:eq(labels):sum()
  total = total + labels.shape[1]
  correct = correct + right_count
end

local check_point = flow.train.CheckPoint()
check_point:load("./lenet_models_1")
local _, test = flow.data.load_mnist(BATCH_SIZE, BATCH_SIZE)

for _ = 1, EPOCHS do
  for _, images, labels in flow.progress(flow.zip(test.images, test.labels), { desc = "test" }) do
    acc(eval_job(images, labels))
  end
end

print(("accuracy: %.1f%%"):format(correct * 100 / total))
