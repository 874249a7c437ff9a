-- ViT (Dosovitskiy et al., 2020), as Hugging Face's ViTForImageClassification has it.
local args = require "jfl.base.args"
local parts = require "jfl.models.parts"

local vit = {
  type = "vit",
  doc = "ViT: square pictures (batch, channels, size, size) to logits (batch, classes).",
  example = "num_hidden_layers = 6",
  config = { num_channels = 3, image_size = 224, patch_size = 16, hidden_size = 768,
    num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072,
    hidden_act = "gelu", layer_norm_eps = 1e-12, qkv_bias = true, num_labels = 1000,
    id2label = false },
  optional = { id2label = "table" },
  shape = function(c) return { 1, c.num_channels, c.image_size, c.image_size } end,
  inputs = { "float32" },
  rename = { { "^vit%.", "" },
    -- Names within programs of transformers 5, which its files do not have, but PyTorch's save.
    { "^layers%.", "encoder.layer." }, { "attention%.q_proj%.", "attention.attention.query." },
    { "attention%.k_proj%.", "attention.attention.key." },
    { "attention%.v_proj%.", "attention.attention.value." },
    { "attention%.o_proj%.", "attention.output.dense." }, { "mlp%.fc1%.", "intermediate.dense." },
    { "mlp%.fc2%.", "output.dense." },
    { "(layernorm[_%w]*)%.weight$", "%1-gamma" },
    { "(layernorm[_%w]*)%.bias$", "%1-beta" }, { "%.weight$", "-weight" }, { "%.bias$", "-bias" } },
  head = "^classifier",
  left_out = { "^pooler%.", "^vit%.pooler%." },
}

-- A vector for each patch, the one of the class before them, and their positions.
local function embed(flow, c, x)
  local size, n = c.hidden_size, math.floor(c.image_size / c.patch_size) ^ 2
  local s = x.shape
  args.check(s[3] == c.image_size and s[4] == c.image_size, "models.vit: pictures must be of %d x "
    .. "%d pixels (image_size), got %d x %d", c.image_size, c.image_size, s[3], s[4])
  x = flow.layers.conv2d(x, size, { kernel_size = c.patch_size, strides = c.patch_size,
    kernel_initializer = parts.narrow(), name = "embeddings.patch_embeddings.projection" })
  x = flow.transpose(flow.reshape(x, { s[1], size, n }), { 0, 2, 1 })
  local class = flow.get_variable("embeddings.cls_token", { 1, 1, size },
    { initializer = parts.narrow() })
  local positions = flow.get_variable("embeddings.position_embeddings", { 1, n + 1, size },
    { initializer = parts.narrow() })
  return flow.concat({ flow.broadcast_to(class, { s[1], 1, size }), x }, 1) + positions
end

-- What the parts of a block are called.
local NAMES = { before = "layernorm_before", after = "layernorm_after",
  query = "attention.attention.query", key = "attention.attention.key",
  value = "attention.attention.value", together = "attention.output.dense",
  up = "intermediate.dense", down = "output.dense" }

function vit.body(flow, c)
  local o = { names = NAMES, size = c.hidden_size, heads = c.num_attention_heads,
    inner = c.intermediate_size, epsilon = c.layer_norm_eps,
    activation = parts.activation(c.hidden_act), lacks_bias = not c.qkv_bias
      and { query = true, key = true, value = true } or {} }
  return function(x)
    x = embed(flow, c, x)
    for i = 0, c.num_hidden_layers - 1 do x = parts.block(x, "encoder.layer." .. i, o) end
    x = parts.layer_norm(flow.slice(x, { 0, 0, 0 }, { -1, 1, -1 }), "layernorm", c.layer_norm_eps)
    return parts.dense(flow.reshape(x, { x.shape[1], c.hidden_size }), parts.labels(c),
      "classifier")
  end
end

return vit
