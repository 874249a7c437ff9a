-- Tensors of ONNX files as arrays: their numbers may lie in fields of their own, as bytes, or in
-- other files of the model's folder.
local core = require "jfl.core"
local narrow = require "jfl.onnx.narrow"
local values = require "jfl.onnx.values"

local tensor = {}

local MOST_RANK = 8
local EXTERNAL = 1                     -- data_location

-- By ONNX's number: the name there, the dtype here, the bytes of an element in raw data, and the
-- field for those that are no bytes. Types that jfl lacks become wider, those of few bits by
-- onnx/narrow.lua; a bool is int8 here.
local TYPES = {
  [1] = { "float", "float32", 4, "float_data" }, [2] = { "uint8", "uint8", 1, "int32_data" },
  [3] = { "int8", "int8", 1, "int32_data" },
  [4] = { "uint16", "int32", 2, "int32_data", "<u2" },
  [5] = { "int16", "int32", 2, "int32_data", "<i2" },
  [6] = { "int32", "int32", 4, "int32_data" },
  [7] = { "int64", "int64", 8, "int64_data" }, [8] = { "string" },
  [9] = { "bool", "int8", 1, "int32_data" }, [10] = { "float16", "float16", 2, "int32_data" },
  [11] = { "double", "float64", 8, "double_data" },
  [12] = { "uint32", "int64", 4, "uint64_data", "<u4" },
  [13] = { "uint64", "int64", 8, "uint64_data", "<u8" }, [14] = { "complex64" },
  [15] = { "complex128" },
  [16] = { "bfloat16", "bfloat16", 2, "int32_data" },
}
for i, name in ipairs { "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",
  "int4", "float4e2m1", "float8e8m0", "uint2", "int2" } do
  local dtype = name:find "^float" and "float32" or name:find "^u" and "uint8" or "int8"
  TYPES[16 + i] = { name, dtype, narrow.bits(name) / 8, "int32_data" }
end

--- What a number of a type stands for: its name in ONNX, and the dtype that it has here, or nil.
function tensor.type_of(number)
  local t = TYPES[number]
  if t then return t[1], t[2] end
  return ("type %s"):format(tostring(number))
end

local function fail(t, form, ...)
  core.fail("%s: tensor '%s': " .. form, t.path, t.name, ...)
end

