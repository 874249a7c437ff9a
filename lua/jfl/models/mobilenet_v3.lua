-- MobileNet v3 (Howard et al., 2019), as torchvision's mobilenet_v3_large and _small have it.
local core = require "jfl.core"
local parts = require "jfl.models.parts"

-- Of each block: the kernel's size, channels within, channels behind, whether it squeezes, its
-- activation, its stride. And the units before the classifier.
local LARGE = {
  { 3, 16, 16, false, "relu", 1 }, { 3, 64, 24, false, "relu", 2 }, { 3, 72, 24, false, "relu", 1 },
  { 5, 72, 40, true, "relu", 2 }, { 5, 120, 40, true, "relu", 1 }, { 5, 120, 40, true, "relu", 1 },
  { 3, 240, 80, false, "hardswish", 2 }, { 3, 200, 80, false, "hardswish", 1 },
  { 3, 184, 80, false, "hardswish", 1 }, { 3, 184, 80, false, "hardswish", 1 },
  { 3, 480, 112, true, "hardswish", 1 }, { 3, 672, 112, true, "hardswish", 1 },
  { 5, 672, 160, true, "hardswish", 2 }, { 5, 960, 160, true, "hardswish", 1 },
  { 5, 960, 160, true, "hardswish", 1 }, units = 1280,
}
local SMALL = {
  { 3, 16, 16, true, "relu", 2 }, { 3, 72, 24, false, "relu", 2 }, { 3, 88, 24, false, "relu", 1 },
  { 5, 96, 40, true, "hardswish", 2 }, { 5, 240, 40, true, "hardswish", 1 },
  { 5, 240, 40, true, "hardswish", 1 }, { 5, 120, 48, true, "hardswish", 1 },
  { 5, 144, 48, true, "hardswish", 1 }, { 5, 288, 96, true, "hardswish", 2 },
  { 5, 576, 96, true, "hardswish", 1 }, { 5, 576, 96, true, "hardswish", 1 }, units = 1024,
}
local VARIANTS = { large = LARGE, small = SMALL }

local mobilenet = {
  type = "mobilenet_v3",
  doc = "MobileNet v3: pictures (batch, channels, height, width) to logits (batch, classes).",
  example = 'variant = "small"',
  config = { num_channels = 3, variant = "large", width_mult = 1.0, num_labels = 1000,
    id2label = false },
  factors = { width_mult = true },
  optional = { id2label = "table" },
  shape = function(c) return { 1, c.num_channels, 64, 64 } end,
  inputs = { "float32" },
  rename = parts.renames {
    { "^(features%.%d+)%.0%.(%w+)$", "%1.convolution.%2" },
    { "^(features%.%d+)%.1%.([%w_]+)$", "%1.normalization.%2" },
    { "(block%.%d)%.0%.(%w+)$", "%1.convolution.%2" },
    { "(block%.%d)%.1%.([%w_]+)$", "%1.normalization.%2" } },
  head = "^classifier%.3",
  left_out = { "num_batches_tracked$" },
}

local function wider(c, n) return parts.divisible(n * c.width_mult, 8, 8) end

local function conv(x, filters, size, name, o)
  return parts.conv_norm(x, filters, { size = size, stride = o.stride, groups = o.groups,
    momentum = 0.99, epsilon = 0.001, activation = o.act and parts.activation(o.act) },
    name .. ".convolution", name .. ".normalization")
end

-- What each channel is multiplied by, which follows from the means of all.
local function squeeze(flow, x, name)
  local n = x.shape[2]
  local function dense(y, units, which)
    return flow.layers.conv2d(y, units, { kernel_size = 1, name = name .. "." .. which })
  end
  local y = flow.math.reduce_mean(x, { 2, 3 }, { keepdims = true })
  y = flow.nn.relu(dense(y, parts.divisible(math.floor(n / 4), 8, 8), "fc1"))
  return x * flow.nn.hardsigmoid(dense(y, n, "fc2"))
end

local function block(flow, c, x, row, name)
  local size, inner, filters, squeezes, act, stride = unpack(row)
  inner, filters = wider(c, inner), wider(c, filters)
  local y, k = x, 0
  local function named()
    k = k + 1
    return ("%s.block.%d"):format(name, k - 1)
  end
  if inner ~= x.shape[2] then y = conv(y, inner, 1, named(), { act = act }) end
  y = conv(y, inner, size, named(), { act = act, stride = stride, groups = inner })
  if squeezes then y = squeeze(flow, y, named()) end
  y = conv(y, filters, 1, named(), {})
  return stride == 1 and x.shape[2] == filters and x + y or y
end

function mobilenet.body(flow, c)
  local rows = VARIANTS[c.variant]
  if not rows then
    core.fail("models.mobilenet_v3: variant must be \"large\" or \"small\", got \"%s\"", c.variant)
  end
  return function(x)
    x = conv(x, wider(c, 16), 3, "features.0", { stride = 2, act = "hardswish" })
    for i, row in ipairs(rows) do x = block(flow, c, x, row, "features." .. i) end
    x = conv(x, 6 * x.shape[2], 1, "features." .. #rows + 1, { act = "hardswish" })
    x = parts.dense(flow.math.reduce_mean(x, { 2, 3 }), wider(c, rows.units), "classifier.0")
    return parts.dense(flow.nn.hardswish(x), parts.labels(c), "classifier.3")
  end
end

return mobilenet
