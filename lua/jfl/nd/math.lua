-- Arithmetic, comparisons, reductions and products of NdArrays, by the ops of the table.
---@box ndarray.all ndarray.any ndarray.argmax ndarray.argmin ndarray.eq ndarray.ge ndarray.gt
---@box ndarray.le ndarray.lt ndarray.matmul ndarray.max ndarray.mean ndarray.min ndarray.ne
---@box ndarray.std ndarray.sum
local args = require "jfl.base.args"
local core = require "jfl.core"

local ndmath = {
  --- What jfl.nd.class gives arrays of this file.
  methods = {}, events = {},
}
local methods, events = ndmath.methods, ndmath.events

local is_float = { float16 = true, bfloat16 = true, float32 = true, float64 = true }
local rank = setmetatable({ int8 = 1, uint8 = 1, int32 = 1, int64 = 2, float16 = 3, bfloat16 = 3,
  float32 = 3, float64 = 4 }, { __index = function(_, dtype)
    core.fail("an NdArray of %s has its numbers in blocks; a:astype(\"float32\") gives them", dtype)
  end })
local by_rank = { "int32", "int64", "float32", "float64" }

--- Fails unless a is an array.
function ndmath.need(who, name, a)
  if core.type(a) == "array" then return a end
  core.fail("%s: %s must be an NdArray, got %s%s", who, name, args.describe(a),
    name == "argument 1" and a == nil and "; methods are called with a colon: a:" .. who .. "()"
    or "")
end

local need = ndmath.need

-- ---- dtypes ----

-- The rank of the least dtype that ops compute in and that can hold the values of x. Numbers and
-- tables follow `other`.
local function needed_rank(x, other, divides)
  if core.type(x) == "array" then
    return divides and not is_float[x.dtype] and 4 or rank[x.dtype]
  end
  local size = type(x) == "number" and math.abs(x) or 0
  if is_float[other.dtype] then return size >= 0x1.ffffffp127 and size < math.huge and 4 or 0 end
  return (size % 1 ~= 0 or size >= 2 ^ 63) and 4 or size >= 2 ^ 31 and 2 or 0
end

local function work(a, dtype)
  if core.type(a) ~= "array" or a.dtype == dtype then return a end
  return core.cast(a, dtype)
end

local function to_work(a) return work(a, by_rank[rank[a.dtype]]) end

local function to_wide(a) return rank[a.dtype] >= 3 and to_work(a) or work(a, "int64") end

local function to_float(a) return rank[a.dtype] >= 3 and to_work(a) or work(a, "float64") end

local not_equal = core.op("not_equal")

local function to_flags(a) return a.dtype == "int8" and a or (not_equal(to_work(a), 0)) end

--- Converts the arrays of a list to one dtype: their own if they share it, else one that can hold
-- them all.
function ndmath.alike(list)
  local dtype, most = list[1].dtype, 0
  for _, a in ipairs(list) do
    most = math.max(most, rank[a.dtype])
    if a.dtype ~= dtype then dtype = nil end
  end
  local out = {}
  for i, a in ipairs(list) do out[i] = work(a, dtype or by_rank[most]) end
  return out
end

-- ---- operators ----

-- The dtype of 16 bits that both operands are of, a number being of any that holds it; else nil.
local function shared_half(a, b)
  local x, y = core.type(a) == "array" and a or b, core.type(a) == "array" and b or a
  local most = x.dtype == "float16" and 65520 or x.dtype == "bfloat16" and 0x1.ffp127
  local size = type(y) == "number" and math.abs(y)
  if not most or (core.type(y) == "array" and y.dtype ~= x.dtype) then return nil end
  return (not size or size < most or size == math.huge or size ~= size) and x.dtype or nil
end

local function binary(name, divides)
  local f = core.op(name)
  return function(a, b)
    local array = core.type(a) == "array" and a or b
    if core.type(array) ~= "array" then need(name, "argument 1", a) end
    if core.type(a) == "blob" or core.type(b) == "blob" then return (f(a, b)) end
    local needed = math.max(needed_rank(a, array, divides), needed_rank(b, array, divides))
    local dtype = needed == 3 and shared_half(a, b) or by_rank[needed]
    return (f(work(a, dtype), work(b, dtype)))
  end
end

for event, name in pairs { __add = "add", __sub = "subtract", __mul = "multiply", __mod = "mod",
  __pow = "pow" } do
  events[event] = binary(name)
end
events.__div = binary("divide", true)

for method, name in pairs { eq = "equal", ne = "not_equal", lt = "less", le = "less_equal",
  gt = "greater", ge = "greater_equal" } do
  methods[method] = binary(name)
end

-- Refuses <, <=, > and >=, whose results Lua would turn into one boolean. == tells whether two are
-- one array; with an __eq of arrays LuaJIT's trace compiler crashed (spec/lua/misuse_spec.lua).
for event, instead in pairs { __lt = "lt(b) or a:gt(b)", __le = "le(b) or a:ge(b)" } do
  events[event] = function()
    core.fail("NdArrays are compared element by element, by a:%s; add :all() or :any() for one "
      .. "answer", instead)
  end
end

local negative = core.op("negative")
function events.__unm(a) return (negative(to_work(a))) end

-- ---- reductions ----

