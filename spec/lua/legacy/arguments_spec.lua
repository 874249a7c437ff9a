local flow = require "jfl"
local helper = require "spec.lua.helper"

local args = require "jfl.base.args"
local index = require "jfl.doc.index"
local older = require "jfl.legacy.arguments"

describe("arguments of the original", function()
  local x = flow.ndarray.ones({ 4 })

  it("are taken at their places and by name, and change nothing", function()
    assert.same({ 1, 1, 1, 1 }, flow.nn.dropout(x, 0, nil, 7):totable())
    assert.same({ 1, 1, 1, 1 }, flow.nn.dropout(x, 0, { seed = 7 }):totable())
    assert.equal("constant_initializer(2)", tostring(flow.constant_initializer(2, flow.float)))
    assert.equal("random_normal_initializer(0, 1)",
      tostring(flow.random_normal_initializer(0, 1, 7, "float32")))
  end)

  it("leave the places of those behind them as they are", function()
    local out = flow.nn.dropout(flow.ndarray.ones({ 1000 }), 0.5, nil, nil, true)
    assert.truthy(out:min() == 0)
  end)

  it("are not named beside an unknown option, nor suggested for one", function()
    local message = helper.fails(function() flow.nn.dropout(x, { sed = 1 }) end,
      "nn.dropout: unknown option 'sed'; options are x, rate, noise_shape, training, name")
    assert.falsy(message:find("did you mean", 1, true))
  end)

  it("belong to functions that there are, which take no other of that name", function()
    index.values()                     -- loads every module
    for path, list in pairs(older) do
      local f = args.defined[path]
      assert.truthy(f, path)
      for _, e in ipairs(list) do
        for _, param in ipairs(f.params) do assert.not_equal(e[2], param[1], path) end
        assert.equal(e[2], args.taken(f)[e[1]][1], path)
      end
    end
  end)
end)
