-- Prints how training steps fare on two devices that are shares of the processor, beside one:
--   jfl scripts/bench/devices.lua [MODEL...]
-- Strong: the same batch on one device with two threads, and on two devices with a thread each.
-- Weak: half the batch on one device with one thread, beside all of it on two. The last column is
-- the share of the steps' time that goes into conversions between devices.
local core = require "jfl.core"
local flow = require "jfl"
local profile = require "jfl.tools.profile"

local tp = flow.typing
local ROUNDS, SECONDS = 4, 0.4         -- variants are measured by turns

local layers = dofile "scripts/bench/layers.lua"
local dense, conv = layers.dense, layers.conv

local function mlp(x) return dense(dense(x, 512, flow.nn.relu, "hidden"), 10, nil, "output") end

local function lenet(x)
  local y = conv(conv(flow.reshape(x, { x.shape[1], 1, 28, 28 }), 32, "conv1"), 64, "conv2")
  return dense(dense(flow.reshape(y, { x.shape[1], -1 }), 512, flow.nn.relu, "dense1"), 10, nil,
    "dense2")
end

-- A block of a transformer over 64 places of 256 numbers, of which a picture fills the first ones.
local function transformer(x)
  local y = flow.reshape(dense(x, 64 * 16, nil, "places"), { x.shape[1], 64, 16 })
  y = flow.layers.dense(y, 256, { name = "widen" })
  local function norm(v, name)
    return flow.layers.layer_norm(v, { begin_norm_axis = -1, name = name })
  end
  y = y + flow.layers.multi_head_attention(norm(y, "norm1"), 8, { causal = true, name = "heads" })
  local h = flow.nn.gelu(flow.layers.dense(norm(y, "norm2"), 1024, { name = "mlp1" }))
  y = y + flow.layers.dense(h, 256, { name = "mlp2" })
  return dense(flow.math.reduce_mean(y, { axis = 1 }), 10, nil, "output")
end

local MODELS = {
  { name = "mlp", network = mlp, batch = 100 },
  { name = "mlp512", network = mlp, batch = 512 },
  { name = "lenet", network = lenet, batch = 100 },
  { name = "transformer", network = transformer, batch = 16 },
  { name = "tiny", network = function(x) return dense(x, 10, nil, "output") end, batch = 2 },
}

--- A new session with so many devices and threads, and a step of training in it.
local function step_of(model, batch, devices, threads)
  flow.clear_default_session()
  flow.config.threads(threads)
  flow.config.cpu_device_num(devices)
  flow.random.seed(1)
  local job = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = {
      { "x", tp.Numpy.Placeholder({ batch, 784 }) },
      { "labels", tp.Numpy.Placeholder({ batch }, { dtype = flow.int32 }) },
    },
    body = function(x, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, model.network(x))
      flow.optimizer.SGD(0.001, { momentum = 0 }):minimize(loss)
      return loss
    end,
  }
  local x, labels = flow.ndarray.rand({ batch, 784 }), flow.ndarray.zeros({ batch }, "int32")
  for i = 1, batch do labels[i] = i % 10 end
  return function() job(x, labels) end
end

--- Adds the times of a variant's steps, for a while.
local function measure(step, times)
  for _ = 1, 3 do step() end
  local begin = core.now()
  repeat
    local start = core.now()
    step()
    times[#times + 1] = core.now() - start
  until core.now() - begin > SECONDS
end

local function median(times)
  table.sort(times)
  return times[math.ceil(#times / 2)]
end

--- The share of a step's time that steps take which are no part of what the body or a pass made.
local function conversions(model)
  local step = step_of(model, model.batch, 2, 2)
  for _ = 1, 5 do step() end
  profile.start()
  for _ = 1, 10 do step() end
  local between, all = 0, 0
  for _, row in ipairs(profile.finish()) do
    all = all + row.seconds
    if not row.name:find("@", 1, true) then between = between + row.seconds end
  end
  return between / all
end

local chosen = {}
for _, name in ipairs(arg) do chosen[name] = true end
print(("%-12s %10s %10s %7s %10s %7s %12s"):format("model", "1 x 2 (ms)", "2 x 1 (ms)", "ratio",
  "half (ms)", "weak", "conversions"))
for _, model in ipairs(MODELS) do
  if not next(chosen) or chosen[model.name] then
    local variants = {
      { model.batch, 1, 2, {} }, { model.batch, 2, 2, {} }, { model.batch / 2, 1, 1, {} },
    }
    for _ = 1, ROUNDS do
      for _, v in ipairs(variants) do measure(step_of(model, v[1], v[2], v[3]), v[4]) end
    end
    local one, two, half = median(variants[1][4]), median(variants[2][4]), median(variants[3][4])
    print(("%-12s %10.3f %10.3f %7.2f %10.3f %7.2f %11.1f%%"):format(model.name, one * 1e3,
      two * 1e3, two / one, half * 1e3, half / two, conversions(model) * 100))
  end
end
