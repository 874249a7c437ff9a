-- Checks the table that defines a job and reads it into the job's fields.
local args = require "jfl.base.args"
local config = require "jfl.job.config"
local core = require "jfl.core"
local extents = require "jfl.job.extents"
local inputs = require "jfl.job.inputs"
local original = require "jfl.base.original"
local typing = require "jfl.job.typing"

local FIELDS = { name = true, type = true, function_config = true, inputs = true, returns = true,
  body = true }

local function check_definition(t)
  if config.snapshot(t) then
    core.fail("global_function: the configuration must be followed by a table with name, inputs "
      .. "and body, got a configuration alone")
  end
  args.must(type(t) == "table", t,
    "global_function: argument 1 must be a table with name, inputs and body")
  args.known("global_function", t, FIELDS, "field")
  args.must(type(t.name) == "string" and t.name ~= "", t.name,
    "global_function: name must be a string")
  args.name("global_function", "name", t.name)
  args.expect(t.name, "body", t.body, "function")
end

local function read_mode(t)
  if t.type == nil then return "predict" end
  return args.one_of(t.name, "type", t.type, { "train", "predict" })
end

local function read_config(name, value)
  if value == nil then return {} end
  local options = config.snapshot(value)
  if options then return options end
  core.fail("%s: function_config must be what flow.function_config() gives, got %s", name,
    args.describe(value))
end

-- The type of the results, whether calls are asynchronous and, if they give something other than a
-- registrar, its class. Where inputs are in a short form they are arrays unless said.
local function read_returns(t, short)
  if t.returns == nil and short then return typing.any, false end
  if t.returns == nil then return typing.any, true, original.ask "future" end
  args.must(typing.is_type(t.returns), t.returns,
    "%s: returns must be a type such as flow.typing.Numpy or, for several results, "
      .. "flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy), and for those with names "
      .. "flow.typing.Dict(flow.typing.Numpy)", t.name)
  if t.returns.kind == "Callback" then return t.returns.part, true end
  return t.returns, false
end

--- The fields of a job from the arguments of global_function.
return function(...)
  local given = ...
  local t = original.ask("definition", ...) or given
  check_definition(t)
  local options = read_config(t.name, t.function_config)
  local list, short = inputs.read(t.name, t.inputs, (inputs.parameters(t.body)))
  local returns, is_async, class = read_returns(t, short)
  extents.check_names(t.name, list)
  local dynamic = false
  for _, input in ipairs(list) do
    dynamic = dynamic or input.type.varies or input.type.kind ~= "Numpy"
  end
  return {
    name = t.name, type = read_mode(t), config = options, _async = is_async, _body = t.body,
    _dynamic = dynamic and true, _gives = class or false, _inputs = list, _returns = returns,
    _untyped = t.returns == nil or t.returns == typing.any,
  }
end
