-- Evaluating the MLP of async_single_job.lua: two results come to a callback as one table.
local flow = require "jfl"
local tp = flow.typing

local BATCH_SIZE = 100
local EPOCHS = flow.arguments("[epochs=1]").epochs

local function mlp(data)
  local initializer = flow.truncated_normal(0.1)
  local reshape = flow.reshape(data, { data.shape[1], -1 })
  local hidden = flow.layers.dense(reshape, 512, {
    activation = flow.nn.relu,
    kernel_initializer = initializer,
    name = "hidden",
  })
  return flow.layers.dense(hidden, 10, { kernel_initializer = initializer, name = "output" })
end

local eval_job = flow.global_function {
  name = "eval_job",
  type = "predict",
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH_SIZE, 1, 28, 28 }, { dtype = flow.float }) },
    { "labels", tp.Numpy.Placeholder({ BATCH_SIZE }, { dtype = flow.int32 }) },
  },
  returns = tp.Callback(tp.Tuple(tp.Numpy, tp.Numpy)),
  body = function(images, labels)
    local logits = flow.scope.placement("cpu", "0:0", function()
      return mlp(images)
    end)

    return labels, logits
  end,
}

local total = 0
local correct = 0

local function acc(arguments)
  local labels = arguments[1]
  local logits = arguments[2]
  local predictions = logits:argmax(1)
  local right_count = predictions:eq(labels):sum()
  total = total + labels.shape[1]
  correct = correct + right_count
end

local function main()
  local check_point = flow.train.CheckPoint()
  check_point:load("./mlp_models_1")
  local _, test = flow.data.load_mnist(BATCH_SIZE)
  for _ = 1, EPOCHS do
    for _, images, labels in flow.progress(flow.zip(test.images, test.labels), { desc = "test" }) do
      eval_job(images, labels)(acc)
    end
  end

  flow.sync()  -- the last callbacks have run after this
  print(("accuracy: %.1f%%"):format(correct * 100 / total))
end

main()
