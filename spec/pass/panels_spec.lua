-- Weights of large products lie in panels where no variable changes.
local core = require "jfl.core"
local flow = require "jfl"
local support = require "spec.op.support"
local nd, tp = flow.ndarray, flow.typing

local ROWS, SIZE = 40, 256

local function job(kind, body)
  return flow.global_function { name = kind, type = kind, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ ROWS, SIZE }) } }, body = body }
end

-- Layers with panels of 96, 80 and 64 columns, one that has none, and weights that are read twice.
local function network(x)
  local y = x
  for _, units in ipairs { 288, 320, 256, 262 } do
    y = flow.layers.dense(y, units, { activation = flow.nn.gelu, name = "of_" .. units })
  end
  y = flow.layers.dense(y, 288, { name = "last" })
  return y + flow.matmul(x, flow.get_variable("of_288-weight"), { transpose_b = true })
end

local function turned(predict)
  local _, n = predict:graph("optimized"):gsub(" transpose%(", "")
  return n
end

-- Whether there are kernels that read panels.
local function has_kernels()
  return core.get("kernels") ~= "reference" and (os.getenv "JFL_DEVICE" or "cpu"):find "^cpu"
end

describe("weights in panels", function()
  local x
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(5)
    x = nd.rand { ROWS, SIZE }
  end)
  after_each(function()
    flow.clear_default_session()
    core.set("passes", "")
  end)

  it("give what they give in lines, each made once", function()
    local results = {}
    for i, off in ipairs { "-panels", "" } do
      flow.clear_default_session()
      core.set("passes", off)
      flow.random.seed(5)
      local predict = job("predict", network)
      results[i] = support.flat(predict(x))
      assert.is_true(support.close(support.flat(predict(x)), results[i], 0))
      if off ~= "" or has_kernels() then assert.equal(off == "" and 4 or 0, turned(predict)) end
    end
    assert.is_true(support.close(results[2], results[1], 1e-5))
  end)

  it("do not depend on the number of threads", function()
    local had = core.get "threads"
    finally(function() core.set("threads", had) end)
    local predict = job("predict", network)
    local want = support.flat(predict(x))
    core.set("threads", had == 1 and 2 or 1)
    flow.clear_default_session()
    flow.random.seed(5)
    nd.rand { ROWS, SIZE }
    assert.same(want, support.flat(job("predict", network)(x)))
  end)

  it("are made anew when a variable has changed, and not in jobs that change it", function()
    local predict = job("predict", network)
    local train = job("train", function(v)
      local y = network(v)
      flow.optimizer.SGD(0.01):minimize(y)
      return y
    end)
    for _ = 1, 3 do
      local y = predict(x)
      assert.is_true(support.close(support.flat(train(x)), support.flat(y), 1e-5))
      assert.is_true(flow.math.abs(predict(x) - y):max() > 1e-4)
    end
    assert.equal(0, turned(train))
  end)
end)
