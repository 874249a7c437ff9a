-- Slices with steps, and what is made of them: reversing, rolling, diagonals.
---@flow experimental.logical_slice experimental.logical_slice_assign
---@box chunk diagonal flip=reverse reverse roll slice_update slice_v2 unbind unstack=unbind
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"
local variable = require "jfl.net.variable"

local op, define, NAME = call.op, tensors.define, tensors.NAME

local SLICES = { "slice_tup_list", "for each axis { start, stop, step }, of which stop is left out "
  .. "of the slice; { } takes all of an axis, and axes that are not named are taken whole",
  type = "integer[][]" }

local function bound(who, i, what, value, default, lowest, highest, n)
  if value == nil then return default end
  args.must(type(value) == "number" and value % 1 == 0, value,
    "%s: slice_tup_list: %s of axis %d must be a whole number", who, what, i - 1)
  if value < 0 then value = value + n end
  return math.min(math.max(value, lowest), highest)
end

-- The first index, the step and the number of indices that { start, stop, step } means on axis i of
-- extent n: what Python's slices mean.
local function range_of(who, i, t, n)
  args.must(type(t) == "table" and table.maxn(t) <= 3, t,
    "%s: slice_tup_list: axis %d must have a list { start, stop, step }", who, i - 1)
  local step = t[3] == nil and 1 or t[3]
  args.must(type(step) == "number" and step % 1 == 0 and step ~= 0, step,
    "%s: slice_tup_list: step of axis %d must be a whole number other than 0", who, i - 1)
  local forth = step > 0
  local lowest, highest = forth and 0 or -1, forth and n or n - 1
  local start = bound(who, i, "start", t[1], forth and 0 or n - 1, lowest, highest, n)
  local stop = bound(who, i, "stop", t[2], forth and n or -1, lowest, highest, n)
  local size = math.max(0, math.ceil((stop - start) / step))
  return size > 0 and start or 0, step, size
end

-- begin, step and size as ops take them, and whether all steps are 1.
local function box_of(who, x, list)
  local shape = args.tensor(who, "x", x).shape
  args.must(type(list) == "table" and not args.is_options(list), list,
    "%s: slice_tup_list must be a list such as {{0, 2}, {nil, nil, -1}}", who)
  args.check(#list <= #shape, "%s: slice_tup_list must have an entry for each of %d axes at most, "
    .. "got %d", who, #shape, #list)
  local box, plain = { begin = {}, step = {}, size = {} }, true
  for i = 1, #shape do
    box.begin[i], box.step[i], box.size[i] = range_of(who, i, list[i] or {}, shape[i])
    plain = plain and box.step[i] == 1
  end
  return box, plain
end

local function take(x, box, plain, name)
  if plain then return (op.slice(x, { begin = box.begin, size = box.size, name = name })) end
  box.name = name
  return (op.strided_slice(x, box))
end

local function define_slice(path, forward)
  define(path, forward and "A part of x, with steps forwards." or "A part of x, with steps "
    .. "forwards or backwards.", {
    { "x", "a blob or NdArray", type = "Tensor" },
    SLICES,
  }, function(o)
    local box, plain = box_of(path, o.x, o.slice_tup_list)
    for i, step in ipairs(box.step) do
      if forward and step < 0 then
        core.fail("%s: slice_tup_list: step of axis %d must be at least 1, got %d", path, i - 1,
          step)
      end
    end
    return take(o.x, box, plain, o.name)
  end)
end
define_slice("slice_v2")
define_slice("experimental.logical_slice", true)

-- x with `value`, a tensor or a number, in place of the part; `who` is named in messages.
local function updated(who, value_name, x, value, list, name)
  local box = box_of(who, x, list)
  if type(value) == "number" then
    value = op.constant({ value = value, dtype = x.dtype, shape = box.size })
  end
  local shape = args.tensor(who, value_name, value).shape
  if not tensors.same(shape, box.size) then
    core.fail("%s: %s must have the shape %s of the part, got %s", who, value_name,
      args.shape_text(box.size), args.shape_text(shape))
  end
  return (op.strided_slice_update(x, value, { begin = box.begin, step = box.step, name = name }))
end

define("slice_update", "x with update in place of a part of it.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "update", "of the shape of that part, or a number", type = "Tensor|number" },
  SLICES,
}, function(o)
  return updated("slice_update", "update", o.x, o.update, o.slice_tup_list, o.name)
end)

args.define("experimental.logical_slice_assign", "Gives a part of a variable another value at the "
  .. "end of each call; everything in the body reads the one from before.", {
  { "x", "a variable of the job", type = "Blob" },
  { "value", "of the shape of that part, or a number", type = "Tensor|number" },
  SLICES, NAME,
  returns = "Blob",
}, function(o, who)
  return (variable.assign(o.x, updated(who, "value", o.x, o.value, o.slice_tup_list, o.name)))
end)

