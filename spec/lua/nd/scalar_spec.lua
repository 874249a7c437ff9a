--- NdArrays of no axes and of no elements.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("a scalar", function()
  local s = nd.full({}, 2.5)

  it("has no axes and one element", function()
    assert.same({}, s.shape)
    assert.equal(1, s.size)
    assert.equal(2.5, s:item())
    assert.equal(2.5, s:get())
    assert.equal(2.5, s:totable())
    assert.equal(2.5, s:sum())
    assert.equal(0, s:std())
    assert.equal(2.5, s:max())
  end)

  it("is set as an element is", function()
    local a = nd.zeros({}, flow.int32)
    a:set(7)
    assert.equal(7, a:item())
    a:fill(3)
    assert.equal(3, a:item())
  end)

  it("has no rows", function()
    helper.fails(function() local _ = s[1] end, "a scalar has no rows")
    helper.fails(function() s[1] = 2 end, "a scalar has no rows")
    helper.fails(function() local _ = #s end, "a scalar has no rows")
    helper.fails(function() local _ = s:sum(0) end, "axis must not be given for a scalar, got 0")
  end)

  it("stays one among numbers and broadcasts to anything else", function()
    assert.same({}, (s * 2 + s).shape)
    assert.equal(7.5, (s * 2 + s):item())
    assert.same({}, (2 ^ s).shape)
    assert.same({}, flow.math.exp(-s).shape)
    assert.same({ { 3.5, 4.5 } }, (s + nd.array { { 1, 2 } }):totable())
    assert.same({ 1 }, (s + nd.ones(1)).shape)
    assert.equal(1, s:eq(2.5):item())
  end)

  it("has other shapes of one element", function()
    assert.same({ 1, 1 }, s:reshape(1, -1).shape)
    assert.same({}, nd.ones({ 1, 1 }):reshape({}).shape)
    assert.same({}, s:transpose().shape)
    assert.same({ 2 }, nd.stack({ s, s }).shape)
    assert.equal("float64", s:astype("float64").dtype)
    assert.same({}, s:copy().shape)
  end)

  it("prints as numpy prints one", function()
    for want, value in pairs { ["0.1"] = 0.1, ["3.0"] = 3, ["1e+16"] = 1e16, ["nan"] = 0 / 0,
      ["1000000000000000.0"] = 1e15, ["0.0001"] = 1e-4, ["1.5e-05"] = 1.5e-5, ["-inf"] = -1 / 0 } do
      assert.equal(want, tostring(nd.full({}, value, "float64")))
    end
    assert.equal("0.1", tostring(nd.full({}, 0.1)))
    assert.equal("1.234567e+06", tostring(nd.full({}, 1234567)))
    assert.equal("999999.0", tostring(nd.full({}, 999999)))
    assert.equal("1.024e+03", tostring(nd.full({}, 1024, "float16")))
    assert.equal("-7", tostring(nd.full({}, -7, "int64")))
  end)
end)

describe("an empty array", function()
  local a = nd.zeros { 0, 3 }

  it("has its extents and no elements", function()
    assert.same({ 0, 3 }, a.shape)
    assert.equal(0, a.size)
    assert.equal(0, #a)
    assert.same({}, a:totable())
    assert.same({ {}, {} }, nd.ones({ 2, 0 }):totable())
    assert.equal("[]", tostring(a))
    assert.equal("[]", tostring(nd.ones({ 2, 0 }, "int32")))
    helper.fails(function() local _ = a[1] end, "index must be from 1 to 0, got 1")
    helper.fails(function() local _ = a:item() end, "got 0")
  end)

  it("is reduced as numpy does", function()
    assert.equal(0, a:sum())
    assert.same({ 0, 0, 0 }, a:sum(0):totable())
    assert.same({ 0 }, a:sum(1).shape)
    assert.same({ 1, 1, 1 }, flow.math.reduce_prod(a, 0):totable())
    assert.is_true(a:mean() ~= a:mean())
    assert.is_false(a:any())
    assert.is_true(a:all())
    assert.same({ 0 }, a:max(1).shape)
    for _, name in ipairs { "max", "min" } do
      helper.fails(function() local _ = a[name](a) end, "reduce_" .. name
        .. ": the axes must have elements, got (0, 3)")
      helper.fails(function() local _ = a[name](a, 0) end, "the axes must have elements")
    end
    helper.fails(function() local _ = a:argmax() end, "argmax: axis 0 must have elements, got (0)")
    assert.same({ 0 }, a:argmin(1).shape)
  end)

  it("joins, multiplies and is cut", function()
    assert.same({ { 1, 1, 1 } }, nd.concat({ a, nd.ones { 1, 3 }, a }):totable())
    assert.same({ { 0, 0 }, { 0, 0 } }, nd.matmul(nd.ones { 2, 0 }, nd.ones { 0, 2 }):totable())
    assert.equal(0, nd.matmul(nd.ones { 0 }, nd.ones { 0 }))
    assert.same({ 3, 0 }, a:transpose().shape)
    assert.same({ 0, 6 }, nd.concat({ a, a }, 1).shape)
    assert.same({ 5, 0 }, a:reshape(5, -1).shape)
    helper.fails(function() local _ = a:reshape(0, -1) end, "room for 0 elements, got (0, -1)")
    helper.fails(function() local _ = a:reshape(1, 2) end, "room for 0 elements, got (1, 2)")
    assert.same({ 0, 3 }, (a + 1).shape)
  end)

  it("may be as vast as it likes beside an extent of 0, but for what no tensor may have", function()
    assert.same({ 0, 2 ^ 40 }, nd.zeros({ 0, 2 ^ 40 }).shape)
    helper.fails(function() local _ = nd.zeros { 0, 2 ^ 40, 2 ^ 40 } end, "at most 2^47 elements")
  end)
end)
