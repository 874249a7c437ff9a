-- Puts the ops of the core's table under their paths (flow.nn.relu).
---@box constant
--[==[ guide 5: Blobs and ops
Inside a body values are blobs: `x.shape` (a table), `x.dtype`, `x.name`. They can be added,
subtracted, multiplied, divided, taken modulo and raised to powers with each other and with numbers.
Lua's comparisons cannot give blobs, so these are functions such as `flow.math.equal`. `print(x)`
shows name, shape and dtype. There is no data yet: `x:mean()` is an error that names
`flow.math.reduce_mean`.

```lua
local norm = flow.global_function {
  name = "norm",
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 2 }) } },
  returns = tp.Numpy,
  body = function(x)
    print(x)                                     --> blob 'x' (2, 2) float32
    return flow.math.sqrt(flow.math.reduce_sum(x ^ 2, 1))
  end,
}
print(norm({ { 3, 4 }, { 6, 8 } }))              --> [ 5. 10.]
```

In arithmetic, comparisons, logic and `flow.where`, integers take the dtype of a float beside them;
of two integer dtypes the wider counts, and int8 and uint8 become int32 where they are added or
multiplied. So what comparisons give, int8 0 or 1, needs no cast: `flow.math.greater(x, 0) * x`. Two
different floats are an error that names `flow.cast`. A condition may have any dtype: what is not 0
is true.

```lua
local x = flow.ndarray.array({ 1, 2, 3 })
local large = flow.math.greater(x, 1)            -- int8
print(flow.math.multiply(large, x))              --> [0. 2. 3.]
print(flow.math.reduce_sum(large))               --> [2]
print(flow.where(flow.math.floordiv(x, 3), x, large))  --> [0. 1. 3.]
```

An NdArray among blobs becomes a constant of the job, with the data that it has when the body runs;
`flow.constant(a)` is one by itself. It counts as memory and is saved nowhere.

```lua
local table_of_codes = flow.ndarray.array({ { 1, 0 }, { 0, 1 }, { 1, 1 } })
local encode = flow.global_function {
  name = "encode",
  inputs = { { "ids", tp.Numpy.Placeholder({ 2 }, { dtype = flow.int32 }) } },
  returns = tp.Numpy,
  body = function(ids) return flow.gather(flow.constant(table_of_codes), ids) end,
}
print(encode({ 2, 0 }))                          --> [[1. 1.]
```

**Every op also runs at once on NdArrays**, outside of jobs, through the same kernels:

```lua
local a = flow.ndarray.array({ -1, 0, 2 })
print(flow.nn.relu(a))                           --> [0. 0. 2.]
print(flow.concat({ a, a }, 0).shape[1])         --> 6
print(flow.cast(a, flow.int32).dtype)            --> int32
```

Ops are in `flow.math` (elementwise, reductions), `flow.nn` (activations, convolutions, pooling,
losses) and `flow` itself (shapes, choice, constants). Variables are made by layers, or by hand, and
are shared by all jobs that use the name:

```lua
local scale = flow.global_function {
  name = "scale",
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  returns = tp.Numpy,
  body = function(x)
    local factor = flow.get_variable("factor",
      { shape = { 2 }, initializer = flow.constant_initializer(3) })
    return x * factor
  end,
}
print(scale({ 1, 2 }))                           --> [3. 6.]
```

`flow.assign` gives a variable another value at the end of each call, whatever the job's type: for
counters, averages of weights and target networks. All that the body reads is from before.

```lua
local average = flow.global_function {
  name = "average",
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  returns = tp.Numpy,
  body = function(x)
    local mean = flow.get_variable("mean", { shape = { 1 }, trainable = false,
      initializer = flow.zeros_initializer() })
    return flow.assign(mean, mean * 0.5 + x * 0.5)
  end,
}
average({ 4 })
print(average({ 4 }))                            --> [3.]
```

**Losses**: the cross entropies of OneFlow give a loss for each sample, which needs no mean, since
training divides the gradients by the number of losses. The others have `reduction`: "mean" (unless
told), "sum" or "none".

```lua
local logits = flow.ndarray.array({ { 2, 0, 0 }, { 0, 0, 0 } })
local labels = flow.ndarray.array({ 0, 2 }, flow.int32)
local each = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
print(each.shape[1])                             --> 2
local one = flow.nn.cross_entropy(logits, labels, { label_smoothing = 0.1 })
print(one.shape[1])                              --> 1
```

`flow.nn.cross_entropy` also leaves out samples of one label (`ignore_index`) and weighs classes
(`weight`). Shapes must agree: a target (8, 1) beside an input (8) is an error, not 64 losses.
]==]
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
local function space_of(flow, space)
  if space == "" then return flow end
  if not registry.tables()[space] and not rawget(flow, space) then
    local t = {}
    registry.fill(space, t)
    rawset(flow, space, names.guard("flow." .. space, t))
  end
  return flow[space]
end

--- Puts every op of the table into flow, and beside them the functions that are made of ops, of
-- which some take the place of an op.
function ops.install(flow)
  local own = registry.names("")
  for _, space in ipairs(registry.spaces()) do
    if not registry.tables()[space:match("^[^.]*")] then space_of(flow, space) end
  end
  for name, paths in pairs(core.op_paths()) do
    local f = call.of(name)
    for path in paths:gmatch("%S+") do
      local space, last = path:match("^(.-)%.?([^.]+)$")
      local at = space_of(flow, space)
      if rawget(at, last) == nil and not (space == "" and own[last]) then at[last] = f end
    end
  end
end

return ops
