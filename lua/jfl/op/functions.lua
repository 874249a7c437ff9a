-- flow.math and flow.random: functions that are made of ops.
---@box math.add_n math.fused_bias_add_gelu math.gelu math.l2_normalize math.polyval
---@box math.reduce_euclidean_norm math.reduce_l1 math.reduce_logsumexp math.reduce_std
---@box math.reduce_variance math.two_stage_reduce_max math.two_stage_reduce_min nn.gelu=math.gelu
---@box nn.l2_normalize=math.l2_normalize nn.random_mask_like random.bernoulli
---@box random.generate_random_batch_permutation_indices random.shuffle
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"
local trace = require "jfl.job.trace"

local op = call.op

local functions = {}

local TENSOR = "Tensor"
local X = { "x", "a blob or NdArray", type = TENSOR }
local INPUT = { "input_tensor", "a blob or NdArray of floats", type = TENSOR }
local AXIS = { "axis", "the axes to reduce; all of them unless given", args.none,
  type = "integer|integer[]" }
local KEEP = { "keepdims", "keep reduced axes with extent 1", false }

local function define(path, doc, params, body)
  functions[path:match "[^.]+$"] = tensors.define(path, doc, params, body)
end

-- ---- activations ----

define("math.gelu", "x times the probability that a standard normal number is below x; that is "
  .. "approximated with a tanh on request, as GPT-2 does.", {
    X, { "approximate", "none or tanh", "none", words = { "none", "tanh" } },
  }, function(o)
    if o.approximate == "tanh" then return op.gelu_tanh(o.x, { name = o.name }) end
    return op.gelu(o.x, { name = o.name })
  end)

define("math.fused_bias_add_gelu", "gelu(value + bias), which is one step of a job.", {
  { "value", "a blob or NdArray", type = TENSOR },
  { "bias", "a number for each channel", type = TENSOR },
  { "data_format", "NCHW: channels are axis 1; NHWC: the last", args.none, type = "string" },
}, function(o)
  return op.gelu(op.bias_add(o.value, o.bias, { data_format = o.data_format }), { name = o.name })
end)

-- ---- reductions ----

local function over(o, keepdims) return { axis = o.axis, keepdims = keepdims } end

-- The mean of squared distances from the mean.
local function variance(x, o, name)
  local mean = op.reduce_mean(x, over(o, true))
  return op.reduce_mean(op.squared_difference(x, mean),
    { axis = o.axis, keepdims = o.keepdims, name = name })
end

define("math.reduce_variance", "The variance over axes: the mean of squared distances from the "
  .. "mean.", { INPUT, AXIS, KEEP }, function(o)
    return call.with_squares(o.name, function(name, x) return variance(x, o, name) end,
      o.input_tensor)
  end)

define("math.reduce_std", "The standard deviation over axes.", { INPUT, AXIS, KEEP }, function(o)
  return call.with_squares(o.name, function(name, x)
    return op.sqrt(variance(x, o), { name = name })
  end, o.input_tensor)
end)

-- Where all is 0 the root has no slope; 0 is the one that lets training go on.
define("math.reduce_euclidean_norm", "The square root of the sum of squares over axes; its "
  .. "gradient is 0 where all elements are.", { INPUT, AXIS, KEEP }, function(o)
    return call.with_squares(o.name, function(name, x)
      local sum = op.reduce_sum(op.square(x), over(o, o.keepdims))
      if trace.current and trace.current.mode == "train" then
        sum = op.where(op.equal(sum, 0), 0, sum)
      end
      return op.sqrt(sum, { name = name })
    end, o.input_tensor)
  end)

define("math.reduce_l1", "The sum of magnitudes over axes.", { INPUT, AXIS, KEEP }, function(o)
  return op.reduce_sum(op.abs(o.input_tensor), { axis = o.axis, keepdims = o.keepdims,
    name = o.name })
end)

-- log sum exp(x - most) + most, where an infinite most counts as 0, since differences of infinities
-- are no numbers.
define("math.reduce_logsumexp", "The logarithm of the sum of exp(input_tensor) over axes, without "
  .. "overflow.", { INPUT, AXIS, KEEP }, function(o)
    local x = o.input_tensor
    local most = op.stop_gradient(op.reduce_max(x, over(o, true)))
    most = op.where(op.isfinite(most), most, op.zeros_like(most))
    local sum = op.log(op.reduce_sum(op.exp(op.subtract(x, most)), over(o, o.keepdims)))
    if not o.keepdims then most = op.reshape(most, { shape = sum.shape }) end
    return op.add(sum, most, { name = o.name })
  end)

