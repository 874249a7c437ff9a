local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd, tp = flow.ndarray, flow.typing

local function names()
  local list = core.variables()
  table.sort(list)
  return list
end

local function all_near(want, got, tol)
  local difference = (want - got)
  assert.is_true((difference * difference):max() <= tol * tol,
    ("%s is not %s"):format(tostring(got), tostring(want)))
end

-- A train job that returns body's result, whose mean it minimizes.
local function train(shape, body, rate)
  return flow.global_function { name = "t", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } },
    body = function(x)
      local y = body(x)
      flow.optimizer.SGD(rate or 0.1, { momentum = 0 }):minimize(y)
      return y
    end }
end

describe("layers.batch_normalization", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  local x = nd.array({ { 1, 10 }, { 3, 10 }, { 5, 40 }, { 7, 20 } })

  it("normalizes the last axis by the batch where it trains", function()
    local y = train({ 4, 2 }, function(v)
      return flow.layers.batch_normalization(v, { epsilon = 0, name = "n" })
    end)(x)
    assert.same({ "System-Train-LearningRate-t", "System-Train-TrainStep-t", "n-beta", "n-gamma",
      "n-moving_mean", "n-moving_variance" }, names())
    local a, b = 1 / math.sqrt(5), 1 / math.sqrt(150)
    all_near(nd.array({ { -3 * a, -10 * b }, { -a, -10 * b }, { a, 20 * b }, { 3 * a, 0 } }), y,
      1e-6)
  end)

  it("keeps moving averages, which are not trained and which predict jobs use", function()
    local function body(v)
      return flow.layers.batch_normalization(v, { momentum = 0.9, epsilon = 0.5, name = "n" })
    end
    train({ 4, 2 }, body, 0)(x)
    local mean = core.variable_get("n-moving_mean")
    local variance = core.variable_get("n-moving_variance")
    all_near(nd.array({ 0.4, 2 }), mean, 1e-6)
    all_near(nd.array({ 0.9 + 0.5, 0.9 + 15 }), variance, 1e-5)
    local y = helper.predict("p", { 4, 2 }, body)(x)
    assert.is_true(math.abs(y:get(2, 1) - (3 - 0.4) / math.sqrt(1.9)) < 1e-6)
    assert.is_true(math.abs(y:get(3, 2) - (40 - 2) / math.sqrt(16.4)) < 1e-5)
    all_near(mean, core.variable_get("n-moving_mean"), 0)
  end)

  it("uses the moving averages in train jobs where it is not trained", function()
    for _, frozen in ipairs { { training = false }, { trainable = false } } do
      flow.clear_default_session()
      frozen.axis, frozen.epsilon, frozen.name = 1, 0, "n"
      local job = train({ 4, 2 }, function(v)
        return flow.layers.batch_normalization(flow.layers.dense(v, 2, { name = "d" }), frozen)
      end)
      job:compile()
      flow.load_variables { ["d-weight"] = { { 1, 0 }, { 0, 1 } },
        ["n-moving_mean"] = { 1, 10 }, ["n-moving_variance"] = { 4, 9 } }
      all_near(nd.array({ { 0, 0 }, { 1, 0 }, { 2, 10 }, { 3, 10 / 3 } }), job(x), 1e-6)
      all_near(nd.array({ 1, 10 }), core.variable_get("n-moving_mean"), 0)
      assert.equal(frozen.trainable == false,
        core.variable_get("n-gamma"):totable()[1] == 1)
    end
  end)

  it("does without gamma or beta", function()
    helper.predict("p", { 4, 2 }, function(v)
      v = flow.layers.batch_normalization(v, { center = false, name = "a" })
      return flow.layers.batch_normalization(v, { scale = false, name = "b" })
    end)(x)
    assert.same({ "a-gamma", "a-moving_mean", "a-moving_variance", "b-beta", "b-moving_mean",
      "b-moving_variance" }, names())
  end)

  it("counts every use where a layer is used again", function()
    train({ 4, 2 }, function(v)
      local options = { momentum = 0.5, name = "n", reuse = true }
      return flow.layers.batch_normalization(v, options)
        + flow.layers.batch_normalization(v * 2, options)
    end, 0)(x)
    -- 0.5 (0.5 * 0 + 0.5 * 4) + 0.5 * 8, and so for the second channel of mean 20
    all_near(nd.array({ 5, 25 }), core.variable_get("n-moving_mean"), 1e-5)
  end)

  it("may be followed by relu, after an addend or without one", function()
    local function twice(together)
      flow.clear_default_session()
      flow.random.seed(5)
      local layers, o = flow.layers, { axis = 1, name = "n" }
      local job = train({ 3, 16, 5, 5 }, function(v)
        local u = layers.conv2d(v, 16, 3, { padding = "SAME", name = "c" })
        local w = layers.conv2d(u, 16, 1, { name = "d" })
        if together then
          w = layers.batch_normalization_relu(w, o)
          o.name = "m"
          return layers.batch_normalization_add_relu(w, u, o)
        end
        w = flow.nn.relu(layers.batch_normalization(w, o))
        o.name = "m"
        return flow.nn.relu(layers.batch_normalization(w, o) + u)
      end)
      local input = nd.randn({ 3, 16, 5, 5 })
      job(input)
      return job(input), core.variable_get("c-weight")
    end
    local y, w = twice(true)
    local y2, w2 = twice(false)
    all_near(y2, y, 1e-5)
    all_near(w2, w, 1e-6)
    assert.equal(0, y:min())
  end)

  it("is saved with its averages by checkpoints", function()
    local directory = helper.directory()
    finally(function() helper.remove(directory) end)
    local job = train({ 4, 2 }, function(v)
      return flow.layers.batch_normalization(v, { name = "n" })
    end)
    job(x)
    local mean = core.variable_get("n-moving_mean"):copy()
    flow.train.CheckPoint():save(directory .. "/it")
    job(x)
    assert.is_true((mean - core.variable_get("n-moving_mean")):max() ~= 0)
    flow.train.CheckPoint():load(directory .. "/it")
    all_near(mean, core.variable_get("n-moving_mean"), 0)
  end)

  it("names what is wrong", function()
    local function fails(message, options)
      local ok, got = pcall(function()
        helper.predict("p", { 4, 2 }, function(v)
          return flow.layers.batch_normalization(v, options)
        end):compile()
      end)
      assert.is_false(ok)
      assert.truthy(got:find(message, 1, true), got)
    end
    fails("layers.batch_normalization: axis must be from -2 to 1, got 2; axes count from 0",
      { axis = 2 })
    fails("layers.batch_normalization: training must be a boolean, got number 1",
      { training = 1 })
    fails("layers.batch_normalization: unknown option 'eps'", { eps = 1 })
  end)
end)

