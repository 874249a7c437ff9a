local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("reductions", function()
  local a = nd.array { { 1, 2, 3 }, { 4, 5, 9 } }

  it("take axis and keepdims by name as by place", function()
    for _, name in ipairs { "sum", "mean", "min", "max", "std", "argmax", "argmin", "any",
      "all" } do
      local by_place = a[name](a, 1, true)
      local by_name = a[name](a, { axis = 1, keepdims = true })
      assert.same({ 2, 1 }, by_place.shape, name)
      assert.same(by_place:totable(), by_name:totable(), name)
      assert.same({ 2 }, a[name](a, { axis = -1 }).shape, name)
      assert.same({ 1, 1 }, a[name](a, { keepdims = true }).shape, name)
      helper.fails(function() a[name](a, { axes = 1 }) end,
        ("ndarray.%s: unknown option 'axes'; options are a, axis, keepdims"):format(name))
      helper.fails(function() a[name](a, 2) end, "axis must be from -2 to 1, got 2; axes count "
        .. "from 0")
    end
  end)

  it("give a number over everything, whatever they are called", function()
    for name, expected in pairs { prod = 1080, variance = 20 / 3, l1 = 24, reduce_sum = 24,
      reduce_prod = 1080, two_stage_reduce_max = 9, count_not_finite = 0, elem_cnt = 6,
      euclidean_norm = 136 ^ 0.5, logsumexp = 9.0284 } do
      for _, dtype in ipairs { "float32", "int32" } do
        if name ~= "count_not_finite" or dtype == "float32" then
          local of = a:astype(dtype)
          assert.near(expected, of[name](of), 0.01, name)
        end
      end
    end
    assert.is_true(a:reduce_all())
    assert.same({ 4, 10, 27 }, a:prod(0):totable())
    assert.same({ 6, 180 }, a:prod({ axis = 1 }):totable())
    assert.same({ { 1080 } }, a:prod(nil, true):totable())
    assert.same({ 24 }, flow.math.reduce_sum(a):totable())
  end)

  it("are functions too", function()
    assert.equal(24, nd.sum(a))
    assert.same({ 5, 7, 12 }, nd.sum(a, { axis = 0 }):totable())
    helper.fails(function() nd.sum({ 1, 2 }) end, "ndarray.sum: a must be an NdArray")
    helper.fails(function() a.sum() end,
      "sum: argument 1 must be an NdArray, got nil; methods are called with a colon: a:sum()")
  end)

  it("give booleans, which a condition can take, for any and all", function()
    assert.is_false(a:gt(9):any())
    assert.is_true(a:ge(9):any())
    assert.is_false(a:ge(9):all())
    assert.same({ 0, 0, 1 }, a:ge(9):any(0):totable())
  end)

  it("give extremes in the array's dtype", function()
    for _, dtype in ipairs { "uint8", "int8", "int32", "int64", "float16", "bfloat16",
      "float64" } do
      assert.equal(dtype, a:astype(dtype):max(0).dtype)
      assert.same({ 1, 4 }, a:astype(dtype):min(1):totable())
    end
    assert.equal("int64", a:astype("uint8"):sum(0).dtype)
    assert.equal("float64", a:astype("int32"):mean(0).dtype)
  end)
end)

