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

  it("steps along the rows that a gather picked, once for each time", function()
    local ids = flow.ndarray.array({ 3, 1, 3 }, flow.int32)
    local job = flow.global_function {
      name = "rows", type = "train", returns = tp.Numpy,
      inputs = { { "ids", tp.Numpy.Placeholder({ 3 }, { dtype = flow.int32 }) } },
      body = function(x)
        local y = flow.gather(matrix("table", 5, 2), x)
        flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(flow.math.reduce_sum(y))
        return y
      end,
    }
    assert.truthy(job:graph("optimized"):find " segment_update%(table, ")
    assert.is_nil(job:graph("optimized"):find " update%(")
    job(ids)
    local rows = flow.get_all_variables().table
    for i, times in ipairs { 0, 1, 0, 2, 0 } do
      assert.truthy(math.abs(rows:get(i, 2) - (1 - 0.1 * times)) < 1e-6)
    end
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
