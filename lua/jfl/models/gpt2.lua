-- GPT-2 (Radford et al., 2019), as Hugging Face's GPT2LMHeadModel has it.
local parts = require "jfl.models.parts"

local gpt2 = {
  type = "gpt2",
  doc = "GPT-2: token numbers (batch, length) to logits (batch, length, vocabulary).",
  example = "n_layer = 2",
  config = { vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12,
    n_inner = false, layer_norm_epsilon = 1e-5, activation_function = "gelu_new" },
  optional = { n_inner = "number" },
  inputs = { "int32" },
  --- How many places its texts have, for those that flow.generate continues.
  most = function(c) return c.n_positions end,
  --- What names of files become, in this order, and patterns of those that are left out.
  rename = { { "^transformer%.", "" }, { "(ln_%w+)%.weight$", "%1-gamma" },
    { "(ln_%w+)%.bias$", "%1-beta" }, { "%.weight$", "-weight" }, { "%.bias$", "-bias" } },
  left_out = { "%.attn%.bias$", "%.attn%.masked_bias$", "^lm_head%." },
  --- Products there have their weights as (inputs, units).
  transpose = { "attn%.c_attn%.weight$", "c_proj%.weight$", "mlp%.c_fc%.weight$" },
}

local function block(flow, c, x, name)
  local size = c.n_embd
  local h = parts.layer_norm(x, name .. ".ln_1", c.layer_norm_epsilon)
  local qkv = parts.dense(h, 3 * size, name .. ".attn.c_attn")
  local function part(i)
    return parts.heads(flow.slice(qkv, { 0, 0, i * size }, { -1, -1, size }), c.n_head)
  end
  local y = parts.attend(part(0), part(1), part(2), name)
  x = x + parts.dense(parts.together(y), size, name .. ".attn.c_proj")
  h = parts.layer_norm(x, name .. ".ln_2", c.layer_norm_epsilon)
  h = parts.dense(h, c.n_inner or 4 * size, name .. ".mlp.c_fc")
  return x + parts.dense(parts.activation(c.activation_function)(h), size, name .. ".mlp.c_proj")
end

--- The model's function for a configuration.
function gpt2.body(flow, c)
  parts.activation(c.activation_function)
  return function(ids)
    local x = parts.embedding(ids, c.vocab_size, c.n_embd, "wte")
      + parts.positions(ids, c.n_positions, c.n_embd, "wpe")
    for i = 0, c.n_layer - 1 do x = block(flow, c, x, "h." .. i) end
    x = parts.layer_norm(parts.last(x), "ln_f", c.layer_norm_epsilon)
    return parts.logits(x, c.vocab_size, "wte")
  end
end

return gpt2
