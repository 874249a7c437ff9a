-- Reads calls in the API's convention: positional arguments, then one options table.
local core = require "jfl.core"

local args = {}

--- The default of a parameter that may be left out.
args.none = setmetatable({}, { __tostring = function() return "none" end })

--- What define() made, by path, for flow.help and the manual: { path, doc, params, fn }.
args.defined = {}

--- A value as error messages name it: "number 3", "blob 'x'", "a table".
function args.describe(value)
  local kind = core.type(value)
  if kind == "blob" then return ("blob '%s'"):format(value.name) end
  if kind == "array" then return ("an NdArray %s"):format(args.shape_text(value.shape)) end
  if kind then return "a " .. kind end
  kind = type(value)
  if kind == "number" or kind == "boolean" then return kind .. " " .. tostring(value) end
  if kind == "string" then return ("string '%s'"):format(value) end
  if kind == "nil" then return "nil" end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.__tostring then return tostring(value) end
  if kind == "table" and next(value) == nil then return "an empty table" end
  return "a " .. kind
end

--- (2, 3) of { 2, 3 }.
function args.shape_text(shape)
  return "(" .. table.concat(shape, ", ") .. ")"
end

--- Fails unless value has one of the Lua types named in `kinds` ("number or string").
function args.expect(who, name, value, kinds)
  local kind = type(value)
  for word in kinds:gmatch("[%a]+") do
    if word == kind then return value end
  end
  core.fail("%s: %s: expected a %s, got %s", who, name, kinds, args.describe(value))
end

--- Fails unless value is a whole number of at least `least`.
function args.integer(who, name, value, least)
  if type(value) == "number" and value % 1 == 0 and value >= least then return value end
  core.fail("%s: %s: expected a whole number of at least %d, got %s", who, name, least,
    args.describe(value))
end

--- Fails unless shape is a list of extents of at least 1; `first` may be allowed to be -1.
function args.shape(who, name, shape, any_first)
  if type(shape) ~= "table" or #shape == 0 then
    core.fail("%s: %s: expected a list of extents such as {100, 10}, got %s", who, name,
      args.describe(shape))
  end
  for i, extent in ipairs(shape) do
    local free = any_first and i == 1 and extent == -1
    if not free and (type(extent) ~= "number" or extent % 1 ~= 0 or extent < 1) then
      core.fail("%s: %s: dimension %d: expected a whole number of at least 1%s, got %s", who, name,
        i, any_first and i == 1 and " or -1" or "", args.describe(extent))
    end
  end
  return shape
end

--- Fails unless value names a dtype; gives its one spelling.
function args.dtype(who, name, value)
  if value == "float" then return "float32" end
  if value == "double" then return "float64" end
  if type(value) == "string" and core.dtypes[value] then return value end
  local names = {}
  for dtype in pairs(core.dtypes) do names[#names + 1] = dtype end
  table.sort(names)
  core.fail("%s: %s: expected one of %s, got %s", who, name, table.concat(names, ", "),
    args.describe(value))
end

--- Whether t is an options table: string keys, not an object.
function args.is_options(t)
  return type(t) == "table" and getmetatable(t) == nil and type(next(t)) == "string"
end

--- The keys of a table in their order, for messages: "a, b".
function args.names_of(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

local function names_of(params)
  local names = {}
  for i, param in ipairs(params) do names[i] = param[1] end
  return table.concat(names, ", ")
end

local function take_options(f, values, options)
  for name, value in pairs(options) do
    if not f.index[name] then
      core.fail("%s: unknown option '%s'; options are %s", f.path, tostring(name),
        names_of(f.params))
    end
    if values[name] ~= nil then
      core.fail("%s: '%s' is given twice: as argument %d and as an option", f.path, name,
        f.index[name])
    end
    values[name] = value
  end
end

local function take_defaults(f, values)
  for i, param in ipairs(f.params) do
    local name, default = param[1], param[3]
    if values[name] == nil and default == nil then
      core.fail("%s: argument %d '%s' is missing", f.path, i, name)
    end
    if values[name] == nil and default ~= args.none then values[name] = default end
  end
end

local function read(f, n, ...)
  local given, values = { ... }, {}
  local last = given[n]
  local empty = n > #f.params and type(last) == "table" and next(last) == nil
  local options = (empty or args.is_options(last)) and last or nil
  local count = options and n - 1 or n
  if count > #f.params then
    core.fail("%s: expected at most %d arguments (%s), got %d", f.path, #f.params,
      names_of(f.params), count)
  end
  for i = 1, count do values[f.params[i][1]] = given[i] end
  if options then take_options(f, values, options) end
  take_defaults(f, values)
  return values
end

--- Makes a function of the API. params: { name, doc, default } each, in positional order; without a
-- default it must be given, with args.none it may be nil. body gets one table of values by name.
-- For the manual a parameter may have a field `type`, and params one `returns`, or a list of them,
-- in the language of LuaLS's annotations.
function args.define(path, doc, params, body)
  local f = { path = path, doc = doc, params = params, index = {} }
  for i, param in ipairs(params) do f.index[param[1]] = i end
  args.defined[path] = f
  f.fn = function(...) return body(read(f, select("#", ...), ...)) end
  return f.fn
end

return args
