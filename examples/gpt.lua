-- GPT-2 (Radford et al. 2019): learns to write, letter by letter, and then writes. What it learns
-- from is a licence that comes with Debian, or any other file. Its form is given by options:
--   jfl examples/gpt.lua 2000 layers=6 size=256 temperature=0.8
-- layers=12 heads=12 size=768 context=1024 vocabulary=50257 has the 124 million weights of the
-- smallest published one; a vocabulary larger than the letters of the text stays unused. With
-- recompute=1 what is inside of blocks is computed again on the way back instead of being kept.
local flow = require "jfl"
local nd = flow.ndarray

local o = flow.arguments [[
  [steps=600] [text=/usr/share/common-licenses/GPL-3] [layers=4] [heads=4] [size=128] [context=64]
  [vocabulary=0] [batch=16] [rate=0.001] [sample=400] [temperature=1.0] [top_k=N] [top_p=X]
  [save=FOLDER] [recompute=0] ]]
local STEPS = o.steps

-- ---- the text ----

local file = assert(io.open(o.text))
local text = file:read "*a"
file:close()
local letters, number = {}, {}   -- letter by number + 1, and number by letter
for c in text:gmatch "." do number[c] = true end
for c in pairs(number) do letters[#letters + 1] = c end
table.sort(letters)
for i, c in ipairs(letters) do number[c] = i - 1 end
local vocabulary = math.max(o.vocabulary, #letters)

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

-- What the job that writes has read so far, and whether the body that runs is that job's.
local cache, writes = flow.layers.attention_cache(o.context), false

local function norm(x) return flow.layers.layer_norm(x, { begin_norm_axis = -1 }) end

local function block(x)
  x = x + flow.layers.multi_head_attention(norm(x), o.heads,
    { causal = true, cache = writes and cache or nil, kernel_initializer = narrow })
  local h = flow.layers.dense(norm(x), 4 * o.size, { kernel_initializer = narrow })
  return x + flow.layers.dense(h:gelu("tanh"), o.size, { kernel_initializer = narrower })
end

-- ids (batch, length) -> logits (batch * length, vocabulary). The table of letters is also what
-- logits are made with.
local gpt = flow.model("gpt", function(ids)
  local length = ids.shape[2]
  local x = flow.layers.embedding(ids, vocabulary, o.size,
    { embeddings_initializer = narrow, name = "letters" })
  local positions = flow.get_variable("positions", { o.context, o.size }, { initializer = narrow })
  if writes then x = x + flow.gather(positions, cache:positions(length))
  else x = x + positions[{ { 1, length } }] end
  for i = 1, o.layers do
    local from, layer = x, flow.model("block" .. i, block)
    local function make() return layer(from) end
    x = o.recompute == 1 and flow.scope.recompute(make) or make()
  end
  return flow.matmul(norm(x):reshape(-1, o.size), flow.get_variable("letters-weight"),
    { transpose_b = true })
end)

local rate = flow.optimizer.PiecewiseConstantScheduler({ math.ceil(STEPS * 0.8) },
  { o.rate, o.rate / 5 }, { warmup = flow.optimizer.warmup.linear(math.ceil(STEPS / 20), 0.1) })

local pieces = flow.int32 { o.batch, o.context }
local train = gpt:train {
  inputs = { ids = pieces, nexts = pieces },
  loss = function(logits, nexts) return flow.nn.cross_entropy(logits, nexts:reshape(-1)) end,
  optimizer = flow.optimizer.AdamW(rate, { beta2 = 0.98, weight_decay = 0.1,
    grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }),
}

-- Reads letters behind those of earlier calls, (n, 1), and gives the logits of the next one.
local write = flow.global_function {
  name = "write", inputs = { ids = flow.int32 { -1, 1 } },
  body = function(ids)
    writes = true
    local logits = gpt(ids:transpose { 1, 0 })
    writes = false
    return logits[{ { ids.shape[1], ids.shape[1] }, { 1, #letters } }]
  end,
}

-- ---- training, and writing ----

-- Where the context is full, the last half of it is read anew.
local function continue(start, n)
  local ids, out = {}, { start }
  for c in start:gmatch "." do ids[#ids + 1] = number[c] or 0 end
  while n > 0 do
    local prompt = { unpack(ids, math.max(1, #ids - math.floor(o.context / 2) + 1)) }
    local more = flow.generate(write, prompt, { cache = cache,
      max = math.min(n, o.context - #prompt + 1),
      temperature = o.temperature, top_k = o.top_k, top_p = o.top_p })
    for _, id in ipairs(more) do ids[#ids + 1], out[#out + 1] = id, letters[id + 1] end
    n = n - #more
  end
  return table.concat(out)
end

math.randomseed(1)
flow.random.seed(1)
local sum, n = 0, 0
local bar = flow.progress(STEPS, { desc = "training" })
for step in bar do
  local loss = train(batch()):item()
  bar.loss = loss
  sum, n = sum + loss, n + 1
  if step == 1 or step % math.ceil(STEPS / 10) == 0 then
    print(("step %d: loss %.3f"):format(step, sum / n))
    sum, n = 0, 0
  end
end
if o.save then gpt:save(o.save) end
if o.sample > 0 then print(continue("The", o.sample)) end
