-- An MLP on several devices in the mirrored view: each device has arrays of its own, which the
-- script cuts and puts together, and the gradients of all are averaged.
-- steps: of an epoch, else all; every: so many steps it prints a line.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local o = flow.arguments "[epochs=1] [devices=2] [steps=N] [every=20]"
local FIRST = flow.env.rank() * o.devices          -- of all devices, the first one of this process
local BATCH_SIZE_PER_DEVICE = BATCH_SIZE / (o.devices * flow.env.size())

local function get_train_config()
  local config = flow.function_config()
  config.default_data_type(flow.float)
  config.default_logical_view(flow.scope.mirrored_view())
  return config
end

local train_job = flow.global_function {
  name = "train_job",
  type = "train",
  function_config = get_train_config(),
  inputs = {
    { "images", tp.ListNumpy.Placeholder({ BATCH_SIZE_PER_DEVICE, 1, 28, 28 },
      { dtype = flow.float }) },
    { "labels", tp.ListNumpy.Placeholder({ BATCH_SIZE_PER_DEVICE }, { dtype = flow.int32 }) },
  },
  returns = tp.ListNumpy,
  body = function(images, labels)
    local initializer = flow.truncated_normal(0.1)
    local reshape = flow.reshape(images, { images.shape[1], -1 })
    local hidden = flow.layers.dense(reshape, 512, {
      activation = flow.nn.relu,
      kernel_initializer = initializer,
      name = "dense1",
    })
    local logits = flow.layers.dense(hidden, 10,
      { kernel_initializer = initializer, name = "dense2" })
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
      { name = "softmax_loss" })
    local lr_scheduler = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
    flow.optimizer.SGD(lr_scheduler, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

-- The parts of a batch, one for each device of this process.
local function cut(batch)
  local parts = {}
  for d = 1, o.devices do
    local last = (FIRST + d) * BATCH_SIZE_PER_DEVICE
    parts[d] = batch:slice(last - BATCH_SIZE_PER_DEVICE + 1, last)
  end
  return parts
end

flow.config.gpu_device_num(o.devices)      -- so many CPU devices, where there is no GPU
flow.train.CheckPoint():init()

local train = flow.data.load_mnist(BATCH_SIZE)

for _ = 1, o.epochs do
  for i, images, labels in flow.zip(train.images, train.labels) do
    if o.steps and i > o.steps then break end
    local losses = train_job(cut(images), cut(labels))
    if (i - 1) % o.every == 0 then print(flow.ndarray.concat(losses, 0):mean()) end
  end
end
