-- Training an MLP with asynchronous calls: the loss comes to a callback.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local EPOCHS = flow.arguments("[epochs=20]").epochs

local train_job = flow.global_function {
  name = "train_job",
  type = "train",
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH_SIZE, 1, 28, 28 }, { dtype = flow.float }) },
    { "labels", tp.Numpy.Placeholder({ BATCH_SIZE }, { dtype = flow.int32 }) },
  },
  returns = tp.Callback(tp.Numpy),
  body = function(images, labels)
    -- mlp
    local initializer = flow.truncated_normal(0.1)
    local reshape = flow.reshape(images, { images.shape[1], -1 })
    local hidden = flow.layers.dense(reshape, 512, {
      activation = flow.nn.relu,
      kernel_initializer = initializer,
      name = "hidden",
    })
    local logits = flow.layers.dense(hidden, 10,
      { kernel_initializer = initializer, name = "output" })

    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits,
      { name = "softmax_loss" })
    local lr_scheduler = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
    flow.optimizer.SGD(lr_scheduler, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

local count = 0
local bar

local function cb_print_loss(result)
  if count % 20 == 0 then
    print(result:mean())
  end
  count = count + 1
  bar.loss = result
end

local function main()
  -- The folder is checked before the training, not after it.
  assert(not io.open("./mlp_models_1"), "remove the existing folder ./mlp_models_1 first")
  local check_point = flow.train.CheckPoint()
  check_point:init()

  local train = flow.data.load_mnist(BATCH_SIZE)
  for epoch = 1, EPOCHS do
    bar = flow.progress(flow.zip(train.images, train.labels),
      { desc = ("epoch %d/%d"):format(epoch, EPOCHS) })
    for _, images, labels in bar do
      train_job(images, labels)(cb_print_loss)
    end
  end

  check_point:save("./mlp_models_1")  -- fails if the folder exists
end

main()
