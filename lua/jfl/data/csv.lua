-- flow.data.csv: tables in text files as data sets.
---@box data.csv
local args = require "jfl.base.args"
local columns = require "jfl.data.columns"
local core = require "jfl.core"

local csv = {}

local WHO = "data.csv"
local MISSING = { "", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?" }

-- The names of columns with a type and their types, of a table by names.
local function read_types(types)
  local typed, list = {}, {}
  for name, kind in pairs(args.expect(WHO, "types", types, "table")) do
    args.expect(WHO, "types", name, "string")
    if kind ~= "string" and type(kind) ~= "string" or not core.dtypes[kind] and kind ~= "string"
      and kind ~= "float" and kind ~= "double" then
      core.fail("%s: types.%s must be \"string\" or a dtype, got %s", WHO, name,
        args.describe(kind))
    end
    typed[#typed + 1], list[#list + 1] = name, kind
  end
  return typed, list
end

-- ---- categories ----

-- The texts of a column's categories, in their order, and the number of each.
local function read_list(column, texts)
  local found, list = {}, {}
  for i, text in ipairs(args.list(WHO, "categories." .. column, texts, "string")) do
    if found[text] then
      core.fail("%s: categories.%s[%d] must be another text than those before, got '%s'", WHO,
        column, i, text)
    end
    found[text], list[i] = i - 1, text
  end
  return list, found
end

-- The option `categories` as the names of columns, with the texts of those that have some: from
-- names, or lists of texts by name, or both. true: all columns of texts, which `texts` says.
local function read_categories(given, texts)
  local wanted, of = {}, {}
  if type(given) == "boolean" then return given and texts() or {}, of end
  for key, value in pairs(args.expect(WHO, "categories", given, "table")) do
    if type(key) == "string" then
      wanted[#wanted + 1], of[key] = key, value
    else
      wanted[#wanted + 1] = args.expect(WHO, ("categories[%s]"):format(tostring(key)), value,
        "string")
    end
  end
  table.sort(wanted)
  return wanted, of
end

-- The error of a text that is none of its column's categories.
local function refuse(o, column, row, text, list)
  core.fail("%s: %s: row %d: '%s' is none of the categories of column '%s': %s; unknown = "
    .. "\"class\" makes a class of all that are none", WHO, o.path, row, text, column,
    args.listed(list))
end

-- Replaces texts by numbers from 0: of the categories that are given, or in the order in which they
-- occur first. Returns the texts by number.
local function number(o, column, texts, given)
  local ids, list, found = {}, {}, {}
  if given ~= nil then list, found = read_list(column, given) end
  for i, text in ipairs(texts) do
    local id = found[text]
    if not id and given ~= nil and o.unknown == "error" then refuse(o, column, i, text, list) end
    if not id and given == nil then
      id = #list
      found[text], list[id + 1] = id, text
    end
    ids[i] = id or #list
  end
  return core.from_table(ids, "int32"), list
end

-- Makes numbers of the texts of the wanted columns. Returns the lists of texts by column.
local function make_categories(o, list, wanted, given)
  local by_name, categories = {}, {}
  for _, pair in ipairs(list) do by_name[pair[1]] = pair end
  for _, name in ipairs(wanted) do
    local pair = by_name[name]
    if not pair then columns.lacks(WHO .. ": categories: the file", name, by_name) end
    args.check(core.type(pair[2]) ~= "array", "%s: categories: column '%s' must have texts, got "
      .. "numbers; types = {%s = \"string\"} reads them as texts", WHO, name, name)
    pair[2], categories[name] = number(o, name, pair[2], given[name])
  end
  return categories
end

local function texts_of(list)
  local wanted = {}
  for _, pair in ipairs(list) do
    if core.type(pair[2]) ~= "array" then wanted[#wanted + 1] = pair[1] end
  end
  return wanted
end

-- ---- missing numbers ----

local WAYS = { mean = true, median = true }

-- What fills a column, as a number: itself, or the mean or median of those that are there.
local function filling(o, column, values, given)
  if type(given) == "number" and given == given and math.abs(given) < math.huge then
    return given
  end
  args.must(WAYS[given], given, "%s: fill.%s must be \"mean\", \"median\" or a number", WHO, column)
  local list, sum = {}, 0
  for _, v in ipairs(values) do
    v = tonumber(v)
    if v == v then list[#list + 1], sum = v, sum + v end
  end
  args.check(#list > 0, "%s: %s: column '%s' must have a number for its %s, got none; fill = {%s = "
    .. "0} gives one", WHO, o.path, column, given, column)
  if given == "mean" then return sum / #list end
  table.sort(list)
  local middle = (#list + 1) / 2
  return (list[math.floor(middle)] + list[math.ceil(middle)]) / 2
end

-- What the option `fill` says of each column of numbers, by name: of a table, or one for all.
local function read_fill(o, by_name)
  local wanted = {}
  if o.fill == nil then return wanted end
  if type(o.fill) ~= "table" then
    for name, pair in pairs(by_name) do
      wanted[name] = core.type(pair[2]) == "array" and o.fill or nil
    end
    return wanted
  end
  for name, given in pairs(o.fill) do
    local pair = by_name[args.expect(WHO, "fill", name, "string")]
    if not pair then columns.lacks(WHO .. ": fill: the file", name, by_name) end
    args.check(core.type(pair[2]) == "array", "%s: fill: column '%s' must have numbers, got texts; "
      .. "a missing text is a category of its own", WHO, name)
    wanted[name] = given
  end
  return wanted
end

-- Fills a column, which stays as it is where no number is missing; returns what it was filled with,
-- and which rows were missing, as 0 and 1, or nil.
local function fill_column(o, pair, given)
  local values, missing = pair[2]:totable(), {}
  local with = filling(o, pair[1], values, given)
  if pair[2].dtype:match("^int") then return with, nil end
  for i, v in ipairs(values) do
    missing[i] = v ~= v and 1 or 0
    if v ~= v then values[i] = with end
  end
  pair[2] = core.from_table(values, pair[2].dtype)
  return with, missing
end

-- Fills what is missing, and with `indicators` puts a column behind each that had a missing number,
-- or is among those of another file. Returns the list, what columns were filled with, and which
-- have such a column.
local function fill_missing(o, list)
  local by_name, made, fills, marked = {}, {}, {}, {}
  for _, pair in ipairs(list) do by_name[pair[1]] = pair end
  local wanted = read_fill(o, by_name)
  local given = type(o.indicators) == "table" and {}
  for _, name in ipairs(given and o.indicators or {}) do
    args.check(wanted[name], "%s: indicators: '%s' must be a column that fill names", WHO,
      tostring(name))
    given[name] = true
  end
  for _, pair in ipairs(list) do
    local name, missing = pair[1], nil
    made[#made + 1] = pair
    if wanted[name] ~= nil then fills[name], missing = fill_column(o, pair, wanted[name]) end
    local some = missing and table.concat(missing):find("1", 1, true)
    if given and given[name] or o.indicators == true and some then
      if by_name[name .. "_missing"] then
        core.fail("%s: %s: indicators: there is a column '%s_missing' already", WHO, o.path, name)
      end
      made[#made + 1] = { name .. "_missing", missing and core.from_table(missing, "float32")
        or core.array("float32", { #pair[2] }) }
      marked[#marked + 1] = name
    end
  end
  return made, fills, marked
end

-- ---- reading ----

local function read(o, types)
  local typed, list = read_types(types)
  return core.csv(o.path, { separator = o.separator, header = o.header, typed = typed,
    types = list, missing = args.list(WHO, "missing", o.missing, "string") }, WHO)
end

-- Reads the file, and again where it has numbers in columns whose categories are given.
local function read_texts(o)
  local list, types, again = read(o, o.types), {}, false
  for name, kind in pairs(o.types) do types[name] = kind end
  for _, pair in ipairs(list) do
    local name = pair[1]
    local given = type(o.categories) == "table" and o.categories[name] ~= nil
    if given and core.type(pair[2]) == "array" and not types[name] then
      types[name], again = "string", true
    end
  end
  return again and read(o, types) or list
end

--- Reads a table of comma-separated values (RFC 4180): a data set with a column for each in the
-- file, in its order, for flow.data.batches. A column of numbers is an NdArray of int32, int64
-- where that is too small, or float32; a missing number is nan, which makes it float32. Other
-- columns are lists of texts or, with categories, int32 arrays that count the different texts from
-- 0, in the order in which they occur; `categories` of the result lists those texts by column.
-- Given to another call, as they are or from the notes of a checkpoint, they have the same numbers
-- there: { categories = houses.categories }. A text that is none of them is an error or, with {
-- unknown = "class" }, has the number after the last. fill puts numbers in place of missing ones:
-- "mean" or "median" of the column or a number, for all columns or by name; `fills` of the result
-- has the numbers by column, and { fill = train.fills, indicators = train.indicators } does the
-- same to another file. With indicators a column NAME_missing, of 0 and 1, follows each that had
-- any.
csv.csv = args.define(WHO, "A table of comma-separated values as a data set: its columns by name, "
  .. "and categories, the texts of those made numbers.", {
  { "path", "of the file", type = "string" },
  { "separator", "between cells", "," },
  { "header", "whether the first line has the columns' names; else they are column_1 and so on",
    true, type = "boolean" },
  { "types", "dtypes or \"string\" by column, where what the file has does not tell: {zip = "
    .. "\"string\"}", {}, keyed = true, type = "table<string, string>" },
  { "missing", "what stands for a missing number", MISSING, type = "string[]" },
  { "categories", "columns of texts to be made numbers: their names, true for all, or by name the "
    .. "texts that are 0, 1 and so on: {city = {\"Rome\", \"Oslo\"}}", {},
    keyed = true, type = "string[]|table<string, string[]>|boolean" },
  { "fill", "what missing numbers become: \"mean\", \"median\" or a number, for all columns or by "
    .. "name: {age = \"median\", rooms = 0}; else nan", args.none, keyed = true,
    type = '"mean"|"median"|number|table<string, string|number>' },
  { "indicators", "whether a column of 0 and 1 says where a filled one lacked a number; or the "
    .. "names of those that have one", false, type = "boolean|string[]" },
  { "unknown", "what a text that is none of the categories given is: an \"error\", or a \"class\" "
    .. "after the last", "error", words = { "error", "class" } },
  returns = "CsvTable",
}, function(o)
  args.check(#args.expect(WHO, "separator", o.separator, "string") == 1,
    "%s: separator must be one character, got string '%s'", WHO, o.separator)
  args.expect(WHO, "indicators", o.indicators, "boolean or table")
  local list, fills, marked = fill_missing(o, read_texts(o))
  local wanted, given = read_categories(o.categories, function() return texts_of(list) end)
  local categories = make_categories(o, list, wanted, given)
  local set = columns.set(list)
  for key, value in pairs { categories = categories, fills = fills, indicators = marked } do
    if set[key] == nil then set[key] = value end
  end
  return set
end)

return csv
