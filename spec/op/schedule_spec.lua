local core = require "jfl.core"

local function rate(step, boundaries, values, options)
  local y = core.op("piecewise_constant_schedule")(core.from_table({ step }, "int64"), boundaries,
    values,
    options or { warmup = "none" })
  return y[1]
end

local function near(want, got) assert.truthy(math.abs(want - got) < 1e-7,
  ("%g, not %g"):format(got, want)) end

describe("piecewise_constant_schedule", function()
  it("takes the first piece whose boundary is not below the step", function()
    local b, v = { 2, 5 }, { 1, 0.5, 0.25 }
    for step, want in pairs { [0] = 1, [2] = 1, [3] = 0.5, [5] = 0.5, [6] = 0.25, [1000] = 0.25 } do
      near(want, rate(step, b, v))
    end
  end)

  it("is constant without boundaries", function() near(0.1, rate(12345, {}, { 0.1 })) end)

  it("warms up by a constant, then goes on at the absolute step", function()
    local o = { warmup = "constant", warmup_steps = 4, warmup_multiplier = 0.25 }
    near(0.25, rate(0, { 2 }, { 1, 0.5 }, o))
    near(0.25, rate(3, { 2 }, { 1, 0.5 }, o))
    near(0.5, rate(4, { 2 }, { 1, 0.5 }, o))
  end)

  it("warms up in a straight line", function()
    local o = { warmup = "linear", warmup_steps = 4, warmup_multiplier = 0.2 }
    near(0.2, rate(0, { 9 }, { 1, 0.5 }, o))
    near(0.6, rate(2, { 9 }, { 1, 0.5 }, o))
    near(1, rate(4, { 9 }, { 1, 0.5 }, o))
  end)
end)
