-- What a newcomer writes with arrays, and what it gives or says.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd, tp = flow.ndarray, flow.typing

describe("arrays", function()
  before_each(flow.clear_default_session)

  it("say how they are compared", function()
    local a, b = nd.ones({ 2 }), nd.ones({ 2 })
    assert.is_true(a == a and a ~= b and a ~= nil and a ~= 3)      -- which array it is
    helper.fails(function() return a < b end, "NdArrays are compared element by element, by "
      .. "a:lt(b) or a:gt(b); add :all() or :any() for one answer")
    helper.fails(function() return a >= b end, "by a:le(b) or a:ge(b)")
  end)

  it("name what does here what they have elsewhere, and so do blobs", function()
    local a = nd.ones { 2 }
    helper.fails(function() return a.T end, "an NdArray has no 'T'; x:transpose(1, 0)")
    helper.fails(function() return a:cuda() end, "flow.help('gpu')")
    helper.fails(function() return a:median() end, "; x:reshape(-1):sort()[math.ceil(x.size / 2)]")
    helper.fails(function() return a:clone() end, "an NdArray has no 'clone'; x:copy()")
    helper.predict("job", { 2 }, function(x)
      helper.fails(function() return x:clone() end, "a blob has no 'clone'; x:copy(), or of a blob")
      helper.fails(function() return x.grad end, "flow.watch_diff(x) shows that of x")
      return x
    end):compile()
    local methods = require "jfl.op.methods"
    for _, name in ipairs { "tolist", "T", "view", "unsqueeze", "to", "float", "dot", "append",
      "grad", "detach", "ndim", "numel", "norm", "var", "median", "quantile",
      "count_nonzero" } do
      for path in methods.elsewhere(name):gmatch "flow%.([%w_.]*%w)" do
        assert.is_true(flow.has(path), path)
      end
      for method in methods.elsewhere(name):gmatch "x:([%w_]+)" do
        assert.equal("function", type(a[method]), method)
      end
    end
  end)

  local function says(code, text)
    local out, status = helper.script("local a = require('jfl').ndarray.ones({ 2 })\n" .. code)
    assert.equal(1, status)
    assert.truthy(out:match("^[^\n]*"):find(text, 1, true), out)
  end

  it("have errors of the virtual machine that say what to write", function()
    if helper.command():find "luajit$" then return pending("the command adds to messages") end
    local loop = "; an NdArray a is gone through by `for i = 1, #a do local row = a[i] ... end`, "
      .. "or by flow.zip(a)"
    says("for i, x in ipairs(a) do print(i, x) end", "got userdata)" .. loop)
    says("for i, x in pairs(a) do print(i, x) end", "got userdata)" .. loop)
    says("print(flow.ndarray)", '; a script begins with local flow = require "jfl"')
    says("print(nd.ones)", "; local nd = flow.ndarray makes that name")
    says("print(a > 1)", "; NdArrays are compared by a:lt(2), a:ge(b) and so on")
    says("print(1 <= a)", "attempt to compare number with userdata; NdArrays are compared by")
    says("local b = { 2 } print(#b.x)", "attempt to get length of field 'x' (a nil value)")
  end)

  it("are taken by arrays of places", function()
    local a = nd.array({ 10, 20, 30 })
    assert.same({ 30, 10, 30 }, a:take(nd.array({ 3, 1, -1 }, "int32")):totable())
    helper.fails(function() a:take(nd.array({ 0, 1 }, "int32")) end,
      "take: places[1] must be from 1 to 3, or negative from the end, got 0; flow.gather takes "
      .. "places from 0, as ops such as argsort give them")
    helper.fails(function() a:take(nd.ones({ 1, 2 }, "int32")) end,
      "take: places must be of one dimension, got (1, 2)")
    helper.fails(function() a:take(nd.array({ 1.5 })) end, "places[1] must be a whole number")
  end)

  it("may be numbers where a job takes a scalar", function()
    local job = flow.global_function { name = "scale", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ -1 }) }, { "by", tp.Numpy.Placeholder({}) },
        { "of", tp.Numpy.Placeholder({ 1 }, { dtype = flow.int32 }) } },
      body = function(x, by, of) return x * by + flow.cast(of, flow.float32) end }
    assert.same({ 6, 8 }, job({ 1, 2 }, 2, 4):totable())
    helper.fails(function() job({ 1, 2 }, 2, 4.5) end, "scale: of")
    helper.fails(function() job({ 1, 2 }, "2", 4) end, "by must be an array or a table, got string")
    helper.fails(function() job(2, 2, 4) end, "x must be an NdArray or a table, got number 2")
  end)

  it("may vary in the first extent, or up to a bound, which the error says", function()
    helper.fails(function() tp.Numpy.Placeholder({ 3, -1 }) end, "dimension 2 must be a whole "
      .. "number of at least 0, got number -1; one behind the first varies up to a bound: "
      .. "{ max = 512 }")
  end)
end)
