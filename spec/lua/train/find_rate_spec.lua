-- flow.find_rate: learning rates that are tried.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray

-- y = 3 x, with noise, by a network without a bias: SGD at rate r multiplies the error by 1 - 2 r.
local function line()
  flow.clear_default_session()
  flow.random.seed(2)
  local net = flow.model("line", function(x)
    return flow.layers.dense(x, 1, { use_bias = false, name = "w" })
  end)
  local x = nd.ones { 64, 1 }
  return net, { x, x * 3 + nd.randn { 64, 1 } * 0.5 }
end

local function with(o, more)
  for name, value in pairs(more or {}) do o[name] = value end
  return o
end

local function training(more)
  return with({ loss = flow.nn.MSELoss, optimizer = flow.optimizer.SGD(0.25, { momentum = 0 }),
    batch_size = 8, show = false }, more)
end

local function options(more) return with(training { lowest = 1e-4, highest = 100 }, more) end

describe("flow.find_rate", function()
  after_each(flow.clear_default_session)

  it("stops where the loss explodes, and gives a rate at which it falls", function()
    local net, data = line()
    local rate, tried = flow.find_rate(net, data, options())
    assert.is_true(rate > 1e-3 and rate < 0.5, rate)           -- from 1 on the error grows
    assert.is_true(#tried.rates < 100 and tried.rates[#tried.rates] < 100)
    assert.equal(#tried.rates, #tried.losses)
    local best = 1
    for i, loss in ipairs(tried.losses) do best = loss < tried.losses[best] and i or best end
    assert.near(tried.rates[best] / 10, rate, 1e-12)
    assert.near(1e-4, tried.rates[1], 1e-12)
    assert.near(tried.rates[2] / tried.rates[1], tried.rates[12] / tried.rates[11], 1e-9)
    local run = flow.fit(net, data, training { epochs = 10,
      optimizer = flow.optimizer.SGD(rate, { momentum = 0 }) })
    assert.is_true(run.history.loss[10] < run.history.loss[1] / 2)
  end)

  it("leaves variables, rate and the order of the data as they were", function()
    local function fit(tries)
      local net, data = line()
      local adam = flow.optimizer.Adam(0.25)
      if tries then
        flow.find_rate(net, data, options { optimizer = adam })
        assert.equal(0.25, adam.lr)
      end
      local run = flow.fit(net, data, training { optimizer = adam, epochs = 2 })
      return run.history.loss, run.step
    end
    local want, steps = fit(false)
    local got, more = fit(true)
    assert.same(want, got)
    assert.equal(steps, more)
  end)

  it("takes a job and its optimizer, and goes through the data as often as it must", function()
    local net, data = line()
    local adam = flow.optimizer.Adam(0.1)
    local train = net:train { inputs = { flow.float32 { -1, 1 }, flow.float32 { -1, 1 } },
      loss = flow.nn.MSELoss, optimizer = adam }
    local _, tried = flow.find_rate(train, data, { optimizer = adam, steps = 20, batch_size = 16,
      highest = 1e-3, show = false })
    assert.equal(20, #tried.rates)
    assert.near(1e-3, tried.rates[20], 1e-9)
  end)

  it("leaves all as it was where a step fails", function()
    local net, data = line()
    local o = options()
    flow.fit(net, data, training { optimizer = o.optimizer })
    local before = net:variables()["w-weight"]
    data[2] = nd.ones { 64, 2 }
    helper.fails(function() flow.find_rate(net, data, o) end, "must be")
    assert.same(before:totable(), net:variables()["w-weight"]:totable())
    assert.equal(0.25, o.optimizer.lr)
  end)

  it("says what is wrong", function()
    local net, data = line()
    local function fails(text, more)
      helper.fails(function() flow.find_rate(net, data, options(more)) end, "find_rate: " .. text)
    end
    fails("lowest must be below highest, 0.5, got 1", { lowest = 1, highest = 0.5 })
    fails("lowest must be a number above 0, got 0", { lowest = 0 })
    fails("steps must be", { steps = 1 })
    fails("optimizer must be one such as", { optimizer = 4 })
    fails("the loss is nan at the lowest rate, 0.0001",
      { loss = function(y, t) return flow.math.log(flow.math.abs(y - t) * 0 - 1) end })
  end)
end)
