-- LeNet on several machines, or processes of one. Start the same script on each machine that is
-- listed, in any order, with one secret in the environment of all:
--   JFL_SECRET=... jfl examples/distributed_train.lua machines=192.168.1.12,192.168.1.11
-- or let mpirun, Slurm or jfl itself start it, without a list:
--   jfl --ranks 2 examples/distributed_train.lua
-- devices: of each process; steps: of an epoch, else all; every: so many steps it prints a line.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local o = flow.arguments [[
  [epochs=1] [devices=1] [machines=LIST] [port=9988] [steps=N] [every=20] ]]

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
    name = "hidden",
  })
  if train then
    hidden = flow.nn.dropout(hidden, { rate = 0.5, name = "dropout" })
  end
  return flow.layers.dense(hidden, 10, { kernel_initializer = initializer, name = "output" })
end

local function config_distributed()
  flow.config.gpu_device_num(o.devices)    -- of each machine; CPU devices, where there is no GPU
  if not o.machines then return end
  flow.env.ctrl_port(o.port)
  local nodes = {}
  for address in o.machines:gmatch "[^,]+" do nodes[#nodes + 1] = { addr = address } end
  flow.env.machine(nodes)                  -- the first is the one that prints and saves
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
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
      { name = "softmax_loss" })
    local lr_scheduler = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
    flow.optimizer.SGD(lr_scheduler, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

config_distributed()
flow.train.CheckPoint():init()

local train = flow.data.load_mnist(BATCH_SIZE)

for _ = 1, o.epochs do
  for i, images, labels in flow.zip(train.images, train.labels) do
    if o.steps and i > o.steps then break end
    local loss = train_job(images, labels)
    if (i - 1) % o.every == 0 then print(loss:mean()) end
  end
end
