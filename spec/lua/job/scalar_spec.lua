--- Jobs on scalars and empty tensors: arguments, results, variables, training, checkpoints.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

describe("a job", function()
  before_each(flow.clear_default_session)

  it("takes and gives scalars", function()
    local job = helper.predict("scale", {}, function(x) return x * 2 + 1 end)
    assert.same({}, job(nd.full({}, 3)).shape)
    assert.equal(7, job(nd.full({}, 3)):item())
    helper.fails(function() local _ = job(nd.ones(1)) end, "x")
  end)

  it("takes a batch of no rows where any will do", function()
    local job = helper.predict("any", { -1, 3 }, function(x)
      return flow.layers.dense(x, 2, { name = "out" })
    end)
    assert.same({ 0, 2 }, job(nd.zeros { 0, 3 }).shape)
    assert.same({ 2, 2 }, job(nd.zeros { 2, 3 }).shape)
  end)

  it("sums what is not there to nothing", function()
    local job = helper.predict("sum", { 0, 3 }, function(x)
      return flow.math.reduce_sum(flow.math.exp(x) * 2, 0)
    end)
    assert.same({ 0, 0, 0 }, job(nd.zeros { 0, 3 }):totable())
  end)

  local function train_job(batch)
    return flow.global_function {
      name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ batch, 3 }) } },
      body = function(x)
        local gain = flow.get_variable("gain",
          { shape = {}, initializer = flow.constant_initializer(2) })
        local loss = flow.math.reduce_sum(x * gain, 1)
        flow.optimizer.SGD(0.5, { momentum = 0.9 }):minimize(loss)
        return loss
      end,
    }
  end

  it("trains scalar variables", function()
    local job = train_job(2)
    assert.same({ 6, 12 }, job({ { 1, 1, 1 }, { 2, 2, 2 } }):totable())
    local gain = flow.get_all_variables().gain
    assert.same({}, gain.shape)
    assert.equal(2 - 0.5 * 9 / 2, gain:item())
  end)

  it("trains nothing by no rows", function()
    local job = train_job(0)
    assert.same({ 0 }, job(nd.zeros { 0, 3 }).shape)
    assert.equal(2, flow.get_all_variables().gain:item())
  end)

  it("finds scalars and empty tensors again in checkpoints", function()
    local directory = helper.directory()
    local job = train_job(2)
    job({ { 1, 1, 1 }, { 2, 2, 2 } })
    flow.train.CheckPoint():save(directory .. "/c")
    flow.clear_default_session()
    train_job(2)
    flow.train.CheckPoint():load(directory .. "/c")
    assert.equal(-0.25, flow.get_all_variables().gain:item())
    flow.checkpoint.save(directory .. "/d",
      { s = nd.full({}, 3, "int64"), e = nd.zeros { 0, 4 }, one = nd.ones(1) })
    local back = flow.checkpoint.get(directory .. "/d")
    assert.same({}, back.s.shape)
    assert.equal(3, back.s:item())
    assert.same({ 0, 4 }, back.e.shape)
    assert.same({ 1 }, back.one.shape)
    helper.remove(directory)
  end)

  it("takes a file's scalar for a variable of shape (1), and the other way round", function()
    local directory = helper.directory()
    train_job(2):compile()
    flow.checkpoint.save(directory .. "/c", { gain = nd.full({ 1 }, 5) })
    flow.train.CheckPoint():load(directory .. "/c")
    assert.equal(5, flow.get_all_variables().gain:item())
    flow.load_variables { gain = nd.full({ 1 }, 6) }
    assert.equal(6, flow.get_all_variables().gain:item())
    helper.remove(directory)
  end)
end)
