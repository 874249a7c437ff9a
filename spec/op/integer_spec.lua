--- What integers do at their limits.
local core = require "jfl.core"

teardown(core.reset)

local function ints(list, dtype) return core.from_table(list, dtype or "int32") end
local function result(op, a, b) return core.to_table(core.op(op)(a, b)) end
local least, most = -2147483648, 2147483647

describe("integers", function()
  it("wrap in sums, differences and products", function()
    assert.same({ least, 3 }, result("add", ints { most, 1 }, ints { 1, 2 }))
    assert.same({ most }, result("subtract", ints { least }, ints { 1 }))
    assert.same({ -2 }, result("multiply", ints { most }, ints { 2 }))
    assert.same({ least }, core.to_table(core.op("negative")(ints { least })))
    assert.same({ least, 5 }, core.to_table(core.op("abs")(ints { least, -5 })))
  end)

  it("do not trap where a division has no answer", function()
    for _, dtype in ipairs { "int32", "int64" } do
      for _, op in ipairs { "divide", "mod", "floordiv" } do
        assert.same({ 0, 0 }, result(op, ints({ 5, -5 }, dtype), ints({ 0, 0 }, dtype)))
      end
    end
    assert.same({ least }, result("divide", ints { least }, ints { -1 }))
    assert.same({ 0 }, result("mod", ints { least }, ints { -1 }))
    assert.same({ least }, result("floordiv", ints { least }, ints { -1 }))
  end)

  it("have powers that are whole or 0", function()
    assert.same({ 1024, 0, 1, -1, 1, 1 },
      result("pow", ints { 2, 2, 1, -1, -1, 0 }, ints { 10, -1, -5, -3, -2, 0 }))
  end)

  it("have bits, of which those shifted out are lost", function()
    for _, dtype in ipairs { "int8", "uint8", "int32", "int64" } do
      local function bits(op, a, b) return result(op, ints(a, dtype), ints(b, dtype)) end
      assert.same({ 8, 2 }, bits("bitwise_and", { 12, 10 }, { 10, 6 }))
      assert.same({ 14, 14 }, bits("bitwise_or", { 12, 10 }, { 10, 6 }))
      assert.same({ 6, 12 }, bits("bitwise_xor", { 12, 10 }, { 10, 6 }))
      local width = dtype:find "8$" and 8 or tonumber(dtype:match "%d+")
      assert.same({ 24, 0, 0 }, bits("shift_left", { 3, 2, 5 }, { 3, width - 1, width }))
      assert.same({ 5, 0, 0 }, bits("shift_right", { 21, 1, 21 }, { 2, width - 1, width }))
      if dtype ~= "uint8" then
        assert.same({ -13 }, core.to_table(core.op("bitwise_not")(ints({ 12 }, dtype))))
        assert.same({ 0, 0 }, bits("shift_left", { 1, -1 }, { -1, -9 }))
        assert.same({ -2, -1, -1, 0 }, bits("shift_right", { -8, -8, -8, 8 }, { 2, width, -1, -1 }))
      end
    end
    assert.same({ 243, 0 }, core.to_table(core.op("bitwise_not")(ints({ 12, 255 }, "uint8"))))
    assert.same({ -128 }, result("shift_left", ints({ 1 }, "int8"), ints({ 7 }, "int8")))
    assert.same({ least }, result("shift_left", ints { 3 }, ints { 31 }))
    assert.same({ 1 }, result("shift_right", ints({ 255 }, "uint8"), ints({ 7 }, "uint8")))
  end)

  it("add up in 64 bits and wrap at the end", function()
    assert.same({ -2 }, core.to_table(core.op("reduce_sum")(ints { most, most })))
    assert.same({ most }, core.to_table(core.op("reduce_max")(ints { least, most, 0 })))
  end)
end)

describe("cast", function()
  local function cast(list, from, to) return core.to_table(core.op("cast")(core.from_table(list,
    from), to)) end

  it("rounds towards zero and saturates", function()
    assert.same({ 1, -1, 127, -128, 0 }, cast({ 1.9, -1.9, 300, -300, 0 / 0 }, "float32", "int8"))
    assert.same({ 255, 0 }, cast({ 1e9, -3 }, "int32", "uint8"))
    assert.same({ most, least }, cast({ 1e30, -1e30 }, "float64", "int32"))
    assert.same({ most, least }, cast({ 1 / 0, -1 / 0 }, "float32", "int32"))
  end)

  it("passes a gradient back in the input's dtype", function()
    local g = core.graph("cast_gradient", "predict")
    local before = core.trace(g)
    local x = core.input(g, "x", "float32", { 2 })
    local dx = core.gradients(g, core.op("cast")(x, "float64"), nil, { x })[1]
    core.trace(before)
    assert.equal("float32", dx.dtype)
  end)
end)

describe("relu", function()
  it("lets not-a-number through, so that a broken run shows", function()
    local y = core.op("relu")(core.from_table({ 0 / 0, -1, 2 }, "float32"))
    assert.truthy(y[1] ~= y[1])
    assert.equal(0, y[2])
    assert.equal(2, y[3])
  end)
end)
