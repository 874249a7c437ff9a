-- Runs are repeatable bit for bit, and the plain kernels give what the fast ones give.
local core = require "jfl.core"
local flow = require "jfl"

local tp = flow.typing

local function mlp(x)
  local relu = { activation = flow.nn.relu }
  return flow.layers.dense(flow.layers.dense(flow.reshape(x, { x.shape[1], -1 }), 64, relu), 10)
end

local function convolutions(x)
  local options = { padding = "SAME", activation = flow.nn.relu }
  x = flow.nn.max_pool2d(flow.layers.conv2d(x, 8, 5, options), 2, 2, "SAME")
  x = flow.nn.dropout(flow.layers.conv2d(x, 16, 3, options), 0.5)
  return mlp(x)
end

--- The losses of every sample in every step, from a session of its own.
local function train(network, shape, steps, kernels)
  flow.clear_default_session()
  core.set("kernels", kernels)
  flow.random.seed(7)
  local batch = shape[1]
  local job = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = {
      { "x", tp.Numpy.Placeholder(shape) },
      { "labels", tp.Numpy.Placeholder({ batch }, { dtype = flow.int32 }) },
    },
    body = function(x, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network(x))
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end,
  }
  local losses, labels = {}, flow.ndarray.zeros({ batch }, "int32")
  for i = 1, batch do labels[i] = i % 10 end
  for _ = 1, steps do
    local loss = job(flow.ndarray.rand(shape), labels)
    for i = 1, batch do losses[#losses + 1] = loss[i] end
  end
  return losses
end

local function largest_difference(a, b)
  local most = 0
  for i = 1, #a do most = math.max(most, math.abs(a[i] - b[i]) / math.abs(a[i])) end
  return most
end

describe("a run with a seed", function()
  after_each(function() flow.clear_default_session() end)

  it("is the same bit for bit when it is run again", function()
    local shape = { 16, 3, 12, 12 }
    assert.same(train(convolutions, shape, 8, "fast"), train(convolutions, shape, 8, "fast"))
  end)

  it("is another one with another seed", function()
    local a = train(mlp, { 4, 8 }, 1, "fast")
    flow.random.seed(8)
    local b = flow.ndarray.rand({ 4, 8 })
    flow.random.seed(7)
    assert.are_not.same(b:totable(), flow.ndarray.rand({ 4, 8 }):totable())
    assert.same(a, train(mlp, { 4, 8 }, 1, "fast"))
  end)

  it("gives the same losses on the plain kernels for 50 steps", function()
    local shape = { 50, 1, 28, 28 }
    local difference = largest_difference(train(mlp, shape, 50, "fast"),
      train(mlp, shape, 50, "reference"))
    assert.is_true(difference < 1e-5, ("differs by %g"):format(difference))
  end)

  it("gives the same losses with convolutions and dropout", function()
    local shape = { 16, 3, 12, 12 }
    local difference = largest_difference(train(convolutions, shape, 4, "fast"),
      train(convolutions, shape, 4, "reference"))
    assert.is_true(difference < 1e-5, ("differs by %g"):format(difference))
  end)
end)
