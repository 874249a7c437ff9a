-- A script that all ranks run, and its result: what a small network in float64 loses, step by step.
-- With an argument each rank gives its own rows of the batch.
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing

local BATCH, STEPS = 12, 4

flow.config.threads(1)
flow.random.seed(3)

local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH, 1, 8, 8 }, { dtype = flow.float64 }) },
    { "labels", tp.Numpy.Placeholder({ BATCH }, { dtype = flow.int32 }) },
  },
  body = function(images, labels)
    local x = flow.layers.conv2d(images, 4, 3,
      { padding = "SAME", activation = flow.nn.relu, name = "conv" })
    x = flow.nn.max_pool2d(x, { ksize = 2, strides = 2 })
    x = flow.layers.dense(flow.reshape(x, { BATCH, -1 }), 700, { name = "wide" })
    x = flow.layers.dense(x, 5, { name = "output" })
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
    flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
    return loss
  end,
}

local images, labels = nd.rand({ BATCH, 1, 8, 8 }, "float64"), nd.zeros({ BATCH }, "int32")
for i = 1, BATCH do labels[i] = i % 5 end
for _ = 1, STEPS do
  local loss = train(images, labels)
  print(("%.13g"):format(loss:mean()))
end
