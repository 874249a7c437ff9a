-- Times generation by a network in a GGUF file, as peer_gguf.py times llama.cpp:
--   jfl scripts/bench/gguf.lua FILE [threads [tokens [prompt [behind]]]]
--   jfl scripts/bench/gguf.lua make gpt2|160m|1.1b FORM FILE
-- The second writes such a file with random weights, of the sizes of GPT-2, of a Llama of 160
-- million numbers and of TinyLlama. The first prints the seconds from the start of loading to the
-- first token; of a token behind so many others, and of one of a prompt, the least milliseconds by
-- the clock and by the processors' time, which tells more on a busy machine; and the MiB that the
-- process holds.
local core = require "jfl.core"
local flow = require "jfl"

local function llama(size, inner, layers, heads, kv)
  return flow.models.llama { hidden_size = size, intermediate_size = inner,
    num_hidden_layers = layers, num_attention_heads = heads, num_key_value_heads = kv,
    rope_interleaved = true }
end

local NETWORKS = {
  gpt2 = function() return flow.models.gpt2() end,
  ["160m"] = function() return llama(768, 3072, 12, 12, 12) end,
  ["1.1b"] = function() return llama(2048, 5632, 22, 32, 4) end,
}

local function make(name, form, path)
  local net = NETWORKS[name]()
  net:predict { name = "make", inputs = { flow.int32 { 1, 1 } } }
  flow.gguf.save(net, path, { dtype = form, metadata = { ["tokenizer.ggml.model"] = "no_vocab" } })
end

local function held()
  for line in io.lines "/proc/self/status" do
    local kib = line:match "^VmRSS:%s*(%d+)"
    if kib then return kib / 1024 end
  end
end

local function ids(n)
  local list = {}
  for i = 1, n do list[i] = 4 + i % 100 end
  return list
end

local function measure(path, threads, tokens, prompt, behind)
  flow.config.threads(threads)
  local start = core.now()
  local net = flow.models.load(path)
  flow.generate(net, ids(4), { max = 1, temperature = 0 })
  local first = core.now() - start
  local clock, used, last, last_used = math.huge, math.huge, nil, nil
  flow.generate(net, ids(behind), { max = tokens, temperature = 0, on_token = function()
    local now, now_used = core.now(), os.clock()
    if last then clock, used = math.min(clock, now - last), math.min(used, now_used - last_used) end
    last, last_used = now, now_used
  end })
  local many, many_used = math.huge, math.huge
  for _ = 1, 4 do
    local now, now_used = core.now(), os.clock()
    flow.generate(net, ids(prompt), { max = 1, temperature = 0 })
    many = math.min(many, core.now() - now)
    many_used = math.min(many_used, os.clock() - now_used)
  end
  print(("%.3f %.3f %.3f %.4f %.4f %.0f"):format(first, clock * 1e3, used * 1e3,
    many / prompt * 1e3, many_used / prompt * 1e3, held()))
end

if arg[1] == "make" then make(arg[2], arg[3], arg[4])
else
  measure(arg[1], tonumber(arg[2] or 2), tonumber(arg[3] or 64), tonumber(arg[4] or 256),
    tonumber(arg[5] or 4))
end
