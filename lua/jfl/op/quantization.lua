-- flow.quantization: what training notes of ranges, and rounding to integers as a quantized network
-- would do.
---@flow quantization.moving_average_min_maxObserver
---@box quantization.fake_quantization quantization.min_max_observer
---@box quantization.moving_average_min_max_observer=quantization.moving_average_min_maxObserver
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local tensors = require "jfl.op.tensors"
local trace = require "jfl.job.trace"
local variable = require "jfl.net.variable"

local op, define, NAME = call.op, tensors.define, tensors.NAME

local quantization = {}

local TENSOR = "Tensor"
local INPUT = { "input", "a blob or NdArray of floats", type = TENSOR }
local BIT = { "quantization_bit", "bits of the integers", 8, type = "integer",
  range = "a whole number from 2 to 16" }
local SCHEME = { "quantization_scheme", "symmetric: around 0; affine: from the least number on",
  "symmetric", words = { "symmetric", "affine" } }
local FORMULA = { "quantization_formula", "google; or cambricon: scales are powers of two, and are "
  .. "given as exponents", "google", words = { "google", "cambricon" } }

local function is_affine(o)
  return o.quantization_formula == "google" and o.quantization_scheme == "affine"
end

-- The greatest and the least number over some axes, or where 0 is the middle, the largest magnitude
-- twice.
local function range_of(o, axis)
  local x = op.stop_gradient(o.input)
  local most, least = op.reduce_max(x, { axis = axis }), op.reduce_min(x, { axis = axis })
  if is_affine(o) then return most, least end
  most = op.maximum(op.abs(most), op.abs(least))
  return most, most
end

-- Scale and zero point for a range.
local function parameters(o, most, least)
  local bit = o.quantization_bit
  local zero = op.multiply(most, 0)
  if o.quantization_formula == "cambricon" then
    return op.subtract(op.floor(op.log2(most)), bit - 2), zero
  end
  if not is_affine(o) then return op.divide(most, 2 ^ (bit - 1) - 1), zero end
  local scale = op.divide(op.subtract(most, least), 2 ^ bit - 1)
  return scale, op.negative(op.divide(least, scale))
end

--- The scale and zero point with which integers of some bits hold all of a tensor's numbers.
quantization.min_max_observer = args.define("quantization.min_max_observer", "The scale and zero "
  .. "point with which integers of some bits hold the numbers of input: symmetric, scale = max |x| "
  .. "/ (2^(bits - 1) - 1); affine, scale = (max - min) / (2^bits - 1) and zero point = - min / "
  .. "scale, rounded; cambricon, floor(log2(max |x|)) - (bits - 2).", {
    INPUT, BIT, SCHEME, FORMULA,
    { "per_layer_quantization", "false: a scale for each index of axis 0", true, type = "boolean" },
    NAME,
    returns = { TENSOR, TENSOR },
  }, function(o, who)
    local axes
    if not o.per_layer_quantization then
      args.check(o.quantization_formula ~= "cambricon", "%s: per_layer_quantization must be true "
        .. "with the formula cambricon, got false", who)
      args.fits(#o.input.shape >= 2, o.input.shape, "%s: input must have two or more axes where "
        .. "per_layer_quantization is false, got shape", who)
      axes = {}
      for i = 1, #o.input.shape - 1 do axes[i] = i end
    end
    local scale, zero = parameters(o, range_of(o, axes))
    return scale, is_affine(o) and op.round(zero) or zero
  end)

-- A moving number and what it becomes in this call, which train jobs store at its end. Zero stands
-- for "none yet".
local function moving(who, context, o, name, now)
  local v = variable.of_layer(who, context, { name = name, shape = { 1 }, dtype = o.input.dtype,
    trainable = false, initializer = initializers.zeros_initializer() })
  if context.mode ~= "train" then return v end
  local kept = op.add(op.multiply(v, o.momentum), op.multiply(now, 1 - o.momentum))
  local next_value = op.where(op.equal(v, 0), now, kept)
  variable.assign(v, next_value)
  return next_value
end

--- A scale and a zero point by moving averages of the range.
quantization.moving_average_min_max_observer = args.define(
  "quantization.moving_average_min_maxObserver", "quantization.min_max_observer by moving "
  .. "averages of the range, which train jobs keep in the variables NAME-moving_max and "
  .. "NAME-moving_min; predict jobs use them as they are.", {
    INPUT, BIT, SCHEME, FORMULA,
    { "momentum", "the share of the averages that a step keeps", 0.95, type = "number",
      range = "a number from 0 to 1" },
    { "name", "of the variables; min_max_observer_1, ... in call order", args.none },
    returns = { TENSOR, TENSOR },
  }, function(o, who)
    local context = trace.need(who)
    local name = trace.name(context, o.name, "min_max_observer")
    local most, least = range_of(o)
    most = moving(who, context, o, name .. "-moving_max", most)
    least = is_affine(o) and moving(who, context, o, name .. "-moving_min", least) or most
    return parameters(o, most, least)
  end)

-- A number for each index of axis 0, as a tensor that broadcasts over one of that shape.
local function along_first(who, name, value, shape)
  local n = value.shape[1]
  if #value.shape ~= 1 or (n ~= 1 and n ~= shape[1]) then
    core.fail("%s: %s must be (1)%s, got %s", who, name,
      shape[1] and (" or (%d), one for each index of axis 0"):format(shape[1]) or "",
      args.shape_text(value.shape))
  end
  local extents = { n }
  for i = 2, #shape do extents[i] = 1 end
  return op.reshape(value, extents)
end

--- Rounds numbers to those that integers with that scale and zero point stand for.
quantization.fake_quantization = define("quantization.fake_quantization", "Rounds input to "
  .. "the numbers that integers of some bits with this scale and zero point stand for: (clip("
  .. "round(x / scale) + zero point) - zero point) scale. A scale of 0 gives 0. Gradients pass as "
  .. "if nothing was rounded (straight through).", {
    INPUT,
    { "scale", "of shape (1), or a number for each index of axis 0", type = TENSOR },
    { "zero_point", "like scale", type = TENSOR },
    BIT, SCHEME, FORMULA,
  }, function(o, who)
    local x = op.stop_gradient(o.input)
    local scale = along_first(who, "scale", o.scale, x.shape)
    local zero = along_first(who, "zero_point", o.zero_point, x.shape)
    scale, zero = op.stop_gradient(scale), op.round(op.stop_gradient(zero))
    if o.quantization_formula == "cambricon" then
      scale = op.pow(op.add(op.multiply(scale, 0), 2), scale)
    end
    local bits = o.quantization_bit
    local least, most = -2 ^ (bits - 1), 2 ^ (bits - 1) - 1
    if is_affine(o) then least, most = 0, 2 ^ bits - 1 end
    local divisor = op.where(op.equal(scale, 0), op.add(op.multiply(scale, 0), 1), scale)
    local q = op.divide(x, divisor)
    if is_affine(o) then q = op.add(q, zero) end
    q = op.clip_by_value(op.round(q), least, most)
    if is_affine(o) then q = op.subtract(q, zero) end
    -- input - x is 0, and has the gradient of input.
    return op.add(op.multiply(q, scale), op.subtract(o.input, x), { name = o.name })
  end)

return quantization
