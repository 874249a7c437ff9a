--- Attention over several tiles: its gradients by fast kernels and by plain ones, which take sums
--- in double; dropout of weights; and what hidden keys may hold.
local core = require "jfl.core"
local flow = require "jfl"
local support = require "spec.op.support"

teardown(core.reset)

local attention = core.op "scaled_dot_product_attention"

--- The gradients for dy and the result, of a call on arrays; more: a mask and a seed.
local function gradients(q, k, v, more, dy, options, kernels)
  core.set("kernels", kernels)
  finally(function() core.set("kernels", "fast") end)
  local inputs = { q, k, v, dy, unpack(more) }
  local plan = support.plan(inputs, function(g, x)
    local y = attention(x[1], x[2], x[3], x[5] and { x[5], x[6] } or nil, options)
    local dx = core.gradients(g, y, x[4], { x[1], x[2], x[3] })
    return { dx[1], dx[2], dx[3], y }
  end)
  local results = { core.run(plan, unpack(inputs)) }
  core.plan_free(plan)
  return results
end

local function seed(n) return core.from_table({ n }, "int64") end

local function check(q_shape, k_shape, v_size, mask, options, threads)
  local function of(s, last) return support.filled("float32", { s[1], s[2], s[3], last or s[4] },
    -1, 1.1) end
  local q, k, v = of(q_shape), of(k_shape), of(k_shape, v_size)
  local dy, m = of(q_shape, v_size), { mask and support.filled("float32", mask, -1, 1) }
  if options.dropout_rate then m[#m + 1] = seed(77) end
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

  it("agree where weights are dropped, whatever the number of threads", function()
    check({ 1, 4, 150, 20 }, { 1, 2, 141, 20 }, 37, { 141 }, { causal = true, dropout_rate = 0.3 })
    check({ 1, 1, 130, 16 }, { 1, 1, 700, 16 }, 16, nil, { dropout_rate = 0.5 }, 1)
  end)
end)

describe("dropout of attention's weights", function()
  local LENGTH, RATE = 150, 0.3
  -- Where the values are the unit matrix, the result is the matrix of weights.
  local function weights(rate, number, kernels)
    core.set("kernels", kernels or "fast")
    finally(function() core.set("kernels", "fast") end)
    local unit = {}
    for i = 1, LENGTH do
      unit[i] = {}
      for j = 1, LENGTH do unit[i][j] = i == j and 1 or 0 end
    end
    local q = support.filled("float32", { 1, 1, LENGTH, 8 }, -1, 1)
    return support.flat((attention(q, q, core.from_table({ { unit } }, "float32"),
      rate > 0 and { seed(number) } or nil, { dropout_rate = rate })))
  end

  it("drops about the given share, and scales the rest", function()
    local all, some, dropped = weights(0), weights(RATE, 5), 0
    for i = 1, #all do
      if some[i] == 0 then dropped = dropped + 1
      else assert.is_true(math.abs(some[i] * (1 - RATE) / all[i] - 1) < 1e-4) end
    end
    assert.is_true(math.abs(dropped / #all - RATE) < 0.01, dropped)
  end)

  it("is chosen by the seed alone", function()
    local some = weights(RATE, 5)
    assert.is_true(support.close(weights(RATE, 5, "reference"), some, 1e-5))
    assert.same(some, weights(RATE, 5))
    assert.is_false(support.close(weights(RATE, 6), some, 1e-2))
  end)

  it("needs a seed", function()
    local x = support.filled("float32", { 1, 1, 2, 2 }, 0, 1)
    local function fails(message, more, rate)
      local ok, err = pcall(attention, x, x, x, more, { dropout_rate = rate })
      assert.is_false(ok)
      assert.truthy(err:find(message, 1, true), err)
    end
    fails("seed must be given, as dropout_rate is not 0", nil, 0.5)
    fails("seed must be one int64, got float32 (1, 1, 2, 2)", { x }, 0.5)
    fails("dropout_rate must be in [0, 1), got 1", { seed(1) }, 1)
    fails("mask must be one tensor, got 2", { x, x, seed(1) }, 0.5)
  end)
end)

describe("a cache whose keys all have the score -infinity", function()
  for _, kernels in ipairs { "fast", "reference" } do
    for _, n in ipairs { 1, 3 } do
      it(("gives 0 to %d of them, by %s kernels"):format(n, kernels), function()
        core.set("kernels", kernels)
        finally(function() core.set("kernels", "fast") end)
        local ones = flow.ndarray.ones({ 1, 1, n, 16 })
        local past = flow.ndarray.ones({ 1, 1, 70, 16 })
        local y = core.op "cached_attention"(-ones, ones * math.huge, ones, past * math.huge, past,
          core.from_table({ 66 }, "int32"))
        for _, number in ipairs(support.flat(y)) do assert.equal(0, number) end
      end)
    end
  end
end)

describe("hidden keys", function()
  local LENGTH, SEEN = 150, 90

  -- A result and gradients, where hidden keys and values hold `garbage`.
  local function results(garbage, hide, kernels)
    local q = support.filled("float32", { 1, 2, LENGTH, 8 }, -1, 1)
    local k, v = core.copy(q), core.copy(q)
    for i = 1, 2 do
      for j = SEEN + 1, LENGTH do
        for l = 1, 8 do
          k[1][i][j][l], v[1][i][j][l] = garbage, garbage
        end
      end
    end
    return gradients(q, k, v, { hide() }, q, {}, kernels)
  end

  local function by_mask(dtype, hidden)
    return function()
      local list = {}
      for j = 1, LENGTH do list[j] = j > SEEN and hidden or hidden == 0 and 1 or 0 end
      return core.from_table(list, dtype)
    end
  end

  for name, hide in pairs { ["int8 masks"] = by_mask("int8", 0),
    ["masks with -inf"] = by_mask("float32", -1 / 0) } do
    it("count for nothing, whatever they hold, under " .. name, function()
      for _, kernels in ipairs { "fast", "reference" } do
        local clean = results(0, hide, kernels)
        for _, garbage in ipairs { 1 / 0, -1 / 0, 0 / 0 } do
          local r = results(garbage, hide, kernels)
          for i = 1, 4 do
            assert.is_true(support.close(support.flat(r[i]), support.flat(clean[i]), 1e-6))
          end
        end
      end
    end)
  end

  it("count for nothing where later positions are hidden", function()
    for _, kernels in ipairs { "fast", "reference" } do
      core.set("kernels", kernels)
      local q = support.filled("float32", { 1, 1, LENGTH, 8 }, -1, 1)
      local v = core.copy(q)
      v[1][1][LENGTH][1] = 0 / 0
      local y = attention(q, q, v, nil, { causal = true })
      local want = attention(q, q, q, nil, { causal = true })
      core.set("kernels", "fast")
      local got, expected = support.flat(y), support.flat(want)
      local before = (LENGTH - 1) * 8
      for i = 1, before do assert.is_true(math.abs(got[i] - expected[i]) < 1e-6) end
      assert.is_true(got[before + 1] ~= got[before + 1])
    end
  end)
end)
