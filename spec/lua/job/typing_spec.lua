local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

describe("typing", function()
  it("prints types as they are written", function()
    assert.equal("Callback(Tuple(Numpy, List(ListNumpy)))",
      tostring(tp.Callback(tp.Tuple(tp.Numpy, tp.List(tp.ListNumpy)))))
    assert.equal("Numpy.Placeholder((2, 3), float32)", tostring(tp.Numpy.Placeholder({ 2, 3 })))
    assert.equal("Numpy.Placeholder((-1), int32)",
      tostring(tp.Numpy.Placeholder({ -1 }, { dtype = flow.int32 })))
  end)

  it("gives a callback what the body returns, unless a type is named", function()
    local job = flow.global_function { name = "any", inputs = { flow.float32 { 2 } },
      returns = tp.Callback(), body = function(x) return { sum = x:sum(), x = x } end }
    local said
    job({ 1, 2 })(function(value) said = value end)
    flow.sync()
    assert.equal(3, said.sum:item())
    assert.equal(2, #said.x)
    helper.fails(function() tp.Callback(nil) end, "Callback: argument 1 must be a type")
  end)

  it("accepts float and double as names", function()
    assert.equal("float64", tp.Numpy.Placeholder({ 1 }, { dtype = "double" }).dtype)
  end)

  it("refuses shapes that no array has", function()
    helper.fails(function() tp.Numpy.Placeholder({ 2, -1 }) end,
      "Numpy.Placeholder: shape: dimension 2 must be a whole number of at least 0, got number -1")
    helper.fails(function() tp.Numpy.Placeholder({ 2, 0.5 }) end, "dimension 2")
    helper.fails(function() tp.Numpy.Placeholder(5) end, "must be a list of extents")
    helper.fails(function() tp.ListNumpy.Placeholder({ -1, 2 }) end, "dimension 1")
  end)

  it("refuses unknown dtypes and non-types", function()
    helper.fails(function() tp.Numpy.Placeholder({ 1 }, { dtype = "int31" }) end,
      "dtype must be one of bfloat16, float16, float32")
    helper.fails(function() tp.Tuple(tp.Numpy, 3) end, "Tuple: argument 2 must be a type")
    helper.fails(function() tp.List(tp.Callback(tp.Numpy)) end, "only be the outermost")
  end)
end)

describe("a type", function()
  it("is no function, and says what it has", function()
    helper.fails(function() return (tp.Numpy({ 2 })) end, "typing.Numpy: is a type and takes "
      .. "nothing; the type of an argument is typing.Numpy.Placeholder(shape)")
    helper.fails(function() return (tp.List(tp.Numpy)()) end, "List(Numpy) is a type and takes")
    helper.fails(function() return tp.ListNumpy.PlaceHolder end,
      "typing.ListNumpy has no 'PlaceHolder'")
    helper.fails(function() return tp.Tuple(tp.Numpy).Placeholder end,
      "typing: Tuple(Numpy) has no 'Placeholder'")
  end)

  it("takes types in brackets, and as many as it has", function()
    helper.fails(function() return (tp.Tuple { tp.Numpy, tp.Numpy }) end,
      "Tuple: argument 1 must be a type such as Numpy, got a list; types are given as in "
        .. "Tuple(Numpy)")
    helper.fails(function() return (tp.Dict("string", tp.Numpy)) end,
      "Dict: takes the type of the values alone, as in Dict(Numpy)")
    helper.fails(function() return (tp.List(tp.Numpy, tp.Numpy)) end,
      "List: takes one type; several make a Tuple")
    helper.fails(function() return (tp.List()) end, "got nil")
  end)
end)

describe("results of jobs", function()
  before_each(flow.clear_default_session)

  local function call(returns, body)
    flow.clear_default_session()
    local value = helper.predict("shaped", { 2 }, body, { returns = returns })({ 1, 2 })
    return value
  end

  it("come as several values for a tuple", function()
    local a, b = helper.predict("two", { 2 }, function(x) return x, x + 1 end,
      { returns = tp.Tuple(tp.Numpy, tp.Numpy) })({ 1, 2 })
    assert.same({ 1, 2 }, a:totable())
    assert.same({ 2, 3 }, b:totable())
  end)

  it("have no gaps for a tuple", function()
    local two = tp.Tuple(tp.Numpy, tp.Numpy)
    helper.fails(function() call(two, function(x) return { nil, x } end) end,
      "must return blobs shaped as Tuple(Numpy, Numpy), got {2 = blob}")
  end)

  it("may be returned as one list for a tuple", function()
    local a, b = helper.predict("two", { 2 }, function(x) return { x, x + 1 } end,
      { returns = tp.Tuple(tp.Numpy, tp.Numpy) })({ 1, 2 })
    assert.same({ 1, 2 }, a:totable())
    assert.same({ 2, 3 }, b:totable())
  end)

  it("keep the keys of a dict", function()
    local t = call(tp.Dict(tp.Numpy), function(x) return { double = x * 2, [7] = x } end)
    assert.same({ 2, 4 }, t.double:totable())
    assert.same({ 1, 2 }, t[7]:totable())
  end)

  it("nest", function()
    local t = call(tp.List(tp.Dict(tp.Numpy)), function(x) return { { a = x }, { b = -x } } end)
    assert.same({ 1, 2 }, t[1].a:totable())
    assert.same({ -1, -2 }, t[2].b:totable())
    t = call(tp.Bundle(tp.Numpy), function(x) return { x, deep = { deeper = { x + 3 } } } end)
    assert.same({ 4, 5 }, t.deep.deeper[1]:totable())
  end)

  it("are one value for a tuple of one", function()
    assert.same({ 1, 2 }, call(tp.Tuple(tp.Numpy), function(x) return x end):totable())
    assert.same({ 1, 2 }, call(tp.Tuple(tp.Dict(tp.Numpy)), function(x)
      return { a = x }
    end).a:totable())
    assert.same({ 2, 3 }, call(tp.Tuple(tp.List(tp.Numpy)), function(x)
      return { x, x + 1 }
    end)[2]:totable())
  end)

  it("nest any type in a bundle", function()
    local t = call(tp.Bundle(tp.Tuple(tp.Numpy, tp.ListNumpy)), function(x)
      return { a = { x, x + 1 }, { { b = { x, x + 2 } } } }
    end)
    assert.same({ 2, 3 }, t.a[2][1]:totable())
    assert.same({ 3, 4 }, t[1][1].b[2][1]:totable())
  end)

  it("are one array per device in the mirrored types", function()
    assert.same({ 1, 2 }, call(tp.ListNumpy, function(x) return x end)[1]:totable())
    assert.same({ 1, 2 }, call(tp.ListListNumpy, function(x) return x end)[1][1]:totable())
  end)

  local function mismatch(returns, body, text)
    local err = helper.fails(function()
      local value = call(returns, body)
      return value
    end, text)
    assert.truthy(err:find("shaped: the body (", 1, true))
    return err
  end

  it("must have the declared structure", function()
    mismatch(tp.Numpy, function() return 5 end, "must return blobs shaped as Numpy, got number 5")
    mismatch(tp.Numpy, function() end, "must return blobs shaped as Numpy, got nothing")
    mismatch(tp.Numpy, function() return nil end, "must return blobs shaped as Numpy, got nil")
    mismatch(tp.Numpy, function(x) return x, x end,
      "must return blobs shaped as Numpy, got blob, blob")
    mismatch(tp.Numpy, function(x) return { x } end, "got {blob}")
    mismatch(tp.Tuple(tp.Numpy, tp.Numpy), function(x) return x end,
      "must return blobs shaped as Tuple(Numpy, Numpy), got blob")
    mismatch(tp.Tuple(tp.Numpy, tp.Numpy), function(x) return x, 3 end, "got blob, number 3")
    mismatch(tp.Dict(tp.Numpy), function(x) return { a = x, b = "s" } end,
      "must return blobs shaped as Dict(Numpy), got {a = blob, b = string 's'}")
    mismatch(tp.List(tp.Numpy), function(x) return { a = x } end, "got {a = blob}")
    mismatch(tp.List(tp.Numpy), function(x) return { x, nil, x } end, "got {blob, 3 = blob}")
    mismatch(tp.Dict(tp.Numpy), function(x) return { [true] = x } end, "got {true = blob}")
  end)

  it("cannot contain themselves", function()
    local t = {}
    t.t = t
    mismatch(tp.Bundle(tp.Numpy), function() return t end,
      "must return blobs shaped as Bundle(Numpy), got " .. ("{t = "):rep(6) .. "{...}}}}}}}")
  end)

  it("must have it without a declaration too", function()
    helper.fails(function()
      helper.predict("old", { 2 }, function() return {} end, { returns = false })
    end, "returns must be a type")
    local job = flow.global_function { name = "plain", body = function() return "x" end }
    helper.fails(function() job() end, "must return a blob, or a table of blobs, got string 'x'")
  end)
end)
