-- Which of flow.models a GGUF file is, with its configuration, and what its tensors are called.
local args = require "jfl.base.args"
local checkpoint = require "jfl.checkpoint.checkpoint"
local core = require "jfl.core"
local header = require "jfl.gguf.header"
local names = require "jfl.base.names"

local network = {}

-- Names of layers there and here, and which of them are normalizations.
local LLAMA = { token_embd = "embed_tokens", output_norm = "norm", output = "lm_head",
  attn_norm = "input_layernorm", attn_q = "self_attn.q_proj", attn_k = "self_attn.k_proj",
  attn_v = "self_attn.v_proj", attn_output = "self_attn.o_proj",
  ffn_norm = "post_attention_layernorm", ffn_gate = "mlp.gate_proj", ffn_up = "mlp.up_proj",
  ffn_down = "mlp.down_proj" }
local GPT2 = { token_embd = "wte", position_embd = "wpe", output_norm = "ln_f", attn_norm = "ln_1",
  attn_qkv = "attn.c_attn", attn_output = "attn.c_proj", ffn_norm = "ln_2", ffn_up = "mlp.c_fc",
  ffn_down = "mlp.c_proj" }
local NORMS = { output_norm = true, attn_norm = true, ffn_norm = true }
local NORM_PARTS = { weight = "gamma", bias = "beta" }

-- ---- configurations ----

local function whole(h, key, default)
  local value = header.get(h, key, "number", default)
  if value and (value < 1 or value % 1 ~= 0) then header.wrong(h, key, "a whole number above 0") end
  return value
end

local function shapes_of(h)
  local shapes = {}
  for _, tensor in ipairs(h.tensors) do shapes[tensor.name] = tensor.shape end
  return shapes
end

-- How many words the network knows: rows of the table of their vectors.
local function vocabulary(h, shapes)
  local shape = shapes["token_embd.weight"]
  if shape and #shape == 2 then return shape[1] end
  core.fail("%s: %s: tensor token_embd.weight must be there, with two axes", h.who, h.path)
end

-- What rotary positions are scaled by: a tensor of factors, or keys.
local function scaling(h, arch, shapes, base, size)
  local kind = header.get(h, arch .. ".rope.scaling.type", "string", "none")
  if shapes["rope_freqs.weight"] then
    local get = checkpoint.checkpoint.get
    local factors = get(h.path, { only = "rope_freqs.weight" })["rope_freqs.weight"]
    return { rope_type = "factors", rope_theta = base, factors = factors:totable() }
  end
  if kind == "none" then return { rope_type = "default", rope_theta = base } end
  if kind ~= "linear" and kind ~= "yarn" then
    header.wrong(h, arch .. ".rope.scaling.type", '"none", "linear" or "yarn"')
  end
  return { rope_type = kind, rope_theta = base,
    factor = header.get(h, arch .. ".rope.scaling.factor", "number"),
    original_max_position_embeddings = kind == "yarn"
      and whole(h, arch .. ".rope.scaling.original_context_length", size) or nil }
end

-- Fails where a network of an architecture has what it lacks here.
local function check_plain(h, arch, head)
  for _, each in ipairs { { "expert_count", 0 }, { "attention.sliding_window", 0 },
    { "rope.dimension_count", head }, { "attention.value_length", head } } do
    local key = arch .. "." .. each[1]
    if header.get(h, key, "number", each[2]) ~= each[2] then header.wrong(h, key, each[2]) end
  end
end

-- Fails where tensors are not of the sizes that keys tell, so that those are no larger than the
-- file has: lists of a name and a shape. Those of the first block are those of all.
local function check_shapes(h, shapes, n_blocks, list)
  local blocks = 0
  for name in pairs(shapes) do
    if name:find("^blk%.%d+%.attn_norm%.weight$") then blocks = blocks + 1 end
  end
  args.check(blocks == n_blocks, "%s: %s: block_count must be as many as blk.N.attn_norm.weight, "
    .. "%d, got %d", h.who, h.path, blocks, n_blocks)
  for _, each in ipairs(list) do
    local want, of_blocks = args.shape_text(each[2]), each[1]:match "^blk%.0(.*)"
    for block = 0, of_blocks and n_blocks - 1 or 0 do
      local name = of_blocks and ("blk.%d%s"):format(block, of_blocks) or each[1]
      local got = shapes[name] and args.shape_text(shapes[name]) or "none"
      args.check(got == want, "%s: %s: tensor %s must be %s, as keys say, got %s", h.who, h.path,
        name, want, got)
    end
  end
end

