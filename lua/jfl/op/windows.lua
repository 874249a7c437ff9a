-- What functions of windows that slide over spatial axes have in common: orders of axes, extents,
-- paddings.
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"

local op = call.op

local windows = {}

local LETTERS = { "W", "HW", "DHW" }
local COUNTS = { "three", "four", "five" }

--- The two orders of axes of tensors with n spatial axes: channels first and channels last.
function windows.formats(n) return "NC" .. LETTERS[n], "N" .. LETTERS[n] .. "C" end

--- Whether channels are last, by a format for n spatial axes.
function windows.is_last(who, data_format, n)
  local first, last = windows.formats(n)
  if data_format == first or data_format == last then return data_format == last end
  core.fail("%s: data_format must be %s or %s, got %s", who, first, last,
    args.describe(data_format))
end

--- The shape of x, which must have n spatial axes.
function windows.shape(who, name, x, n, data_format)
  local shape = args.tensor(who, name, x).shape
  args.fits(#shape == n + 2, shape, "%s: %s must have %s axes (%s), got shape",
    who, name, COUNTS[n], data_format)
  return shape
end

--- A list of n whole numbers of at least `least`, given as one number for all or as that list.
function windows.extents(who, name, value, n, least)
  local list = tensors.integers(who, name, value, least)
  if #list ~= 1 and #list ~= n then
    core.fail("%s: %s must be a number or a list of %d, got a list of %d", who, name, n, #list)
  end
  local out = {}
  for i = 1, n do out[i] = list[#list == n and i or 1] end
  return out
end

-- The numbers of a list of lists, in order.
local function flatten(value, into)
  if type(value) ~= "table" then into[#into + 1] = value; return into end
  for _, v in ipairs(value) do flatten(v, into) end
  return into
end

--- A padding for each of n axes: a word for all, or a list { before, after, before, after, ... }.
function windows.padding(who, value, n, is_last)
  if type(value) == "string" then return value end
  if type(value) ~= "number" then args.expect(who, "padding", value, "string, number or table") end
  local list = tensors.integers(who, "padding", flatten(value, {}), 0)
  local count, out = #list, {}
  if count == 1 then list = { list[1], list[1] } end
  if count == 2 * n + 4 then
    local from = is_last and 2 or 4
    for i = 1, count do
      if list[i] ~= 0 and (i <= from or i > from + 2 * n) then
        core.fail("%s: padding of images and channels must be 0, got %d", who, list[i])
      end
    end
    return { unpack(list, from + 1, from + 2 * n) }
  end
  if count ~= 1 and count ~= n and count ~= 2 * n then
    core.fail("%s: padding must be a word or a list of 1, %d, %d or %d numbers, got %d", who, n,
      2 * n, 2 * n + 4, count)
  end
  for i = 1, 2 * n do
    out[i] = list[count == 2 * n and i or count == n and math.ceil(i / 2) or 1]
  end
  return out
end

--- Does over the one or three spatial axes of x what run(planes, i, k) does over height and width:
-- over one that is seen as a width, or over height and width and then over depth. i and k are the
-- numbers of the axes that run's height and width are, 0 where one is none of them.
function windows.by_planes(x, n, is_last, run, name)
  local s, first = x.shape, is_last and 2 or 3
  local function shape(...)
    local t = { s[1], ... }
    table.insert(t, is_last and #t + 1 or 2, is_last and s[#s] or s[2])
    return t
  end
  if n == 1 then
    local y = run(op.reshape(x, shape(1, s[first])), 0, 1)
    return op.reshape(y, shape(y.shape[first + 1]), { name = name })
  end
  local d, h, w = unpack(s, first)
  local y = run(op.reshape(x, is_last and { s[1] * d, h, w, s[5] } or { s[1], s[2] * d, h, w }),
    2, 3)
  h, w = unpack(y.shape, first)
  y = run(op.reshape(y, shape(d, h * w)), 1, 0)
  return op.reshape(y, shape(y.shape[first], h, w), { name = name })
end

--- The parameter data_format for n spatial axes.
function windows.format_param(n)
  local first, last = windows.formats(n)
  return { "data_format", ("%s or %s"):format(first, last), first, type = "string" }
end

return windows
