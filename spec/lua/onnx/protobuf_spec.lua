-- Protocol buffers that are read and written, and damaged ones.
local core = require "jfl.core"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"

local TEST = {
  M = {
    [1] = { "i", "int64" }, [2] = { "list", "int64", repeated = true }, [3] = { "f", "float" },
    [4] = { "floats", "float", repeated = true }, [5] = { "s", "string" },
    [6] = { "of", "M" }, [7] = { "many", "M", repeated = true }, [8] = { "b", "bool" },
    [9] = { "raw", "bytes", span = true }, [10] = { "d", "double" }, [11] = { "small", "int32" },
    [12] = { "doubles", "double", repeated = true }, [13] = { "texts", "string", repeated = true },
    [2000] = { "far", "uint64" },
  },
}

local function encode(values)
  local texts = {}
  local pieces, size = protobuf.encode(TEST, "M", values)
  protobuf.write(pieces, function(text) texts[#texts + 1] = text end)
  local text = table.concat(texts)
  assert.equal(size, #text)
  return text
end

local function decode(text)
  return protobuf.decode(protobuf.of_text("test", text), TEST, "M")
end

describe("protocol buffers", function()
  it("come back as they were written", function()
    local message = { i = -5, list = { 0, 1, 127, 128, 300, -1, -300, 2 ^ 40, -2 ^ 40 }, f = 0.5,
      floats = { 1, -2, 0.25 }, s = "text", b = true, d = 1 / 3, small = -7,
      doubles = { 1 / 3, -1 / 7 }, texts = { "", "a" }, far = 2 ^ 50,
      of = { i = 3, of = { s = "in" } }, many = { { i = 1 }, {}, { i = 3 } } }
    assert.same(message, decode(encode(message)))
  end)

  it("reads the bytes that protobuf's own writers give", function()
    assert.same({ i = 150 }, decode "\8\150\1")
    assert.same({ i = -1 }, decode("\8" .. ("\255"):rep(9) .. "\1"))
    assert.same({ i = -2 ^ 63 }, decode("\8" .. ("\128"):rep(9) .. "\1"))
    assert.same({ i = 2 ^ 63 }, decode("\8" .. ("\255"):rep(8) .. "\127"))   -- rounded by one
    assert.same({ small = -1 }, decode("\88" .. ("\255"):rep(9) .. "\1"))
    assert.same({ list = { 3, 270 } }, decode "\18\3\3\142\2")
    assert.same({ list = { 3, 270 } }, decode "\16\3\16\142\2")              -- one by one
    assert.same({ s = "testing" }, decode "\42\7testing")
  end)

  it("takes the last of a field that occurs twice", function()
    assert.same({ i = 2, s = "b", of = { i = 3 } }, decode "\8\1\8\2\42\1a\42\1b\50\0\50\2\8\3")
  end)

  it("leaves out fields that the table does not have", function()
    assert.same({ i = 1 }, decode "\168\6\5\177\6\1\2\3\4\5\6\7\8\186\6\1a\189\6\1\2\3\4\8\1")
  end)

  it("tells where bytes lie that it does not read", function()
    local text = encode { i = 1, raw = "0123456789" }
    local raw = decode(text).raw[1]
    assert.equal("0123456789", text:sub(raw.first + 1, raw.first + raw.size))
  end)

  it("writes bytes that a function gives", function()
    local text = encode { raw = { size = 6, write = function(write) write "abc" write "def" end } }
    assert.equal("\74\6abcdef", text)
  end)

  it("refuses fields that the table does not have when it writes", function()
    assert.error_matches(function() encode { other = 1 } end, "M has no field 'other'")
  end)

  it("reads a long file in pieces", function()
    local list, path = {}, os.tmpname()
    for i = 1, 50000 do list[i] = i * 3 end
    local text = encode { list = list, s = ("x"):rep(200000), many = { { list = list } } }
    local out = assert(io.open(path, "wb"))
    out:write(text)
    out:close()
    local file = assert(core.file_open(path))
    local message = protobuf.decode(protobuf.of_file(path, file), TEST, "M")
    core.file_close(file)
    os.remove(path)
    assert.same(list, message.list)
    assert.same(list, message.many[1].list)
    assert.equal(200000, #message.s)
  end)
end)

describe("a damaged protocol buffer", function()
  it("is an error wherever it is cut short", function()
    local message = { i = 300, list = { 1, 300 }, f = 1, s = "text", of = { i = 1, d = 2 } }
    local text, whole = encode(message), 0
    for n = 1, #text - 1 do
      local ok, err = pcall(decode, text:sub(1, n))
      if ok then whole = whole + 1        -- the cut is between two fields
      else assert.matches("test: cut short or damaged at byte %d+", err) end
    end
    assert.equal(4, whole)
  end)

  it("is an error where a size is larger than what there is", function()
    assert.error_matches(function() decode "\42\255\255\255\255\255\255\255\127a" end, "cut short")
    assert.error_matches(function() decode("\42" .. ("\255"):rep(9) .. "\1a") end, "cut short")
    assert.error_matches(function() decode "\50\3\42\4ab" end, "cut short")
  end)

  it("is an error where a number has no end", function()
    assert.error_matches(function() decode("\8" .. ("\128"):rep(20)) end,
      "a number of more than 10 bytes")
  end)

  it("is an error where a field is of another kind", function()
    assert.error_matches(function() decode "\40\1" end, "'s' is of another kind than string")
    assert.error_matches(function() decode "\15" end, "a field of the unknown kind 7")
    assert.error_matches(function() decode "\34\3abc" end, "cut short")
    assert.error_matches(function() decode "\0" end, "cut short")
  end)

  it("is an error where messages are within one another without end", function()
    local text = ""
    for _ = 1, 200 do
      local size = #text
      text = "\50" .. (size < 128 and string.char(size)
        or string.char(128 + size % 128, math.floor(size / 128))) .. text
    end
    assert.error_matches(function() decode(text) end, "more than 100 messages within one another")
  end)
end)

describe("the messages of ONNX", function()
  it("name messages and types that there are", function()
    for name, fields in pairs(schema) do
      local names = {}
      for _, field in pairs(fields) do
        local known = schema[field[2]] or field[2]:find "^u?int%d" or field[2] == "float"
          or field[2] == "double" or field[2] == "string" or field[2] == "bytes"
        assert.truthy(known, name .. "." .. field[1])
        assert.falsy(names[field[1]])
        names[field[1]] = true
      end
    end
  end)

  it("has the numbers and types that ONNX's own package has", function()
    local known, seen, n = {}, {}, 0
    for line in io.lines "spec/lua/onnx/fields.txt" do
      local message, number, rest = line:match "^(%S+) (%d+) (.*)$"
      known[message] = known[message] or {}
      known[message][tonumber(number)] = rest
    end
    local function compare(ours, theirs)
      if seen[ours] == theirs then return end
      seen[ours] = theirs
      for number, field in pairs(schema[ours]) do
        local name, kind = field[1], field[2]
        local is = name .. (field.repeated and " repeated " or " one ")
        local said = known[theirs][number] or "none"
        local of = said:match "%S+$"
        assert.equal(is .. (schema[kind] and of or kind), said, ours .. " " .. number)
        n = n + 1
        if schema[kind] then compare(kind, of) end
      end
    end
    compare("ModelProto", "ModelProto")
    assert(n > 70, n)
  end)
end)
