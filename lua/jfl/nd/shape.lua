-- Parts and shapes of NdArrays: rows, slices, reshape, transpose, conversions, pointers.
---@box ndarray.astype ndarray.copy ndarray.fill ndarray.free ndarray.get ndarray.item
---@box ndarray.reshape ndarray.set ndarray.slice ndarray.take ndarray.totable ndarray.transpose
local args = require "jfl.base.args"
local core = require "jfl.core"
local ndmath = require "jfl.nd.math"

local methods = {}              -- what jfl.nd.class gives arrays of this file
local need = ndmath.need

local gather, cut, transpose = core.op("gather"), core.op("slice"), core.op("transpose")

-- The number of an axis, from 1.
local function axis_of(who, a, axis)
  local n = #a.shape
  args.integer(who, "axis", axis, -n)
  args.check(axis < n, "%s: axis must be from %d to %d, got %d; axes count from 0", who, -n, n - 1,
    axis)
  return axis % n + 1
end

-- ---- slices ----

local function place(who, name, position, extent)
  args.integer(who, name, position, -extent)
  return position < 0 and extent + position + 1 or position
end

-- What slice and take begin with: blobs have parts as arrays have.
local function need_tensor(who, x)
  if core.type(x) ~= "blob" then need(who, "argument 1", x) end
end

-- Copies the elements from `from` up to `to` along an axis, in steps of `step`.
local function pick(a, axis, from, to, step)
  local places = {}
  for i = from, to, step do places[#places + 1] = i - 1 end
  return (gather(a, core.from_table(places, "int32"), { axis = axis - 1 }))
end

local function box(a, axis, from, to)
  local begin, size = {}, a.shape
  for i = 1, #size do begin[i] = 0 end
  begin[axis], size[axis] = from - 1, to - from + 1
  return (cut(a, { begin = begin, size = size }))
end

local function slice(a, first, last, axis, step)
  local who = "slice"
  local has_rows = axis == 1 and core.type(a) == "array"
  local extent = has_rows and #a or a.shape[axis]
  local from = place(who, "first", first or (step > 0 and 1 or extent), extent)
  local to = place(who, "last", last or (step > 0 and extent or 1), extent)
  if from < 1 or to < 1 or from > extent or to > extent or (to - from) * step < 0 then
    core.fail("slice: %s %s to %s are not in an array of %d%s", axis == 1 and "rows" or "elements",
      tostring(first or from), tostring(last or to), extent,
      axis == 1 and " rows" or (" along axis %d"):format(axis - 1))
  end
  if step ~= 1 then return pick(a, axis, from, to, step) end
  if has_rows then return core.rows(a, from - 1, to - from + 1) end
  return box(a, axis, from, to)
end

local with_options = args.define("ndarray.slice", "Rows first to last, both included, which share "
  .. "the array's memory; along another axis, or with a step, a copy of them.", {
  { "a", "an NdArray", type = "NdArray" },
  { "first", "from 1; negative from the end", args.none, type = "integer" },
  { "last", "from 1; negative from the end", args.none, type = "integer" },
  { "axis", "from 0; negative from the end", 0 },
  { "step", "from one to the next; negative for the other direction", 1 },
  returns = "NdArray",
}, function(o)
  need_tensor("slice", o.a)
  local step = args.integer("slice", "step", o.step, -2 ^ 53)
  if step == 0 then core.fail("slice: step must not be 0") end
  return slice(o.a, o.first, o.last, axis_of("slice", o.a, o.axis), step)
end)

--- Rows first to last, both included, negative from the end; shares the array's memory.
function methods.slice(a, ...)
  local first, last = ...
  if core.type(a) ~= "array" or select("#", ...) > 2 or type(first) == "table"
      or type(last) == "table" then
    return with_options(a, ...)
  end
  return slice(a, first, last, 1, 1)
end

methods.take = args.define("ndarray.take", "A copy of the rows in a list, in its order; or of what "
  .. "another axis counts.", {
  { "a", "an NdArray", type = "NdArray" },
  { "places", "a list or an NdArray of places, from 1; negative from the end",
    type = "integer[]|NdArray" },
  { "axis", "from 0; negative from the end", 0 },
  returns = "NdArray",
}, function(o)
  local who = "take"
  need_tensor(who, o.a)
  local is_array = core.type(o.places) == "array"
  if is_array and #o.places.shape ~= 1 then
    core.fail("take: places must be of one dimension, got %s", args.shape_text(o.places.shape))
  end
  local places = is_array and o.places:totable() or args.expect(who, "places", o.places, "table")
  if #places == 0 then core.fail("take: places must not be empty") end
  local axis, out = axis_of(who, o.a, o.axis), {}
  local extent = o.a.shape[axis]
  for i, at in ipairs(places) do
    local from = place(who, ("places[%d]"):format(i), at, extent)
    if from < 1 or from > extent then
      local hint = "; flow.gather takes places from 0, as ops such as argsort give them"
      core.fail("take: places[%d] must be from 1 to %d, or negative from the end, got %d%s", i,
        extent, at, at == 0 and hint or "")
    end
    out[i] = from - 1
  end
  return (gather(o.a, core.from_table(out, "int32"), { axis = axis - 1 }))
end)

-- ---- shapes ----

--- The elements in another shape, sharing memory: a:reshape({2, -1}) or a:reshape(2, -1).
function methods.reshape(a, shape, ...)
  if type(shape) ~= "table" then shape = { shape, ... } end
  return core.reshape(a, shape)
end

--- A copy with its axes (from 0) in the order of perm; reversed without it.
function methods.transpose(a, perm, ...)
  if perm == nil then
    perm = {}
    local n = #need("transpose", "argument 1", a).shape
    for i = 1, n do perm[i] = n - i end
  elseif type(perm) ~= "table" then
    perm = { perm, ... }
  end
  return (transpose(a, { perm = perm.perm or perm }))
end

--- A copy in another dtype. Numbers beyond its range become its nearest limit.
function methods.astype(a, dtype)
  return core.cast(a, args.stored_dtype("astype", "dtype", dtype))
end

--- The only element of an array of one.
function methods.item(a)
  local n = need("item", "argument 1", a).size
  if n ~= 1 then core.fail("item: the array must have one element, got %d", n) end
  return core.get(core.reshape(a, { 1 }), 1)
end

methods.copy, methods.fill, methods.free = core.copy, core.fill, core.free
methods.get, methods.set, methods.totable = core.get, core.set, core.to_table

-- ---- pointers ----

local POINTERS = { float32 = "float *", float64 = "double *", float16 = "uint16_t *",
  bfloat16 = "uint16_t *", int8 = "int8_t *", uint8 = "uint8_t *", int32 = "int32_t *",
  int64 = "int64_t *" }

-- Keeps the array of each pointer alive as long as the pointer is in use.
local pointed = setmetatable({}, { __mode = "k" })

--- An FFI pointer p to the first element, p[0]. The array lives as long as p, but not as long as a
-- pointer computed from it (p + 1), and not beyond free().
function methods.pointer(a)
  local ok, ffi = pcall(require, "ffi")
  if not ok then core.fail("pointer: this program has no module 'ffi'") end
  local p = ffi.cast(POINTERS[need("pointer", "argument 1", a).dtype], core.pointer(a))
  pointed[p] = a
  return p
end

return methods
