-- What a restricted script reaches of the front end. Its own Lua state has neither this module nor
-- any table of jfl: it has wrappers, whose events come here with the objects that they stand for.
-- Tables that it gives are copies, without metatables.
local metatable = require "jfl.base.metatable"
local allowed = require "jfl.sandbox.allowed"
local core = require "jfl.core"
local flow = require "jfl"
local inputs = require "jfl.job.inputs"
local methods = require "jfl.op.methods"

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

local function of_space(object, key)
  if type(key) ~= "string" then refuse(full_name(object.path) .. "[" .. tostring(key) .. "]") end
  local path = object.path == "" and key or object.path .. "." .. key
  if allowed.spaces[path] then return space(path) end
  if not allowed.paths[path] then refuse("flow." .. path) end
  local value = flow
  for name in path:gmatch("[^.]+") do value = value[name] end
  return value
end

local function kind_of(object)
  local meta = type(object) == "table" and metatable(object)
  return core.type(object) or meta and (meta.box or meta.help == "model" and "model")
    or type(object)
end

local function one(kind) return (kind == "array" and "an " or "a ") .. kind end

-- The classes of objects that have functions of flow as their methods.
local CLASSES = { array = "NdArray", blob = "Blob" }

-- Whether a key is that of a row or part: a[2], a[{ 1, {2, 5} }].
local function is_part(kind, key)
  if CLASSES[kind] then return type(key) == "number" or type(key) == "table" end
  return kind == "table" and type(key) == "number"
end

local events = {}
gate.events = {}

function events.index(object, key)
  if metatable(object) == Space then return of_space(object, key) end
  local kind = kind_of(object)
  if is_part(kind, key) or (allowed.fields[kind] or {})[key] then return object[key] end
  local path = CLASSES[kind] and type(key) == "string" and methods.path(CLASSES[kind], key)
  if not path or not allowed.paths[path] then
    refuse(("'%s' of %s"):format(tostring(key), one(kind)))
  end
  return object[key]
end

function events.newindex(object, key, value)
  local kind = kind_of(object)
  if kind ~= "array" or not is_part(kind, key) then
    core.fail("only elements, rows and parts of an array can be set, not '%s' of %s", tostring(key),
      one(kind))
  end
  object[key] = value
end

function events.call(object, ...)
  if metatable(object) == Space then
    core.fail("%s is no function", full_name(object.path))
  end
  return object(...)
end

function events.tostring(object)
  if metatable(object) == Space then return full_name(object.path) end
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

-- ---- this state itself ----

-- Takes away of a library what the front end does without. A text gets at none of it, and what
-- files a thread of the script opens is asked where they are opened (src/system/reach.c); this
-- stands behind both.
local function keep(library, names)
  local kept = allowed.set_of(names)
  for name in pairs(library) do
    if not kept[tostring(name)] then library[name] = nil end
  end
end

--- Called once, in the state of a restricted script alone. parameters(f) gives the names of the
-- parameters of a function of the script.
function gate.bare(parameters)
  inputs.of_other = parameters
  keep(require "ffi", "cast gc new string")
  keep(debug, "getinfo getlocal getmetatable getupvalue traceback")
  keep(io, "stderr stdout write")
  keep(os, "clock date exit getenv time")
  keep(package, "loaded loaders preload")
  keep(package.loaders, "1")               -- modules come out of the program alone
  for _, name in ipairs { "dofile", "loadfile", "module" } do rawset(_G, name, nil) end
end

return gate
