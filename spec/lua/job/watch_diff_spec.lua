local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local passes = require "spec.passes"

local nd = flow.ndarray
local tp = flow.typing

local function sgd(loss) flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss) end

--- The variable w, of that shape, that starts at a number.
local function variable(shape, start)
  return flow.get_variable("w", { shape = shape, initializer = flow.constant_initializer(start) })
end

--- A train job with one input x of that shape, whose body gives the loss.
local function train(shape, body, fields)
  local t = { name = "train", type = "train", returns = tp.Numpy, body = body,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } } }
  for key, value in pairs(fields or {}) do t[key] = value end
  return flow.global_function(t)
end

describe("watch_diff", function()
  local seen

  local function keep(name)
    return function(value) seen[name] = value:totable() end
  end

  before_each(function()
    flow.clear_default_session()
    seen = {}
  end)

  after_each(function() flow.clear_default_session() end)

  it("shows gradients of the mean of the loss: of variables, inputs, what is between, and the loss",
    function()
      train({ 2 }, function(x)
        local w = variable({ 2 }, 1)
        flow.watch_diff(w, keep "w")
        flow.watch_diff(x, keep "x")
        local h = x * w
        local loss = h * h
        flow.watch_diff(h, keep "h")
        flow.watch_diff(loss, keep "loss")
        sgd(loss)
        return loss
      end)({ 1, 2 })
      assert.same({ 1, 4 }, seen.w)          -- half of 2 x^2 w, as the step takes it
      assert.same({ 1, 2 }, seen.x)
      assert.same({ 1, 2 }, seen.h)
      assert.same({ 0.5, 0.5 }, seen.loss)
    end)

  it("does not grow with the batch", function()
    local job = train({ -1 }, function(x)
      local w = variable({ 1 }, 1)
      local loss = x * w
      flow.watch_diff(w, keep "w")
      flow.watch_diff(loss, keep "loss")
      sgd(loss)
      return loss
    end)
    for n = 1, 100 do
      job(nd.ones { n })
      assert.near(1, seen.w[1], 1e-6)
      for i = 1, n do assert.near(1 / n, seen.loss[i], 1e-7) end
    end
  end)

  it("adds up several losses, and takes a mean as the loss that it is", function()
    train({ 4 }, function(x)
      local w = variable({ 4 }, 1)
      flow.watch_diff(w, keep "w")
      sgd { x * w, x * 3 * w }
      return x
    end)({ 1, 2, 3, 4 })
    assert.same({ 1, 2, 3, 4 }, seen.w)
    train({ 4 }, function(x)
      local w = variable({ 4 }, 1)
      flow.watch_diff(w, keep "mean")
      local loss = flow.math.reduce_mean(x * w)
      sgd(loss)
      return loss
    end, { name = "mean" })({ 1, 2, 3, 4 })
    assert.same({ 0.25, 0.5, 0.75, 1 }, seen.mean)
  end)

  it("shows what clipping gets, not what it makes", function()
    train({ 2 }, function(x)
      local w = variable({ 2 }, 1)
      flow.watch_diff(w, keep "w")
      flow.optimizer.SGD(0.1, { momentum = 0.9,
        grad_clipping = flow.optimizer.grad_clipping.by_global_norm(0.001) }):minimize(x * w)
      return x
    end)({ 30, 40 })
    assert.same({ 15, 20 }, seen.w)
  end)

  it("agrees with PyTorch on a convolutional network", function()
    local function wave(shape, phase, scale)
      local a = nd.zeros(shape, flow.double)
      local flat = a:reshape { -1 }
      for i = 1, #flat do flat[i] = (scale or 0.3) * math.sin(phase + 1.7 * (i - 1)) end
      return a
    end
    local shown = {}
    local function show(name) return function(value) shown[name] = value end end
    local job = flow.global_function {
      name = "conv", type = "train", returns = tp.Numpy,
      function_config = (function()
        local config = flow.function_config()
        config.default_data_type(flow.double)
        return config
      end)(),
      inputs = {
        { "x", tp.Numpy.Placeholder({ 3, 1, 4, 4 }, { dtype = flow.double }) },
        { "labels", tp.Numpy.Placeholder({ 3 }, { dtype = flow.int32 }) },
      },
      body = function(x, labels)
        local hidden = flow.layers.conv2d(x, 2, 3,
          { padding = "SAME", activation = flow.nn.relu, name = "conv" })
        local pooled = flow.nn.max_pool2d(hidden, 2, 2, "VALID")
        local logits = flow.layers.dense(flow.reshape(pooled, { 3, -1 }), 3, { name = "dense" })
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        flow.watch_diff(x, show "x")
        flow.watch_diff(flow.get_variable("conv-weight"), show "weight")
        flow.watch_diff(hidden, show "hidden")
        flow.watch_diff(pooled, show "pooled")
        flow.watch_diff(logits, show "logits")
        sgd(loss)
        return loss
      end,
    }
    job:compile()
    for name, start in pairs {
      ["conv-weight"] = wave({ 2, 1, 3, 3 }, 1), ["conv-bias"] = wave({ 2 }, 2),
      ["dense-weight"] = wave({ 3, 8 }, 5), ["dense-bias"] = wave({ 3 }, 6),
    } do core.variable_set(name, start) end
    job(wave({ 3, 1, 4, 4 }, 9, 1), { 0, 2, 1 })
    -- loss.sum().backward(): sums of the gradients and of their magnitudes, of three samples.
    for name, want in pairs {
      x = { 0.0236891106145214, 1.79912160214395 },
      weight = { 0.453098752084399, 5.07058683043923 },
      hidden = { 0.0171098964298496, 3.07539386863172 },
      pooled = { 0.0171098964298495, 3.07539386863172 },
      logits = { 0, 3.94774021623531 },
    } do
      local sum, magnitude = 0, 0
      for _, v in ipairs(helper.list(shown[name])) do
        sum, magnitude = sum + v, magnitude + math.abs(v)
      end
      assert.near(want[1], 3 * sum, 1e-12)
      assert.near(want[2], 3 * magnitude, 1e-12)
    end
    assert.near(-0.736167974671468, 3 * shown.logits:get(1, 1), 1e-13)
    assert.near(-0.590293775000625, 3 * shown.logits:get(3, 2), 1e-13)
  end)

  it("reaches blobs that come from integers, not what they come from", function()
    local job = train({ 2 }, function(labels)
      local w = variable({ 2, 3 }, 2)
      local one_hot = flow.one_hot(labels, 3)
      local scale = flow.cast(labels, flow.float)
      flow.watch_diff(one_hot, keep "one_hot")
      flow.watch_diff(scale, keep "scale")
      local loss = one_hot * w * flow.reshape(scale, { 2, 1 })
      sgd(loss)
      return loss
    end, { inputs = { { "labels", tp.Numpy.Placeholder({ 2 }, { dtype = flow.int32 }) } } })
    job({ 1, 2 })
    for i, row in ipairs(seen.one_hot) do
      for _, d in ipairs(row) do assert.near(i / 3, d, 1e-6) end
    end
    for _, d in ipairs(seen.scale) do assert.near(1 / 3, d, 1e-6) end
  end)

  it("shows asynchronous calls their own gradients", function()
    local list = {}
    local job = train({ 2 }, function(x)
      local w = variable({ 2 }, 1)
      flow.watch_diff(w, function(value) list[#list + 1] = value[1] end)
      local loss = x * w
      sgd(loss)
      return loss
    end, { returns = tp.Callback(tp.Numpy) })
    for i = 1, 5 do job({ i, i })(function() list[#list + 1] = "done" end) end
    flow.sync()
    assert.same({ 0.5, "done", 1, "done", 1.5, "done", 2, "done", 2.5, "done" }, list)
  end)

  it("works with losses that are added, before or after they are", function()
    local config = flow.function_config()
    config.train.primary_lr(0.1)
    config.train.model_update_conf { naive_conf = {} }
    local job = flow.global_function(config, {
      name = "old", inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
      body = function(x)
        local w = variable({ 2 }, 1)
        flow.watch_diff(w, keep "before")
        local loss = x * w
        flow.losses.add_loss(loss)
        flow.watch_diff(w, keep "after")
        return loss
      end,
    })
    job({ 3, 4 }):get()
    assert.same({ 1.5, 2 }, seen.before)
    assert.same({ 1.5, 2 }, seen.after)
  end)

  it("keeps the order of the body among values and gradients", function()
    local order = {}
    local function note(name) return function() order[#order + 1] = name end end
    train({ 2 }, function(x)
      local w = variable({ 2 }, 2)
      flow.watch_diff(w, note "dw")
      flow.watch(w, note "w")
      flow.watch_diff(x, function(value) order[#order + 1] = value[1] end)
      flow.watch(x, function(value) order[#order + 1] = value[1] end)
      sgd(x * w)
      return x
    end)({ 7, 7 })
    assert.same({ "dw", "w", 1, 7 }, order)
  end)

  describe("shows what plain SGD takes from a variable", function()
    local RATE = 0.5

    --- Checks the watched gradient of w by how far a step of SGD moves w.
    local function check(options, configure, placed)
      local config = flow.function_config()
      configure(config)
      local job = flow.global_function(config, { name = "train", type = "train",
        inputs = { { "x", tp.Numpy.Placeholder { 8, 4 } } },
        body = function(x)
          local function make()
            local w = variable({ 4, 2 }, 0.5)
            flow.watch_diff(w, function(value) seen.w = value end)
            local loss = flow.math.square(flow.matmul(x, w) - 1)
            flow.optimizer.SGD(RATE, options):minimize(loss)
          end
          if placed then flow.scope.placement("cpu", placed, make) else make() end
        end })
      job(nd.ones { 8, 4 } * 0.25)
      flow.sync()
      local moved = (0.5 - core.variable_get "w") / RATE
      assert.near(-0.125, moved:min(), 1e-6)     -- 16 losses, each 2 (0.5 - 1) 0.25 at 8 of them
      assert.near(0, flow.math.abs(moved - seen.w):max(), 1e-6)
    end

    after_each(function() core.reset() end)
    local plain, function_of = { momentum = 0 }, function() end

    it("of one batch", function() check(plain, function_of) end)

    it("of micro-batches", function()
      for _, n in ipairs { 2, 4, 8 } do
        flow.clear_default_session()
        check(plain, function(config) config.micro_batches(n) end)
      end
    end)

    it("of replicas, which have a part of the batch each", function()
      flow.config.cpu_device_num(2)
      check(plain, function_of, "0:0-1")
    end)

    it("of losses that are scaled, by a number and by one that changes", function()
      local scale = flow.optimizer.loss_scale
      for _, policy in ipairs { scale.static_loss_scale(1024), scale.dynamic_loss_scale() } do
        flow.clear_default_session()
        check({ momentum = 0, loss_scale_policy = policy }, function_of)
      end
    end)
  end)

  describe("leaves training as it is", function()
    local function network(x, labels, watched)
      local hidden = flow.layers.conv2d(x, 4, 3, { padding = "SAME", activation = flow.nn.relu })
      local pooled = flow.nn.max_pool2d(hidden, 2, 2, "VALID")
      local features = flow.nn.dropout(flow.reshape(pooled, { 6, -1 }), 0.5)
      local dense = flow.layers.dense(features, 8, { activation = flow.nn.relu })
      local logits = flow.layers.dense(dense, 3)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
      local blobs = { x = x, hidden = hidden, pooled = pooled, dense = dense, logits = logits,
        weight = flow.get_variable("dense_1-weight"), loss = loss }
      for _, name in ipairs(watched) do
        flow.watch(blobs[name], keep(name))
        flow.watch_diff(blobs[name], keep("d" .. name))
      end
      flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
      return loss
    end

    local function losses(watched, left_out)
      flow.clear_default_session()
      flow.random.seed(5)
      core.set("passes", left_out or "")
      local job = flow.global_function {
        name = "network", type = "train", returns = tp.Numpy,
        inputs = {
          { "x", tp.Numpy.Placeholder({ 6, 2, 8, 8 }) },
          { "labels", tp.Numpy.Placeholder({ 6 }, { dtype = flow.int32 }) },
        },
        body = function(x, labels) return network(x, labels, watched) end,
      }
      local x, list = nd.randn { 6, 2, 8, 8 }, {}
      for i = 1, 5 do list[i] = job(x, { 0, 1, 2, 0, 1, 2 }):totable() end
      return list
    end

    local want = losses {}

    for _, name in ipairs { "x", "hidden", "pooled", "dense", "logits", "weight", "loss" } do
      it("where " .. name .. " is watched", function()
        local got = losses { name }
        for i, row in ipairs(want) do
          for j, v in ipairs(row) do assert.near(v, got[i][j], 1e-6) end
        end
        assert.is_table(seen[name])
        assert.is_table(seen["d" .. name])
      end)
    end

    local function far(a, b)
      if type(a) == "number" then return math.abs(a - b) end
      local most = 0
      for i, each in ipairs(a) do most = math.max(most, far(each, b[i])) end
      return most
    end

    it("and shows the same whichever passes are left out", function()
      local all = { "x", "hidden", "pooled", "dense", "logits", "weight", "loss" }
      losses(all)
      local shown = seen
      local lists = { passes.all_but() }
      for _, name in ipairs((core.passes())) do lists[#lists + 1] = "-" .. name end
      for _, list in ipairs(lists) do
        seen = {}
        losses(all, list)
        for name, value in pairs(shown) do assert.near(0, far(value, seen[name]), 1e-5) end
      end
    end)
  end)

  describe("refuses", function()
    it("predict jobs", function()
      helper.predict("plain", { 2 }, function(x)
        helper.fails(function() flow.watch_diff(x) end,
          "watch_diff: job 'plain' is a predict job, which has no loss, so 'x' has no gradient")
        return x
      end):compile()
    end)

    it("integers, and blobs of other jobs", function()
      local kept
      helper.predict("first", { 2 }, function(x)
        kept = x
        return x
      end):compile()
      train({ 2 }, function(x)
        helper.fails(function() flow.watch_diff(flow.math.argmax(x)) end,
          "must be a float blob, which alone has a gradient, got int32")
        helper.fails(function() flow.watch_diff(kept) end, "blob 'x' belongs to job 'first'")
        helper.fails(function() flow.watch_diff(nd.ones { 2 }) end,
          "watch_diff: blob must be a blob")
        local loss = x * variable({ 2 }, 1)
        sgd(loss)
        return loss
      end):compile()
    end)

    it("blobs that no gradient reaches, saying which and where it is watched", function()
      local function unreached(name, pick)
        local line
        local job = train({ 2 }, function(x)
          local w = variable({ 2 }, 1)
          local loss = x * w
          line = debug.getinfo(1, "l").currentline + 1
          flow.watch_diff(pick(x, w, loss))
          sgd(loss)
          return loss
        end, { name = name })
        return helper.fails(function() job({ 1, 2 }) end, name
          .. ": watch_diff: no gradient of the loss "), line
      end
      local err, line = unreached("behind", function(_, _, loss) return loss + 1 end)
      assert.truthy(err:find("'multiply_1' reaches 'add_1', watched at ", 1, true))
      assert.truthy(err:find("watch_diff_spec.lua:" .. line, 1, true))
      err = unreached("aside", function(x) return flow.nn.relu(x) end)
      assert.truthy(err:find("reaches 'relu_1', watched at ", 1, true))
    end)

    it("ways to the loss that have no gradient", function()
      local job = train({ 2 }, function(x)
        local w = variable({ 2 }, 1)
        flow.watch_diff(x)
        local loss = flow.cast(flow.math.greater(x, 0 * x), flow.float) * w
        sgd(loss)
        return loss
      end)
      helper.fails(function() job({ 1, 2 }) end, "no gradient of the loss 'multiply_2' reaches 'x'")
    end)
  end)
end)
