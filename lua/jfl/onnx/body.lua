-- A model of an ONNX file as a function of blobs, to be called in bodies.
local args = require "jfl.base.args"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local model = require "jfl.onnx.model"
local run = require "jfl.onnx.run"
local trace = require "jfl.job.trace"
local values = require "jfl.onnx.values"
local variable = require "jfl.net.variable"

-- ---- variables ----

-- The variable of the body that a tensor of the file is, which begins with the file's numbers.
local function variable_of(context, name, t, trainable)
  local full = context.prefix .. (t.own or name)
  return context.variables[full] or variable.of_layer("onnx.load", context, { name = full,
    shape = t.shape, dtype = t.dtype, initializer = initializers.zeros_initializer(),
    trainable = trainable, values = t.read, reuse = true })
end

-- ---- calls ----

local function by_name(m, given)
  local list, known = {}, {}
  for i, input in ipairs(m.graph.inputs) do
    list[i], known[input.name] = given[input.name], true
    if list[i] == nil and not m.constants[input.name] then
      core.fail("%s: input '%s' is missing; inputs are %s", m.path, input.name,
        args.names_of(known))
    end
  end
  for name in pairs(given) do
    if not known[name] then
      core.fail("%s: the model has no input '%s'; inputs are %s", m.path, tostring(name),
        args.names_of(known))
    end
  end
  return list
end

local function in_order(m, n, ...)
  local list, at = {}, 0
  for i, input in ipairs(m.graph.inputs) do
    if not m.constants[input.name] then
      at = at + 1
      list[i] = (select(at, ...))
    end
  end
  if n == at then return list end
  core.fail("%s: the model must have %d inputs (%s), got %d", m.path, at,
    table.concat(m.parameters, ", "), n)
end

-- Fails where an input is not of the dtype or the extents that the file says.
local function check_input(m, input, x)
  local kind = core.type(x)
  args.must(kind == "blob" or kind == "array", x, "%s: input '%s' must be a blob", m.path,
    input.name)
  local s, fits = x.shape, x.dtype == input.dtype or not input.dtype
  if input.shape then
    fits = fits and #s == #input.shape
    for i, extent in ipairs(input.shape) do
      fits = fits and (type(extent) ~= "number" or extent == s[i])
    end
  end
  if fits then return values.with_type(x, input.onnx_type) end
  core.fail("%s: input '%s' must be %s, got %s %s", m.path, input.name, model.type_text(input),
    x.dtype, args.shape_text(s))
end

-- What the functions of ops see of this call.
local function state_of(m, o, context)
  local trains = context.mode == "train"
  return { path = m.path, variables = m.variables, tensors = m.graph.initializers, known = 0,
    variable = function(name, t)
      return variable_of(context, name, t, m.trainable[t] or false)
    end,
    prepare = function(facade, node)
      facade.updates = trains and o.update_statistics and m.has_statistics[node]
      facade.dropout, facade.loop_steps = trains, o.loop_steps
    end }
end

--- The body of a model: inputs in order, or by name in one table, which gives results by name.
-- o.update_statistics: whether train jobs normalize batches by their own statistics; o.loop_steps:
-- how many steps loops have at most whose count is known in each call alone, or nil.
return function(m, o)
  return function(...)
    local first = ...
    local named = select("#", ...) == 1 and args.is_options(first)
    local given = named and by_name(m, first) or in_order(m, select("#", ...), ...)
    for i, input in ipairs(m.graph.inputs) do
      given[i] = m.constants[input.name] or check_input(m, input, given[i])
    end
    local results = run.describe(state_of(m, o, trace.current), m.graph, given)
    local by = {}
    for i, output in ipairs(m.graph.outputs) do
      results[i] = run.as_blob(results[i])
      by[output.name] = results[i]
    end
    if named then return by end
    return unpack(results)
  end
end
