-- GPT-2 (Radford et al. 2019): learns to write, letter by letter, and then writes. What it learns
-- from is a licence that comes with Debian, or any other file. Its form is given by options:
--   jfl examples/gpt.lua [steps] [text=FILE] [layers=4] [heads=4] [size=128] [context=64]
--     [batch=16] [sample=400] [temperature=1] [top_k=N] [top_p=SHARE] [save=FOLDER] [recompute=1]
-- layers=12 heads=12 size=768 context=1024 vocabulary=50257 has the 124 million weights of the
-- smallest published one; a vocabulary larger than the letters of the text stays unused. With
-- recompute=1 what is inside of blocks is computed again on the way back instead of being kept.
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing

local o = { layers = 4, heads = 4, size = 128, context = 64, batch = 16, sample = 400,
  text = "/usr/share/common-licenses/GPL-3", rate = 1e-3 }
for i, word in ipairs(arg) do
  local key, value = word:match "^([%w_]+)=(.*)$"
  if key then o[key] = tonumber(value) or value
  elseif i == 1 then o.steps = assert(tonumber(word), "usage: gpt.lua [steps] [name=value]...") end
end
local STEPS = o.steps or 600

-- ---- the text ----

local file = assert(io.open(o.text))
local text = file:read "*a"
file:close()
local letters, number = {}, {}   -- letter by number + 1, and number by letter
for c in text:gmatch "." do number[c] = true end
for c in pairs(number) do letters[#letters + 1] = c end
table.sort(letters)
for i, c in ipairs(letters) do number[c] = i - 1 end
local vocabulary = math.max(o.vocabulary or 0, #letters)

-- One piece of the text, and the same one letter later.
local function sample()
  local at, ids, nexts = math.random(#text - o.context), {}, {}
  for i = 1, o.context do
    ids[i], nexts[i] = number[text:sub(at + i - 1, at + i - 1)], number[text:sub(at + i, at + i)]
  end
  return ids, nexts
end

local function batch()
  local ids, nexts = {}, {}
  for i = 1, o.batch do ids[i], nexts[i] = sample() end
  return nd.array(ids, "int32"), nd.array(nexts, "int32")
end

-- ---- the network ----

local narrow = flow.random_normal_initializer(0, 0.02)
-- What is added to the stream of each position is smaller, the more layers add to it.
local narrower = flow.random_normal_initializer(0, 0.02 / math.sqrt(2 * o.layers))

local function norm(x, name)
  return flow.layers.layer_norm(x, { begin_norm_axis = -1, name = name })
end
local function dense(x, units, name, initializer)
  return flow.layers.dense(x, units, { kernel_initializer = initializer, name = name })
end

local function block(x, name)
  x = x + flow.layers.multi_head_attention(norm(x, name .. "-norm1"), o.heads,
    { causal = true, kernel_initializer = narrow, name = name .. "-attention" })
  local h = dense(norm(x, name .. "-norm2"), 4 * o.size, name .. "-mlp1", narrow)
  return x + dense(flow.nn.gelu(h, { approximate = "tanh" }), o.size, name .. "-mlp2", narrower)
end

-- ids (batch, length) -> logits (batch * length, vocabulary). The table of letters is also what
-- logits are made with.
local function gpt(ids)
  local length = ids.shape[2]
  local x = flow.layers.embedding(ids, vocabulary, o.size,
    { embeddings_initializer = narrow, name = "letters" })
  local positions = flow.get_variable("positions", { o.context, o.size }, { initializer = narrow })
  x = x + flow.slice(positions, { 0, 0 }, { length, -1 })
  for i = 1, o.layers do
    local from = x
    local function make() return block(from, "block" .. i) end
    x = o.recompute == 1 and flow.scope.recompute(make) or make()
  end
  local rows = flow.reshape(norm(x, "norm"), { -1, o.size })
  return flow.matmul(rows, flow.get_variable("letters-weight"), { transpose_b = true })
end

local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = {
    { "ids", tp.Numpy.Placeholder({ o.batch, o.context }, { dtype = flow.int32 }) },
    { "nexts", tp.Numpy.Placeholder({ o.batch, o.context }, { dtype = flow.int32 }) },
  },
  body = function(ids, nexts)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(flow.reshape(nexts, { -1 }),
      gpt(ids))
    local rate = flow.optimizer.PiecewiseConstantScheduler({ math.ceil(STEPS * 0.8) },
      { o.rate, o.rate / 5 }, { warmup = flow.optimizer.warmup.linear(math.ceil(STEPS / 20), 0.1) })
    flow.optimizer.AdamW(rate, { beta2 = 0.98, weight_decay = 0.1,
      grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }):minimize(loss)
    return loss
  end,
}

-- The chances of each letter to be the next one, at each place of a piece.
local predict = flow.global_function {
  name = "predict", returns = tp.Numpy,
  inputs = { { "ids", tp.Numpy.Placeholder({ 1, o.context }, { dtype = flow.int32 }) } },
  body = function(ids) return flow.nn.softmax(gpt(ids)) end,
}

-- ---- training, and writing ----

local function write(start, n)
  local ids, out = {}, { start }
  for c in start:gmatch "." do ids[#ids + 1] = number[c] or 0 end
  for _ = 1, n do
    while #ids > o.context do table.remove(ids, 1) end
    local at, padded = #ids, nd.zeros({ 1, o.context }, "int32")
    for i = 1, at do padded[1][i] = ids[i] end
    ids[at + 1] = flow.random.choice(predict(padded)[at]:slice(1, #letters),
      { temperature = o.temperature, top_k = o.top_k, top_p = o.top_p })
    out[#out + 1] = letters[ids[at + 1] + 1]
  end
  return table.concat(out)
end

math.randomseed(1)
flow.random.seed(1)
local sum, n = 0, 0
local bar = flow.progress(STEPS, { desc = "training" })
for step in bar do
  local loss = train(batch()):mean()
  bar.loss = loss
  sum, n = sum + loss, n + 1
  if step == 1 or step % math.ceil(STEPS / 10) == 0 then
    print(("step %d: loss %.3f"):format(step, sum / n))
    sum, n = 0, 0
  end
end
if o.save then flow.train.CheckPoint():save(o.save) end
if o.sample > 0 then print(write("The", o.sample)) end
