-- Milliseconds per training step, the median of many: jfl scripts/bench/steps.lua [batch] [threads]
local flow = require "jfl"

local core = require "jfl.core"
local nd = flow.ndarray
local tp = flow.typing

local BATCH = tonumber((...)) or 100
local THREADS = tonumber((select(2, ...)))
local WARM_UP, SECONDS, LEAST = 5, 2, 20

local function dense(x, units, activation, name)
  return flow.layers.dense(x, units,
    { activation = activation, kernel_initializer = flow.truncated_normal(0.1), name = name })
end

local function conv(x, filters, name)
  local y = flow.layers.conv2d(x, filters, 5, { padding = "SAME", activation = flow.nn.relu,
    kernel_initializer = flow.truncated_normal(0.1), name = name })
  return flow.nn.max_pool2d(y, { ksize = 2, strides = 2, padding = "SAME" })
end

local models = {
  { "mlp 784-512-10", function(x)
    return dense(dense(flow.reshape(x, { BATCH, -1 }), 512, flow.nn.relu, "mlp1"), 10, nil, "mlp2")
  end },
  { "lenet", function(x)
    local features = flow.reshape(conv(conv(x, 32, "conv1"), 64, "conv2"), { BATCH, -1 })
    local hidden = flow.nn.dropout(dense(features, 512, flow.nn.relu, "dense1"), { rate = 0.5 })
    return dense(hidden, 10, nil, "dense2")
  end },
}

local function train_job(name, model)
  return flow.global_function {
    name = name,
    type = "train",
    inputs = {
      { "images", tp.Numpy.Placeholder({ BATCH, 1, 28, 28 }) },
      { "labels", tp.Numpy.Placeholder({ BATCH }, { dtype = flow.int32 }) },
    },
    returns = tp.Numpy,
    body = function(images, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images))
      flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
      return loss
    end,
  }
end

--- The median of at least LEAST runs over SECONDS, and how many there were.
local function median(f)
  for _ = 1, WARM_UP do f() end
  local times, begin = {}, core.now()
  while #times < LEAST or core.now() - begin < SECONDS do
    local start = core.now()
    f()
    times[#times + 1] = core.now() - start
  end
  table.sort(times)
  return times[math.ceil(#times / 2)], #times
end

if THREADS then flow.config.threads(THREADS) end
flow.random.seed(1)
local images = nd.rand({ BATCH, 1, 28, 28 })
local labels = nd.zeros({ BATCH }, "int32")
for i = 1, BATCH do labels[i] = i % 10 end

for i, model in ipairs(models) do
  local job = train_job("bench_" .. i, model[2])
  local seconds, runs = median(function() job(images, labels) end)
  print(("%-16s batch %-4d %9.3f ms a step  %8.0f samples/s  (median of %d)"):format(
    model[1], BATCH, seconds * 1e3, BATCH / seconds, runs))
end
