-- What blobs do: their operators, methods and fields, and what is a mistake with them. The core
-- takes it from here before it makes the first blob (src/bind/kinds.c).
local args = require "jfl.base.args"
local core = require "jfl.core"
local names = require "jfl.base.names"

local class = {
  --- By name, and metamethods by event. A field is a function that gives its value.
  methods = {}, fields = {}, events = {},
}
local events = class.events

-- Operators between blobs, and between blobs and numbers.
for event, name in pairs {
  __add = "add", __sub = "subtract", __mul = "multiply", __div = "divide", __mod = "mod",
  __pow = "pow",
} do
  local f = core.op(name)
  events[event] = function(a, b) return (f(a, b)) end
end

--- x[2] and x[{ 1, {2, 5} }].
function events.__part(blob, key) return require("jfl.op.parts").get(blob, key) end

local negative = core.op("negative")
events.__unm = function(a) return (negative(a)) end

function events.__tostring(blob)
  return ("blob '%s' %s %s"):format(blob.name, args.shape_text(blob.shape), blob.dtype)
end

-- How a blob lies on several devices; scripts for one never load what tells of it.
function class.fields.distribute(blob) return require("jfl.net.distribute").of(blob) end
class.fields.placement = core.value_place
for _, name in ipairs { "with_distribute", "with_gradient_distribute" } do
  class.methods[name] = function(blob, d)
    return require("jfl.net.distribute")[name](blob, d)
  end
end

-- Names that arrays have for functions of other names.
local OTHER = { eq = "equal", ne = "not_equal", lt = "less", le = "less_equal", gt = "greater",
  ge = "greater_equal", astype = "cast" }

local function reshape(x, shape, ...)
  return (core.op("reshape")(x, { shape = type(shape) == "table" and shape or { shape, ... } }))
end

-- Methods that read a call as those of arrays do.
local OWN = { reshape = reshape }

function OWN.transpose(x, perm, ...)
  local n = #x.shape
  if perm == nil then
    perm = {}
    for i = 1, n do perm[i] = n - i end
  end
  if type(perm) ~= "table" then perm = { perm, ... } end
  return (core.op("transpose")(x, { perm = perm.perm or perm }))
end

for _, name in ipairs { "argmax", "argmin" } do
  local function over_axis(x, axis)
    if axis == nil then return (core.op(name)(reshape(x, -1), { axis = 0 })) end
    return (core.op(name)(x, { axis = type(axis) == "table" and axis.axis or axis }))
  end
  OWN[name] = over_axis
end

for _, name in ipairs { "slice", "take" } do
  OWN[name] = function(x, ...) return require("jfl.nd.shape")[name](x, ...) end
end

-- Methods that an array has and a blob lacks, as it has no data, and what to use instead.
local INSTEAD = { copy = "flow.identity", get = "x[{ i, j }]", set = "flow.slice_update" }

local function refusal(method)
  return function(blob)
    local name = core.type(blob) == "blob" and (" '%s'"):format(blob.name) or ""
    core.fail("%s: blob%s has no data while its job's body runs; use %s", method, name,
      INSTEAD[method] or "the job's result")
  end
end

local REFUSED = { "copy", "fill", "free", "get", "item", "pointer", "set", "totable" }
for _, method in ipairs(REFUSED) do class.methods[method] = refusal(method) end
for name, f in pairs(OWN) do
  class.methods[name] = function(x, ...)
    if core.type(x) == "blob" then return f(x, ...) end
    core.fail("%s: argument 1 must be a blob, got %s; methods are called with a colon: x:%s()",
      name, args.describe(x), name)
  end
end

--- The paths of the functions of flow that blobs have as methods, by the methods' names.
function class.functions()
  local list = { slice = "ndarray.slice", take = "ndarray.take" }
  for name, path in pairs(require("jfl.op.methods").names("Blob")) do
    list[name] = list[name] or path
  end
  for name, other in pairs(OTHER) do list[name] = list[other] end
  return list
end

--- Functions of flow that take a tensor first are methods. Any other name is a mistake.
function class.unknown(known, key)
  args.must(type(key) == "string", key, "blob: index must be a number, a list or a name")
  if key:sub(1, 1) == "_" then return nil end
  local f = key ~= "size" and require("jfl.op.methods").find("Blob", OTHER[key] or key)
  if f then
    rawset(known, key, f)
    return f
  end
  local instead = require("jfl.op.methods").elsewhere(key)
  if instead then core.fail("a blob has no '%s'; %s", key, instead) end
  core.fail("a blob has no '%s'; it has shape, dtype and name, and ops are functions such as "
    .. "flow.reshape(x, {100, -1})%s", key, names.suggest(key, class.methods, "x"))
end

function events.__newindex(blob, key)
  args.check(type(key) == "string", "blob '%s' cannot be changed: no part of it is set; "
    .. "flow.slice_update(x, value, { { 0, 2 } }) gives a new blob in which it is", blob.name)
  core.fail("blob '%s' cannot be changed: '%s' is not set; what ops give is a new blob", blob.name,
    key)
end

function events.__len(blob)
  core.fail("blob '%s' has no length; its extents are x.shape[1], x.shape[2], ...", blob.name)
end

-- Refuses comparisons. They would give blobs, as in Python, but Lua turns their results into
-- booleans.
for event, instead in pairs { __lt = "less or flow.math.greater",
  __le = "less_equal or flow.math.greater_equal", __eq = "equal" } do
  events[event] = function()
    core.fail("blobs have no data while their job's body runs; use flow.math.%s", instead)
  end
end

function events.__call(blob)
  core.fail("blob '%s' is no function, and cannot be iterated: it has no data while its job's "
    .. "body runs", blob.name)
end

function events.__concat(a, b) return tostring(a) .. tostring(b) end

return class