describe("operators", function()
  it("work in every dtype, with a number on either side", function()
    for _, dtype in ipairs { "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32",
      "float64" } do
      local a = nd.array({ 1, 2, 4 }, dtype)
      assert.same({ 3, 4, 6 }, (a + 2):totable(), dtype)
      assert.same({ 1, 0, -2 }, (2 - a):totable(), dtype)
      assert.same({ 3, 6, 12 }, (3 * a):totable(), dtype)
      assert.same({ 4, 2, 1 }, (4 / a):totable(), dtype)
      assert.same({ 1, 0, 0 }, (a % 2):totable(), dtype)
      assert.same({ 2, 4, 16 }, (2 ^ a):totable(), dtype)
      assert.same({ -1, -2, -4 }, (-a):totable(), dtype)
      assert.same({ 0, 1, 0 }, a:eq(2):totable(), dtype)
    end
  end)

  it("keep a dtype of 16 bits that both operands share, and join others in float32", function()
    local half, brief = nd.array({ 1, 2.25 }, "float16"), nd.array({ 1, 2.25 }, "bfloat16")
    assert.equal("float16", (half + half).dtype)
    assert.same({ 2.125, 3.375 }, (half + 1.125):totable())
    assert.equal("bfloat16", (1 / brief).dtype)
    assert.same({ 1, 0.4453125 }, (1 / brief):totable())
    assert.equal("float32", (half + brief).dtype)
    assert.equal("float32", (half * 70000).dtype)
    assert.equal("float16", (half * math.huge).dtype)
    assert.equal("float64", (half + nd.ones({ 2 }, "float64")).dtype)
  end)

  it("have % with the sign of the divisor, as in Lua", function()
    assert.same({ 1, 2 }, (nd.array({ -5, 5 }, "int32") % 3):totable())
    local a, b = nd.array({ 5, -5 }, "int32"), nd.array({ -7, -4 }, "int32")
    assert.same({ -2, -1 }, (a % b):totable())
    a, b = nd.array({ -2 ^ 31, 5 }, "int32"), nd.array({ -1, 0 }, "int32")
    assert.same({ 0, 0 }, (a % b):totable())
  end)

  it("point to what compares element by element", function()
    local a, b = nd.ones(2), nd.zeros(2)
    helper.fails(function() return a < b end, "by a:lt(b) or a:gt(b)")
    helper.fails(function() return a >= b end, "by a:le(b) or a:ge(b)")
    helper.fails(function() return (a:eq("x")) end, "'y' must be an array, a table or a number")
    helper.fails(function() return (a.eq(1, 2)) end, "equal: argument 1 must be an NdArray")
  end)
end)

describe("the matrix product", function()
  local a = nd.arange(6):reshape(2, 3)

  it("takes vectors as rows on the left and columns on the right", function()
    assert.same({ 5, 14 }, nd.matmul(a, nd.array { 0, 1, 2 }):totable())
    assert.same({ 3, 4, 5 }, nd.matmul(nd.array { 0, 1 }, a):totable())
    assert.equal(14, nd.matmul(nd.array { 1, 2, 3 }, nd.array { 1, 2, 3 }))
    assert.same({ { 5, 14 } }, nd.matmul(a:reshape(1, 2, 3), nd.array { 0, 1, 2 }):totable())
  end)

  it("takes stacks of matrices, and one matrix for all of a stack", function()
    local stack = nd.arange(12):reshape(2, 2, 3)
    local b = nd.ones { 3, 1 }
    assert.same({ { { 3 }, { 12 } }, { { 21 }, { 30 } } }, nd.matmul(stack, b):totable())
    assert.same({ 2, 2, 2 }, nd.matmul(stack, stack, { transpose_b = true }).shape)
    assert.same({ { { 3 }, { 12 } }, { { 21 }, { 30 } } },
      nd.matmul(stack, nd.ones { 1, 3 }, { transpose_b = true }):totable())
  end)

  it("takes dtypes that differ, and such as no op computes in", function()
    assert.equal("float64", nd.matmul(a:astype("float64"), a:transpose()).dtype)
    assert.same({ { 5, 14 }, { 14, 50 } },
      nd.matmul(a:astype("uint8"), a:transpose():astype("float16")):totable())
  end)

  it("names what does not fit", function()
    helper.fails(function() nd.matmul(a, a) end, "a (2, 3) has 3 columns, but b (2, 3) has 2 rows")
    helper.fails(function() nd.matmul(a, { 1 }) end, "ndarray.matmul: b must be an NdArray")
    helper.fails(function() nd.matmul(a, a, { transpose = true }) end,
      "unknown option 'transpose'; options are a, b, transpose_a, transpose_b")
  end)
end)
