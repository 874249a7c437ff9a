-- flow.get_variable: variables of a job, shared with other jobs by their names.
---@box assign get_variable
local apart = require "jfl.job.apart"
local args = require "jfl.base.args"
local averages = require "jfl.optim.averages"
local call = require "jfl.op.call"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local regularizers = require "jfl.optim.regularizers"
local trace = require "jfl.job.trace"

local assign, cast, multiply, reshape = core.op "assign", core.op "cast", core.op "multiply",
  core.op "reshape"

local variable = {
  --- The variables of all jobs compiled so far: { dtype, shape (text), job (its name) } by name.
  shared = {},
  --- The names of variables that models keep as they are, and that optimizers may change.
  frozen = {}, trainable = {},
  --- Variables stored in few bits, by name: { dtype, array or nil: what it begins with }. Of
  -- int8 also { input: the dtype that products round what they read beside to, scale, input_scale:
  -- arrays or nil, what the variables NAME_scale and NAME_input_DTYPE begin with }.
  stored = {},
}

--- Notes a part of a model: the name of a variable that its body makes or, under its namespace,
-- another model that it calls. Parts stay in the order in which they came.
function variable.note(model, name, part)
  local at = model._has[name] or #model._parts + 1
  model._has[name], model._parts[at] = at, part or name
end

-- Notes a variable that is not as the session has it.
local function compare(context, v)
  local there, shape = variable.shared[v.name], args.shape_text(v.shape)
  if not there or (there.dtype == v.dtype and there.shape == shape) then return end
  local misfits = context.misfits or {}
  context.misfits = misfits
  misfits.where = misfits.where or core.where()
  misfits.names = (misfits.names and misfits.names .. ", " or "") .. ("%q"):format(v.name)
  misfits[#misfits + 1] = ("variable '%s' must be %s %s as job '%s' made it, got %s %s"):format(
    v.name, there.dtype, there.shape, there.job, v.dtype, shape)
end

--- Fails if variables of a body that has ended are not as the session has them, and names all.
function variable.check(context)
  local misfits = context.misfits
  if not misfits then return end
  error(("%s%s: %s; jobs share variables by their names: give what differs another name, drop what "
    .. "there is with flow.drop_variables{%s}, or everything with flow.clear_default_session()")
    :format(misfits.where, context.job.name, table.concat(misfits, "; "), misfits.names), 0)
end

