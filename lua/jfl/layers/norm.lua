-- flow.layers: normalizations with their variables.
---@box layers.batch_normalization layers.batch_normalization_add_relu
---@box layers.batch_normalization_relu layers.group_norm layers.instance_norm layers.layer_norm
---@box layers.layer_norm_grad layers.layer_norm_param_grad layers.prelu layers.rms_norm
local args = require "jfl.base.args"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local norms = require "jfl.op.norms"
local variable = require "jfl.net.variable"

local batch_norm, moving_average = core.op "batch_norm", core.op "moving_average"
local constant, relu, where = core.op "constant", core.op "relu", core.op "where"
local greater, reshape, reduce_sum = core.op "greater", core.op "reshape", core.op "reduce_sum"
local row_norm_grad = core.op "row_norm_grad"

local ones = initializers.ones_initializer()

local norm = {}

local function initializer(name, default)
  return { name .. "_initializer", "of " .. name .. "; " .. default, args.none,
    type = "Initializer" }
end

local function regularizer(name)
  return { name .. "_regularizer", "of " .. name .. ", such as flow.regularizers.l2(0.01)",
    args.none, type = "Regularizer" }
end

-- A variable of the layer, gamma or beta; nil where the layer does without it.
local function param_of(layer, part, shape, default)
  local o = layer.options
  if not o[part == "gamma" and "scale" or "center"] then return nil end
  return layer:variable(part, part, default, { shape = shape })
end

-- The layer that a call describes.
local function layer_of(who, o, kind)
  local layer = common.layer(who, kind, o)
  local first = o.scale and "-gamma" or o.center and "-beta"
  layer:begin(first and layer.name .. first)
  return layer
end

-- ---- batch normalization ----

local function statistic(layer, part, channels, default)
  return layer:variable(part, part, default, { shape = { channels }, trainable = false })
end

local BATCH = {
  inputs = { "inputs", "a blob; its statistics are over all axes but one", type = "Blob" },
  addend = { "addend", "a blob like inputs that is added before relu", args.none, type = "Blob" },
  { "axis", "of channels; 1 for (N, C, H, W)", -1, type = "integer" },
  { "momentum", "the share of the moving statistics that a step keeps", 0.99, type = "number" },
  { "epsilon", "added to the variance", 0.001, type = "number" },
  { "center", "whether beta is added", true },
  { "scale", "whether gamma multiplies", true },
  initializer("beta", "zeros"), initializer("gamma", "ones"),
  regularizer "beta", regularizer "gamma",
  initializer("moving_mean", "zeros"), initializer("moving_variance", "ones"),
  { "trainable", "whether optimizers change beta and gamma, and steps the statistics", true },
  { "training", "false: the moving statistics are used in train jobs too", true },
  { "name", "of the layer; batch_norm_1, batch_norm_2, ... in call order", args.none },
  common.params.reuse,
  returns = "Blob",
}

