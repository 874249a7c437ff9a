-- What layers have in common: options, names of their ops, activations, biases.
local args = require "jfl.base.args"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local trace = require "jfl.job.trace"
local variable = require "jfl.net.variable"

local bias_add = core.op "bias_add"

local common = {
  glorot = initializers.glorot_uniform_initializer(),
  zeros = initializers.zeros_initializer(),
}

--- The value of an argument that must be a blob of floats, of whose dtype variables are made.
function common.need_floats(who, name, value)
  if args.blob(who, name, value).dtype:match("float") then return value end
  core.fail("%s: %s must be floats, got %s; flow.cast converts", who, name, value.dtype)
end

--- A name as the functions of flow take it, which put the prefix of the namespaces before it; or
-- nil.
function common.within(name) return name and name:sub(#trace.current.prefix + 1) end

--- The layer's activation of x; name gives the names of the layer's ops.
function common.activate(who, activation, x, name)
  if activation == nil then return x end
  args.must(args.is_callable(activation), activation,
    "%s: activation must be a function such as flow.nn.relu", who)
  return activation(x, { name = common.within(name("-activation")) })
end

--- Names the ops of a layer. Where it is called once more, the core numbers them.
function common.namer(name, is_again)
  return function(suffix) return not is_again and name .. suffix or nil end
end

--- A layer's variable, made by variable.of_layer and read as it lies.
function common.variable(who, context, v)
  local blob = variable.of_layer(who, context, v)
  return v.distribute and blob:with_distribute(v.distribute) or blob
end

--- Fails unless the layer's model_distribute serves its weight, of which the first axis alone can
-- be split: the extent of the result.
function common.check_model_distribute(who, d)
  if d == nil then return end
  require("jfl.net.distribute").check(who, "model_distribute", d, math.huge)
  if d.kind ~= "split" or d.axis == 0 then return end
  core.fail("%s: model_distribute must be auto(), broadcast() or split(0), got %s", who,
    tostring(d))
end

--- x plus the layer's bias, a variable v.name of v.units elements, by an op named v.op;
-- v.data_format is given where channels are last.
function common.add_bias(who, context, o, x, v)
  if not o.use_bias then return x end
  local bias = common.variable(who, context, { name = v.name, shape = { v.units },
    dtype = x.dtype, initializer = o.bias_initializer or common.zeros, trainable = o.trainable,
    regularizer = o.bias_regularizer, regularizer_name = "bias_regularizer", reuse = o.reuse,
    distribute = o.model_distribute, distribute_name = "model_distribute" })
  return bias_add(x, bias, { data_format = v.data_format, name = v.op })
end

--- Parameters that layers share.
common.params = {
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
  model_distribute = { "model_distribute", "flow.distribute.split(0) gives each of several devices "
    .. "a part of the weight and bias, and so of the result", args.none, type = "Distribution" },
  reuse = { "reuse", "whether a layer of the name in this job lends its variables", false },
}

--- Whether the job has the layer already, whose weight has that name.
function common.is_again(context, o, weight)
  return (o.reuse or context.reuses) and context.variables[weight] ~= nil
end

return common
