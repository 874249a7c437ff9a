-- What NdArrays do: their methods, operators, and what they print. The core takes it from here
-- before it makes the first array (src/bind/kinds.c).
local args = require "jfl.base.args"
local core = require "jfl.core"
require "jfl.base.hints"         -- for messages of the command
local names = require "jfl.base.names"
local ndmath = require "jfl.nd.math"

local class = {
  --- By name, and metamethods by event.
  methods = {}, events = ndmath.events,
}
local methods, events = class.methods, class.events

for _, list in ipairs { ndmath.methods, require "jfl.nd.shape" } do
  for name, f in pairs(list) do methods[name] = f end
end

-- Whose results have as many elements as values say.
for _, name in ipairs { "argwhere", "boolean_mask", "nonzero", "unique", "unique_with_counts" } do
  methods[name] = function(a, ...) return require("jfl.nd.find")[name](a, ...) end
end

-- a[{ 1, {2, 5} }], and its value where that is set.
function events.__part(a, key) return require("jfl.op.parts").get(a, key) end
function events.__setpart(a, key, value) return require("jfl.op.parts").set(a, key, value) end

function events.__tostring(a) return require("jfl.nd.format").text(a) end

function events.__concat(a, b) return tostring(a) .. tostring(b) end

function events.__call(a)
  core.fail("an NdArray %s is no function: a[i] and a:get(i, j) give elements; the call of a job "
    .. "takes a callback only if the job's returns is a flow.typing.Callback",
    args.shape_text(a.shape))
end

-- The names that a misspelled one may have meant: fields, methods and functions.
local function known()
  local known_names = { shape = true, dtype = true, size = true }
  for name in pairs(methods) do known_names[name] = true end
  for path in pairs(names.paths()) do
    if path:match("^math%.") then known_names["flow." .. path] = true end
  end
  return known_names
end

--- A misspelled method is an error here; as nil it would only fail later, when called.
function class.unknown(of, name)
  if type(name) ~= "string" or not name:match("^%a") then return nil end
  local value = names.older("NdArray", name)
  if value == nil then
    local path
    value, path = require("jfl.op.methods").find("NdArray", name)
    value = value and ndmath.method_of(path, value)
    if value then rawset(of, name, value) end
  end
  if value == nil then
    local instead = require("jfl.op.methods").elsewhere(name)
    core.fail("an NdArray has no '%s'%s", name, instead and "; " .. instead
      or names.suggest(name, known(), "a"))
  end
  return value
end

return class
