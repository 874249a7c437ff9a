-- An MLP on several devices: the first layer is data parallel, each device computing a part of the
-- batch, and the second is model parallel, each computing a part of the units for all of the batch.
-- steps: of an epoch, else all; every: so many steps it prints a line.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local o = flow.arguments "[epochs=3] [devices=2] [steps=N] [every=20]"

local function mlp(data)
  local initializer = flow.truncated_normal(0.1)
  local reshape = flow.reshape(data, { data.shape[1], -1 })
  local hidden = flow.layers.dense(reshape, 512, {
    activation = flow.nn.relu,
    kernel_initializer = initializer,
    name = "hidden",
  })
  -- The weight is (units, inputs): split along axis 0, each device has some of the units.
  return flow.layers.dense(hidden, 10, {
    kernel_initializer = initializer,
    model_distribute = flow.distribute.split(0),
    name = "output",
  })
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
    local logits = mlp(images)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
      { name = "softmax_loss" })
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