for _, what in ipairs { "max", "min" } do
  define("math.two_stage_reduce_" .. what, "The same as reduce_" .. what
    .. "; OneFlow spreads it over devices.", { X, AXIS, KEEP }, function(o)
      return op["reduce_" .. what](o.x, { axis = o.axis, keepdims = o.keepdims, name = o.name })
    end)
end

define("math.l2_normalize", "x / sqrt(max(sum of x^2 over axes, epsilon)).", {
  { "input", "a blob or NdArray of floats", type = TENSOR },
  { "axis", "the axes of the sum; all of them unless given", args.none,
    type = "integer|integer[]" },
  { "epsilon", "the least sum", 1e-12, type = "number" },
}, function(o)
  return call.with_squares(o.name, function(name, x)
    local sum = op.reduce_sum(op.square(x), over(o, true))
    return op.multiply(x, op.rsqrt(op.maximum(sum, o.epsilon)), { name = name })
  end, o.input)
end)

-- ---- sums and polynomials ----

-- Fails unless a value is a list of one thing or more.
local function need_list(who, name, list, what)
  if type(list) == "table" and core.type(list) == nil and #list > 0 then return list end
  core.fail("%s: %s must be a list of %s, got %s", who, name, what, args.describe(list))
end

define("math.add_n", "The sum of the tensors of a list.", {
  { "inputs", "a list of blobs or NdArrays", type = "Tensor[]" },
}, function(o)
  local list = need_list("math.add_n", "inputs", o.inputs, "blobs or NdArrays")
  local sum = args.tensor("math.add_n", "inputs[1]", list[1])
  if #list == 1 then return op.identity(sum, { name = o.name }) end
  for i = 2, #list do
    sum = op.add(sum, list[i], { name = i == #list and o.name or nil })
  end
  return sum
end)

define("math.polyval", "The polynomial of x whose coefficients are given, the one of the "
  .. "highest power first (Horner's scheme).", {
    { "coeffs", "a list of numbers or tensors", type = "(number|Tensor)[]" }, X,
  }, function(o, who)
    local list = need_list(who, "coeffs", o.coeffs, "numbers")
    local y = op.multiply(op.zeros_like(o.x), 1)
    y = op.add(y, list[1], { name = #list == 1 and o.name or nil })
    for i = 2, #list do
      y = op.add(op.multiply(y, o.x), list[i], { name = i == #list and o.name or nil })
    end
    return y
  end)

-- ---- random numbers ----

local function uniform(shape) return (op.random_uniform { shape = shape }) end

define("random.bernoulli", "1 with the probabilities that x holds, else 0.", {
  X, { "dtype", "of the result; that of x", args.none },
}, function(o)
  local drawn = op.less(uniform(o.x.shape), op.cast(o.x, { dtype = "float32" }))
  return op.cast(drawn, { dtype = o.dtype or o.x.dtype, name = o.name })
end)

-- Numbers of the rows of a tensor in random order.
local function rows_of(who, value)
  local n = value.shape[1]
  if not n then core.fail("%s: value must have one axis or more, got shape ()", who) end
  return (op.random_permutation { n = n })
end

define("random.shuffle", "value with its rows, which axis 0 counts, in random order.", {
  { "value", "a blob or NdArray", type = TENSOR },
}, function(o, who)
  return op.gather(o.value, rows_of(who, o.value), { name = o.name })
end)

define("random.generate_random_batch_permutation_indices", "The numbers of the rows of value, "
  .. "int32, in random order.", {
    { "value", "a blob or NdArray", type = TENSOR },
  }, function(o, who)
    local rows = rows_of(who, o.value)
    return o.name and op.identity(rows, { name = o.name }) or rows
  end)

define("nn.random_mask_like", "int8 in the shape of like: 0 with probability rate, else 1.", {
  { "like", "a blob or NdArray", type = TENSOR },
  { "rate", "probability of 0, from 0 to below 1", type = "number",
    range = "a number from 0 to below 1" },
}, function(o)
  return op.greater_equal(uniform(o.like.shape), o.rate, { name = o.name })
end)

return functions
