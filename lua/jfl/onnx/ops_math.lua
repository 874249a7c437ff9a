-- ONNX's ops that work element by element, reductions, products.
local call = require "jfl.op.call"
local core = require "jfl.core"
local narrow = require "jfl.onnx.narrow"
local values = require "jfl.onnx.values"

local op, cast, scalar = call.op, values.cast, values.scalar

local ops = {}

local FLOATS = { float32 = true, float64 = true, float16 = true, bfloat16 = true }

-- ---- one input ----

--- What an op of one input gives, worked on rows where x was made of them.
function ops.by_rows(f, x)
  if not values.has_rows(x) then return (f(x)) end
  return values.of_rows(f(values.rows(x)), x.shape)
end

for onnx, own in pairs {
  Abs = "abs", Acos = "acos", Acosh = "acosh", Asin = "asin", Asinh = "asinh", Atan = "atan",
  Atanh = "atanh", Ceil = "ceil", Cos = "cos", Cosh = "cosh", Erf = "erf", Exp = "exp",
  Floor = "floor", HardSwish = "hardswish", Identity = "identity", Log = "log", Mish = "mish",
  Neg = "negative", Not = "logical_not", Reciprocal = "reciprocal", Relu = "relu", Round = "round",
  Sigmoid = "sigmoid", Sign = "sign", Sin = "sin", Sinh = "sinh", Softplus = "softplus",
  Softsign = "softsign", Sqrt = "sqrt", Tan = "tan", Tanh = "tanh", IsNaN = "isnan",
} do
  ops[onnx] = function(_, x)
    local y = ops.by_rows(op[own], x)
    if own:find "^is" or own == "logical_not" then return y end
    return cast(y, x.dtype)
  end
end

function ops.Identity(_, x)
  return core.type(x) == "blob" and op.identity(x) or x
end

function ops.IsInf(n, x)
  local both = op.isinf(x)
  local above, below = n:flag("detect_positive", true), n:flag("detect_negative", true)
  if above and below then return both end
  if not above and not below then return op.multiply(both, 0) end
  return op.logical_and(both, above and op.greater(x, 0) or op.less(x, 0))
end

function ops.LeakyRelu(n, x) return op.leaky_relu(x, { alpha = n:attr("alpha", 0.01) }) end
function ops.Elu(n, x) return op.elu(x, { alpha = n:attr("alpha", 1) }) end

function ops.Selu(n, x)
  local alpha = n:attr("alpha", 1.67326319217681884765625)
  return op.multiply(op.elu(x, { alpha = alpha }), n:attr("gamma", 1.05070102214813232421875))
end

function ops.Celu(n, x)
  local alpha = n:attr("alpha", 1)
  return op.multiply(op.elu(op.divide(x, alpha), { alpha = 1 }), alpha)
end

function ops.HardSigmoid(n, x)
  local y = op.add(op.multiply(x, n:attr("alpha", 0.2)), n:attr("beta", 0.5))
  return op.clip_by_value(y, { min_value = 0, max_value = 1 })
end

function ops.ThresholdedRelu(n, x)
  return op.where(op.greater(x, n:attr("alpha", 1)), x, op.multiply(x, 0))
end

function ops.Shrink(n, x)
  local lambd, bias = n:attr("lambd", 0.5), n:attr("bias", 0)
  local zero = op.subtract(x, x)
  local low = op.where(op.less(x, -lambd), cast(op.add(x, bias), x.dtype), zero)
  return op.where(op.greater(x, lambd), cast(op.subtract(x, bias), x.dtype), low)
end

function ops.Gelu(n, x)
  return ops.by_rows(n:attr("approximate", "none") == "tanh" and op.gelu_tanh or op.gelu, x)
end

function ops.Swish(n, x)
  local alpha = n:attr("alpha", 1)
  if alpha == 1 then return ops.by_rows(op.silu, x) end
  return op.multiply(x, op.sigmoid(op.multiply(x, alpha)))
end

function ops.SwiGLU(n, a, b) return op.multiply(ops.Swish(n, a), b) end

