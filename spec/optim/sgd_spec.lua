local core = require "jfl.core"
local flow = require "jfl"
local oracle = require "spec.oracle"
local tp = flow.typing

local TOLERANCE = 1e-12

-- The network that scripts/oracles/training.py trains; the phases of the waves it begins with.
local phases = {
  ["conv1-weight"] = 1, ["conv1-bias"] = 2, ["conv2-weight"] = 3, ["conv2-bias"] = 4,
  ["dense1-weight"] = 5, ["dense1-bias"] = 6, ["dense2-weight"] = 7, ["dense2-bias"] = 8,
}

local function network(x)
  local relu = { padding = "SAME", activation = flow.nn.relu }
  local function named(name) return { padding = relu.padding, activation = relu.activation,
    name = name } end
  x = flow.nn.max_pool2d(flow.layers.conv2d(x, 3, 3, named "conv1"), 2, 2, "VALID")
  x = flow.nn.max_pool2d(flow.layers.conv2d(x, 4, 3, named "conv2"), 2, 2, "VALID")
  x = flow.layers.dense(flow.reshape(x, { 4, -1 }), 5,
    { activation = flow.nn.relu, name = "dense1" })
  return flow.layers.dense(x, 3, { name = "dense2" })
end

local function train_job(momentum, clip)
  return flow.global_function {
    name = "train_job", type = "train",
    inputs = {
      { "x", tp.Numpy.Placeholder({ 4, 1, 8, 8 }, { dtype = flow.double }) },
      { "labels", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) },
    },
    returns = tp.Numpy,
    body = function(x, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network(x))
      local clipping = clip and flow.optimizer.grad_clipping.by_global_norm(clip)
      flow.optimizer.SGD(0.1, { momentum = momentum, grad_clipping = clipping }):minimize(loss)
      return loss
    end,
  }
end

local function steps(job, n)
  local x, labels = oracle.wave({ 4, 1, 8, 8 }, 9), core.from_table({ 0, 2, 1, 2 }, "int32")
  local losses = {}
  for step = 1, n do losses[step] = core.to_table(job(x, labels)) end
  return core.from_table(losses, "float64")
end

local function trains_as(case)
  local job = train_job(case.options.momentum, case.options.clip)
  flow.train.CheckPoint():init()
  for name, phase in pairs(phases) do
    core.variable_set(name, oracle.wave(core.variable_get(name).shape, phase, 0.3))
  end
  local got = { losses = steps(job, case.results.losses.shape[1]) }
  for name, want in pairs(case.results) do
    oracle.check(case, name, want, got[name] or core.variable_get(name), "float64", TOLERANCE)
  end
end

describe("SGD", function()
  before_each(function() flow.clear_default_session() end)
  after_each(function() flow.clear_default_session() end)

  for _, case in ipairs(oracle.cases("training", "SGD")) do
    for _, passes in ipairs { "", "-matmul_update -multi_update" } do
      it(("trains a network as PyTorch does: %s, passes '%s'"):format(case.id, passes), function()
        core.set("passes", passes)
        finally(function() core.set("passes", "") end)
        trains_as(case)
      end)
    end
  end

  it("keeps no momentum where there is none", function()
    train_job(0)
    flow.train.CheckPoint():init()
    for _, name in ipairs(core.variables()) do assert.is_nil(name:match "%-momentum$") end
  end)

  it("counts its steps in a variable of the job", function()
    local job = train_job(0)
    steps(job, 3)
    assert.equal(3, core.variable_get("System-Train-TrainStep-train_job")[1])
  end)
end)
