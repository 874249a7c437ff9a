-- Results in the memory of inputs that die: a switch that changes memory alone.
local core = require "jfl.core"
local flow = require "jfl"
local golden = require "spec.golden"
local helper = require "spec.lua.helper"
local tp = flow.typing

describe("working in place", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  local function chain()
    return flow.global_function {
      name = "chain", inputs = { { "x", tp.Numpy.Placeholder { 4, 16 } } }, returns = tp.Numpy,
      body = function(x)
        local a = flow.nn.softmax(flow.transpose(x, { 1, 0 }))
        local b = flow.nn.logsoftmax(a, { axis = 0 })
        return flow.matmul(flow.nn.softmax(b), a, { transpose_b = true })
      end,
    }
  end

  it("is left out by name", function()
    core.set("kernels", "reference")
    local shared = chain():plan()
    flow.clear_default_session()
    core.set("kernels", "reference")
    core.set("passes", "-inplace")
    local separate = chain():plan()
    golden.check("inplace_plan", shared .. "\n" .. separate)
    assert.not_equal(shared, separate)
  end)

  -- Where a job has what a step of three inputs reads and makes, of which the i-th alone is a
  -- temporary as large as its result.
  local function places_of(i, passes)
    flow.clear_default_session()
    core.set("kernels", "reference")
    core.set("passes", passes)
    local job = helper.predict("job", { 16, 64 }, function(x)
      local inputs = {}
      for j = 1, 3 do
        local name = "v" .. j
        inputs[j] = flow.get_variable(name, { 64 }, { initializer = flow.ones_initializer() })
      end
      local square = flow.get_variable("w", { 64, 64 }, { initializer = flow.ones_initializer() })
      inputs[i] = flow.matmul(x, square)
      local y = flow.math.tanh((inputs[1] - inputs[2]) * inputs[3])
      return flow.matmul(y, square)
    end)
    local plan = job:plan()
    return plan:match "fused.-matmul_1%[arena%+(%d+)%].-tanh_1%[arena%+(%d+)%]"
  end

  it("takes any input of a step", function()
    finally(function() core.set("kernels", "fast") end)
    for i = 1, 3 do
      local from, to = places_of(i, "")
      assert.truthy(from)
      assert.equal(from, to)
      from, to = places_of(i, "-inplace")
      assert.not_equal(from, to)
    end
  end)

  -- Losses of some train steps of a small network, and its weights.
  local function train(dtype)
    local job = flow.global_function {
      name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 6, 2, 8, 8 }, { dtype = dtype }) },
        { "labels", tp.Numpy.Placeholder({ 6 }, { dtype = flow.int32 }) } },
      body = function(x, labels)
        local y = flow.layers.conv2d(x, 4, 3, { padding = "SAME", activation = flow.nn.relu })
        y = flow.nn.max_pool2d(y, { ksize = 2, strides = 2, padding = "SAME" }) + 0.1
        y = flow.layers.dense(flow.reshape(y, { 6, -1 }), 20, { activation = flow.math.tanh })
        y = flow.layers.dense(flow.nn.dropout(y, 0.5), 3)
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, y)
        flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
        return loss
      end,
    }
    local x = flow.ndarray.arange(6 * 2 * 8 * 8):reshape { 6, 2, 8, 8 } / 768
    local all = {}
    for i = 1, 4 do
      all[i] = job(x:astype(dtype), flow.ndarray.array({ 0, 1, 2, 2, 1, 0 }, "int32")):totable()
    end
    for _, name in ipairs(core.variables()) do
      all[name] = core.to_table(core.variable_get(name))
    end
    return all
  end

  for _, dtype in ipairs { "float32", "float64" } do
    it("or not gives the same in " .. dtype, function()
      local results = {}
      for i, passes in ipairs { "", "-inplace" } do
        flow.clear_default_session()
        flow.random.seed(5)
        core.set("passes", passes)
        results[i] = train(dtype)
      end
      assert.same(results[1], results[2])
    end)
  end
end)
