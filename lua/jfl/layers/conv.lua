-- flow.layers: convolutions of one to three axes, plain and transposed, and upsample_2d.
---@box layers.conv1d layers.conv1d_transpose layers.conv2d layers.conv2d_transpose layers.conv3d
---@box layers.conv3d_transpose layers.upsample_2d
local args = require "jfl.base.args"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local windows = require "jfl.op.windows"

local params = common.params

local conv = {}

local COUNTS = { "three", "four", "five" }
local SIZES = { "a number", "a number or { height, width }",
  "a number or { depth, height, width }" }
local NUMBERS = "integer|integer[]"

-- Checks what a layer is given and lists the extents of its weight: `first` and `second` are its
-- numbers of channels, those of the convolution's result and of its input.
local function weight_shape(n, o, first, second)
  local shape = { first }
  for i, extent in ipairs(o.kernel) do shape[i + (o.is_last and 1 or 2)] = extent end
  shape[o.is_last and n + 2 or 2] = second / o.groups
  return shape
end

-- Reads the options that all of these layers share; gives the input's number of channels.
local function read(who, o, x, n)
  o.is_last = windows.is_last(who, o.data_format, n)
  local shape = x.shape
  args.fits(#shape == n + 2, shape, "%s: inputs must have %s axes (%s), got shape",
    who, COUNTS[n], o.data_format)
  local channels = o.is_last and shape[n + 2] or shape[2]
  args.check(o.filters % o.groups == 0 and channels % o.groups == 0, "%s: groups must divide %d "
    .. "filters and %d input channels, got %d", who, o.filters, channels, o.groups)
  local size = o.kernel_size
  if type(size) == "table" and #size ~= 1 and #size ~= n then
    core.fail("%s: kernel_size must be %s, got a list of %d", who, SIZES[n], #size)
  end
  o.kernel = windows.extents(who, "kernel_size", size, n, 1)
  if o.dilation_rate ~= nil then windows.extents(who, "dilation_rate", o.dilation_rate, n, 1) end
  for _, name in ipairs { "weight_name", "bias_name" } do
    if o[name] ~= nil then args.name(who, name, o[name]) end
  end
  return channels
end

-- The layer `kind`, such as "conv2d": its weight, what make(x, weight, name) gives, bias and
-- activation.
local function build(kind, n, o, is_transposed, make)
  local who = "layers." .. kind
  local layer = common.layer(who, kind, o)
  local context, x = layer.context, layer.x
  local channels = read(who, o, x, n)
  local weight_name = o.weight_name and context.prefix .. o.weight_name or layer.name .. "-weight"
  layer:begin(weight_name)
  common.check_model_distribute(who, o.model_distribute)
  local first, second = o.filters, channels
  if is_transposed then first, second = channels, o.filters end
  local weight = layer:variable("weight", "kernel", common.glorot, { name = weight_name,
    shape = weight_shape(n, o, first, second), data_format = o.data_format })
  -- Without a name the core numbers the op, since ops outside of layers may have taken some names.
  local y = make(x, weight, (o.name or context.prefix ~= "") and layer:op "" or nil)
  return layer:activate(layer:add_bias(y, o.filters, o.bias_name and context.prefix .. o.bias_name,
    o.is_last and o.data_format or nil))
end

-- The parameters of a layer; `own`: those between its dilations and its groups.
local function layer_params(kind, n, own)
  local first, last = windows.formats(n)
  local list = {
    { "inputs", ("a blob (%s)"):format(first:gsub("(.)", "%1, "):sub(1, -3)), type = "Blob" },
    { "filters", "number of output channels", type = "integer", least = 1 },
    { "kernel_size", SIZES[n], 1, type = NUMBERS },
    { "strides", n == 2 and "a number or { vertical, horizontal }" or SIZES[n], 1,
      type = NUMBERS },
    { "padding", "SAME, SAME_LOWER, SAME_UPPER, VALID, or cells per side", "VALID",
      type = "string|integer|integer[]|integer[][]" },
    { "data_format", ("%s or %s"):format(first, last), first },
    { "dilation_rate", n == 2 and "a number or { vertical, horizontal }" or SIZES[n], args.none,
      type = NUMBERS },
    { "groups", "number of independent groups of channels", 1, type = "integer", least = 1 },
    params.activation, params.use_bias, params.kernel_initializer, params.bias_initializer,
    params.kernel_regularizer, params.bias_regularizer, params.trainable,
    { "name", ("of the layer; %s_1, %s_2, ... in call order"):format(kind, kind), args.none },
    { "weight_name", "the weight's name instead of <name>-weight", args.none, type = "string" },
    { "bias_name", "the bias's name instead of <name>-bias", args.none, type = "string" },
    params.reuse,
    returns = "Blob",
  }
  for _, param in ipairs(own or {}) do list[#list + 1] = param end
  return list
end

local AXES = { "one-dimensional", "two-dimensional", "three-dimensional" }

for n = 1, 3 do
  local kind = ("conv%dd"):format(n)
  local convolve = core.op(kind)
  local doc = ("A %s convolution with its filters."):format(AXES[n])
  local list = layer_params(kind, n, { params.model_distribute })
  conv[kind] = args.define("layers." .. kind, doc, list, function(o)
    return build(kind, n, o, false, function(x, weight, name)
      return (convolve(x, weight, { strides = o.strides, padding = o.padding, groups = o.groups,
        data_format = o.data_format, dilations = o.dilation_rate, name = name }))
    end)
  end)

  local back = kind .. "_transpose"
  local who = "layers." .. back
  conv[back] = args.define(who, ("A %s transposed convolution, which makes its input larger, with "
    .. "its filters, whose extents are (in, out / groups, ...)."):format(AXES[n]),
    layer_params(back, n, {
      { "output_shape", "extents of the result, or its spatial ones", args.none,
        type = "integer[]" },
      { "output_padding", "cells that the result is larger than it need be", args.none,
        type = NUMBERS },
    }), function(o)
      return build(back, n, o, true, function(x, weight, name)
        return require("jfl.op.convolutions").transpose(who, { value = x, filter = weight,
          strides = o.strides, padding = o.padding, groups = o.groups, name = name,
          data_format = o.data_format, dilations = o.dilation_rate or 1,
          output_shape = o.output_shape, output_padding = o.output_padding }, n)
      end)
    end)
end

--- Pixels repeated, or interpolated.
conv.upsample_2d = args.define("layers.upsample_2d", "Images enlarged by whole factors.", {
  { "x", "a blob or NdArray (N, C, H, W)", type = "Tensor" },
  { "size", "the factors: a number or { vertical, horizontal }", 2, type = NUMBERS },
  windows.format_param(2),
  { "interpolation", "nearest or bilinear", "nearest" },
  { "name", "of the op", args.none },
  returns = "Tensor",
}, function(o) return require("jfl.op.resize").upsample_2d("layers.upsample_2d", o) end)

return conv