-- Options of batch normalization after `first`, the arguments that a function has before them.
local function batch_params(...)
  local params = { ... }
  for _, param in ipairs(BATCH) do params[#params + 1] = param end
  params.returns = BATCH.returns
  return params
end

-- Has each call move a statistic towards that of its batch.
local function keep_average(context, ref, value, momentum)
  variable.change(context, "moving average", ref, value, function(mean)
    moving_average(ref, mean, { momentum = momentum })
  end)
end

-- Batch statistics count only where the job trains, the layer is trained and not frozen, and
-- training is true.
local function batch_normalize(who, o, addend, with_relu)
  local layer = layer_of(who, o, "batch_norm")
  local x, context = layer.x, layer.context
  args.fits(#x.shape >= 2, x.shape, "%s: inputs must have two or more axes, got shape", who)
  local axis = norms.axis(who, "axis", o.axis, #x.shape)
  local channels = x.shape[axis + 1]
  local gamma = param_of(layer, "gamma", { channels }, ones)
  local beta = param_of(layer, "beta", { channels }, common.zeros)
  local mean = statistic(layer, "moving_mean", channels, common.zeros)
  local variance = statistic(layer, "moving_variance", channels, ones)
  local frozen = variable.frozen[layer.name .. "-moving_mean"]
  if context.mode == "train" and o.trainable and o.training and not frozen then
    local options = { axis = axis, epsilon = o.epsilon, add = addend ~= nil, relu = with_relu,
      name = layer:op "" }
    local function line(value)
      return (constant(value, { dtype = x.dtype, shape = { channels } }))
    end
    local y, batch_mean, batch_variance = batch_norm(x, gamma or line(1), beta or line(0),
      unpack { addend and { addend } or options, addend and options })
    keep_average(context, mean, batch_mean, o.momentum)
    keep_average(context, variance, batch_variance, o.momentum)
    return y
  end
  local y = norms.fixed(who, x, { mean = mean, variance = variance, beta = beta, gamma = gamma,
    epsilon = o.epsilon, axis = axis, name = layer:op_within "" })
  if addend then y = y + addend end
  return with_relu and relu(y, { name = layer:op "-relu" }) or y
end

--- y = gamma (x - mean) / sqrt(variance + epsilon) + beta.
norm.batch_normalization = args.define("layers.batch_normalization", "Normalizes each channel by "
  .. "its mean and variance in the batch, and keeps moving averages of these, which predict jobs "
  .. "use.", batch_params(BATCH.inputs), function(o)
    return batch_normalize("layers.batch_normalization", o)
  end)

--- Batch norm, then relu.
norm.batch_normalization_relu = args.define("layers.batch_normalization_relu",
  "layers.batch_normalization, then nn.relu.", batch_params(BATCH.inputs), function(o)
    return batch_normalize("layers.batch_normalization_relu", o, nil, true)
  end)

--- Batch norm plus the addend, then relu.
norm.batch_normalization_add_relu = args.define("layers.batch_normalization_add_relu",
  "layers.batch_normalization, plus addend, then nn.relu.",
  batch_params(BATCH.inputs, BATCH.addend), function(o, who)
    if o.addend ~= nil then args.blob(who, "addend", o.addend) end
    return batch_normalize(who, o, o.addend, true)
  end)

-- ---- rows and groups ----

local SCALE = { "scale", "whether gamma multiplies", true }
local CENTER = { "center", "whether beta is added", true }
local TRAINABLE = { "trainable", "whether optimizers change the variables", true }

local function name_of(kind)
  return { "name", ("of the layer; %s_1, %s_2, ... in call order"):format(kind, kind), args.none }
end

--- y = gamma (x - mean) / sqrt(variance + epsilon) + beta over rows.
norm.layer_norm = args.define("layers.layer_norm", "Normalizes each row, which is all axes from "
  .. "begin_norm_axis on, by its mean and variance; then gamma multiplies and beta is added.", {
    { "inputs", "a blob of two or more axes", type = "Blob" },
    CENTER, SCALE, TRAINABLE,
    { "begin_norm_axis", "the first axis of a row; -1 for the last axis alone", 1,
      type = "integer" },
    { "begin_params_axis", "the first axis of gamma and beta", -1, type = "integer" },
    { "epsilon", "added to the variance", 1e-5, type = "number" },
    name_of "layer_norm",
    initializer("beta", "zeros"), initializer("gamma", "ones"),
    regularizer "beta", regularizer "gamma",
    common.params.reuse,
    returns = "Blob",
  }, function(o, who)
    local layer = layer_of(who, o, "layer_norm")
    local shape = layer.x.shape
    local axis = norms.axis(who, "begin_norm_axis", o.begin_norm_axis, #shape)
    local first = norms.axis(who, "begin_params_axis", o.begin_params_axis, #shape)
    local extents = { unpack(shape, first + 1) }
    return norms.rows(layer.x, { axis = axis, epsilon = o.epsilon,
      name = layer:op_within "",
      gamma = param_of(layer, "gamma", extents, ones),
      beta = param_of(layer, "beta", extents, common.zeros) })
  end)

--- y = gamma x / sqrt(mean of x^2 + epsilon) over rows.
norm.rms_norm = args.define("layers.rms_norm", "Divides each row, which is all axes from "
  .. "begin_norm_axis on, by the root of the mean of its squares; then gamma multiplies.", {
    { "inputs", "a blob", type = "Blob" },
    { "begin_norm_axis", "the first axis of a row and of gamma", -1, type = "integer" },
    { "epsilon", "added to the mean of the squares", 1e-6, type = "number" },
    SCALE, TRAINABLE,
    name_of "rms_norm",
    initializer("gamma", "ones"), regularizer "gamma",
    common.params.reuse,
    returns = "Blob",
  }, function(o, who)
    local layer = layer_of(who, o, "rms_norm")
    local axis = norms.axis(who, "begin_norm_axis", o.begin_norm_axis, #layer.x.shape)
    return norms.rows(layer.x, { axis = axis, epsilon = o.epsilon, center = false,
      name = layer:op_within "",
      gamma = param_of(layer, "gamma", { unpack(layer.x.shape, axis + 1) }, ones) })
  end)

-- Normalizes groups of the channels; gamma and beta have a number for each channel.
local function group_normalize(who, o, kind, groups)
  local layer = layer_of(who, o, kind)
  local shape = layer.x.shape
  args.fits(#shape >= 2, shape, "%s: inputs must have two or more axes, got shape", who)
  groups = groups or shape[2]
  args.check(shape[2] % groups == 0, "%s: num_groups must divide the %d channels, got %d", who,
    shape[2], groups)
  return norms.rows(layer.x, { axis = 1, groups = groups, epsilon = o.epsilon,
    name = layer:op_within "",
    gamma = param_of(layer, "gamma", { shape[2] }, ones),
    beta = param_of(layer, "beta", { shape[2] }, common.zeros) })
end

local EPSILON = { "epsilon", "added to the variance", 1e-5, type = "number" }

--- Group normalization.
norm.group_norm = args.define("layers.group_norm", "Normalizes groups of channels of each sample "
  .. "by their mean and variance; gamma and beta have a number for each channel.", {
    { "inputs", "a blob (N, C, ...)", type = "Blob" },
    { "num_groups", "how many groups the channels make", 32, type = "integer", least = 1 },
    EPSILON, CENTER, SCALE, TRAINABLE,
    name_of "group_norm",
    initializer("beta", "zeros"), initializer("gamma", "ones"),
    regularizer "beta", regularizer "gamma",
    common.params.reuse,
    returns = "Blob",
  }, function(o, who)
    return group_normalize(who, o, "group_norm", o.num_groups)
  end)

--- Instance normalization.
norm.instance_norm = args.define("layers.instance_norm", "Normalizes each channel of each sample "
  .. "by its mean and variance; gamma and beta have a number for each channel.", {
    { "inputs", "a blob (N, C, ...)", type = "Blob" },
    EPSILON, CENTER, SCALE, TRAINABLE,
    name_of "instance_norm",
    initializer("beta", "zeros"), initializer("gamma", "ones"),
    regularizer "beta", regularizer "gamma",
    common.params.reuse,
    returns = "Blob",
  }, function(o) return group_normalize("layers.instance_norm", o, "instance_norm") end)

-- ---- the gradients of layer_norm by themselves ----

local TENSOR = "Tensor"

--- The gradient of layer_norm for its inputs, without gamma and beta.
norm.layer_norm_grad = args.define("layers.layer_norm_grad", "The gradient of layer normalization "
  .. "without gamma and beta for x.", {
    { "dy", "the gradient of what was normalized", type = TENSOR },
    { "x", "what was normalized", type = TENSOR },
    { "mean", "of each row", type = TENSOR },
    { "inv_variance", "1 / sqrt(variance + epsilon) of each row", type = TENSOR },
    { "begin_norm_axis", "the first axis of a row", 1, type = "integer" },
    { "name", "of the op", args.none },
    returns = TENSOR,
  }, function(o, who)
    local axis = norms.axis(who, "begin_norm_axis", o.begin_norm_axis, #o.x.shape)
    return (row_norm_grad(o.dy, o.x, reshape(o.mean, { -1 }), reshape(o.inv_variance, { -1 }),
      { axis = axis, name = o.name }))
  end)

--- The gradients of gamma and beta, and that of what they multiply and are added to.
norm.layer_norm_param_grad = args.define("layers.layer_norm_param_grad", "The gradient of what was "
  .. "normalized, of beta and of gamma, for y = gamma norm + beta.", {
    { "dy", "the gradient of y", type = TENSOR },
    { "norm", "what was normalized", type = TENSOR },
    { "gamma", "like the last axes of norm", type = TENSOR },
    { "begin_params_axis", "the first axis of gamma and beta", -1, type = "integer" },
    { "name", "of the op that gives the first of them", args.none },
    returns = { TENSOR, TENSOR, TENSOR },
  }, function(o, who)
    local before = {}
    local axis = norms.axis(who, "begin_params_axis", o.begin_params_axis, #o.norm.shape)
    for i = 1, axis do before[i] = i - 1 end
    local function total(x) return axis == 0 and x or (reduce_sum(x, { axis = before })) end
    local multiply = core.op "multiply"
    return multiply(o.dy, o.gamma, { name = o.name }), total(o.dy),
      total((multiply(o.dy, o.norm)))
  end)

-- ---- prelu ----

--- y = x where x is above 0, else alpha x.
norm.prelu = args.define("layers.prelu", "x where it is above 0, else alpha x, where alpha is a "
  .. "variable.", {
    { "inputs", "a blob of two or more axes", type = "Blob" },
    { "alpha_initializer", "of alpha; zeros", args.none, type = "Initializer" },
    { "alpha_regularizer", "of alpha, such as flow.regularizers.l2(0.01)", args.none,
      type = "Regularizer" },
    { "shared_axes", "axes along which one alpha serves, as { 2, 3 } for (N, C, H, W)", args.none,
      type = "integer|integer[]" },
    TRAINABLE,
    name_of "prelu",
    common.params.reuse,
    returns = "Blob",
  }, function(o, who)
    local layer = common.layer(who, "prelu", o)
    local x = layer.x
    args.fits(#x.shape >= 2, x.shape, "%s: inputs must have two or more axes, got shape", who)
    local extents = { unpack(x.shape, 2) }
    for _, axis in ipairs(type(o.shared_axes) == "table" and o.shared_axes or { o.shared_axes }) do
      axis = norms.axis(who, "shared_axes", axis, #x.shape)
      if axis == 0 then core.fail("%s: shared_axes must not name axis 0: alpha has none", who) end
      extents[axis] = 1
    end
    layer:begin(layer.name .. "-alpha")
    local alpha = layer:variable("alpha", "alpha", common.zeros, { shape = extents })
    return (where(greater(x, 0), x, alpha * x, { name = layer:op "" }))
  end)

return norm
