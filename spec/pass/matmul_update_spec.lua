local flow = require "jfl"
local tp = flow.typing

describe("the fold of a product into its update", function()
  after_each(function() flow.clear_default_session() end)

  local function graph_of(body)
    return flow.global_function {
      name = "job", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder { 2, 3 } } }, body = body,
    }:graph("optimized")
  end

  local function matrix(name, rows, columns)
    return flow.get_variable(name, { shape = { rows, columns },
      initializer = flow.ones_initializer() })
  end

  it("leaves a factor alone that is itself trained", function()
    local text = graph_of(function(x)
      local y = flow.matmul(matrix("a", 3, 3), matrix("b", 3, 2))
      flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(flow.matmul(x, y))
      return y
    end)
    assert.is_nil(text:find "matmul_update")
    assert.truthy(text:find " update%(a, matmul_%d+, b, matmul_%d+,")
  end)

  it("adds up a gradient of two uses first", function()
    local text = graph_of(function(x)
      local w = matrix("w", 3, 2)
      flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(flow.matmul(x, w) + flow.matmul(x * 2, w))
      return x
    end)
    assert.is_nil(text:find "matmul_update")
  end)
end)
