-- flow.ndarray: dense arrays in host memory. Arithmetic runs the ops of the table at once.
---@space ndarray
---@box ndarray.arange ndarray.array ndarray.concat ndarray.empty ndarray.from_blocks
---@box ndarray.full ndarray.ones ndarray.stack ndarray.zeros
local args = require "jfl.base.args"
local class = require "jfl.nd.class"
local core = require "jfl.core"
local ndmath = require "jfl.nd.math"

local nd = { matmul = ndmath.matmul }

-- ---- making arrays ----

local function shape_of(who, shape)
  return args.shape(who, "shape", type(shape) == "number" and { shape } or shape)
end

local function is_list_of_arrays(t) return core.type(t[1]) == "array" end

-- What nested tables become where no dtype is said: booleans what comparisons give.
local function natural_dtype(values)
  while type(values) == "table" do values = values[1] end
  return type(values) == "boolean" and "int8" or "float32"
end

--- An array made from nested tables of numbers, or a copy of an array.
nd.array = args.define("ndarray.array", "An array of nested tables of numbers.", {
  { "values", "nested tables of numbers or booleans, an NdArray, or a list of NdArrays",
    type = "table|NdArray" },
  { "dtype", "of its elements; float32 for numbers, int8 for booleans, or that of the arrays",
    args.none, type = "string" },
  returns = "NdArray",
}, function(o, who)
  local dtype = o.dtype and args.dtype(who, "dtype", o.dtype)
  local values = o.values
  if core.type(values) ~= "array" then
    args.expect(who, "values", values, "table")
    if not is_list_of_arrays(values) then
      return core.from_table(values, dtype or natural_dtype(values), nil, who .. ": values")
    end
    values = nd.stack(values)
  end
  return core.cast(values, dtype or values.dtype)
end)

nd.full = args.define("ndarray.full", "An array of one value.", {
  { "shape", "its extents", type = "integer|integer[]" },
  { "value", "of each element", type = "number" },
  { "dtype", "of its elements", "float32" },
  returns = "NdArray",
}, function(o, who)
  local dtype = args.dtype(who, "dtype", o.dtype)
  local a = core.array(dtype, shape_of(who, o.shape))
  if o.value ~= 0 then
    core.assign(a, core.from_table({ o.value }, dtype, nil, who .. ": value"))
  end
  return a
end)

for name, value in pairs { zeros = 0, ones = 1, empty = 0 } do
  local path = "ndarray." .. name
  nd[name] = args.define(path, ("An array of %ds."):format(value), {
    { "shape", "its extents", type = "integer|integer[]" },
    { "dtype", "of its elements", "float32" },
    returns = "NdArray",
  }, function(o)
    local shape = shape_of(path, o.shape)
    return nd.full(shape, value, args.dtype(path, "dtype", o.dtype))
  end)
end

nd.arange = args.define("ndarray.arange", "start, start + step, ... to before stop.", {
  { "start", "the first value; with one argument the bound, from 0", type = "number" },
  { "stop", "the bound, which is not reached", args.none, type = "number" },
  { "step", "from one value to the next", 1 },
  { "dtype", "of its elements", "float32" },
  returns = "NdArray",
}, function(o, who)
  local start, stop, step = o.start, o.stop, args.expect(who, "step", o.step, "number")
  if stop == nil then start, stop = 0, start end
  local count = math.ceil((stop - start) / step)
  args.check(count >= 1 and count < math.huge, "%s: there is no value from %g to before %g in "
    .. "steps of %g", who, start, stop, step)
  return core.ramp(args.dtype(who, "dtype", o.dtype), count, start, step, who)
end)

--- An array of weights in blocks, of their bytes as GGUF has them.
nd.from_blocks = args.define("ndarray.from_blocks", "Weights in blocks of few bits, of the bytes "
  .. "that a GGUF file has of them.", {
    { "bytes", "a string, or an NdArray of uint8, whose memory is then shared",
      type = "string|NdArray" },
    { "shape", "extents in numbers; the last one a multiple of the block, 32 or 256",
      type = "integer[]" },
    { "dtype", "q8_0, q4_0, q4_k or q6_k", type = "string" },
    returns = "NdArray",
  }, function(o, who)
    args.block_dtype(who, "dtype", o.dtype)
    local shape = shape_of(who, o.shape)
    if core.type(o.bytes) == "array" then return core.view(o.bytes, o.dtype, shape) end
    return core.from_bytes(args.expect(who, "bytes", o.bytes, "string"), o.dtype, shape)
  end)

-- ---- several arrays ----

local function need_list(who, list)
  args.check(core.type(list) ~= "array", "%s: arrays must be a list of NdArrays such as {a, b}, "
    .. "got one NdArray", who)
  args.expect(who, "arrays", list, "table")
  if #list == 0 then core.fail("%s: arrays must not be empty", who) end
  for i = 1, #list do ndmath.need(who, ("arrays: item %d"):format(i), list[i]) end
  return ndmath.alike(list)
end

local concat, stack = core.op("concat"), core.op("stack")

--- Joins the arrays of a list along one of their axes (from 0).
nd.concat = args.define("ndarray.concat", "Joins arrays along an axis; where dtypes differ, under "
  .. "one that holds all.", {
  { "arrays", "a list of NdArrays that agree in the other axes", type = "NdArray[]" },
  { "axis", "from 0; negative from the end", 0 },
  returns = "NdArray",
}, function(o)
  return (concat(need_list("ndarray.concat", o.arrays), { axis = o.axis }))
end)

--- Joins the arrays of a list along a new axis (from 0).
nd.stack = args.define("ndarray.stack", "Joins arrays along a new axis.", {
  { "arrays", "a list of NdArrays of one shape", type = "NdArray[]" },
  { "axis", "of the result, from 0; negative from the end", 0 },
  returns = "NdArray",
}, function(o)
  return (stack(need_list("ndarray.stack", o.arrays), { axis = o.axis }))
end)

-- Every method is a function too: nd.sum(a).
return setmetatable(nd, { __index = function(_, name) return class.methods[name] end })
