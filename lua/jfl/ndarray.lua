-- flow.ndarray: dense arrays in host memory; what is computed runs the ops of the table at once.
local args = require "jfl.args"
local core = require "jfl.core"
local names = require "jfl.names"

local nd = {}
local methods, mt = core.array_methods, core.array_mt

local is_float = { float16 = true, bfloat16 = true, float32 = true, float64 = true }
local rank = { int8 = 1, uint8 = 1, int32 = 1, int64 = 2, float16 = 3, bfloat16 = 3, float32 = 3,
  float64 = 4 }
local BLOCK = 65536          -- numbers in a Lua table on their way into an array
local by_rank = { "int32", "int64", "float32", "float64" }

-- ---- making arrays ----

local function shape_of(who, shape)
  return args.shape(who, "shape", type(shape) == "number" and { shape } or shape)
end

local function need(who, name, a)
  if core.type(a) == "array" then return a end
  core.fail("%s: %s: expected an NdArray, got %s%s", who, name, args.describe(a),
    name == "argument 1" and a == nil and "; methods are called with a colon: a:" .. who .. "()"
    or "")
end

-- Names that arrays do not have are mistakes.
setmetatable(methods, { __index = function(_, key)
  if type(key) ~= "string" or not key:match("^%a") then return nil end
  core.fail("an NdArray has no '%s'%s", key, names.suggest(key, methods, "a"))
end })

function mt.__call(a)
  core.fail("an NdArray %s is no function: a[i] and a:get(i, j) give elements; the call of a job "
    .. "takes a callback only if the job's returns is a flow.typing.Callback",
    args.shape_text(a.shape))
end

for event, instead in pairs { __lt = "a:lt(b) or a:gt(b)", __le = "a:le(b) or a:ge(b)" } do
  mt[event] = function()
    core.fail("arrays have no order; %s compares their elements", instead)
  end
end

--- An array of nested tables of numbers, or a copy of an array.
nd.array = args.define("ndarray.array", "An array of nested tables of numbers.", {
  { "values", "nested tables of numbers or booleans, or an NdArray" },
  { "dtype", "of its elements; float32, or the array's", args.none },
}, function(o)
  local who = "ndarray.array"
  local dtype = o.dtype and args.dtype(who, "dtype", o.dtype)
  if core.type(o.values) == "array" then
    return core.cast(o.values, dtype or o.values.dtype)
  end
  args.expect(who, "values", o.values, "table")
  return core.from_table(o.values, dtype or "float32")
end)

nd.full = args.define("ndarray.full", "An array of one value.", {
  { "shape", "its extents" },
  { "value", "of each element" },
  { "dtype", "of its elements", "float32" },
}, function(o)
  local who = "ndarray.full"
  local dtype = args.dtype(who, "dtype", o.dtype)
  local a = core.array(dtype, shape_of(who, o.shape))
  if o.value ~= 0 then core.fill(a, args.expect(who, "value", o.value, "number")) end
  return a
end)

for name, value in pairs { zeros = 0, ones = 1, empty = 0 } do
  local path = "ndarray." .. name
  nd[name] = args.define(path, ("An array of %ds."):format(value), {
    { "shape", "its extents" },
    { "dtype", "of its elements", "float32" },
  }, function(o)
    return nd.full(shape_of(path, o.shape), value, args.dtype(path, "dtype", o.dtype))
  end)
end

