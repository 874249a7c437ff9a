-- Functions on shapes and indices that are made of ops.
---@flow experimental.square_sum
---@box broadcast_like constant_like constant_scalar count_not_finite dim_gather dim_scatter_add
---@box elem_cnt identity_n linspace masked_fill math.broadcast_to_compatible_with math.in_top_k
---@box math.reduced_shape_elem_cnt math.unsorted_batch_segment_sum math.unsorted_segment_sum_like
---@box meshgrid moveaxis multi_count_not_finite nn.embedding range repeat_interleave reshape_like
---@box swapaxes tile
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"

local op, define = call.op, tensors.define

-- ---- shapes ----

define("reshape_like", "x under the shape of like.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "like", "what has that shape", type = "Tensor" },
}, function(o)
  return op.reshape(o.x, o.like.shape, { name = o.name })
end)

-- Moves the axes `from` of x to the places `to`; the others keep their order.
local function moved(x, from, to, name)
  local n, perm, taken, k = #x.shape, {}, {}, 1
  for i, axis in ipairs(from) do perm[to[i]], taken[axis] = axis - 1, true end
  for i = 1, n do
    if not taken[i] then
      while perm[k] do k = k + 1 end
      perm[k] = i - 1
    end
  end
  return (op.transpose(x, perm, { name = name }))
end

define("moveaxis", "x with some axes at other places; the rest keep their order.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "source", "an axis or a list of them", type = "integer|integer[]" },
  { "destination", "where each stands in the result", type = "integer|integer[]" },
}, function(o, who)
  local rank = #o.x.shape
  local from = tensors.axes(who, "source", o.source, rank)
  local to = tensors.axes(who, "destination", o.destination, rank)
  args.check(#from == #to, "%s: destination must have %d axes like source, got %d", who, #from, #to)
  return moved(o.x, from, to, o.name)
end)

define("swapaxes", "x with two axes in each other's place.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "dim0", "one axis", type = "integer" },
  { "dim1", "the other", type = "integer" },
}, function(o, who)
  local perm = {}
  local rank = #o.x.shape
  local a = tensors.axis(who, "dim0", o.dim0, rank)
  local b = tensors.axis(who, "dim1", o.dim1, rank)
  for i = 1, rank do perm[i] = i - 1 end
  perm[a], perm[b] = b - 1, a - 1
  return op.transpose(o.x, perm, { name = o.name })
end)

define("tile", "x repeated as a whole along its axes.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "reps", "how often along each axis; more numbers than axes add axes in front",
    type = "integer|integer[]" },
}, function(o)
  local shape = o.x.shape
  local reps = { unpack(tensors.integers("tile", "reps", o.reps, 0)) }
  while #shape < #reps do table.insert(shape, 1, 1) end
  while #reps < #shape do table.insert(reps, 1, 1) end
  local parts, all, result = {}, {}, {}
  for i, n in ipairs(shape) do
    parts[2 * i - 1], parts[2 * i] = 1, n
    all[2 * i - 1], all[2 * i] = reps[i], n
    result[i] = reps[i] * n
  end
  -- axes that are not repeated need no pair of their own
  for i = #shape, 1, -1 do
    if reps[i] == 1 then
      table.remove(parts, 2 * i - 1)
      table.remove(all, 2 * i - 1)
    elseif shape[i] == 1 then
      table.remove(parts, 2 * i)
      table.remove(all, 2 * i)
    end
  end
  return op.reshape(op.broadcast_to(op.reshape(o.x, parts), all), result, { name = o.name })
end)

define("repeat_interleave", "x with each element repeated in its place along an axis.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "repeats", "how often", type = "integer", least = 0 },
  { "axis", "the axis; without it x is one line", args.none, type = "integer" },
}, function(o, who)
  local x = o.x
  local times = o.repeats
  if o.axis == nil then x = op.reshape(x, { -1 }) end
  local shape = x.shape
  local i = o.axis == nil and 1 or tensors.axis(who, "axis", o.axis, #shape)
  local one, all = { unpack(shape) }, { unpack(shape) }
  table.insert(one, i + 1, 1)
  table.insert(all, i + 1, times)
  shape[i] = shape[i] * times
  return op.reshape(op.broadcast_to(op.reshape(x, one), all), shape, { name = o.name })
end)

