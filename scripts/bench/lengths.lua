-- Prints what calls of a GPT-2 cost whose lengths are new to it, in milliseconds of the processor:
-- describing the body, the whole first call, and a later one of that length; and the memory held:
--   jfl scripts/bench/lengths.lua [predict|train [blocks [units [vocabulary]]]]
-- Without arguments the network has the sizes of the one of 124 million numbers.
local flow = require "jfl"
local plan = require "jfl.job.plan"

local KIND, BLOCKS = arg[1] or "predict", tonumber(arg[2] or 12)
local UNITS, VOCABULARY = tonumber(arg[3] or 768), tonumber(arg[4] or 50257)
local PLACES, HEAD = 1024, 64
local LENGTHS = { 64, 65, 66, 96, 97, 128, 129, 130, 256, 257, 255 }

local layers = flow.layers

local function block(x, name)
  local function norm(part)
    return layers.layer_norm(x, { begin_norm_axis = -1, name = name .. part })
  end
  x = x + layers.multi_head_attention(norm "-norm_1", UNITS / HEAD, { causal = true,
    name = name .. "-heads" })
  local wide = layers.dense(norm "-norm_2", 4 * UNITS, { activation = flow.nn.gelu,
    name = name .. "-wide" })
  return x + layers.dense(wide, UNITS, { name = name .. "-narrow" })
end

local function body(ids)
  local places = flow.get_variable("places", { shape = { 1, PLACES, UNITS },
    initializer = flow.random_normal_initializer(0, 0.02) })
  local x = layers.embedding(ids, VOCABULARY, UNITS, { name = "words" })
    + flow.slice(places, { 0, 0, 0 }, { 1, ids.shape[2], UNITS })
  for i = 1, BLOCKS do x = block(x, "block" .. i) end
  x = layers.dense(layers.layer_norm(x, { begin_norm_axis = -1, name = "norm" }), VOCABULARY,
    { name = "logits" })
  if KIND == "predict" then return x end
  local loss = flow.math.reduce_mean(flow.math.square(x))
  flow.optimizer.Adam(1e-4):minimize(loss)
  return loss
end

local job = flow.global_function { name = "gpt", type = KIND, body = body,
  inputs = { ids = flow.int32 { -1, { max = PLACES } } } }

local function resident()
  collectgarbage()
  for line in io.lines "/proc/self/status" do
    local kib = line:match "^VmRSS:%s*(%d+)"
    if kib then return kib / 1024 end
  end
end

local function milliseconds(f, ...)
  local before = os.clock()
  f(...)
  return (os.clock() - before) * 1000
end

print "length  body  first  later    MiB"
for _, length in ipairs(LENGTHS) do
  local ids = flow.ndarray.ones({ 1, length }, flow.int32)
  local described = milliseconds(plan.try, job, job, { { 1, length } })
  local first = milliseconds(job, ids)
  local later = math.min(milliseconds(job, ids), milliseconds(job, ids))
  print(("%6d %5.1f %6.1f %6.1f %6.0f"):format(length, described, first, later, resident()))
end
