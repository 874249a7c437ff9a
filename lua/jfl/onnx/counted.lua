-- Tensors of which numbers say how long an axis is, such as what NonZero gives. jfl has them at a
-- bound, the longest that they may be, with a count of how much of it is there; what stands behind
-- the count is left out where elements of that axis meet, and when a job gives the result.
local call = require "jfl.op.call"
local core = require "jfl.core"
local trace = require "jfl.job.trace"
local values = require "jfl.onnx.values"

local op, reshape = call.op, values.reshape

local counted = {}

local WEAK = { __mode = "k" }

-- By tensor: { axis, count }, the axis from 0.
local marks = setmetatable({}, WEAK)
counted.marks = marks

-- What was made of a tensor, by the tensor and a key.
local made = setmetatable({}, WEAK)

--- What make() gives for a tensor and a key, made once: so equal counts are one blob.
function counted.once(x, key, make)
  made[x] = made[x] or {}
  made[x][key] = made[x][key] or make()
  return made[x][key]
end

--- x, of which so many are there along an axis: a number without axes of int64. Where that is known
-- x is cut at once.
function counted.make(x, axis, count)
  if values.is_known(count) then return values.slice(x, axis, 0, values.list(count)[1]) end
  marks[x] = { axis = axis, count = count }
  return x
end

--- A result of a body, which the job then gives without what stands behind the count.
function counted.result(x, blob)
  local context, mark = trace.current, marks[x]
  if mark then
    context.cuts = context.cuts or {}
    context.cuts[blob] = { axis = mark.axis, count = core.op("identity")(mark.count) }
  end
  return blob
end

--- Which elements along the marked axis are there, as int8 that broadcasts to x.
function counted.there(x, mark)
  local shape, bound = values.fill(#x.shape, 1), x.shape[mark.axis + 1]
  shape[mark.axis + 1] = bound
  return reshape(op.less(values.ramp(bound), mark.count), shape)
end

--- x with a number in the place of what is not there.
function counted.filled(x, number)
  local mark = marks[x]
  if not mark then return x end
  return values.cast(op.where(counted.there(x, mark), x, values.scalar(number, x.dtype)), x.dtype)
end

--- The smaller one of a count and a number.
function counted.least(count, number)
  return counted.once(count, number, function()
    return values.cast(op.minimum(count, values.scalar(number, "int64")), "int64")
  end)
end

--- How many of a list of int8 are 1, and the places of these, in order, before those of the others.
function counted.places(flags)
  local count = reshape(op.reduce_sum(values.cast(flags, "int64"), { axis = { 0 } }), {})
  return count, op.argsort(flags, { axis = 0, direction = "DESCENDING" })
end

--- How many of a tensor's elements in order are other than 0, and there, and their places.
function counted.nonzero(x)
  return unpack(counted.once(x, "nonzero", function()
    local flags = op.not_equal(x, values.scalar(0, x.dtype))
    if marks[x] then flags = op.logical_and(flags, counted.there(x, marks[x])) end
    return { counted.places(reshape(flags, { values.count(x.shape) })) }
  end))
end

--- Scores of which those that are not there are below all others.
function counted.scores(x) return counted.filled(x, -math.huge) end

return counted
