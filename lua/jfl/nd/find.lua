-- Functions of arrays whose results' sizes depend on values: in a job's body they have no meaning.
---@box ndarray.argwhere ndarray.boolean_mask ndarray.nonzero ndarray.unique
---@box ndarray.unique_with_counts
local args = require "jfl.base.args"
local core = require "jfl.core"
local op = require("jfl.op.call").op

local find = {}

local function need(who, name, a)
  if core.type(a) == "array" then return a end
  local hint = core.type(a) == "blob" and "; the size of the result depends on values, which a "
    .. "body does not have: call it with what the job gives, or use flow.where" or ""
  core.fail("%s: %s must be an NdArray, got %s%s", who, name, args.describe(a), hint)
end

local function flat(a) return core.reshape(a, { a.size }) end

-- The places of the elements other than 0, counted from 0 over all of them.
local function places(a)
  local list = {}
  for i, value in ipairs(flat(core.cast(a, "float64")):totable()) do
    if value ~= 0 then list[#list + 1] = i - 1 end
  end
  return list
end

-- For each place its numbers along the axes, from 0, as a flat list of rows.
local function rows_of(list, shape)
  local rows = {}
  for i, at in ipairs(list) do
    for axis = #shape, 1, -1 do
      rows[(i - 1) * #shape + axis] = at % shape[axis]
      at = math.floor(at / shape[axis])
    end
  end
  return rows
end

--- The numbers, from 0, of the elements other than 0: a row for each, with one for each axis.
find.argwhere = args.define("ndarray.argwhere", "Where elements are other than 0: a row "
  .. "of numbers from 0 for each, one number an axis.", {
  { "condition", "an NdArray", type = "NdArray" },
  { "dtype", "of the result: int32 or int64", "int32" },
  returns = "NdArray",
}, function(o)
  local a = need("argwhere", "condition", o.condition)
  local dtype = args.dtype("argwhere", "dtype", o.dtype)
  local list = places(a)
  if #list == 0 or #a.shape == 0 then return core.array(dtype, { #list, #a.shape }) end
  local rows = core.from_table(rows_of(list, a.shape), dtype)
  return core.reshape(rows, { #list, #a.shape })
end)

--- For each axis the numbers of the elements that argwhere finds.
find.nonzero = args.define("ndarray.nonzero", "Where elements are other than 0: for each "
  .. "axis their numbers from 0.", {
  { "a", "an NdArray", type = "NdArray" },
  returns = "NdArray",
}, function(o)
  local a = need("nonzero", "a", o.a)
  local found = find.argwhere(a)
  if #found == 0 then return core.array("int32", { #a.shape, 0 }) end
  return found:transpose()
end)

-- How many elements a row has of an array whose first axes are those of the mask.
local function row_size(a, mask)
  local shape, same, size = a.shape, #mask.shape <= #a.shape, 1
  for i = 1, #shape do
    if i > #mask.shape then size = size * shape[i]
    else same = same and shape[i] == mask.shape[i]
    end
  end
  if #mask.shape > 0 and same then return size end
  core.fail("boolean_mask: mask must have the shape of a or of its first axes, got %s for %s",
    args.shape_text(mask.shape), args.shape_text(shape))
end

--- The elements of a, or its rows where the mask has fewer axes, whose mask is other than 0.
find.boolean_mask = args.define("ndarray.boolean_mask", "Those elements of an array whose mask is "
  .. "other than 0, or its rows where the mask has fewer axes: x:boolean_mask(labels:eq(3)).", {
  { "a", "an NdArray", type = "NdArray" },
  { "mask", "an NdArray of a's shape, or of its first axes", type = "NdArray" },
  returns = "NdArray",
}, function(o)
  local a, mask = need("boolean_mask", "a", o.a), need("boolean_mask", "mask", o.mask)
  local size, list, shape = row_size(a, mask), places(mask), { 0 }
  for i = #mask.shape + 1, #a.shape do shape[#shape + 1] = a.shape[i] end
  if #list == 0 then return core.array(a.dtype, shape) end
  shape[1] = #list
  local rows = core.reshape(a, { mask.size, size })
  return core.reshape(op.gather(rows, core.from_table(list, "int64")), shape)
end)

-- The different values of an array in the order in which they occur first; of each element the
-- number of its value, from 0; and how often each occurs.
local function count(a)
  local values, index, counts, known = {}, {}, {}, {}
  for i, value in ipairs(a:totable()) do
    local key = value == value and value or "nan"
    local at = known[key]
    if not at then
      at = #values
      known[key], values[at + 1], counts[at + 1] = at, value, 0
    end
    index[i], counts[at + 1] = at, counts[at + 1] + 1
  end
  return values, index, counts
end

local function array_of(list, dtype)
  return #list > 0 and core.from_table(list, dtype) or core.array(dtype, { 0 })
end

--- The different values of a list of numbers in the order in which they occur first; the number of
-- each element's value, from 0; and how often each occurs.
find.unique_with_counts = args.define("ndarray.unique_with_counts", "The different values of "
  .. "a list, in the order in which they come; of each element which it is, from 0; and how many "
  .. "there are.",
  {
    { "x", "an NdArray of one axis", type = "NdArray" },
    { "out_idx", "the dtype of the numbers: int32 or int64", "int32" },
    returns = { "NdArray", "NdArray", "NdArray" },
  }, function(o)
    local who = "unique_with_counts"
    local a, dtype = need(who, "x", o.x), args.dtype(who, "out_idx", o.out_idx)
    if #a.shape ~= 1 then
      core.fail("%s: x must have one axis, got %s; x:reshape({-1}) has", who,
        args.shape_text(a.shape))
    end
    local values, index, counts = count(a)
    return array_of(values, a.dtype), array_of(index, dtype), array_of(counts, dtype)
  end)

--- The different values of an array, the least first.
find.unique = args.define("ndarray.unique", "The different values of an array, the least first.", {
  { "x", "an NdArray", type = "NdArray" },
  returns = "NdArray",
}, function(o)
  local a = need("unique", "x", o.x)
  local values = count(flat(a))
  table.sort(values, function(x, y) return x < y or x == x and y ~= y end)      -- nan comes last
  return array_of(values, a.dtype)
end)

return find
