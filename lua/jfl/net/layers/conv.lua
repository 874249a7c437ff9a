-- flow.layers.conv2d.
local args = require "jfl.base.args"
local common = require "jfl.net.layers.common"
local core = require "jfl.core"
local trace = require "jfl.job.trace"
local variable = require "jfl.net.variable"

local conv2d = core.op "conv2d"

local params = common.params

local conv = {}

-- The two extents of a kernel, which is given as one number or two.
local function kernel_extents(who, size)
  local list = type(size) == "table" and size or { size, size }
  if #list == 1 then list = { list[1], list[1] } end
  if #list ~= 2 then
    core.fail("%s: kernel_size must be a number or a list of two, got a list of %d", who, #list)
  end
  for i = 1, 2 do args.integer(who, "kernel_size", list[i], 1) end
  return list
end

local function weight_shape(who, o, x)
  local shape, channels_last = x.shape, o.data_format == "NHWC"
  local filters = args.integer(who, "filters", o.filters, 1)
  local groups = args.integer(who, "groups", o.groups, 1)
  if #shape ~= 4 then
    core.fail("%s: inputs must have four axes (%s), got shape %s", who, tostring(o.data_format),
      args.shape_text(shape))
  end
  local channels = channels_last and shape[4] or shape[2]
  if filters % groups ~= 0 or channels % groups ~= 0 then
    core.fail("%s: groups must divide %d filters and %d input channels, got %d", who, filters,
      channels, groups)
  end
  local kernel = kernel_extents(who, o.kernel_size)
  if channels_last then return { filters, kernel[1], kernel[2], channels / groups } end
  return { filters, channels / groups, kernel[1], kernel[2] }
end

--- y = activation(conv2d(x, W) + b).
conv.conv2d = args.define("layers.conv2d", "A two-dimensional convolution with its filters.", {
  { "inputs", "a blob (N, C, H, W)", type = "Blob" },
  { "filters", "number of output channels", type = "integer" },
  { "kernel_size", "a number or { height, width }", 1, type = "integer|integer[]" },
  { "strides", "a number or { vertical, horizontal }", 1, type = "integer|integer[]" },
  { "padding", "SAME, SAME_LOWER, SAME_UPPER, VALID, or cells per side", "VALID",
    type = "string|integer|integer[]|integer[][]" },
  { "data_format", "NCHW", "NCHW" },
  { "dilation_rate", "a number or { vertical, horizontal }", args.none,
    type = "integer|integer[]" },
  { "groups", "number of independent groups of channels", 1, type = "integer" },
  params.activation, params.use_bias, params.kernel_initializer, params.bias_initializer,
  params.kernel_regularizer, params.bias_regularizer, params.trainable,
  { "name", "of the layer; conv2d_1, conv2d_2, ... in call order", args.none },
  { "weight_name", "the weight's name instead of <name>-weight", args.none, type = "string" },
  { "bias_name", "the bias's name instead of <name>-bias", args.none, type = "string" },
  params.reuse,
  returns = "Blob",
}, function(o)
  local who = "layers.conv2d"
  local context = trace.need(who)
  local x = common.need_blob(who, "inputs", o.inputs)
  local name = trace.name(context, o.name, "conv2d")
  local weight_name = o.weight_name or name .. "-weight"
  local op = common.namer(name, common.is_again(who, context, o, weight_name))
  local weight = variable.of_layer(who, context, { name = weight_name, reuse = o.reuse,
    dtype = x.dtype, shape = weight_shape(who, o, x), data_format = o.data_format,
    initializer = o.kernel_initializer or common.glorot, trainable = o.trainable,
    regularizer = o.kernel_regularizer, regularizer_name = "kernel_regularizer" })
  -- Without a name the core numbers the op, since ops outside of layers may have taken some names.
  local y = conv2d(x, weight, { strides = o.strides, padding = o.padding, groups = o.groups,
    data_format = o.data_format, dilations = o.dilation_rate,
    name = (o.name or context.prefix ~= "") and op("") or nil })
  y = common.add_bias(who, context, o, y, { name = o.bias_name or name .. "-bias",
    units = o.filters, op = op("-bias_add") })
  return common.activate(who, o.activation, y, op)
end)

return conv
