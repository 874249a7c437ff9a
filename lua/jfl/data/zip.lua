-- flow.zip: several arrays or lists, row by row.
---@box zip
local args = require "jfl.base.args"
local core = require "jfl.core"

local zip = {}

local Zip = {}

local function rows(lists, i)
  local row = {}
  for k, list in ipairs(lists) do row[k] = list[i] end
  return i, unpack(row, 1, #lists)
end

function Zip:__call(_, i)
  i = (i or 0) + 1
  if i > self.n then return nil end
  local lists = self.lists
  if #lists == 2 then return i, lists[1][i], lists[2][i] end
  return rows(lists, i)
end

function Zip:__tostring() return ("zip of %d lists, %d rows"):format(#self.lists, self.n) end

--- Iterates over arrays or lists together, up to the end of the shortest: for i, x, y in zip(a, b)
-- do. The field n of the result is the number of rows.
function zip.zip(...)
  local lists, n = { ... }, math.huge
  if select("#", ...) == 0 then core.fail("zip: takes at least one array or table, got none") end
  for k = 1, select("#", ...) do
    local list = lists[k]
    args.must(type(list) == "table" or core.type(list) == "array", list,
      "zip: argument %d must be an NdArray or a table", k)
    if #list == 0 and next(list) ~= nil then
      core.fail("zip: argument %d must be a list, got a table with names; pass its lists one "
        .. "by one, such as flow.zip(train.images, train.labels)", k)
    end
    n = math.min(n, #list)
  end
  return setmetatable({ lists = lists, n = n }, Zip)
end

return zip
