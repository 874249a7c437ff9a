-- Where each name under flow is defined. The files of the front end say what they give, in lines
-- that scripts/collect.sh reads when jfl is built. A module is loaded when one of its names is
-- used.
local collected = require "jfl.collected"

local registry = {}

-- Calls fn(name, where, safe) for each entry of a text of scripts/collect.sh; `where` is "module"
-- or "module:field".
local function each(text, fn)
  local module
  for word in (text or ""):gmatch("%S+") do
    local at = word:match("^@(.*)$")
    if at then
      module = "jfl." .. at
    else
      local name, safe, field = word:match("^([^+=]+)(%+?)=?(.*)$")
      fn(name, field == "" and module or module .. ":" .. field, safe == "+")
    end
  end
end

local function read(text)
  local entries = {}
  each(text, function(name, where) entries[name] = where end)
  return entries
end

local function key_of(space) return space == "" and "flow" or "flow." .. space end
local function path_of(space, name) return space == "" and name or space .. "." .. name end

local tables, names = nil, {}

--- The tables of names that modules give, such as data: where each is.
function registry.tables()
  tables = tables or read(collected.tables)
  return tables
end

--- The names that files give of the namespace at a path, "" being flow's own: where each is.
function registry.names(space)
  names[space] = names[space] or read(collected[key_of(space)])
  return names[space]
end

--- The paths of all namespaces that have names which files give.
function registry.spaces()
  local list = {}
  for key in pairs(collected) do list[#list + 1] = key:match("^flow%.?(.*)$") end
  return list
end

--- Calls fn for each path that scripts in a box have.
function registry.each_in_box(fn)
  for _, space in ipairs(registry.spaces()) do
    each(collected[key_of(space)], function(name, _, safe)
      if safe then fn(path_of(space, name)) end
    end)
  end
end

--- What is at "module", or at "module:field": that may be a field of a field, or the path of a
-- function that the module defines.
function registry.source(where)
  local module, field = where:match("^([^:]+):?(.*)$")
  local value = require(module)
  local defined = require("jfl.base.args").defined[field]
  if defined then return defined.fn end
  for name in field:gmatch("[^.]+") do value = value[name] end
  return value
end

--- What args.define knows of the function at a path, whose file it loads; nil for other names.
function registry.defined(path)
  local space, name = path:match("^(.-)%.?([^.]+)$")
  local where = registry.names(space)[name]
  if not where or where == "jfl.init" then return nil end
  registry.source(where)
  local defined = require("jfl.base.args").defined
  return defined[path] or defined[where:match(":(.*)$")]
end

local function load(space, name)
  local where = registry.names(space)[name]
  if where:find(":", 1, true) then return registry.source(where) end
  local module = require(where)
  local defined = require("jfl.base.args").defined[path_of(space, name)]
  if defined then return defined.fn end
  return module[name]
end

-- A function that loads what it stands for when it is called for the first time.
local function stand_in(space, name)
  local f
  return function(...)
    f = f or load(space, name)
    return f(...)
  end
end

local given = {}                 -- by path, so that other names of a function are the same one

--- The path at which a function of a namespace is defined, such as "nn.cross_entropy", or nil.
function registry.path_of(f)
  for path, value in pairs(given) do
    if value == f then return path end
  end
end

--- The value of a name of flow itself.
function registry.value(name)
  given[name] = given[name] or load("", name)
  return given[name]
end

--- Puts a function for each name of a namespace into its table t, but for those that t has.
function registry.fill(space, t)
  for name, where in pairs(registry.names(space)) do
    if t[name] == nil then
      local of = where:match(":(.*)$") or path_of(space, name)
      given[of] = given[of] or stand_in(space, name)
      rawset(t, name, given[of])
    end
  end
end

return registry