-- A predict job of one layer of x, which has that shape.
local function layer_of(shape, name, ...)
  local given = { ... }
  return helper.predict("p", shape, function(x) return flow.layers[name](x, unpack(given)) end)
end

local function fails(message, shape, name, ...)
  local job = layer_of(shape, name, ...)
  local ok, got = pcall(job.compile, job)
  assert.is_false(ok)
  assert.truthy(got:find(message, 1, true), got)
end

describe("normalizations of rows", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  it("have gamma and beta like the last axes, or a number for each channel", function()
    local function shapes(name, ...)
      flow.clear_default_session()
      layer_of({ 2, 6, 4, 3 }, name, ...):compile()
      local list = {}
      for i, v in ipairs(names()) do list[i] = v .. " " .. #core.variable_get(v).shape end
      return table.concat(list, ", "), core.variable_get(names()[#names()]).shape
    end
    local text, shape = shapes("layer_norm")
    assert.equal("layer_norm_1-beta 1, layer_norm_1-gamma 1", text)
    assert.same({ 3 }, shape)
    text, shape = shapes("layer_norm", { begin_params_axis = 2, name = "n", center = false })
    assert.equal("n-gamma 2", text)
    assert.same({ 4, 3 }, shape)
    text, shape = shapes("rms_norm", { begin_norm_axis = 1 })
    assert.equal("rms_norm_1-gamma 3", text)
    assert.same({ 6, 4, 3 }, shape)
    text, shape = shapes("group_norm", 3)
    assert.equal("group_norm_1-beta 1, group_norm_1-gamma 1", text)
    assert.same({ 6 }, shape)
    text, shape = shapes("instance_norm", { scale = false })
    assert.equal("instance_norm_1-beta 1", text)
    assert.same({ 6 }, shape)
    text, shape = shapes("prelu", { shared_axes = { 2, -1 } })
    assert.equal("prelu_1-alpha 3", text)
    assert.same({ 6, 1, 1 }, shape)
  end)

  it("train their gamma and beta", function()
    local job = train({ 2, 3 }, function(x)
      return flow.math.square(flow.layers.layer_norm(x, { name = "n" }) - 2)
    end, 0.5)
    local x = nd.array({ { 1, 2, 6 }, { -1, 0, 4 } })
    local first = job(x):mean()
    for _ = 1, 200 do job(x) end
    assert.is_true(job(x):mean() < first * 1e-3)
    assert.is_true(core.variable_get("n-gamma"):min() < 0.5)
    assert.is_true(core.variable_get("n-beta"):max() > 1)
  end)

  it("are used again by name with reuse", function()
    helper.predict("p", { 2, 3 }, function(x)
      x = flow.layers.rms_norm(x, { name = "n" })
      return flow.layers.rms_norm(x, { name = "n", reuse = true })
    end):compile()
    assert.same({ "n-gamma" }, names())
  end)

  it("are used again where they have no variables", function()
    local job = helper.predict("again", { 2, 6 }, function(x)
      local o = { center = false, scale = false, name = "l", reuse = true }
      local y = flow.layers.layer_norm(x, o)
      return y - flow.layers.layer_norm(x + 1, o)
    end)
    assert.is_true(flow.math.abs(job(nd.rand({ 2, 6 }))):max() < 1e-3)
  end)

  it("name what is wrong", function()
    fails("layers.group_norm: num_groups must divide the 6 channels, got 4", { 2, 6 },
      "group_norm", 4)
    fails("layers.group_norm: num_groups must be a whole number of at least 1, got number 0",
      { 2, 6 }, "group_norm", 0)
    fails("layers.layer_norm: begin_norm_axis must be from -2 to 1, got 2; axes count from 0",
      { 2, 6 }, "layer_norm", { begin_norm_axis = 2 })
    fails("epsilon must be a number of at least 0, got -1", { 2, 6 }, "layer_norm",
      { epsilon = -1 })
    fails("layers.prelu: shared_axes must not name axis 0: alpha has none", { 2, 6 }, "prelu",
      { shared_axes = 0 })
    for _, name in ipairs { "instance_norm", "batch_normalization", "prelu" } do
      fails(("layers.%s: inputs must have two or more axes, got shape (6)"):format(name), { 6 },
        name)
    end
    local a = nd.ones({ 2, 3 })
    local function nn_fails(message, name, ...)
      local ok, got = pcall(flow.nn[name], ...)
      assert.is_false(ok)
      assert.truthy(got:find(message, 1, true), got)
    end
    nn_fails("nn.layer_norm: gamma must be like the last axes of inputs (2, 3), got (2)",
      "layer_norm", a, nd.ones({ 2 }))
    nn_fails("nn.rms_norm: inputs must be a blob or an NdArray, got number 3", "rms_norm", 3)
    nn_fails("nn.moments: axes must be from -2 to 1, got 2", "moments", a, { 2 })
    nn_fails("nn.batch_normalization: mean must be (3), one for each channel, got (2)",
      "batch_normalization", a, nd.ones({ 2 }), nd.ones({ 3 }))
    nn_fails("nn.GroupNorm: num_groups must divide the 3 channels, got 2", "GroupNorm", a, 2)
    nn_fails("nn.InstanceNorm1d: x must have 3 or more axes, got shape (2, 3)", "InstanceNorm1d", a)
  end)
end)
