--- Attention over several tiles: its gradients by fast kernels and by plain ones, which take sums
--- in double.
local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)

local attention = core.op "scaled_dot_product_attention"

--- The gradients for dy, of a call on arrays.
local function gradients(q, k, v, mask, dy, options, kernels)
  core.set("kernels", kernels)
  finally(function() core.set("kernels", "fast") end)
  local inputs = { q, k, v, dy, mask }
  local plan = support.plan(inputs, function(g, x)
    local y = attention(x[1], x[2], x[3], x[5] and { x[5] } or nil, options)
    return core.gradients(g, y, x[4], { x[1], x[2], x[3] })
  end)
  local results = { core.run(plan, unpack(inputs)) }
  core.plan_free(plan)
  return results
end

local function check(q_shape, k_shape, v_size, mask, options, threads)
  local function of(s, last) return support.filled("float32", { s[1], s[2], s[3], last or s[4] },
    -1, 1.1) end
  local q, k, v = of(q_shape), of(k_shape), of(k_shape, v_size)
  local dy, m = of(q_shape, v_size), mask and support.filled("float32", mask, -1, 1)
  local fast = gradients(q, k, v, m, dy, options, "fast")
  local plain = gradients(q, k, v, m, dy, options, "reference")
  for i = 1, 3 do
    local ok, message = support.close(support.flat(fast[i]), support.flat(plain[i]), 2e-5)
    assert.truthy(ok, ("gradient %d: %s"):format(i, message or ""))
  end
  if not threads then return end
  local had = core.get "threads"
  core.set("threads", threads)
  finally(function() core.set("threads", had) end)
  local other = gradients(q, k, v, m, dy, options, "fast")
  for i = 1, 3 do assert.same(support.flat(fast[i]), support.flat(other[i])) end
end

describe("gradients of attention", function()
  it("agree where queries and keys fill no tile, and heads share keys", function()
    check({ 1, 4, 150, 20 }, { 1, 2, 141, 20 }, 37, nil, { causal = true })
  end)

  it("agree with a mask that is broadcast", function()
    check({ 2, 2, 70, 64 }, { 2, 2, 70, 64 }, 64, { 2, 1, 1, 70 }, {})
  end)

  it("agree where keys are divided into parts, whatever the number of threads", function()
    check({ 1, 1, 130, 16 }, { 1, 1, 700, 16 }, 16, nil, { scale = 0.5 }, 1)
  end)
end)
