-- flow.zip: several arrays or lists, row by row.
local args = require "jfl.args"
local core = require "jfl.core"

local zip = {}

local function two(lists, n)
  local a, b = lists[1], lists[2]
  return function(_, i)
    i = i + 1
    if i <= n then return i, a[i], b[i] end
  end
end

local function many(lists, n)
  return function(_, i)
    i = i + 1
    if i > n then return nil end
    local row = {}
    for k, list in ipairs(lists) do row[k] = list[i] end
    return i, unpack(row, 1, #lists)
  end
end

--- Iterates over arrays or lists together, as far as the shortest goes: for i, x, y in zip(a, b) do.
function zip.zip(...)
  local lists, n = { ... }, math.huge
  if select("#", ...) == 0 then core.fail("zip: expected at least one array or table") end
  for k = 1, select("#", ...) do
    local list = lists[k]
    if type(list) ~= "table" and core.type(list) ~= "array" then
      core.fail("zip: argument %d: expected an NdArray or a table, got %s", k, args.describe(list))
    end
    n = math.min(n, #list)
  end
  return (#lists == 2 and two or many)(lists, n), nil, 0
end

return zip
