-- How jfl's ops that move elements are written as ONNX: shapes, parts, positions, constants.
local builder = require "jfl.onnx.export_builder"
local core = require "jfl.core"
local extent = require "jfl.onnx.export_extent"

local rows = { varying = {} }            -- varying: attributes that may depend on the batch

local SMALL = 16                         -- elements of a constant that are written one by one

local function varies(op, ...)
  rows.varying[op] = {}
  for _, name in ipairs { ... } do rows.varying[op][name] = true end
end

-- ---- the same elements under another shape ----

local function reshapes(b, n) b:out(n.out, "Reshape", { n:x(1), b:target(n.out.shape) }) end
rows.reshape, rows.flatten = reshapes, reshapes
varies("reshape", "shape")

function rows.expand_dims(b, n)
  b:out(n.out, "Unsqueeze", { n:x(1), b:ints { n.attributes.axis } })
end

function rows.squeeze(b, n)
  local shape, axes = n.inputs[1].shape, {}
  if #shape - #n.out.shape < 1 then return b:alias(n.out, n:x(1)) end
  for i, axis in ipairs(n.attributes.axis) do axes[i] = axis < 0 and axis + #shape or axis end
  for i, e in ipairs(#axes == 0 and shape or {}) do
    if e == 1 then axes[#axes + 1] = i - 1 end
  end
  if #shape - #axes ~= #n.out.shape then return reshapes(b, n) end
  b:out(n.out, "Squeeze", { n:x(1), b:ints(axes) })
end

function rows.transpose(b, n)
  local perm, rank = {}, #n.inputs[1].shape
  for i, axis in ipairs(n.attributes.perm) do perm[i] = axis < 0 and axis + rank or axis end
  for i = 1, #perm == 0 and rank or 0 do perm[i] = rank - i end
  b:out(n.out, "Transpose", { n:x(1) }, { perm = perm })
end

function rows.broadcast_to(b, n)
  b:out(n.out, "Expand", { n:x(1), b:extents(n.out.shape) })
end
varies("broadcast_to", "shape")

local function passes(b, n) b:alias(n.out, n:x(1)) end
rows.identity, rows.stop_gradient, rows.parallel_cast = passes, passes, passes

-- ---- parts ----

local function names_of(n)
  local names = {}
  for i in ipairs(n.inputs) do names[i] = n:x(i) end
  return names
end

function rows.concat(b, n) b:out(n.out, "Concat", names_of(n), { axis = n.attributes.axis }) end

function rows.stack(b, n)
  local names, axis = names_of(n), n.attributes.axis
  axis = axis < 0 and axis + #n.out.shape or axis
  for i, name in ipairs(names) do names[i] = b:op("Unsqueeze", { name, b:ints { axis } }) end
  b:out(n.out, "Concat", names, { axis = axis })
end

function rows.split(b, n)
  local names = {}
  for i, value in ipairs(n.outputs) do names[i] = b:call(value, b:unique(value.name)) end
  b:raw("Split", { n:x(1), b:extents(n.attributes.sizes) }, names, { axis = n.attributes.axis })
end
varies("split", "sizes")

-- A part of x: along each axis that is not taken whole, from begin in steps, so many. Returns the
-- inputs of Slice, or nil where all is taken.
local function slice_inputs(b, x, shape, begin, size, step)
  local from, to, axes, by = {}, {}, {}, {}
  for i, e in ipairs(shape) do
    local s = step and step[i] or 1
    if not (extent.same(size[i], e) and s == 1) then
      local k = #axes + 1
      local last = begin[i] + size[i] * s
      axes[k], from[k], by[k] = i - 1, begin[i], s
      to[k] = extent.same(last, e) and builder.END or last
      if s < 0 and not extent.is(last) and last < 0 then to[k] = -builder.END end
    end
  end
  if #axes == 0 then return nil end
  return { x, b:extents(from), b:extents(to), b:ints(axes), b:ints(by) }
end

local function slices(b, n)
  local a = n.attributes
  local inputs = slice_inputs(b, n:x(1), n.inputs[1].shape, a.begin, n.out.shape, a.step)
  if not inputs then return b:alias(n.out, n:x(1)) end
  b:out(n.out, "Slice", inputs)
end
rows.slice, rows.strided_slice = slices, slices
varies("slice", "begin", "size")
varies("strided_slice", "begin", "size")

--- A part of x along one axis, from begin up to the end before `to`.
function rows.part(b, x, axis, begin, to)
  return b:op("Slice", { x, b:extents { begin }, b:extents { to }, b:ints { axis } })
end

function rows.roll(b, n)
  local x, axis, shift = n:x(1), n.attributes.axis, n.attributes.shift
  local rank = #n.inputs[1].shape
  axis = axis < 0 and axis + rank or axis
  if shift == 0 then return b:alias(n.out, x) end
  local at = n.inputs[1].shape[axis + 1] - shift
  b:out(n.out, "Concat", { rows.part(b, x, axis, at, builder.END), rows.part(b, x, axis, 0, at) },
    { axis = axis })
end

-- The positions in a flat tensor of that shape of a box that begins there, has steps and extents.
local function positions(shape, begin, step, size)
  local list, rank = {}, #shape
  local function go(axis, at)
    if axis > rank then
      list[#list + 1] = at
      return
    end
    for i = 0, size[axis] - 1 do
      go(axis + 1, at * shape[axis] + begin[axis] + i * step[axis])
    end
  end
  go(1, 0)
  return list
end

-- The flat positions are constants, so the shapes must be fixed.
function rows.strided_slice_update(b, n)
  local shape, size, a = n.inputs[1].shape, n.inputs[2].shape, n.attributes
  if extent.varies(shape) then n:refuse("its shape depends on the batch size") end
  local at = positions(shape, a.begin, a.step, size)
  local flat = b:op("Reshape", { n:x(1), b:ints { -1 } })
  local update = b:op("Reshape", { n:x(2), b:ints { -1 } })
  local y = b:op("ScatterElements", { flat, b:ints(at), update }, { axis = 0 })
  b:out(n.out, "Reshape", { y, b:ints(shape) })
end

-- ---- borders ----

local MODES = { constant = "constant", reflect = "reflect", replicate = "edge" }

-- A border of what stands at the other end, one axis after another.
local function pad_circular(b, n)
  local x, shape = n:x(1), { unpack(n.inputs[1].shape) }
  for i = 1, #shape do
    local before, after = n.attributes.paddings[2 * i - 1], n.attributes.paddings[2 * i]
    local pieces = { x }
    if before > 0 then
      table.insert(pieces, 1, rows.part(b, x, i - 1, shape[i] - before, builder.END))
    end
    if after > 0 then pieces[#pieces + 1] = rows.part(b, x, i - 1, 0, after) end
    if #pieces > 1 then x = b:op("Concat", pieces, { axis = i - 1 }) end
  end
  b:alias(n.out, x)
end

function rows.pad(b, n)
  local a, before, after = n.attributes, {}, {}
  if a.mode == "circular" then return pad_circular(b, n) end
  if not MODES[a.mode] then n:refuse(("mode is %s"):format(a.mode)) end
  for i = 1, #a.paddings, 2 do
    before[#before + 1], after[#after + 1] = a.paddings[i], a.paddings[i + 1]
  end
  for _, value in ipairs(after) do before[#before + 1] = value end
  local x = n:x(1)
  local inputs = { x, b:ints(before) }
  if a.mode == "constant" and a.constant_value ~= 0 then inputs[3] = b:like(x, a.constant_value) end
  b:out(n.out, "Pad", inputs, { mode = MODES[a.mode] })
end

-- Whether each element of matrices is kept: as a constant of their rows and columns.
local function kept(b, n, is_kept)
  local shape, list = n.inputs[1].shape, {}
  local height, width = shape[#shape - 1], shape[#shape]
  if extent.varies { height, width } then n:refuse("its matrices depend on the batch size") end
  for i = 0, height - 1 do
    for j = 0, width - 1 do list[#list + 1] = is_kept(i, j) and 1 or 0 end
  end
  return b:constant("bool", { height, width }, list)
end

local function triangle(is_kept, scales)
  return function(b, n)
    local a, x = n.attributes, n:x(1)
    local mask = kept(b, n, function(i, j) return is_kept(j - i, a.diagonal) end)
    if scales and a.scale ~= 1 then x = b:op("Mul", { x, b:like(x, a.scale) }) end
    b:out(n.out, "Where", { mask, x, b:like(x, a.fill_value) })
  end
end
local function is_below(d, diagonal) return d <= diagonal end
rows.tril, rows.fused_scale_tril = triangle(is_below), triangle(is_below, true)
rows.triu = triangle(function(d, diagonal) return d >= diagonal end)

-- ---- positions ----

function rows.gather(b, n)
  local a = n.attributes
  if a.batch_dims == 0 then
    return b:out(n.out, "Gather", { n:x(1), n:x(2) }, { axis = a.axis })
  end
  if a.axis ~= a.batch_dims then n:refuse("batch_dims is neither 0 nor the axis") end
  local index = b:op("Unsqueeze", { b:cast(n:x(2), "int64"), b:ints { -1 } })
  b:out(n.out, "GatherND", { n:x(1), index }, { batch_dims = a.batch_dims })
end

function rows.gather_nd(b, n)
  b:out(n.out, "GatherND", { n:x(1), b:cast(n:x(2), "int64") })
end

function rows.dim_gather(b, n)
  b:out(n.out, "GatherElements", { n:x(1), n:x(2) }, { axis = n.attributes.dim })
end

function rows.dim_scatter_add(b, n)
  b:out(n.out, "ScatterElements", { n:x(1), n:x(2), n:x(3) }, { axis = n.attributes.dim,
    reduction = "add" })
end

-- A tensor filled with a number: a constant where it is small, else made when the file runs.
local function filled(b, dtype, shape, value)
  local count = not extent.varies(shape) and extent.product(shape)
  if count and count <= SMALL then
    local list = {}
    for i = 1, count do list[i] = value end
    return b:constant(dtype, shape, list)
  end
  local one = core.from_table({ value }, dtype)
  return b:op("ConstantOfShape", { b:extents(shape) },
    { value = { tensor = b.as_proto(builder.tensor_of("value", one)) } }, dtype)
end
rows.filled = filled

local function adds_slices(b, n, whole, ids, data)
  b:out(n.out, "ScatterND", { whole, b:cast(ids, "int64"), data }, { reduction = "add" })
end

function rows.scatter_nd(b, n)
  adds_slices(b, n, filled(b, n.out.dtype, n.out.shape, 0), n:x(1), n:x(2))
end
varies("scatter_nd", "shape")
function rows.tensor_scatter_nd_add(b, n) adds_slices(b, n, n:x(1), n:x(2), n:x(3)) end
function rows.tensor_scatter_nd_update(b, n)
  b:out(n.out, "ScatterND", { n:x(1), b:cast(n:x(2), "int64"), n:x(3) })
end

function rows.unsorted_segment_sum(b, n)
  local a = n.attributes
  if a.axis ~= 0 or a.batch_dims ~= 0 or a.ignored ~= -1 then
    n:refuse("axis, batch_dims or ignored is given")
  end
  local ids = b:op("Unsqueeze", { n:x(2), b:ints { -1 } })
  adds_slices(b, n, filled(b, n.out.dtype, n.out.shape, 0), ids, n:x(1))
end

function rows.one_hot(b, n)
  local a = n.attributes
  local values = b:constant(a.dtype, { 2 }, { a.off_value, a.on_value })
  b:out(n.out, "OneHot", { b:cast(n:x(1), "int64"), b:scalar("int64", a.depth), values },
    { axis = a.axis })
end

-- ---- order ----

local function position_of(op_type)
  return function(b, n)
    local at = b:op(op_type, { n:x(1) }, { axis = n.attributes.axis, keepdims = 0 })
    if #n.inputs[1].shape - 1 < #n.out.shape then at = b:reshape(at, n.out.shape) end
    b:out(n.out, "Cast", { at }, { to = builder.TYPES.int32 })
  end
end
rows.argmax, rows.argmin = position_of("ArgMax"), position_of("ArgMin")

-- The elements of x in order along its axis, and where they were; count: how many of them.
local function ordered(b, n, largest, count)
  local axis = n.attributes.axis
  local e = count or n.inputs[1].shape[axis < 0 and axis + #n.inputs[1].shape + 1 or axis + 1]
  return b:outs("TopK", { n:x(1), b:extents { e } }, { axis = axis, largest = largest, sorted = 1 },
    { n.inputs[1].dtype, "int64" })
end
local function descends(n) return n.attributes.direction == "DESCENDING" and 1 or 0 end

function rows.sort(b, n) b:alias(n.out, ordered(b, n, descends(n))[1]) end
function rows.argsort(b, n)
  b:out(n.out, "Cast", { ordered(b, n, descends(n))[2] }, { to = builder.TYPES.int32 })
end
function rows.top_k(b, n)
  b:out(n.out, "Cast", { ordered(b, n, 1, n.attributes.k)[2] }, { to = builder.TYPES.int32 })
end

function rows.cumsum(b, n)
  local a = n.attributes
  b:out(n.out, "CumSum", { n:x(1), b:scalar("int64", a.axis) }, { exclusive = a.exclusive,
    reverse = a.reverse })
end

-- ---- constants ----

local function fills(value)
  return function(b, n)
    local number = value or n.attributes.value
    b:alias(n.out, filled(b, n.out.dtype, n.out.shape, number))
  end
end
rows.constant, rows.zeros, rows.ones = fills(), fills(0), fills(1)
rows.zeros_like, rows.ones_like = fills(0), fills(1)
varies("constant", "shape")
varies("zeros", "shape")
varies("ones", "shape")

function rows.array(b, n)
  b:call(n.out, b:tensor(b:unique(n.out.name),
    builder.tensor_of(nil, n.attributes.value)))
end

return rows
