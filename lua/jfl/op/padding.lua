-- Borders around pictures, made of the op pad.
---@box constant_pad2d reflection_pad2d replication_pad2d same_padding
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local tensors = require "jfl.op.tensors"

local op, define = call.op, tensors.define
local FORMATS = { "NCHW", "NHWC" }

-- Which axes of (N, C, H, W) or (N, H, W, C) are height and width.
local function axes_of(who, x, data_format)
  local shape = x.shape
  args.fits(#shape == 4, shape, "%s: x must have four axes, got shape", who)
  return data_format == "NCHW" and 3 or 2
end

-- x with these many lines around the two axes from `first` on.
local function around(x, first, sides, options)
  local paddings = { 0, 0, 0, 0, 0, 0, 0, 0 }
  for i = 1, 4 do paddings[2 * first - 2 + i] = sides[i] end
  options.paddings = paddings
  return op.pad(x, options)
end

local function define_2d(path, doc, mode, own)
  local params = {
    { "x", "a blob or NdArray (N, C, H, W)", type = "Tensor" },
    { "padding", "lines on every side, or { left, right, top, bottom }",
      type = "integer|integer[]" },
    own, own and { "data_format", "NCHW or NHWC", "NCHW", words = FORMATS },
  }
  define(path, doc, params, function(o)
    local first = axes_of(path, o.x, o.data_format or "NCHW")
    local p = tensors.integers(path, "padding", o.padding, 0)
    args.must(#p == 1 or #p == 4, p, "%s: padding must be a number or { left, right, top, bottom }",
      path)
    local sides = #p == 1 and { p[1], p[1], p[1], p[1] } or { p[3], p[4], p[1], p[2] }
    return around(o.x, first, sides,
      { mode = mode, constant_value = o.constant_value, name = o.name })
  end)
end

define_2d("constant_pad2d", "Pictures with a border of one number.", "constant",
  { "constant_value", "the number", 0, type = "number" })
define_2d("reflection_pad2d", "Pictures with a border that mirrors them; the edge itself is not "
  .. "repeated.", "reflect")
define_2d("replication_pad2d", "Pictures with a border that repeats their edge.", "replicate")

-- A list of two numbers, which is given as one or two.
local function pair(who, name, value)
  local list = tensors.integers(who, name, value, 1)
  args.must(#list <= 2 and #list > 0, value, "%s: %s must be a number or a list of two", who, name)
  return { list[1], list[#list] }
end

define("same_padding", "Pictures with the border of zeros that makes a convolution without "
  .. "padding give as many places as the strides take.", {
  { "x", "a blob or NdArray of four axes", type = "Tensor" },
  { "padding", "SAME_LOWER puts an odd line in front, SAME_UPPER behind", type = "string" },
  { "data_format", "NCHW or NHWC", words = FORMATS },
  { "kernel_size", "a number or { height, width }", type = "integer|integer[]" },
  { "strides", "a number or { vertical, horizontal }", type = "integer|integer[]" },
  { "dilation_rate", "a number or { vertical, horizontal }", 1, type = "integer|integer[]" },
}, function(o, who)
  local first = axes_of(who, o.x, o.data_format)
  local word = type(o.padding) == "string" and o.padding:upper()
  args.must(word == "SAME_LOWER" or word == "SAME_UPPER", o.padding,
    "%s: padding must be SAME_LOWER or SAME_UPPER", who)
  local kernel, strides = pair(who, "kernel_size", o.kernel_size), pair(who, "strides", o.strides)
  local rates, sides = pair(who, "dilation_rate", o.dilation_rate), {}
  for i = 1, 2 do
    local n = o.x.shape[first + i - 1]
    local extent = (kernel[i] - 1) * rates[i] + 1
    local all = math.max(0, (math.ceil(n / strides[i]) - 1) * strides[i] + extent - n)
    local less = math.floor(all / 2)
    local before = word == "SAME_LOWER" and all - less or less
    sides[2 * i - 1], sides[2 * i] = before, all - before
  end
  return around(o.x, first, sides, { name = o.name })
end)
