local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("making NdArrays", function()
  it("from tables, with float32 unless said", function()
    local a = nd.array { { 1, 2, 3 }, { 4, 5, 6 } }
    assert.same({ 2, 3 }, a.shape)
    assert.equal("float32", a.dtype)
    assert.equal(6, a.size)
    assert.equal(2, #a)
    assert.equal("int64", nd.array({ 1 }, "int64").dtype)
  end)

  it("from an array copies it", function()
    local a = nd.array { 1, 2 }
    local b = nd.array(a, "int32")
    b[1] = 7
    assert.equal(1, a[1])
    assert.equal("int32", b.dtype)
    assert.equal("float32", nd.array(a).dtype)
  end)

  it("of one value, and of steps", function()
    assert.same({ { 0, 0 } }, nd.zeros({ 1, 2 }):totable())
    assert.same({ 1, 1 }, nd.ones(2, "int8"):totable())
    assert.same({ 2.5 }, nd.full({ 1 }, 2.5, "float64"):totable())
    assert.same({ 0, 1, 2 }, nd.arange(3):totable())
    assert.same({ 5, 3, 1 }, nd.arange(5, 0, -2):totable())
    assert.same({ 65534, 65535, 65536, 65537 }, nd.arange(65538):slice(-4):totable())
    assert.equal("int32", nd.arange(0, 2, 1, "int32").dtype)
  end)

  it("from lists of arrays", function()
    local a = nd.array { 1, 2 }
    assert.same({ { 1, 2 }, { 1, 2 } }, nd.array({ a, a }):totable())
    assert.equal("int32", nd.array({ a, a }, "int32").dtype)
    helper.fails(function() nd.array { a, { 1, 2 } } end,
      "ndarray.stack: arrays: item 2 must be an NdArray, got {1, 2}")
  end)

  it("from tables without gaps and other keys", function()
    helper.fails(function() nd.array { 1, nil, 3 } end,
      "ndarray.array: values must have no gap, got 1 elements and then one at [3]")
    helper.fails(function() nd.array { { 1, 2 }, { 3, 4, [9] = 1 } } end,
      "ndarray.array: values[2] must have no gap, got 2 elements and then one at [9]")
    helper.fails(function() nd.array { { 1, 2 }, { 3, 4, x = 1 } } end,
      "ndarray.array: values[2] must have elements 1 to 2 alone, got a key x")
    helper.fails(function() nd.array { 1, 2, dtype = "int32" } end,
      "ndarray.array: values must have elements 1 to 2 alone, got a key dtype")
    local sparse = {}
    for i = 100, 1, -1 do sparse[i] = i end
    assert.equal(5050, nd.array(sparse):sum())
  end)

  it("takes numbers up to the limits of integers, and none beyond", function()
    for dtype, limits in pairs { int8 = { -2^7, 2^7 - 1 }, uint8 = { 0, 2^8 - 1 },
      int32 = { -2^31, 2^31 - 1 } } do
      local low, high = unpack(limits)
      assert.same({ high - 1, high }, nd.arange(high - 1, high + 1, 1, dtype):totable())
      assert.same({ low + 1, low }, nd.arange(low + 1, low - 1, -1, dtype):totable())
      assert.same({ low, high }, nd.array({ low, high }, dtype):totable())
      assert.same({ high }, nd.full({ 1 }, high, dtype):totable())
      for _, v in ipairs { high + 1, low - 1 } do
        local says = ("must fit %s, got %.0f"):format(dtype, v)
        local step = v > 0 and 1 or -1
        helper.fails(function() nd.arange(v - step, v + step, step, dtype) end, says)
        helper.fails(function() nd.full({ 1 }, v, dtype) end, says)
        helper.fails(function() nd.array({ v }, dtype) end, says)
        helper.fails(function() nd.zeros({ 1 }, dtype)[1] = v end, says)
      end
    end
  end)

  it("names what is wrong", function()
    helper.fails(function() nd.zeros(2, 3) end,
      "ndarray.zeros: shape is one list: {2, 3}")
    helper.fails(function() nd.full({ 2 }, 300, "uint8") end,
      "ndarray.full: value[1] must fit uint8, got 300")
    helper.fails(function() nd.array { 1, "x" } end, "ndarray.array: values[2] must be a number")
    helper.fails(function() nd.concat(nd.ones(1), nd.ones(1)) end,
      "must be a list of NdArrays such as {a, b}")
    helper.fails(function() nd.array(5) end,
      "ndarray.array: values must be a table, got number 5")
    helper.fails(function() nd.array({ 1 }, "int31") end, "ndarray.array: dtype must be one of")
    helper.fails(function() nd.zeros({ -1 }) end, "ndarray.zeros: shape: dimension 1")
    helper.fails(function() nd.arange(0) end, "there is no value from 0 to before 0")
    helper.fails(function() nd.arange(1e13) end, "out of memory")
    for i, name in ipairs { "start", "stop", "step" } do
      local given = { 0, 3, 1 }
      given[i] = "x"
      helper.fails(function() nd.arange(unpack(given)) end,
        ("ndarray.arange: %s must be a number, got string 'x'"):format(name))
    end
    helper.fails(function() nd.stack({ nd.ones(2) }, "x") end, "stack: axis must be an integer")
    helper.fails(function() nd.ones(2).slice(1, 2) end, "slice: argument 1 must be an NdArray")
  end)
end)

describe("arithmetic of NdArrays", function()
  local a = nd.array { { 1, 2 }, { 3, 4 } }

  it("works element by element and broadcasts", function()
    assert.same({ { 2, 4 }, { 6, 8 } }, (a + a):totable())
    assert.same({ { 11, 22 }, { 13, 24 } }, (a + nd.array { 10, 20 }):totable())
    assert.same({ { 0.5, 1 }, { 1.5, 2 } }, (a / 2):totable())
    assert.same({ { 1, 0.5 }, { 0.25, 0.125 } }, (2 / nd.array { { 2, 4 }, { 8, 16 } }):totable())
    assert.same({ { -1, -2 }, { -3, -4 } }, (-a):totable())
    assert.same({ { 1, 4 }, { 9, 16 } }, (a ^ 2):totable())
    assert.same({ { 1, 0 }, { 1, 0 } }, (a % 2):totable())
    assert.same({ { 9, 8 }, { 7, 6 } }, (10 - a):totable())
  end)

  it("finds a dtype that holds both", function()
    local i, f = nd.array({ 1, 2 }, "int32"), nd.array { 0.5, 0.5 }
    assert.equal("float32", (i + f).dtype)
    assert.equal("float64", (f + nd.array({ 1, 2 }, "float64")).dtype)
    assert.equal("int64", (i + nd.array({ 1, 2 }, "int64")).dtype)
    assert.equal("int32", (i + 1).dtype)
    assert.same({ 0.5, 1 }, (i / 2):totable())
    assert.same({ 1.5, 2.5 }, (i + 0.5):totable())
    assert.same({ 2 ^ 40 + 1, 2 ^ 40 + 2 }, (i + 2 ^ 40):totable())
    assert.equal("int64", (i + 2 ^ 40).dtype)
    assert.same({ 1, 1 }, i:lt(1e30):totable())
    assert.same({ 0, 0 }, f:gt(1e300):totable())
    assert.equal("float32", (f * math.huge).dtype)
    assert.same({ 300, 400 }, (nd.array({ 150, 200 }, "uint8") * 2):totable())
  end)

  it("compares to 0 and 1", function()
    local e = a:eq(nd.array { { 1, 0 }, { 3, 0 } })
    assert.equal("int8", e.dtype)
    assert.same({ { 1, 0 }, { 1, 0 } }, e:totable())
    assert.same({ { 0, 1 }, { 1, 1 } }, a:gt(1):totable())
    assert.same({ { 1, 1 }, { 0, 0 } }, a:lt(3):totable())
    assert.same({ { 1, 1 }, { 1, 0 } }, a:le(3):totable())
    assert.same({ { 0, 0 }, { 1, 1 } }, a:ge(3):totable())
    assert.same({ { 1, 1 }, { 0, 1 } }, a:ne(3):totable())
    assert.equal(2, nd.array({ 3, 1 }, "int32"):eq(nd.array({ 3, 1 }, "int64")):sum())
  end)

  it("refuses shapes that do not agree, at the user's line", function()
    helper.fails(function() return a + nd.array { 1, 2, 3 } end, "add")
    helper.fails(function() return a + "x" end, "add")
  end)
end)

describe("reductions", function()
  local a = nd.array { { 1, 2, 3 }, { 4, 5, 9 } }

  it("over everything give numbers", function()
    assert.equal(24, a:sum())
    assert.equal(4, a:mean())
    assert.equal(1, a:min())
    assert.equal(9, a:max())
    assert.equal(5, a:argmax())
    assert.equal(0, a:argmin())
    assert.is_true(math.abs(a:std() - math.sqrt(40 / 6)) < 1e-6)
  end)

  it("over axes, which count from 0, give arrays", function()
    assert.same({ 5, 7, 12 }, a:sum(0):totable())
    assert.same({ 2, 6 }, a:mean(1):totable())
    assert.same({ 2, 6 }, a:mean(-1):totable())
    assert.same({ { 3 }, { 9 } }, a:max(1, { keepdims = true }):totable())
    assert.same({ 24 }, a:sum({ 0, 1 }):totable())
    assert.same({ 2, 2 }, a:argmax(1):totable())
    assert.equal("int32", a:argmax(1).dtype)
    assert.same({ 1.5, 1.5, 3 }, a:std(0):totable())
  end)

  it("give NaN where there is one, and its place", function()
    for size = 2, 40, 19 do
      for at = 1, size, 6 do
        local x = nd.full({ size }, 7)
        x[at] = 0 / 0
        local column, row = x:reshape(-1, 1), x:reshape(1, -1)
        for _, v in ipairs { x:max(), x:min(), column:max(0)[1], row:min(1)[1] } do
          assert.is_true(v ~= v)
        end
        assert.equal(at - 1, x:argmax())
        assert.equal(at - 1, x:argmin())
      end
    end
  end)

  it("of integers are exact", function()
    local big = nd.full({ 100 }, 2 ^ 30, "int32")
    assert.equal(100 * 2 ^ 30, big:sum())
    assert.equal(1.5, nd.array({ 1, 2 }, "int32"):mean())
    assert.equal(300, nd.array({ 100, 200 }, "uint8"):sum())
  end)

  it("are made of booleans, as int8 unless another dtype is said", function()
    assert.equal("int8", nd.array({ true, false }).dtype)
    assert.same({ { 1, 0 }, { 0, 1 } }, nd.array({ { true, false }, { false, true } }):totable())
    assert.equal("float32", nd.array({ true }, "float32").dtype)
  end)

  it("are made of elements of one kind", function()
    helper.fails(function() nd.array({ { 1, true } }) end,
      "ndarray.array: values[1][2] must be a number like those before it, got boolean")
    helper.fails(function() nd.array({ true, 1 }) end,
      "ndarray.array: values[2] must be a boolean like those before it, got number")
    helper.fails(function() nd.array({ "1", "2" }) end,
      "ndarray.array: values[1] must be a number, got string; tonumber(text) gives its number")
  end)

  it("tell whether any or all are true", function()
    assert.is_true(nd.array({ 0, 2 }):any())
    assert.is_false(nd.array({ 0, 2 }):all())
    assert.is_true(a:gt(0):all())
    assert.same({ 0, 1 }, a:gt(3):any(1):totable())
  end)
end)

describe("rows and shapes of NdArrays", function()
  it("share memory with the array", function()
    local a = nd.zeros { 3, 2 }
    a[2] = 5
    a:slice(3, 3):fill(7)
    a:reshape(-1)[1] = 1
    assert.same({ { 1, 0 }, { 5, 5 }, { 7, 7 } }, a:totable())
    local c = a:copy()
    c[1] = 9
    assert.equal(1, a:get(1, 1))
  end)

  it("are sliced from first to last, also from the end", function()
    local a = nd.arange(5)
    assert.same({ 1, 2 }, a:slice(2, 3):totable())
    assert.same({ 3, 4 }, a:slice(-2):totable())
    assert.same({ 0, 1, 2, 3 }, a:slice(1, -2):totable())
    helper.fails(function() a:slice(0, 2) end, "slice: rows 0 to 2 are not in an array of 5 rows")
    helper.fails(function() a:slice(4, 3) end, "slice: rows 4 to 3")
    helper.fails(function() a:slice(1.5, 3) end, "slice: first must be a whole number")
    helper.fails(function() a:slice(1, "3") end, "slice: last must be a whole number")
  end)

  it("are reshaped and transposed", function()
    local a = nd.arange(6):reshape { 2, 3 }
    assert.same({ { 0, 3 }, { 1, 4 }, { 2, 5 } }, a:transpose():totable())
    assert.same({ 2, 1, 3 }, a:reshape(1, 2, 3):transpose(1, 0, 2).shape)
    helper.fails(function() a:reshape(4, 2) end, "reshape")
  end)

  it("give and take elements", function()
    local a = nd.zeros { 2, 2 }
    a:set(3, 2, 1)
    assert.equal(3, a:get(2, 1))
    assert.equal(3, nd.array({ { 3 } }):item())
    helper.fails(function() a:item() end, "item: the array must have one element, got 4")
    helper.fails(function() return a[3] end, "2")
    helper.fails(function() a:get(0, 1) end, "get")
  end)

  it("are converted", function()
    assert.same({ 1, -1 }, nd.array({ 1.7, -1.7 }):astype("int32"):totable())
    helper.fails(function() nd.ones(1):astype("number") end, "astype: dtype must be one of")
  end)

  it("have pointers for hot loops", function()
    local a = nd.array({ 1, 2, 3 }, "int32")
    local p = a:pointer()
    p[1] = p[0] + p[2]
    assert.same({ 1, 4, 3 }, a:totable())
  end)

  it("can be freed", function()
    local a = nd.ones(3)
    a:free()
    helper.fails(function() return a + 1 end, "freed")
  end)
end)

describe("several NdArrays", function()
  local a, b = nd.array { { 1, 2 } }, nd.array { { 3, 4 } }

  it("are joined along an axis, or a new one", function()
    assert.same({ { 1, 2 }, { 3, 4 } }, nd.concat({ a, b }):totable())
    assert.same({ { 1, 2, 3, 4 } }, nd.concat({ a, b }, 1):totable())
    assert.same({ 2, 1, 2 }, nd.stack({ a, b }).shape)
    assert.same({ { { 1, 2 }, { 3, 4 } } }, nd.stack({ a, b }, { axis = 1 }):totable())
    assert.same({ { { 1, 3 }, { 2, 4 } } }, nd.stack({ a, b }, -1):totable())
    assert.equal("float64", nd.concat({ a, b:astype("float64") }).dtype)
    assert.equal("uint8", nd.stack({ a:astype("uint8"), a:astype("uint8") }).dtype)
    assert.same({ { 1, 2, 300 } }, nd.concat({ a:astype("uint8"),
      nd.array({ { 300 } }, "int32") }, 1):totable())
    helper.fails(function() nd.concat({}) end, "ndarray.concat: arrays must not be empty")
    helper.fails(function() nd.stack({ a, 5 }) end,
      "arrays: item 2 must be an NdArray, got number 5")
  end)

  it("are multiplied as matrices", function()
    assert.same({ { 11 } }, nd.matmul(a, b, { transpose_b = true }):totable())
    assert.same({ { 3, 4 }, { 6, 8 } }, nd.matmul(a:transpose(), b):totable())
  end)

  it("go through any op at once", function()
    assert.equal(1, flow.nn.softmax(a):sum())
    assert.equal(1, flow.math.exp(nd.zeros(1))[1])
    helper.fails(function() return (flow.nn.softmax(a, { axs = 1 })) end,
      "softmax: unknown option 'axs'; options are axis, name; did you mean axis?")
    for option, text in pairs { dim = "axis", negative_slope = "alpha", stride = "strides",
      num_classes = "depth" } do
      local op = ({ axis = flow.nn.softmax, alpha = flow.nn.leaky_relu, depth = flow.one_hot,
        strides = flow.nn.max_pool2d })[text]
      helper.fails(function() return (op(a, { [option] = 1 })) end, "did you mean " .. text .. "?")
    end
  end)

  it("say that a program without ffi has no pointers", function()
    local out = helper.script [[
      package.loaded.ffi, package.preload.ffi = nil, nil
      print(pcall(function() return require("jfl").ndarray.ones({ 2 }):pointer() end))
    ]]
    assert.truthy(out:find("pointer: this program has no module 'ffi'", 1, true), out)
    assert.falsy(out:find("jfl/nd/array.lua", 1, true), out)
  end)
end)
