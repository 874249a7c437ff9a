-- flow.layers: ops together with their variables.
--[==[ guide 7: Layers and optimizers
Layers make their variables: `flow.layers.dense(x, units, options)` has `NAME-weight` of shape
(units, inputs) and `NAME-bias`, `flow.layers.conv2d(x, filters, kernel_size, options)` likewise.
Without a name they are numbered in the order of calls in each job (`dense_1`, `dense_2`), so a
train job and an evaluation job that build the same network share its variables. A name stands for
one layer of a job; with `reuse = true` it may stand for one that the job has, whose variables then
serve twice, as in a network that compares two inputs.

```lua
local function network(x)
  x = flow.layers.conv2d(x, 4, 3, { padding = "SAME", activation = flow.nn.relu, name = "conv" })
  x = flow.nn.max_pool2d(x, { ksize = 2, strides = 2 })
  x = flow.reshape(x, { x.shape[1], -1 })
  x = flow.layers.dense(x, 16, { activation = flow.nn.relu })
  return flow.layers.dense(flow.nn.dropout(x, 0.5), 10)
end

local train = flow.global_function {
  name = "train",
  type = "train",
  inputs = {
    { "images", tp.Numpy.Placeholder({ 8, 1, 12, 12 }) },
    { "labels", tp.Numpy.Placeholder({ 8 }, flow.int32) },
  },
  returns = tp.Numpy,
  body = function(images, labels)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network(images))
    local rate = flow.optimizer.PiecewiseConstantScheduler({ 100 }, { 0.1, 0.01 },
      { warmup = flow.optimizer.warmup.linear(10, 0.1) })
    flow.optimizer.SGD(rate, { momentum = 0.9,
      grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }):minimize(loss)
    return loss
  end,
}

local classify = flow.global_function {
  name = "classify",
  inputs = { { "images", tp.Numpy.Placeholder({ 8, 1, 12, 12 }) } },
  returns = tp.Numpy,
  body = function(images) return flow.math.argmax(network(images), 1) end,
}

flow.random.seed(1)
local images, labels = flow.ndarray.rand({ 8, 1, 12, 12 }), flow.ndarray.arange(8)
print(#train(images, labels:astype(flow.int32)), classify(images).dtype)   --> 8	int32
```

A loss is given unreduced, one number a sample; gradients are divided by how many there are.
`minimize` takes a list of losses too, and `variables = { "conv-weight", ... }`, or a function that
says of a name whether it is trained, trains only some. A body may call `minimize` for several
optimizers, each for variables of its own, with its own schedule, clipping and losses: a variable of
two is an error. Each gets the gradients of its own losses, and all of these are taken before any
variable changes.

```lua
local head                                       -- an optimizer that the script keeps
local both = flow.global_function {
  name = "both",
  type = "train",
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) } },
  returns = tp.Numpy,
  body = function(x)
    local features = flow.layers.dense(x, 5, { activation = flow.nn.relu, name = "body" })
    local y = flow.layers.dense(features, 1, { name = "head",
      kernel_regularizer = flow.regularizers.l2(0.001) })
    local function of_body(name) return name:find("^body") ~= nil end
    flow.optimizer.Adam(0.001, { variables = of_body }):minimize(y)
    head = flow.optimizer.SGD(0.1, { variables = { "head-weight", "head-bias" } })
    head:minimize(y)
    return y
  end,
}
both(flow.ndarray.ones({ 4, 3 }))
head:set_lr(head.lr / 2)                         -- between calls; nothing is compiled anew
print(head.lr)                                   --> 0.05
```

A rate that `set_lr` has set rules over the schedule until `set_lr(nil)`; checkpoints keep it.
Dropout drops in train jobs only; `training = true` or `false` overrides that. A rate is a number or
a scheduler. Gradients can be taken of whatever has one; `flow.help` says so of those that have
none.

Initializers are `flow.truncated_normal(stddev)`, `flow.constant_initializer(value)`,
`flow.glorot_uniform_initializer()` (what weights get if nothing is said), and more:
`flow.help("initializer")` suggests them.
]==]
local args = require "jfl.base.args"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local trace = require "jfl.job.trace"
local variable = require "jfl.net.variable"

local layers = {}

