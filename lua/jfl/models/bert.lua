-- BERT (Devlin et al., 2019), as Hugging Face's BertModel has it, without the head of any task.
local parts = require "jfl.models.parts"

local bert = {
  type = "bert",
  doc = "BERT: token numbers and a mask, 0 where there is none (batch, length), to vectors (batch, "
    .. "length, size).",
  example = "num_hidden_layers = 2",
  config = { vocab_size = 30522, hidden_size = 768, num_hidden_layers = 12,
    num_attention_heads = 12, intermediate_size = 3072, hidden_act = "gelu",
    max_position_embeddings = 512, type_vocab_size = 2, layer_norm_eps = 1e-12 },
  inputs = { "int32", "int32" },
  rename = { { "^bert%.", "" }, { "LayerNorm%.weight$", "LayerNorm-gamma" },
    { "LayerNorm%.gamma$", "LayerNorm-gamma" }, { "LayerNorm%.bias$", "LayerNorm-beta" },
    { "LayerNorm%.beta$", "LayerNorm-beta" }, { "%.weight$", "-weight" }, { "%.bias$", "-bias" } },
  left_out = { "position_ids$", "^bert%.pooler%.", "^pooler%.", "^cls%.", "^classifier%.",
    "^qa_outputs%." },
}

local function block(flow, c, x, mask, name)
  local function part(which)
    return parts.heads(parts.dense(x, c.hidden_size, name .. ".attention.self." .. which),
      c.num_attention_heads)
  end
  local y = flow.nn.scaled_dot_product_attention(part "query", part "key", part "value",
    { mask = mask })
  y = parts.dense(parts.together(y), c.hidden_size, name .. ".attention.output.dense")
  x = parts.layer_norm(x + y, name .. ".attention.output.LayerNorm", c.layer_norm_eps)
  y = parts.dense(x, c.intermediate_size, name .. ".intermediate.dense")
  y = parts.dense(parts.activation(c.hidden_act)(y), c.hidden_size, name .. ".output.dense")
  return parts.layer_norm(x + y, name .. ".output.LayerNorm", c.layer_norm_eps)
end

function bert.body(flow, c)
  parts.activation(c.hidden_act)
  return function(ids, mask)
    local size = c.hidden_size
    local x = parts.embedding(ids, c.vocab_size, size, "embeddings.word_embeddings")
      + parts.positions(ids, c.max_position_embeddings, size, "embeddings.position_embeddings")
    -- All tokens are of the first sentence.
    local kinds = flow.get_variable("embeddings.token_type_embeddings-weight",
      { c.type_vocab_size, size }, { initializer = parts.narrow() })
    x = x + parts.first_rows(kinds, 1)
    x = parts.layer_norm(x, "embeddings.LayerNorm", c.layer_norm_eps)
    local hides = flow.reshape(flow.cast(mask, "int8"), { ids.shape[1], 1, 1, ids.shape[2] })
    for i = 0, c.num_hidden_layers - 1 do
      x = block(flow, c, x, hides, "encoder.layer." .. i)
    end
    return x
  end
end

return bert
