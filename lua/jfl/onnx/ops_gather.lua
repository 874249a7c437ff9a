-- ONNX's ops that take elements from places, or put them there.
local call = require "jfl.op.call"
local core = require "jfl.core"
local values = require "jfl.onnx.values"

local cast, op, reshape = values.cast, call.op, values.reshape

local ops = {}

-- Indices that count from the end where they are negative, as those that count from 0.
local function from_zero(n, indices, extent, what)
  if not values.is_known(indices) then
    local i = cast(indices, "int64")
    return op.where(op.less(i, 0), op.add(i, extent), i)
  end
  local list = n:list(indices, what)
  for i, v in ipairs(list) do
    n:check(v >= -extent and v < extent, "an index must be from %d to %d, got %g", -extent,
      extent - 1, v)
    list[i] = v < 0 and v + extent or v
  end
  return values.array(list, "int64", indices.shape)
end

function ops.Gather(n, x, indices)
  local axis = n:axis(n:attr("axis", 0), #x.shape)
  return op.gather(x, from_zero(n, indices, x.shape[axis + 1], "indices"), { axis = axis })
end

function ops.GatherElements(n, x, indices)
  local axis = n:axis(n:attr("axis", 0), #x.shape)
  return op.dim_gather(x, from_zero(n, indices, x.shape[axis + 1], "indices"), { dim = axis })
end

-- Tuples of indices along the last axis, counted from 0.
local function tuples(n, indices, shape, skip)
  local s = indices.shape
  local width, list = s[#s], {}
  for k = 1, width do
    list[k] = from_zero(n, values.slice(indices, #s - 1, k - 1, 1), shape[skip + k], "indices")
  end
  return values.concat(list, #s - 1)
end

-- The places along an axis of a shape, as a tensor of that shape.
local function places(n, shape, axis)
  local list, line = values.steps(n:times(shape[axis + 1], "an extent")), values.fill(#shape, 1)
  line[axis + 1] = #list
  return values.expand(values.array(list, "int64", line), shape)
end

-- Behind the batch's axes tuples get the place in the batch in front.
function ops.GatherND(n, x, indices)
  local batch, s = n:attr("batch_dims", 0), indices.shape
  local index = tuples(n, indices, x.shape, batch)
  if batch == 0 then return op.gather_nd(x, index) end
  local one, list = { unpack(s) }, {}
  one[#one] = 1
  for axis = 0, batch - 1 do list[axis + 1] = places(n, one, axis) end
  list[batch + 1] = index
  return op.gather_nd(x, values.concat(list, #s - 1))
end

-- ---- putting ----

--- The update of each sample put into its cache from a place of its own on; circular: what goes
-- beyond the end comes to the beginning.
function ops.TensorScatter(n, cache, update, starts)
  local s, axis = cache.shape, n:axis(n:attr("axis", -2), #cache.shape)
  local extent, count = s[axis + 1], update.shape[axis + 1]
  local line, each = values.fill(#s, 1), values.fill(#s, 1)
  line[axis + 1], each[1] = extent, s[1]
  local at = reshape(values.ramp(extent), line)
  if starts then at = op.subtract(at, reshape(cast(starts, "int64"), each)) end
  if n:attr("mode", "linear") == "circular" then at = op.mod(at, extent) end
  local is_new = op.logical_and(op.greater_equal(at, 0), op.less(at, count))
  at = values.expand(op.where(is_new, at, op.subtract(at, at)), s)
  return op.where(values.expand(is_new, s), op.dim_gather(update, at, { dim = axis }), cache)
end

local PUT = { none = "tensor_scatter_nd_update", add = "tensor_scatter_nd_add" }
local MOST = { max = "ASCENDING", min = "DESCENDING" }

local function need_reduction(n)
  local how = n:attr("reduction", "none")
  if PUT[how] or MOST[how] then return how end
  n:fail("reduction must be none, add, max or min, got %s", core.printable(tostring(how)))
end

-- x with the greatest, or the least, of what it has and what is put there, at places of its
-- elements in order. The numbers of the updates are put in the order of their values, so that of
-- several for one place the last one stays.
local function put_most(x, at, updates, how)
  local count, flat = values.count(updates.shape), reshape(x, { values.count(x.shape) })
  local u = reshape(updates, { count })
  local order = op.argsort(u, { axis = 0, direction = MOST[how] })
  local none = values.expand(values.array({ -1 }, "int32"), flat.shape)
  local who = op.tensor_scatter_nd_update(none,
    reshape(op.gather(reshape(at, { count }), order, { axis = 0 }), { count, 1 }), order)
  local is_put = op.greater_equal(who, 0)
  local put = op.gather(u, op.where(is_put, who, op.subtract(who, who)), { axis = 0 })
  local better = how == "max" and op.maximum(flat, put) or op.minimum(flat, put)
  return reshape(op.where(is_put, better, flat), x.shape)
end

-- Places of elements in order, of the places along each axis of a list.
local function flat_places(list, shape)
  local sum
  for i, each in ipairs(list) do
    local step = values.scalar(values.count(shape, i + 1), "int64")
    local part = op.multiply(cast(each, "int64"), step)
    sum = sum and op.add(sum, part) or part
  end
  return sum
end

function ops.ScatterND(n, x, indices, updates)
  local how, index = need_reduction(n), tuples(n, indices, x.shape, 0)
  if PUT[how] then return op[PUT[how]](x, index, updates) end
  local width, s, list = indices.shape[#indices.shape], x.shape, {}
  for k = 1, width do list[k] = values.slice(index, #index.shape - 1, k - 1, 1) end
  local rest = n:times(values.count(s, width + 1), "the extents of a part")
  local at = op.add(reshape(flat_places(list, s), { values.count(index.shape) / width, 1 }),
    values.array(values.steps(rest), "int64"))
  return put_most(x, at, updates, how)
end

function ops.ScatterElements(n, x, indices, updates)
  local how, s = need_reduction(n), indices.shape
  local axis = n:axis(n:attr("axis", 0), #x.shape)
  local index = from_zero(n, indices, x.shape[axis + 1], "indices")
  local list, one = {}, { unpack(s) }
  one[#one + 1] = 1
  for i = 1, #s do list[i] = i == axis + 1 and index or places(n, s, i - 1) end
  if MOST[how] then return put_most(x, flat_places(list, x.shape), updates, how) end
  for i, each in ipairs(list) do list[i] = reshape(each, one) end
  return op[PUT[how]](x, values.concat(list, #s), updates)
end
ops.Scatter = ops.ScatterElements

return ops