local bias_add, conv2d, matmul, reshape =
  core.op("bias_add"), core.op("conv2d"), core.op("matmul"), core.op("reshape")

local glorot, zeros = initializers.glorot_uniform_initializer(), initializers.zeros_initializer()

local function need_blob(who, name, value)
  if core.type(value) == "blob" then return value end
  core.fail("%s: %s must be a blob, got %s", who, name, args.describe(value))
end

local function activate(who, activation, x, name)
  if activation == nil then return x end
  local kind = type(activation)
  if kind ~= "function" and kind ~= "table" then
    core.fail("%s: activation must be a function such as flow.nn.relu, got %s", who,
      args.describe(activation))
  end
  return activation(x, { name = name("-activation") })
end

-- Names the ops of a layer. Where it is called once more, the core numbers them.
local function namer(name, is_again)
  return function(suffix) return not is_again and name .. suffix or nil end
end

local function add_bias(who, context, o, x, v)
  if not o.use_bias then return x end
  local bias = variable.of_layer(who, context, { name = v.name, shape = { v.units },
    dtype = x.dtype, initializer = o.bias_initializer or zeros, trainable = o.trainable,
    regularizer = o.bias_regularizer, regularizer_name = "bias_regularizer", reuse = o.reuse })
  return bias_add(x, bias, { name = v.op })
end

-- Reshapes (a, b, c) to (a * b, c); returns that, the last extent, and a function that reshapes (a
-- * b, units) to (a, b, units).
local function flatten(x, name)
  local shape = x.shape
  local n = #shape
  if n == 2 then return x, shape[2], function(y) return y end end
  local flat = reshape(x, { -1, shape[n] }, { name = name("-reshape") })
  return flat, shape[n], function(y)
    shape[n] = y.shape[2]
    return reshape(y, shape, { name = name("-reshape_back") })
  end
end

local COMMON = {
  activation = { "activation", "a function such as flow.nn.relu", args.none,
    type = "fun(x: Blob, options?: table): Blob" },
  use_bias = { "use_bias", "whether a bias is added", true },
  kernel_initializer = { "kernel_initializer", "of the weight; glorot_uniform", args.none,
    type = "Initializer" },
  bias_initializer = { "bias_initializer", "of the bias; zeros", args.none, type = "Initializer" },
  kernel_regularizer = { "kernel_regularizer", "of the weight, such as flow.regularizers.l2(0.01)",
    args.none, type = "Regularizer" },
  bias_regularizer = { "bias_regularizer", "of the bias", args.none, type = "Regularizer" },
  trainable = { "trainable", "whether optimizers change the variables", true },
  reuse = { "reuse", "whether a layer of the name in this job lends its variables", false },
}

-- Whether the job has the layer already, whose weight has that name.
local function is_again(who, context, o, weight)
  args.expect(who, "reuse", o.reuse, "boolean")
  return o.reuse and context.variables[weight] ~= nil
end

--- y = activation(x W^T + b) over the last axis of x.
layers.dense = args.define("layers.dense", "A fully connected layer over the last axis.", {
  { "inputs", "a blob of two or more axes", type = "Blob" },
  { "units", "extent of the result's last axis", type = "integer" },
  COMMON.activation, COMMON.use_bias, COMMON.kernel_initializer, COMMON.bias_initializer,
  COMMON.kernel_regularizer, COMMON.bias_regularizer, COMMON.trainable,
  { "name", "of the layer; dense_1, dense_2, ... in call order", args.none },
  COMMON.reuse,
  returns = "Blob",
}, function(o)
  local who = "layers.dense"
  local context = trace.need(who)
  local x = need_blob(who, "inputs", o.inputs)
  local units = args.integer(who, "units", o.units, 1)
  if #x.shape < 2 then
    core.fail("%s: inputs must have two or more axes, got shape %s", who, args.shape_text(x.shape))
  end
  local name = trace.name(context, o.name, "dense")
  local op = namer(name, is_again(who, context, o, name .. "-weight"))
  local flat, extent, restore = flatten(x, op)
  local weight = variable.of_layer(who, context, { name = name .. "-weight", dtype = x.dtype,
    shape = { units, extent }, initializer = o.kernel_initializer or glorot,
    regularizer = o.kernel_regularizer, regularizer_name = "kernel_regularizer",
    trainable = o.trainable, reuse = o.reuse })
  local y = matmul(flat, weight, { transpose_b = true, name = op("-matmul") })
  y = add_bias(who, context, o, y, { name = name .. "-bias", units = units, op = op("-bias_add") })
  return restore(activate(who, o.activation, y, op))
end)

