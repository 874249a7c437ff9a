-- What functions of ONNX's ops share: tensors that are known while a body is described, and shapes.
-- A value is an NdArray where it is known, and a blob where it is not; ops take both.
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"

local values = {}

local op = call.op

local MOST_JOINED = 4000

--- The function of flow at a path that a module of the front end defines.
function values.flow(module, path)
  require("jfl." .. module)
  return args.defined[path].fn
end

--- Whether a value is known: an array, or a list of values that are.
function values.is_known(x)
  return core.type(x) == "array"
end

--- A list of numbers as an array. shape: its extents; one axis unless given.
function values.array(list, dtype, shape)
  if #list == 0 then return core.from_bytes("", dtype, shape or { 0 }) end
  local a = core.from_table(list, dtype)
  return shape and core.reshape(a, shape) or a
end

--- A number as an array without axes.
function values.scalar(number, dtype) return values.array({ number }, dtype, {}) end

--- The numbers of an array as a list.
function values.list(a)
  for _, extent in ipairs(a.shape) do
    if extent == 0 then return {} end
  end
  if #a.shape == 0 then a = core.reshape(a, { 1 }) end
  local list = core.to_table(core.reshape(a, { -1 }))
  for i = 1, #list do list[i] = tonumber(list[i]) end
  return list
end

values.count = args.count

--- The numbers from 0 to below n as an array of int64, also where n is large.
function values.ramp(n) return core.ramp("int64", { n }, 0, 1, "onnx") end

--- The numbers from 0 to below n, as a list, such as all axes of a shape; and n times a number.
function values.steps(n)
  local list = {}
  for i = 1, n do list[i] = i - 1 end
  return list
end

function values.fill(n, number)
  local list = {}
  for i = 1, n do list[i] = number end
  return list
end

--- x as another dtype, or as it is where it has that one.
function values.cast(x, dtype)
  if x.dtype == dtype then return x end
  return (op.cast(x, { dtype = dtype }))
end

local function has_shape(x, shape)
  local same = #x.shape == #shape
  for i = 1, #shape do same = same and x.shape[i] == shape[i] end
  return same
end

--- x under a shape without -1.
function values.reshape(x, shape)
  return has_shape(x, shape) and x or (op.reshape(x, { shape = shape }))
end

-- ONNX's types of values, where they are known.
local types = setmetatable({}, { __mode = "k" })

--- Says which type of ONNX's a value has, of which jfl may have a wider dtype; gives the value.
function values.with_type(x, onnx_type)
  types[x] = onnx_type
  return x
end

--- That type, or the dtype where it was not said.
function values.type_of(x) return types[x] or x.dtype end

--- The shape that several broadcast to, or nil where they do not.
function values.broadcast(a, b)
  local out, n = {}, math.max(#a, #b)
  for i = 1, n do
    local x, y = a[#a - n + i] or 1, b[#b - n + i] or 1
    if x ~= y and x ~= 1 and y ~= 1 then return nil end
    out[i] = x == 1 and y or x
  end
  return out
end

--- x repeated to a shape.
function values.expand(x, shape)
  return has_shape(x, shape) and x or (op.broadcast_to(x, { shape = shape }))
end

-- ---- rows ----

-- The rows (..., size) as (rows, size) of tensors that were made so, by the tensors.
local rows_of = setmetatable({}, { __mode = "k" })

--- A tensor of rows under another shape, whose rows values.rows finds again: what follows a product
-- works on the rows too, so that it can become one step with it.
function values.of_rows(rows, shape)
  local x = values.reshape(rows, shape)
  if core.type(x) == "blob" then rows_of[x] = rows end
  return x
end

--- Whether a tensor was made of rows.
function values.has_rows(x) return rows_of[x] ~= nil end

--- A tensor's rows along its last axis.
function values.rows(x)
  local s = x.shape
  return rows_of[x] or values.reshape(x, { values.count(s, 1, #s - 1), s[#s] })
end

function values.transpose(x, perm)
  local plain = true
  for i, axis in ipairs(perm) do plain = plain and axis == i - 1 end
  if plain then return x end
  return (op.transpose(x, { perm = perm }))
end

--- A part of x along one axis, counted from 0.
function values.slice(x, axis, first, size)
  local begin, sizes = {}, {}
  for i, extent in ipairs(x.shape) do begin[i], sizes[i] = 0, extent end
  if first == 0 and sizes[axis + 1] == size then return x end
  begin[axis + 1], sizes[axis + 1] = first, size
  return (op.slice(x, { begin = begin, size = sizes }))
end

-- Longer lists, such as those of loops, are joined in parts, as Lua hands over no more than 8,000.
function values.concat(list, axis)
  if #list == 1 then return list[1] end
  if #list <= MOST_JOINED then return (op.concat(list, { axis = axis })) end
  local parts = {}
  for i = 1, #list, MOST_JOINED do
    local some = { unpack(list, i, math.min(i + MOST_JOINED - 1, #list)) }
    parts[#parts + 1] = values.concat(some, axis)
  end
  return values.concat(parts, axis)
end

return values