local function count_of(t, dims)
  local n, product = 1, 1
  if #dims > MOST_RANK then
    fail(t, "it must have at most %d dimensions, got %d", MOST_RANK, #dims)
  end
  for _, extent in ipairs(dims) do
    if extent < 0 then fail(t, "an extent must be at least 0, got %.0f", extent) end
    n, product = n * extent, product * math.max(extent, 1)
    if product > 2 ^ 47 then fail(t, "its extents must multiply to at most 2^47") end
  end
  return n
end

-- ---- where its bytes lie ----

-- Whether a path leads nowhere but to a file of the folder or of folders in it.
local function stays_inside(path)
  if path == "" or path:find("[%z\\:]") or path:find("^/") then return false end
  for part in (path .. "/"):gmatch("([^/]*)/") do
    if part == ".." or part == "" then return false end
  end
  return true
end

-- Where the bytes of data in another file lie: { path, first, size }.
local function external_place(t, entries, size)
  local at = {}
  for _, entry in ipairs(entries or {}) do at[entry.key or ""] = entry.value end
  local location = at.location or fail(t, "it lies in another file, whose name is missing")
  if not stays_inside(location) then
    fail(t, "its file must be in the model's folder, got '%s'", core.printable(location))
  end
  local first = tonumber(at.offset or "0")
  local length = tonumber(at.length or size)
  if not first or first < 0 or first % 1 ~= 0 or first >= 2 ^ 53 then
    fail(t, "the offset in '%s' must be a whole number, got '%s'", location,
      core.printable(at.offset))
  end
  if length ~= size then
    fail(t, "it must have %.0f bytes in '%s', got %s", size, location,
      core.printable(tostring(at.length)))
  end
  return { path = location, first = first, size = size }
end

-- The bytes of the fields of numbers, which lie in one or several places.
local function span_size(spans)
  local size = 0
  for _, span in ipairs(spans) do size = size + span.size end
  return size
end

local function check_size(t, want, got, what)
  if want ~= got then
    fail(t, "it must have %.0f %s, got %.0f", want, what, got)
  end
end

-- Where the numbers are: `bytes` in this file or another, `list` for those that are in Lua already.
local function find_data(t, message)
  local kind, n = t.kind, t.count
  local size = math.ceil(n * (kind[3] or 0))
  local field = kind[4]
  local own = message[field]
  if message.data_location == EXTERNAL then
    t.outside = external_place(t, message.external_data, size)
  elseif message.raw_data then
    check_size(t, size, span_size(message.raw_data), "bytes")
    t.spans = message.raw_data
  elseif field == "float_data" or field == "double_data" then
    check_size(t, size, span_size(own or {}), "bytes")
    t.spans = own or {}
  else
    check_size(t, narrow.bits(kind[1]) and size or n, #(own or {}), "numbers")
    t.list = own or {}
  end
end

-- ---- reading ----

local HALF = { float16 = true, bfloat16 = true }

-- Numbers from 0 to 255 as bytes.
local function bytes_of(list)
  local texts = {}
  for i, v in ipairs(list) do texts[i] = string.char(v % 256) end
  return table.concat(texts)
end

-- Numbers that lie in Lua. Those of 16 bits stand for halves of floats by their bits.
local function from_list(t)
  local dtype, list = t.dtype, t.list
  if #list == 0 then return core.from_bytes("", dtype, t.shape) end
  if HALF[dtype] then
    local texts = {}
    for i, v in ipairs(list) do
      texts[i] = string.char(v % 256, math.floor(v / 256) % 256)
    end
    return core.from_bytes(table.concat(texts), dtype, t.shape)
  end
  local most = dtype == "int64" and 2 ^ 63 or math.huge
  local numbers = {}
  for i, v in ipairs(list) do numbers[i] = v < most and v or 2 ^ 63 - 1024 end
  return core.reshape(core.from_table(numbers, dtype), t.shape)
end

local function joined(source, spans)
  local texts = {}
  for i, span in ipairs(spans) do texts[i] = source:text(span.first, span.size) end
  return table.concat(texts)
end

local function from_file(t, file, first)
  local a, why = core.file_array(file, t.dtype, t.shape, first)
  return a or fail(t, "%s", why)
end

-- Bytes of elements that jfl has in this form.
local function from_bytes(t)
  if t.outside then return from_file(t, t.files(t.outside.path, t), t.outside.first) end
  local source, spans = t.source, t.spans
  if #spans == 1 and source.file then return from_file(t, source.file, spans[1].first) end
  return core.from_bytes(joined(source, spans), t.dtype, t.shape)
end

-- All bytes of a tensor as a text.
local function text_of(t)
  if t.list then return bytes_of(t.list) end
  if not t.outside then return joined(t.source, t.spans) end
  local bytes = core.file_array(t.files(t.outside.path, t), "uint8", { t.outside.size },
    t.outside.first)
  return core.bytes(bytes or fail(t, "'%s' ends before it", t.outside.path))
end

-- Bytes of elements that become wider.
local function decoded(t)
  local text = text_of(t)
  local a = core.array(t.dtype, t.shape)
  core.decode(core.reshape(a, { t.count }), 0, t.kind[5], text, ("%s: %s"):format(t.path, t.name))
  return a
end

--- A tensor that can be read: { name, dtype, shape, count, onnx_type, read =, is_there = }. read()
-- gives a new array; is_there() tells whether a file has so many bytes. A dtype of nil stands for a
-- type that jfl lacks, which read() refuses.
-- source: where the message lies; files(path, tensor) opens a file of the model's folder.
function tensor.of(message, source, files, name)
  local t = { path = source.path, name = core.printable(name or message.name or ""),
    source = source, files = files, shape = message.dims or {} }
  local kind = TYPES[message.data_type or 0]
    or fail(t, "its type must be from 1 to %d, got %d", #TYPES, message.data_type or 0)
  t.kind, t.onnx_type, t.dtype = kind, kind[1], kind[2]
  t.count = count_of(t, t.shape)
  if t.dtype then find_data(t, message) end
  function t.is_there()
    local at = t.outside
    if not t.dtype then return false end
    return not at or core.file_size(t.files(at.path, t)) >= at.first + at.size
  end
  function t.read()
    if not t.dtype then fail(t, "jfl has no elements of type %s", t.onnx_type) end
    if narrow.bits(t.onnx_type) then
      local a = narrow.decode(t.onnx_type, t.dtype, text_of(t), t.count)
      return values.with_type(core.reshape(a, t.shape), t.onnx_type)
    end
    if t.list then return values.with_type(from_list(t), t.onnx_type) end
    return values.with_type(t.kind[5] and decoded(t) or from_bytes(t), t.onnx_type)
  end
  return t
end

return tensor
