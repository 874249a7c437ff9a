-- What a restricted script reaches of the front end. Its own Lua state has neither this module nor
-- any table of jfl: it has wrappers, whose events come here with the objects that they stand for.
-- Tables that it gives are copies, without metatables.
local allowed = require "jfl.sandbox.allowed"
local args = require "jfl.base.args"
local core = require "jfl.core"
local flow = require "jfl"
require "jfl.nd.array"            -- gives arrays their operators and methods

local gate = {}

local Space = {}                 -- metatable of namespaces, { path = "nn" }
local spaces = {}

local function space(path)
  spaces[path] = spaces[path] or setmetatable({ path = path }, Space)
  return spaces[path]
end

local function full_name(path) return path == "" and "flow" or "flow." .. path end

local function refuse(name)
  core.fail("%s is not there for a restricted script", name)
end

-- What a path of flow is there, when it is not what flow has, and the namespaces that it is in: see
-- gate.open.
local instead, with_files = {}, {}

local function of_space(object, key)
  if type(key) ~= "string" then refuse(full_name(object.path) .. "[" .. tostring(key) .. "]") end
  local path = object.path == "" and key or object.path .. "." .. key
  if instead[path] then return instead[path] end
  if allowed.spaces[path] or with_files[path] then return space(path) end
  if not allowed.paths[path] then refuse("flow." .. path) end
  local value = flow
  for name in path:gmatch("[^.]+") do value = value[name] end
  return value
end

local function kind_of(object)
  return core.type(object) or type(object)
end

local function one(kind) return (kind == "array" and "an " or "a ") .. kind end

local events = {}
gate.events = {}

function events.index(object, key)
  if getmetatable(object) == Space then return of_space(object, key) end
  local kind = kind_of(object)
  if type(key) == "number" and (kind == "array" or kind == "table") then return object[key] end
  if not (allowed.fields[kind] or {})[key] then
    refuse(("'%s' of %s"):format(tostring(key), one(kind)))
  end
  return object[key]
end

function events.newindex(object, key, value)
  if core.type(object) ~= "array" or type(key) ~= "number" then
    core.fail("only elements and rows of an array can be set, not '%s' of %s", tostring(key),
      one(kind_of(object)))
  end
  object[key] = value
end

function events.call(object, ...)
  if getmetatable(object) == Space then
    core.fail("%s is no function", full_name(object.path))
  end
  return object(...)
end

function events.tostring(object)
  if getmetatable(object) == Space then return full_name(object.path) end
  return tostring(object)
end

function events.add(a, b) return a + b end
function events.sub(a, b) return a - b end
function events.mul(a, b) return a * b end
function events.div(a, b) return a / b end
function events.mod(a, b) return a % b end
function events.pow(a, b) return a ^ b end
function events.unm(a) return -a end
function events.concat(a, b) return a .. b end
function events.len(a) return #a end
function events.eq(a, b) return a == b end
function events.lt(a, b) return a < b end
function events.le(a, b) return a <= b end

for name, f in pairs(events) do gate.events["__" .. name] = f end

gate.root = space("")
gate.print = print

-- A function of jfl whose first argument, or option `path`, is a path, which is made one below the
-- folder. inside: files of a folder that it uses, which must be no links either.
local function below(folder, within, f, inside)
  local function place(path)
    if type(path) ~= "string" then return path end
    local whole = within(folder, path)
    if core.is_directory(whole) then
      for _, name in ipairs(inside or {}) do within(folder, path .. "/" .. name) end
    end
    return whole
  end
  return function(first, ...)
    if args.is_options(first) then
      first.path = place(first.path)
      return f(first, ...)
    end
    return f(place(first), ...)
  end
end

local FILES = { "model.safetensors" }

--- Called once, before anything else: the folders that the script may read and write, or nil, and
-- within(folder, path), which gives the path there.
function gate.open(read, write, within)
  if read then
    instead["ndarray.load"] = below(read, within, flow.ndarray.load)
    instead["data.csv"] = below(read, within, flow.data.csv)
    instead["data.load_image"] = below(read, within, flow.data.load_image)
    instead["checkpoint.get"] = below(read, within, flow.checkpoint.get, FILES)
    instead["checkpoint.load"] = below(read, within, flow.checkpoint.load, FILES)
  end
  if write then
    instead["ndarray.save"] = below(write, within, flow.ndarray.save)
    instead["checkpoint.save"] = below(write, within, flow.checkpoint.save, FILES)
  end
  for path in pairs(instead) do with_files[path:match("^[^.]+")] = true end
end

return gate