nd.arange = args.define("ndarray.arange", "start, start + step, ... to before stop.", {
  { "start", "the first value; with one argument the bound, from 0" },
  { "stop", "the bound, which is not reached", args.none },
  { "step", "from one value to the next", 1 },
  { "dtype", "of its elements", "float32" },
}, function(o)
  local who = "ndarray.arange"
  local start, stop, step = o.start, o.stop, args.expect(who, "step", o.step, "number")
  if stop == nil then start, stop = 0, start end
  args.expect(who, "start", start, "number")
  args.expect(who, "stop", stop, "number")
  local count = math.ceil((stop - start) / step)
  if not (count >= 1 and count < math.huge) then
    core.fail("%s: there is no value from %g to before %g in steps of %g", who, start, stop, step)
  end
  local a = core.array(args.dtype(who, "dtype", o.dtype), { count })
  for first = 0, count - 1, BLOCK do
    local values = {}
    for i = first, math.min(first + BLOCK, count) - 1 do values[#values + 1] = start + i * step end
    core.assign(core.rows(a, first, #values), core.from_table(values, a.dtype))
  end
  return a
end)

-- ---- arithmetic ----

-- A dtype that the ops compute in and that holds what x may be; numbers and tables follow `other`.
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

local function binary(name, divides)
  local f = core.op(name)
  return function(a, b)
    local array = core.type(a) == "array" and a or need(name, "argument 1", b)
    local needed = math.max(needed_rank(a, array, divides), needed_rank(b, array, divides))
    local dtype = by_rank[needed]
    return (f(work(a, dtype), work(b, dtype)))
  end
end

for event, name in pairs { __add = "add", __sub = "subtract", __mul = "multiply", __mod = "mod",
  __pow = "pow" } do
  mt[event] = binary(name)
end
mt.__div = binary("divide", true)

for method, name in pairs { eq = "equal", ne = "not_equal", lt = "less", le = "less_equal",
  gt = "greater", ge = "greater_equal" } do
  methods[method] = binary(name)
end

local negative = core.op("negative")
function mt.__unm(a) return (negative(work(a, by_rank[rank[a.dtype]]))) end

function mt.__tostring(a) return require("jfl.ndformat").text(a) end

function mt.__concat(a, b) return tostring(a) .. tostring(b) end

-- ---- reductions ----

local function to_work(a) return work(a, by_rank[rank[a.dtype]]) end

local function to_wide(a) return is_float[a.dtype] and to_work(a) or work(a, "int64") end

local function to_float(a) return is_float[a.dtype] and to_work(a) or work(a, "float64") end

local not_equal = core.op("not_equal")

local function to_flags(a) return a.dtype == "int8" and a or (not_equal(to_work(a), 0)) end

-- A reduction over everything gives a number, over axes (from 0) an array.
local function reduction(method, name, prepare)
  local f = core.op(name)
  local over_axes = args.define("ndarray." .. method, "Reduces an array.", {
    { "a", "an NdArray" },
    { "axis", "a number or a list, from 0; negative from the end", args.none },
    { "keepdims", "whether the axes stay, with extent 1", false },
  }, function(o)
    local a = prepare(need(method, "argument 1", o.a))
    local result = f(a, { axis = o.axis, keepdims = o.keepdims })
    if o.axis ~= nil or o.keepdims then return result end
    return core.get(result, 1)
  end)
  methods[method] = function(a, ...)
    if select("#", ...) > 0 then return over_axes(a, ...) end
    return core.get(f(prepare(need(method, "argument 1", a))), 1)
  end
end

reduction("sum", "reduce_sum", to_wide)
reduction("mean", "reduce_mean", to_float)
reduction("min", "reduce_min", to_work)
reduction("max", "reduce_max", to_work)
reduction("any", "reduce_any", to_flags)
reduction("all", "reduce_all", to_flags)

local sqrt, square = core.op("sqrt"), core.op("square")

--- Standard deviation, of all elements or along axes.
function methods.std(a, axis, ...)
  local x = to_float(need("std", "argument 1", a))
  if axis == nil then
    local d = x - x:mean()
    return math.sqrt(square(d):mean())
  end
  return (sqrt(square(x - x:mean(axis, { keepdims = true })):mean(axis, ...)))
end

for _, name in ipairs { "argmax", "argmin" } do
  local f = core.op(name)
  --- The position, from 0, of the first extreme value: a number, or along an axis an array.
  methods[name] = function(a, axis)
    local x = to_work(need(name, "argument 1", a))
    if axis ~= nil then return (f(x, { axis = type(axis) == "table" and axis.axis or axis })) end
    return core.get(f(core.reshape(x, { -1 }), { axis = 0 }), 1)
  end
end

-- ---- shapes and elements ----

--- Rows first to last, both included, negative from the end; shares the array's memory.
function methods.slice(a, first, last)
  local rows = #need("slice", "argument 1", a)
  first = args.integer("slice", "first", first or 1, -rows)
  last = args.integer("slice", "last", last or rows, -rows)
  local from = first < 0 and rows + first + 1 or first
  local to = last < 0 and rows + last + 1 or last
  if from < 1 or to > rows or from > to then
    core.fail("slice: rows %s to %s are not in an array of %d rows", tostring(first),
      tostring(last), rows)
  end
  return core.rows(a, from - 1, to - from + 1)
end

--- The same elements under another shape, sharing memory: a:reshape({2, -1}) or a:reshape(2, -1).
function methods.reshape(a, shape, ...)
  if type(shape) ~= "table" then shape = { shape, ... } end
  return core.reshape(a, shape)
end

local transpose = core.op("transpose")

--- A copy with its axes (from 0) in the order of perm; reversed where there is none.
function methods.transpose(a, perm, ...)
  if perm == nil then
    perm = {}
    local n = #need("transpose", "argument 1", a).shape
    for i = 1, n do perm[i] = n - i end
  elseif type(perm) ~= "table" then
    perm = { perm, ... }
  end
  return (transpose(a, { perm = perm }))
end

--- A converted copy; what does not fit is cut as C does, saturating.
function methods.astype(a, dtype) return core.cast(a, args.dtype("astype", "dtype", dtype)) end

--- The only element of an array of one.
function methods.item(a)
  local n = need("item", "argument 1", a).size
  if n ~= 1 then core.fail("item: expected an array of one element, got %d", n) end
  return core.get(core.reshape(a, { 1 }), 1)
end

methods.copy, methods.fill, methods.free = core.copy, core.fill, core.free
methods.get, methods.set, methods.totable = core.get, core.set, core.to_table

--- Itself: results of the old spelling are asked for their arrays by this name.
function methods.numpy(a) return a end

local POINTERS = { float32 = "float *", float64 = "double *", float16 = "uint16_t *",
  bfloat16 = "uint16_t *", int8 = "int8_t *", uint8 = "uint8_t *", int32 = "int32_t *",
  int64 = "int64_t *" }

--- An FFI pointer to the first element, valid as long as the array is alive.
function methods.pointer(a)
  need("pointer", "argument 1", a)
  local ok, ffi = pcall(require, "ffi")
  if not ok then core.fail("pointer: this program has no module 'ffi'") end
  return ffi.cast(POINTERS[a.dtype], core.pointer(a))
end

-- ---- several arrays ----

local function need_list(who, list)
  args.expect(who, "arrays", list, "table")
  if #list == 0 then core.fail("%s: arrays: the list is empty", who) end
  for i, a in ipairs(list) do need(who, ("arrays: item %d"):format(i), a) end
  return list
end

local concat, matmul = core.op("concat"), core.op("matmul")

--- The arrays of a list one after another along an axis (from 0).
nd.concat = args.define("ndarray.concat", "Joins arrays along an axis.", {
  { "arrays", "a list of NdArrays that agree in the other axes" },
  { "axis", "from 0; negative from the end", 0 },
}, function(o)
  return (concat(need_list("ndarray.concat", o.arrays), { axis = o.axis }))
end)

--- The arrays of a list along a new axis (from 0).
nd.stack = args.define("ndarray.stack", "Joins arrays along a new axis.", {
  { "arrays", "a list of NdArrays of one shape" },
  { "axis", "of the result, from 0; negative from the end", 0 },
}, function(o)
  local parts = {}
  for i, a in ipairs(need_list("ndarray.stack", o.arrays)) do
    local shape = a.shape
    local axis = args.integer("ndarray.stack", "axis", o.axis, -#shape - 1)
    if axis < 0 then axis = axis + #shape + 1 end
    if axis > #shape then
      core.fail("ndarray.stack: axis %g is not an axis of the result", o.axis)
    end
    table.insert(shape, axis + 1, 1)
    parts[i] = core.reshape(a, shape)
  end
  return (concat(parts, { axis = o.axis }))
end)

--- The matrix product.
function nd.matmul(a, b, ...)
  return (matmul(need("ndarray.matmul", "a", a), need("ndarray.matmul", "b", b), ...))
end

return setmetatable(nd, {
  __index = function(_, name)
    if name == "rand" or name == "randn" then return require("jfl.random")[name] end
    if name == "save" or name == "load" then return require("jfl.npy")[name] end
  end,
})
