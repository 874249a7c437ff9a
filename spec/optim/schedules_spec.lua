-- Rates of schedules at some steps, by their formulas.
local flow = require "jfl"
local schedules = require "jfl.optim.schedules"
local o = flow.optimizer

local pi, cos = math.pi, math.cos
local function half(x) return 0.5 * (1 + cos(pi * x)) end

local cases = {
  { "CosineScheduler", o.CosineScheduler(0.2, 10, { alpha = 0.1 }),
    function(t) return 0.2 * (0.9 * half(math.min(t, 10) / 10) + 0.1) end },
  { "LinearCosineScheduler", o.LinearCosineScheduler(0.2, 10),
    function(t)
      local k = math.min(t, 10)
      return 0.2 * ((10 - k) / 10 * half(k / 10) + 0.001)
    end },
  { "PolynomialScheduler", o.PolynomialScheduler(0.2, 10, 0.1, 2),
    function(t) return 0.1 * (1 - math.min(t, 10) / 10) ^ 2 + 0.1 end },
  { "PolynomialScheduler that cycles", o.PolynomialScheduler(0.2, 10, 0.1, 1, true),
    function(t) return 0.1 * (1 - t / (10 * math.max(1, math.ceil(t / 10)))) + 0.1 end },
  { "ExponentialScheduler", o.ExponentialScheduler(0.2, 10, 0.5),
    function(t) return 0.2 * 0.5 ^ (t / 10) end },
  { "ExponentialScheduler in stairs", o.ExponentialScheduler(0.2, 10, 0.5, true),
    function(t) return 0.2 * 0.5 ^ math.floor(t / 10) end },
  { "NaturalExpScheduler", o.NaturalExpScheduler(0.2, 10, 0.5),
    function(t) return 0.2 * math.exp(-0.5 * t / 10) end },
  { "InverseTimeScheduler", o.InverseTimeScheduler(0.2, 10, 0.5),
    function(t) return 0.2 / (1 + 0.5 * t / 10) end },
  { "PiecewiseScalingScheduler", o.PiecewiseScalingScheduler(0.2, { 3, 12 }, 0.5),
    function(t) return t <= 3 and 0.2 or t <= 12 and 0.1 or 0.05 end },
  { "CosineWarmupScheduler", o.CosineWarmupScheduler(0.2, 10, 4),
    function(t) return t < 4 and 0.05 * t or 0.2 * half((math.min(t, 10) - 4) / 6) end },
  { "CosineRestartsScheduler", o.CosineRestartsScheduler(0.2, 4, 2),
    function(t) return 0.2 * half(t < 4 and t / 4 or t < 12 and (t - 4) / 8 or (t - 12) / 16) end },
  { "OneCycleScheduler", o.OneCycleScheduler(0.2, 20, { pct_start = 0.3 }),
    function(t)
      local first, last = 0.2 / 25, 0.2 / 25 / 1e4
      t = math.min(t, 19)
      if t <= 5 then return 0.2 + (first - 0.2) * half(t / 5) end
      return last + (0.2 - last) * half((t - 5) / 14)
    end },
  { "a warm-up", o.CosineScheduler(0.2, 10, { warmup = o.warmup.linear(5, 0.5) }),
    function(t)
      return t < 5 and 0.2 * (0.5 + 0.5 * t / 5) or 0.2 * half(math.min(t, 10) / 10)
    end },
}

describe("the rate of", function()
  for _, case in ipairs(cases) do
    it(case[1] .. " is its formula's", function()
      for t = 0, 27 do
        local want, got = case[3](t), schedules.rate(case[2], t)
        assert(math.abs(want - got) < 1e-14, ("step %d: %.17g, not %.17g"):format(t, got, want))
      end
    end)
  end
end)

-- Schedules that begin with 0.2 and take a warm-up.
local warmed = {
  CosineScheduler = function(w) return o.CosineScheduler(0.2, 10, { alpha = 0.1, warmup = w }) end,
  CosineRestartsScheduler = function(w)
    return o.CosineRestartsScheduler(0.2, 4, { multiplier = 2, warmup = w })
  end,
  LinearCosineScheduler = function(w) return o.LinearCosineScheduler(0.2, 10, { warmup = w }) end,
  PolynomialScheduler = function(w)
    return o.PolynomialScheduler(0.2, 10, 0.1, 2, { warmup = w })
  end,
  ExponentialScheduler = function(w)
    return o.ExponentialScheduler(0.2, 10, 0.5, { warmup = w })
  end,
  NaturalExpScheduler = function(w) return o.NaturalExpScheduler(0.2, 10, 0.5, { warmup = w }) end,
  InverseTimeScheduler = function(w)
    return o.InverseTimeScheduler(0.2, 10, 0.5, { warmup = w })
  end,
  PiecewiseConstantScheduler = function(w)
    return o.PiecewiseConstantScheduler({ 1, 5 }, { 0.2, 0.3, 0.05 }, { warmup = w })
  end,
  PiecewiseScalingScheduler = function(w)
    return o.PiecewiseScalingScheduler(0.2, { 1, 5 }, 0.5, { warmup = w })
  end,
}

describe("a warm-up", function()
  for name, make in pairs(warmed) do
    it("comes before the rates that there are without it: " .. name, function()
      local plain = make()
      for _, steps in ipairs { 1, 3, 12 } do
        for _, share in ipairs { 0, 0.25 } do
          local constant = make(o.warmup.constant(steps, share))
          local linear = make(o.warmup.linear(steps, share))
          for t = 0, 15 do
            local want = schedules.rate(plain, t)
            local rises = 0.2 * (share + (1 - share) * t / steps)
            local before = { t < steps and 0.2 * share or want, t < steps and rises or want }
            for i, schedule in ipairs { constant, linear } do
              local got = schedules.rate(schedule, t)
              assert(math.abs(before[i] - got) < 1e-15, ("step %d of %d from %g: %.17g, not %.17g")
                :format(t, steps, share, got, before[i]))
            end
          end
        end
      end
    end)
  end

  it("is taken by all schedules that have no rise of their own", function()
    for name in pairs(schedules.kinds) do
      local rises = name == "CosineWarmupScheduler" or name == "OneCycleScheduler"
      assert.equal(not rises, warmed[name] ~= nil, name)
    end
  end)
end)

describe("CosineRestartsScheduler", function()
  -- The rate period by period.
  local function by_period(steps, multiplier, t)
    local period = steps
    while t >= period do t, period = t - period, period * multiplier end
    return half(t / period)
  end

  it("begins its periods where they add up to", function()
    for _, form in ipairs { { 10, 1 }, { 1, 2 }, { 7, 3 }, { 8, 1.5 }, { 97, 1.1 },
      { 1024, 1 + 2 ^ -10 } } do
      local schedule = o.CosineRestartsScheduler(1, form[1], form[2])
      for t = 0, 5000, 3 do
        local want, got = by_period(form[1], form[2], t), schedules.rate(schedule, t)
        assert(math.abs(want - got) < 1e-9, ("%g, %g: step %d: %.17g, not %.17g"):format(form[1],
          form[2], t, got, want))
      end
    end
  end)

  it("takes no longer for steps far on, and longer periods than steps", function()
    for _, multiplier in ipairs { 1 + 1e-12, 1.001, 1e308 } do
      local schedule = o.CosineRestartsScheduler(1, 1, multiplier)
      local rate = schedules.rate(schedule, 2 ^ 52)
      assert.truthy(rate >= 0 and rate <= 1, tostring(rate))
    end
    assert.equal(1, schedules.rate(o.CosineRestartsScheduler(1, 5, 1e308), 6))
  end)
end)
