-- ONNX's ops of numbers of few bits.
local call = require "jfl.op.call"
local maths = require "jfl.onnx.ops_math"
local narrow = require "jfl.onnx.narrow"
local nn = require "jfl.onnx.ops_nn"
local trace = require "jfl.job.trace"
local values = require "jfl.onnx.values"

local op, cast, reshape, flow = call.op, values.cast, values.reshape, values.flow

local ops = {}

local UINT8 = 2                  -- ONNX's number of the type

-- A scale or zero point v for x: a number, one for each index of an axis, or one for each block of
-- indices. Gives v and x in shapes that go together, which is that of x but where there are blocks.
-- axis: the node's, unless given.
local function along(n, v, x, axis)
  if v == nil or values.count(v.shape) == 1 then return v and reshape(v, {}), x.shape end
  local shape, block = values.fill(#x.shape, 1), n:attr("block_size", 0)
  axis = n:axis(axis or n:attr("axis", 1), #x.shape) + 1
  if #v.shape == 1 then
    shape[axis] = v.shape[1]
    return reshape(v, shape), x.shape
  end
  local s, t = { unpack(v.shape) }, { unpack(x.shape) }
  n:check(#s == #t and block >= 1 and s[axis] * block == t[axis], "a scale of blocks must have the "
    .. "axes of x, and block_size times its extent must be that of x")
  t[axis] = s[axis]
  table.insert(t, axis + 1, block)
  table.insert(s, axis + 1, 1)
  return reshape(v, s), t
end

-- A zero point that is not 0 throughout as float32, for x; else nil.
local function shift_of(n, zero, x, axis)
  if not zero then return nil end
  local most = values.is_known(zero) and 0
  for _, number in ipairs(most and values.list(zero) or {}) do
    most = math.max(most, math.abs(number))
  end
  return most ~= 0 and cast(along(n, zero, x, axis), "float32") or nil
end

-- The type of what is rounded: its dtype here, and its name in ONNX.
local function target(n, zero)
  if zero then return zero.dtype, values.type_of(zero) end
  return maths.dtype_of(n, n:attr("output_dtype", 0) ~= 0 and n:attr "output_dtype" or UINT8)
end

-- Without a zero point it is what jfl computes with integers (src/op/integers.h).
function ops.QuantizeLinear(n, x, scale, zero)
  local dtype, name = target(n, zero)
  local by, shape = along(n, scale, x)
  local y = op.divide(reshape(cast(x, "float32"), shape), cast(by, "float32"))
  if narrow.is_float(name) then
    y = narrow.round(y, name, n:flag("saturate", true))
    return values.with_type(reshape(y, x.shape), name)
  end
  local low, high = narrow.limits(name)
  if not low then n:fail("its result must be of 2, 4, 8 or 16 bits, got %s", name) end
  local shift = shift_of(n, zero, x)
  y = op.round(y)
  if shift then y = op.add(y, shift) end
  if name ~= dtype then y = op.clip_by_value(y, { min_value = low, max_value = high }) end
  return values.with_type(reshape(cast(y, dtype), x.shape), name)       -- which saturates
end

--- What integers stand for. axis: along which they have several scales; the node's, unless given.
function ops.dequantized(n, x, scale, zero, axis)
  -- Filters and matrices of int8 stay what they are in a body.
  if trace.current and values.is_known(x) and x.dtype == "int8" and #x.shape > 1 then
    x = op.array { value = x }
  end
  local by, shape = along(n, scale, x, axis)
  local y, shift = reshape(cast(x, "float32"), shape), shift_of(n, zero, x, axis)
  if shift then y = op.subtract(y, shift) end
  return reshape(cast(op.multiply(y, cast(by, "float32")), scale.dtype), x.shape)
end

function ops.DequantizeLinear(n, x, scale, zero) return ops.dequantized(n, x, scale, zero) end

function ops.DynamicQuantizeLinear(_, x)
  local all = values.steps(#x.shape)
  local high = op.maximum(reshape(op.reduce_max(x, { axis = all }), {}), 0)
  local low = op.minimum(reshape(op.reduce_min(x, { axis = all }), {}), 0)
  local scale = op.divide(op.subtract(high, low), 255)
  local zero = op.round(op.clip_by_value(op.negative(op.divide(low, scale)),
    { min_value = 0, max_value = 255 }))
  local y = op.add(op.round(op.divide(x, scale)), zero)
  return cast(op.clip_by_value(y, { min_value = 0, max_value = 255 }), "uint8"), scale,
    cast(zero, "uint8")
end

-- x without its zero point, which may be one for each index of an axis.
local function centred(x, zero, axis)
  local y = cast(x, "float64")
  if zero == nil then return y end
  local count, shape = values.count(zero.shape), {}
  if count > 1 then
    shape = values.fill(#x.shape, 1)
    shape[axis] = count
  end
  return op.subtract(y, cast(reshape(zero, shape), "float64"))
end

-- Products of numbers of few bits, as products of the numbers that they stand for.
function ops.QLinearMatMul(n, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
  local y = flow("op.products", "matmul")(ops.dequantized(n, a, a_scale, a_zero, -2),
    ops.dequantized(n, b, b_scale, b_zero, -1))
  return ops.QuantizeLinear(n, y, y_scale, y_zero)
end

--- A bias that is a multiple of the scales of both operands.
function ops.bias(b, x_scale, w_scale)
  return b and op.multiply(cast(b, "float32"), op.multiply(reshape(x_scale, {}), w_scale))
end

function ops.QLinearConv(n, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b)
  local y = nn.Conv(n, ops.dequantized(n, x, x_scale, x_zero),
    ops.dequantized(n, w, w_scale, w_zero, 0), ops.bias(b, x_scale, w_scale))
  return ops.QuantizeLinear(n, y, y_scale, y_zero)
end

function ops.MatMulInteger(_, a, b, zero_a, zero_b)
  local y = flow("op.products", "matmul")(centred(a, zero_a, #a.shape - 1),
    centred(b, zero_b, #b.shape))
  return cast(y, "int32")
end

function ops.ConvInteger(n, x, w, zero_x, zero_w)
  local y = nn.Conv(n, cast(centred(x, zero_x, 2), "float32"),
    cast(centred(w, zero_w, 1), "float32"))
  return cast(y, "int32")
end

return ops
