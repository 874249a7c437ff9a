-- Puts the ops of the core's table under their paths (flow.nn.relu), and defines the operators of
-- blobs.
local args = require "jfl.base.args"
local call = require "jfl.net.call"
local composed = require "jfl.net.composed"
local core = require "jfl.core"
local names = require "jfl.base.names"
require "jfl.nd.array"

local ops = {}

local constant, array = core.op("constant"), core.op("array")

--- A tensor filled with a number, or one with the data of an NdArray.
local constant_of = args.define("constant", "A tensor filled with value; of an NdArray, its data "
  .. "as they are now, which become part of the job.", {
    { "value", "the number, or an NdArray", type = "number|NdArray" },
    { "dtype", "its dtype; float32, or that of the NdArray", args.none, type = "string" },
    { "shape", "the extents of the result; { 1 }, or that of the NdArray", args.none,
      type = "integer|integer[]" },
    { "name", "of the op", args.none },
    returns = "Tensor",
  }, function(o)
    local name = call.full_name("constant", o.name)
    if core.type(o.value) ~= "array" then
      return (constant(o.value, { dtype = o.dtype, shape = o.shape, name = name }))
    end
    local value = o.value
    if o.dtype ~= nil then value = core.cast(value, args.dtype("constant", "dtype", o.dtype)) end
    if o.shape ~= nil then value = core.reshape(value, o.shape) end
    return (array({ value = value, name = name }))
  end)

-- The namespace at that path below flow, which is made where there is none.
local function space_of(flow, modules, space)
  if space == "" then return flow end
  if not modules[space] and not rawget(flow, space) then
    rawset(flow, space, names.guard("flow." .. space, {}))
  end
  return flow[space]
end

--- Puts every op of the table into flow, and what is made of ops beside and in place of them.
-- modules: names of flow that load modules, with what is made of ops.
function ops.install(flow, modules)
  for name, paths in pairs(core.op_paths()) do
    local f = call.of(name)
    for path in paths:gmatch("%S+") do
      local space, last = path:match("^(.-)%.?([^.]+)$")
      local at = space_of(flow, modules, space)
      if rawget(at, last) == nil then at[last] = f end
    end
  end
  for space, functions in pairs(composed.spaces) do
    if not modules[space] then
      local at = space_of(flow, modules, space)
      for name, f in pairs(functions) do at[name] = f end
    end
  end
  flow.constant = constant_of
end

-- Operators between blobs, and between blobs and numbers.
local mt = core.blob_mt
for event, name in pairs {
  __add = "add", __sub = "subtract", __mul = "multiply", __div = "divide", __mod = "mod",
  __pow = "pow",
} do
  local f = core.op(name)
  mt[event] = function(a, b) return (f(a, b)) end
end

local negative = core.op("negative")
mt.__unm = function(a) return (negative(a)) end

function mt.__tostring(blob)
  return ("blob '%s' %s %s"):format(blob.name, args.shape_text(blob.shape), blob.dtype)
end

-- How a blob lies on several devices; scripts for one never load what tells of it.
function core.blob_fields.distribute(blob) return require("jfl.net.distribute").of(blob) end
core.blob_fields.placement = core.value_place
for _, name in ipairs { "with_distribute", "with_gradient_distribute" } do
  core.blob_methods[name] = function(blob, d)
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
for method in pairs(core.array_methods) do
  local instead = INSTEAD[method] or "the job's result"
  core.blob_methods[method] = function(blob)
    local name = core.type(blob) == "blob" and (" '%s'"):format(blob.name) or ""
    core.fail("%s: blob%s has no data while its job's body runs; use %s", method, name, instead)
  end
end

-- Any other name is a mistake too.
setmetatable(core.blob_methods, { __index = function(_, key)
  if type(key) ~= "string" or key:sub(1, 1) == "_" then return nil end
  core.fail("a blob has no '%s'; it has shape, dtype and name, and ops are functions such as "
    .. "flow.reshape(x, {100, -1})%s", key, names.suggest(key, core.blob_methods, "x"))
end })

function mt.__newindex(blob, key)
  core.fail("blob '%s' cannot be changed: '%s' is not set; what ops give is a new blob", blob.name,
    tostring(key))
end

function mt.__len(blob)
  core.fail("blob '%s' has no length; its extents are x.shape[1], x.shape[2], ...", blob.name)
end

-- Refuses comparisons. They would give blobs, as in Python, but Lua turns their results into
-- booleans.
for event, instead in pairs { __lt = "less or flow.math.greater",
  __le = "less_equal or flow.math.greater_equal", __eq = "equal" } do
  mt[event] = function()
    core.fail("blobs have no data while their job's body runs; use flow.math.%s", instead)
  end
end

function mt.__call(blob)
  core.fail("blob '%s' is no function, and cannot be iterated: it has no data while its job's "
    .. "body runs", blob.name)
end

function mt.__concat(a, b) return tostring(a) .. tostring(b) end

return ops
