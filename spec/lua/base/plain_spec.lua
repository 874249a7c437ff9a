-- Plain values as text and back.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local json = require "spec.json"
local plain = require "jfl.base.plain"

describe("plain values", function()
  local function through(value) return plain.read(plain.write(value, "it")) end

  it("come back as they were", function()
    for _, value in ipairs { {}, { 1, 2, 3 }, { "a", { "b", { c = true, d = false } } },
      { mean = { 0.1, 1 / 3, -1e300, 2 ^ 53, 5e-324 }, name = "a\"b\\c\n\t\1/€" },
      { [0] = "a", "b", "c" }, { [2] = 1 }, { 1, 2, x = 3 }, { [true] = 1, [1.5] = { [-1] = {} } },
      { ["\tpairs"] = { 1 } }, { ["\tnumber"] = "inf", b = 1 }, { math.huge, -math.huge },
      { "\255\254", "\0", "" }, { ["\128"] = 1 }, "text", 3, true } do
      assert.same(value, through(value))
    end
    local nan = through({ 0 / 0 })[1]
    assert.is_true(nan ~= nan)
  end)

  it("are JSON, the same for equal tables", function()
    local text = plain.write({ b = { 1, 2 }, a = { [0] = "x", [5] = "y" }, c = "\255" }, "it")
    assert.equal([=[{"a":{"\tpairs":[[0,"x"],[5,"y"]]},"b":[1,2],"c":{"\tbytes":"ff"}}]=], text)
    assert.same({ 1, 2 }, json.read(text).b)
    assert.same({ a = { "x", { b = 1e3 } } }, plain.read(' { "a" : [ "x" , {"b":1e3}]}\n'))
    assert.equal("\n\195\164\226\130\172", plain.read([["\n\u00e4\u20ac"]]))
  end)

  it("say what they cannot be", function()
    local circle = {}
    circle.x = circle
    local function fails(value, text)
      helper.fails(function() plain.write(value, "notes") end, text)
    end
    fails({ a = { print } },
      "notes.a[1] must be a table, string, number or boolean, got a function")
    fails({ mean = flow.ndarray.ones({ 2 }) }, "got an NdArray (2)")
    fails({ mean = flow.ndarray.ones({ 2 }) }, "; array:totable() gives a table")
    fails({ [{}] = setmetatable({}, {}) }, "must be a table")
    fails(circle, "tables must be at most 100 deep, and none within itself")
  end)

  it("are nothing where a text says null", function()
    assert.same({ b = 1 }, plain.read '{"a":null,"b":1}')
  end)

  it("are read from no other text", function()
    for _, text in ipairs { "", "{", "[1,]", "[1 2]", "{1:2}", '{"a"}', '{"a":}', "nul", "tru",
      '"', '"\\x"', '"\\u12"', "1 2", "[1]]", "--1", "0x", '{"\\tpairs":1}',
      '{"\\tpairs":[[1]]}', '{"\\tnumber":"x"}', '{"\\tbytes":"f"}', '{"\\tbytes":"zz"}',
      '{"\\tpairs":[[{"\\tnumber":"nan"},1]]}', ("["):rep(200000) } do
      assert.is_nil(plain.read(text), text:sub(1, 20))
    end
  end)
end)