function ops.PRelu(_, x, slope)
  local below = op.multiply(x, slope)
  return op.where(op.less(x, 0), below, op.add(x, op.multiply(below, 0)))
end

-- ---- Clip ----

local function bounds(n, low, high)
  if n.opset < 11 then return n:attr("min"), n:attr("max") end
  local function number(x, what)
    if x == nil or not values.is_known(x) then return x end
    return n:number(x, what)
  end
  return number(low, "min"), number(high, "max")
end

function ops.Clip(n, x, min, max)
  local low, high = bounds(n, min, max)
  local is_plain = type(low or 0) == "number" and type(high or 0) == "number"
  if is_plain and FLOATS[x.dtype] then
    if not low and not high then return x end
    if low == 0 and (not high or high == math.huge) then return op.relu(x) end
    if low == 0 and high == 6 then return op.relu6(x) end
    if high and low and high < low then low = high end
    return op.clip_by_value(x, { min_value = low, max_value = high })
  end
  local y = x
  if low then y = cast(op.maximum(y, type(low) == "number" and min or low), x.dtype) end
  if high then y = cast(op.minimum(y, type(high) == "number" and max or high), x.dtype) end
  return y
end

-- ---- two inputs ----

for onnx, own in pairs { Sub = "subtract", Mul = "multiply", Div = "divide" } do
  ops[onnx] = function(_, a, b) return cast(op[own](a, b), a.dtype) end
end

