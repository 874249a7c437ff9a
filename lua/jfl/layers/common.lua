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

local Layer = {}
Layer.__index = Layer

--- The layer of a kind that a call describes by its options: with the job's context, its inputs x,
-- which are floats unless need_inputs checks them, and its full name.
function common.layer(who, kind, options, need_inputs)
  local context = trace.need(who)
  local x = (need_inputs or common.need_floats)(who, "inputs", options.inputs)
  return setmetatable({ who = who, options = options, context = context, x = x,
    name = trace.name(context, options.name, kind) }, Layer)
end

--- Notes whether the job has the layer already, whose first variable has that name. Without
-- variables nothing tells whether it is there.
function Layer:begin(first)
  local context = self.context
  self.is_again = (self.options.reuse or context.reuses)
    and (not first or context.variables[first] ~= nil)
end

--- The name of one of its ops. Where the layer is called once more, the core numbers them.
function Layer:op(suffix) return not self.is_again and self.name .. suffix or nil end

--- That name as the functions of flow take it, which put the prefix of the namespaces before it.
function Layer:op_within(suffix)
  local name = self:op(suffix)
  return name and name:sub(#self.context.prefix + 1)
end

--- Its activation of x.
function Layer:activate(x)
  local activation = self.options.activation
  if activation == nil then return x end
  args.must(args.is_callable(activation), activation,
    "%s: activation must be a function such as flow.nn.relu", self.who)
  return activation(x, { name = self:op_within "-activation" })
end

--- One of its variables, read as it lies: <layer>-<part>. `of` begins the names of the options for
-- its initializer, which is `default` unless given, and its regularizer. v: shape, and what else
-- variable.of_layer is to be told.
function Layer:variable(part, of, default, v)
  local o = self.options
  v.name, v.dtype, v.reuse = v.name or self.name .. "-" .. part, v.dtype or self.x.dtype, o.reuse
  if v.trainable == nil then v.trainable = o.trainable end
  v.initializer = o[of .. "_initializer"] or default
  v.regularizer_name = v.regularizer_name or of .. "_regularizer"
  v.regularizer = o[v.regularizer_name]
  v.distribute, v.distribute_name = o.model_distribute, "model_distribute"
  local blob = variable.of_layer(self.who, self.context, v)
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

--- x plus its bias of so many units; name: that of the variable, unless it is <layer>-bias;
-- data_format is given where channels are last.
function Layer:add_bias(x, units, name, data_format)
  if not self.options.use_bias then return x end
  local bias = self:variable("bias", "bias", common.zeros, { name = name, shape = { units } })
  return bias_add(x, bias, { data_format = data_format, name = self:op "-bias_add" })
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

return common
