--- split, and with it ops of any number of outputs.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

describe("split", function()
  before_each(flow.clear_default_session)

  it("gives dozens of parts, at once and in a job", function()
    local parts = { flow.split(nd.arange(120):reshape(60, 2), 1) }
    assert.equal(60, #parts)
    assert.same({ { 118, 119 } }, parts[60]:totable())
    local job = flow.global_function { name = "j", returns = tp.List(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 60, 2 }) } },
      body = function(x)
        local list = { flow.split(x, 1) }
        for i, part in ipairs(list) do list[i] = part * i end
        return list
      end }
    local results = job(nd.ones { 60, 2 })
    assert.equal(60, #results)
    for i, y in ipairs(results) do assert.same({ { i, i } }, y:totable()) end
  end)

  it("lets the gradients of some parts pass, the others being zeros", function()
    local job = helper.train("t", { body = function()
      local w = flow.get_variable("w", { shape = { 6 }, initializer = flow.ones_initializer() })
      local _, second, third = flow.split(w, { 1, 2, 3 })
      local loss = flow.math.reduce_sum(second * 2) + flow.math.reduce_sum(third)
      flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
      return loss
    end, inputs = {} })
    assert.equal(7, job():item())
    assert.same({ 1, -1, -1, 0, 0, 0 }, flow.get_all_variables().w:totable())
  end)

  it("says what is wrong", function()
    local x = nd.ones { 4, 3 }
    for text, call in pairs {
      ["split: sizes must add up to the axis's extent 4, got 3"] = { x, { 1, 2 } },
      ["split: sizes must add up to the axis's extent 3, got 2 where 1 are left"]
        = { x, { 2, 2 }, 1 },
      ["split: sizes must be at least 1, got 0"] = { x, 0 },
      ["split: axis must be from -2 to 1, got 2"] = { x, 2, 2 },
    } do
      local ok, message = pcall(core.op("split"), unpack(call))
      assert.is_false(ok)
      assert.truthy(message:find(text, 1, true), message)
    end
  end)
end)
