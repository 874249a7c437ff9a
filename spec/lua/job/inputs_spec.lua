-- The forms in which a definition states its inputs.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

describe("inputs in short", function()
  before_each(function()
    flow.clear_default_session()
    flow.config.on_warning(function() end)
  end)
  teardown(flow.clear_default_session)

  local function define(inputs, body, fields)
    local t = { name = "j", inputs = inputs, body = body }
    for key, value in pairs(fields or {}) do t[key] = value end
    return flow.global_function(t)
  end

  it("are in the order of the body's parameters where they have names", function()
    local job = define({ b = flow.float32 { 2 }, a = flow.int32 { 1 } }, function(a, b)
      assert.same({ "int32", "float32" }, { a.dtype, b.dtype })
      return flow.cast(a, flow.float) - b
    end)
    assert.same({ 9, 8 }, job({ 10 }, { 1, 2 }):totable())
    assert.same({ 9, 8 }, job({ b = { 1, 2 }, a = { 10 } }):totable())
  end)

  it("may be a list of types, which the body's parameters name", function()
    local job = define({ flow.float32 { -1, 2 }, flow.float64 { 1 } },
      function(first, second) return first, second end)
    local a, b = job({ { 1, 2 } }, { 3 })
    assert.same({ { { 1, 2 } }, { 3 } }, { a:totable(), b:totable() })
    helper.fails(function() job({ { 1, 2 } }) end, "j: takes 2 arguments (first, second), got 1")
    helper.fails(function() job({ { 1, 2 } }, { 1, 2 }) end, "j: second must be of shape (1)")
  end)

  it("have names of their own where the body names none", function()
    local job = define({ flow.float32 { 1 }, { "y", flow.float32 { 1 } } },
      function(...) return (select(1, ...)) + (select(2, ...)) end)
    assert.equal(3, job { input_1 = { 1 }, y = { 2 } }[1])
  end)

  it("give arrays, one by one, unless the definition says otherwise", function()
    local short = { x = flow.float32 { 1 } }
    local a, b = define(short, function(x) return x, x * 2 end)({ 1 })
    assert.same({ 1, 2 }, { a[1], b[1] })
    assert.same({ 2 }, define(short, function(x) return { y = x * 2 } end)({ 1 }).y:totable())
    local got
    define(short, function(x) return x end, { returns = tp.Callback(tp.Numpy) })({ 4 })(
      function(value) got = value[1] end)
    flow.sync()
    assert.equal(4, got)
    local future = define({ { "x", tp.Numpy.Placeholder { 1 } } }, function(x) return x end)({ 5 })
    assert.equal(5, future:get()[1])
  end)

  it("are placeholders of every dtype", function()
    for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32",
      "int64", "double", "float" } do
      assert.equal(tostring(tp.Numpy.Placeholder({ 2, 3 }, flow[dtype])),
        tostring(flow[dtype] { 2, 3 }))
    end
    helper.fails(function() print(flow.float32 { 2, -1 }) end, "dimension 2 must be")
    helper.fails(function() print(flow.float32(2, 3)) end,
      "shape must be a list of extents such as {100, 10}, got number 2")
    helper.fails(function()
      flow.global_function { name = "job", inputs = flow.float32 { 2 },
        body = function(x) return x end }
    end, "job: inputs must be a list of types such as { flow.float32 { 100, 10 } }, got one type")
  end)

  it("leave other texts as they were", function()
    helper.fails(function()
      local text = "no dtype"
      print(text(3))
    end, "attempt to call a string value, 'no dtype'")
    helper.fails(function() flow.progress("text") end, "source must be a number")
  end)

  it("refuse names that no parameter has", function()
    helper.fails(function() define({ img = flow.float32 { 1 } }, function(x) return x end) end,
      "j: inputs: 'img' is no parameter of the body, which takes (x)")
    helper.fails(function() define({ x = flow.float32 }, function(x) return x end) end,
      "j: inputs: 'x' must be a placeholder such as")
    helper.fails(function() define({ x = flow.float32 { 1 } }, function(...) return ... end) end,
      "and the body names none")
  end)

  it("names a few of many names that no parameter has", function()
    local many = {}
    for i = 1, 20 do many["in" .. 100 + i] = flow.float32 { 1 } end
    helper.fails(function() define(many, function(x) return x end) end, "j: inputs: 'in101', "
      .. "'in102', 'in103', 'in104', 'in105', 'in106', 'in107', 'in108', and 12 more: none is")
  end)
end)
