-- A script that ranks with a GPU each run: it trains a small network of float64 in one of some ways
-- and prints what it loses, and for "plan" the plan.
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing
local way, what = arg[1], arg[2]

local BATCH, STEPS = 12, 4
local size = flow.env.size()
flow.config.device(("gpu 0-%d:0"):format(size - 1))
flow.random.seed(3)

local config = flow.function_config()
if way == "zero" then config.optimizer_placement_optimization_mode("distributed_split") end
if way == "turns" then config.micro_batches(2) end
local dense = way == "split" and { model_distribute = flow.distribute.split(0) } or {}
dense.name = "wide"

local train = flow.global_function {
  name = "train", type = "train", function_config = config, returns = tp.Numpy,
  inputs = {
    { "x", tp.Numpy.Placeholder({ BATCH, 6 }, { dtype = flow.float64 }) },
    { "labels", tp.Numpy.Placeholder({ BATCH }, { dtype = flow.int32 }) },
  },
  body = function(x, labels)
    local y = flow.layers.dense(flow.layers.dense(x, 200, dense), 5, { name = "output" })
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, y)
    flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
    return loss
  end,
}

local x, labels = nd.rand({ BATCH, 6 }, "float64"), nd.zeros({ BATCH }, "int32")
for i = 1, BATCH do labels[i] = i % 5 end
if what == "wrong" then
  labels[BATCH] = 7
  local ok, err = pcall(train, x, labels)
  print(ok, (tostring(err):gsub("\n.*", "")))
  labels[BATCH] = 2
end
for _ = 1, STEPS do print(("%.17g"):format(train(x, labels):mean())) end
if what == "plan" then print(train:plan()) end
