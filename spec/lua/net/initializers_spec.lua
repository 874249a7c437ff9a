local flow = require "jfl"
local helper = require "spec.lua.helper"

-- The values of a new variable of that shape, as float64 where its dtype is given.
local function values(initializer, shape, dtype)
  flow.clear_default_session()
  flow.random.seed(3)
  local job = flow.global_function { name = "values", returns = flow.typing.Numpy,
    body = function()
      local v = flow.get_variable("v", shape, { initializer = initializer, dtype = dtype })
      return dtype and flow.cast(v, "float64") or v
    end }
  return job()
end

-- Sorted numbers of an array.
local function sorted(v)
  local list = helper.list(v)
  table.sort(list)
  return list
end

-- The share of normal values below z, by the error function's approximation 7.1.26 of Abramowitz
-- and Stegun, which is off by less than 2e-7.
local function normal_share(z)
  local x = math.abs(z) / math.sqrt(2)
  local t = 1 / (1 + 0.3275911 * x)
  local tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027
    + t * 1.061405429)))) * math.exp(-x * x)
  return z > 0 and 1 - tail / 2 or tail / 2
end

-- Fails unless the shares of values below their quantiles are what share(x) says: the greatest
-- distance exceeds 2.3 / sqrt(n) once in 20000 times (Kolmogorov and Smirnov's test).
local function distributed(v, share)
  local list = sorted(v)
  local n, worst = #list, 0
  for i, x in ipairs(list) do
    worst = math.max(worst, math.abs(share(x) - i / n), math.abs(share(x) - (i - 1) / n))
  end
  assert.is_true(worst < 2.3 / math.sqrt(n), ("%g of %d values"):format(worst, n))
end

local function uniform_share(low, high)
  return function(x) return (x - low) / (high - low) end
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

  it("have a deviation of 1 around 0, and go from 0 to 1, where nothing else is said", function()
    for _, name in ipairs { "truncated_normal", "truncated_normal_initializer",
      "random_normal_initializer" } do
      local v = values(flow[name](), { 10000 })
      near(0, v:mean(), 0.06)
      near(name:find "^truncated" and 0.88 or 1, v:std(), 0.04)
    end
    local v = values(flow.random_uniform_initializer(), { 10000 })
    near(0.5, v:mean(), 0.02)
    near(1, v:max() - v:min(), 0.01)
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

  it("have the quantiles of their distributions", function()
    local shape = { 100, 200 }
    distributed(values(flow.random_uniform_initializer(-1, 3), shape), uniform_share(-1, 3))
    distributed(values(flow.random_normal_initializer(2, 0.5), shape),
      function(x) return normal_share((x - 2) / 0.5) end)
    local cut, inside = normal_share(-2), normal_share(2) - normal_share(-2)
    distributed(values(flow.truncated_normal_initializer(2, 0.5), shape),
      function(x) return (normal_share((x - 2) / 0.5) - cut) / inside end)
    local bound = math.sqrt(6 / 300)
    distributed(values(flow.glorot_uniform_initializer(), shape), uniform_share(-bound, bound))
    distributed(values(flow.glorot_normal_initializer(), shape),
      function(x) return normal_share(x / math.sqrt(2 / 300)) end)
  end)

  it("draw every whole number of a range as often, and none outside", function()
    for _, dtype in ipairs { "int32", "int64" } do
      local counts = {}
      for _, x in ipairs(helper.list(values(flow.random_uniform_initializer(-2, 3),
        { 10000 }, dtype))) do counts[x] = (counts[x] or 0) + 1 end
      for x = -2, 2 do near(2000, counts[x], 160); counts[x] = nil end
      assert.is_nil(next(counts))
    end
  end)

  it("stay below the bound above where elements are rounded", function()
    for dtype, step in pairs { float16 = 2 ^ -11, bfloat16 = 2 ^ -8 } do
      local v = values(flow.random_uniform_initializer(0, 1), { 100000 }, dtype)
      assert.equal(1 - step, v:max(), dtype)
      assert.is_true(v:min() >= 0)
    end
    -- No float32 lies between these.
    assert.equal(1, values(flow.random_uniform_initializer(1, 1 + 1e-12), { 3 }):max())
  end)

  it("scale by the mode and the distribution asked for", function()
    local fans = { fan_in = 200, fan_out = 100, fan_avg = 150 }
    for mode, fan in pairs(fans) do
      for _, how in ipairs { "truncated_normal", "random_normal", "random_uniform" } do
        local v = values(flow.variance_scaling_initializer(2, mode, how), { 100, 200 })
        near(math.sqrt(2 / fan), v:std(), 2e-3)
        near(0, v:mean(), 3e-3)
      end
    end
  end)

  it("have the gains of kaiming's nonlinearities", function()
    local gains = { none = 1, sigmoid = 1, tanh = 5 / 3, relu = math.sqrt(2),
      leaky_relu = math.sqrt(2 / 1.25) }
    for name, gain in pairs(gains) do
      for _, how in ipairs { "random_normal", "random_uniform" } do
        local v = values(flow.kaiming_initializer({ 100, 200 }, how, "fan_out", name, 0.5),
          { 100, 200 })
        near(gain / 10, v:std(), 3e-3)
      end
    end
  end)

  -- The greatest distance of A A' from gain^2 I.
  local function skew(a, gain)
    local product = flow.ndarray.matmul(a, a:transpose())
    local unit = flow.ndarray.zeros(product.shape, product.dtype)
    for i = 1, product.shape[1] do unit:set(gain * gain, i, i) end
    return flow.math.abs(product - unit):max()
  end

  it("make rows, or columns where these are fewer, orthonormal", function()
    local draw = flow.orthogonal_initializer(2)
    for _, shape in ipairs { { 1, 1 }, { 3, 50 }, { 50, 3 }, { 40, 40 }, { 8, 4, 3, 3 } } do
      local v = values(draw, shape, "float64")
      v = v:reshape { shape[1], -1 }
      assert.is_true(skew(shape[1] > v.shape[2] and v:transpose() or v, 2) < 1e-13)
      v = values(draw, shape):reshape { shape[1], -1 }
      assert.is_true(skew(shape[1] > v.shape[2] and v:transpose() or v, 2) < 3e-6)
    end
    assert.equal(0, values(draw, { 0, 4 }).size)
  end)

  -- As evenly drawn directions have them: entries of mean 0 and variance 1 / n, both signs on the
  -- diagonal.
  it("draw orthogonal matrices without a preferred direction", function()
    local v, plus = values(flow.orthogonal_initializer(), { 64, 64 }), 0
    near(0, v:mean(), 0.01)
    for i = 1, 64 do plus = plus + (v:get(i, i) > 0 and 1 or 0) end
    near(32, plus, 16)
    distributed(v, function(x) return normal_share(x * 8) end)
  end)

  it("give orthogonal matrices that threads do not change", function()
    local before = flow.config.threads()
    finally(function() flow.config.threads(before) end)
    local function of(threads)
      flow.config.threads(threads)
      return values(flow.orthogonal_initializer(), { 70, 300 }):totable()
    end
    local alone = of(1)
    assert.same(alone, of(2))
    assert.same(alone, of(3))
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
    helper.fails(function() values(flow.orthogonal_initializer(), { 4 }) end,
      "orthogonal_initializer: the variable must have two or more axes, got shape (4)")
    helper.fails(function() values(flow.orthogonal_initializer(), { 4, 4 }, "int32") end,
      "the initializer must be constant or uniform for int32")
    helper.fails(function() flow.variance_scaling_initializer(1, "fan") end,
      "variance_scaling_initializer: mode must be \"fan_in\", \"fan_out\" or \"fan_avg\", "
        .. "got string 'fan'")
  end)
end)