define("broadcast_like", "x repeated to the shape of like.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "like", "what has that shape", type = "Tensor" },
  { "broadcast_axes", "the axes of like that x lacks or has with extent 1; without them the "
    .. "extents agree from the right", args.none, type = "integer|integer[]" },
}, function(o, who)
  local x, to = o.x, o.like.shape
  if o.broadcast_axes ~= nil and #x.shape < #to then
    local shape = x.shape
    local axes = tensors.axes(who, "broadcast_axes", o.broadcast_axes, #to)
    if #axes ~= #to - #shape then
      core.fail("%s: broadcast_axes must name the %d axes of like that x %s lacks, got %d", who,
        #to - #shape, args.shape_text(shape), #axes)
    end
    table.sort(axes)
    for _, i in ipairs(axes) do table.insert(shape, i, 1) end
    x = op.reshape(x, shape)
  end
  return op.broadcast_to(x, to, { name = o.name })
end)

define("math.broadcast_to_compatible_with", "x repeated to the shape that it and all of "
  .. "compatible broadcast to.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "compatible", "a list of blobs or NdArrays", type = "Tensor[]" },
}, function(o, who)
  local shapes = { o.x.shape }
  for i, like in ipairs(tensors.need_list(who, "compatible", o.compatible)) do
    shapes[i + 1] = like.shape
  end
  return op.broadcast_to(o.x, tensors.broadcast(who, shapes), { name = o.name })
end)

args.define("meshgrid", "Two or more lines as the coordinates of a grid: a list with a tensor of "
  .. "the grid's shape for each.", {
  { "tensors", "a list of blobs or NdArrays of one axis", type = "Tensor[]" },
  { "indexing", "ij: the first line runs along axis 0; xy: along axis 1", "ij",
    words = { "ij", "xy" } },
  returns = "Tensor[]",
}, function(o, who)
  local shape = {}
  local list = tensors.need_list(who, "tensors", o.tensors)
  local function place(i) return o.indexing == "xy" and i <= 2 and #list > 1 and 3 - i or i end
  for i, line in ipairs(list) do
    args.fits(#line.shape == 1, line.shape, "%s: tensors[%d] must have one axis, got", who, i)
    shape[place(i)] = line.shape[1]
  end
  local grids = {}
  for i, line in ipairs(list) do
    local one = {}
    for j = 1, #list do one[j] = j == place(i) and line.shape[1] or 1 end
    grids[i] = op.broadcast_to(op.reshape(line, one), shape)
  end
  return grids
end)

args.define("identity_n", "The inputs themselves, as a list.", {
  { "inputs", "a list of blobs or NdArrays", type = "Tensor[]" },
  returns = "Tensor[]",
}, function(o)
  local list = {}
  for i, x in ipairs(tensors.need_list("identity_n", "inputs", o.inputs)) do
    list[i] = op.identity(x)
  end
  return list
end)

-- ---- constants ----

define("constant_like", "A tensor of like's shape filled with value.", {
  { "like", "a blob or NdArray", type = "Tensor" },
  { "value", "the number", type = "number" },
  { "dtype", "the dtype; like's unless given", args.none, type = "string" },
}, function(o)
  return op.constant({ value = o.value, dtype = o.dtype or o.like.dtype, shape = o.like.shape,
    name = o.name })
end)

define("constant_scalar", "A number as a tensor of shape (1).", {
  { "value", "the number", type = "number" },
  { "dtype", "its dtype", "float32", type = "string" },
}, function(o)
  return op.constant({ value = o.value, dtype = o.dtype, shape = { 1 }, name = o.name })
end)

define("elem_cnt", "How many elements x has, as a tensor of shape (1).", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "dtype", "the dtype", "int32", type = "string" },
}, function(o)
  local n = args.count(o.x.shape)
  return op.constant({ value = n, dtype = o.dtype, name = o.name })