--- Gives the variables that a job has made the values that they begin with, where their
-- initializers do not say them: those that no job had before.
function variable.fill(context)
  local names = {}
  for name in pairs(context.values or {}) do
    if not variable.shared[name] then names[#names + 1] = name end
  end
  table.sort(names)              -- processes of one world set them together
  for _, name in ipairs(names) do core.variable_set(name, context.values[name]()) end
end

--- Notes a job's variables, to check jobs that are traced later against them.
function variable.share(context)
  for name, blob in pairs(context.variables) do
    variable.shared[name] = variable.shared[name]
      or { dtype = blob.dtype, shape = args.shape_text(blob.shape), job = context.job.name }
  end
end

-- Makes v what flow.quantization.quantize made of the variable.
local function as_stored(v)
  local stored = variable.stored[v.name]
  if not stored then return v end
  v.dtype, v.trainable, v.regularizer = stored.dtype, false, nil
  v.initializer = initializers.zeros_initializer()
  if stored.array then v.values = function() return stored.array end end
  return v
end

local create

--- The shape in which a scale for each channel is multiplied with a weight of this shape.
function variable.channels(shape)
  local list = { shape[1] }
  for i = 2, #shape do list[i] = 1 end
  return list
end

--- Walks over what a graph's products read beside `factor`. What was rounded meanwhile is walked as
-- it is then.
function variable.product_inputs(graph, factor)
  local i = -1
  return function()
    i = i + 1
    return core.product_input(graph, factor, i)
  end
end

-- The numbers that a variable of int8 stands for, a blob of float32; a variable of another dtype as
-- it is. The job notes what products of these numbers round to.
local function numbers_of(who, context, v, blob)
  local stored = variable.stored[v.name]
  if not stored or not stored.input then return blob end
  local dequantized = context.dequantized or {}
  context.dequantized = dequantized
  if dequantized[v.name] then return dequantized[v.name].factor end
  local function scale(name, shape, array)
    return create(who, context, { name = v.name .. name, shape = shape, dtype = "float32",
      trainable = false, initializer = initializers.ones_initializer(),
      values = array and function() return array end })
  end
  local own = reshape(scale("_scale", { v.shape[1] }, stored.scale),
    { shape = variable.channels(v.shape) })
  local factor = multiply(cast(blob, { dtype = "float32" }), own)
  dequantized[v.name] = { factor = factor, dtype = stored.input,
    scale = scale("_input_" .. stored.input, { 1 }, stored.input_scale) }
  return factor
end

--- Has a predict job's products with variables of int8 read integers beside them.
function variable.round_inputs(context)
  if context.mode ~= "predict" then return end
  for _, each in pairs(context.dequantized or {}) do
    for x in variable.product_inputs(context.graph, each.factor) do
      core.round_blob(context.graph, x, each.scale, each.dtype)
    end
  end
end

-- Creates a variable. v: its full name, shape, dtype, initializer, regularizer, trainable,
-- data_format, distribute, distribute_name; values: what gives an array to begin with; apart: it is
-- no part of the model whose body makes it.
function create(who, context, v)
  as_stored(v)
  if core.blocks[v.dtype] then v.initializer = v.initializer or initializers.zeros_initializer() end
  args.check(v.initializer ~= nil, "%s: '%s': initializer is missing: give one such as "
    .. "flow.truncated_normal(0.1), or set the job's default_initializer_conf", who, v.name)
  if not initializers.is(v.initializer) then
    core.fail("%s: '%s': initializer must be one such as flow.truncated_normal(0.1), got %s%s",
      who, v.name, args.describe(v.initializer),
      type(v.initializer) == "function" and "; call it: its result is the initializer" or "")
  end
  compare(context, v)
  local init, a, b = v.initializer.resolve(v.shape, v.data_format)
  local l1, l2 = regularizers.factors(who, v.regularizer_name or "regularizer", v.regularizer)
  local blob = apart.on_all(context, core.variable, context.graph, { name = v.name,
    dtype = v.dtype, shape = v.shape, init = init, a = a, b = b, l1 = l1, l2 = l2,
    trainable = v.trainable and not variable.frozen[v.name] })
  context.variables[v.name] = blob
  if v.values then
    context.values = context.values or {}
    context.values[v.name] = v.values
  end
  variable.trainable[v.name] = v.trainable or nil
  if context.owner and not v.apart then variable.note(context.owner, v.name) end
  if v.distribute then
    local distribute = require "jfl.net.distribute"
    local name = v.distribute_name or "distribute"
    distribute.lay(who, name, distribute.check(who, name, v.distribute, #v.shape), blob)
  end
  local is_float = v.dtype == "float32" or v.dtype == "float64"
  if v.trainable and is_float and not variable.frozen[v.name] then
    context.trainable[#context.trainable + 1] = { name = v.name, blob = blob }
  end
  return numbers_of(who, context, v, blob)
end

-- The job's variable of that name, asked for once more.
local function again(who, context, v)
  as_stored(v)
  local there = context.variables[v.name]
  if args.shape_text(there.shape) == args.shape_text(v.shape) and there.dtype == v.dtype then
    return numbers_of(who, context, v, there)
  end
  core.fail("%s: '%s' is %s %s in this job, asked for as %s %s", who, v.name, there.dtype,
    args.shape_text(there.shape), v.dtype, args.shape_text(v.shape))
end

--- A layer's variable: `<layer>-<part>`. It must be new unless v.reuse allows that it is not.
function variable.of_layer(who, context, v)
  local averaged
  v.name, averaged = averages.name_of(context, v.name, v.trainable)
  if averaged then v.trainable = false end
  if not context.variables[v.name] then return create(who, context, v) end
  if v.reuse or context.reuses then return again(who, context, v) end
  core.fail("%s: '%s' exists in this job already; another name makes another layer, and "
    .. "{ reuse = true } takes the variables of the one that has the name", who, v.name)
end

--- A variable of the job that is being traced. The same name gives the same variable, in this job
-- and in others.
variable.get_variable = args.define("get_variable", "A variable of the job.", {
  { "name", "its name, which other jobs share it by" },
  { "shape", "its extents; may be left out where the variable exists", args.none,
    type = "integer[]" },
  { "dtype", "of its elements; the job's default_data_type", args.none },
  { "initializer", "such as flow.truncated_normal(0.1); the job's default_initializer_conf",
    args.none, type = "Initializer" },
  { "regularizer", "such as flow.regularizers.l2(0.01)", args.none, type = "Regularizer" },
  { "trainable", "whether optimizers change it", true, type = "boolean" },
  { "distribute", "how it is kept on several devices, such as flow.distribute.split(0); each has "
    .. "all of it unless said", args.none, type = "Distribution" },
  { "reuse", "whether the name may exist in this job", true, type = "boolean" },
  returns = "Blob",
}, function(o, who)
  local context = trace.need(who)
  args.name(who, "name", o.name)
  local name, averaged = averages.name_of(context, context.prefix .. o.name, o.trainable)
  local existing = context.variables[name]
  if existing and not o.reuse then
    core.fail("%s: '%s' exists in this job already and reuse is false", who, name)
  end
  if o.shape == nil then
    if existing then return existing end
    core.fail("%s: '%s': shape is missing, and no such variable exists in this job", who, name)
  end
  args.shape(who, "shape", o.shape)
  local dtype = args.stored_dtype(who, "dtype",
    o.dtype or context.config.default_data_type or "float32")
  if not existing then
    return create(who, context, { name = name, shape = o.shape, dtype = dtype,
      initializer = o.initializer or context.config.default_initializer_conf,
      regularizer = o.regularizer, trainable = o.trainable and not averaged,
      distribute = o.distribute })
  end
  regularizers.factors(who, "regularizer", o.regularizer)
  local there = again(who, context, { name = name, shape = o.shape, dtype = dtype })
  return o.distribute and there:with_distribute(o.distribute) or there
end)

local copy, broadcast_to, constant = call.op.identity, call.op.broadcast_to, call.op.constant

-- The job's variable that a blob is, or nil.
local function is_variable(context, blob)
  for _, v in pairs(context.variables) do
    if rawequal(v, blob) then return true end
  end
end

-- What is assigned to a variable: a blob of its dtype and shape, of memory of its own.
local function assigned(ref, value)
  if type(value) == "number" then
    return constant(value, { dtype = ref.dtype, shape = ref.shape })
  end
  if core.type(value) == "array" then value = call.op.array { value = value } end
  args.must(core.type(value) == "blob", value,
    "assign: value must be a blob, an NdArray or a number")
  args.check(value.dtype == ref.dtype, "assign: value must be %s like variable '%s', got %s; "
    .. "flow.cast converts", ref.dtype, ref.name, value.dtype)
  if #value.shape == 1 and value.shape[1] == 1 then
    value = broadcast_to(value, { shape = ref.shape })
  end
  return copy(value)
end

--- Has change(value, context) change a variable at the end of each call: once for all devices, by
-- the mean of their values where each has its own.
function variable.change(context, who, ref, value, change)
  apart.together(context, who .. " of " .. ref.name, value, function(values, all)
    change(apart.mean(values), all)
  end)
end

--- Gives a variable a new value at the end of every call of the job. All reads in the body see the
-- value from before the call; of several assignments to one variable the last counts.
variable.assign = args.define("assign", "Gives a variable another value at the end of each call, "
  .. "after the updates of optimizers; everything in the body reads the one from before.", {
    { "ref", "a variable of the job", type = "Blob" },
    { "value", "of its dtype and shape, or a number", type = "Tensor|number" },
    returns = "Blob",
  }, function(o)
    local context = trace.need("assign")
    args.must(is_variable(context, o.ref), o.ref,
      "assign: ref must be what flow.get_variable gave in this job")
    local value = assigned(o.ref, o.value)
    variable.change(context, "assign", o.ref, value, function(mean, all)
      assign(o.ref, mean)
      all.assigns = true
    end)
    return value
  end)

return variable
