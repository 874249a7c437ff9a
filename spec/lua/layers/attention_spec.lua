-- Attention in jobs: dropout of its weights.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

after_each(flow.clear_default_session)

local function job_of(name, mode, body)
  return flow.global_function { name = name, type = mode, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 2, 70, 8 }) } }, body = body }
end

local function attend(x, options)
  local q = flow.reshape(x, { 2, 1, 70, 8 })
  return flow.nn.scaled_dot_product_attention(q, q, q, options)
end

-- A job that trains, which changes nothing.
local function trained(name, options)
  return job_of(name, "train", function(x)
    local w = flow.get_variable("w", { shape = { 1 }, initializer = flow.ones_initializer() })
    local y = attend(x * w, options)
    flow.optimizer.SGD(0):minimize(y)
    return y
  end)
end

describe("attention's dropout_rate", function()
  local x = nd.rand { 2, 70, 8 }

  it("drops weights in train jobs alone, anew in each run", function()
    local dropped, whole = trained("dropped", { dropout_rate = 0.5 }), trained("whole")
    local asked = job_of("asked", "predict", function(v)
      return attend(v, { dropout_rate = 0.5 })
    end)
    local want = whole(x):totable()
    assert.same(want, asked(x):totable())
    local first = dropped(x)
    assert.is_true(flow.math.abs(first - whole(x)):max() > 0.05)
    assert.is_true(flow.math.abs(first - dropped(x)):max() > 0.05)
    assert.is_true(math.abs(first:mean() - whole(x):mean()) < 0.05)
  end)

  it("may be asked for outside of training, and is repeatable by the seed", function()
    local q = nd.rand { 1, 2, 9, 4 }
    local function drop()
      flow.random.seed(4)
      return flow.nn.scaled_dot_product_attention(q, q, q,
        { dropout_rate = 0.5, training = true }):totable()
    end
    local whole = flow.nn.scaled_dot_product_attention(q, q, q):totable()
    assert.same(drop(), drop())
    assert.is_not.same(whole, drop())
    assert.same(whole, flow.nn.scaled_dot_product_attention(q, q, q,
      { dropout_rate = 0.5 }):totable())
  end)

  it("is the layer's too, which learns with it", function()
    local job = job_of("learn", "train", function(v)
      local y = flow.layers.multi_head_attention(v, 2, { dropout_rate = 0.2, causal = true })
      local loss = flow.math.square(y - v)
      flow.optimizer.Adam(3e-3):minimize(loss)
      return loss
    end)
    flow.random.seed(2)
    local first, last = job(x):mean(), nil
    for _ = 1, 60 do last = job(x):mean() end
    assert.is_true(last < first / 2, last)
  end)

  it("must be from 0 to below 1", function()
    local q = nd.rand { 1, 1, 2, 2 }
    helper.fails(function()
      flow.nn.scaled_dot_product_attention(q, q, q, { dropout_rate = 1 })
    end, "nn.scaled_dot_product_attention: dropout_rate must be a number from 0 to below 1, got 1")
    local job = job_of("bad", "predict", function(v)
      return flow.layers.multi_head_attention(v, 2, { dropout_rate = -0.5 })
    end)
    helper.fails(function() job(x) end,
      "layers.multi_head_attention: dropout_rate must be a number from 0 to below 1, got -0.5")
  end)
end)

describe("layers.multi_head_attention", function()
  after_each(flow.clear_default_session)

  it("names what is wrong", function()
    local function fails(text, shape, ...)
      local given, n = { ... }, select("#", ...)
      flow.clear_default_session()
      helper.fails(function()
        helper.predict("bad", shape, function(v)
          local y = flow.layers.multi_head_attention(v, unpack(given, 1, n))
          return y
        end):compile()
      end, text)
    end
    local who = "layers.multi_head_attention: "
    fails(who .. "inputs must have three axes (batch, length, size), got shape (3, 4)", { 3, 4 }, 2)
    fails(who .. "num_heads must divide the size 4 of inputs unless head_size is given, got 3",
      { 2, 3, 4 }, 3)
    fails(who .. "num_kv_heads must divide num_heads 4, got 3", { 2, 3, 4 }, 4,
      { num_kv_heads = 3 })
    fails(who .. "causal must be a boolean, got number 1", { 2, 3, 4 }, 2, { causal = 1 })
    fails(who .. "head_size must be a whole number of at least 1, got number 0", { 2, 3, 4 }, 2,
      { head_size = 0 })
  end)
end)
