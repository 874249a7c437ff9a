local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)

local function counts(a)
  local zero, n = 0, 0
  for _, v in ipairs(support.flat(a)) do
    if v == 0 then zero = zero + 1 end
    n = n + 1
  end
  return zero, n
end

describe("dropout", function()
  local dropout = core.op "dropout"
  local x = core.array("float32", { 100, 100 })
  core.fill(x, 1)

  it("zeroes about the given share and scales the rest", function()
    core.set("seed", 3)
    local y = dropout(x, 0.3)
    local zero, n = counts(y)
    assert.truthy(math.abs(zero / n - 0.3) < 0.02, zero)
    for _, v in ipairs(support.flat(y)) do assert.truthy(v == 0 or math.abs(v - 1 / 0.7) < 1e-6) end
  end)

  it("draws anew on every call, and the same again after the same seed", function()
    core.set("seed", 3)
    local first, second = support.flat(dropout(x, 0.5)), support.flat(dropout(x, 0.5))
    core.set("seed", 3)
    assert.is_false(support.close(first, second, 0))
    assert.is_true(support.close(support.flat(dropout(x, 0.5)), first, 0))
  end)

  it("keeps everything at rate 0", function()
    assert.equal(0, (counts(dropout(x, 0))))
  end)

  it("lets the gradient through where it let the value through", function()
    local shape = { 20, 20 }
    local specs = { { dtype = "float64", shape = shape }, { dtype = "float64", shape = shape } }
    local plan = support.plan(specs, function(g, blobs)
      local y = dropout(blobs[1], 0.25)
      return { y, core.gradients(g, y, blobs[2], { blobs[1] })[1] }
    end)
    local input, dy = support.filled("float64", shape, 1, 2), support.filled("float64", shape, 3, 4)
    local y, dx = core.run(plan, input, dy)
    y, dx, dy = support.flat(y), support.flat(dx), support.flat(dy)
    local zero = 0
    for i = 1, #y do
      if y[i] == 0 then zero = zero + 1 end
      assert.truthy(math.abs(dx[i] - (y[i] == 0 and 0 or dy[i] / 0.75)) < 1e-12)
    end
    assert.truthy(zero > 50 and zero < 150, zero)
  end)
end)
