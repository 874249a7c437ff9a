-- Checks the table that defines a job and reads it into the job's fields.
--[==[ guide 2: Job functions
A job function is defined by a table: `name`, `type` (`"predict"`, the default, or `"train"`),
`inputs`, `returns`, `function_config`, `body`. Definition checks the table. The body runs later,
when the job is first needed: at its first call, at `job:compile()`, or when a checkpoint is
initialized, saved or loaded. It gets *blobs*, which have a shape and a dtype and no data, and
describes the graph; errors of shapes and dtypes are raised there, at the line that made them. Then
the graph is compiled, once, and calls only run the plan.

```lua
local train = flow.global_function {
  name = "train",
  type = "train",
  inputs = {
    { "x", tp.Numpy.Placeholder({ 4, 2 }) },
    { "y", tp.Numpy.Placeholder({ 4, 1 }) },
  },
  returns = tp.Numpy,
  body = function(x, y)
    local guess = flow.layers.dense(x, 1, { name = "line" })
    local loss = flow.math.squared_difference(guess, y)
    flow.optimizer.SGD(0.2, { momentum = 0 }):minimize(loss)
    return loss
  end,
}

local x, y = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } }, { { 1 }, { 3 }, { 2 }, { 4 } }
for _ = 1, 500 do train(x, y) end
print(("%.3f"):format(train(x, y):mean()))       --> 0.000
```

A train job calls `minimize`, once or for several optimizers; its calls give values from **before**
the update. Jobs share variables by name: an evaluation job with a layer named `line` uses what
`train` has learnt, and sees its updates in the order of calls.

A first extent of -1 stands for any batch size. The job is traced once for each size it meets and
keeps the plans, as many as `flow.config.max_plans()`:

```lua
local any = flow.global_function {
  name = "any",
  inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) } },
  returns = tp.Numpy,
  body = function(x) return flow.math.reduce_sum(x, 1) end,
}
print(any({ { 1, 2 } }), any({ { 1, 2 }, { 3, 4 } }))    --> [3.]	[3. 7.]
```

A job that is defined again under its name, by a script that is run once more or a body that was
corrected, takes the new definition: whoever holds the job calls the new one from then on. Calls
made before end as they began, with their callbacks. Variables, the state of optimizers, rates that
were set and the count of runs stay, so training goes on as if nothing had happened; another
optimizer begins with a state of its own. Where the job has run, the new body is tried at once: if
it fails, or wants a variable in another shape or dtype, the definition is an error, which lists all
such variables, and the job goes on as it was. `flow.drop_variables("hidden")` drops those of a
layer, with the state that optimizers keep for them. Variables that no job uses any longer are kept
and saved.

```lua
local function define(factor)
  return flow.global_function {
    name = "scale",
    inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
    returns = tp.Numpy,
    body = function(x) return x * factor end,
  }
end
local scale = define(2)
define(3)
print(scale({ 1, 2 }))                           --> [3. 6.]
```

An argument is an NdArray or a (nested) table of numbers, copied when the call is made. A cast that
loses nothing is made, any other is an error. `job:graph()` shows what the body describes,
`job:graph("optimized")` what the passes made of that, and `job:plan()` the steps that run, with the
bytes they take; `tostring(job)`, `job.name` and `job.type` tell which it is.
]==]
local args = require "jfl.base.args"
local config = require "jfl.job.config"
local core = require "jfl.core"
local future = require "jfl.legacy.future"
local names = require "jfl.base.names"
local older = require "jfl.legacy.definition"
local typing = require "jfl.job.typing"

local FIELDS = { name = true, type = true, function_config = true, inputs = true, returns = true,
  body = true }

local function read_inputs(name, inputs)
  if inputs == nil then return {} end
  local first = next(args.expect(name, "inputs", inputs, "table"))
  if #inputs == 0 and type(first) == "string" then
    core.fail("%s: inputs must be a list such as { { \"%s\", placeholder } }, as inputs have an "
      .. "order, got a table with the name '%s'", name, first, first)
  end
  local list, seen = {}, {}
  for i, pair in ipairs(inputs) do
    local label = type(pair) == "table" and pair[1]
    if type(label) ~= "string" or label == "" then
      core.fail("%s: inputs: entry %d must be { \"name\", placeholder }, got %s", name, i,
        args.describe(pair))
    end
    args.name(name, ("inputs: the name of entry %d"):format(i), label)
    if seen[label] then core.fail("%s: inputs: '%s' is there twice", name, label) end
    if not typing.is_placeholder(pair[2]) then
      core.fail("%s: inputs: '%s' must be a placeholder such as "
        .. "flow.typing.Numpy.Placeholder({100, 10}), got %s", name, label, args.describe(pair[2]))
    end
    seen[label] = true
    list[i] = { name = label, type = pair[2] }
  end
  for key in pairs(inputs) do
    if not list[key] then
      core.fail("%s: inputs must be a list of { \"name\", placeholder } without holes, got an "
        .. "entry under %s after %d of them", name, args.describe(key), #list)
    end
  end
  return list
end

local function check_definition(t)
  if config.snapshot(t) then
    core.fail("global_function: the configuration must be followed by a table with name, inputs "
      .. "and body, got a configuration alone")
  end
  if type(t) ~= "table" then
    core.fail("global_function: argument 1 must be a table with name, inputs and body, got %s",
      args.describe(t))
  end
  for field in pairs(t) do
    if not FIELDS[field] then
      core.fail("global_function: unknown field '%s'; fields are name, type, function_config, "
        .. "inputs, returns, body%s", tostring(field), names.suggest(tostring(field), FIELDS))
    end
  end
  if type(t.name) ~= "string" or t.name == "" then
    core.fail("global_function: name must be a string, got %s", args.describe(t.name))
  end
  args.name("global_function", "name", t.name)
  args.expect(t.name, "body", t.body, "function")
end

local function read_mode(t)
  if t.type == nil or t.type == "predict" then return "predict" end
  if t.type == "train" then return "train" end
  core.fail("%s: type must be \"train\" or \"predict\", got %s", t.name, args.describe(t.type))
end

local function read_config(name, value)
  if value == nil then return {} end
  local options = config.snapshot(value)
  if options then return options end
  core.fail("%s: function_config must be what flow.function_config() gives, got %s", name,
    args.describe(value))
end

-- The type of the results, whether calls are asynchronous and, if they give something other than a
-- registrar, its class.
local function read_returns(t)
  if t.returns == nil then return typing.any, true, future end
  if not typing.is_type(t.returns) then
    core.fail("%s: returns must be a type such as flow.typing.Numpy or, for several results, "
      .. "flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy), and for those with names "
      .. "flow.typing.Dict(flow.typing.Numpy), got %s", t.name, args.describe(t.returns))
  end
  if t.returns.kind == "Callback" then return t.returns.part, true end
  return t.returns, false
end

--- The fields of a job from the arguments of global_function.
return function(...)
  local t = older(...)
  check_definition(t)
  local options = read_config(t.name, t.function_config)
  local returns, is_async, class = read_returns(t)
  local inputs, dynamic = read_inputs(t.name, t.inputs), false
  for _, input in ipairs(inputs) do
    dynamic = dynamic or input.type.any or input.type.kind ~= "Numpy"
  end
  return {
    name = t.name, type = read_mode(t), config = options, _async = is_async, _body = t.body,
    _dynamic = dynamic, _gives = class or false, _inputs = inputs, _returns = returns,
    _untyped = t.returns == nil,
  }
end
