-- How ops go on with tensors of which numbers say how long an axis is (onnx/counted.lua): along
-- which axis their results are marked, and what is neutral where the axis goes.
local call = require "jfl.op.call"
local core = require "jfl.core"
local counted = require "jfl.onnx.counted"
local values = require "jfl.onnx.values"

local op, reshape = call.op, values.reshape
local marks, there, filled, least = counted.marks, counted.there, counted.filled, counted.least

-- By array that was made of the shape of such a tensor: the counts of those of its numbers that are
-- bounds.
local ties = setmetatable({}, { __mode = "k" })

local rules = {}

local function refuse(n)
  n:fail("the extent of its input depends on numbers, along an axis that it does not keep")
end

-- The result, marked as x is, but along another axis.
local function along(n, y, mark, axis, count)
  if not axis or axis < 0 then refuse(n) end
  return counted.make(y, axis, count or mark.count)
end

-- The first of several tensors that is marked, and its mark.
local function first_of(...)
  for i = 1, select("#", ...) do
    local x = (select(i, ...))
    if marks[x or 0] then return x, marks[x] end
  end
end

-- Fails where two tensors are marked along axes that are not the same counted from the end.
local function check_alike(n, ...)
  local x, mark = first_of(...)
  for i = 1, select("#", ...) do
    local other = (select(i, ...))
    local own = marks[other or 0]
    if own and own.axis - #other.shape ~= mark.axis - #x.shape then refuse(n) end
  end
  return x, mark
end

