-- Convolutions that are made of others: transposed ones, and that of TensorFlow's padding.
---@box nn.compat_conv2d nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose
---@box nn.torch_conv2d_transpose
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"
local windows = require "jfl.op.windows"

local op, define = call.op, tensors.define

local convolutions = {}

local TENSOR = "Tensor"
local NUMBERS = "integer|integer[]"

define("nn.compat_conv2d", "nn.conv2d, but padding SAME puts the odd cell behind, as in "
  .. "TensorFlow.", {
    { "input", "a blob or NdArray (N, in, H, W)", type = TENSOR },
    { "filters", "(out, in / groups, height, width)", type = TENSOR },
    { "strides", "step of the window: one number, or one for each axis", 1, type = NUMBERS },
    { "padding", "SAME, SAME_LOWER, VALID or list", "VALID",
      type = "string|integer|integer[]|integer[][]" },
    windows.format_param(2),
    { "dilations", "distance between the window's cells", 1, type = NUMBERS },
    { "groups", "channels are cut into this many independent groups", 1, type = "integer" },
  }, function(o)
    return op.conv2d(o.input, o.filters, { strides = o.strides, data_format = o.data_format,
      padding = o.padding == "SAME" and "SAME_UPPER" or o.padding, dilations = o.dilations,
      groups = o.groups, name = o.name })
  end)

