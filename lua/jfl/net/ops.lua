-- Puts the ops of the core's table under their paths (flow.nn.relu), and defines the operators of
-- blobs.
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
local function space_of(flow, modules, space, made)
  if space == "" then return flow end
  if modules[space] then return flow[space] end
  made[space] = made[space] or rawget(flow, space) or names.guard("flow." .. space, {})
  return made[space]
end

--- Puts every op of the table into flow, and what is made of ops beside and in place of them.
-- modules: names of flow that load modules, with what is made of ops.
function ops.install(flow, modules)
  local made = {}                  -- new namespaces, which are seen once they are whole
  for name, paths in pairs(core.op_paths()) do
    local f = call.of(name)
    for path in paths:gmatch("%S+") do
      local space, last = path:match("^(.-)%.?([^.]+)$")
      local at = space_of(flow, modules, space, made)
      if rawget(at, last) == nil then at[last] = f end
    end
  end
  for space, functions in pairs(composed.spaces) do
    if not modules[space] then
      local at = space_of(flow, modules, space, made)
      for name, f in pairs(functions) do at[name] = f end
    end
  end
  flow.constant = constant_of
  for space, functions in pairs(made) do rawset(flow, space, functions) end
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