-- Defines a reduction. Over everything it returns a number, made by `answer`; over axes (from 0),
-- an array.
local function reduction(method, doc, prepare, reduce, answer, returns)
  local path = "ndarray." .. method
  local over_axes = args.define(path, doc .. ": over everything, or an array of them along axes.", {
    { "a", "an NdArray", type = "NdArray" },
    { "axis", "a number or a list, from 0; negative from the end", args.none,
      type = "integer|integer[]" },
    { "keepdims", "whether the axes stay, with extent 1", false },
    returns = returns .. "|NdArray",
  }, function(o)
    need(path, "a", o.a)
    local result = reduce(prepare(o.a), o.axis, o.keepdims, o.a)
    if o.axis ~= nil or o.keepdims then return result end
    return answer(core.get(result, 1))
  end)
  methods[method] = function(a, ...)
    if a == nil then need(method, "argument 1", a) end
    if core.type(a) ~= "array" or select("#", ...) > 0 then return over_axes(a, ...) end
    return answer(core.get(core.reshape(reduce(prepare(a), nil, false, a), { -1 }), 1))
  end
end

local function by_op(name)
  local f = core.op(name)
  return function(a, axis, keepdims) return (f(a, { axis = axis, keepdims = keepdims })) end
end

-- Converts the result to the dtype of the array, whatever it was computed in.
local function of_its_dtype(name)
  local reduce = by_op(name)
  return function(a, axis, keepdims, given)
    return work(reduce(a, axis, keepdims), given.dtype)
  end
end

local function same(x) return x end

local function is_true(x) return x ~= 0 end

reduction("sum", "The sum", to_wide, by_op("reduce_sum"), same, "number")
reduction("mean", "The mean", to_float, by_op("reduce_mean"), same, "number")
reduction("min", "The least element", to_work, of_its_dtype("reduce_min"), same, "number")
reduction("max", "The greatest element", to_work, of_its_dtype("reduce_max"), same, "number")
reduction("any", "Whether an element is not 0", to_flags, by_op("reduce_any"), is_true, "boolean")
reduction("all", "Whether no element is 0", to_flags, by_op("reduce_all"), is_true, "boolean")

local mean, sqrt, subtract = by_op("reduce_mean"), core.op("sqrt"), core.op("subtract")
local square = core.op("square")

reduction("std", "The standard deviation", to_float, function(a, axis, keepdims)
  local off = subtract(a, mean(a, axis, true))
  return (sqrt(mean(square(off), axis, keepdims)))
end, same, "number")

-- Defines argmax or argmin. The ops take one axis; without one, the array is seen as one row of
-- elements.
local function position(name)
  local f = core.op(name)
  return function(a, axis, keepdims)
    if axis == nil then
      local result, ones = f(core.reshape(a, { -1 }), { axis = 0 }), {}
      for i = 1, keepdims and #a.shape or 1 do ones[i] = 1 end
      return core.reshape(result, ones)
    end
    local result, shape = f(a, { axis = axis }), a.shape
    if not keepdims then return result end
    shape[axis % #shape + 1] = 1
    return core.reshape(result, shape)
  end
end

reduction("argmax", "The position, from 0, of the first greatest element", to_work,
  position("argmax"), same, "integer")
reduction("argmin", "The position, from 0, of the first least element", to_work,
  position("argmin"), same, "integer")

local counts = { count_not_finite = "count", elem_cnt = "count", reduced_shape_elem_cnt = "count" }

-- Reductions of flow.math that take floats alone.
local of_floats = { variance = true, logsumexp = true, euclidean_norm = true }

local function is_over_everything(axis, keepdims)
  local o = args.is_options(axis) and axis or { axis = axis, keepdims = keepdims }
  return o.axis == nil and not o.keepdims
end

--- The method of arrays that a function f of flow is. Reductions and counts over everything give a
-- number, as a:sum() does: a:prod(), a:variance(), a:count_not_finite().
function ndmath.method_of(path, f)
  local name = path:match("^math%.[%l_]*reduce_(.+)$") or counts[path]
  if not name then return f end
  if methods[name] then return methods[name] end          -- a:reduce_sum() is a:sum()
  return function(a, ...)
    local result = f(of_floats[name] and to_float(a) or a, ...)
    return is_over_everything(...) and core.get(core.reshape(result, { -1 }), 1) or result
  end
end

-- ---- products ----

local matmul = core.op("matmul")

-- The product of each matrix in a with the single matrix b.
local function stacked(a, b, transpose_b)
  local shape = a.shape
  local rows = core.reshape(a, { -1, shape[#shape] })
  local y = matmul(rows, b, { transpose_b = transpose_b })
  shape[#shape] = y.shape[2]
  return core.reshape(y, shape)
end

-- Removes the axes that were added to make matrices of vectors; returns a number where no axis is
-- left.
local function without(y, row, column)
  local shape = y.shape
  if column then table.remove(shape) end
  if row then table.remove(shape, #shape - (column and 0 or 1)) end
  if #shape == 0 then return core.get(core.reshape(y, { 1 }), 1) end
  return core.reshape(y, shape)
end

--- The matrix product.
ndmath.matmul = args.define("ndarray.matmul", "The matrix product. A vector counts as a row on the "
  .. "left and as a column on the right; two of them give a number.", {
  { "a", "an NdArray", type = "NdArray" },
  { "b", "an NdArray", type = "NdArray" },
  { "transpose_a", "whether to take a's last two axes the other way round", false },
  { "transpose_b", "whether to take b's last two axes the other way round", false },
  returns = "NdArray|number",
}, function(o, who)
  need(who, "a", o.a)
  need(who, "b", o.b)
  local pair = ndmath.alike { to_work(o.a), to_work(o.b) }
  local a, b = pair[1], pair[2]
  local row, column = #a.shape == 1, #b.shape == 1
  if row then a = core.reshape(a, { 1, -1 }) end
  if column then b = core.reshape(b, { -1, 1 }) end
  if #a.shape > 2 and #b.shape == 2 and not o.transpose_a then
    return without(stacked(a, b, o.transpose_b), row, column)
  end
  return without(matmul(a, b, { transpose_a = o.transpose_a, transpose_b = o.transpose_b }), row,
    column)
end)

return ndmath
