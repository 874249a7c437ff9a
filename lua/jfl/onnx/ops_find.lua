-- ONNX's ops whose results are as long as numbers say.
local call = require "jfl.op.call"
local counted = require "jfl.onnx.counted"
local values = require "jfl.onnx.values"

local op, cast, reshape = call.op, values.cast, values.reshape

local ops = {}

-- Numbers of places of elements as those along each axis of a shape: (axes, places).
local function coordinates(order, shape)
  local rows, rest, count = {}, values.cast(order, "float64"), order.shape[1]
  for axis = 1, #shape do
    local step = values.count(shape, axis + 1)
    local at = op.floor(op.divide(rest, step))
    rest = op.subtract(rest, op.multiply(at, step))
    rows[axis] = reshape(cast(at, "int64"), { 1, count })
  end
  return values.concat(rows, 0)
end

-- The places of numbers other than 0.
ops.NonZero = { function(n, x)
  local s = x.shape
  if not values.is_known(x) and #s > 0 and values.count(s) > 0 then
    local count, order = counted.nonzero(x)
    return counted.make(coordinates(order, s), 1, count)
  end
  local list = n:list(x, "x")
  local rows, count = {}, 0
  for axis = 1, #s do rows[axis] = {} end
  for i, v in ipairs(list) do
    local rest = i - 1
    if v ~= 0 then
      count = count + 1
      for axis = #s, 1, -1 do
        rows[axis][count], rest = rest % s[axis], math.floor(rest / s[axis])
      end
    end
  end
  local flat = {}
  for axis = 1, #s do
    for i = 1, count do flat[#flat + 1] = rows[axis][i] end
  end
  return values.array(flat, "int64", { #s, count })
end, static = { 1 } }

ops.Compress = { function(n, x, condition)
  local axis, keep = n:attr "axis", {}
  if not axis then x = reshape(x, { values.count(x.shape) }) end
  axis = axis and n:axis(axis, #x.shape) or 0
  if not values.is_known(condition) and values.count(condition.shape) > 0 then
    local count, order = counted.nonzero(condition)
    return counted.make(op.gather(x, order, { axis = axis }), axis, count)
  end
  for i, v in ipairs(n:list(condition, "condition")) do
    if v ~= 0 then keep[#keep + 1] = i - 1 end
  end
  return op.gather(x, values.array(keep, "int64"), { axis = axis })
end, static = { 2 } }

-- The different numbers of a list, where each occurs first, which of them each element is, and how
-- often each occurs.
function ops.Unique(n, x)
  local count, dtype = values.count(x.shape), x.dtype
  if n:attr "axis" and #x.shape > 1 then n:fail "it must have no axis, or x one axis alone" end
  if count == 0 then n:fail "x must have elements, got none" end
  x = reshape(dtype:find "16$" and cast(x, "float32") or x, { count })
  local order = op.argsort(x, { axis = 0, direction = "ASCENDING" })
  local line = op.gather(x, order, { axis = 0 })
  local is_new = op.not_equal(values.slice(line, 0, 1, count - 1),
    values.slice(line, 0, 0, count - 1))
  is_new = values.concat({ values.array({ 1 }, "int8"), is_new }, 0)
  local group = op.subtract(op.cumsum(cast(is_new, "int64"), { axis = 0 }), 1)
  local times = op.unsorted_segment_sum(values.expand(values.array({ 1 }, "int64"), { count }),
    group, { num_segments = count, axis = 0 })
  local found, places = counted.places(is_new)
  local first = op.gather(order, places, { axis = 0 })
  if not n:flag("sorted", true) then       -- in the order in which they occur first
    local by = op.argsort(op.where(op.less(values.ramp(count), found), first, count), { axis = 0,
      direction = "ASCENDING" })
    first, times = op.gather(first, by, { axis = 0 }), op.gather(times, by, { axis = 0 })
    group = op.gather(op.argsort(by, { axis = 0, direction = "ASCENDING" }), group, { axis = 0 })
  end
  local which = op.dim_scatter_add(values.expand(values.array({ 0 }, "int64"), { count }), order,
    cast(group, "int64"), { dim = 0 })
  local y = cast(op.gather(x, first, { axis = 0 }), dtype)
  return counted.make(y, 0, found), counted.make(cast(first, "int64"), 0, found), which,
    counted.make(times, 0, found)
end

return ops
