local flow = require "jfl"
local helper = require "spec.lua.helper"

-- The values of a new variable of that shape.
local function values(initializer, shape)
  flow.clear_default_session()
  flow.random.seed(3)
  local job = flow.global_function { name = "values", returns = flow.typing.Numpy,
    body = function() return flow.get_variable("v", shape, { initializer = initializer }) end }
  return job()
end

local function near(want, got, tolerance)
  assert.is_true(math.abs(want - got) <= tolerance, ("wanted %g, got %g"):format(want, got))
end

describe("initializers", function()
  teardown(flow.clear_default_session)

  it("of constants fill", function()
    assert.same({ 0, 0 }, values(flow.zeros_initializer(), { 2 }):totable())
    assert.same({ 1, 1 }, values(flow.ones_initializer(), { 2 }):totable())
    assert.same({ 2.5, 2.5 }, values(flow.constant_initializer(2.5), { 2 }):totable())
  end)

  it("draw uniform values from their range", function()
    local v = values(flow.random_uniform_initializer(-1, 3), { 10000 })
    assert.is_true(v:min() >= -1 and v:max() < 3)
    near(1, v:mean(), 0.05)
    near(4 / math.sqrt(12), v:std(), 0.05)
  end)

  it("draw normal values", function()
    local v = values(flow.random_normal_initializer(2, 0.5), { 10000 })
    near(2, v:mean(), 0.03)
    near(0.5, v:std(), 0.02)
  end)

  it("cut normal values at two standard deviations", function()
    local v = values(flow.truncated_normal(0.1), { 10000 })
    assert.is_true(v:max() < 0.2 and v:min() > -0.2)
    near(0.088, v:std(), 0.004)
    near(5, values(flow.truncated_normal_initializer(5, 0.1), { 100 }):mean(), 0.1)
  end)

  it("scale by the fans of (out, in) and (out, in, height, width)", function()
    near(math.sqrt(6 / 300), values(flow.glorot_uniform_initializer(), { 100, 200 }):max(), 1e-4)
    local xavier = values(flow.xavier_uniform_initializer(), { 10, 20, 3, 3 })
    near(math.sqrt(6 / (9 * 30)), xavier:max(), 1e-3)
    near(math.sqrt(2 / 300), values(flow.glorot_normal_initializer(), { 100, 200 }):std(), 2e-3)
    local scaled = values(flow.variance_scaling_initializer(1, "fan_in"), { 100, 200 })
    near(math.sqrt(1 / 200), scaled:std(), 2e-3)
  end)

  it("follow He et al. for relu", function()
    local kaiming = flow.kaiming_initializer({ 100, 200 }, { nonlinearity = "relu" })
    near(math.sqrt(2 / 200), values(kaiming, { 100, 200 }):std(), 3e-3)
  end)

  it("are the same in every run after seed, and differ by name", function()
    assert.same(values(flow.truncated_normal(1), { 5 }):totable(),
      values(flow.truncated_normal(1), { 5 }):totable())
  end)

  it("check their arguments", function()
    helper.fails(function() flow.truncated_normal(0) end,
      "truncated_normal: stddev must be a number above 0, got 0")
    helper.fails(function() flow.random_uniform_initializer(2, 1) end,
      "minval must be at most maxval 1, got 2")
    helper.fails(function() flow.variance_scaling_initializer(1, "fan") end,
      "variance_scaling_initializer: mode must be fan_in, fan_out or fan_avg, got string 'fan'")
  end)
end)
