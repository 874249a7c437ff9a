-- flow.random.choice: draws by weights and logits.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray
local choice = flow.random.choice

-- The share of draws that each of n classes has.
local function shares(draws, n)
  local list = {}
  for class = 0, n - 1 do list[class + 1] = draws:eq(class):mean() end
  return list
end

local function near(want, got, slack)
  assert.equal(#want, #got)
  for i, share in ipairs(want) do assert.near(share, got[i], slack) end
end

describe("random.choice", function()
  before_each(function() flow.random.seed(4) end)

  it("draws each class as often as its weight says", function()
    local draws = choice({ 1, 0, 6, 3 }, { n = 40000 })
    assert.same({ 40000 }, draws.shape)
    assert.equal("int32", draws.dtype)
    near({ 0.1, 0, 0.6, 0.3 }, shares(draws, 4), 0.01)
    near({ 0.25, 0.25, 0.25, 0.25 }, shares(choice(4, { n = 40000 }), 4), 0.01)
  end)

  it("takes logits, and a temperature that sharpens and flattens", function()
    local weights = nd.array { 1, 4 }
    near({ 0.2, 0.8 }, shares(choice(flow.math.log(weights), { logits = true, n = 40000 }), 2),
      0.01)
    for temperature, want in pairs { [0.5] = 1 / 17, [2] = 1 / 3, [1e-3] = 0 } do
      local got = shares(choice(weights, { temperature = temperature, n = 40000 }), 2)
      near({ want, 1 - want }, got, 0.01)
    end
    assert.same({ 1, 1, 1 }, choice(weights, { temperature = 0, n = 3 }):totable())
    assert.equal(1, choice({ -3, 5, -math.huge }, { logits = true, temperature = 0 }))
  end)

  it("leaves the most probable by top_k and top_p", function()
    local weights = { 4, 1, 3, 2 }
    near({ 4 / 7, 0, 3 / 7, 0 }, shares(choice(weights, { top_k = 2, n = 20000 }), 4), 0.02)
    near({ 1, 0, 0, 0 }, shares(choice(weights, { top_p = 0.39, n = 100 }), 4), 0)
    near({ 4 / 7, 0, 3 / 7, 0 }, shares(choice(weights, { top_p = 0.69, n = 20000 }), 4), 0.02)
    near({ 4 / 9, 0, 3 / 9, 2 / 9 }, shares(choice(weights, { top_p = 0.71, n = 20000 }), 4), 0.02)
    near({ 0.4, 0.1, 0.3, 0.2 }, shares(choice(weights, { top_p = 1, top_k = 9, n = 40000 }), 4),
      0.01)
    near({ 1, 0, 0, 0 }, shares(choice(weights, { top_p = 0.5, top_k = 3, temperature = 0.5,
      n = 100 }), 4), 0)             -- 16 : 9 : 4, of which the first has 0.55
  end)

  it("draws for each row, a number for one", function()
    assert.equal(2, choice { 0, 0, 1 })
    assert.same({ 1, 0 }, choice({ { 0, 1 }, { 1, 0 } }):totable())
    local rows = choice(nd.ones { 2, 3, 5 }, { n = 7 })
    assert.same({ 2, 3, 7 }, rows.shape)
    assert.same({ 2, 3 }, choice(nd.ones { 2, 3, 5 }).shape)
    local both = choice({ { 1, 3 }, { 3, 1 } }, { n = 20000 })
    near({ 0.25, 0.75 }, shares(both[1], 2), 0.02)
    near({ 0.75, 0.25 }, shares(both[2], 2), 0.02)
    assert.same({ 3 }, choice(nd.array({ 1, 2 }, "float64"), { n = 3, replace = true }).shape)
  end)

  it("draws without replacement, the probable ones first", function()
    local order = choice(50, { n = 50, replace = false })
    assert.same(nd.arange(50):totable(), flow.sort(order):astype("float32"):totable())
    local first = {}
    for i = 1, 600 do first[i] = choice({ 6, 1, 3, 0 }, { n = 3, replace = false })[1] end
    near({ 0.6, 0.1, 0.3, 0 }, shares(nd.array(first), 4), 0.06)
    helper.fails(function() choice({ 1, 1, 0 }, { n = 3, replace = false }) end,
      "random.choice: n must be at most 2, as many as can be drawn without replacement, got 3")
  end)

  it("draws the same after the same seed, also where a body is described", function()
    local function draws() return choice({ 1, 2, 3 }, { n = 50 }):totable() end
    flow.random.seed(9)
    local first = draws()
    assert.are_not.same(first, draws())
    flow.random.seed(9)
    local seen
    helper.predict("p", { 1 }, function(x)
      seen = draws()
      helper.fails(function() choice(x) end, "weights must be an NdArray or a list, got a blob")
      return x
    end):compile()
    assert.same(first, seen)
  end)

  it("makes no more numbers at a time than it must", function()
    local draws = choice(nd.ones { 1000 }, { n = 5000 })
    assert.same({ 5000 }, draws.shape)
    assert.near(499.5, draws:astype("float32"):mean(), 20)
  end)

  it("says what is wrong with weights and options", function()
    local function fails(text, weights, options)
      helper.fails(function() choice(weights, options) end, "random.choice: " .. text)
    end
    fails("weights must be 0 or more, got -1; logits = true takes", { 1, -1 })
    fails("weights: each row must have one above 0", { { 1, 1 }, { 0, 0 } })
    fails("weights must be finite numbers, got nan or inf", { 1, 0 / 0 })
    fails("weights must be finite numbers, got nan or inf", { 1, math.huge })
    fails("weights: a row must have one above -inf", { -math.huge }, { logits = true })
    fails("weights must be an NdArray, a list or how many there are, got", "cat")
    fails("weights must be", 0)
    fails("temperature must be a number of at least 0, got -1", { 1 }, { temperature = -1 })
    fails("top_k must be", { 1 }, { top_k = 0 })
    fails("top_p must be a number above 0 and at most 1, got 1.5", { 1 }, { top_p = 1.5 })
    fails("n must be", { 1 }, { n = 0 })
  end)
end)