-- The two extents of a kernel, which is given as one number or two.
local function kernel_extents(who, size)
  local list = type(size) == "table" and size or { size, size }
  if #list == 1 then list = { list[1], list[1] } end
  if #list ~= 2 then
    core.fail("%s: kernel_size must be a number or a list of two, got a list of %d", who, #list)
  end
  for i = 1, 2 do args.integer(who, "kernel_size", list[i], 1) end
  return list
end

local function weight_shape(who, o, x)
  local shape, channels_last = x.shape, o.data_format == "NHWC"
  local filters = args.integer(who, "filters", o.filters, 1)
  local groups = args.integer(who, "groups", o.groups, 1)
  if #shape ~= 4 then
    core.fail("%s: inputs must have four axes (%s), got shape %s", who, tostring(o.data_format),
      args.shape_text(shape))
  end
  local channels = channels_last and shape[4] or shape[2]
  if filters % groups ~= 0 or channels % groups ~= 0 then
    core.fail("%s: groups must divide %d filters and %d input channels, got %d", who, filters,
      channels, groups)
  end
  local kernel = kernel_extents(who, o.kernel_size)
  if channels_last then return { filters, kernel[1], kernel[2], channels / groups } end
  return { filters, channels / groups, kernel[1], kernel[2] }
end

--- y = activation(conv2d(x, W) + b).
layers.conv2d = args.define("layers.conv2d", "A two-dimensional convolution with its filters.", {
  { "inputs", "a blob (N, C, H, W)", type = "Blob" },
  { "filters", "number of output channels", type = "integer" },
  { "kernel_size", "a number or { height, width }", 1, type = "integer|integer[]" },
  { "strides", "a number or { vertical, horizontal }", 1, type = "integer|integer[]" },
  { "padding", "SAME, SAME_LOWER, SAME_UPPER, VALID, or cells per side", "VALID",
    type = "string|integer|integer[]|integer[][]" },
  { "data_format", "NCHW", "NCHW" },
  { "dilation_rate", "a number or { vertical, horizontal }", args.none,
    type = "integer|integer[]" },
  { "groups", "number of independent groups of channels", 1, type = "integer" },
  COMMON.activation, COMMON.use_bias, COMMON.kernel_initializer, COMMON.bias_initializer,
  COMMON.kernel_regularizer, COMMON.bias_regularizer, COMMON.trainable,
  { "name", "of the layer; conv2d_1, conv2d_2, ... in call order", args.none },
  { "weight_name", "the weight's name instead of <name>-weight", args.none, type = "string" },
  { "bias_name", "the bias's name instead of <name>-bias", args.none, type = "string" },
  COMMON.reuse,
  returns = "Blob",
}, function(o)
  local who = "layers.conv2d"
  local context = trace.need(who)
  local x = need_blob(who, "inputs", o.inputs)
  local name = trace.name(context, o.name, "conv2d")
  local weight_name = o.weight_name or name .. "-weight"
  local op = namer(name, is_again(who, context, o, weight_name))
  local weight = variable.of_layer(who, context, { name = weight_name, reuse = o.reuse,
    dtype = x.dtype, shape = weight_shape(who, o, x), data_format = o.data_format,
    initializer = o.kernel_initializer or glorot, trainable = o.trainable,
    regularizer = o.kernel_regularizer, regularizer_name = "kernel_regularizer" })
  -- Without a name the core numbers the op, since ops outside of layers may have taken some names.
  local y = conv2d(x, weight, { strides = o.strides, padding = o.padding, groups = o.groups,
    data_format = o.data_format, dilations = o.dilation_rate,
    name = (o.name or context.prefix ~= "") and op("") or nil })
  y = add_bias(who, context, o, y, { name = o.bias_name or name .. "-bias", units = o.filters,
    op = op("-bias_add") })
  return activate(who, o.activation, y, op)
end)

return layers
