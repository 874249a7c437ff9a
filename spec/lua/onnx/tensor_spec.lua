-- Tensors of ONNX files: each type of numbers, as bytes and as numbers in a field of its own.
require "jfl"
local core = require "jfl.core"
local helper = require "spec.lua.helper"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"
local tensor = require "jfl.onnx.tensor"

local INT32_DATA, INT64_DATA, RAW, UINT64_DATA = 5, 7, 9, 11       -- fields of a TensorProto

-- A number as bytes, the lowest 7 bits first.
local function varint(n)
  local text = ""
  while n > 127 do
    text, n = text .. string.char(n % 128 + 128), math.floor(n / 128)
  end
  return text .. string.char(n)
end

local function bytes(field, text) return varint(field * 8 + 2) .. varint(#text) .. text end

-- A tensor of n numbers of a type, whose field has that text.
local function tensor_of(number, n, field, text)
  local message = "\8" .. varint(n) .. "\16" .. varint(number) .. bytes(field, text)
  local source = protobuf.of_text("m.onnx", message)
  return tensor.of(protobuf.decode(source, schema, "TensorProto"), source)
end

-- By type: its number, the dtype here, bytes of an element, the field of its numbers, the numbers,
-- and what each is there.
local TYPES = {
  { "uint16", 4, "int32", 2, INT32_DATA, { 0, 1, 258, 65535 } },
  { "int16", 5, "int32", 2, INT32_DATA, { 0, 1, 258, 32767 } },
  { "int32", 6, "int32", 4, INT32_DATA, { 0, 1, 258, 2 ^ 31 - 1 } },
  { "int64", 7, "int64", 8, INT64_DATA, { 0, 1, 258, 2 ^ 40 } },
  { "uint8", 2, "uint8", 1, INT32_DATA, { 0, 1, 255 } },
  { "int8", 3, "int8", 1, INT32_DATA, { 0, 1, 127 } },
  { "bool", 9, "int8", 1, INT32_DATA, { 0, 1, 1 } },
  { "uint32", 12, "int64", 4, UINT64_DATA, { 0, 1, 2 ^ 32 - 1 } },
  { "uint64", 13, "int64", 8, UINT64_DATA, { 0, 1, 2 ^ 40 } },
  { "float16", 10, "float16", 2, INT32_DATA, { 0x3c00, 0x4200, 0x3800 }, { 1, 3, 0.5 } },
  { "bfloat16", 16, "bfloat16", 2, INT32_DATA, { 0x3f80, 0x4040, 0x3f00 }, { 1, 3, 0.5 } },
}

local function little(n, size)
  local text = ""
  for _ = 1, size do text, n = text .. string.char(n % 256), math.floor(n / 256) end
  return text
end

describe("a tensor of an ONNX file", function()
  it("has the numbers of its type, wherever they lie", function()
    for _, t in ipairs(TYPES) do
      local name, number, dtype, size, field, list, want = unpack(t)
      local raw, own = "", ""
      for _, v in ipairs(list) do raw, own = raw .. little(v, size), own .. varint(v) end
      for at, text in pairs { [RAW] = raw, [field] = own } do
        local a = tensor_of(number, #list, at, text).read()
        assert.same({ name, dtype }, { name, a.dtype })
        assert.same({ name, at, unpack(want or list) },
          { name, at, unpack(core.to_table(core.cast(a, "float64"))) })
      end
      local none = tensor_of(number, 0, RAW, "").read()
      assert.same({ 0 }, none.shape)
      assert.equal(dtype, none.dtype)
      helper.fails(function() tensor_of(number, #list, RAW, raw .. "\0") end, "bytes, got")
      helper.fails(function() tensor_of(number, #list + 1, field, own) end, "numbers, got")
    end
  end)

  it("of a type that jfl lacks is refused when it is read", function()
    local t = tensor_of(8, 0, RAW, "")
    helper.fails(function() t.read() end, "jfl has no elements of type string")
    helper.fails(function() tensor_of(99, 1, RAW, "") end, "its type must be from 1 to 26, got 99")
  end)
end)
