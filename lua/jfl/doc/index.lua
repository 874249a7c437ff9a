-- Lists every name under flow and of its objects, with the text that the manual has on it.
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local manual = require "jfl.doc.manual"
local names = require "jfl.base.names"

local index = {}

-- Functions in the tables of flow that only other modules call.
local internal = {
  ["optimizer.close"] = true, ["optimizer.need_losses"] = true,
  ["regularizers.factors"] = true, ["typing.any"] = true, ["typing.arrays_of"] = true,
  ["typing.is_placeholder"] = true, ["typing.is_type"] = true, ["typing.match"] = true,
  ["typing.paths"] = true, ["typing.structure"] = true,
}

--- Whether a path is that of an object's method or field, such as Job:compile.
function index.of_object(path) return path:find("^%u%w*[.:]") ~= nil end

--- A path as a script writes it.
function index.written(path) return index.of_object(path) and path or "flow." .. path end

--- A value as a script writes it: what help and the reference show as a default.
function index.lua_text(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) == "function" then return "a function" end
  if type(value) ~= "table" or metatable(value) then return tostring(value) end
  local list, named = {}, {}
  for i, each in ipairs(value) do list[i] = index.lua_text(each) end
  for key, each in pairs(value) do
    local in_list = type(key) == "number" and list[key] ~= nil
    if not in_list then
      local is_name = type(key) == "string" and key:find("^[%a_][%w_]*$")
      named[#named + 1] = (is_name and key or ("[%s]"):format(index.lua_text(key))) .. " = "
        .. index.lua_text(each)
    end
  end
  table.sort(named)
  for _, text in ipairs(named) do list[#list + 1] = text end
  return #list == 0 and "{}" or "{ " .. table.concat(list, ", ") .. " }"
end

-- Collects the names in t and in the tables within it. Of an object, such as typing.Numpy, only
-- functions count as names.
local function walk(found, t, prefix)
  local meta = metatable(t) or {}
  local is_object = meta.__tostring ~= nil and t ~= names.root()
  local listed = meta.__names
  local function visit(name)
    local path, value = prefix .. name, t[name]
    if name:sub(1, 1) == "_" or internal[path] or is_object and type(value) ~= "function" then
      return
    end
    found[path] = value
    if type(value) == "table" then walk(found, value, path .. ".") end
  end
  for name in next, t do visit(name) end
  for name in pairs(type(listed) == "function" and listed() or listed or {}) do
    if rawget(t, name) == nil then visit(name) end
  end
end

local function value_at(path)
  local at = names.root()
  for name in path:gmatch("[^.]+") do
    local ok, value = pcall(function() return at[name] end)
    if not ok or value == nil then return nil end
    at = value
  end
  return at
end

local function collect()
  local found, spaces, flow = {}, {}, names.root()
  for name in pairs(package.preload) do        -- functions are known when their module is loaded
    if name:find("^jfl%.") then require(name) end
  end
  assert(flow.nn, "the ops come with it")
  walk(found, flow, "")
  for _, source in ipairs { manual, args.defined } do
    for path in pairs(source) do
      local known = found[path] ~= nil or index.of_object(path) or path:find(":", 1, true)
      if not known then found[path] = value_at(path) end
    end
  end
  for path, value in pairs(found) do
    if type(value) == "table" and not (metatable(value) or {}).__tostring then
      spaces[path], found[path] = value, nil
    end
  end
  return found, spaces
end

local collecting = false

--- The values of all names under flow by path, such as "nn.relu", and its tables of names by path,
-- such as "nn". While it collects them, a missing name may ask for this list again to suggest
-- others; that call gets nothing.
function index.values()
  if collecting then return {}, {} end
  collecting = true
  local ok, found, spaces = pcall(collect)
  collecting = false
  if not ok then error(found, 0) end
  return found, spaces
end

local function ops_by_path()
  local ops = {}
  for name, info in pairs(core.ops()) do
    for path in (info.path or ""):gmatch("%S+") do
      ops[path] = { path = path, doc = info.doc, op = info, op_name = name }
    end
  end
  return ops
end

-- Adds the methods of NdArrays: functions under flow.ndarray whose first argument is the array.
local function add_array_methods(entries)
  for name in pairs(require("jfl.nd.class").methods) do
    local of = args.defined["ndarray." .. name] or manual["ndarray." .. name]
    local path = "NdArray:" .. name
    if of and not manual[path] then
      entries[path] = { path = path, doc = of.doc, params = { returns = of.params.returns,
        unpack(of.params, 2) }, fn = of.fn }
    end
  end
end

--- The description of each name, by path: { path, doc, params } of functions, { path, doc, type }
-- of values, { path, doc, op } of ops, with same_as where it is another name; false where there is
-- none.
function index.entries()
  local values, ops = index.values(), ops_by_path()
  local entries, by_value = {}, {}
  for path, value in pairs(values) do
    local e = args.defined[path] or manual[path] or ops[path]
    entries[path] = e or false
    if e and type(value) == "function" then by_value[value] = e end
  end
  for _, e in pairs(args.defined) do by_value[e.fn] = e end
  for path, value in pairs(values) do
    local of = by_value[value]
    if not entries[path] and of then
      entries[path] = setmetatable({ same_as = of.path, path = path }, { __index = of })
    end
  end
  for _, source in ipairs { args.defined, manual } do
    for path, e in pairs(source) do
      local above = path:match("^(.*):")
      if index.of_object(path) or above and entries[above] then entries[path] = e end
    end
  end
  add_array_methods(entries)
  return entries
end

--- A set of the paths under flow that are described: "nn.relu".
function index.paths()
  local paths = {}
  for path, e in pairs(index.entries()) do
    if e and not index.of_object(path) then paths[path] = true end
  end
  return paths
end

return index
