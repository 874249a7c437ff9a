-- Channels that are no whole blocks are filled up with copies in predict jobs, from one convolution
-- to the next: results stay, and what is seen elsewhere does.
local flow = require "jfl"

local nd, tp = flow.ndarray, flow.typing

after_each(function()
  flow.config.passes("")
  flow.clear_default_session()
end)

local function job_of(name, shape, body, mode)
  return flow.global_function { name = name, type = mode or "predict", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } }, body = body }
end

local function conv(x, filters, size, options)
  local o = { padding = "SAME" }
  for key, value in pairs(options or {}) do o[key] = value end
  return flow.layers.conv2d(x, filters, size, o)
end

--- Whether convolutions work on blocks of 16 channels here.
local blocks = job_of("blocks", { 1, 16, 8, 8 }, function(x)
  return conv(x, 16, 1, { name = "block" })
end):graph("optimized"):find("(1, 1, 8, 8, 16)", 1, true) ~= nil

--- Whether a job gives the same with the pass and without; its graph with it.
local function check(shape, body)
  flow.clear_default_session()
  flow.random.seed(3)
  local x = nd.randn(shape)
  local job = job_of("padded", shape, body)
  local got = job(x)
  flow.config.passes("-channels")
  local want = job_of("plain", shape, body)(x)
  flow.config.passes("")
  local off, most = (got - want):abs():max(), want:abs():max()
  assert.is_true(off <= 1e-5 * most, ("%g of %g"):format(off, most))
  return job:graph("optimized")
end

local function pads(text) return select(2, text:gsub("= join%(", "")) end

