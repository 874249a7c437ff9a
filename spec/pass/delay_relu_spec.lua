local core = require "jfl.core"
local flow = require "jfl"
local golden = require "spec.golden"
local passes = require "spec.passes"
local tp = flow.typing

describe("relu before max_pool2d", function()
  before_each(function()
    flow.clear_default_session()
    core.set("passes", passes.all_but "delay_relu")
  end)
  after_each(function() flow.clear_default_session() end)

  local function job(kind, body)
    return flow.global_function {
      name = "net", type = kind, returns = kind == "train" and tp.Numpy or nil,
      inputs = { { "x", tp.Numpy.Placeholder { 2, 3, 6, 6 } } },
      body = body,
    }
  end

  local function pool(x) return flow.nn.max_pool2d(x, { ksize = 2, strides = 2, name = "pool" }) end

  local function weighted(x)
    local w = flow.get_variable("w",
      { shape = { 3, 6, 6 }, initializer = flow.random_normal_initializer(0, 1) })
    return x * w
  end

  it("stands behind it, in the gradients as well", function()
    local text = job("train", function(x)
      local y = pool(flow.nn.relu(weighted(x), { name = "relu" }))
      flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(flow.math.reduce_mean(y))
      return y
    end):graph("optimized")
    golden.check("delay_relu_graph", text)
  end)

  it("stays where another reads it", function()
    local text = job("predict", function(x)
      local y = flow.nn.relu(x, { name = "relu" })
      return pool(y), y
    end):graph("optimized")
    assert.truthy(text:find("max_pool2d(relu)", 1, true))
  end)

  it("may be the loss that is minimized", function()
    local f = job("train", function(x)
      local y = pool(flow.nn.relu(weighted(x)))
      flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(y)
      return y
    end)
    assert.same({ 2, 3, 3, 3 }, f(flow.ndarray.ones { 2, 3, 6, 6 }).shape)
  end)
end)