-- The spatial extents of a result of `shape` extents: those asked for, given for all axes of the
-- tensor or for the spatial ones, or the least that a convolution brings back to the input.
local function result_size(who, o, shape, n)
  local at = o.is_last and 1 or 2
  if o.output_shape ~= nil then
    local list = tensors.integers(who, "output_shape", o.output_shape, 1)
    if #list ~= n and #list ~= n + 2 then
      core.fail("%s: output_shape must be a list of %d or %d, got a list of %d", who, n, n + 2,
        #list)
    end
    return #list == n and list or { unpack(list, at + 1, at + n) }
  end
  local size = {}
  for i = 1, n do
    local extent = (o.kernel[i] - 1) * o.dilations[i] + 1
    local cells = (shape[at + i] - 1) * o.strides[i] + extent + (o.output_padding[i] or 0)
    if type(o.padding) == "table" then
      size[i] = cells - o.padding[2 * i - 1] - o.padding[2 * i]
    else
      size[i] = o.padding == "VALID" and cells or shape[at + i] * o.strides[i]
    end
    args.check(size[i] >= 1, "%s: padding must leave at least one cell, got %d for an axis of %d",
      who, size[i], shape[at + i])
  end
  return size
end

local function check_output_padding(who, o, n)
  if o.output_padding == nil then o.output_padding = {} return end
  o.output_padding = windows.extents(who, "output_padding", o.output_padding, n, 0)
  for i, cells in ipairs(o.output_padding) do
    if cells >= o.strides[i] and cells >= o.dilations[i] then
      core.fail("%s: output_padding must be below strides or dilations, got %d", who, cells)
    end
  end
end

-- Fails unless value, filter and groups go together.
local function check_channels(who, o, shape, filter)
  local channels = shape[o.is_last and #shape or 2]
  args.integer(who, "groups", o.groups, 1)
  args.fits(filter[1] == channels, filter,
    "%s: filter must begin with the %d channels of value, got shape", who, channels)
  args.check(channels % o.groups == 0, "%s: groups must divide the %d channels of value, got %d",
    who, channels, o.groups)
end

-- Fails unless the convolution makes value's extents of a result of that size.
local function check_size(who, o, shape, size)
  for i, cells in ipairs(size) do
    local want, got = shape[i + (o.is_last and 1 or 2)], math.ceil(cells / o.strides[i])
    local extent = (o.kernel[i] - 1) * o.dilations[i] + 1
    if type(o.padding) == "table" or o.padding == "VALID" then
      local around = type(o.padding) == "table" and o.padding[2 * i - 1] + o.padding[2 * i] or 0
      got = math.floor((cells + around - extent) / o.strides[i]) + 1
    end
    args.check(got == want, "%s: output_shape must be one that leads back to value's extent of %d, "
      .. "got %d, which gives %d", who, want, cells, got)
  end
end

--- The transposed convolution of n spatial axes that the options describe: value, filter, strides,
-- padding, data_format, dilations, groups, output_shape or output_padding.
function convolutions.transpose(who, o, n)
  o.is_last = windows.is_last(who, o.data_format, n)
  local shape = windows.shape(who, "value", o.value, n, o.data_format)
  local filter = windows.shape(who, "filter", o.filter, n, o.data_format)
  o.strides = windows.extents(who, "strides", o.strides, n, 1)
  o.dilations = windows.extents(who, "dilations", o.dilations, n, 1)
  o.padding = windows.padding(who, o.padding, n, o.is_last)
  o.kernel = { unpack(filter, o.is_last and 2 or 3, o.is_last and n + 1 or n + 2) }
  if o.output_padding ~= nil and o.output_shape ~= nil then
    core.fail("%s: output_padding must not be given together with output_shape", who)
  end
  check_output_padding(who, o, n)
  check_channels(who, o, shape, filter)
  local size = result_size(who, o, shape, n)
  check_size(who, o, shape, size)
  return (op[("conv%dd_data_grad"):format(n)](o.filter, o.value, { strides = o.strides,
    padding = o.padding, data_format = o.data_format, dilations = o.dilations, groups = o.groups,
    size = size, name = o.name }))
end

--- Parameters of transposed convolutions after the tensors.
function convolutions.transposed_params(n)
  return {
    { "strides", "how far apart the values are in the result: one number, or one for each axis", 1,
      type = NUMBERS },
    { "padding", "SAME, SAME_UPPER, VALID or list: that of the convolution which leads back",
      "VALID", type = "string|integer|integer[]|integer[][]" },
    windows.format_param(n),
    { "dilations", "distance between the window's cells", 1, type = NUMBERS },
    { "groups", "channels are cut into this many independent groups", 1, type = "integer" },
    { "output_padding", "cells that the result is larger than it need be", args.none,
      type = NUMBERS },
  }
end

for n = 1, 3 do
  local path = ("nn.conv%dd_transpose"):format(n)
  local axes = ({ "width", "height, width", "depth, height, width" })[n]
  local params = {
    { "value", "a blob or NdArray " .. ({ "(N, in, W)", "(N, in, H, W)", "(N, in, D, H, W)" })[n],
      type = TENSOR },
    { "filter", ("(in, out / groups, %s)"):format(axes), type = TENSOR },
    { "output_shape", "extents of the result, or its spatial ones; the least, or with SAME strides "
      .. "times those of value", args.none, type = "integer[]" },
  }
  for _, param in ipairs(convolutions.transposed_params(n)) do params[#params + 1] = param end
  define(path, ("What leads back from the result of nn.conv%dd to a tensor of its input's "
    .. "shape: its gradient."):format(n), params, function(o)
      return convolutions.transpose(path, o, n)
    end)
end

define("nn.torch_conv2d_transpose", "nn.conv2d_transpose with the sizes that PyTorch has.", {
  { "value", "a blob or NdArray (N, in, H, W)", type = TENSOR },
  { "filter", "(in, out, height, width)", type = TENSOR },
  { "output_padding", "cells that the result is larger than it need be", 0, type = NUMBERS },
  { "strides", "how far apart the values are in the result", 1, type = NUMBERS },
  { "padding_needed", "cells cut from both sides together, the odd one behind", 0, type = NUMBERS },
  windows.format_param(2),
  { "dilations", "distance between the window's cells", 1, type = NUMBERS },
}, function(o, who)
  local needed = windows.extents(who, "padding_needed", o.padding_needed, 2, 0)
  o.padding, o.groups = {}, 1
  for i, cells in ipairs(needed) do
    o.padding[2 * i - 1], o.padding[2 * i] = math.floor(cells / 2), math.ceil(cells / 2)
  end
  return convolutions.transpose(who, o, 2)
end)

return convolutions
