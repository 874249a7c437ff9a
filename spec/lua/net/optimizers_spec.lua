local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("optimizer.SGD", function()
  before_each(flow.clear_default_session)

  -- Trains w (1), from 1, on loss = w * x with x = 1 for so many steps; gives w before each step.
  local function walk(make, steps)
    local job = flow.global_function { name = "walk", type = "train", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
      body = function(x)
        local w = flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer() })
        make():minimize(w * x)
        return w
      end }
    local seen = {}
    for i = 1, steps do seen[i] = job({ 1 })[1] end
    return seen
  end

  it("takes a number as a constant rate", function()
    local seen = walk(function() return flow.optimizer.SGD(0.25, { momentum = 0 }) end, 3)
    assert.same({ 1, 0.75, 0.5 }, seen)
  end)

  it("keeps a velocity by default", function()
    local seen = walk(function() return flow.optimizer.SGD(0.25) end, 3)
    assert.is_true(math.abs(seen[3] - (0.75 - 0.25 * 0.9 - 0.25)) < 1e-6)
  end)

  it("follows a piecewise constant schedule, boundaries included", function()
    local seen = walk(function()
      local rate = flow.optimizer.PiecewiseConstantScheduler({ 1 }, { 0.5, 0.25 })
      return flow.optimizer.SGD(rate, { momentum = 0 })
    end, 4)
    -- Steps 0 and 1 at 0.5, then 0.25.
    assert.same({ 1, 0.5, 0, -0.25 }, seen)
  end)

  it("warms up", function()
    local seen = walk(function()
      local rate = flow.optimizer.PiecewiseConstantScheduler({}, { 0.5 },
        { warmup = flow.optimizer.warmup.constant(1, 0.5) })
      return flow.optimizer.SGD(rate, { momentum = 0 })
    end, 3)
    assert.same({ 1, 0.75, 0.25 }, seen)
  end)

  it("trains the variables that it is told to", function()
    local job = flow.global_function { name = "some", type = "train",
      returns = flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy),
      body = function()
        local one = { initializer = flow.ones_initializer() }
        local a, b = flow.get_variable("a", { 1 }, one), flow.get_variable("b", { 1 }, one)
        flow.optimizer.SGD(0.5, { momentum = 0, variables = { "b" } }):minimize(a * b)
        return a, b
      end }
    job()
    local a, b = job()
    assert.equal(1, a[1])
    assert.equal(0.5, b[1])
  end)

  it("adds the gradients of several losses", function()
    local job = flow.global_function { name = "two", type = "train", returns = flow.typing.Numpy,
      body = function()
        local w = flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer() })
        flow.optimizer.SGD(0.25, { momentum = 0 }):minimize({ w * 1, w * 2 })
        return w
      end }
    job()
    assert.equal(0.25, job()[1])
  end)

  it("is wanted in a train job, and in no other", function()
    local none = helper.train("none", { body = function(x) return x end })
    helper.fails(function() none({ 1, 2 }) end,
      "none: a train job needs an optimizer: call flow.optimizer.SGD(0.1):minimize(loss) in")
    local wrong = helper.predict("wrong", { 1 }, function(x)
      flow.optimizer.SGD(0.1):minimize(x)
      return x
    end)
    helper.fails(function() wrong({ 1 }) end,
      "SGD.minimize: job 'wrong' is a predict job; only a job with type = \"train\" can be trained")
  end)

  it("names what is wrong", function()
    local function fails(f, text)
      flow.clear_default_session()
      local job = helper.train("bad", { body = function(x)
        local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
        f(x * w)
        return x
      end })
      helper.fails(function() job({ 1, 2 }) end, text)
    end
    fails(function() flow.optimizer.SGD("fast") end,
      "optimizer.SGD: lr_scheduler must be a number or a scheduler")
    fails(function() flow.optimizer.SGD() end, "argument 1 'lr_scheduler' is missing")
    fails(function(y) flow.optimizer.SGD(0.1, { momentun = 0 }):minimize(y) end,
      "unknown option 'momentun'")
    fails(function() flow.optimizer.SGD(0.1).minimize(5) end, "minimize: call it with a colon")
    fails(function() flow.optimizer.SGD(0.1):minimize(5) end,
      "SGD.minimize: loss must be a blob or a list of blobs")
    fails(function(y)
      flow.optimizer.SGD(0.1):minimize(y)
      flow.optimizer.SGD(0.1):minimize(y)
    end, "job 'bad' has an optimizer already; give it all losses as a list")
    fails(function(y) flow.optimizer.SGD(0.1, { variables = { "v" } }):minimize(y) end,
      "variables: there is no variable 'v' in job 'bad'")
    fails(function(y) flow.losses.add_loss(y) end,
      "there is no learning rate: set it in the")
    fails(function() flow.optimizer.SGD(0.1, { grad_clipping = 1 }) end,
      "optimizer.SGD: grad_clipping must be optimizer.grad_clipping.by_global_norm(clip_norm), got")
    fails(function() flow.optimizer.grad_clipping.by_global_norm(0) end,
      "by_global_norm: clip_norm must be a positive number, got number 0")
    fails(function() flow.optimizer.PiecewiseConstantScheduler({ 1 }, { 0.1 }) end,
      "values must be 2 numbers, one more than boundaries, got 1")
    fails(function() flow.optimizer.PiecewiseConstantScheduler({ 2, 1 }, { 1, 1, 1 }) end,
      "boundaries must ascend")
  end)

  it("says so where nothing can be trained", function()
    local job = helper.train("fixed", { body = function(x)
      flow.optimizer.SGD(0.1):minimize(x)
      return x
    end })
    helper.fails(function() job({ 1, 2 }) end, "fixed")
  end)
end)