describe("channels", function()
  it("are padded through what computes each by itself", function()
    local text = check({ 2, 3, 12, 12 }, function(x)
      local a = conv(x, 24, 3, { name = "a", activation = flow.nn.relu6 })
      local b = conv(a, 24, 3, { name = "b", groups = 24, activation = flow.nn.hardswish })
      local mean = flow.math.reduce_mean(b, { 2, 3 }, true)
      local gate = flow.nn.hardsigmoid(conv(conv(mean, 8, 1, { name = "c" }), 24, 1,
        { name = "d" }))
      local e = conv(b * gate, 24, 1, { name = "e", use_bias = false }) + a
      local f = flow.layers.batch_normalization(flow.nn.max_pool2d(e, 2, 2, "VALID"),
        { training = false, axis = 1, name = "norm" })
      return conv(f * 0.5 + 1, 5, 1, { name = "f" })
    end)
    if not blocks then return end
    assert.equal(0, select(2, text:gsub("%(2, 24, %d+, %d+%)", "")), text)
    assert.truthy(text:find("groups=32", 1, true), text)
  end)

  it("stay where something else sees them", function()
    local function first(x) return conv(x, 24, 3, { name = "a" }) end
    for _, case in ipairs {
      { "a result", function(x) return flow.nn.relu(first(x)) end },
      { "joined", function(x)
        local a = first(x)
        return conv(flow.concat({ a, a * 2 }, 1), 3, 1, { name = "b" })
      end },
      { "a part", function(x) return conv(first(x)[{ {}, { 1, 20 } }], 3, 1, { name = "b" }) end },
      { "flat", function(x) return flow.reshape(first(x), { 2, -1 }) end },
      { "over channels", function(x)
        return conv(flow.nn.softmax(first(x), 1), 3, 1, { name = "b" })
      end },
      { "pooled over channels", function(x)
        local y = flow.nn.max_pool2d(first(x), 3, 1, "SAME", "NHWC")
        return conv(y, 3, 1, { name = "b" })
      end },
      { "in groups", function(x) return conv(first(x), 48, 1, { name = "b", groups = 2 }) end },
      { "few", function(x) return conv(conv(x, 20, 3, { name = "a" }), 3, 1, { name = "b" }) end },
    } do
      local text = check({ 2, 3, 8, 8 }, case[2])
      assert.equal(0, pads(text), case[1] .. ": " .. text)
    end
  end)

  -- Of zeros and weights of zero an infinity would make what is no number.
  it("have no numbers that would not be there else", function()
    local function where(job, x)
      local list = {}
      for i, v in ipairs(job(x):reshape({ 720 }):totable()) do
        list[i] = v ~= v and "none" or math.abs(v) == math.huge and v or 0
      end
      return list
    end
    for _, act in ipairs { flow.nn.relu6, flow.nn.sigmoid, flow.math.tanh, flow.nn.relu,
      flow.nn.gelu, flow.math.log, flow.math.reciprocal } do
      for size = 1, 3, 2 do
        local function body(x)
          x = conv(x, 24, size, { name = "a", activation = act })
          return conv(x, 5, size, { name = "b" })
        end
        for _, number in ipairs { 1 / 0, -1 / 0, 0 / 0, 3e38, 0 } do
          flow.clear_default_session()
          flow.random.seed(3)
          local x = nd.rand { 1, 3, 12, 12 }
          x[{ 1, 2, 6, 6 }] = number
          local job = job_of("padded", { 1, 3, 12, 12 }, body)
          local got = where(job, x)
          if blocks then assert.is_true(pads(job:graph("optimized")) > 0) end
          flow.config.passes("-channels")
          assert.same(where(job_of("plain", { 1, 3, 12, 12 }, body), x), got)
          flow.config.passes("")
        end
      end
    end
  end)

  it("follow variables that change, and stay in jobs that train", function()
    local function body(x)
      return conv(conv(x, 24, 3, { name = "a" }), 2, 1, { name = "b" })
    end
    local x = nd.ones { 1, 3, 8, 8 }
    local job = job_of("job", { 1, 3, 8, 8 }, body)
    local before = job(x)
    local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder { 1, 3, 8, 8 } } },
      body = function(v)
        local loss = flow.math.reduce_mean(flow.math.square(body(v)))
        flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
        return loss
      end }
    assert.equal(0, pads(train:graph("optimized")))
    train(x)
    local after = job(x)
    assert.is_true((before - after):abs():max() > 0)
    flow.config.passes("-channels")
    assert.is_true((job_of("plain", { 1, 3, 8, 8 }, body)(x) - after):abs():max() < 1e-5)
  end)

  it("of networks drawn at random give what they gave", function()
    local widths, state = { 3, 16, 17, 24, 30, 40, 58 }, 7
    local function pick(n)
      state = (state * 16807) % 2147483647
      return state % n + 1
    end
    local acts = { flow.nn.relu, flow.nn.sigmoid, flow.nn.silu, flow.nn.tanh, flow.math.exp }
    local steps = {
      function(x, name) return conv(x, widths[pick(#widths)], 2 * pick(2) - 1, { name = name }) end,
      function(x, name) return conv(x, x.shape[2], 3, { name = name, groups = x.shape[2] }) end,
      function(x) return acts[pick(#acts)](x) end,
      function(x, _, seen)
        for _, v in ipairs(seen) do if v.shape[2] == x.shape[2] then return x + v end end
        return x - 0.5
      end,
      function(x) return flow.nn.max_pool2d(x, 3, 1, "SAME") end,
      function(x) return flow.nn.avg_pool2d(x, 3, 1, "SAME") end,
      function(x) return x * flow.math.reduce_mean(x, { 2, 3 }, true) end,
    }
    local padded = 0
    for round = 1, 60 do
      local start = state
      local text = check({ 1, 3, 5, 5 }, function(x)
        state = start
        local seen = {}
        for i = 1, 9 do
          x = steps[pick(#steps)](x, ("r%d_%d"):format(round, i), seen)
          seen[#seen + 1] = x
        end
        return conv(x, 4, 1, { name = "last" .. round })
      end)
      state = start + round
      padded = padded + (pads(text) > 0 and 1 or 0)
    end
    if blocks then assert.is_true(padded > 20, padded) end
  end)
end)
