local core = require "jfl.core"
local flow = require "jfl"
local golden = require "spec.golden"
local tp = flow.typing

local function mlp(x)
  local relu = { activation = flow.nn.relu }
  return flow.layers.dense(flow.layers.dense(flow.reshape(x, { 4, -1 }), 5, relu), 3)
end

local function job(kind, body)
  return flow.global_function {
    name = kind .. "_job", type = kind, returns = tp.Numpy,
    inputs = {
      { "x", tp.Numpy.Placeholder { 4, 1, 2, 3 } },
      { "labels", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) },
    },
    body = body,
  }
end

describe("the passes", function()
  before_each(function()
    flow.clear_default_session()
    core.set("kernels", "reference")
  end)
  after_each(function() flow.clear_default_session() end)

  local function train()
    return job("train", function(x, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels,
        flow.nn.dropout(mlp(x), 0.5))
      flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
      return loss
    end)
  end

  it("begin with what the body describes, which is kept", function()
    local f = train()
    golden.check("train_traced", f:graph())
    assert.equal(f:graph("traced"), f:graph())
    local ok, err = pcall(f.graph, f, "optimised")
    assert.is_false(ok)
    assert.truthy(err:find("train_job: graph: which must be \"traced\" or \"optimized\", got "
      .. "string 'optimised'", 1, true), err)
  end)

  it("turn a train job into its graph", function()
    golden.check("train_graph", train():graph("optimized"))
  end)

  it("and that into its plan", function() golden.check("train_plan", train():plan()) end)

  it("leave nothing of training in a predict job", function()
    golden.check("predict_graph", job("predict", function(x) return mlp(x) end):graph("optimized"))
  end)
end)
