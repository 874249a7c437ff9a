-- Fine-tuning: the MLP of async_single_job.lua gets one more layer, and is trained on.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local EPOCHS = flow.arguments("[epochs=20]").epochs

local function mlp(data)
  local initializer = flow.truncated_normal(0.1)
  local reshape = flow.reshape(data, { data.shape[1], -1 })
  -- These layers were trained before: they keep their names.
  local hidden = flow.layers.dense(reshape, 512, {
    activation = flow.nn.relu,
    kernel_initializer = initializer,
    name = "hidden",
  })
  local output = flow.layers.dense(hidden, 10,
    { kernel_initializer = initializer, name = "output" })
  -- This layer is new: the checkpoint has none of its name.
  return flow.layers.dense(output, 10, { kernel_initializer = initializer, name = "dense3" })
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
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, mlp(images),
      { name = "softmax_loss" })
    local lr_scheduler = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
    flow.optimizer.SGD(lr_scheduler, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

-- The folder is checked before the training, not after it.
assert(not io.open("./mlp_ext_models_1"), "remove the existing folder ./mlp_ext_models_1 first")

-- Loading says on stderr that dense3, which is not in the checkpoint, keeps its initial values.
-- With a list of prefixes the state of the old run (its train step, its seed) is not loaded.
local check_point = flow.train.CheckPoint()
check_point:load("./mlp_models_1", { only = { "hidden", "output", "dense3" } })

local train, test = flow.data.load_mnist(BATCH_SIZE)

for epoch, i, images, labels in flow.data.loop(train, { epochs = EPOCHS }) do
  local loss = train_job(images, labels)
  if (i - 1) % 20 == 0 then
    print(("epoch %d: %.4f"):format(epoch, loss:mean()))
  end
end
check_point:save("./mlp_ext_models_1")  -- fails if the folder exists

local eval_job = flow.global_function {
  name = "eval_job",
  inputs = { { "images", tp.Numpy.Placeholder({ BATCH_SIZE, 1, 28, 28 }) } },
  returns = tp.Numpy,
  body = mlp,
}

local correct = 0
for _, images, labels in flow.zip(test.images, test.labels) do
  correct = correct + eval_job(images):argmax(1):eq(labels):sum()
end
print(("accuracy: %.1f%%"):format(100 * correct / test.labels.size))
