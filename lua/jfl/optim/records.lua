-- Functions of the API from the records of the core: their parameters, and reading what is given.
local args = require "jfl.base.args"

local records = {}

-- How the language of annotations says the types of the core, where it says them otherwise.
local ANNOTATED = { numbers = "number[]", integers = "integer[]" }

local function default_of(param)
  if param.default == nil then return nil end
  if param.default == "none" then return args.none end
  if param.type == "boolean" then return param.default == "true" end
  return tonumber(param.default) or param.default
end

--- A parameter as args.define takes it.
function records.param(param)
  return { param.name, param.doc, default_of(param), type = ANNOTATED[param.type] or param.type }
end

-- One number stands for a list of it.
local function read_list(who, name, list)
  local copy = {}
  if type(list) == "number" then return { list } end
  for i, value in ipairs(args.expect(who, name, list, "table")) do
    copy[i] = args.expect(who, name, value, "number")
  end
  return copy
end

local function read_value(who, param, value)
  local name, kind = param.name, param.type
  if kind == "numbers" then return read_list(who, name, value) end
  if kind == "integer" then return args.integer(who, name, value, 0) end
  return args.expect(who, name, value, kind)
end

--- The options that a record's parameters get from the values that a call gave.
function records.read(who, params, values)
  local options = {}
  for _, param in ipairs(params) do
    local value = values[param.name]
    if value ~= nil then options[param.name] = read_value(who, param, value) end
  end
  return options
end

local function text_of(value)
  if type(value) ~= "table" then return tostring(value) end
  return "{" .. table.concat(value, ", ") .. "}"
end

--- Options as a call gives them: "momentum=0.9".
function records.text(params, options)
  local parts = {}
  for i, param in ipairs(params) do
    parts[i] = param.name .. "=" .. text_of(options[param.name])
  end
  return table.concat(parts, ", ")
end

return records
