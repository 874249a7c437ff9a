-- Arrays: memory, views, elements, conversions.
local core = require "jfl.core"
local helper = require "spec.bind.helper"

local message = helper.message

describe("an array", function()
  it("starts as zeros of its shape and dtype", function()
    local a = core.array("int32", { 2, 3 })
    assert.same({ 2, 3 }, a.shape)
    assert.equal("int32", a.dtype)
    assert.equal(6, a.size)
    assert.equal(2, #a)
    assert.same({ { 0, 0, 0 }, { 0, 0, 0 } }, core.to_table(a))
    assert.equal("array", core.type(a))
  end)

  it("accepts the short dtype names and tells its own", function()
    assert.equal("float32", core.array("float", { 1 }).dtype)
    assert.equal("float64", core.array("double", { 1 }).dtype)
  end)

  it("gives a fresh shape table each time", function()
    local a = core.array("float32", { 4 })
    a.shape[1] = 9
    assert.same({ 4 }, a.shape)
  end)

  it("gives rows that share its memory", function()
    local a = core.from_table({ { 1, 2 }, { 3, 4 } }, "float32")
    local row = a[2]
    row[1] = 30
    assert.equal(30, core.get(a, 2, 1))
    assert.same({ 2 }, row.shape)
  end)

  it("keeps a row's memory when the whole is freed or collected", function()
    local a = core.from_table({ { 1, 2 }, { 3, 4 } }, "float64")
    local row = a[2]
    core.free(a)
    collectgarbage()
    assert.same({ 3, 4 }, core.to_table(row))
  end)

  it("fills and copies rows, casting without loss", function()
    local a = core.array("int32", { 3, 2 })
    a[1] = 7
    a[2] = { true, true }
    a[3] = core.from_table({ 5, 6 }, "float64")
    assert.same({ { 7, 7 }, { 1, 1 }, { 5, 6 } }, core.to_table(a))
    a[3] = core.from_table({ 9 }, "float32")
    assert.same({ 9, 9 }, core.to_table(a[3]))
  end)

  it("copies a row over one that overlaps it", function()
    local a = core.from_table({ 1, 2, 3, 4 }, "float32")
    core.assign(core.rows(a, 1, 3), core.rows(a, 0, 3))
    assert.same({ 1, 1, 2, 3 }, core.to_table(a))
  end)

  it("looks other names up in array_methods", function()
    core.array_methods.spec_probe = function(a) return a.size end
    assert.equal(4, core.array("float32", { 2, 2 }):spec_probe())
    core.array_methods.spec_probe = nil
    assert.is_nil(core.array("float32", { 1 })._probe)
  end)

  it("counts from 1 in get and set", function()
    local a = core.array("float64", { 2, 3 })
    core.set(a, 2.5, 2, 3)
    assert.equal(2.5, core.get(a, 2, 3))
    assert.equal(2.5, a[2][3])
  end)

  it("holds every dtype's extremes", function()
    local range = {
      int8 = { -128, 127 }, uint8 = { 0, 255 }, int32 = { -2 ^ 31, 2 ^ 31 - 1 },
      int64 = { -2 ^ 53, 2 ^ 53 }, float32 = { -0.5, 2 ^ 100 }, float64 = { -2 ^ 1000, 0.1 },
      float16 = { -65504, 2 ^ -24 }, bfloat16 = { -2 ^ 100, 1.5 },
    }
    for dtype, size in pairs(core.dtypes) do
      local a = core.from_table(range[dtype], dtype)
      assert.same(range[dtype], core.to_table(a), dtype)
      assert.equal(2 * size, #core.bytes(a), dtype)
      a[1] = range[dtype][2]
      assert.equal(range[dtype][2], a[1], dtype)
    end
  end)

  it("holds zero in every dtype, also of another", function()
    for dtype in pairs(core.dtypes) do
      assert.same({ 0, 1 }, core.to_table(core.from_table({ 0, 1 }, dtype)), dtype)
      for other in pairs(core.dtypes) do
        local cast = core.cast(core.from_table({ 0, 1 }, other), dtype)
        assert.same({ 0, 1 }, core.to_table(cast), other .. " to " .. dtype)
      end
    end
  end)

  it("refuses what would round to infinity, and takes infinity", function()
    for dtype, most in pairs { float16 = 65504, bfloat16 = 0x1.fep127, float32 = 0x1.fffffep127 } do
      local a = core.from_table({ most, math.huge, -math.huge }, dtype)
      assert.same({ most, math.huge, -math.huge }, core.to_table(a), dtype)
      local whole = message("local t, dtype = ... c.from_table({ t }, dtype)", most * 1.01, dtype)
      local one = message("local a, v = ... a[1] = v", a, -most * 1.01)
      assert.truthy(whole:find("must fit " .. dtype, 1, true))
      assert.truthy(one:find("must fit " .. dtype, 1, true))
    end
  end)

  it("takes every half to a wider float and back", function()
    local parts = {}
    for i = 0, 65535 do parts[i + 1] = string.char(i % 256, math.floor(i / 256)) end
    local h = core.from_bytes(table.concat(parts), "float16", { 65536 })
    for _, wider in ipairs { "float32", "float64" } do
      local wrong, wide = 0, core.cast(h, wider)
      local back = core.bytes(core.cast(wide, "float16"))
      for i = 1, 65536 do
        local is_nan = wide[i] ~= wide[i]
        if not is_nan and back:sub(2 * i - 1, 2 * i) ~= parts[i] then wrong = wrong + 1 end
      end
      assert.equal(0, wrong, wider)
    end
    assert.equal(1 + 2 ^ -10, h[0x3c01 + 1])
    assert.equal(-1023 * 2 ^ -24, h[0x83ff + 1])
  end)

  it("rounds to the nearest half, of two equally near ones to the even one", function()
    local function half(x) return core.cast(core.from_table({ x }, "float64"), "float16")[1] end
    local step, least = 2 ^ -10, 2 ^ -24
    assert.equal(1, half(1 + step / 2))
    assert.equal(1 + step, half(1 + step / 2 + 2 ^ -52))
    assert.equal(1 + 2 * step, half(1 + 1.5 * step))
    assert.equal(0, half(least / 2))
    assert.equal(-least, half(-least * 0.51))
    assert.equal(2 * least, half(1.5 * least))
    assert.equal(2 ^ -14, half(2 ^ -14 - least / 2))
    assert.equal(65504, half(65519.999))
    assert.equal(-math.huge, half(-65520))
  end)

  it("says which integer a float does not hold, all of its digits", function()
    local a = core.from_bytes("\1\0\0\0\0\0\32\0", "int64", { 1 })
    local text = message("local a = ... c.cast(a, 'float64', true)", a)
    assert.truthy(text:find("[1] must fit float64, got 9007199254740993", 1, true), text)
    assert.equal(2 ^ 53, core.cast(a, "float64")[1])
  end)

  it("reads halves as numbers, infinities and nan too", function()
    local a = core.from_bytes("\0\124\0\252\1\124\1\0\0\60", "float16", { 5 })
    assert.equal(math.huge, a[1])
    assert.equal(-math.huge, a[2])
    assert.is_true(a[3] ~= a[3])
    assert.equal(2 ^ -24, a[4])
    assert.equal(1, a[5])
  end)
end)

describe("making arrays", function()
  it("reads nested tables", function()
    local a = core.from_table({ { { 1, 2 } }, { { 3, 4 } } }, "float32", { 2, 1, 2 })
    assert.same({ 2, 1, 2 }, a.shape)
    assert.same({ { { 1, 2 } }, { { 3, 4 } } }, core.to_table(a))
  end)

  it("round trips bytes", function()
    local a = core.from_table({ 1, -2, 3 }, "int32")
    local b = core.from_bytes(core.bytes(a), "int32", { 3, 1 })
    assert.same({ { 1 }, { -2 }, { 3 } }, core.to_table(b))
  end)

  it("says which number in memory fits no element", function()
    local text = ("\0"):rep(15) .. "\128" .. ("\0"):rep(8)
    local ok, said = pcall(core.decode, core.array("int64", { 9 }), 4, "<u8", text, "load")
    assert.is_false(ok)
    assert.matches("load: element 5 in memory must fit int64, got 9.22337%d*e%+18", said)
  end)

  it("reshapes with one open extent, sharing memory", function()
    local a = core.array("float32", { 2, 6 })
    local b = core.reshape(a, { 3, -1 })
    assert.same({ 3, 4 }, b.shape)
    b[1] = 5
    assert.equal(5, core.get(a, 1, 4))
  end)

  it("casts, copying unless lossless is given and the dtype is the same", function()
    local a = core.from_table({ 1.5, 2 }, "float32")
    assert.equal(a, core.cast(a, "float32", true))
    assert.not_equal(a, core.cast(a, "float32"))
    assert.same({ 1, 2 }, core.to_table(core.cast(a, "int32")))
    local b = core.copy(a)
    b[1] = 9
    assert.equal(1.5, a[1])
  end)

  it("gives a pointer for ffi", function()
    local ffi = require "ffi"
    local a = core.from_table({ 1, 2, 3 }, "float32")
    local p = ffi.cast("float *", core.pointer(a))
    p[2] = 8
    assert.equal(8, a[3])
  end)

  it("inflates", function()
    local stored = "\1\3\0\252\255abc"
    local a = core.inflate(stored, "raw", 3)
    assert.equal("abc", core.bytes(a))
    assert.equal("uint8", a.dtype)
  end)

  it("says what it inflates", function()
    assert.equal("user.lua:1: data.gz: inflate: the data are cut short, 0 bytes came out",
      message("c.inflate('\\31\\139', 'gzip', nil, 'data.gz')"))
  end)

  it("keeps nothing inflated where what it is cannot be said", function()
    local before = core.live_bytes()
    assert.falsy(pcall(core.inflate, "\1\3\0\252\255abc", "raw", 3, "a\0b"))
    assert.equal(before, core.live_bytes())
  end)

  it("sums up bytes as zip files do", function()
    assert.equal(0xCBF43926, core.crc32("123456789"))
    assert.equal(0xCBF43926, core.crc32(core.from_bytes("123456789", "uint8", { 9 })))
    assert.equal(0, core.crc32(""))
  end)
end)

describe("a mistake with an array", function()
  local function array_error(expected, text, ...)
    assert.equal("user.lua:2: " .. expected, message("\n" .. text, ...))
  end

  it("is blamed on the line that indexes", function()
    local a = core.array("float32", { 3, 2 })
    array_error("array: index must be from 1 to 3, got 4", "local v = (...)[4]", a)
    array_error("array: index must be from 1 to 3, got 0; indices count from 1",
      "local v = (...)[0]", a)
    array_error("array: index must be from 1 to 3, got -1; a[{ -1 }] counts from the end",
      "local a = ... a[-1] = 1", a)
    array_error("array: index must be a whole number, got 1.5", "local v = (...)[1.5]", a)
    array_error("array: cannot set 'size', only elements, rows and parts can be set",
      "local a = ... a.size = 1", a)
    array_error("get: takes 2 indices for shape (3, 2), got 1", "local v = c.get(..., 1)", a)
    array_error("set: index must be from 1 to 2, got 3", "c.set(..., 0, 1, 3)", a)
  end)

  it("says what a row wants", function()
    local a = core.array("int32", { 3, 2 })
    array_error("array: value must be of shape (2), got (3)", "local a = ... a[1] = {1, 2, 3}", a)
    array_error("array: value must be an array, a table or a number, got string",
      "local a = ... a[1] = 'x'", a)
    array_error("array: value must fit int32, got 0.5", "local a = ... a[1] = 0.5", a)
    array_error("array: value[2] must fit int32, got 1.5", "local a = ... a[1] = {1, 1.5}", a)
    array_error("fill: value must fit int32, got 3000000000", "c.fill(..., 3e9)", a)
  end)

  it("says where a table is ragged", function()
    array_error("values[2] must have 2 elements like those before it, got 1",
      "c.from_table({{1, 2}, {3}}, 'float32')")
    array_error("values[2] must be a table of 2 elements, got number",
      "c.from_table({{1, 2}, 3}, 'float32')")
    array_error("values[1][2] must be a number, got string; tonumber(text) gives its number",
      "c.from_table({{1, 'x'}}, 'float32')")
    array_error("values[2] must fit uint8, got 300", "c.from_table({1, 300}, 'uint8')")
    array_error("values must be an array or a list of numbers, got an empty table",
      "c.from_table({}, 'float32')")
    array_error("values must be of shape (3), got (2)", "c.from_table({1, 2}, 'float32', {3})")
    array_error("values must be nested at most 8 deep",
      "local t = {} t[1] = t c.from_table(t, 'float32')")
  end)

  it("names the argument", function()
    array_error("array: shape[2] must be a whole number, got 1.5", "c.array('float32', {1, 1.5})")
    array_error("array: shape must be a table of numbers, got string", "c.array('float32', 'x')")
    array_error("array: shape must be a list of numbers, got a table with a key rows",
      "c.array('float32', { rows = 2 })")
    array_error("array: shape must have at most 8 dimensions, got 9",
      "c.array('float32', { 1, 1, 1, 1, 1, 1, 1, 1, 1 })")
    array_error("array: dtype must be a string, got nil", "c.array(nil, {1})")
    array_error("copy: argument 1 must be an array, got table", "c.copy({})")
    array_error("reshape: shape must have room for 6 elements, got (4, -1)",
      "c.reshape(..., {4, -1})",
      core.array("float32", { 6 }))
    array_error("reshape: shape must have one extent of -1 at most", "c.reshape(..., {-1, -1})",
      core.array("float32", { 6 }))
    array_error("from_bytes: data must be 8 bytes for int32 (2), got 3",
      "c.from_bytes('abc', 'int32', {2})")
    array_error("inflate: format must be gzip, zlib or raw, got 'lzma'",
      "c.inflate('', 'lzma')")
    assert.matches("^user.lua:1: array: .*float99", message("c.array('float99', {1})"))
    assert.matches("^user.lua:1: .*%-1", message("c.array('float32', {-1})"))
  end)

  it("is told from bad luck: an array too large is an error, not an end", function()
    assert.matches("bytes", message("c.array('float64', {2^20, 2^20, 2^4})"))
    assert.matches("^user.lua:1: ", message("c.array('float64', {2^50, 2^50})"))
  end)

  it("ends with the array freed", function()
    local a = core.array("float32", { 2 })
    core.free(a)
    for _, text in ipairs { "return (...).shape", "return (...)[1]", "local a = ... a[1] = 1",
      "return #..., 1", "c.copy(...)", "c.free(...)", "return (...).size", "return (...).dtype" } do
      assert.matches("^user.lua:1: %w+: the array was freed$", message(text, a))
    end
  end)

  it("by calling the finalizer on something else does no harm", function()
    core.array_mt.__gc(io.stdout)
    core.array_mt.__gc(nil)
    assert.equal(1, core.array("float32", { 1 }).size)
  end)
end)

describe("accounting", function()
  it("counts arrays, not views", function()
    collectgarbage()
    collectgarbage()
    local before = core.live_bytes()
    local a = core.array("float32", { 1000 })
    local view = core.rows(a, 0, 10)
    assert.equal(4000, core.live_bytes() - before)
    core.free(view)
    assert.equal(4000, core.live_bytes() - before)
    core.free(a)
    assert.equal(before, core.live_bytes())
  end)

  it("goes on after an error of a finalizer, which whoever makes an array gets", function()
    local function make(n)
      for _ = 1, n do core.array("float32", { 512, 512 }) end
    end
    collectgarbage()
    jit.off()                    -- an error that leaves a finalizer as a trace is left is a crash
    getmetatable(newproxy(true)).__gc = function() error("of a finalizer", 0) end
    local ok, why = pcall(make, 400)
    jit.on()
    assert.same({ false, "of a finalizer" }, { ok, why })
    make(400)
    assert.is_true(core.live_bytes() < 160 * 2 ^ 20, core.live_bytes())
  end)

  it("keeps thousands of dropped arrays of a mebibyte within 160 MB", function()
    local most, before = 0, helper.resident()
    for i = 1, 4000 do
      core.array("float32", { 512, 512 })[1] = i
      if i % 50 == 0 then most = math.max(most, helper.resident()) end
    end
    assert.is_true(most - before < 160 * 2 ^ 20, most - before)
  end)

  it("spreads a collection over many calls, so that none of them takes long", function()
    local finalized, first, most = 0, nil, 0
    jit.off()
    local pause = collectgarbage("setpause", 10000)      -- so that Lua itself begins none
    local proxy = newproxy(true)
    getmetatable(proxy).__gc = function() finalized = finalized + 1 end
    collectgarbage()
    for _ = 1, 20000 do newproxy(proxy) end
    for i = 1, 40000 do
      local before = finalized
      core.array("uint8", { 2 ^ 14 })
      most = math.max(most, finalized - before)
      first = first or finalized > 0 and i
    end
    collectgarbage("setpause", pause)
    jit.on()
    assert.is_true(finalized >= 20000, finalized)
    assert.is_true(most < 10000, most)
  end)

  it("lets more than the limit live", function()
    local kept = {}
    for i = 1, 100 do kept[i] = core.array("uint8", { 2 ^ 20 }) end
    assert.is_true(core.live_bytes() >= 100 * 2 ^ 20)
    for _, a in ipairs(kept) do core.free(a) end
  end)
end)
