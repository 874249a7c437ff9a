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

-- Replaces texts by numbers from 0, in the order in which they occur first. Returns the texts.
local function number(texts)
  local ids, found, list = {}, {}, {}
  for i, text in ipairs(texts) do
    local id = found[text]
    if not id then
      id = #list
      found[text], list[id + 1] = id, text
    end
    ids[i] = id
  end
  return core.from_table(ids, "int32"), list
end

-- Makes numbers of the texts of the wanted columns. Returns the lists of texts by column.
local function make_categories(list, wanted)
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
    pair[2], categories[name] = number(pair[2])
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

--- Reads a table of comma-separated values (RFC 4180): a data set with a column for each in the
-- file, in its order, for flow.data.batches. A column of numbers is an NdArray of int32, int64
-- where that is too small, or float32; a missing number is nan, which makes it float32. Other
-- columns are lists of texts or, with categories, int32 arrays that count the different texts from
-- 0, in the order in which they occur; `categories` of the result lists those texts by column.
csv.csv = args.define(WHO, "A table of comma-separated values as a data set.", {
  { "path", "of the file", type = "string" },
  { "separator", "between cells", "," },
  { "header", "whether the first line has the columns' names; else they are column_1 and so on",
    true },
  { "types", "dtypes or \"string\" by column, where what the file has does not tell: {zip = "
    .. "\"string\"}", {}, type = "table<string, string>" },
  { "missing", "what stands for a missing number", MISSING, type = "string[]" },
  { "categories", "columns of texts to be made numbers: their names, or true for all", {},
    type = "string[]|boolean" },
  returns = "CsvTable",
}, function(o)
  args.expect(WHO, "path", o.path, "string")
  args.expect(WHO, "header", o.header, "boolean")
  if #args.expect(WHO, "separator", o.separator, "string") ~= 1 then
    core.fail("%s: separator must be one character, got string '%s'", WHO, o.separator)
  end
  local typed, types = read_types(o.types)
  local list = core.csv(o.path, { separator = o.separator, header = o.header, typed = typed,
    types = types, missing = check_strings("missing", o.missing) }, WHO)
  local wanted = o.categories
  if type(wanted) == "boolean" then wanted = wanted and texts_of(list) or {} end
  local categories = make_categories(list, check_strings("categories", wanted))
  local set = columns.set(list)
  if set.categories == nil then set.categories = categories end
  return set
end)

return csv
