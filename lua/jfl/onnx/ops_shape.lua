-- ONNX's ops that move elements, make constants and tell shapes.
local call = require "jfl.op.call"
local maths = require "jfl.onnx.ops_math"
local values = require "jfl.onnx.values"

local op, cast, scalar, reshape = call.op, values.cast, values.scalar, values.reshape

local ops = {}

-- ---- constants and shapes ----

local MADE = { value_int = "int64", value_ints = "int64", value_float = "float32",
  value_floats = "float32" }

function ops.Constant(n)
  local value = n:attr "value"
  if value then return value.read() end
  for name, dtype in pairs(MADE) do
    local v = n:attr(name)
    if v and name:find "s$" then return values.array(v, dtype) end
    if v then return scalar(v, dtype) end
  end
  n:fail("its value must be numbers, got %s", n.of.attrs.value_string and "a text"
    or n.of.attrs.sparse_value and "a sparse tensor" or "none")
end

ops.ConstantOfShape = { function(n, shape)
  local list, value = n:list(shape, "the shape"), n:attr "value"
  local one = value and value.read() or scalar(0, "float32")
  if values.count(list) > 2 ^ 28 then
    n:fail("the shape must have at most 2^28 elements, got %g", values.count(list))
  end
  return values.expand(reshape(one, {}), list)
end, static = { 1 } }

function ops.Shape(n, x)
  local shape = x.shape
  local rank = #shape
  local function place(i)
    if i < 0 then i = i + rank end
    return math.max(0, math.min(i, rank))
  end
  local first, last = place(n:attr("start", 0)), place(n:attr("end", rank))
  return values.array({ unpack(shape, first + 1, last) }, "int64")
end

function ops.Size(_, x) return scalar(values.count(x.shape), "int64") end

ops.Range = { function(n, start, limit, delta)
  local from, to = n:number(start, "start"), n:number(limit, "limit")
  local step = n:number(delta, "delta")
  local count = math.max(0, math.ceil((to - from) / step))
  if step == 0 then n:fail("delta must be another number, got 0") end
  n:check(count == count and count <= 2 ^ 26, "there must be at most 2^26 numbers, got %g", count)
  local list = {}
  for i = 1, count do list[i] = from + (i - 1) * step end
  return values.array(list, start.dtype)
end, static = { 1, 2, 3 } }

-- The windows of signals: sums of cosines.
for name, shares in pairs { HannWindow = { 0.5, 0.5, 0 }, HammingWindow = { 25 / 46, 21 / 46, 0 },
  BlackmanWindow = { 0.42, 0.5, 0.08 } } do
  ops[name] = { function(n, size)
    local count, list = n:times(n:number(size, "the size"), "the size"), {}
    local turn = 2 * math.pi / (n:flag("periodic", true) and count or count - 1)
    for i = 0, count - 1 do
      list[i + 1] = shares[1] - shares[2] * math.cos(i * turn) + shares[3] * math.cos(2 * i * turn)
    end
    return values.array(list, (maths.dtype_of(n, n:attr("output_datatype", 1))))
  end, static = { 1 } }
end

