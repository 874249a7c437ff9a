-- x[{ 1, {2, 5} }]: parts of blobs and NdArrays, and what is assigned to those of NdArrays.
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local call = require "jfl.op.call"
local core = require "jfl.core"

local op = call.op

local parts = {}

local function called(x)
  return core.type(x) == "blob" and ("blob '%s'"):format(x.name) or "array"
end

local function fail(x, axis, text, ...)
  core.fail("%s[{...}]: axis %d of %s %s", called(x), axis - 1, args.shape_text(x.shape),
    text:format(...))
end

-- A key of a table that is no number, as text; nil where it is a list.
local function named(t)
  for key in pairs(t) do
    if type(key) ~= "number" then return ("'%s' as a name"):format(tostring(key)) end
  end
end

-- The place on an axis, from 0, that a number means, which counts from 1 or from the end.
local function place(x, axis, what, at)
  local n = x.shape[axis]
  if type(at) ~= "number" or at % 1 ~= 0 then
    fail(x, axis, "must have a whole number as its %s, got %s", what, args.describe(at))
  end
  if at < -n or at > n or at == 0 then
    fail(x, axis, "must have %s %s from 1 to %d, or negative from the end, got %d%s",
      what == "index" and "an" or "a", what, n, at,
      at == 0 and "; indices count from 1, axes from 0" or "")
  end
  return at < 0 and n + at or at - 1
end

-- The first place, the step and the number of places that { first, last, step } means.
local function range(x, axis, t)
  if named(t) or table.maxn(t) > 3 then
    fail(x, axis, "must have a list { first, last, step }, got %s", named(t) or "more")
  end
  local n, step = x.shape[axis], t[3] or 1
  if type(step) ~= "number" or step % 1 ~= 0 or step == 0 then
    fail(x, axis, "must have a whole number other than 0 as its step, got %s", args.describe(step))
  end
  if n == 0 and t[1] == nil and t[2] == nil then return 0, 1, 0 end
  local first = place(x, axis, "first", t[1] or (step > 0 and 1 or n))
  local last = place(x, axis, "last", t[2] or (step > 0 and n or 1))
  if (last - first) * step < 0 then
    fail(x, axis, "must have a list whose last is not %s its first, got { %d, %d, %d }%s",
      step > 0 and "before" or "behind", first + 1, last + 1, step,
      step > 0 and "; a step of -1 goes backwards" or "")
  end
  return first, step, math.floor((last - first) / step) + 1
end

local OTHER = "; flow.gather takes a list of places, from 0"

-- What the entries of a key take of x: begin, step and size as ops have them, the shape without
-- the axes that have one number, and whether all steps are 1.
local function read(x, key)
  local rank, shape = #x.shape, x.shape
  local n = table.maxn(key)
  if named(key) or n > rank then
    core.fail("%s[{...}]: the list must have an entry for each of the axes of %s at most, got %s",
      called(x), args.shape_text(shape), named(key) or n .. (rank == 1 and n <= 3
        and "; elements a to b are x[{ {a, b} }]" or ""))
  end
  local box, left, plain = { begin = {}, step = {}, size = {} }, {}, true
  for i = 1, rank do
    local entry = key[i]
    if i > n then entry = {} end
    if type(entry) == "number" then
      box.begin[i], box.step[i], box.size[i] = place(x, i, "index", entry), 1, 1
    elseif type(entry) == "table" and not metatable(entry) then
      box.begin[i], box.step[i], box.size[i] = range(x, i, entry)
      left[#left + 1] = box.size[i]
    else
      fail(x, i, "must have a number, or a list such as {2, 5} or {}, got %s%s",
        args.describe(entry), core.type(entry) and OTHER or "")
    end
    plain = plain and box.step[i] == 1
  end
  return box, left, plain
end

local function cut(x, box, plain)
  if plain then return (op.slice(x, { begin = box.begin, size = box.size })) end
  return (op.strided_slice(x, box))
end

-- Row i of a blob.
local function row(x, i)
  local n = x.shape[1]
  if not n then core.fail("%s: it has no axis, and so no rows", called(x)) end
  if i % 1 ~= 0 or i < 1 or i > n then
    core.fail("%s: index must be %s %d, got %.14g%s", called(x),
      i % 1 == 0 and "from 1 to" or "a whole number from 1 to", n, i,
      i == 0 and "; indices count from 1" or i < 0 and "; x[{ -1 }] counts from the end" or "")
  end
  return parts.get(x, { i })
end

--- A copy of a part of x. For each axis the key has a number, which counts from 1 or, if negative,
-- from the end, and leaves the axis out; or a list { first, last, step }, both ends being included,
-- of which any may be left out; axes that it does not name are taken whole. One element of an
-- NdArray is a number, one of a blob has the shape (1). A number as the key is a blob's row.
function parts.get(x, key)
  if type(key) == "number" then return row(x, key) end
  local box, left, plain = read(x, key)
  if #left == 0 and core.type(x) == "array" and #x.shape > 0 then
    for i, at in ipairs(box.begin) do box.begin[i] = at + 1 end
    return core.get(x, unpack(box.begin))
  end
  local y = cut(x, box, plain)
  if #left == #x.shape then return y end
  return (op.reshape(y, { shape = #left > 0 and left or { 1 } }))
end

--- Sets a part of an NdArray to a number, to an array or nested tables of the part's shape.
function parts.set(a, key, value)
  local box, left, plain = read(a, key)
  local there = core.array(a.dtype, { 1, unpack(left) })
  there[1] = value
  there = core.reshape(there, box.size)
  local whole = plain and there.size == a.size and there
    or op.strided_slice_update(a, there, { begin = box.begin, step = box.step })
  core.assign(a, whole)
end

return parts
