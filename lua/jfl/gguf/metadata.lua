-- What stands in a GGUF file before its tensors, written.
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local core = require "jfl.core"

local metadata = {}

local whole = archive.whole

local VERSION = 3
-- The format's numbers of types, and the dtypes of those that are numbers.
local TYPES = { uint32 = 4, int32 = 5, float32 = 6, boolean = 7, string = 8, list = 9 }

local function string_of(text) return whole(#text, 8) .. text end

local WRITERS = {
  uint32 = function(v) return whole(v, 4) end,
  int32 = function(v) return whole(v % 2 ^ 32, 4) end,
  float32 = function(v) return core.bytes(core.from_table({ v }, "float32")) end,
  boolean = function(v) return v and "\1" or "\0" end,
  string = string_of,
}

local function list_of(values, kind)
  local parts = { whole(TYPES[kind], 4), whole(#values, 8) }
  for i, value in ipairs(values) do parts[i + 2] = WRITERS[kind](value) end
  return table.concat(parts)
end

--- Adds a key to a list: kind is uint32, int32, float32, boolean or string, or that in a table, for
-- lists of it.
function metadata.add(list, key, kind, value)
  list[#list + 1] = { key = key, kind = kind, value = value }
end

-- The kind of what a user gives for a key.
local function kind_of(who, key, value)
  local kind = type(value)
  if kind == "string" or kind == "boolean" then return kind end
  if kind == "number" then
    if value % 1 ~= 0 or value >= 2 ^ 32 or value < -2 ^ 31 then return "float32" end
    return value < 0 and "int32" or "uint32"
  end
  if kind == "table" and #value > 0 then
    for i, each in ipairs(value) do
      args.expect(who, ("metadata['%s'][%d]"):format(key, i), each, "string")
    end
    return { "string" }
  end
  core.fail("%s: metadata: '%s' must be a string, number, boolean or a list of strings, got %s",
    who, key, args.describe(value))
end

--- Adds what a user gives, which comes in place of what is there already.
function metadata.more(who, given, list)
  if given == nil then return end
  args.expect(who, "metadata", given, "table")
  local keys = {}
  for key in pairs(given) do
    args.expect(who, "metadata: a key", key, "string")
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    for i = #list, 1, -1 do
      if list[i].key == key then table.remove(list, i) end
    end
    metadata.add(list, key, kind_of(who, key, given[key]), given[key])
  end
end

--- The bytes from the beginning of the file to its tensors' names.
function metadata.write(list, n_tensors)
  local parts = { "GGUF", whole(VERSION, 4), whole(n_tensors, 8), whole(#list, 8) }
  for _, each in ipairs(list) do
    local is_list = type(each.kind) == "table"
    parts[#parts + 1] = string_of(each.key) .. whole(TYPES[is_list and "list" or each.kind], 4)
      .. (is_list and list_of(each.value, each.kind[1]) or WRITERS[each.kind](each.value))
  end
  return table.concat(parts)
end

--- The bytes that tell of a tensor { name, shape, form, at }.
function metadata.tensor(t)
  local parts = { string_of(t.name), whole(#t.shape, 4) }
  for i = #t.shape, 1, -1 do parts[#parts + 1] = whole(t.shape[i], 8) end
  return table.concat(parts) .. whole(t.form.type, 4) .. whole(t.at, 8)
end

return metadata
