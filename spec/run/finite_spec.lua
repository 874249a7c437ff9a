-- Checked runs: flow.config.check_finite.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

describe("a checked run", function()
  before_each(function() flow.clear_default_session() end)
  after_each(function() flow.clear_default_session() end)

  local function state()
    local values = {}
    for name, a in pairs(flow.get_all_variables()) do values[name] = helper.list(a) end
    return values
  end

  -- Fails in a call with `text`, which must leave all variables as they are.
  local function refuses(job, x, text)
    local before = state()
    helper.fails(function() job(x) end, text)
    assert.same(before, state())
  end

  -- The loss is f(x, w); w starts at 1.
  local function trainer(f, rate, options)
    return helper.train("train", { body = function(x)
      local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
      local loss = f(x, w)
      flow.optimizer.SGD(rate or 0.5, options):minimize(loss)
      return loss
    end })
  end

  it("is off unless asked for, and can be turned off again", function()
    assert.is_false(flow.config.check_finite())
    local job = trainer(function(x, w) return flow.math.log(x * w) end)
    assert.equal(-math.huge, job({ 0, 1 })[1])
    flow.config.check_finite(true)
    assert.is_true(flow.config.check_finite())
    helper.fails(function() job({ 1, 1 }) end, "train: variable 'w' must be finite in step 2")
    flow.config.check_finite(false)
    assert.truthy(job({ 1, 1 }))
    helper.fails(function() flow.config.check_finite(1) end,
      "config.check_finite: value must be a boolean, got number 1")
  end)

  it("names the first value, the step and the job, and changes nothing", function()
    flow.config.check_finite(true)
    local job = trainer(function(x, w)
      return flow.math.exp(flow.math.log(x * w, { name = "the_log" }), { name = "the_exp" })
    end, 0.01)
    job({ 1, 2 })
    job({ 1, 2 })
    refuses(job, { 1, 0 }, "train: log: 'the_log' must be finite in step 3, got -inf in 1 of 2 "
      .. "elements; variables are as they were before it")
    job({ 1, 2 })
    refuses(job, { 0, 0 }, "in step 4, got -inf in 2 of 2 elements")
  end)

  it("names inputs, variables and gradients", function()
    flow.config.check_finite(true)
    local job = trainer(function(x, w) return flow.math.sqrt(x * w) end)
    job({ 1, 1 })
    refuses(job, { 1, 0 / 0 }, "train: input 'x' must be finite in step 2, got")
    refuses(job, { 1, 0 }, "'divide_1', computed for 'sqrt_1', must be finite in step 2, got inf")
    flow.load_variables({ w = flow.ndarray.array({ 1 / 0, 1 }) })
    refuses(job, { 1, 1 }, "train: variable 'w' must be finite in step 2, got inf in 1 of 2")
    flow.clear_default_session()
    flow.config.check_finite(true)
    refuses(trainer(function(x, w) return (w - 1) * x * 8 end), { 3e38, 1 },
      "the gradient of 'w' must be finite in step 1, got inf in 1 of 2")
  end)

  it("takes back an update that overflows, with the optimizer's state", function()
    flow.config.check_finite(true)
    local job = trainer(function(x, w) return x * w end, 1e30, { momentum = 0.9 })
    job:compile()
    refuses(job, { 1e15, 1 }, "train: update: variable 'w' must be finite in step 1, got -inf in 1 "
      .. "of 2 elements")
    for _, passes in ipairs { "", "-matmul_update -multi_update" } do
      flow.clear_default_session()
      flow.config.passes(passes)
      flow.config.check_finite(true)
      local dense = helper.train("dense", { inputs = { { "x", tp.Numpy.Placeholder({ 2, 3 }) } },
        body = function(x)
          local y = flow.layers.dense(x, 2, { name = "d", use_bias = false })
          flow.optimizer.SGD(1e38, { momentum = 0 }):minimize(y)
          return y
        end })
      dense:compile()
      refuses(dense, { { 1e10, 1, 1 }, { 1, 1, 1 } }, "variable 'd-weight' must be finite")
    end
  end)

  it("reports a call without waiting to its second function", function()
    flow.config.check_finite(true)
    local job = helper.predict("later", { 2 }, function(x) return flow.math.log(x) end,
      { returns = tp.Callback(tp.Numpy) })
    local message
    job({ 0, 1 })(function() error("not reached") end, function(m) message = m end)
    flow.sync()
    assert.truthy(message:find("later: log: 'log_1' must be finite in step 1, got -inf", 1, true))
  end)
end)

describe("a checked run of several ranks", function()
  local command = require "spec.cmd.helper"

  after_each(command.clean)

  it("fails on all where it does on one, and changes no variable", function()
    local out, err, status = command.run("--ranks", "2", command.file [[
local flow = require "jfl"
local core = require "jfl.core"
local nd, tp = flow.ndarray, flow.typing
local rank = core.world()
flow.config.check_finite(true)
local job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 12, 6 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 6, 4 }, { initializer = flow.ones_initializer() })
    core.distribute(w, "split", 0)
    local loss = flow.math.square(flow.matmul(x, w))
    flow.optimizer.SGD(0.05, { momentum = 0.9 }):minimize(loss)
    return loss
  end }
local x = nd.arange(72):reshape({ 12, 6 }) * 0.01
job(x)
local before = flow.get_all_variables().w:totable()
for who = 0, 1 do
  local ok, message = pcall(job, rank == who and nd.full({ 12, 6 }, 0 / 0) or x)
  local own = message:find("train: input 'x' must be finite in step 2", 1, true)
  local other = message:find(("train: rank %d ("):format(who), 1, true)
  assert(not ok and (rank == who and own or rank ~= who and other), message)
end
flow.load_variables { w = nd.full({ 6, 4 }, 1e38) }
assert(not pcall(job, x))
assert(flow.get_all_variables().w[1][1] > 9e37)
flow.load_variables { w = before }
job(x)
print "done"
]])
    assert.same({ "done\n", "", 0 }, { out, err, status })
  end)
end)
