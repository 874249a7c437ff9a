-- Options and forms of calls that no other spec gives, beside what they mean.
local flow = require "jfl"
local core = require "jfl.core"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

local function near(want, got, what)
  assert.equal(#want, #got, what)
  for i, v in ipairs(want) do
    if type(v) == "table" then near(v, got[i], what)
    else assert.near(v, got[i], 1e-5 * math.max(1, math.abs(v)), what) end
  end
end

describe("an option", function()
  before_each(flow.clear_default_session)
  teardown(flow.clear_default_session)

  it("weighs targets of the focal loss, or leaves them alone", function()
    local x, targets = { 0.5, -1, 2, -3 }, { 1, 1, 0, 0 }
    for _, alpha in ipairs { -1, 0, 0.25, 1 } do
      local want = {}
      for i, v in ipairs(x) do
        local p = 1 / (1 + math.exp(-v))
        local right = targets[i] == 1 and p or 1 - p
        local weight = alpha < 0 and 1 or targets[i] == 1 and alpha or 1 - alpha
        want[i] = -weight * (1 - right) ^ 2 * math.log(right)
      end
      near(want, flow.nn.sigmoid_focal_loss(nd.array(x), nd.array(targets),
        { alpha = alpha }):totable(), "alpha " .. alpha)
    end
  end)

  it("chooses the norm of the triplet loss", function()
    local a, b, c = { { 1, 2, -1 } }, { { 0, 2.5, 1 } }, { { 1.5, 1, -2 } }
    for _, p in ipairs { 1, 2, 3 } do
      local function distance(x, y)
        local sum = 0
        for i, v in ipairs(x[1]) do sum = sum + math.abs(v - y[1][i]) ^ p end
        return sum ^ (1 / p)
      end
      near({ math.max(0, distance(a, b) - distance(a, c) + 1) }, flow.nn.triplet_margin_loss(
        nd.array(a), nd.array(b), nd.array(c), { p = p, eps = 0, reduction = "none" }):totable(),
        "p " .. p)
    end
  end)

  it("says where the channels of an adaptive pool are", function()
    flow.random.seed(3)
    local x = nd.randn { 2, 3, 5, 4 }
    local want = flow.nn.adaptive_avg_pool2d(x, { 2, 3 })
    local got = flow.nn.adaptive_avg_pool2d(x:transpose { 0, 2, 3, 1 }, { 2, 3 },
      { data_format = "NHWC" })
    near(want:totable(), got:transpose({ 0, 3, 1, 2 }):totable(), "NHWC")
  end)

  it("keeps what has no elements or no partner", function()
    assert.same({ 2, 0 }, flow.nn.glu(nd.zeros { 2, 0 }).shape)
    near({ 1, 2 }, flow.math.add_n({ nd.array { 1, 2 } }):totable(), "add_n of one")
  end)

  it("orders the axes of a product that names none", function()
    flow.random.seed(4)
    local a, b = nd.randn { 2, 3, 4, 5 }, nd.randn { 2, 3, 5, 6 }
    near(flow.matmul(a, b):totable(), flow.einsum("...ij,...jk", { a, b }):totable(), "einsum")
  end)

  -- A train job of two variables, whose loss is x (v + w).
  local function two(optimizer_of)
    return flow.global_function { name = "two", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
      body = function(x)
        local function variable(name, o)
          o.initializer = o.initializer or flow.ones_initializer()
          o.shape = o.shape or { 2 }
          return flow.get_variable(name, o)
        end
        local loss = x * (variable("v", {}) + variable("w", {}))
        optimizer_of(variable):minimize(loss)
        return loss
      end }
  end

  local function values()
    local all = flow.get_all_variables()
    return { v = all.v:totable(), w = all.w:totable() }
  end

  it("gives variables to an optimizer by a predicate", function()
    local named = {}
    two(function()
      return flow.optimizer.SGD(0.5, { momentum = 0, variables = function(name)
        named[#named + 1] = name
        return name == "w"
      end })
    end)({ 1, 3 })
    table.sort(named)
    assert.same({ "v", "w" }, { named[1], named[#named] })
    assert.same({ v = { 1, 1 }, w = { 0.75, 0.25 } }, values())
    flow.clear_default_session()
    two(function()
      return flow.optimizer.SGD(0.5, { momentum = 0, variables = function() return { "v" } end })
    end)({ 1, 3 })
    assert.same({ v = { 0.75, 0.25 }, w = { 1, 1 } }, values())
  end)

  it("of a combination is that of its members", function()
    local sgd, scale = flow.optimizer.SGD, flow.optimizer.loss_scale.static_loss_scale
    local function train(o)
      flow.clear_default_session()
      two(function(variable)
        local steps = o and o.steps and variable("steps", { shape = { 1 }, dtype = "int64",
          trainable = false, initializer = flow.zeros_initializer() })
        local options = o and { loss_scale_policy = o.scale, train_step_lbn = steps }
        return flow.optimizer.CombinedOptimizer({
          sgd(0.5, { momentum = 0, variables = { "v" } }), sgd(0.25, { momentum = 0 }) }, options)
      end)({ 1, 3 })
      return values()
    end
    local want = { v = { 0.75, 0.25 }, w = { 0.875, 0.625 } }
    assert.same(want, train())
    assert.same(want, train { scale = scale(8) })
    assert.same(want, train { steps = true })
  end)

  it("keeps the best variables in the directory too", function()
    local folder = helper.directory()
    local function fit(directory)
      flow.clear_default_session()
      flow.random.seed(5)
      local net = flow.model("line", function(x)
        return flow.layers.dense(x, 1, { use_bias = false, name = "w" })
      end)
      local x = nd.ones { 8, 1 }
      -- The rate is too high, so the first epoch is the best one.
      local run = flow.fit(net, { x, x * 3 }, { loss = flow.nn.MSELoss, batch_size = 8, epochs = 4,
        optimizer = flow.optimizer.SGD(1.2, { momentum = 0 }), show = false, keep_best = true,
        directory = directory, monitor = "loss" })
      return run.best.epoch, flow.get_all_variables()["line-w-weight"]:totable()
    end
    local epoch, weight = fit()
    assert.equal(1, epoch)
    local other, kept = fit(folder)
    assert.same({ epoch, weight }, { other, kept })
    assert.is_true(core.is_directory(folder .. "/best"))
    helper.remove(folder)
  end)
end)