define("reverse", "input in the opposite order along axes.", {
  { "input", "a blob or NdArray", type = "Tensor" },
  { "axis", "an axis or a list of them", type = "integer|integer[]" },
}, function(o)
  local shape = o.input.shape
  local begin, step = {}, {}
  for i = 1, #shape do begin[i], step[i] = 0, 1 end
  for _, i in ipairs(tensors.axes("reverse", "axis", o.axis, #shape)) do
    begin[i], step[i] = math.max(shape[i] - 1, 0), -1
  end
  return op.strided_slice(o.input, { begin = begin, step = step, size = shape, name = o.name })
end)

define("roll", "x moved along axes; what leaves one at its end comes back at its beginning.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "shifts", "by how many places, for each axis; negative: towards the beginning",
    type = "integer|integer[]" },
  { "dims", "the axes; without them x is moved as one line", args.none,
    type = "integer|integer[]" },
}, function(o)
  local x, who = o.x, "roll"
  local shifts = tensors.integers(who, "shifts", o.shifts, -2 ^ 53)
  if o.dims == nil then
    args.check(#shifts == 1, "%s: shifts must be one number without dims, got %d", who, #shifts)
    local line = op.roll(op.reshape(x, { -1 }), { shift = shifts[1] })
    return (op.reshape(line, x.shape, { name = o.name }))
  end
  local dims = tensors.axes(who, "dims", o.dims, #x.shape)
  args.check(#dims == #shifts, "%s: shifts must be a number for each of %d dims, got %d", who,
    #dims, #shifts)
  for k, i in ipairs(dims) do
    x = op.roll(x, { shift = shifts[k], axis = i - 1, name = k == #dims and o.name or nil })
  end
  return x
end)

define("diagonal", "The diagonal of two axes, as a new last axis.", {
  { "input", "a blob or NdArray of two or more axes", type = "Tensor" },
  { "offset", "which diagonal: above the main one, or below if negative", 0, type = "integer" },
  { "dim1", "the axis of rows", 0, type = "integer" },
  { "dim2", "the axis of columns", 1, type = "integer" },
}, function(o, who)
  local perm = {}
  local shape = o.input.shape
  local a = tensors.axis(who, "dim1", o.dim1, #shape)
  local b = tensors.axis(who, "dim2", o.dim2, #shape)
  if a == b then core.fail("%s: dim2 must differ from dim1, got %d twice", who, a - 1) end
  args.integer(who, "offset", o.offset, -2 ^ 53)
  for i = 1, #shape do
    if i ~= a and i ~= b then perm[#perm + 1] = i - 1 end
  end
  perm[#perm + 1], perm[#perm + 2] = a - 1, b - 1
  local x = op.transpose(o.input, perm)
  local m, n, begin, step, size = shape[a], shape[b], {}, {}, {}
  for i = 1, #shape - 2 do begin[i], step[i], size[i] = 0, 1, shape[perm[i] + 1] end
  local k, down, right = #shape - 1, math.max(-o.offset, 0), math.max(o.offset, 0)
  local length = math.max(0, math.min(m - down, n - right))
  begin[k], step[k], size[k] = length > 0 and down * n + right or 0, n + 1, length
  local flat = { unpack(size, 1, k - 1) }
  flat[k] = m * n
  return op.strided_slice(op.reshape(x, flat),
    { begin = begin, step = step, size = size, name = o.name })
end)

args.define("unbind", "The parts of x along an axis, one for each place, without that axis.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "axis", "the axis that they lose", 0, type = "integer" },
  returns = "Tensor",
}, function(o, who)
  local shape = o.x.shape
  local axis = tensors.axis(who, "axis", o.axis, #shape) - 1
  args.check(shape[axis + 1] >= 1, "%s: x must have one or more places along axis %d, got none",
    who, axis)
  local parts = { op.split(o.x, { sizes = 1, axis = axis }) }
  for i, part in ipairs(parts) do parts[i] = op.squeeze(part, { axis = axis }) end
  return unpack(parts)
end)

args.define("chunk", "x in so many parts along an axis, of one extent but for the last, which may "
  .. "have less; fewer parts where there are not enough places.", {
  { "x", "a blob or NdArray", type = "Tensor" },
  { "chunks", "how many parts", type = "integer", least = 1 },
  { "axis", "the axis along which they follow each other", 0, type = "integer" },
  returns = "Tensor",
}, function(o, who)
  local shape = o.x.shape
  local axis = tensors.axis(who, "axis", o.axis, #shape) - 1
  local size = math.ceil(shape[axis + 1] / o.chunks)
  args.check(size >= 1, "%s: x must have one or more places along axis %d, got none", who, axis)
  return op.split(o.x, { sizes = size, axis = axis })
end)
