-- How jfl's ops that work element by element, and its reductions and losses, are written as ONNX.
--
-- A row is a tree (export_tree.lua); or the name of an op of ONNX that computes the same of all
-- inputs; or a function of the builder and the node, which calls what the node gives, or gives a
-- tree.
local builder = require "jfl.onnx.export_builder"
local tree = require "jfl.onnx.export_tree"

local attribute = tree.attribute

local rows = {
  abs = "Abs", acos = "Acos", acosh = "Acosh", add = "Add", asin = "Asin", asinh = "Asinh",
  atan = "Atan", atanh = "Atanh", ceil = "Ceil", cos = "Cos", cosh = "Cosh", equal = "Equal",
  erf = "Erf", exp = "Exp", floor = "Floor", greater = "Greater", greater_equal = "GreaterOrEqual",
  hardswish = "HardSwish", less = "Less", less_equal = "LessOrEqual", log = "Log",
  logical_and = "And", logical_not = "Not", logical_or = "Or", logical_xor = "Xor",
  maximum = "Max", minimum = "Min", multiply = "Mul", negative = "Neg", pow = "Pow",
  reciprocal = "Reciprocal", relu = "Relu", round = "Round", selu = "Selu", sigmoid = "Sigmoid",
  sign = "Sign", sin = "Sin", sinh = "Sinh", softplus = "Softplus", softsign = "Softsign",
  sqrt = "Sqrt", subtract = "Sub", tan = "Tan", tanh = "Tanh", where = "Where",
}

local IS_WHOLE = { int8 = true, uint8 = true, int32 = true, int64 = true }
local LOG2E, LOG10E = 1 / math.log(2), 1 / math.log(10)

-- ---- activations ----

rows.elu = { "Elu", "x", attrs = { alpha = attribute "alpha" } }
rows.leaky_relu = { "LeakyRelu", "x", attrs = { alpha = attribute "alpha" } }
rows.hardsigmoid = { "HardSigmoid", "x", attrs = { alpha = 1 / 6, beta = 0.5 } }
rows.hardshrink = { "Shrink", "x", attrs = { lambd = attribute "lambd", bias = 0 } }
local LAMBD = attribute "lambd"
rows.softshrink = { "Shrink", "x", attrs = { lambd = LAMBD, bias = LAMBD } }

-- x kept between two numbers, of which infinite ones bound nothing.
local function clip(least, most)
  return function(_, n)
    local low, high = n.attributes[least] or least, n.attributes[most] or most
    return { "Clip", "x", low > -math.huge and low or high < math.huge and "" or nil,
      high < math.huge and high or nil }
  end
end
rows.relu6 = clip(0, 6)
rows.hardtanh = clip("min_val", "max_val")
rows.clip_by_value = clip("min_value", "max_value")

rows.silu = { "Mul", "x", { "Sigmoid", "x" } }
rows.swish = { "Mul", "x", { "Sigmoid", { "Mul", "x", attribute "beta" } } }
rows.mish = { "Mul", "x", { "Tanh", { "Softplus", "x" } } }
rows.log_sigmoid = { "Neg", { "Softplus", { "Neg", "x" } } }
-- x / 2 (1 + erf(x / sqrt 2)), in the order in which exporters of PyTorch write it.
rows.gelu = { "Mul", { "Mul", "x", { "Add", { "Erf", { "Div", "x", math.sqrt(2) } }, 1 } }, 0.5 }
local CUBIC = { "Add", "x", { "Mul", { "Pow", "x", 3 }, 0.044715 } }
rows.gelu_tanh = { "Mul", { "Mul", "x",
  { "Add", { "Tanh", { "Mul", CUBIC, math.sqrt(2 / math.pi) } }, 1 } }, 0.5 }
rows.softmax = { "Softmax", "x", attrs = { axis = attribute "axis" } }
rows.logsoftmax = { "LogSoftmax", "x", attrs = { axis = attribute "axis" } }

-- ---- numbers ----

rows.rsqrt = { "Reciprocal", { "Sqrt", "x" } }
rows.square = { "Mul", "x", "x" }
rows.exp2 = { "Pow", 2, "x" }
rows.log2 = { "Mul", { "Log", "x" }, LOG2E }
rows.log10 = { "Mul", { "Log", "x" }, LOG10E }
rows.erfc = { "Sub", 1, { "Erf", "x" } }
rows.trunc = { "Mul", { "Sign", "x" }, { "Floor", { "Abs", "x" } } }
-- exp(x) - 1 loses what is small: near 0 it is 2 t / (1 - t), where t is tanh(x / 2).
local HALF_TANH = { "Tanh", { "Mul", "x", 0.5 } }
rows.expm1 = { "Where", { "Less", { "Abs", "x" }, 0.5 },
  { "Div", { "Add", HALF_TANH, HALF_TANH }, { "Sub", 1, HALF_TANH } },
  { "Sub", { "Exp", "x" }, 1 } }
