-- What a language model loses where its weights are in few bits: trains a small Llama on the
-- licences of Debian, as examples/chat.lua does, and prints the perplexity of text that it has not
-- seen, with its weights in each form.
--   jfl scripts/bench/perplexity.lua [steps]
local flow = require "jfl"
local nd = flow.ndarray

local STEPS, LENGTH, BATCH, WORDS = tonumber(arg[1] or 600), 64, 16, 1024
local FORMS = { "float32", "q8_0", "q6_k", "q4_k", "q4_0", "int8" }

math.randomseed(1)
flow.random.seed(1)

local texts = {}
for _, name in ipairs { "GPL-3", "GPL-2", "LGPL-3", "LGPL-2.1", "GFDL-1.3", "Apache-2.0", "MPL-2.0",
  "Artistic" } do
  local file = assert(io.open("/usr/share/common-licenses/" .. name))
  texts[#texts + 1] = file:read("*a"):gsub("([^\n])\n *([^\n])", "%1 %2")
  file:close()
end
local text = table.concat(texts, "\n")
local tokenizer = flow.text.train({ text }, { size = WORDS })
local ids = tokenizer:encode(text)
local known = math.floor(#ids * 0.9)          -- what comes behind is not learned

-- Pieces of the text from these places on, and what follows each word.
local function pieces(places)
  local from, to = {}, {}
  for i, at in ipairs(places) do
    from[i], to[i] = { unpack(ids, at, at + LENGTH - 1) }, { unpack(ids, at + 1, at + LENGTH) }
  end
  return nd.array(from, "int32"), nd.array(to, "int32")
end

local function loss(logits, nexts) return flow.nn.cross_entropy(logits, nexts) end

local input = flow.int32 { BATCH, LENGTH }
local path = os.tmpname()
os.remove(path)
local net = flow.models.llama { vocab_size = tokenizer.size, hidden_size = 256,
  intermediate_size = 512, num_hidden_layers = 3, num_attention_heads = 4, num_key_value_heads = 2,
  max_position_embeddings = 512 }
local train = net:train { inputs = { ids = input, nexts = input }, loss = loss,
  optimizer = flow.optimizer.AdamW(2e-3, { beta2 = 0.98, weight_decay = 0.1,
    grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }) }
for _ in flow.progress(STEPS, { desc = ("%d words"):format(known) }) do
  local places = {}
  for i = 1, BATCH do places[i] = math.random(known - LENGTH) end
  train(pieces(places))
end
net:save(path)

-- All whole batches of the text that was not learned.
local unseen, at = {}, known
while at + BATCH * LENGTH < #ids do
  local places = {}
  for i = 1, BATCH do places[i], at = at, at + LENGTH end
  unseen[#unseen + 1] = { pieces(places) }
end

print(("%-8s %12s %8s"):format("weights", "perplexity", "more"))
local first
for _, form in ipairs(FORMS) do
  flow.clear_default_session()
  net = flow.models.load(path)
  local predict, batches = net:predict { name = "read", inputs = { input } }, {}
  for i = 1, 4 do
    local places = {}
    for k = 1, BATCH do places[k] = i * k * 100 end
    batches[i] = pieces(places)
  end
  if form == "int8" then
    flow.quantization.quantize(net, { form = form, job = predict, batches = batches })
  elseif form ~= "float32" then
    flow.quantization.quantize(net, { form = form })
  end
  local evaluate = net:evaluate { inputs = { ids = input, nexts = input }, loss = loss }
  local sum = 0
  for _, each in ipairs(unseen) do sum = sum + evaluate(unpack(each)):item() end
  local perplexity = math.exp(sum / #unseen)
  first = first or perplexity
  print(("%-8s %12.4f %7.2f%%"):format(form, perplexity, 100 * (perplexity / first - 1)))
end
os.execute("rm -r " .. path)
