-- BERT (Devlin et al. 2018) in small: some letters of a text are hidden, and the network learns to
-- tell what they are from what stands on both sides. Places are told by rotary embedding: from the
-- original's table of places so small a network learns far more slowly.
local flow = require "jfl"
local nd = flow.ndarray

local o = flow.arguments "[steps=900] [file=/usr/share/common-licenses/GPL-3]"
local STEPS, FILE = o.steps, o.file
local BATCH, LENGTH, LAYERS, HEADS, SIZE = 16, 64, 3, 4, 128
local HIDDEN = 0.15              -- the share of letters that must be told

local text = assert(io.open(FILE)):read "*a"
local letters, number = {}, {}   -- letter by number + 1, and number by letter
for c in text:gmatch "." do number[c] = true end
for c in pairs(number) do letters[#letters + 1] = c end
table.sort(letters)
for i, c in ipairs(letters) do number[c] = i - 1 end
local MASK = #letters            -- the number that stands for a hidden letter
local VOCABULARY = #letters + 1

-- Pieces of the text with hidden letters, the letters, and 1 where a letter must be told. Of these
-- eight in ten are hidden, one is another letter and one stays, so that what is seen may be wrong.
local function batch()
  local shape = { BATCH, LENGTH }
  local seen, true_ids, wanted = nd.zeros(shape, "int32"), nd.zeros(shape, "int32"), nd.zeros(shape)
  for i = 1, BATCH do
    local at, row, ids, told = math.random(#text - LENGTH), seen[i], true_ids[i], wanted[i]
    for j = 1, LENGTH do
      local id = number[text:sub(at + j, at + j)]
      row[j], ids[j] = id, id
      if math.random() < HIDDEN then
        local dice = math.random(10)
        told[j] = 1
        row[j] = dice <= 8 and MASK or dice == 9 and math.random(0, #letters - 1) or id
      end
    end
  end
  return seen, true_ids, wanted
end

local narrow = flow.random_normal_initializer(0, 0.08)

local function dense(x, units, activation)
  return flow.layers.dense(x, units, { kernel_initializer = narrow, activation = activation })
end
local function norm(x)
  return flow.layers.layer_norm(x, { begin_norm_axis = -1, epsilon = 1e-12 })
end

-- Norms stand behind the sums, as in the original.
local function block(x)
  x = norm(x + flow.layers.multi_head_attention(x, HEADS,
    { kernel_initializer = narrow, rotary = true }))
  return norm(x + dense(dense(x, 4 * SIZE, flow.nn.gelu), SIZE))
end

-- ids (batch, length) -> logits (batch * length, vocabulary).
local bert = flow.model("bert", function(ids)
  local x = flow.layers.embedding(ids, VOCABULARY, SIZE, { embeddings_initializer = narrow,
    name = "letters" })
  x = norm(x)
  for i = 1, LAYERS do x = flow.model("block" .. i, block)(x) end
  x = norm(dense(x, SIZE, flow.nn.gelu)):reshape(-1, SIZE)
  local bias = flow.get_variable("bias", { VOCABULARY }, { initializer = flow.zeros_initializer() })
  return flow.matmul(x, flow.get_variable("letters-weight"), { transpose_b = true }) + bias
end)

local rate = flow.optimizer.PiecewiseConstantScheduler({ math.ceil(STEPS * 0.8) }, { 1e-3, 2e-4 },
  { warmup = flow.optimizer.warmup.linear(math.ceil(STEPS / 20), 0.1) })

local train = bert:train {
  inputs = { ids = flow.int32 { BATCH, LENGTH }, true_ids = flow.int32 { BATCH, LENGTH },
    wanted = flow.float32 { BATCH, LENGTH } },
  loss = function(logits, true_ids, wanted)      -- the mean of the letters that must be told
    local losses = flow.nn.cross_entropy(logits, true_ids:reshape(-1), { reduction = "none" })
    local told = wanted:reshape(-1)
    return (losses * told):sum() / told:sum()
  end,
  optimizer = flow.optimizer.Adam(rate, {
    grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }),
}

local predict = bert:predict { inputs = { flow.int32 { 1, LENGTH } },
  output = function(logits) return logits:argmax(1) end }

-- Hides every seventh letter of a piece. Gives the piece with `_` for these, and with what the
-- network takes them for, and how many of how many it told.
local function fill(at)
  local piece, shown, ids = text:sub(at + 1, at + LENGTH), {}, nd.zeros({ 1, LENGTH }, "int32")
  for j = 1, LENGTH do
    local hidden = j % 7 == 0
    ids[1][j] = hidden and MASK or number[piece:sub(j, j)]
    shown[j] = hidden and "_" or piece:sub(j, j)
  end
  local told, right, all = predict(ids), 0, 0
  local filled = {}
  for j = 1, LENGTH do
    local letter = letters[told[j] + 1] or "_"
    filled[j] = shown[j] == "_" and letter or shown[j]
    if shown[j] == "_" then all, right = all + 1, right + (letter == piece:sub(j, j) and 1 or 0) end
  end
  return table.concat(shown), table.concat(filled), right, all
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

local right, all = 0, 0
for i = 1, 20 do
  local shown, filled, r, a = fill(math.floor(i * (#text - LENGTH) / 20))
  right, all = right + r, all + a
  if i == 1 then print(shown .. "\n" .. filled) end
end
print(("hidden letters told: %d of %d"):format(right, all))
