-- flow.data.split: parts of a data set, such as what a network learns from and what tests it.
---@box data.split
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local lazy = require "jfl.data.lazy"
local loop = require "jfl.data.loop"

local split = {}

local WHO = "data.split"
local SEED, LABELS = 1, "labels"
local EXAMPLE = "flow.data.split(set, { 0.8, 0.2, seed = 1 })"
local SLACK = 1e-6               -- that shares may be off 1 in all

local gather = core.op("gather")

-- ---- what is asked ----

local OPTIONS = { seed = true, by_class = true }

-- The shares of the parts, and the options that stand with them.
local function read_parts(parts)
  local sum = 0
  args.must(type(parts) == "table", parts, "%s: parts must be a list of shares, as in %s", WHO,
    EXAMPLE)
  for i, share in ipairs(parts) do
    args.must(type(share) == "number" and share > 0 and share < 1, share,
      "%s: parts[%d] must be a share between 0 and 1, as in %s", WHO, i, EXAMPLE)
    sum = sum + share
  end
  for key in pairs(parts) do
    if type(key) ~= "number" and not OPTIONS[key] then
      core.fail("%s: unknown option '%s'; options are seed, by_class", WHO, tostring(key))
    end
  end
  args.check(math.abs(sum - 1) <= SLACK, "%s: the shares of the parts must add up to 1, as in %s, "
    .. "got %g", WHO, EXAMPLE, sum)
  local seed = parts.seed == nil and SEED or args.integer(WHO, "seed", parts.seed, 0)
  return parts, seed, parts.by_class
end

-- The column that says which class an item is of, as a list; nil: none does.
local function classes_of(by_class, list, titles)
  if by_class == nil or by_class == false then return nil end
  local wanted = by_class == true and LABELS or args.expect(WHO, "by_class", by_class,
    "boolean or string")
  for i, title in ipairs(titles or {}) do
    local column = title == wanted and list[i]
    if column and core.type(column) == "array" and #column.shape == 1 then
      return column:totable()
    end
    if column and core.type(column) ~= "array" then return column end
  end
  core.fail("%s: by_class: there is no column '%s' with a class for each item%s", WHO, wanted,
    by_class == true and "; by_class = \"NAME\" says which it is" or "")
end

-- ---- who goes where ----

-- The items in an order that the seed decides; where there are classes, class by class.
local function drawn(n, classes, seed)
  local order = loop.shuffled(n, seed)
  if not classes then return { order } end
  local groups, by_class = {}, {}
  for _, i in ipairs(order) do
    local class = classes[i]
    if not by_class[class] then
      by_class[class] = {}
      groups[#groups + 1] = by_class[class]
    end
    table.insert(by_class[class], i)
  end
  return groups
end

-- The numbers of each part's items, in the order of the set.
local function places(n, classes, parts, seed)
  local found = {}
  for k = 1, #parts do found[k] = {} end
  for _, group in ipairs(drawn(n, classes, seed)) do
    local k, bound = 1, parts[1]
    for j, i in ipairs(group) do
      while k < #parts and (j - 0.5) / #group > bound do
        k = k + 1
        bound = bound + parts[k]
      end
      table.insert(found[k], i)
    end
  end
  for k, list in ipairs(found) do
    args.check(#list > 0, "%s: part %d must get an item at least, and %g of %d items is none", WHO,
      k, parts[k], n)
    table.sort(list)
  end
  return found
end

-- ---- the parts ----

local function rows(column, list)
  if core.type(column) == "array" then
    local indices = {}
    for i, at in ipairs(list) do indices[i] = at - 1 end
    return (gather(column, core.from_table(indices, "int32")))
  end
  local chosen = {}
  for i, at in ipairs(list) do chosen[i] = column[at] end
  return lazy.like(column, chosen)
end

-- A part with these items of the columns, and what else the set says, such as its classes.
local function part_of(source, columns_of, titles, list)
  local made = {}
  for k, column in ipairs(columns_of) do made[k] = rows(column, list) end
  if not titles then return #made == 1 and core.type(source) == "array" and made[1] or made end
  local part = {}
  for k, title in ipairs(titles) do part[title] = made[k] end
  if not columns.order(source) and #source == 0 then return part end
  for k, title in ipairs(titles) do made[k] = { title, made[k] } end
  part = columns.set(made)
  for key, value in pairs(columns.order(source) and source or {}) do
    if part[key] == nil then part[key] = value end
  end
  return part
end

-- The names of a plain table's columns; nil for other sources, which have an order.
local function plain_names(source)
  if type(source) ~= "table" or metatable(source) or #source > 0 then return nil end
  local list = {}
  for name in pairs(source) do list[#list + 1] = name end
  return #list > 0 and list or nil
end

--- Parts of a data set with these shares: local train, test = flow.data.split(set, { 0.8, 0.2 }).
-- Which item is in which part follows from `seed` alone, 1 unless given, so that every run has the
-- same; { 0.8, 0.2, seed = 7 }. With by_class = true each part has its share of each class, of
-- which the column `labels` tells, or by_class = "city" another column. Items keep their order, and
-- parts have what else the set has, such as `classes`.
split.split = args.define(WHO, "Parts of a data set, by their shares.", {
  { "source", "a data set, or a list of NdArrays", keyed = true, type = "table|NdArray" },
  { "parts", "the share of each, and options: {0.8, 0.2, seed = 1, by_class = true}",
    args.none, keyed = true, type = "number[]|table" },
  returns = "table",
}, function(o)
  local parts, seed, by_class = read_parts(o.parts)
  local list, titles = columns.read(WHO, o.source, plain_names(o.source))
  local n = columns.count(WHO, list, titles)
  if not titles or type(titles[1]) ~= "string" then titles = nil end
  local found = places(n, classes_of(by_class, list, titles), parts, seed)
  for k, items in ipairs(found) do found[k] = part_of(o.source, list, titles, items) end
  return unpack(found, 1, #parts)
end)

return split
