-- The network of mixed_parallel_mlp.lua with its second layer written out, so that it shows what
-- model_distribute stands for; then the plan of a step is printed, which names the place of each.
-- steps: of an epoch, else all; every: so many steps it prints a line.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local o = flow.arguments "[epochs=3] [devices=2] [steps=N] [every=20]"

local split = flow.distribute.split

-- A dense layer whose weight (units, inputs) and bias (units) each device has a part of.
local function split_dense(x, units, initializer, name)
  local function part(suffix, shape, init)
    local variable = flow.get_variable(name .. suffix,
      { shape = shape, dtype = x.dtype, initializer = init, distribute = split(0) })
    return variable:with_distribute(split(0))
  end
  local weight = part("-weight", { units, x.shape[2] }, initializer)
  local bias = part("-bias", { units }, flow.zeros_initializer())
  -- (all rows) x (some columns): each device has its columns of the result
  return flow.nn.bias_add(flow.matmul(x, weight, { transpose_b = true }), bias)
end

local function mlp(data)
  local initializer = flow.truncated_normal(0.1)
  local reshape = flow.reshape(data, { data.shape[1], -1 })
  local hidden = flow.layers.dense(reshape, 512, {
    activation = flow.nn.relu,
    kernel_initializer = initializer,
    name = "hidden",
  })
  return split_dense(hidden, 10, initializer, "output")
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
print(train_job:plan())

local train = flow.data.load_mnist(BATCH_SIZE)

for _ = 1, o.epochs do
  for i, images, labels in flow.zip(train.images, train.labels) do
    if o.steps and i > o.steps then break end
    local loss = train_job(images, labels)
    if (i - 1) % o.every == 0 then print(loss:mean()) end
  end
end
