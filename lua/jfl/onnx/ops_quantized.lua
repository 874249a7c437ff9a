-- ONNX's ops of numbers of few bits.
local call = require "jfl.op.call"
local maths = require "jfl.onnx.ops_math"
local nn = require "jfl.onnx.ops_nn"
local values = require "jfl.onnx.values"

local op, cast, reshape, flow = call.op, values.cast, values.reshape, values.flow

local ops = {}

local RANGES = { uint8 = { 0, 255 }, int8 = { -128, 127 } }

-- A scale or zero point for x: a number, or one for each index of an axis.
local function along(n, v, x)
  if v == nil or values.count(v.shape) == 1 then return v and reshape(v, {}) end
  if #v.shape ~= 1 then n:fail("block_size must be 0 for jfl") end
  local shape = values.ones(#x.shape)
  shape[n:axis(n:attr("axis", 1), #x.shape) + 1] = v.shape[1]
  return reshape(v, shape)
end

function ops.QuantizeLinear(n, x, scale, zero)
  local dtype = zero and zero.dtype or n:attr "output_dtype"
    and maths.dtype_of(n, n:attr "output_dtype") or "uint8"
  local range = RANGES[dtype] or n:fail("its result must be uint8 or int8, got %s", dtype)
  local y = op.round(op.divide(cast(x, "float32"), cast(along(n, scale, x), "float32")))
  if zero then y = op.add(y, cast(along(n, zero, x), "float32")) end
  return cast(op.clip_by_value(y, { min_value = range[1], max_value = range[2] }), dtype)
end

function ops.DequantizeLinear(n, x, scale, zero)
  local y = cast(x, "float32")
  if zero then y = op.subtract(y, cast(along(n, zero, x), "float32")) end
  return cast(op.multiply(y, cast(along(n, scale, x), "float32")), scale.dtype)
end

function ops.DynamicQuantizeLinear(_, x)
  local all = {}
  for i = 1, #x.shape do all[i] = i - 1 end
  local high = op.maximum(reshape(op.reduce_max(x, { axis = all }), {}), 0)
  local low = op.minimum(reshape(op.reduce_min(x, { axis = all }), {}), 0)
  local scale = op.divide(op.subtract(high, low), 255)
  local zero = op.round(op.clip_by_value(op.negative(op.divide(low, scale)),
    { min_value = 0, max_value = 255 }))
  local y = op.add(op.round(op.divide(x, scale)), zero)
  return cast(op.clip_by_value(y, { min_value = 0, max_value = 255 }), "uint8"), scale,
    cast(zero, "uint8")
end

local function centred(x, zero, rank)
  local y = cast(x, "float64")
  if zero == nil then return y end
  local count = values.count(zero.shape)
  local shape = {}
  if count > 1 then shape = rank and { count, 1 } or { count } end
  return op.subtract(y, cast(reshape(zero, count == 1 and {} or shape), "float64"))
end

function ops.MatMulInteger(_, a, b, zero_a, zero_b)
  local y = flow("op.products", "matmul")(centred(a, zero_a, true), centred(b, zero_b))
  return cast(y, "int32")
end

function ops.ConvInteger(n, x, w, zero_x, zero_w)
  local y = nn.Conv(n, cast(centred(x, zero_x), "float32"), cast(centred(w, zero_w), "float32"))
  return cast(y, "int32")
end

return ops