local function same_shape(a, b)
  local s, t = a.shape, b.shape
  for i = 1, math.max(#s, #t) do
    if s[i] ~= t[i] then return false end
  end
  return true
end

function ops.Add(_, a, b)
  if (values.has_rows(a) or values.has_rows(b)) and same_shape(a, b) then
    return values.of_rows(op.add(values.rows(a), values.rows(b)), a.shape)
  end
  return cast(op.add(a, b), a.dtype)
end

for onnx, own in pairs { And = "logical_and", Or = "logical_or", Xor = "logical_xor",
  Equal = "equal", Greater = "greater", GreaterOrEqual = "greater_equal", Less = "less",
  LessOrEqual = "less_equal", BitwiseAnd = "bitwise_and", BitwiseOr = "bitwise_or",
  BitwiseXor = "bitwise_xor" } do
  ops[onnx] = function(_, a, b) return op[own](a, b) end
end

function ops.BitwiseNot(_, a) return narrow.wrap(op.bitwise_not(a), values.type_of(a)) end

function ops.BitShift(n, a, b)
  local direction = n:need "direction"
  if direction == "LEFT" then return op.shift_left(a, b) end
  if direction == "RIGHT" then return op.shift_right(a, b) end
  n:fail("direction must be LEFT or RIGHT, got %s", core.printable(tostring(direction)))
end

function ops.Pow(n, a, b)
  if values.is_known(b) and values.count(b.shape) == 1 and #b.shape <= #a.shape
    and FLOATS[a.dtype] then
    local exponent = n:number(b, "the exponent")
    if exponent == 1 then return a end
    if exponent == 2 then return op.square(a) end
    if exponent == 0.5 then return op.sqrt(a) end
    if exponent == 3 then return op.multiply(op.square(a), a) end
    return op.pow(a, exponent)
  end
  local wide = FLOATS[b.dtype] and not FLOATS[a.dtype] and "float64" or a.dtype
  return cast(op.pow(cast(a, wide), cast(b, wide)), a.dtype)
end

-- jfl's mod has the divisor's sign, as Python's; fmod has the dividend's.
function ops.Mod(n, a, b)
  if not n:flag "fmod" then return cast(op.mod(a, b), a.dtype) end
  local rest = op.mod(op.abs(a), op.abs(b))
  return cast(op.where(op.less(a, 0), op.negative(rest), rest), a.dtype)
end

local function over_all(own)
  return function(_, first, ...)
    local y = first
    for i = 1, select("#", ...) do y = cast(op[own](y, (select(i, ...))), first.dtype) end
    return y
  end
end

ops.Max, ops.Min, ops.Sum = over_all "maximum", over_all "minimum", over_all "add"

function ops.Mean(n, ...)
  return op.divide(ops.Sum(n, ...), select("#", ...))
end

function ops.Where(_, condition, x, y) return cast(op.where(condition, x, y), x.dtype) end

-- ---- types ----

--- The dtype that a number of ONNX's stands for.
function ops.dtype_of(n, number)
  local name, dtype = require("jfl.onnx.tensor").type_of(number)
  return dtype or n:fail("jfl has no elements of type %s", name), name
end

local function convert(n, x, dtype, name)
  if name == "bool" then return op.not_equal(x, scalar(0, x.dtype)) end
  if narrow.is_float(name) then
    local y = narrow.round(x, name, n:flag("saturate", true), n:attr("round_mode", "up"))
    return values.with_type(y, name)
  end
  if FLOATS[x.dtype] and not FLOATS[dtype] then x = op.trunc(x) end
  if not narrow.bits(name) then return cast(x, dtype) end
  return values.with_type(cast(narrow.wrap(cast(x, "int32"), name), dtype), name)
end

function ops.Cast(n, x) return convert(n, x, ops.dtype_of(n, n:need "to")) end
function ops.CastLike(n, x, like) return convert(n, x, like.dtype, values.type_of(like)) end

-- ---- reductions ----

-- The axes of a reduction, from its attribute or its input; nil: it does nothing.
local function reduced_axes(n, x, axes, since)
  local list
  if n.opset < since then list = n:attr "axes" else list = n:list(axes, "axes") end
  if (not list or #list == 0) and n:flag "noop_with_empty_axes" then return nil end
  if not list or #list == 0 then list = values.steps(#x.shape) end
  return n:axes(list, #x.shape)
end

local function reduction(since, reduce, before)
  return { function(n, x, axes)
    local list = reduced_axes(n, x, axes, since)
    if before then x = before(x) end
    if not list then return x end
    if #list == 0 then return reduce(values.reshape(x, { 1 }), { axis = { 0 } }, x) end
    return reduce(x, { axis = list, keepdims = n:flag("keepdims", true) }, x)
  end, static = { 2 } }
end

-- A reduction that an op or a function of flow does; of all axes it leaves a number without axes.
local function by(own, path)
  return function(x, o, whole)
    local reduce = path and values.flow("op.functions", path) or op[own]
    local y = cast(reduce(x, o), x.dtype)
    local all = #whole.shape == 0 or #o.axis == #x.shape and not o.keepdims
    return all and values.reshape(y, {}) or y
  end
end

ops.ReduceSum = reduction(13, by "reduce_sum")
ops.ReduceProd = reduction(18, by "reduce_prod")

-- The number that is less than all others of a dtype, or larger.
local LEAST = { int8 = -2 ^ 7, uint8 = 0, int32 = -2 ^ 31, int64 = -2 ^ 63 }
local MOST = { int8 = 2 ^ 7 - 1, uint8 = 2 ^ 8 - 1, int32 = 2 ^ 31 - 1, int64 = 2 ^ 63 - 1024 }

-- The extents that are left of a shape.
local function left_of(shape, o)
  local out, gone = {}, {}
  for _, axis in ipairs(o.axis) do gone[axis + 1] = true end
  for i, extent in ipairs(shape) do
    if not gone[i] then out[#out + 1] = extent elseif o.keepdims then out[#out + 1] = 1 end
  end
  return out
end

for onnx, own in pairs { Max = { "reduce_max", LEAST, -math.huge },
  Min = { "reduce_min", MOST, math.huge } } do
  local reduce = by(own[1])
  ops["Reduce" .. onnx] = reduction(18, function(x, o, whole)
    if values.count(x.shape) > 0 then return reduce(x, o, whole) end
    return values.expand(scalar(own[2][x.dtype] or own[3], x.dtype), left_of(x.shape, o))
  end)
end
for onnx, path in pairs { L1 = "math.reduce_l1", L2 = "math.reduce_euclidean_norm",
  LogSumExp = "math.reduce_logsumexp" } do
  ops["Reduce" .. onnx] = reduction(18, by(nil, path))
end
ops.ReduceSumSquare = reduction(18, by "reduce_sum", function(x)
  return cast(op.square(x), x.dtype)
end)

local function mean_of(x, o, whole)
  if FLOATS[x.dtype] then return by("reduce_mean")(x, o, whole) end
  return cast(op.trunc(by("reduce_mean")(cast(x, "float64"), o, whole)), x.dtype)
end
ops.ReduceMean = reduction(18, mean_of)
ops.ReduceLogSum = reduction(18, function(x, o, whole)
  return op.log(by("reduce_sum")(x, o, whole))
end)

local function first_of(own)
  return function(n, x)
    local axis = n:axis(n:attr("axis", 0), #x.shape)
    local y
    if n:flag "select_last_index" then
      local extent = x.shape[axis + 1]
      local back = op[own](values.flow("op.slices", "reverse")(x, axis), { axis = axis })
      y = op.subtract(scalar(extent - 1, back.dtype), back)
    else
      y = op[own](x, { axis = axis })
    end
    y = cast(y, "int64")
    if not n:flag("keepdims", true) then return y end
    local shape = { unpack(x.shape) }
    shape[axis + 1] = 1
    return values.reshape(y, shape)
  end
end

ops.ArgMax, ops.ArgMin = first_of "argmax", first_of "argmin"

for onnx, own in pairs { CumSum = "cumsum", CumProd = "cumprod" } do
  ops[onnx] = { function(n, x, axis)
  return cast(op[own](x, { axis = n:axis(n:number(axis, "axis"), #x.shape),
    exclusive = n:flag "exclusive", reverse = n:flag "reverse" }), x.dtype)
  end, static = { 2 } }
end

-- ---- products ----

-- a and b as matrices: the axis that one of a single axis lacks, and the shape without it.
function ops.MatMul(n, a, b)
  local s, t = a.shape, b.shape
  if #s == 0 or #t == 0 then n:fail("a and b must have axes, got a number") end
  local dtype = a.dtype
  if not FLOATS[dtype] then a, b = cast(a, "float64"), cast(b, "float64") end
  if #s == 1 then a = values.reshape(a, { 1, s[1] }) end
  if #t == 1 then b = values.reshape(b, { t[1], 1 }) end
  local y = values.flow("op.products", "matmul")(a, b)
  local shape = { unpack(y.shape) }
  if #t == 1 then table.remove(shape) end
  if #s == 1 then table.remove(shape, #t == 1 and #shape or #shape - 1) end
  return cast(values.reshape(y, shape), dtype)
end

function ops.Gemm(n, a, b, c)
  local dtype, alpha, beta = a.dtype, n:attr("alpha", 1), n:attr("beta", 1)
  if not FLOATS[dtype] then a, b = cast(a, "float64"), cast(b, "float64") end
  local y = op.matmul(a, b, { transpose_a = n:flag "transA", transpose_b = n:flag "transB" })
  if alpha ~= 1 then y = op.multiply(y, alpha) end
  if not c or beta == 0 then return cast(y, dtype) end
  if beta ~= 1 then c = op.multiply(c, beta) end
  if #c.shape == 1 and c.shape[1] == y.shape[2] and c.dtype == y.dtype then
    return op.bias_add(y, c)
  end
  return cast(op.add(y, c), dtype)
end

-- Whether an equation leaves no axis: it says so, or each of its letters occurs twice.
local function gives_number(equation)
  if equation:find "%->" then return equation:find "%->%s*$" ~= nil end
  local counts = {}
  for letter in equation:gmatch "%a" do counts[letter] = (counts[letter] or 0) + 1 end
  for _, count in pairs(counts) do
    if count == 1 then return false end
  end
  return not equation:find("...", 1, true)
end

function ops.Einsum(n, ...)
  local equation = n:need "equation"
  local y = values.flow("op.products", "einsum")(equation, { ... })
  return #y.shape == 1 and gives_number(equation) and values.reshape(y, {}) or y
end

return ops
