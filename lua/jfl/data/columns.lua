-- Data sets as columns: NdArrays or lists of one length, which may have names, in an order that
-- somebody gave.
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"

local columns = {}

local Set = {}

-- The names of a set's columns in their order; the sets whose items are batches; how sets are
-- shuffled that have a way of their own.
local orders = setmetatable({}, { __mode = "k" })
local batched = setmetatable({}, { __mode = "k" })
local draws = setmetatable({}, { __mode = "k" })

function Set:__tostring()
  local parts = {}
  for i, name in ipairs(orders[self]) do
    local column = self[name]
    parts[i] = name .. (core.type(column) == "array" and " " .. args.shape_text(column.shape) or "")
  end
  return "data set: " .. table.concat(parts, ", ")
end

--- A table of columns by name that keeps the order of this list: { { "images", array }, ... }.
-- in_batches: whether each of their items is a batch.
function columns.set(list, in_batches)
  local self, order = {}, {}
  for i, pair in ipairs(list) do self[pair[1]], order[i] = pair[2], pair[1] end
  orders[self], batched[self] = order, in_batches
  return setmetatable(self, Set)
end

--- Whether the items of a set are known to be batches.
function columns.in_batches(set) return batched[set] or false end

--- Gives a set a way of its own to be shuffled: draw(seed) gives the numbers of its items in an
-- order.
function columns.shuffle_by(set, draw) draws[set] = draw end

--- How a set is shuffled; nil: as all are.
function columns.draw(set) return draws[set] end

--- The names of a set's columns in their order; nil for any other value.
function columns.order(set) return orders[set] end

--- Fails since what has no column of that name; known: a table with the columns that are there.
function columns.lacks(what, name, known)
  core.fail("%s has no column %s%s", what,
    type(name) == "string" and "'" .. name .. "'" or args.describe(name),
    args.instead(name, known, "its columns"))
end

-- The columns with these names, in this order.
local function chosen(who, source, wanted)
  local list = {}
  for i, name in ipairs(args.expect(who, "columns", wanted, "table")) do
    list[i] = source[name]
    if list[i] == nil then columns.lacks(who .. ": columns: source", name, source) end
  end
  args.must(#list > 0, wanted,
    "%s: columns must be a list of names such as {\"state\", \"action\"}", who)
  return list, wanted
end

-- Whether a list is one of pairs { name, column }.
local function is_pairs(list)
  for _, pair in ipairs(list) do
    local column = type(pair) == "table" and #pair == 2 and type(pair[1]) == "string" and pair[2]
    if type(column) ~= "table" and core.type(column) ~= "array" then return false end
  end
  return #list > 0
end

-- The names of a plain table, which has no order unless it has one name or is a list.
local function plain_order(who, source)
  local list, named = {}, false
  for name in pairs(source) do
    list[#list + 1] = name
    named = named or type(name) ~= "number"
  end
  table.sort(list, function(a, b)
    if type(a) == type(b) then return a < b end
    return type(a) == "number"
  end)
  if named and #list > 1 then
    for i, name in ipairs(list) do
      list[i] = type(name) == "string" and ("%q"):format(name) or tostring(name)
    end
    core.fail("%s: source is a table with names, which Lua keeps in no order; say in which they "
      .. "come: {columns = {%s}}", who, table.concat(list, ", "))
  end
  return list
end

--- Whether a source is a plain table of columns by names, which have no order.
function columns.are_named(source)
  if type(source) ~= "table" or orders[source] or metatable(source) then return false end
  for name in pairs(source) do
    if type(name) ~= "string" then return false end
  end
  return true
end

--- The columns of a source and their names: those wanted, in that order, or all. A source is an
-- NdArray, a list of columns, a list of pairs such as { "images", array }, a set, or a plain table
-- by names, of which the wanted ones must be named.
function columns.read(who, source, wanted)
  if core.type(source) == "array" then return { source } end
  local order = orders[source]
  args.must(type(source) == "table" and (order or not metatable(source)) and next(source) ~= nil,
    source, "%s: source must be a data set as load_mnist gives it, or a list of NdArrays", who)
  if not order and is_pairs(source) then
    source = columns.set(source)
    order = orders[source]
  end
  return chosen(who, source, wanted ~= nil and wanted or order or plain_order(who, source))
end

-- A column's name, for messages.
local function called(title)
  return type(title) == "number" and "array " .. title or ("'%s'"):format(tostring(title))
end

--- How many items all columns have.
function columns.count(who, list, titles)
  local items
  for i, column in ipairs(list) do
    local name = called(titles and titles[i] or "source")
    args.must(core.type(column) == "array" or type(column) == "table", column,
      "%s: %s must be an NdArray or a list", who, name)
    if #column == 0 then core.fail("%s: %s has no items", who, name) end
    if items and #column ~= items then
      core.fail("%s: %s must be as long as %s, %d, got %d", who, name, called(titles[1]), items,
        #column)
    end
    items = #column
  end
  return items
end

return columns
