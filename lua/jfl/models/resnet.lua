-- ResNet (He et al., 2015), as Hugging Face's ResNetForImageClassification has it; names of
-- torchvision are known, too. Depths { 3, 4, 6, 3 } are 50 layers, or 34 with layer_type "basic";
-- { 2, 2, 2, 2 } of that are 18, and { 3, 4, 23, 3 } are 101 and { 3, 8, 36, 3 } 152 of the other.
local args = require "jfl.base.args"
local core = require "jfl.core"
local parts = require "jfl.models.parts"

local resnet = {
  type = "resnet",
  doc = "ResNet: pictures (batch, channels, height, width) to logits (batch, classes).",
  example = "depths = { 3, 4, 23, 3 }",
  config = { num_channels = 3, embedding_size = 64, hidden_sizes = { 256, 512, 1024, 2048 },
    depths = { 3, 4, 6, 3 }, layer_type = "bottleneck", hidden_act = "relu", num_labels = 1000,
    id2label = false, downsample_in_first_stage = false, downsample_in_bottleneck = false },
  optional = { id2label = "table" },
  shape = function(c) return { 1, c.num_channels, 32, 32 } end,
  inputs = { "float32" },
  rename = parts.renames {
    { "^resnet%.", "" }, { "^classifier%.1%.", "classifier." },
    -- torchvision's
    { "^fc%.", "classifier." }, { "^conv1%.", "embedder.embedder.convolution." },
    { "^bn1%.", "embedder.embedder.normalization." },
    { "^layer(%d)%.(%d+)", function(stage, k)
      return ("encoder.stages.%d.layers.%s"):format(stage - 1, k)
    end },
    { "%.downsample%.0%.", ".shortcut.convolution." },
    { "%.downsample%.1%.", ".shortcut.normalization." },
    { "%.conv(%d)%.", function(k) return (".layer.%d.convolution."):format(k - 1) end },
    { "%.bn(%d)%.", function(k) return (".layer.%d.normalization."):format(k - 1) end } },
  head = "^classifier",
  left_out = { "num_batches_tracked$" },
}

local function conv(x, filters, size, stride, name, activation)
  return parts.conv_norm(x, filters, { size = size, stride = stride, activation = activation },
    name .. ".convolution", name .. ".normalization")
end

local function layer(c, x, filters, stride, name)
  local act, inner = parts.activation(c.hidden_act), name .. ".layer."
  local y
  if c.layer_type == "basic" then
    y = conv(x, filters, 3, stride, inner .. "0", act)
    y = conv(y, filters, 3, 1, inner .. "1")
  else
    local first = c.downsample_in_bottleneck and stride or 1
    y = conv(x, filters / 4, 1, first, inner .. "0", act)
    y = conv(y, filters / 4, 3, stride / first, inner .. "1", act)
    y = conv(y, filters, 1, 1, inner .. "2")
  end
  if x.shape[2] ~= filters or stride ~= 1 then
    x = conv(x, filters, 1, stride, name .. ".shortcut")
  end
  return act(y + x)
end

function resnet.body(flow, c)
  local act = parts.activation(c.hidden_act)
  if c.layer_type ~= "basic" and c.layer_type ~= "bottleneck" then
    core.fail("models.resnet: layer_type must be \"basic\" or \"bottleneck\", got \"%s\"",
      c.layer_type)
  end
  args.check(#c.depths == #c.hidden_sizes, "models.resnet: depths must have a number for each of "
    .. "the %d hidden_sizes, got %d", #c.hidden_sizes, #c.depths)
  return function(x)
    x = conv(x, c.embedding_size, 7, 2, "embedder.embedder", act)
    x = flow.nn.max_pool2d(x, 3, { strides = 2, padding = 1 })
    for i, depth in ipairs(c.depths) do
      for k = 0, depth - 1 do
        local stride = k == 0 and (i > 1 or c.downsample_in_first_stage) and 2 or 1
        x = layer(c, x, c.hidden_sizes[i], stride,
          ("encoder.stages.%d.layers.%d"):format(i - 1, k))
      end
    end
    return parts.dense(flow.math.reduce_mean(x, { 2, 3 }), parts.labels(c), "classifier")
  end
end

return resnet
