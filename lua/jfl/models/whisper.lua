-- The encoder of Whisper (Radford et al., 2022), as Hugging Face's WhisperModel has it.
local args = require "jfl.base.args"
local parts = require "jfl.models.parts"

local whisper = {
  type = "whisper",
  doc = "Whisper's encoder: mel spectrograms (batch, bands, frames) to vectors (batch, frames / 2, "
    .. "size).",
  example = "encoder_layers = 6, d_model = 512",
  config = { num_mel_bins = 80, d_model = 384, encoder_layers = 4, encoder_attention_heads = 6,
    encoder_ffn_dim = 1536, max_source_positions = 1500, activation_function = "gelu" },
  shape = function(c) return { 1, c.num_mel_bins, 2 * c.max_source_positions } end,
  inputs = { "float32" },
  rename = { { "^model%.", "" }, { "^encoder%.", "" },
    { "(layer_norm)%.weight$", "%1-gamma" }, { "(layer_norm)%.bias$", "%1-beta" },
    { "%.weight$", "-weight" }, { "%.bias$", "-bias" } },
  left_out = { "^model%.decoder%.", "^decoder%.", "^proj_out%." },
}

local EPSILON = 1e-5       -- of layer norms

-- What the parts of a block are called.
local NAMES = { before = "self_attn_layer_norm", after = "final_layer_norm",
  query = "self_attn.q_proj", key = "self_attn.k_proj", value = "self_attn.v_proj",
  together = "self_attn.out_proj", up = "fc1", down = "fc2" }

function whisper.body(flow, c)
  local act = parts.activation(c.activation_function)
  local o = { names = NAMES, size = c.d_model, heads = c.encoder_attention_heads,
    inner = c.encoder_ffn_dim, epsilon = EPSILON, activation = act, lacks_bias = { key = true } }
  return function(x)
    local most = 2 * c.max_source_positions
    args.check(x.shape[3] <= most, "models.whisper: there must be at most %d frames (2 "
      .. "max_source_positions), got %d", most, x.shape[3])
    for i = 1, 2 do
      x = act(flow.layers.conv1d(x, c.d_model, { kernel_size = 3, strides = i, padding = 1,
        kernel_initializer = parts.narrow(), name = "conv" .. i }))
    end
    x = flow.transpose(x, { 0, 2, 1 })
    x = x + parts.positions(x, c.max_source_positions, c.d_model, "embed_positions")
    for i = 0, c.encoder_layers - 1 do x = parts.block(x, "layers." .. i, o) end
    return parts.layer_norm(x, "layer_norm", EPSILON)
  end
end

return whisper
