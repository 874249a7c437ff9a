-- MobileNet v2 (Sandler et al., 2018), as Hugging Face's MobileNetV2ForImageClassification has it;
-- names of torchvision are known, too, whose networks are { tf_padding = false, layer_norm_eps =
-- 1e-5, num_labels = 1000 }.
local parts = require "jfl.models.parts"

local CHANNELS = { 16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320 }
local STRIDES = { 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1 }
local FIRST, LAST = 32, 1280         -- channels before and behind those blocks

local mobilenet = {
  type = "mobilenet_v2",
  doc = "MobileNet v2: pictures (batch, channels, height, width) to logits (batch, classes).",
  example = "depth_multiplier = 0.5",
  config = { num_channels = 3, depth_multiplier = 1.0, depth_divisible_by = 8, min_depth = 8,
    expand_ratio = 6.0, output_stride = 32, first_layer_is_expansion = true,
    finegrained_output = true, hidden_act = "relu6", tf_padding = true, layer_norm_eps = 0.001,
    num_labels = 1001, id2label = false },
  factors = { depth_multiplier = true, expand_ratio = true },
  optional = { id2label = "table" },
  shape = function(c) return { 1, c.num_channels, 64, 64 } end,
  inputs = { "float32" },
  rename = parts.renames {
    { "^mobilenet_v2%.", "" },
    -- torchvision's
    { "^classifier%.1%.", "classifier." },
    { "^features%.0%.0%.", "conv_stem.first_conv.convolution." },
    { "^features%.0%.1%.", "conv_stem.first_conv.normalization." },
    { "^features%.1%.conv%.0%.", "conv_stem.conv_3x3." },
    { "^features%.1%.conv%.1%.", "conv_stem.reduce_1x1.convolution." },
    { "^features%.1%.conv%.2%.", "conv_stem.reduce_1x1.normalization." },
    { "^features%.18%.", "conv_1x1." },
    { "^features%.(%d+)%.conv%.", function(k) return ("layer.%d.conv."):format(k - 2) end },
    { "%.conv%.0%.", ".expand_1x1." }, { "%.conv%.1%.", ".conv_3x3." },
    { "%.conv%.2%.", ".reduce_1x1.convolution." }, { "%.conv%.3%.", ".reduce_1x1.normalization." },
    { "(%d)%.0%.(%w+)$", "%1.convolution.%2" }, { "(%d)%.1%.([%w_]+)$", "%1.normalization.%2" } },
  head = "^classifier",
  left_out = { "num_batches_tracked$" },
}

local function rounded(c, n)
  return parts.divisible(math.floor(n + 0.5), c.depth_divisible_by, c.min_depth)
end

local function conv(c, x, filters, size, name, o)
  o = o or {}
  return parts.conv_norm(x, filters, { size = size, stride = o.stride, groups = o.groups,
    dilation = o.dilation, padding = c.tf_padding and "SAME_UPPER" or nil, momentum = 0.997,
    epsilon = c.layer_norm_eps, activation = not o.linear and parts.activation(c.hidden_act) },
    name .. ".convolution", name .. ".normalization")
end

local function stem(c, x)
  local n = rounded(c, FIRST * c.depth_multiplier)
  x = conv(c, x, n, 3, "conv_stem.first_conv", { stride = 2 })
  if not c.first_layer_is_expansion then x = conv(c, x, n, 1, "conv_stem.expand_1x1") end
  x = conv(c, x, n, 3, "conv_stem.conv_3x3", { groups = n })
  return conv(c, x, rounded(c, CHANNELS[1] * c.depth_multiplier), 1, "conv_stem.reduce_1x1",
    { linear = true })
end

local function block(c, x, filters, stride, dilation, name)
  local n = rounded(c, x.shape[2] * c.expand_ratio)
  local y = conv(c, x, n, 1, name .. ".expand_1x1")
  y = conv(c, y, n, 3, name .. ".conv_3x3", { stride = stride, dilation = dilation, groups = n })
  y = conv(c, y, filters, 1, name .. ".reduce_1x1", { linear = true })
  return stride == 1 and x.shape[2] == filters and x + y or y
end

-- Strides beyond output_stride become dilations of what follows.
local function blocks(c, x)
  local whole, dilation = 2, 1
  for i, stride in ipairs(STRIDES) do
    local filters, name = rounded(c, CHANNELS[i + 1] * c.depth_multiplier), "layer." .. i - 1
    if whole == c.output_stride then
      x = block(c, x, filters, 1, dilation, name)
      dilation = dilation * stride
    else
      x = block(c, x, filters, stride, 1, name)
      whole = whole * stride
    end
  end
  return x
end

function mobilenet.body(flow, c)
  parts.activation(c.hidden_act)
  return function(x)
    x = blocks(c, stem(c, x))
    local last = c.finegrained_output and c.depth_multiplier < 1 and LAST
      or rounded(c, LAST * c.depth_multiplier)
    x = conv(c, x, last, 1, "conv_1x1")
    return parts.dense(flow.math.reduce_mean(x, { 2, 3 }), parts.labels(c), "classifier")
  end
end

return mobilenet
