-- A small Llama learns from texts that come with Debian, is written as a GGUF file with 8 bits a
-- weight, and goes on in the terminal with what one types, word by word as it finds them:
--   jfl examples/chat.lua 400 text=story.txt temperature=0.5
-- What is learned is kept in the file `model`, chat.gguf by itself, which llama.cpp reads, too. If
-- it is there nothing is learned, so it may also be one of others: gpt2, llama, mistral and qwen2.
-- An empty line begins a new talk; Ctrl-C ends an answer, Ctrl-D all.
local flow = require "jfl"
local nd = flow.ndarray

local o = flow.arguments [[
  [steps=800] [text=FILE] [model=chat.gguf] [max=60] [temperature=0.7] [top_p=0.9] [seed=N]
  [dtype=q8_0] ]]

-- ---- learning ----

local LENGTH, BATCH, WORDS = 64, 16, 1024

-- The text of a file, or of the licences that are there, without breaks of lines within sentences.
local function read_text()
  local texts, licences = {}, { "GPL-3", "GPL-2", "GPL-1", "LGPL-3", "LGPL-2.1", "GFDL-1.3",
    "Apache-2.0", "Artistic", "MPL-2.0" }
  for _, name in ipairs(o.text and { o.text } or licences) do
    local file = io.open(o.text or "/usr/share/common-licenses/" .. name)
    if file then
      texts[#texts + 1] = file:read("*a"):gsub("([^\n])\n *([^\n])", "%1 %2")
      file:close()
    end
  end
  assert(texts[1], "there is no text to learn from; text=FILE gives one")
  return table.concat(texts, "\n")
end

local function learn()
  local text = read_text()
  local tokenizer = flow.text.train({ text }, { size = WORDS,
    special_tokens = { "<|endoftext|>" } })
  local ids = tokenizer:encode(text)
  assert(#ids > LENGTH, "the text is too short to learn from")
  local net = flow.models.llama { vocab_size = tokenizer.size, hidden_size = 128,
    intermediate_size = 352, num_hidden_layers = 3, num_attention_heads = 4,
    num_key_value_heads = 2, tie_word_embeddings = true, max_position_embeddings = 512 }
  local pieces = flow.int32 { BATCH, LENGTH }
  local train = net:train {
    inputs = { ids = pieces, nexts = pieces },
    loss = function(logits, nexts) return flow.nn.cross_entropy(logits, nexts) end,
    optimizer = flow.optimizer.AdamW(2e-3, { beta2 = 0.98, weight_decay = 0.1,
      grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }),
  }
  flow.gguf.save(net, o.model, { dtype = o.dtype, tokenizer = tokenizer })
  os.remove(o.model)             -- if it cannot be written, that is known before it has learned
  local bar = flow.progress(o.steps, { desc = ("%d words"):format(#ids) })
  for _ in bar do
    local from, to = {}, {}
    for i = 1, BATCH do
      local at = math.random(#ids - LENGTH)
      from[i], to[i] = { unpack(ids, at, at + LENGTH - 1) }, { unpack(ids, at + 1, at + LENGTH) }
    end
    bar.loss = train(nd.array(from, "int32"), nd.array(to, "int32")):item()
  end
  flow.gguf.save(net, o.model, { dtype = o.dtype, tokenizer = tokenizer })
end

math.randomseed(o.seed or 1)
flow.random.seed(o.seed or 1)
local file = io.open(o.model, "rb")
if file then file:close() else learn() end

-- ---- talking ----

local net, tokenizer = flow.models.load(o.model, { name = "talker" }),
  flow.text.tokenizer(o.model)
local facts = flow.gguf.read(o.model).metadata
local most = math.min(2048, facts[facts["general.architecture"] .. ".context_length"])
local cache, heard = flow.layers.attention_cache(most), {}
local stop = facts["tokenizer.ggml.eos_token_id"]

-- Writes words as they come. Bytes of one letter may be in several of them.
local function printer()
  local ids, shown = {}, 0
  return function(id)
    ids[#ids + 1], heard[#heard + 1] = id, id
    local text = tokenizer:decode(ids)
    if text:find("\239\191\189", shown + 1, true) then return end
    io.write(text:sub(shown + 1))
    io.flush()
    shown = #text
  end
end

-- Goes on behind what was said. Where there is no room left, the last part of it is read anew.
local function answer(line)
  local ids = tokenizer:encode(line, { special = #heard == 0 })
  for _, id in ipairs(ids) do heard[#heard + 1] = id end
  if cache:lengths()[1] + #ids + o.max >= most then
    cache:clear()
    ids = { unpack(heard, math.max(1, #heard - math.floor(most / 2) + 1)) }
  end
  flow.generate(net, ids, { cache = cache, keep = true, max = math.min(o.max, most - #ids),
    temperature = o.temperature, top_p = o.top_p, stop = stop,
    seed = o.seed and o.seed + #heard or nil, on_token = printer() })
  print()
end

print("Begin a sentence, such as: You may")
for line in io.lines() do
  if line == "" then
    cache:clear()
    heard = {}
  else
    local ok, why = pcall(answer, line)
    if not ok then print(why) end
  end
end
