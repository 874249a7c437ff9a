-- Checks the table that defines a job and reads it into the job's fields.
local args = require "jfl.base.args"
local config = require "jfl.job.config"
local core = require "jfl.core"
local names = require "jfl.base.names"
local original = require "jfl.base.original"
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
  if t.returns == nil then return typing.any, true, original.ask "future" end
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
  local t = original.ask("definition", ...) or (...)
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
