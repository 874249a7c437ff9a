-- Puts the ops of the core's table under their paths (flow.nn.relu).
---@box constant
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local names = require "jfl.base.names"
local registry = require "jfl.base.registry"

local ops = {}

local constant, array = core.op("constant"), core.op("array")

--- A tensor filled with a number, or one with the data of an NdArray.
args.define("constant", "A tensor filled with value; of an NdArray, its data "
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
local function space_of(flow, space, made)
  if space == "" then return flow end
  if not made[space] then
    if registry.tables()[space] or rawget(flow, space) then return flow[space] end
    local t = {}
    registry.fill(space, t)
    made[space] = names.guard("flow." .. space, t)
  end
  return made[space]
end

local SIBLING = { math = "nn", nn = "math" }

--- Calls fn(space, name, other) for each function that flow.math and flow.nn share, as its op works
-- element by element: `other` is the namespace that the table does not name.
function ops.each_shared(fn)
  for _, paths in pairs(core.op_paths(true)) do
    for space, name in paths:gmatch("%f[%w](%w+)%.([%w_]+)") do
      local other = SIBLING[space]
      if other and not (" " .. paths .. " "):find((" %s.%s "):format(other, name), 1, true) then
        fn(space, name, other)
      end
    end
  end
end

--- Puts every op of the table into flow, and beside them the functions that are made of ops, of
-- which some take the place of an op.
function ops.install(flow)
  local own, made = registry.names(""), {}       -- made: namespaces, which are seen once whole
  for _, space in ipairs(registry.spaces()) do
    if not registry.tables()[space:match("^[^.]*")] then space_of(flow, space, made) end
  end
  for name, paths in pairs(core.op_paths()) do
    local f = call.of(name)
    for path in paths:gmatch("%S+") do
      local space, last = path:match("^(.-)%.?([^.]+)$")
      local at = space_of(flow, space, made)
      if rawget(at, last) == nil and not (space == "" and own[last]) then at[last] = f end
    end
  end
  ops.each_shared(function(space, name, other)
    local at = space_of(flow, other, made)
    if rawget(at, name) == nil then at[name] = rawget(space_of(flow, space, made), name) end
  end)
  for space, functions in pairs(made) do rawset(flow, space, functions) end
end

return ops