-- Axes that are the same counted from the end.
local function from_end(n, run, ...)
  local x, mark = check_alike(n, ...)
  local results = { run(n, ...) }
  for i, y in ipairs(results) do
    results[i] = along(n, y, mark, mark.axis - #x.shape + #y.shape)
  end
  return unpack(results)
end

for name in ([[Abs Add And Cast CastLike Ceil Clip Cos Div Dropout Elu Equal Erf Exp Expand Floor
  Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsNaN LeakyRelu Less LessOrEqual Log
  Max Min Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Sigmoid Sign Sin Softplus Sqrt Sub Tanh
  Where Xor]]):gmatch "%S+" do
  rules[name] = from_end
end

-- Ops that compute along one axis, and each place along the others by itself; where `behind` says
-- so they compute along all axes from that one on.
local function beside(default, behind)
  return function(n, run, x, ...)
    local mark, axis = marks[x], n:axis(n:attr("axis", default), #x.shape)
    if not mark or mark.axis == axis or (mark.axis > axis and behind(n)) then refuse(n) end
    return from_end(n, run, x, ...)
  end
end
local function before_13(n) return n.opset < 13 end
rules.Softmax, rules.LogSoftmax = beside(-1, before_13), beside(-1, before_13)
rules.LayerNormalization = beside(-1, function() return true end)
rules.Split = beside(0, function() return false end)
rules.GatherElements = function(n, run, x, index)
  if not marks[index] or marks[x] then refuse(n) end
  return along(n, run(n, x, index), marks[index], marks[index].axis)
end

-- Ops on samples, which lie along the first axis.
for name in ([[AveragePool BatchNormalization Conv ConvTranspose Gemm GlobalAveragePool
  MatMul MaxPool Resize]]):gmatch "%S+" do
  rules[name] = function(n, run, x, ...)
    local mark = marks[x]
    if not mark or mark.axis ~= 0 or #x.shape < 2 or n:flag "transA" then refuse(n) end
    return along(n, run(n, x, ...), mark, 0)
  end
end

function rules.RoiAlign(n, run, x, rois, samples)
  if marks[x] then refuse(n) end
  return along(n, run(n, x, rois, samples), marks[rois] or marks[samples], 0)
end

-- ---- moves ----

-- Views keep an axis with what stands before it, or make one of it and of those behind it.
local function view(n, run, x, ...)
  local mark, y = marks[x], run(n, x, ...)
  local before, bound = values.count(x.shape, 1, mark.axis), x.shape[mark.axis + 1]
  for i, extent in ipairs(y.shape) do
    if extent > 0 and extent % bound == 0 and values.count(y.shape, 1, i - 1) == before then
      local times = extent / bound
      return along(n, y, mark, i - 1, times > 1 and op.multiply(mark.count, times))
    end
  end
  refuse(n)
end
rules.Reshape, rules.Squeeze, rules.Unsqueeze, rules.Flatten = view, view, view, view

function rules.Transpose(n, run, x)
  local mark, perm = marks[x], n:attr "perm"
  local y, axis = run(n, x), #x.shape - 1 - marks[x].axis
  for i, from in ipairs(perm or {}) do
    if from == mark.axis then axis = i - 1 end
  end
  return along(n, y, mark, axis)
end

-- Of the marked axis the beginning may be taken.
function rules.Slice(n, run, x, starts, ends, axes, steps)
  local mark, y, is_old = marks[x], run(n, x, starts, ends, axes, steps), n.opset < 10
  local from = is_old and n:need "starts" or n:list(starts, "starts")
  local to = is_old and n:need "ends" or n:list(ends, "ends")
  local on = is_old and n:attr "axes" or n:list(axes, "axes")
  local by = n:list(steps, "steps")
  local most = y.shape[mark.axis + 1]
  for i = 1, #from do
    local is_own = n:axis(on and on[i] or i - 1, #x.shape) == mark.axis
    if is_own and (from[i] ~= 0 or to[i] < 0 or (by and by[i] ~= 1)) then refuse(n) end
  end
  if most == x.shape[mark.axis + 1] then return along(n, y, mark, mark.axis) end
  return along(n, y, mark, mark.axis, least(mark.count, most))
end

function rules.Gather(n, run, x, index)
  local y, axis = run(n, x, index), n:axis(n:attr("axis", 0), #x.shape)
  local own, by = marks[x], marks[index]
  if by and (not own or own.axis == axis) then return along(n, y, by, axis + by.axis) end
  if by then refuse(n) end
  if own.axis == axis then return y end
  return along(n, y, own, own.axis < axis and own.axis or own.axis - 1 + #index.shape)
end

function rules.GatherND(n, run, x, index)
  local mark = marks[index]
  if not mark or mark.axis == #index.shape - 1 or n:attr("batch_dims", 0) > 0 then refuse(n) end
  return along(n, run(n, x, index), mark, mark.axis)
end

-- Updates that are not there go to a place behind the last, which is cut off.
function rules.ScatterElements(n, run, x, index, updates)
  local axis, mark, own = n:axis(n:attr("axis", 0), #x.shape), marks[index], marks[x]
  local extent, paddings = x.shape[axis + 1], {}
  if not mark then return along(n, run(n, x, index, updates), own or refuse(n), own.axis) end
  for i = 1, 2 * #x.shape do paddings[i] = i == 2 * axis + 2 and 1 or 0 end
  index = op.where(there(index, mark), values.cast(index, "int64"), extent)
  local y = values.slice(run(n, op.pad(x, { paddings = paddings }), values.cast(index, "int64"),
    updates), axis, 0, extent)
  return own and along(n, y, own, own.axis) or y
end

-- How many elements of all of a list of tensors are there along an axis, and their places in the
-- tensors one behind the other, before those of the elements that are not there.
local function joined(axis, ...)
  local parts, first, key = { ... }, nil, {}
  for i, part in ipairs(parts) do
    local count = marks[part] and marks[part].count
    first = first or count
    key[i] = part.shape[axis + 1] .. " " .. tostring(count)
  end
  return unpack(counted.once(first, table.concat(key, ","), function()
    for i, part in ipairs(parts) do
      local extent = part.shape[axis + 1]
      parts[i] = marks[part] and reshape(there(part, marks[part]), { extent })
        or values.expand(values.array({ 1 }, "int8"), { extent })
    end
    return { counted.places(values.concat(parts, 0)) }
  end))
end

-- Along the marked axis what is there of each is brought together.
function rules.Concat(n, run, ...)
  local x, mark = check_alike(n, ...)
  local axis, y = n:axis(n:need "axis", #x.shape), run(n, ...)
  if mark.axis ~= axis then return along(n, y, mark, mark.axis) end
  local count, order = joined(axis, ...)
  return counted.make(op.gather(y, order, { axis = axis }), axis, count)
end

-- ---- reductions ----

local LOWEST = { int8 = -2 ^ 7, uint8 = 0, int32 = -2 ^ 31, int64 = -2 ^ 53 }
local HIGHEST = { int8 = 2 ^ 7 - 1, uint8 = 2 ^ 8 - 1, int32 = 2 ^ 31 - 1, int64 = 2 ^ 53 }

local function lowest(x) return filled(x, LOWEST[x.dtype] or -math.huge) end
local function highest(x) return filled(x, HIGHEST[x.dtype] or math.huge) end

-- What is not there is neutral where the marked axis goes.
local function reduction(neutral)
  return function(n, run, x, axes)
    local mark, s = marks[x], x.shape
    local list = axes and n:list(axes, "axes") or n:attr "axes"
    local gone = not list or #list == 0
    if gone and n:flag "noop_with_empty_axes" then return from_end(n, run, x, axes) end
    local before = 0
    for _, axis in ipairs(list or {}) do
      local place = n:axis(axis, #s)
      gone = gone or place == mark.axis
      if place < mark.axis then before = before + 1 end
    end
    if gone then return run(n, neutral(x), axes) end
    return along(n, run(n, x, axes), mark,
      mark.axis - (n:flag("keepdims", true) and 0 or before))
  end
end
rules.ReduceMax, rules.ReduceMin = reduction(lowest), reduction(highest)
rules.ReduceSum = reduction(function(x) return filled(x, 0) end)

function rules.TopK(n, run, x, k)
  local mark, axis = marks[x], n:axis(n:attr("axis", -1), #x.shape)
  if axis ~= mark.axis then return from_end(n, run, x, k) end
  local a, b = run(n, (n:flag("largest", true) and lowest or highest)(x), k)
  local count = least(mark.count, a.shape[axis + 1])
  return along(n, a, mark, axis, count), along(n, b, mark, axis, count)
end

-- ---- shapes ----

-- The shape is that of the bound; what is made of it has the count where it has that extent.
local function shape_of(n, run, x)
  local y = run(n, x)
  ties[y] = { [x.shape[marks[x].axis + 1]] = marks[x].count }
  return y
end
rules.Shape, rules.Size = shape_of, shape_of

-- These ask for what is there themselves.
local function plain(n, run, ...) return run(n, ...) end
rules.NonZero, rules.Compress, rules.NonMaxSuppression = plain, plain, plain

-- The counts by their bounds that arrays among these are tied to, or nil.
local function tied(n, inputs, n_inputs)
  local all
  for i = 1, n_inputs do
    for bound, count in pairs(ties[inputs[i] or 0] or {}) do
      all = all or {}
      if all[bound] and all[bound] ~= count then
        n:fail("two extents that may be %d depend on numbers", bound)
      end
      all[bound] = count
    end
  end
  return all
end

local MOST_NUMBERS = 16          -- of an array that may be a shape

-- Ops whose results are as long as numbers among their inputs say.
local SHAPED = { ConstantOfShape = true, Expand = true, Range = true, Slice = true, Tile = true,
  TopK = true }

-- Ties a result that is an array of numbers, and marks one that has an extent of a bound.
local function tie(n, y, counts)
  local axis
  if core.type(y) ~= "array" and core.type(y) ~= "blob" or marks[y] then return end
  for i, extent in ipairs(SHAPED[n.of.op] and y.shape or {}) do
    if counts[extent] and extent > 1 then
      if axis then n:fail("two of its extents may be %d, which depends on numbers", extent) end
      axis = i - 1
    end
  end
  if axis then
    counted.make(y, axis, counts[y.shape[axis + 1]])
  elseif values.is_known(y) and values.count(y.shape) <= MOST_NUMBERS then
    local own = {}
    for _, number in ipairs(values.list(y)) do own[number] = counts[number] end
    ties[y] = own
  end
end

local counted_rules = {}

--- Whether one of a node's inputs is such a tensor.
function counted_rules.any(inputs, n) return first_of(unpack(inputs, 1, n)) ~= nil end

--- What run(node, ...) gives for a node's inputs, with the marks that its results have then.
function counted_rules.run(n, run, inputs, count)
  local results
  if counted_rules.any(inputs, count) then
    local rule = n.of.domain == "" and rules[n.of.op]
    results = { (rule or refuse)(n, run, unpack(inputs, 1, count)) }
  else
    results = { run(n, unpack(inputs, 1, count)) }
  end
  local counts = tied(n, inputs, count)
  for i = 1, counts and #n.of.outputs or 0 do tie(n, results[i], counts) end
  return results
end

return counted_rules
