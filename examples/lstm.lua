-- Two layers of LSTM learn to write, letter by letter, from a licence that comes with Debian or any
-- other file, and then write (as in Graves 2013). Every row of a batch goes on in the text where
-- the last call left it, with the states that it left.
local flow = require "jfl"
local nd = flow.ndarray

local o = flow.arguments "[steps=1000] [file=/usr/share/common-licenses/GPL-3]"
local STEPS, FILE = o.steps, o.file
local BATCH, LENGTH, UNITS, LAYERS = 32, 32, 128, 2

local text = assert(io.open(FILE)):read "*a"
local letters, number = {}, {}   -- letter by number + 1, and number by letter
for c in text:gmatch "." do number[c] = true end
for c in pairs(number) do letters[#letters + 1] = c end
table.sort(letters)
for i, c in ipairs(letters) do number[c] = i - 1 end

-- Where each row of the batch is in the text; the text is a ring.
local at = {}
for i = 1, BATCH do at[i] = math.floor((i - 1) * #text / BATCH) end

local function batch()
  local ids, nexts = nd.zeros({ BATCH, LENGTH }, "int32"), nd.zeros({ BATCH, LENGTH }, "int32")
  for i = 1, BATCH do
    local row, after = ids[i], nexts[i]
    for j = 1, LENGTH do
      row[j] = number[text:sub(at[i] + 1, at[i] + 1)]
      at[i] = (at[i] + 1) % #text
      after[j] = number[text:sub(at[i] + 1, at[i] + 1)]
    end
  end
  return ids, nexts
end

-- ids (batch, length) and states -> logits (batch * length, letters) and the last states.
local writer = flow.model("writer", function(ids, h0, c0)
  local x = flow.layers.embedding(ids, #letters, 32)
  local y, h, c = flow.layers.lstm(x, UNITS, { num_layers = LAYERS, h0 = h0, c0 = c0 })
  return flow.layers.dense(y:reshape(-1, UNITS), #letters), h, c
end)

local function inputs(rows, length, ...)
  local state = flow.float32 { LAYERS, rows, UNITS }
  return { flow.int32 { rows, length }, state, state, ... }
end

local train = writer:train {
  inputs = inputs(BATCH, LENGTH, flow.int32 { BATCH, LENGTH }),
  loss = function(logits, h, c, nexts)
    return flow.nn.cross_entropy(logits, nexts:reshape(-1)), h, c
  end,
  optimizer = flow.optimizer.Adam(3e-3, {
    grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }),
}

local predict = writer:predict { inputs = inputs(1, 1),
  output = function(logits, h, c) return flow.nn.softmax(logits), h, c end }

local function write(start, n)
  local h, c = nd.zeros({ LAYERS, 1, UNITS }), nd.zeros({ LAYERS, 1, UNITS })
  local out, chances = { start }, nil
  for letter in start:gmatch "." do
    chances, h, c = predict({ { number[letter] or 0 } }, h, c)
  end
  for _ = 1, n do
    local next = flow.random.choice(chances[1])
    out[#out + 1] = letters[next + 1]
    chances, h, c = predict({ { next } }, h, c)
  end
  return table.concat(out)
end

math.randomseed(1)
flow.random.seed(1)
local h, c = nd.zeros({ LAYERS, BATCH, UNITS }), nd.zeros({ LAYERS, BATCH, UNITS })
local sum, n = 0, 0
local bar = flow.progress(STEPS, { desc = "training" })
for step in bar do
  local ids, nexts = batch()
  bar.loss, h, c = train(ids, h, c, nexts)
  sum, n = sum + bar.loss:item(), n + 1
  if step == 1 or step % math.ceil(STEPS / 10) == 0 then
    print(("step %d: loss %.3f"):format(step, sum / n))
    sum, n = 0, 0
  end
end
print(write("The ", 300))
