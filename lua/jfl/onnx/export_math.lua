-- How jfl's ops that work element by element, and its reductions and losses, are written as ONNX.
--
-- A row is a function of the builder and the node, which calls what the node gives; or the name of
-- an op of ONNX that computes the same.
local builder = require "jfl.onnx.export_builder"

local rows = {
  abs = "Abs", acos = "Acos", acosh = "Acosh", add = "Add", asin = "Asin", asinh = "Asinh",
  atan = "Atan", atanh = "Atanh", ceil = "Ceil", cos = "Cos", cosh = "Cosh", erf = "Erf",
  exp = "Exp", floor = "Floor", hardswish = "HardSwish", log = "Log", multiply = "Mul",
  negative = "Neg", reciprocal = "Reciprocal", relu = "Relu", round = "Round", selu = "Selu",
  sigmoid = "Sigmoid", sign = "Sign", sin = "Sin", sinh = "Sinh", softplus = "Softplus",
  softsign = "Softsign", sqrt = "Sqrt", subtract = "Sub", tan = "Tan", tanh = "Tanh",
}

local IS_WHOLE = { int8 = true, uint8 = true, int32 = true, int64 = true }
local LOG2E, LOG10E = 1 / math.log(2), 1 / math.log(10)

-- A row of steps: the last one makes the node's result.
local function steps(fn)
  return function(b, n)
    local x, y = n:x(1), n.inputs[2] and n:x(2)
    local op_type, inputs, attributes = fn(b, n, x, y)
    b:out(n.out, op_type, inputs, attributes)
  end
end

-- ---- activations ----

-- An op of one input whose attribute is a number of the node, or a fixed one.
local function with_number(op_type, name, field, more)
  return steps(function(_, n, x)
    local attributes = { [name] = { float = field and n.attributes[field] or more } }
    return op_type, { x }, attributes
  end)
end

rows.elu = with_number("Elu", "alpha", "alpha")
rows.leaky_relu = with_number("LeakyRelu", "alpha", "alpha")

rows.hardsigmoid = steps(function(_, _, x)
  return "HardSigmoid", { x }, { alpha = { float = 1 / 6 }, beta = { float = 0.5 } }
end)
rows.hardshrink = steps(function(_, n, x)
  return "Shrink", { x }, { lambd = { float = n.attributes.lambd }, bias = { float = 0 } }
end)
rows.softshrink = steps(function(_, n, x)
  local lambd = { float = n.attributes.lambd }
  return "Shrink", { x }, { lambd = lambd, bias = lambd }
end)

