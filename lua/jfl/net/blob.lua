-- What blobs do: their operators, methods and fields, and what is a mistake with them. The core
-- takes it from here before it makes the first blob (src/bind/kinds.c).
local args = require "jfl.base.args"
local arrays = require "jfl.nd.class"
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

-- Methods that an array has and a blob lacks, as it has no data, and the op to use instead in a
-- body.
local INSTEAD = {
  sum = "flow.math.reduce_sum", mean = "flow.math.reduce_mean", min = "flow.math.reduce_min",
  max = "flow.math.reduce_max", any = "flow.math.reduce_any", all = "flow.math.reduce_all",
  argmax = "flow.math.argmax", argmin = "flow.math.argmin", reshape = "flow.reshape",
  transpose = "flow.transpose", astype = "flow.cast", eq = "flow.math.equal",
  ne = "flow.math.not_equal", lt = "flow.math.less", le = "flow.math.less_equal",
  gt = "flow.math.greater", ge = "flow.math.greater_equal", slice = "flow.slice",
}
for method in pairs(arrays.methods) do
  local instead = INSTEAD[method] or "the job's result"
  class.methods[method] = function(blob)
    local name = core.type(blob) == "blob" and (" '%s'"):format(blob.name) or ""
    core.fail("%s: blob%s has no data while its job's body runs; use %s", method, name, instead)
  end
end

--- Any other name is a mistake too.
function class.unknown(_, key)
  if type(key) ~= "string" or key:sub(1, 1) == "_" then return nil end
  core.fail("a blob has no '%s'; it has shape, dtype and name, and ops are functions such as "
    .. "flow.reshape(x, {100, -1})%s", key, names.suggest(key, class.methods, "x"))
end

function events.__newindex(blob, key)
  core.fail("blob '%s' cannot be changed: '%s' is not set; what ops give is a new blob", blob.name,
    tostring(key))
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
