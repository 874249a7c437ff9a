local flow = require "jfl"
local tp = flow.typing

describe("results of a job", function()
  after_each(function() flow.clear_default_session() end)

  local function job(body, returns)
    return flow.global_function {
      name = "job", inputs = { { "x", tp.Numpy.Placeholder({ 2, 3 }) } },
      returns = returns, body = body,
    }
  end

  it("may be an input as it is, and do not share the caller's memory", function()
    local x = flow.ndarray.array { { 1, 2, 3 }, { 4, 5, 6 } }
    local y = job(function(b) return b end, tp.Numpy)(x)
    y[1][1] = 9
    assert.equal(1, x[1][1])
  end)

  it("may be one blob twice, and one blob under two shapes", function()
    local f = job(function(b)
      local y = b * 2
      return y, y, flow.reshape(y, { 6 })
    end, tp.Tuple(tp.Numpy, tp.Numpy, tp.Numpy))
    local a, b, c = f { { 1, 2, 3 }, { 4, 5, 6 } }
    a[1][1] = 100
    assert.equal(2, b[1][1])
    assert.same({ 2, 4, 6, 8, 10, 12 }, c:totable())
  end)

  it("of a train job hold the weights before the step", function()
    local train = flow.global_function {
      name = "train", type = "train", inputs = { { "x", tp.Numpy.Placeholder { 1, 1 } } },
      returns = tp.Numpy,
      body = function(x)
        local w = flow.get_variable("w", { shape = { 1, 1 },
          initializer = flow.ones_initializer() })
        flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(x * w)
        return w
      end,
    }
    assert.equal(1, train { { 1 } }[1][1])
    assert.equal(0.5, train { { 1 } }[1][1])
  end)
end)