end)

define("math.reduced_shape_elem_cnt", "How many elements a reduction of x over axes takes "
  .. "together, as a tensor of shape (1).", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "axis", "an axis or a list of them; all unless given", args.none, type = "integer|integer[]" },
  { "dtype", "the dtype", "int32", type = "string" },
}, function(o, who)
  local n = 1
  local shape = o.x.shape
  for _, i in ipairs(tensors.axes(who, "axis", o.axis, #shape)) do n = n * shape[i] end
  return op.constant({ value = n, dtype = o.dtype, name = o.name })
end)

-- A constant of the job, or an array, with n numbers, of which number(i) is the one at i from 0.
local function line_of(who, n, number, dtype, name)
  dtype = args.dtype(who, "dtype", dtype)
  local line = core.array("float64", { n })
  for i = 0, n - 1 do line[i + 1] = number(i) end
  return (op.array({ value = core.cast(line, dtype, true), name = name }))
end

define("range", "Numbers from start to below limit in steps of delta.", {
  { "start", "the first number; where it stands alone, the limit of a range from 0",
    type = "number" },
  { "limit", "the number that is not reached", args.none, type = "number" },
  { "delta", "the step", 1, type = "number" },
  { "dtype", "the dtype", "int32", type = "string" },
}, function(o, who)
  local from, to, step = o.start, o.limit, o.delta
  if to == nil then from, to = 0, from end
  local n = math.ceil((to - from) / step)
  args.check(n >= 0 and n < 2 ^ 31, "%s: delta must lead from %g to %g in less than 2^31 steps, "
    .. "got %g", who, from, to, step)
  return line_of(who, n, function(i) return from + i * step end, o.dtype, o.name)
end)

define("linspace", "num numbers at equal distances, from start to stop.", {
  { "start", "the first number", type = "number" },
  { "stop", "the last", type = "number" },
  { "num", "how many", type = "integer", least = 1 },
  { "dtype", "the dtype", "float32", type = "string" },
}, function(o, who)
  local n = o.num
  if n >= 2 ^ 31 then core.fail("%s: num must be below 2^31, got %g", who, n) end
  local from, to = o.start, o.stop
  return line_of(who, n, function(i)
    local part = n > 1 and i / (n - 1) or 0
    return from * (1 - part) + to * part
  end, o.dtype, o.name)
end)

-- ---- choice ----

define("masked_fill", "x, with value wherever mask is not 0.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "mask", "int8, as comparisons give it; it and x broadcast", type = "Tensor" },
  { "value", "a number, or a tensor of x's dtype", type = "number|Tensor" },
}, function(o)
  return op.where(o.mask, o.value, o.x, { name = o.name })
end)

define("dim_gather", "The elements of input whose position along dim index gives.", {
  { "input", "a blob or NdArray", type = "Tensor" },
  { "dim", "the axis that index counts along", type = "integer" },
  { "index", "int32 or int64, of input's rank; along other axes it has no larger extents",
    type = "Tensor" },
}, function(o)
  return op.dim_gather(o.input, o.index, { dim = o.dim, name = o.name })
end)

define("dim_scatter_add", "input, plus src at the positions along dim that index gives.", {
  { "dim", "the axis that index counts along", type = "integer" },
  { "input", "a blob or NdArray", type = "Tensor" },
  { "index", "int32 or int64, of input's rank; along other axes it has no larger extents",
    type = "Tensor" },
  { "src", "of index's shape and input's dtype", type = "Tensor" },
}, function(o)
  return op.dim_scatter_add(o.input, o.index, o.src, { dim = o.dim, name = o.name })
end)

