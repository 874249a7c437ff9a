-- Defining and calling job functions: the present spelling, then the two older ones.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local EPOCHS = flow.arguments("[epochs=3]").epochs

local function get_train_config()
  local config = flow.function_config()
  config.default_data_type(flow.float)
  return config
end

local train_job = flow.global_function {
  name = "train_job",
  type = "train",
  function_config = get_train_config(),
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH_SIZE, 1, 28, 28 }, { dtype = flow.float }) },
    { "labels", tp.Numpy.Placeholder({ BATCH_SIZE }, { dtype = flow.int32 }) },
  },
  returns = tp.Numpy,
  body = function(images, labels)
    -- mlp
    local initializer = flow.truncated_normal(0.1)
    local reshape = flow.reshape(images, { images.shape[1], -1 })
    local hidden = flow.layers.dense(reshape, 512,
      { activation = flow.nn.relu, kernel_initializer = initializer, name = "hidden" })
    local logits = flow.layers.dense(hidden, 10,
      { kernel_initializer = initializer, name = "output" })

    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
      { name = "softmax_loss" })
    local lr_scheduler = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
    flow.optimizer.SGD(lr_scheduler, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

-- The first spelling: the configuration comes first and says how losses are minimized; results are
-- not declared, so a call gives a future.
local function get_old_config()
  local config = flow.function_config()
  config.default_data_type(flow.float)
  config.train.primary_lr(0.1)
  config.train.model_update_conf { naive_conf = {} }
  return config
end

local old_train_job = flow.global_function(get_old_config(), {
  name = "old_train_job",
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH_SIZE, 1, 28, 28 }, { dtype = flow.float }) },
    { "labels", tp.Numpy.Placeholder({ BATCH_SIZE }, { dtype = flow.int32 }) },
  },
  body = function(images, labels)
    local loss = flow.scope.placement("cpu", "0:0", function()
      local initializer = flow.truncated_normal(0.1)
      local reshape = flow.reshape(images, { images.shape[1], -1 })
      local hidden = flow.layers.dense(reshape, 512,
        { activation = flow.nn.relu, kernel_initializer = initializer })
      local logits = flow.layers.dense(hidden, 10, { kernel_initializer = initializer })

      return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
        { name = "softmax_loss" })
    end)

    flow.losses.add_loss(loss)
    return loss
  end,
})

local train = flow.data.load_mnist(BATCH_SIZE)

local function steps(epoch)
  return flow.progress(flow.zip(train.images, train.labels),
    { desc = ("epoch %d/%d"):format(epoch, EPOCHS) })
end

for epoch = 1, EPOCHS do
  for i, images, labels in steps(epoch) do
    local loss = train_job(images, labels)
    if (i - 1) % 20 == 0 then
      print(loss:mean())
    end
  end
end

for epoch = 1, EPOCHS do
  for i, images, labels in steps(epoch) do
    local loss = old_train_job(images, labels):get()
    if (i - 1) % 20 == 0 then print(loss:mean()) end
  end
end

-- async_get gives the result to a function, on this thread, while later calls are made.
old_train_job(train.images[1], train.labels[1]):async_get(function(loss)
  print("last:", loss:mean())
end)
flow.sync()
