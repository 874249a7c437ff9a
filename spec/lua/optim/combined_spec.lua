--- Several optimizers of one loss.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local tp = flow.typing

--- A job of variables a, b and c, each a one, whose loss is their sum; optimizer() trains it.
local function job_of(optimizer)
  flow.clear_default_session()
  return flow.global_function { name = "job", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder { 1 } } },
    body = function(x)
      local loss = x
      for _, name in ipairs { "a", "b", "c" } do
        loss = loss + flow.get_variable(name, { shape = { 1 },
          initializer = flow.ones_initializer() })
      end
      optimizer():minimize(loss)
      return loss
    end }
end

local function sgd(rate, variables, options)
  options = options or {}
  options.momentum, options.variables = 0, variables
  return flow.optimizer.SGD(rate, options)
end

--- What the script's variables are.
local function variables()
  local all = {}
  for name, values in pairs(helper.variables()) do
    if not name:find "^System" then all[name] = values[1] end
  end
  return all
end

--- What they are after a step.
local function after(optimizer)
  job_of(optimizer) { 0 }
  return variables()
end

local function combined(...)
  local members = { ... }
  return function() return flow.optimizer.CombinedOptimizer(members) end
end

describe("CombinedOptimizer", function()
  after_each(function() flow.clear_default_session() end)

  it("gives the member without variables those that the others leave", function()
    local all = { a = 0.5, b = 0.75, c = 0.75 }
    assert.same(all, after(combined(sgd(0.5, { "a" }), sgd(0.25))))
    assert.same(all, after(combined(sgd(0.25), sgd(0.5, { "a" }))))
    assert.same({ a = 0.5, b = 0.75, c = 0 },
      after(combined(sgd(0.5, { "a" }), sgd(0.25), sgd(1, { "c" }))))
  end)

  it("leaves alone what no member names", function()
    assert.same({ a = 0.5, b = 1, c = 0 },
      after(combined(sgd(0.5, { "a" }), sgd(1, { "c" }))))
  end)

  it("can train another job afterwards, whose variables are others", function()
    local optimizer = flow.optimizer.CombinedOptimizer { sgd(0.5, { "a" }), sgd(0.25) }
    local expected = after(function() return optimizer end)
    assert.same(expected, after(function() return optimizer end))
    flow.clear_default_session()
    flow.global_function { name = "other", type = "train", returns = tp.Numpy, inputs = {},
      body = function()
        local options = { shape = { 1 }, initializer = flow.ones_initializer() }
        local loss = flow.get_variable("a", options) * flow.get_variable("z", options)
        optimizer:minimize(loss)
        return loss
      end }()
    assert.same({ a = 0.5, z = 0.75 }, variables())
  end)

  it("says how it was made", function()
    local first, second = sgd(0.5, { "a" }), sgd(0.25)
    assert.equal(("CombinedOptimizer({%s, %s})"):format(tostring(first), tostring(second)),
      tostring(flow.optimizer.CombinedOptimizer { first, second }))
  end)

  it("refuses members that do not go together", function()
    local function fails(message, ...)
      local make = combined(...)
      helper.fails(function() make() end, "optimizer.CombinedOptimizer: optimizers" .. message)
    end
    fails(" must not be empty")
    fails(": item 2 must be an optimizer such as flow.optimizer.SGD(0.1), got number 3",
      sgd(0.5), 3)
    fails(": items 2 and 3 both lack variables; one alone gets what the others leave",
      sgd(0.5, { "a" }), sgd(0.25), sgd(0.125))
    fails(": item 1 must leave loss scale and train_step_lbn to the combination",
      sgd(0.5, { "a" }, { loss_scale_factor = 8 }))
    local optimizer = combined(sgd(0.5))()
    helper.fails(function() optimizer.minimize({}) end,
      "minimize: call it with a colon: optimizer:minimize(...)")
  end)
end)

it("a list of losses holds blobs", function()
  local job = job_of(function()
    return { minimize = function(_, loss) flow.optimizer.SGD(0.1):minimize { loss, 3 } end }
  end)
  helper.fails(function() job { 0 } end,
    "SGD.minimize: loss: item 2 must be a blob, got number 3")
  flow.clear_default_session()
end)