local function llama_config(h, arch)
  local shapes = shapes_of(h)
  local function key(name) return ("%s.%s"):format(arch, name) end
  local size, heads = whole(h, key "embedding_length"), whole(h, key "attention.head_count")
  local head = whole(h, key "attention.key_length", size / heads)
  local most = whole(h, key "context_length", 2048)
  check_plain(h, arch, head)
  local base = header.get(h, key "rope.freq_base", "number", 10000)
  local words, inner = vocabulary(h, shapes), whole(h, key "feed_forward_length")
  local kv, layers = whole(h, key "attention.head_count_kv", heads), whole(h, key "block_count")
  check_shapes(h, shapes, layers, { { "token_embd.weight", { words, size } },
    { "blk.0.attn_q.weight", { heads * head, size } },
    { "blk.0.attn_k.weight", { kv * head, size } }, { "blk.0.ffn_up.weight", { inner, size } } })
  return { vocab_size = words, hidden_size = size, intermediate_size = inner,
    num_hidden_layers = layers, num_attention_heads = heads, num_key_value_heads = kv,
    head_dim = head,
    rms_norm_eps = header.get(h, key "attention.layer_norm_rms_epsilon", "number"),
    rope_parameters = scaling(h, arch, shapes, base, most), max_position_embeddings = most,
    rope_interleaved = arch == "llama", tie_word_embeddings = not shapes["output.weight"],
    attention_bias = shapes["blk.0.attn_q.bias"] ~= nil,
    output_bias = shapes["blk.0.attn_output.bias"] ~= nil,
    mlp_bias = shapes["blk.0.ffn_gate.bias"] ~= nil }
end

local function gpt2_config(h)
  local shapes, size = shapes_of(h), whole(h, "gpt2.embedding_length")
  local words, most = vocabulary(h, shapes), whole(h, "gpt2.context_length")
  local layers, inner = whole(h, "gpt2.block_count"), whole(h, "gpt2.feed_forward_length")
  check_shapes(h, shapes, layers, { { "token_embd.weight", { words, size } },
    { "position_embd.weight", { most, size } }, { "blk.0.attn_qkv.weight", { 3 * size, size } },
    { "blk.0.ffn_up.weight", { inner, size } } })
  return { vocab_size = words, n_positions = most, n_embd = size, n_layer = layers,
    n_head = whole(h, "gpt2.attention.head_count"), n_inner = inner,
    layer_norm_epsilon = header.get(h, "gpt2.attention.layer_norm_epsilon", "number") }
end

-- left_out: tensors that the network has no use for, or that the configuration has already.
local ARCHITECTURES = {
  llama = { kind = "llama", config = llama_config, layers = LLAMA, block = "layers",
    left_out = { ["rope_freqs.weight"] = true } },
  qwen2 = { kind = "llama", config = llama_config, layers = LLAMA, block = "layers",
    left_out = {} },
  gpt2 = { kind = "gpt2", config = gpt2_config, layers = GPT2, block = "h",
    left_out = { ["output.weight"] = true } },
}

-- ---- names ----

-- What a tensor is called here, or nil.
local function own_name(arch, name)
  local block, layer, part = name:match("^blk%.(%d+)%.([%w_]+)%.(%a+)$")
  if not block then layer, part = name:match("^([%w_]+)%.(%a+)$") end
  local own = arch.layers[layer]
  if not own or not NORM_PARTS[part] then return nil end
  return ("%s%s-%s"):format(block and ("%s.%s."):format(arch.block, block) or "", own,
    NORMS[layer] and NORM_PARTS[part] or part)
end

--- What a variable here is called there, or nil; type: that of flow.models.
function network.their_name(type, name)
  local arch = ARCHITECTURES[type]
  local block, own, part = name:match("^" .. arch.block .. "%.(%d+)%.([%w_.]+)%-(%a+)$")
  if not block then own, part = name:match("^([%w_.]+)%-(%a+)$") end
  for layer, each in pairs(arch.layers) do
    if each == own then
      part = NORMS[layer] and (part == "gamma" and "weight" or "bias") or part
      return ("%s%s.%s"):format(block and "blk." .. block .. "." or "", layer, part)
    end
  end
  return nil
end

local HALVES = { f16 = "float16", bf16 = "bfloat16" }

-- The matrices that stay as a file has them: their dtypes, by the names that they have here. The
-- table of positions is cut by rows, which few bits are not made for.
local function in_few_bits(arch, h)
  local list = {}
  for _, tensor in ipairs(h.tensors) do
    local own, dtype = own_name(arch, tensor.name), tensor.type:lower()
    local is_product = #tensor.shape == 2 and tensor.name ~= "position_embd.weight"
    dtype = core.blocks[dtype] and dtype or HALVES[dtype]
    if own and is_product and dtype then list[own] = dtype end
  end
  return list
end

--- The type and the configuration, as flow.models has them, of the network in a file; what names
-- of its tensors become; and the dtypes of matrices that it has in few bits, by their names here.
function network.read(who, path)
  local h = header.read(who, path)
  local name = header.get(h, "general.architecture", "string")
  local arch = ARCHITECTURES[name]
  if not arch then
    core.fail("%s: %s: general.architecture must be one of gpt2, llama and qwen2, got \"%s\"%s",
      who, path, name, names.suggest(name, ARCHITECTURES))
  end
  local config = arch.config(h, name)
  return arch.kind, config, function(each)
    if arch.left_out[each] then return nil end
    local own = own_name(arch, each)
    if own then return own end
    core.fail("%s: %s: tensor %s is none of those that networks of architecture %s have", who, path,
      each, name)
  end, in_few_bits(arch, h)
end

return network
