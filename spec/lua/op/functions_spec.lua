-- Functions that are made of ops: random numbers, polynomials, and what they refuse.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

describe("random numbers", function()
  before_each(function() flow.clear_default_session(); flow.random.seed(5) end)

  it("are whole, within bounds, and all of them come", function()
    local seen, dice = {}, flow.random.randint(-2, 3, { 500 })
    for i = 1, 500 do seen[dice[i]] = (seen[dice[i]] or 0) + 1 end
    for v = -2, 2 do assert.truthy(seen[v] > 60, v) end
    assert.equal(500, seen[-2] + seen[-1] + seen[0] + seen[1] + seen[2])
    local wide = flow.random.randint(2 ^ 40, 2 ^ 40 + 2, { 50 }, flow.int64)
    assert.equal(2 ^ 40, wide:min())
    assert.equal(2 ^ 40 + 1, wide:max())
  end)

  it("come in any order, each once", function()
    local places = {}
    for _ = 1, 60 do
      local p, sum = flow.random.permutation(5), 0
      for i = 1, 5 do sum = sum + 2 ^ p[i] end
      assert.equal(31, sum)
      places[p[1]] = (places[p[1]] or 0) + 1
    end
    for v = 0, 4 do assert.truthy((places[v] or 0) >= 3, v) end
    assert.same({}, flow.random.permutation(0):totable())
  end)

  it("are drawn anew by each call of a job, and again after the same seed", function()
    local job = flow.global_function { name = "draw", inputs = {}, returns = tp.List(tp.Numpy),
      body = function()
        local x = flow.constant(nd.arange(0, 20))
        return { flow.random.randint(0, 1000, { 4 }), flow.random.permutation(20),
          flow.random.shuffle(x), flow.random.CoinFlip(30),
          flow.random.bernoulli(flow.constant(0.5, { shape = { 30 } })) }
      end }
    local first, second = job(), job()
    flow.clear_default_session()
    flow.random.seed(5)
    for i = 1, 5 do
      assert.not_same(first[i]:totable(), second[i]:totable())
    end
    assert.equal(190, first[3]:sum())
  end)

  it("have the probabilities that were asked for", function()
    local function mean(a) return a:astype(flow.float):mean() end
    assert.near(0.2, mean(flow.random.CoinFlip(4000, 0.2)), 0.04)
    assert.near(0.7, mean(flow.random.bernoulli(nd.full({ 4000 }, 0.7))), 0.04)
    assert.near(0.9, mean(flow.nn.random_mask_like(nd.zeros { 4000 }, 0.1)), 0.04)
  end)

  it("name a bad argument", function()
    helper.fails(function() flow.random.randint(3, 3, { 2 }) end,
      "low must be below high, and both whole, got 3 and 3")
    helper.fails(function() flow.random.randint(0, 2 ^ 40, { 2 }) end,
      "high must fit int32, and so must low")
    helper.fails(function() flow.random.permutation(-1) end, "n must be from 0 to 2147483647")
    helper.fails(function() flow.random.permutation(3, flow.float) end,
      "dtype must be int32 or int64, got float32")
    helper.fails(function() flow.random.CoinFlip(3, 2) end,
      "random.CoinFlip: probability must be a number from 0 to 1, got 2")
    helper.fails(function() flow.nn.random_mask_like(nd.zeros { 2 }, 1) end,
      "nn.random_mask_like: rate must be a number from 0 to below 1, got 1")
  end)
end)

describe("functions", function()
  it("add up lists and polynomials, of tensors and numbers", function()
    local x = nd.array { 1, 2 }
    assert.same({ 4, 8 }, flow.math.add_n({ x, x * 2, x }):totable())
    assert.same({ 6, 11 }, flow.math.polyval({ 1, 2, 3 }, x):totable())
    assert.same({ 3, 6 }, flow.math.polyval({ x, x * 2 }, nd.ones { 2 }):totable())
    assert.same({ 7, 7 }, flow.math.polyval({ 7 }, x):totable())
  end)

  it("name a bad argument", function()
    helper.fails(function() flow.math.add_n(nd.zeros { 2 }) end,
      "math.add_n: inputs must be a list of blobs or NdArrays")
    helper.fails(function() flow.math.gelu(nd.zeros { 2 }, "sine") end,
      "math.gelu: approximate must be \"none\" or \"tanh\", got string 'sine'")
    helper.fails(function() flow.math.reduce_std(3) end,
      "math.reduce_std: input_tensor must be a blob or an NdArray, got number 3")
    helper.fails(function() flow.math.tril(nd.zeros { 2 }) end,
      "x must have two or more axes, got (2)")
  end)
end)

describe("the norm of vectors", function()
  it("trains a vector that is 0 by nothing, and others by what they are", function()
    flow.clear_default_session()
    local step = flow.global_function {
      name = "step", type = "train", inputs = { { "x", tp.Numpy.Placeholder({ 2, 2 }) } },
      returns = tp.Numpy,
      body = function(x)
        local w = flow.get_variable("w", { 2, 2 }, { initializer = flow.ones_initializer() })
        local norm = flow.math.reduce_euclidean_norm(w * x, 1)
        flow.optimizer.SGD(1, { momentum = 0 }):minimize(flow.math.reduce_sum(norm))
        return norm
      end,
    }
    local norm = step({ { 0, 0 }, { 3, 4 } })
    assert.equal(0, norm[1])
    assert.near(5, norm[2], 1e-6)
    local w = flow.get_all_variables().w
    assert.same({ 1, 1 }, { w[1][1], w[1][2] })
    assert.near(1 - 9 / 5, w[2][1], 1e-6)
    assert.near(1 - 16 / 5, w[2][2], 1e-6)
  end)
end)
