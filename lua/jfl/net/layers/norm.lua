-- flow.layers: normalizations with their variables.
local args = require "jfl.base.args"
local common = require "jfl.net.layers.common"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local norms = require "jfl.net.norms"
local trace = require "jfl.job.trace"
local variable = require "jfl.net.variable"

local batch_norm, moving_average = core.op "batch_norm", core.op "moving_average"
local constant, relu = core.op "constant", core.op "relu"

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

-- A variable of the layer, or a constant where the layer does without it: one number for each of
-- n channels, or a shape.
local function line(layer, part, shape, default)
  local o = layer.options
  local is_used = o[part == "gamma" and "scale" or "center"]
  local value = default == ones and 1 or 0
  if not is_used then return (constant(value, { dtype = layer.x.dtype, shape = shape })) end
  return variable.of_layer(layer.who, layer.context, { name = layer.name .. "-" .. part,
    shape = shape, dtype = layer.x.dtype, initializer = o[part .. "_initializer"] or default,
    regularizer = o[part .. "_regularizer"], regularizer_name = part .. "_regularizer",
    trainable = o.trainable, reuse = o.reuse })
end

-- The layer that a call describes: its context, inputs and name.
local function layer_of(who, o, kind, parts)
  local context = trace.need(who)
  local x = common.need_blob(who, "inputs", o.inputs)
  for _, name in ipairs(parts) do args.expect(who, name, o[name], "boolean") end
  local name = trace.name(context, o.name, kind)
  local first = name .. (o.scale == false and "-beta" or "-gamma")
  return { who = who, context = context, x = x, name = name, options = o,
    op = common.namer(name, common.is_again(who, context, o, first)) }
end

-- ---- batch normalization ----

local function statistic(layer, part, channels, default)
  return variable.of_layer(layer.who, layer.context, { name = layer.name .. "-" .. part,
    shape = { channels }, dtype = layer.x.dtype, trainable = false, reuse = layer.options.reuse,
    initializer = layer.options[part .. "_initializer"] or default })
end

local function axis_of(who, axis, rank)
  args.integer(who, "axis", axis, -rank)
  if axis >= rank then
    core.fail("%s: axis must be from %d to %d, got %d; axes count from 0", who, -rank, rank - 1,
      axis)
  end
  return axis < 0 and axis + rank or axis
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

-- Batch statistics count only where the job trains, the layer is trained and training is true.
local function batch_normalize(who, o, addend, with_relu)
  local layer = layer_of(who, o, "batch_norm", { "center", "scale", "trainable", "training" })
  local x, context = layer.x, layer.context
  if #x.shape < 2 then
    core.fail("%s: inputs must have two or more axes, got shape %s", who, args.shape_text(x.shape))
  end
  local axis = axis_of(who, o.axis, #x.shape)
  local channels = x.shape[axis + 1]
  local gamma = line(layer, "gamma", { channels }, ones)
  local beta = line(layer, "beta", { channels }, common.zeros)
  local mean = statistic(layer, "moving_mean", channels, common.zeros)
  local variance = statistic(layer, "moving_variance", channels, ones)
  if context.mode == "train" and o.trainable and o.training then
    local options = { axis = axis, epsilon = o.epsilon, add = addend ~= nil, relu = with_relu,
      name = layer.op "" }
    local y, batch_mean, batch_variance = batch_norm(x, gamma, beta,
      unpack { addend and { addend } or options, addend and options })
    moving_average(mean, batch_mean, { momentum = o.momentum })
    moving_average(variance, batch_variance, { momentum = o.momentum })
    return y
  end
  local y = norms.batch_normalization(x, mean, variance, beta, gamma, o.epsilon, axis)
  if addend then y = y + addend end
  return with_relu and relu(y, { name = layer.op "-relu" }) or y
end

--- y = gamma (x - mean) / sqrt(variance + epsilon) + beta.
norm.batch_normalization = args.define("layers.batch_normalization", "Normalizes each channel by "
  .. "its mean and variance in the batch, and keeps moving averages of these, which predict jobs "
  .. "use.", batch_params(BATCH.inputs), function(o)
    return batch_normalize("layers.batch_normalization", o)
  end)

--- The same, then relu.
norm.batch_normalization_relu = args.define("layers.batch_normalization_relu",
  "layers.batch_normalization, then nn.relu.", batch_params(BATCH.inputs), function(o)
    return batch_normalize("layers.batch_normalization_relu", o, nil, true)
  end)

--- The same, plus the addend, then relu.
norm.batch_normalization_add_relu = args.define("layers.batch_normalization_add_relu",
  "layers.batch_normalization, plus addend, then nn.relu.",
  batch_params(BATCH.inputs, BATCH.addend), function(o)
    local who = "layers.batch_normalization_add_relu"
    if o.addend ~= nil then common.need_blob(who, "addend", o.addend) end
    return batch_normalize(who, o, o.addend, true)
  end)

return norm
