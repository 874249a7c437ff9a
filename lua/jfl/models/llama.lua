-- Networks like Llama (Touvron et al., 2023): rms norm, rotary positions, keys and values that
-- several queries share, and a gate by silu; as Hugging Face's LlamaForCausalLM has it, and those
-- of Mistral and Qwen2.
local core = require "jfl.core"
local parts = require "jfl.models.parts"
local rotary = require "jfl.models.rotary"

local llama = {
  type = "llama",
  doc = "A network like Llama: token numbers (batch, length) to logits (batch, length, "
    .. "vocabulary).",
  example = "num_hidden_layers = 2",
  config = { vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008,
    num_hidden_layers = 32, num_attention_heads = 32, num_key_value_heads = false,
    head_dim = false, rms_norm_eps = 1e-6, rope_theta = 10000, rope_parameters = false,
    rope_scaling = false, hidden_act = "silu", attention_bias = false, output_bias = true,
    mlp_bias = false, tie_word_embeddings = false, max_position_embeddings = 2048,
    rope_interleaved = false },
  optional = { num_key_value_heads = "number", head_dim = "number", rope_parameters = "table",
    rope_scaling = "table" },
  -- Networks that differ by their configuration: what becomes of that.
  also = {
    mistral = function(c)
      if c.sliding_window then
        core.fail("models.load: mistral: sliding_window must be null, got %s; jfl has no attention "
          .. "to a part of the places before", tostring(c.sliding_window))
      end
    end,
    qwen2 = function(c)
      if c.use_sliding_window then
        core.fail("models.load: qwen2: use_sliding_window must be false; jfl has no attention to a "
          .. "part of the places before")
      end
      c.attention_bias, c.output_bias = true, false
    end,
  },
  inputs = { "int32" },
  most = function(c) return c.max_position_embeddings end,
  rename = { { "^model%.", "" }, { "norm%.weight$", "norm-gamma" }, { "%.weight$", "-weight" },
    { "%.bias$", "-bias" } },
  left_out = { "rotary_emb%.inv_freq$" },
}

local function attend(c, x, name, turn)
  local heads = c.num_attention_heads
  local size = c.head_dim or c.hidden_size / heads
  local function part(which, n)
    return parts.heads(parts.dense(x, n * size, name .. "." .. which, c.attention_bias), n)
  end
  local n_kv = c.num_key_value_heads or heads
  local y = parts.attend(part("q_proj", heads), part("k_proj", n_kv), part("v_proj", n_kv), name,
    turn)
  return parts.dense(parts.together(y), c.hidden_size, name .. ".o_proj",
    c.attention_bias and c.output_bias)
end

local function block(c, x, name, turn)
  local function norm(y, which) return parts.rms_norm(y, name .. "." .. which, c.rms_norm_eps) end
  x = x + attend(c, norm(x, "input_layernorm"), name .. ".self_attn", turn)
  local h, mlp = norm(x, "post_attention_layernorm"), name .. ".mlp."
  local gate = parts.dense(h, c.intermediate_size, mlp .. "gate_proj", c.mlp_bias)
  local up = parts.dense(h, c.intermediate_size, mlp .. "up_proj", c.mlp_bias)
  return x + parts.dense(parts.activation(c.hidden_act)(gate) * up, c.hidden_size,
    mlp .. "down_proj", c.mlp_bias)
end

function llama.body(_, c)
  parts.activation(c.hidden_act)
  local turn = rotary.of(c, c.head_dim or c.hidden_size / c.num_attention_heads)
  return function(ids)
    local x = parts.embedding(ids, c.vocab_size, c.hidden_size, "embed_tokens")
    for i = 0, c.num_hidden_layers - 1 do x = block(c, x, "layers." .. i, turn) end
    x = parts.rms_norm(parts.last(x), "norm", c.rms_norm_eps)
    if c.tie_word_embeddings then return parts.logits(x, c.vocab_size, "embed_tokens") end
    return parts.dense(x, c.vocab_size, "lm_head", false)
  end
end

return llama
