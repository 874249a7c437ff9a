-- What arrays hold: where elements are other than 0, and which values there are.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray

describe("arrays", function()
  it("say where their elements are other than 0", function()
    local a = nd.array({ { 0, 1, 0 }, { 2, 0, -3 } })
    assert.same({ { 0, 1 }, { 1, 0 }, { 1, 2 } }, flow.argwhere(a):totable())
    assert.same({ { 0, 1, 1 }, { 1, 0, 2 } }, a:nonzero():totable())
    assert.equal("int32", a:argwhere().dtype)
    assert.equal("int64", flow.argwhere(a, flow.int64).dtype)
    assert.same({ { 2 }, { 5 } }, nd.array({ 0, 0, 1, 0, 0, 0 / 0 }):argwhere():totable())
    assert.same({ 0, 2 }, nd.zeros({ 2, 2 }):argwhere().shape)
    assert.same({ 2, 0 }, nd.zeros({ 2, 2 }):nonzero().shape)
    assert.same({ 0, 3 }, nd.zeros({ 2, 0, 2 }):argwhere().shape)
    assert.same({ { { 0, 1 }, { 1, 0 } } }, { nd.array({ { 0, 1 }, { 1, 0 } }, "int8"):argwhere()
      :totable() })
  end)

  it("give the elements and rows of a mask", function()
    local a = nd.array({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, "int32")
    assert.same({ { 1, 2 }, { 5, 6 } }, a:boolean_mask(nd.array { 1, 0, -1 }):totable())
    local some = flow.ndarray.boolean_mask(a, a:gt(2))
    assert.same({ 3, 4, 5, 6 }, some:totable())
    assert.equal("int32", some.dtype)
    assert.same({ 0, 2 }, a:boolean_mask(nd.zeros { 3 }).shape)
    assert.same({ 0 }, a:boolean_mask(a:gt(6)).shape)
    assert.same({ 2, 2, 0 }, nd.zeros({ 3, 2, 0 }):boolean_mask(nd.array { 1, 0, 1 }).shape)
    for _, shape in ipairs { { 2 }, { 3, 1 }, { 3, 2, 1 }, {} } do
      helper.fails(function() a:boolean_mask(nd.ones(shape)) end, ("boolean_mask: mask must have "
        .. "the shape of a or of its first axes, got (%s) for (3, 2)")
        :format(table.concat(shape, ", ")))
    end
    helper.fails(function() return a[a:gt(2)] end, "a:boolean_mask(mask) those whose mask is not 0")
    helper.fails(function() a[a:gt(2)] = 0 end, "flow.where(mask, value, a) sets those of a mask")
    helper.fails(function() return a:masked_select(a) end, "has no 'masked_select'; "
      .. "x:boolean_mask(mask)")
  end)

  it("say which values they hold", function()
    local a = nd.array({ 3, 1, 3, 2 }, "int64")
    assert.same({ 1, 2, 3 }, flow.unique(a):totable())
    assert.equal("int64", a:unique().dtype)
    local values, index, counts = flow.unique_with_counts(a)
    assert.same({ { 3, 1, 2 }, { 0, 1, 0, 2 }, { 2, 1, 1 } },
      { values:totable(), index:totable(), counts:totable() })
    assert.equal("int64", select(2, a:unique_with_counts(flow.int64)).dtype)
    local nan = nd.array({ { 0 / 0, 2 }, { 0 / 0, 1 } }):unique():totable()
    assert.same({ 1, 2, 3 }, { nan[1], nan[2], #nan })
    assert.is_true(nan[3] ~= nan[3])
    assert.same({ 0 }, nd.zeros({ 0 }):unique().shape)
  end)

  it("name what is wrong, and what has no meaning in a body", function()
    helper.fails(function() flow.unique(3) end, "unique: x must be an NdArray, got number 3")
    helper.fails(function() flow.unique_with_counts(nd.ones({ 1, 1 })) end,
      "unique_with_counts: x must have one axis, got (1, 1); x:reshape({-1}) has")
    local function fails(f, text)
      helper.fails(function() helper.predict("job", { 2 }, f):compile() end, text)
    end
    fails(function(x) return flow.nonzero(x) end, "nonzero: a must be an NdArray, got blob 'x'")
    fails(function(x) return flow.nonzero(x) end, "the size of the result depends on values")
    fails(function(x) return x:argwhere() end, "job: a blob has no 'argwhere'")
  end)
end)
