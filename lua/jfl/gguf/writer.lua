-- The metadata and tensors of a GGUF file for a network of flow.models.
local args = require "jfl.base.args"
local core = require "jfl.core"
local metadata = require "jfl.gguf.metadata"
local network = require "jfl.gguf.network"
local rotary = require "jfl.models.rotary"

local writer = {}

-- ---- Llama and what is like it ----

-- Rows of queries or keys in the order in which rotary pairs are neighbours, as Llama's files have
-- them: 0, n / 2, 1, n / 2 + 1, ... of each head.
local function neighbours(array, heads)
  local shape = array.shape
  local rows = core.reshape(array, { heads, 2, shape[1] / heads / 2, -1 })
  return core.reshape(rows:transpose { 0, 2, 1, 3 }, shape)
end

local function scaling(who, c, size, list, tensors)
  local p = c.rope_parameters or c.rope_scaling or {}
  local kind, base = p.rope_type or p.type or "default", p.rope_theta or c.rope_theta
  metadata.add(list, "rope.freq_base", "float32", base)
  if kind == "default" then return end
  if kind == "linear" or kind == "yarn" then
    if p.beta_fast or p.beta_slow or p.attention_factor then
      core.fail("%s: net: rope_parameters of yarn must have the beta and attention_factor that are "
        .. "usual; the file has no place for others", who)
    end
    metadata.add(list, "rope.scaling.type", "string", kind)
    metadata.add(list, "rope.scaling.factor", "float32", p.factor)
    if p.original_max_position_embeddings then
      metadata.add(list, "rope.scaling.original_context_length", "uint32",
        p.original_max_position_embeddings)
    end
    return
  end
  local factors = {}
  for i, frequency in ipairs(rotary.of(c, size).frequencies) do
    factors[i] = base ^ (-2 * (i - 1) / size) / frequency
  end
  local array = core.from_table(factors, "float32")
  tensors[1] = { name = "rope_freqs.weight", shape = array.shape,
    read = function() return array end }
end

local function llama(who, c, list, tensors)
  args.check(c.hidden_act == "silu", "%s: net: hidden_act must be \"silu\", got \"%s\"", who,
    c.hidden_act)
  local heads = c.num_attention_heads
  local kv, size = c.num_key_value_heads or heads, c.head_dim or c.hidden_size / heads
  local is_qwen = not c.rope_interleaved and c.attention_bias and not c.output_bias
  for _, each in ipairs {
    { "context_length", "uint32", c.max_position_embeddings }, { "embedding_length", "uint32",
      c.hidden_size }, { "block_count", "uint32", c.num_hidden_layers },
    { "feed_forward_length", "uint32", c.intermediate_size },
    { "attention.head_count", "uint32", heads }, { "attention.head_count_kv", "uint32", kv },
    { "attention.key_length", "uint32", size }, { "attention.value_length", "uint32", size },
    { "attention.layer_norm_rms_epsilon", "float32", c.rms_norm_eps },
    { "rope.dimension_count", "uint32", size }, { "vocab_size", "uint32", c.vocab_size },
  } do
    metadata.add(list, unpack(each))
  end
  scaling(who, c, size, list, tensors)
  if is_qwen or c.rope_interleaved then return is_qwen and "qwen2" or "llama" end
  return "llama", function(name, array)
    local n = name:find("attn_q%.") and heads or name:find("attn_k%.") and kv
    return n and neighbours(array, n) or array
  end
end

-- ---- GPT-2 ----

local function gpt2(who, c, list)
  local act = c.activation_function
  if act ~= "gelu_new" and act ~= "gelu_pytorch_tanh" then
    core.fail("%s: net: activation_function must be \"gelu_new\", got \"%s\"", who, act)
  end
  for _, each in ipairs {
    { "context_length", "uint32", c.n_positions }, { "embedding_length", "uint32", c.n_embd },
    { "block_count", "uint32", c.n_layer }, { "attention.head_count", "uint32", c.n_head },
    { "feed_forward_length", "uint32", c.n_inner or 4 * c.n_embd },
    { "attention.layer_norm_epsilon", "float32", c.layer_norm_epsilon },
    { "vocab_size", "uint32", c.vocab_size },          -- which llama.cpp wants without a tokenizer
  } do
    metadata.add(list, unpack(each))
  end
  return "gpt2"
end

local KINDS = { llama = llama, gpt2 = gpt2 }

-- ---- both ----

--- The metadata { key, kind, value } and the tensors { name, shape, read } of a network, given by
-- its type and configuration as flow.models has them, and its variables by name.
function writer.write(who, type, c, variables)
  args.check(KINDS[type], "%s: net must be a network of the type gpt2 or llama, got one of type %s",
    who, type)
  local own, tensors = {}, {}
  local arch, turned = KINDS[type](who, c, own, tensors)
  local list = { { key = "general.architecture", kind = "string", value = arch } }
  for _, each in ipairs(own) do
    metadata.add(list, arch .. "." .. each.key, each.kind, each.value)
  end
  for _, name in ipairs(args.keys(variables)) do
    local theirs, array = network.their_name(type, name), variables[name]
    tensors[#tensors + 1] = { name = theirs, shape = array.shape,
      read = function() return turned and turned(theirs, array) or array end }
  end
  return list, tensors
end

return writer