-- x kept between two numbers, of which infinite ones bound nothing.
local function clip(b, x, least, most)
  local inputs = { x, "", "" }
  if least > -math.huge then inputs[2] = b:like(x, least) end
  if most < math.huge then inputs[3] = b:like(x, most) end
  while inputs[#inputs] == "" do table.remove(inputs) end
  return "Clip", inputs
end

rows.relu6 = steps(function(b, _, x) return clip(b, x, 0, 6) end)
rows.hardtanh = steps(function(b, n, x)
  return clip(b, x, n.attributes.min_val, n.attributes.max_val)
end)
rows.clip_by_value = steps(function(b, n, x)
  return clip(b, x, n.attributes.min_value, n.attributes.max_value)
end)

rows.silu = steps(function(b, _, x) return "Mul", { x, b:op("Sigmoid", { x }) } end)
rows.swish = steps(function(b, n, x)
  local scaled = b:op("Mul", { x, b:like(x, n.attributes.beta) })
  return "Mul", { x, b:op("Sigmoid", { scaled }) }
end)
rows.mish = steps(function(b, _, x)
  return "Mul", { x, b:op("Tanh", { b:op("Softplus", { x }) }) }
end)
rows.log_sigmoid = steps(function(b, _, x)
  return "Neg", { b:op("Softplus", { b:op("Neg", { x }) }) }
end)
-- x / 2 (1 + erf(x / sqrt 2)), in the order in which exporters of PyTorch write it.
rows.gelu = steps(function(b, _, x)
  local erf = b:op("Erf", { b:op("Div", { x, b:like(x, math.sqrt(2)) }) })
  local sum = b:op("Add", { erf, b:like(x, 1) })
  return "Mul", { b:op("Mul", { x, sum }), b:like(x, 0.5) }
end)
rows.gelu_tanh = steps(function(b, _, x)
  local cube = b:op("Pow", { x, b:like(x, 3) })
  local inner = b:op("Add", { x, b:op("Mul", { cube, b:like(x, 0.044715) }) })
  local tanh = b:op("Tanh", { b:op("Mul", { inner, b:like(x, math.sqrt(2 / math.pi)) }) })
  local sum = b:op("Add", { tanh, b:like(x, 1) })
  return "Mul", { b:op("Mul", { x, sum }), b:like(x, 0.5) }
end)
rows.softmax = steps(function(_, n, x) return "Softmax", { x }, { axis = n.attributes.axis } end)
rows.logsoftmax = steps(function(_, n, x)
  return "LogSoftmax", { x }, { axis = n.attributes.axis }
end)

-- ---- numbers ----

rows.rsqrt = steps(function(b, _, x) return "Reciprocal", { b:op("Sqrt", { x }) } end)
rows.square = steps(function(_, _, x) return "Mul", { x, x } end)
rows.exp2 = steps(function(b, _, x) return "Pow", { b:like(x, 2), x } end)
rows.log2 = steps(function(b, _, x) return "Mul", { b:op("Log", { x }), b:like(x, LOG2E) } end)
rows.log10 = steps(function(b, _, x) return "Mul", { b:op("Log", { x }), b:like(x, LOG10E) } end)
rows.erfc = steps(function(b, _, x) return "Sub", { b:like(x, 1), b:op("Erf", { x }) } end)
rows.trunc = steps(function(b, _, x)
  return "Mul", { b:op("Sign", { x }), b:op("Floor", { b:op("Abs", { x }) }) }
end)
-- exp(x) - 1 loses what is small: near 0 it is 2 t / (1 - t), where t is tanh(x / 2).
rows.expm1 = steps(function(b, _, x)
  local t = b:op("Tanh", { b:op("Mul", { x, b:like(x, 0.5) }) })
  local near = b:op("Div", { b:op("Add", { t, t }), b:op("Sub", { b:like(x, 1), t }) })
  local far = b:op("Sub", { b:op("Exp", { x }), b:like(x, 1) })
  local is_near = b:op("Less", { b:op("Abs", { x }), b:like(x, 0.5) }, nil, "bool")
  return "Where", { is_near, near, far }
end)
-- log(u) x / (u - 1), where u is what 1 + x is rounded to.
rows.log1p = steps(function(b, _, x)
  local one = b:like(x, 1)
  local u = b:op("Add", { x, one })
  local is_none = b:op("Equal", { u, one }, nil, "bool")
  local is_far = b:op("IsInf", { u }, nil, "bool")
  local d = b:op("Where", { is_none, one, b:op("Sub", { u, one }) }, nil, b.dtypes[x])
  local log = b:op("Log", { u })
  local y = b:op("Mul", { log, b:op("Div", { x, d }) })
  y = b:op("Where", { is_none, x, y }, nil, b.dtypes[x])
  return "Where", { is_far, log, y }
end)

local function zero_where(b, x, is_zero_of, y)
  local zero = b:like(x, 0)
  local is_zero = b:op("Equal", { is_zero_of, zero }, nil, "bool")
  return "Where", { is_zero, zero, y }
end

rows.reciprocal_no_nan = steps(function(b, _, x)
  return zero_where(b, x, x, b:op("Reciprocal", { x }))
end)
rows.xlogy = steps(function(b, _, x, y)
  return zero_where(b, x, x, b:op("Mul", { x, b:op("Log", { y }) }))
end)
rows.xdivy = steps(function(b, _, x, y) return zero_where(b, x, x, b:op("Div", { x, y })) end)
rows.squared_difference = steps(function(b, _, x, y)
  local d = b:op("Sub", { x, y })
  return "Mul", { d, d }
end)
rows.maximum = "Max"
rows.minimum = "Min"
rows.pow = "Pow"

-- By zero, whole numbers give 0: fn gets a divisor without zeros.
local function whole_division(b, x, y, fn)
  local zero = b:like(x, 0)
  local is_zero = b:op("Equal", { y, zero }, nil, "bool")
  local safe = b:op("Where", { is_zero, b:like(x, 1), y }, nil, b.dtypes[x])
  return "Where", { is_zero, zero, fn(safe) }
end

rows.divide = steps(function(b, n, x, y)
  if not IS_WHOLE[n.out.dtype] then return "Div", { x, y } end
  return whole_division(b, x, y, function(safe) return b:op("Div", { x, safe }) end)
end)
rows.mod = steps(function(b, n, x, y)
  if IS_WHOLE[n.out.dtype] then
    return whole_division(b, x, y, function(safe) return b:op("Mod", { x, safe }) end)
  end
  return "Sub", { x, b:op("Mul", { b:op("Floor", { b:op("Div", { x, y }) }), y }) }
end)
rows.floordiv = steps(function(b, n, x, y)
  if not IS_WHOLE[n.out.dtype] then return "Floor", { b:op("Div", { x, y }) } end
  return whole_division(b, x, y, function(safe)
    return b:op("Div", { b:op("Sub", { x, b:op("Mod", { x, safe }) }), safe })
  end)
end)
-- The angle of (breadth, height): atan of the slope, and half a turn more where breadth is below 0.
rows.atan2 = steps(function(b, _, y, x)
  local function constant(value) return b:like(x, value) end
  local function where(condition, p, q)
    return b:op("Where", { condition, p, q }, nil, b.dtypes[x])
  end
  local zero = constant(0)
  local low = b:op("Less", { y, zero }, nil, "bool")
  local left = b:op("Less", { x, zero }, nil, "bool")
  local both = b:op("And", { b:op("Equal", { x, zero }, nil, "bool"),
    b:op("Equal", { y, zero }, nil, "bool") })
  local slope = b:op("Div", { y, where(both, constant(1), x) })
  local turn = where(low, constant(-math.pi), constant(math.pi))
  return "Add", { b:op("Atan", { slope }), where(left, turn, zero) }
end)

-- ---- truths ----

local function compares(op_type, negates)
  return function(b, n)
    local truth = b:op(op_type, { n:x(1), n:x(2) }, nil, "bool")
    b:is_truth(n.out, negates and b:op("Not", { truth }) or truth)
  end
end
rows.equal, rows.not_equal = compares("Equal"), compares("Equal", true)
rows.less, rows.less_equal = compares("Less"), compares("LessOrEqual")
rows.greater, rows.greater_equal = compares("Greater"), compares("GreaterOrEqual")

local function connects(op_type)
  return function(b, n)
    local inputs = {}
    for i, value in ipairs(n.inputs) do inputs[i] = b:truth(value) end
    b:is_truth(n.out, b:op(op_type, inputs, nil, "bool"))
  end
end
rows.logical_and, rows.logical_or = connects("And"), connects("Or")
rows.logical_xor, rows.logical_not = connects("Xor"), connects("Not")

-- Whether x is not finite; whole numbers always are.
local function is_odd(b, x, op_type)
  if IS_WHOLE[b.dtypes[x]] then
    return b:op("Not", { b:op("Equal", { x, x }, nil, "bool") }, nil, "bool")
  end
  return b:op(op_type, { x }, nil, "bool")
end
function rows.isnan(b, n) b:is_truth(n.out, is_odd(b, n:x(1), "IsNaN")) end
function rows.isinf(b, n) b:is_truth(n.out, is_odd(b, n:x(1), "IsInf")) end
function rows.isfinite(b, n)
  local x = n:x(1)
  local odd = b:op("Or", { is_odd(b, x, "IsNaN"), is_odd(b, x, "IsInf") }, nil, "bool")
  b:is_truth(n.out, b:op("Not", { odd }, nil, "bool"))
end

rows["where"] = function(b, n)
  b:out(n.out, "Where", { b:truth(n.inputs[1]), n:x(2), n:x(3) })
end

-- ---- dtypes ----

local LIMITS = { int8 = { -128, 127 }, uint8 = { 0, 255 } }

-- Integers of 8 bits saturate.
function rows.cast(b, n)
  local x, to = n:x(1), n.attributes.dtype
  local limits = LIMITS[to]
  if limits and b.dtypes[x] ~= to then
    if b.dtypes[x] == "int8" or b.dtypes[x] == "uint8" then x = b:cast(x, "int32") end
    local op_type, inputs = clip(b, x, limits[1], limits[2])
    x = b:op(op_type, inputs)
  end
  b:out(n.out, "Cast", { x }, { to = builder.TYPES[to] })
end

-- ---- reductions ----

local function axes_of(n)
  local axes, rank = {}, #n.inputs[1].shape
  for i, axis in ipairs(n.attributes.axis) do axes[i] = axis < 0 and axis + rank or axis end
  for i = 1, #n.attributes.axis == 0 and rank or 0 do axes[i] = i - 1 end
  return axes
end

-- Reduces x, which may be another than the node's input, to a value; jfl has at least one axis left
-- where ONNX has none.
local function reduce(b, n, op_type, x, dtype)
  local axes, keeps = axes_of(n), n.attributes.keepdims
  local left = keeps and #n.inputs[1].shape or #n.inputs[1].shape - #axes
  local inputs, attributes = { x }, { keepdims = keeps }
  if op_type == "ReduceSum" then inputs[2] = b:ints(axes) else attributes.axes = axes end
  local y = b:op(op_type, inputs, attributes, dtype)
  return left == #n.out.shape and y or b:reshape(y, n.out.shape)
end

local function reduces(op_type)
  return function(b, n) b:alias(n.out, reduce(b, n, op_type, n:x(1))) end
end
rows.reduce_sum, rows.reduce_mean = reduces("ReduceSum"), reduces("ReduceMean")
rows.reduce_max, rows.reduce_min = reduces("ReduceMax"), reduces("ReduceMin")
rows.reduce_prod = reduces("ReduceProd")

-- Of truths: as whole numbers, of which the smallest or largest counts.
local function reduces_truths(op_type)
  return function(b, n)
    local x = b:op("Cast", { b:truth(n.inputs[1]) }, { to = builder.TYPES.int32 }, "int32")
    local y = reduce(b, n, op_type, x)
    b:is_truth(n.out, b:op("Cast", { y }, { to = builder.TYPES.bool }, "bool"))
  end
end
rows.reduce_all, rows.reduce_any = reduces_truths("ReduceMin"), reduces_truths("ReduceMax")

-- ---- losses ----

rows.softmax_cross_entropy_with_logits = steps(function(b, _, labels, logits)
  local each = b:op("Mul", { labels, b:op("LogSoftmax", { logits }, { axis = -1 }) })
  return "Neg", { b:op("ReduceSum", { each, b:ints { -1 } }, { keepdims = 0 }) }
end)
rows.sigmoid_cross_entropy_with_logits = steps(function(b, _, labels, x)
  local above = b:op("Sub", { b:op("Relu", { x }), b:op("Mul", { x, labels }) })
  return "Add", { above, b:op("Softplus", { b:op("Neg", { b:op("Abs", { x }) }) }) }
end)
function rows.sparse_softmax_cross_entropy_with_logits(b, n)
  if n.attributes.label_smoothing ~= 0 then n:refuse("label_smoothing is not 0") end
  local log = b:op("LogSoftmax", { n:x(2) }, { axis = -1 })
  local labels = b:op("Unsqueeze", { n:x(1), b:ints { -1 } })
  local each = b:op("GatherElements", { log, labels }, { axis = -1 })
  local loss = b:op("Squeeze", { each, b:ints { -1 } })
  b:out(n.out, "Neg", { loss })
end
rows.smooth_l1_loss = steps(function(b, n, x, y)
  local beta = n.attributes.beta
  local d = b:op("Abs", { b:op("Sub", { x, y }) })
  if beta == 0 then return "Identity", { d } end
  local near = b:op("Mul", { b:op("Mul", { d, d }), b:like(x, 1 / (2 * beta)) })
  local far = b:op("Sub", { d, b:like(x, beta / 2) })
  return "Where", { b:op("Less", { d, b:like(x, beta) }, nil, "bool"), near, far }
end)

return rows
