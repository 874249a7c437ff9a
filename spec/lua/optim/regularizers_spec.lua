local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("regularizers", function()
  before_each(flow.clear_default_session)

  -- The variables w (2), from {2, -4}, after one step of 0.5 on loss w.
  local function stepped(regularizer, more)
    local options = { momentum = 0 }
    for key, value in pairs(more or {}) do options[key] = value end
    local job = flow.global_function { name = "job", type = "train", returns = flow.typing.Numpy,
      body = function()
        local w = flow.get_variable("w", { 2 }, { initializer = flow.zeros_initializer(),
          regularizer = regularizer })
        flow.optimizer.SGD(0.5, options):minimize(flow.math.reduce_sum(w))
        return w
      end }:compile()
    flow.load_variables { w = { 2, -4 } }
    local seen = job():totable()
    assert.same({ 2, -4 }, seen)
    return job():totable()
  end

  it("add their gradients to that of the loss", function()
    assert.same({ 1.5, -4.5 }, stepped(nil))
    flow.clear_default_session()
    assert.same({ 1.375, -4.375 }, stepped(flow.regularizers.l1(0.25)))
    flow.clear_default_session()
    assert.same({ 1.25, -4 }, stepped(flow.regularizers.l2(0.25)))
    flow.clear_default_session()
    assert.same({ 1.125, -3.875 }, stepped(flow.regularizers.l1_l2(0.25, 0.25)))
  end)

  it("leave the loss that is returned alone, and count before clipping", function()
    local clipping = flow.optimizer.grad_clipping.by_global_norm(1)
    local job = flow.global_function { name = "job", type = "train", returns = flow.typing.Numpy,
      body = function()
        local w = flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer(),
          regularizer = flow.regularizers.l2(3) })
        flow.optimizer.SGD(0.5, { momentum = 0, grad_clipping = clipping }):minimize(w)
        return w
      end }
    assert.equal(1, job()[1])
    -- The gradient 1 + 3 is clipped to 1.
    assert.equal(0.5, job()[1])
  end)

  it("add nothing where no gradient of the loss comes", function()
    local job = flow.global_function { name = "job", type = "train",
      returns = flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy), body = function()
        local options = { initializer = flow.ones_initializer(),
          regularizer = flow.regularizers.l2(1) }
        local w, apart = flow.get_variable("w", { 1 }, options),
          flow.get_variable("v", { 1 }, options)
        flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(w)
        return w, apart
      end }
    job()
    local w, apart = job()
    assert.equal(0, w[1])
    assert.equal(1, apart[1])
  end)

  it("are taken by layers, for weights and biases", function()
    local job = flow.global_function { name = "job", type = "train", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder({ 1, 1, 2, 2 }) } }, body = function(x)
        local one = { kernel_initializer = flow.ones_initializer(),
          bias_initializer = flow.ones_initializer(),
          kernel_regularizer = flow.regularizers.l2(0.5),
          bias_regularizer = flow.regularizers.l1(0.25) }
        local function named(name)
          local o = { name = name }
          for key, value in pairs(one) do o[key] = value end
          return o
        end
        local y = flow.layers.conv2d(x, 1, 2, named "conv")
        y = flow.layers.dense(flow.reshape(y, { 1, 1 }), 1, named "dense")
        flow.optimizer.SGD(1, { momentum = 0 }):minimize(y * 0)
        return y
      end }
    job({ { { { 1, 1 }, { 1, 1 } } } })
    local all = flow.get_all_variables()
    assert.equal(0.5, all["conv-weight"]:reshape({ -1 })[1])
    assert.equal(0.75, all["conv-bias"][1])
    assert.equal(0.5, all["dense-weight"]:reshape({ -1 })[1])
    assert.equal(0.75, all["dense-bias"][1])
  end)

  it("hold packed filters too", function()
    local function run(passes)
      local core = require "jfl.core"
      flow.clear_default_session()
      flow.random.seed(3)
      core.set("passes", passes)
      finally(function() core.set("passes", "") end)
      local job = flow.global_function { name = "job", type = "train", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 2, 16, 6, 6 }) } }, body = function(x)
          local y = flow.layers.conv2d(x, 32, 3, { name = "conv", padding = "SAME",
            kernel_regularizer = flow.regularizers.l1_l2(0.1, 0.2) })
          flow.optimizer.Adam(0.01):minimize(flow.math.square(y))
          return y
        end }
      for _ = 1, 3 do job(flow.ndarray.ones({ 2, 16, 6, 6 })) end
      return helper.list(flow.get_all_variables()["conv-weight"])
    end
    local want, got = run("-layout"), run("")
    for i = 1, #want do assert.is_true(math.abs(want[i] - got[i]) < 1e-5) end
  end)

  it("are checked where they are given", function()
    helper.fails(function() flow.regularizers.l2("x") end,
      "regularizers.l2: l must be a number of at least 0, got string 'x'")
    helper.fails(function() flow.regularizers.l1(-1) end,
      "regularizers.l1: l must be a number of at least 0, got -1")
    local bad = helper.predict("bad", { 1, 1 }, function(x)
      return flow.layers.dense(x, 1, { kernel_regularizer = 0.1 })
    end)
    helper.fails(function() bad({ { 1 } }) end,
      "layers.dense: kernel_regularizer must be what flow.regularizers.l2(0.01) gives, got "
        .. "number 0.1")
  end)
end)
