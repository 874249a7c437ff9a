--- What plans say that their steps cost.
local core = require "jfl.core"
local flow = require "jfl"

local tp = flow.typing

describe("what steps cost", function()
  it("counts a value once that a step reads several times", function()
    local function bytes(body)
      local job = flow.global_function { name = "products", returns = tp.Numpy,
        inputs = { { "a", tp.Numpy.Placeholder { 30, 30 } },
                   { "b", tp.Numpy.Placeholder { 30, 30 } } }, body = body }
      for _, step in ipairs(core.plan_steps(job:compile()._latest.plan)) do
        if step.op == "matmul" then return step.bytes end
      end
    end
    assert.equal(3 * 3600, bytes(function(a, b) return flow.matmul(a, b) end))
    assert.equal(2 * 3600, bytes(function(a) return flow.matmul(a, a) end))
  end)
end)
