-- Methods of blobs read their calls as those of arrays do, and give the same.
local flow = require "jfl"

local tp = flow.typing

describe("a method of a blob", function()
  before_each(flow.clear_default_session)

  local CALLS = {
    ["reshape of a list"] = function(x) return x:reshape({ 4, -1 }) end,
    ["reshape of numbers"] = function(x) return x:reshape(3, 2, 4) end,
    ["reshape of one number"] = function(x) return x:reshape(-1) end,
    ["transpose of a list"] = function(x) return x:transpose({ 2, 0, 1 }) end,
    ["transpose of numbers"] = function(x) return x:transpose(1, 2, 0) end,
    ["transpose of nothing"] = function(x) return x:transpose() end,
    ["argmax"] = function(x) return x:argmax() end,
    ["argmax over an axis"] = function(x) return x:argmax(1) end,
    ["argmin over an axis by name"] = function(x) return x:argmin({ axis = 2 }) end,
    ["astype"] = function(x) return x:astype("int32") end,
    ["eq"] = function(x) return x:eq(x):astype("int32") end,
    ["ne"] = function(x) return x:ne(3):astype("int32") end,
    ["lt"] = function(x) return x:lt(3):astype("int32") end,
    ["le"] = function(x) return x:le(3):astype("int32") end,
    ["gt"] = function(x) return x:gt(3):astype("int32") end,
    ["ge"] = function(x) return x:ge(3):astype("int32") end,
  }

  for name, call in pairs(CALLS) do
    it("gives what it does on an array: " .. name, function()
      local x = flow.ndarray.arange(24):reshape({ 2, 3, 4 }):astype("float32")
      local job = flow.global_function { name = "calls", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 2, 3, 4 }) } }, body = call }
      local want, got = call(x), job(x)
      if type(want) == "number" then return assert.equal(want, got:item()) end
      assert.same({ want.shape, want:totable() }, { got.shape, got:totable() })
    end)
  end
end)