define("nn.embedding", "Rows of weight by their numbers, such as the vectors of words.", {
  { "input", "the numbers, int32 or int64, of any shape", type = "Tensor" },
  { "weight", "(rows, width)", type = "Tensor" },
  { "padding_idx", "the number of the row that gets no gradient", args.none,
    type = "integer", least = 0 },
}, function(o, who)
  local shape = o.weight.shape
  args.fits(#shape == 2, shape, "%s: weight must have two axes (rows, width), got shape", who)
  return op.gather(o.weight, o.input, { padding_idx = o.padding_idx, name = o.name })
end)

define("math.unsorted_segment_sum_like", "Sums of the slices of data that have the same "
  .. "segment id, as many as like has slices.", {
  { "data", "a blob or NdArray", type = "Tensor" },
  { "segment_ids", "int32 or int64", type = "Tensor" },
  { "like", "what has the result's shape", type = "Tensor" },
  { "axis", "the axis of data that segment_ids start at", 0, type = "integer" },
}, function(o, who)
  local shape = o.like.shape
  local axis = tensors.axis(who, "axis", o.axis, #shape)
  return op.unsorted_segment_sum(o.data, o.segment_ids,
    { num_segments = shape[axis], axis = axis - 1, name = o.name })
end)

define("math.unsorted_batch_segment_sum", "Sums of the slices of data that have the same "
  .. "segment id, for each index of the leading axes by themselves.", {
  { "data", "a blob or NdArray (batch, n, ...)", type = "Tensor" },
  { "segment_ids", "int32 or int64 (batch, n)", type = "Tensor" },
  { "num_segments", "how many sums there are", type = "integer" },
}, function(o)
  local rank = #o.segment_ids.shape
  return op.unsorted_segment_sum(o.data, o.segment_ids,
    { num_segments = o.num_segments, batch_dims = math.max(rank - 1, 0), name = o.name })
end)

define("math.in_top_k", "Whether the prediction of each target is among the k largest of its "
  .. "line: int8. Ties count as among them; what is not finite does not.", {
  { "targets", "class numbers (n), int32 or int64", type = "Tensor" },
  { "predictions", "(n, classes)", type = "Tensor" },
  { "k", "how many", type = "integer", least = 1 },
}, function(o, who)
  local ids, p = o.targets, o.predictions
  local n = p.shape[1]
  if #p.shape ~= 2 or #ids.shape ~= 1 or ids.shape[1] ~= n then
    core.fail("%s: targets must have shape (n) and predictions (n, classes), got %s and %s", who,
      args.shape_text(ids.shape), args.shape_text(p.shape))
  end
  local own = op.dim_gather(p, op.reshape(ids, { n, 1 }), { dim = 1 })
  local above = op.reduce_sum(op.cast(op.greater(p, own), "int32"), 1)
  local line = op.reshape(own, { n })
  local finite = op.equal(op.subtract(line, line), 0)
  return op.logical_and(op.less(above, o.k), finite, { name = o.name })
end)

-- ---- counts ----

local function count(x)
  local off = op.not_equal(op.subtract(x, x), 0)      -- infinity less itself is no number
  return (op.reduce_sum(op.cast(off, "int64")))
end

args.define("count_not_finite", "How many elements of x are infinite or no number: int64 (1).", {
  { "x", "a blob or NdArray", type = "Tensor" },
  returns = "Tensor",
}, function(o) return count(o.x) end)

args.define("multi_count_not_finite", "How many elements of several tensors are infinite or no "
  .. "number: int64 (1).", {
  { "x", "a list of blobs or NdArrays", type = "Tensor[]" },
  returns = "Tensor",
}, function(o)
  local sum
  for _, x in ipairs(tensors.need_list("multi_count_not_finite", "x", o.x)) do
    sum = sum and op.add(sum, count(x)) or count(x)
  end
  return sum
end)

define("experimental.square_sum", "The sum of the squares of x: shape (1).", {
  { "x", "a blob or NdArray", type = "Tensor" },
}, function(o)
  return op.reduce_sum(op.square(o.x), { name = o.name })
end)
