-- flow.data.csv: tables in text files as data sets.
---@box data.csv
local args = require "jfl.base.args"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local names = require "jfl.base.names"

local csv = {}

local WHO = "data.csv"
local MISSING = { "", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?" }

local function check_strings(name, list)
  for i, text in ipairs(args.expect(WHO, name, list, "table")) do
    args.expect(WHO, ("%s[%d]"):format(name, i), text, "string")
  end
  return list
end

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
  for i, text in ipairs(check_strings("categories." .. column, texts)) do
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
    if not pair then
      core.fail("%s: categories: the file has no column %s%s", WHO, args.describe(name),
        names.suggest(name, by_name))
    end
    if core.type(pair[2]) == "array" then
      core.fail("%s: categories: column '%s' must have texts, got numbers; types = {%s = "
        .. "\"string\"} reads them as texts", WHO, name, name)
    end
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

-- ---- reading ----

local function read(o, types)
  local typed, list = read_types(types)
  return core.csv(o.path, { separator = o.separator, header = o.header, typed = typed,
    types = list, missing = check_strings("missing", o.missing) }, WHO)
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
-- unknown = "class" }, has the number after the last.
csv.csv = args.define(WHO, "A table of comma-separated values as a data set: its columns by name, "
  .. "and categories, the texts of those made numbers.", {
  { "path", "of the file", type = "string" },
  { "separator", "between cells", "," },
  { "header", "whether the first line has the columns' names; else they are column_1 and so on",
    true },
  { "types", "dtypes or \"string\" by column, where what the file has does not tell: {zip = "
    .. "\"string\"}", {}, type = "table<string, string>" },
  { "missing", "what stands for a missing number", MISSING, type = "string[]" },
  { "categories", "columns of texts to be made numbers: their names, true for all, or by name the "
    .. "texts that are 0, 1 and so on: {city = {\"Rome\", \"Oslo\"}}", {},
    keyed = true, type = "string[]|table<string, string[]>|boolean" },
  { "unknown", "what a text that is none of the categories given is: an \"error\", or a \"class\" "
    .. "after the last", "error" },
  returns = "CsvTable",
}, function(o)
  args.expect(WHO, "path", o.path, "string")
  args.expect(WHO, "header", o.header, "boolean")
  if #args.expect(WHO, "separator", o.separator, "string") ~= 1 then
    core.fail("%s: separator must be one character, got string '%s'", WHO, o.separator)
  end
  args.one_of(WHO, "unknown", o.unknown, { "error", "class" })
  local list = read_texts(o)
  local wanted, given = read_categories(o.categories, function() return texts_of(list) end)
  local categories = make_categories(o, list, wanted, given)
  local set = columns.set(list)
  if set.categories == nil then set.categories = categories end
  return set
end)

return csv
