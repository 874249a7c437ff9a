local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("random", function()
  it("gives the same after the same seed", function()
    flow.random.seed(5)
    local a = nd.rand({ 3, 4 })
    flow.random.seed(5)
    assert.equal(12, a:eq(nd.rand({ 3, 4 })):sum())
    assert.equal(0, a:eq(nd.rand({ 3, 4 })):sum())
    flow.random.seed(6)
    assert.equal(0, a:eq(nd.rand({ 3, 4 })):sum())
  end)

  it("is uniform in [0, 1)", function()
    flow.random.seed(1)
    local a = nd.rand(100000, "float64")
    assert.is_true(a:min() >= 0 and a:max() < 1)
    assert.is_true(math.abs(a:mean() - 0.5) < 0.005)
    assert.is_true(math.abs(a:std() - math.sqrt(1 / 12)) < 0.005)
  end)

  it("is normal", function()
    flow.random.seed(1)
    local a = nd.randn({ 1000, 100 })
    assert.is_true(math.abs(a:mean()) < 0.02)
    assert.is_true(math.abs(a:std() - 1) < 0.02)
    assert.is_true(math.abs(a:lt(-1):mean() - 0.1587) < 0.005)
  end)

  it("repeats a training bit for bit", function()
    local function train()
      flow.clear_default_session()
      flow.random.seed(9)
      local job = flow.global_function { name = "r", type = "train", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 4, 8 }) } },
        body = function(x)
          local y = flow.nn.dropout(flow.layers.dense(x, 5), 0.5)
          flow.optimizer.SGD(0.1):minimize(y)
          return y
        end }
      local x = nd.randn({ 4, 8 })
      for _ = 1, 3 do job(x) end
      return helper.list(job(x))
    end
    assert.same(train(), train())
  end)

  it("draws anew on every run of a job, and the same after the same seed", function()
    local function draws()
      flow.clear_default_session()
      flow.random.seed(3)
      local job = flow.global_function { name = "noise", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 5 }) } },
        body = function(x)
          return x + flow.random.normal({ 5 }, { mean = 100, stddev = 0.1, name = "noise" })
        end }
      local x = nd.zeros(5)
      return helper.list(job(x)), helper.list(job(x))
    end
    local first, second = draws()
    local again = draws()
    assert.is_not.same(first, second)
    assert.same(first, again)
    for _, value in ipairs(first) do assert.is_true(math.abs(value - 100) < 1) end
  end)

  it("gives arrays inside a body too", function()
    local table_ = nil
    local job = flow.global_function { name = "inside", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder({ 2 }) } },
      body = function(x)
        table_ = nd.rand({ 3 })
        helper.fails(function() nd.rand({ 3 }, "int32") end,
          "dtype must be one of float32, float64")
        return x + flow.random.uniform({ 2 }, 5, 6)
      end }
    assert.is_true(job(nd.zeros(2)):min() >= 5)
    assert.equal(3, table_.size)
  end)

  it("checks its arguments", function()
    helper.fails(function() flow.random.seed(-1) end,
      "random.seed: seed must be a whole number of at least 0")
    helper.fails(function() nd.rand({ 2 }, "int31") end, "ndarray.rand: dtype")
    helper.fails(function() flow.random.uniform({ 2 }, 3, 1) end,
      "minval must be at most maxval, and both finite, got 3 and 1")
    helper.fails(function() flow.random.uniform(2, 3) end, "got 3 and 1; shape comes before both")
    helper.fails(function() flow.random.normal({ 2 }, { stddev = -1 }) end, "stddev at least 0")
    helper.fails(function() flow.random.uniform(0, 1, { 3 }) end, "random_uniform: maxval must be "
      .. "a number, got a list of 1; the order of arguments is shape, minval, maxval, dtype, name")
    local err = helper.fails(function() flow.random.uniform { shape = { 3 }, maxval = { 3 } } end,
      "random_uniform: maxval must be a number, got a list of 1")
    assert.is_nil(err:find("order", 1, true))
  end)
end)