function ops.EyeLike(n, x)
  local rows, columns, k = x.shape[1], x.shape[2], n:attr("k", 0)
  local dtype = n:attr "dtype" and maths.dtype_of(n, n:attr "dtype") or x.dtype
  local list = {}
  n:times(rows * columns, "the number of elements")
  for i = 0, rows - 1 do
    for j = 0, columns - 1 do list[#list + 1] = j - i == k and 1 or 0 end
  end
  return values.array(list, dtype, { rows, columns })
end

-- ---- shapes ----

-- The extents that a Reshape asks for: -1 stands for what is left, 0 for the input's own.
local function reshaped(n, list, own)
  local shape, open, rest = {}, nil, 1
  for i, extent in ipairs(list) do
    if extent == 0 and not n:flag "allowzero" then extent = own[i] or 0 end
    if extent == -1 then open = i else rest = rest * extent end
    shape[i] = extent
  end
  if open then shape[open] = rest == 0 and 0 or values.count(own) / rest end
  return shape
end

ops.Reshape = { function(n, x, shape)
  return reshape(x, reshaped(n, n:list(shape, "the shape"), x.shape))
end, static = { 2 } }

function ops.Flatten(n, x)
  local s = x.shape
  local axis = n:attr("axis", 1)
  if axis < 0 then axis = axis + #s end
  return reshape(x, { values.count(s, 1, axis), values.count(s, axis + 1) })
end

-- The axes of an op that took them as an attribute before opset 13.
local function axes_of(n, axes)
  if n.opset < 13 then return n:attr "axes" end
  return n:list(axes, "axes")
end

ops.Squeeze = { function(n, x, axes)
  local s, list, out = x.shape, axes_of(n, axes), {}
  local gone = {}
  for _, axis in ipairs(list and n:axes(list, #s) or {}) do
    if s[axis + 1] ~= 1 then n:fail("axis %d must have extent 1, got %d", axis, s[axis + 1]) end
    gone[axis + 1] = true
  end
  for i, extent in ipairs(s) do
    if list and not gone[i] or not list and extent ~= 1 then out[#out + 1] = extent end
  end
  return reshape(x, out)
end, static = { 2 } }

ops.Unsqueeze = { function(n, x, axes)
  local list = axes_of(n, axes) or n:fail("axes are missing")
  local rank = #x.shape + #list
  local new, out, from = {}, {}, 1
  for _, axis in ipairs(n:axes(list, rank)) do new[axis + 1] = true end
  for i = 1, rank do
    if new[i] then out[i] = 1 else out[i], from = x.shape[from], from + 1 end
  end
  return reshape(x, out)
end, static = { 2 } }

function ops.Transpose(n, x)
  local perm = n:attr "perm"
  if not perm then
    perm = {}
    for i = 1, #x.shape do perm[i] = #x.shape - i end
  end
  return values.transpose(x, perm)
end

ops.Expand = { function(n, x, shape)
  local full = values.broadcast(x.shape, n:list(shape, "the shape"))
  return values.expand(x, full or n:fail("x does not broadcast to the shape"))
end, static = { 2 } }

ops.Tile = { function(n, x, repeats)
  return values.flow("op.arrays", "tile")(x, n:list(repeats, "repeats"))
end, static = { 2 } }

function ops.Concat(n, ...)
  local list = { ... }
  local axis = n:axis(n:need "axis", #list[1].shape)
  return values.concat(list, axis)
end

ops.Split = { function(n, x, sizes)
  local axis = n:axis(n:attr("axis", 0), #x.shape)
  local extent = x.shape[axis + 1]
  local list
  if n.opset < 13 then list = n:attr "split" else list = n:list(sizes, "split") end
  local count = n:times(n:attr("num_outputs", #n.of.outputs), "num_outputs", #n.of.outputs)
  if not list then
    list = {}
    local each = math.ceil(extent / count)
    for i = 1, count do list[i] = math.max(0, math.min(each, extent - (i - 1) * each)) end
  end
  local out, first = {}, 0
  for i, size in ipairs(list) do
    out[i], first = values.slice(x, axis, first, size), first + size
  end
  return unpack(out)
end, static = { 2 } }

-- ---- slices ----

local function slice_range(n, first, last, step, extent)
  if step == 0 then n:fail("a step must not be 0") end
  local function place(i, low, high)
    if i < 0 then i = i + extent end
    return math.max(low, math.min(i, high))
  end
  if step > 0 then first, last = place(first, 0, extent), place(last, 0, extent)
  else first, last = place(first, 0, extent - 1), place(last, -1, extent - 1) end
  return first, step, math.max(0, math.ceil((last - first) / step))
end

ops.Slice = { function(n, x, starts, ends, axes, steps)
  local s = x.shape
  local from, to, along, by
  if n.opset < 10 then
    from, to, along = n:need "starts", n:need "ends", n:attr "axes"
  else
    from, to = n:list(starts, "starts"), n:list(ends, "ends")
    along, by = n:list(axes, "axes"), n:list(steps, "steps")
  end
  local begin, step, size, plain = {}, {}, {}, true
  for i, extent in ipairs(s) do begin[i], step[i], size[i] = 0, 1, extent end
  for i = 1, #from do
    local k = n:axis(along and along[i] or i - 1, #s) + 1
    begin[k], step[k], size[k] = slice_range(n, from[i], to[i], by and by[i] or 1, s[k])
    plain = plain and step[k] == 1
    if size[k] == 0 then begin[k], step[k] = 0, 1 end
  end
  if plain then return op.slice(x, { begin = begin, size = size }) end
  return op.strided_slice(x, { begin = begin, step = step, size = size })
end, static = { 2, 3, 4, 5 } }

-- ---- order ----

ops.TopK = { function(n, x, k)
  local axis = n:axis(n:attr("axis", -1), #x.shape)
  local count = n.opset < 10 and n:need "k" or n:number(k, "k")
  local index
  if n:flag("largest", true) then
    index = op.top_k(x, { axis = axis, k = count, sorted = true })
  else
    index = values.slice(op.argsort(x, { axis = axis, direction = "ASCENDING" }), axis, 0, count)
  end
  return op.dim_gather(x, index, { dim = axis }), cast(index, "int64")
end, static = { 2 } }

ops.OneHot = { function(n, indices, depth, range)
  local count = n:number(depth, "depth")
  local off = reshape(values.slice(range, 0, 0, 1), {})
  local on = reshape(values.slice(range, 0, 1, 1), {})
  local i = cast(indices, "int64")
  i = op.where(op.less(i, 0), op.add(i, count), i)
  local inside = op.logical_and(op.greater_equal(i, 0), op.less(i, count))
  i = op.where(inside, i, op.subtract(i, i))
  local axis = n:attr("axis", -1)
  if axis < 0 then axis = axis + #indices.shape + 1 end
  local hot = op.one_hot(i, { depth = count, axis = axis, dtype = "int32" })
  local s = { unpack(indices.shape) }
  table.insert(s, axis + 1, 1)
  return op.where(op.logical_and(op.equal(hot, 1), reshape(inside, s)), on, off)
end, static = { 2 } }

ops.Trilu = { function(n, x, k)
  local diagonal = n:number(k, "k") or 0
  if n:flag("upper", true) then return op.triu(x, { diagonal = diagonal }) end
  return op.tril(x, { diagonal = diagonal })
end, static = { 2 } }

-- ---- borders ----

local MODES = { constant = "constant", reflect = "reflect", edge = "replicate", wrap = "circular" }

-- before and after each axis; what is negative cuts.
local function pad(n, x, sides, mode, number)
  local begin, size, paddings, cuts, pads = {}, {}, {}, false, false
  for i, extent in ipairs(x.shape) do
    local before, after = sides[2 * i - 1], sides[2 * i]
    begin[i] = math.max(0, -before)
    size[i] = extent - begin[i] - math.max(0, -after)
    paddings[2 * i - 1], paddings[2 * i] = math.max(0, before), math.max(0, after)
    cuts, pads = cuts or before < 0 or after < 0, pads or before > 0 or after > 0
  end
  if cuts then x = op.slice(x, { begin = begin, size = size }) end
  if not pads then return x end
  return op.pad(x, { paddings = paddings, constant_value = number,
    mode = MODES[mode] or n:fail("mode must be constant, reflect, edge or wrap, got %s", mode) })
end
ops.pad = pad

ops.Pad = { function(n, x, pads, value, axes)
  local rank = #x.shape
  local list, number, along
  if n.opset < 11 then list, number = n:need "pads", n:attr("value", 0)
  else list, number, along = n:list(pads, "pads"), n:number(value, "the value") or 0,
    n:list(axes, "axes") end
  local sides, count = values.fill(2 * rank, 0), along and #along or rank
  if #list ~= 2 * count then n:fail("pads must have %d numbers, got %d", 2 * count, #list) end
  for i = 1, count do
    local axis = n:axis(along and along[i] or i - 1, rank)
    sides[2 * axis + 1], sides[2 * axis + 2] = list[i], list[count + i]
  end
  return pad(n, x, sides, n:attr("mode", "constant"), number)
end, static = { 2, 3, 4 } }

ops.CenterCropPad = { function(n, x, shape)
  local rank, sides = #x.shape, values.fill(2 * #x.shape, 0)
  local axes, list = n:attr "axes", n:list(shape, "the shape")
  for i, extent in ipairs(list) do
    local axis = n:axis(axes and axes[i] or i - 1, rank)
    local more = extent - x.shape[axis + 1]
    local before = more < 0 and -math.floor(-more / 2) or math.floor(more / 2)
    sides[2 * axis + 1], sides[2 * axis + 2] = before, more - before
  end
  return pad(n, x, sides, "constant", 0)
end, static = { 2 } }

-- ---- channels and space ----

function ops.DepthToSpace(n, x)
  local s, b = x.shape, n:need "blocksize"
  local c = s[2] / (b * b)
  if n:attr("mode", "DCR") == "DCR" then
    x = values.transpose(reshape(x, { s[1], b, b, c, s[3], s[4] }), { 0, 3, 4, 1, 5, 2 })
  else
    x = values.transpose(reshape(x, { s[1], c, b, b, s[3], s[4] }), { 0, 1, 4, 2, 5, 3 })
  end
  return reshape(x, { s[1], c, s[3] * b, s[4] * b })
end

function ops.SpaceToDepth(n, x)
  local s, b = x.shape, n:need "blocksize"
  x = reshape(x, { s[1], s[2], s[3] / b, b, s[4] / b, b })
  local order = n:attr("mode", "DCR") == "CRD" and { 0, 1, 3, 5, 2, 4 } or { 0, 3, 5, 1, 2, 4 }
  return reshape(values.transpose(x, order),
    { s[1], s[2] * b * b, s[3] / b, s[4] / b })
end

ops.ReverseSequence = { function(n, x, lengths)
  local time, batch, s = n:attr("time_axis", 0), n:attr("batch_axis", 1), x.shape
  local list, index = n:list(lengths, "sequence_lens"), {}
  for i = 1, n:times(s[time + 1] * s[batch + 1], "the number of steps") do
    local t, b
    if time == 0 then t, b = math.floor((i - 1) / s[batch + 1]), (i - 1) % s[batch + 1]
    else b, t = math.floor((i - 1) / s[time + 1]), (i - 1) % s[time + 1] end
    index[i] = t < list[b + 1] and list[b + 1] - 1 - t or t
  end
  local shape = { s[1], s[2] }
  for i = 3, #s do shape[i] = 1 end
  return op.dim_gather(x, values.expand(values.array(index, "int64", shape), s), { dim = time })
end, static = { 2 } }

return ops
