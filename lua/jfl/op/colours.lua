-- Colours of pictures in batches, changed by a given factor or at random.
---@box image.adjust_brightness image.adjust_contrast image.adjust_hue image.adjust_saturation
---@box image.color_jitter
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local images = require "jfl.op.images"
local tensors = require "jfl.op.tensors"

local op, along = call.op, images.along

local colours = {}

local X = { "x", "float pictures from 0 to 1, of 3 channels: red, green, blue", type = "Tensor" }
local FORMAT = { "data_format", "NCHW or NHWC: the order of x's axes", "NCHW",
  words = { "NCHW", "NHWC" } }
local POSITIVE = "a number of at least 0"
-- ITU-R BT.601's shares of red, green and blue in brightness.
local LUMA = { 0.299, 0.587, 0.114 }

-- The number of x's axis of channels, from 1.
local function axis_of(who, x, format)
  local axis = images.channels_of(who, x, format)
  if x.shape[axis] == 3 and x.dtype:match("float") then return axis end
  core.fail("%s: x must be floats with 3 channels, got %s %s", who, x.dtype,
    args.shape_text(x.shape))
end

-- Goes from `other`, or from black, to x and as far beyond as the factor says; within 0 and 1.
local function blend(x, other, factor)
  local y = op.multiply(x, factor)
  if other then
    local rest = type(factor) == "number" and 1 - factor or op.subtract(1, factor)
    y = op.add(y, op.multiply(other, rest))
  end
  return op.clip_by_value(y, { min_value = 0, max_value = 1 })
end

local function grey(x, axis)
  return op.reduce_sum(op.multiply(x, along(LUMA, axis, x.dtype)), { axis = { axis - 1 },
    keepdims = true })
end

local change = {}

function change.brightness(x, _, factor) return blend(x, nil, factor) end

function change.contrast(x, axis, factor)
  local mean = op.reduce_mean(grey(x, axis), { axis = { 1, 2, 3 }, keepdims = true })
  return blend(x, mean, factor)
end

function change.saturation(x, axis, factor) return blend(x, grey(x, axis), factor) end

-- The hue of Smith's HSV ("Color gamut transform pairs", 1978) is where a colour stands on a circle
-- of six arcs from red over green and blue back to red. Each channel is the largest of the three,
-- less its share of the distance to the least one, by how far on the circle it is from its colour.
function change.hue(x, axis, turn)
  local red, green, blue = op.split(x, { sizes = 1, axis = axis - 1 })
  local most = op.maximum(op.maximum(red, green), blue)
  local chroma = op.subtract(most, op.minimum(op.minimum(red, green), blue))
  local some = op.where(op.greater(chroma, 0), chroma, 1)
  local function arc(a, b, first) return op.add(op.divide(op.subtract(a, b), some), first) end
  local at = op.where(op.equal(most, red), arc(green, blue, 0),
    op.where(op.equal(most, green), arc(blue, red, 2), arc(red, green, 4)))
  at = op.add(at, type(turn) == "number" and 6 * turn or op.multiply(turn, 6))
  local list = {}
  for i, first in ipairs { 5, 3, 1 } do
    local k = op.mod(op.add(at, first), 6)
    local lack = op.clip_by_value(op.minimum(k, op.subtract(4, k)), { min_value = 0,
      max_value = 1 })
    list[i] = op.subtract(most, op.multiply(chroma, lack))
  end
  return op.concat(list, { axis = axis - 1 })
end

for name, doc in pairs {
  brightness = { "Multiplies all colours, within 0 and 1.", "0 gives black, 1 the pictures" },
  contrast = { "Draws colours from the picture's mean brightness, or towards it.",
    "0 gives grey, 1 the pictures" },
  saturation = { "Draws colours from their grey, or towards it.",
    "0 gives grey pictures, 1 the pictures" },
  hue = { "Turns colours on the circle of hues.",
    "from -0.5 to 0.5, half the circle: 1 / 3 makes red green", "a number from -0.5 to 0.5" },
} do
  local path, factor = "image.adjust_" .. name, name .. "_factor"
  args.define(path, doc[1], {
    X, { factor, doc[2], range = doc[3] or POSITIVE }, FORMAT, tensors.NAME,
    returns = "Tensor",
  }, function(o)
    local y = change[name](o.x, axis_of(path, o.x, o.data_format), o[factor])
    return o.name and op.identity(y, { name = o.name }) or y
  end)
end

-- One number for each picture, from `low` to `high`.
local function draw(x, low, high)
  return op.random_uniform({ shape = { x.shape[1], 1, 1, 1 }, minval = low, maxval = high,
    dtype = x.dtype })
end

--- Changes brightness, contrast and saturation of each picture by factors of its own, from 1 - s (0
-- at least) to 1 + s, and turns hues by -s to s, in this order; nothing in jobs that do not train.
args.define("image.color_jitter", "Changes colours at random, in training.", {
  X,
  { "brightness", "how much all colours are multiplied", 0, range = POSITIVE },
  { "contrast", "how far colours go from the picture's mean brightness", 0, range = POSITIVE },
  { "saturation", "how far colours go from grey", 0, range = POSITIVE },
  { "hue", "how far colours turn on the circle of hues: 0.5 at most, half of it", 0,
    range = "a number from 0 to 0.5" },
  FORMAT,
  { "training", "true or false overrides the job's type", args.none, type = "boolean" },
  returns = "Tensor",
}, function(o, who)
  local x = o.x
  local axis = axis_of(who, x, o.data_format)
  if not images.is_active(who, o.training) then return x end
  for _, name in ipairs { "brightness", "contrast", "saturation", "hue" } do
    local s = o[name]
    if s > 0 then
      local factor = name == "hue" and draw(x, -s, s) or draw(x, math.max(0, 1 - s), 1 + s)
      x = change[name](x, axis, factor)
    end
  end
  return x
end)

return colours