-- log(u) x / (u - 1), where u is what 1 + x is rounded to.
local U = { "Add", "x", 1 }
local LOG, IS_ONE = { "Log", U }, { "Equal", U, 1 }
rows.log1p = { "Where", { "IsInf", U }, LOG, { "Where", IS_ONE, "x",
  { "Mul", LOG, { "Div", "x", { "Where", IS_ONE, 1, { "Sub", U, 1 } } } } } }

local function zero_at_zero(y) return { "Where", { "Equal", "x", 0 }, 0, y } end
rows.reciprocal_no_nan = zero_at_zero { "Reciprocal", "x" }
rows.xlogy = zero_at_zero { "Mul", "x", { "Log", "y" } }
rows.xdivy = zero_at_zero { "Div", "x", "y" }
local DIFFERENCE = { "Sub", "x", "y" }
rows.squared_difference = { "Mul", DIFFERENCE, DIFFERENCE }

-- Divisions of whole numbers, which give 0 where the divisor is 0, and of others.
local IS_ZERO = { "Equal", "y", 0 }
local SAFE = { "Where", IS_ZERO, 1, "y" }
local function division(whole, other)
  whole = { "Where", IS_ZERO, 0, whole }
  return function(_, n) return IS_WHOLE[n.out.dtype] and whole or other end
end
rows.divide = division({ "Div", "x", SAFE }, { "Div", "x", "y" })
rows.mod = division({ "Mod", "x", SAFE },
  { "Sub", "x", { "Mul", { "Floor", { "Div", "x", "y" } }, "y" } })
rows.floordiv = division({ "Div", { "Sub", "x", { "Mod", "x", SAFE } }, SAFE },
  { "Floor", { "Div", "x", "y" } })

-- The angle of (y, x), the breadth and the height: atan of the slope, and half a turn more where
-- the breadth is below 0.
local SLOPE = { "Div", "x",
  { "Where", { "And", { "Equal", "y", 0 }, { "Equal", "x", 0 } }, 1, "y" } }
rows.atan2 = { "Add", { "Atan", SLOPE }, { "Where", { "Less", "y", 0 },
  { "Where", { "Less", "x", 0 }, -math.pi, math.pi }, 0 } }

-- ---- truths ----

rows.not_equal = { "Not", { "Equal", "x", "y" } }

-- Whole numbers are finite: none of them is another than itself.
local function of_fractions(test)
  return function(_, n)
    return IS_WHOLE[n.inputs[1].dtype] and { "Not", { "Equal", "x", "x" } } or test
  end
end
rows.isnan, rows.isinf = of_fractions { "IsNaN", "x" }, of_fractions { "IsInf", "x" }
function rows.isfinite(_, n)
  if IS_WHOLE[n.inputs[1].dtype] then return { "Equal", "x", "x" } end
  return { "Not", { "Or", { "IsNaN", "x" }, { "IsInf", "x" } } }
end

-- ---- dtypes ----

local LIMITS = { int8 = { -128, 127 }, uint8 = { 0, 255 } }

-- Integers of 8 bits saturate.
function rows.cast(b, n)
  local x, to = n:x(1), n.attributes.dtype
  local limits = LIMITS[to]
  if limits and b.dtypes[x] ~= to then
    if b.dtypes[x] == "int8" or b.dtypes[x] == "uint8" then x = b:cast(x, "int32") end
    x = b:op("Clip", { x, b:like(x, limits[1]), b:like(x, limits[2]) })
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
    local y = reduce(b, n, op_type, b:cast(b:truth(n.inputs[1]), "int32"))
    b:is_truth(n.out, b:cast(y, "bool"))
  end
end
rows.reduce_all, rows.reduce_any = reduces_truths("ReduceMin"), reduces_truths("ReduceMax")

-- ---- losses ----

rows.softmax_cross_entropy_with_logits = { "Neg", { "ReduceSum",
  { "Mul", "x", { "LogSoftmax", "y", attrs = { axis = -1 } } }, { ints = { -1 } },
  attrs = { keepdims = 0 } } }
rows.sigmoid_cross_entropy_with_logits = { "Add",
  { "Sub", { "Relu", "y" }, { "Mul", "y", "x" } },
  { "Softplus", { "Neg", { "Abs", "y" } } } }
function rows.sparse_softmax_cross_entropy_with_logits(_, n)
  if n.attributes.label_smoothing ~= 0 then n:refuse("label_smoothing is not 0") end
  return { "Neg", { "Squeeze", { "GatherElements",
    { "LogSoftmax", "y", attrs = { axis = -1 } }, { "Unsqueeze", "x", { ints = { -1 } } },
    attrs = { axis = -1 } }, { ints = { -1 } } } }
end
local DISTANCE = { "Abs", DIFFERENCE }
function rows.smooth_l1_loss(_, n)
  local beta = n.attributes.beta
  if beta == 0 then return { "Identity", DISTANCE } end
  return { "Where", { "Less", DISTANCE, beta },
    { "Mul", { "Mul", DISTANCE, DISTANCE }, 1 / (2 * beta) }, { "Sub", DISTANCE, beta / 2 } }
end

return rows
