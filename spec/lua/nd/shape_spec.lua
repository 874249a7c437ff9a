local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("slices", function()
  local a = nd.arange(12):reshape(3, 4)

  it("go along other axes and by steps, which copy", function()
    assert.same({ { 1, 2 }, { 5, 6 }, { 9, 10 } }, a:slice(2, 3, { axis = 1 }):totable())
    assert.same({ { 0, 2 }, { 4, 6 }, { 8, 10 } },
      a:slice(1, -1, { axis = -1, step = 2 }):totable())
    assert.same({ { 8, 9, 10, 11 }, { 0, 1, 2, 3 } }, a:slice(-1, 1, { step = -2 }):totable())
    assert.same({ { 3, 2, 1, 0 }, { 7, 6, 5, 4 }, { 11, 10, 9, 8 } },
      a:slice({ axis = 1, step = -1 }):totable())
    a:slice(1, 1, { axis = 1 }):fill(7)
    assert.equal(0, a:get(1, 1))
  end)

  it("share memory where they are rows one after another", function()
    local b = nd.zeros { 3, 2 }
    b:slice({ first = 2, last = 2 }):fill(5)
    b:slice(3):fill(6)
    assert.same({ { 0, 0 }, { 5, 5 }, { 6, 6 } }, b:totable())
    local view = nd.arange(4):slice(2, 3)
    collectgarbage()
    collectgarbage()
    assert.same({ 1, 2 }, view:totable())
  end)

  it("name what is not there", function()
    helper.fails(function() a:slice(1, 5, { axis = 1 }) end,
      "slice: elements 1 to 5 are not in an array of 4 along axis 1")
    helper.fails(function() a:slice(1, 2, { axis = 2 }) end,
      "axis must be from -2 to 1, got 2")
    helper.fails(function() a:slice(1, 2, { step = 0 }) end, "step must not be 0")
    helper.fails(function() a:slice(1, 2, { step = -1 }) end, "rows 1 to 2 are not in an array")
    helper.fails(function() a:slice(1, 2, { steps = 1 }) end,
      "unknown option 'steps'; options are a, first, last, axis, step")
  end)
end)

describe("take", function()
  local a = nd.array { { 1, 2 }, { 3, 4 }, { 5, 6 } }

  it("copies the rows of a list, in its order", function()
    assert.same({ { 5, 6 }, { 1, 2 }, { 1, 2 } }, a:take({ 3, 1, 1 }):totable())
    assert.same({ { 5, 6 } }, a:take({ -1 }):totable())
    assert.same({ { 2 }, { 4 }, { 6 } }, a:take({ 2 }, { axis = 1 }):totable())
    assert.same({ 3, 9 }, nd.array({ 9, 3 }, "uint8"):take({ 2, 1 }):totable())
  end)

  it("names what is not there", function()
    helper.fails(function() a:take({ 0 }) end,
      "take: places[1] must be from 1 to 3, or negative from the end, got 0")
    helper.fails(function() a:take({ 1, 4 }) end,
      "take: places[2] must be from 1 to 3, or negative from the end, got 4")
    helper.fails(function() a:take({ 1, -4 }) end,
      "places[2] must be a whole number of at least -3")
    helper.fails(function() a:take({}) end, "must not be empty")
    helper.fails(function() a:take(2) end, "places must be a table, got number 2")
    helper.fails(function() a:take(nd.array { 0 }) end, "flow.gather takes places from 0")
  end)
end)

describe("pointers", function()
  it("keep their array alive", function()
    local p = nd.full({ 1000 }, 3):pointer()
    for _ = 1, 3 do
      collectgarbage()
      nd.zeros(1000)
    end
    assert.equal(3, p[0])
    assert.equal(3, p[999])
  end)

  it("of views point to their first element", function()
    local a = nd.arange(6):reshape(3, 2)
    assert.equal(2, a:slice(2, 3):pointer()[0])
    assert.equal(4, a[3]:pointer()[0])
  end)
end)

describe("an NdArray", function()
  local a = nd.arange(6):reshape(2, 3)

  it("says what a name that it lacks may have been meant to be", function()
    helper.fails(function() return (a:summ()) end, "an NdArray has no 'summ'; did you mean sum?")
    helper.fails(function() return a.dtyp end, "an NdArray has no 'dtyp'; did you mean dtype?")
    helper.fails(function() return (a:abss()) end, "did you mean flow.math.abs?")
    helper.fails(function() return a[nil] end,
      "index must be a number, a list or a name, got nil; a[{i, j}] gives an element")
    helper.fails(function() return a[0] end,
      "index must be from 1 to 2, got 0; indices count from 1")
    assert.is_nil(a._private)
  end)

  it("prints even when it was freed", function()
    local b = nd.ones(2)
    b:free()
    assert.equal("a freed NdArray", tostring(b))
    helper.fails(function() return b.shape end, "the array was freed")
    helper.fails(function() return (b:pointer()) end, "the array was freed")
    helper.fails(function() return (b:slice(1, 1)) end, "the array was freed")
  end)

  it("stays where a view of it is freed, and a view stays where it is", function()
    local b = nd.arange(4)
    local view, row = b:slice(2, 3), b:reshape(2, 2)[2]
    view:free()
    assert.equal(1, b[2])
    b:free()
    assert.same({ 2, 3 }, row:totable())
  end)
end)

describe("the shape of an array or a blob", function()
  it("is a list whose text tells it", function()
    local a, said = flow.ndarray.ones { 2, 3 }, nil
    assert.equal("(2, 3)", tostring(a.shape))
    assert.same({ 2, 3 }, a.shape)
    flow.global_function { name = "shape", inputs = { flow.float32 { 4 } }, body = function(x)
      said = tostring(x.shape)
      return x
    end }:compile()
    assert.equal("(4)", said)
    assert.equal("(2, 3)", (require("jfl.repl.show").text(a.shape):gsub("\27%[[%d;]*m", "")))
  end)

  it("is taken wherever a list is, also by boxes", function()
    local shape = flow.ndarray.ones { 2, 3 }.shape
    assert.same({ 2, 3 }, flow.ndarray.zeros(shape).shape)
    assert.same({ 2, 3 }, flow.ndarray.array(shape):totable())
    local plain = require "jfl.base.plain"
    assert.same({ 2, 3 }, plain.read(plain.write(shape, "s"), "s"))
    assert.equal(5, flow.sandbox():run [[
      local shape = require("jfl").ndarray.ones({ 2, 3 }).shape
      return shape[1] + shape[2] * (#shape == 2 and 1 or 9)]])
  end)
end)
