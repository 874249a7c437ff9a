local flow = require "jfl"
local helper = require "spec.lua.helper"

local core = require "jfl.core"

local function names()
  local list = core.variables()
  table.sort(list)
  return list
end

describe("layers.dense", function()
  before_each(flow.clear_default_session)

  it("multiplies by its weight (units, in) and adds its bias", function()
    local job = helper.predict("d", { 1, 2 }, function(x)
      return flow.layers.dense(x, 3, { name = "l" })
    end)
    job:compile()
    assert.same({ "l-bias", "l-weight" }, names())
    assert.same({ 3, 2 }, core.variable_get("l-weight").shape)
    flow.load_variables { ["l-weight"] = { { 1, 2 }, { 3, 4 }, { 5, 6 } },
      ["l-bias"] = { 0.5, 0, -1 } }
    assert.same({ { 5.5, 11, 16 } }, job({ { 1, 2 } }):totable())
  end)

  it("works over the last of more axes", function()
    local job = helper.predict("d", { 2, 3, 4 }, function(x)
      return flow.layers.dense(x, 5, { kernel_initializer = flow.ones_initializer() })
    end)
    local y = job(flow.ndarray.ones({ 2, 3, 4 }))
    assert.same({ 2, 3, 5 }, y.shape)
    assert.equal(4, y:get(2, 3, 5))
  end)

  it("numbers unnamed layers in call order, in every job alike", function()
    local function net(x) return flow.layers.dense(flow.layers.dense(x, 3), 2) end
    helper.predict("a", { 1, 2 }, net):compile()
    helper.predict("b", { 5, 2 }, net):compile()
    assert.same({ "dense_1-bias", "dense_1-weight", "dense_2-bias", "dense_2-weight" }, names())
  end)

  it("has no zeros in a weight that no initializer is given for", function()
    helper.predict("d", { 1, 20 }, function(x)
      return flow.layers.dense(x, 10, { name = "l" })
    end):compile()
    local w = core.variable_get("l-weight")
    assert.is_true((w * w):mean() > 0)
    assert.is_true(w:max() <= math.sqrt(6 / 30) and w:min() >= -math.sqrt(6 / 30))
    assert.equal(0, core.variable_get("l-bias"):max())
  end)

  it("applies its activation, and leaves out its bias", function()
    local job = helper.predict("d", { 1, 1 }, function(x)
      return flow.layers.dense(x, 2, flow.nn.relu, false, { name = "l" })
    end)
    job:compile()
    assert.same({ "l-weight" }, names())
    flow.load_variables { ["l-weight"] = { { 1 }, { -1 } } }
    assert.same({ { 2, 0 } }, job({ { 2 } }):totable())
  end)

  it("names what is wrong", function()
    local function fails(f, text)
      flow.clear_default_session()
      helper.fails(function() helper.predict("bad", { 2, 3 }, f):compile() end, text)
    end
    fails(function(x) local y = flow.layers.dense(x, 0) return y end,
      "layers.dense: units must be a whole number of at least 1, got number 0")
    fails(function(x) local y = flow.layers.dense(x, 2, { units = 3 }) return y end,
      "'units' is given twice")
    fails(function(x) local y = flow.layers.dense(x, 2, { nam = "x" }) return y end,
      "unknown option 'nam'")
    fails(function() local y = flow.layers.dense(5, 2) return y end,
      "inputs must be a blob, got number 5")
    fails(function(x) local y = flow.layers.dense(x, 2, { kernel_initializer = 5 }) return y end,
      "layers.dense: 'dense_1-weight': initializer must be one such as")
    fails(function(x) local y = flow.layers.dense(x, 2, { kernel_regularizer = {} }) return y end,
      "layers.dense: kernel_regularizer must be what flow.regularizers.l2(0.01) gives, got an "
        .. "empty table")
    fails(function(x)
      local y = flow.layers.dense(x, 2, { name = "l" })
      y = flow.layers.dense(y, 2, { name = "l" })
      return y
    end, "layers.dense: 'l-weight' exists in this job already; another name makes another layer, "
      .. "and { reuse = true } takes the variables of the one that has the name")
    fails(function(x)
      local y = flow.layers.dense(x, 2, { name = "l" })
      y = flow.layers.dense(y, 3, { name = "l", reuse = true })
      return y
    end, "layers.dense: 'l-weight' is float32 (2, 3) in this job, asked for as float32 (3, 2)")
    fails(function(x) local y = flow.layers.dense(x, 2, { reuse = 1 }) return y end,
      "layers.dense: reuse must be a boolean, got number 1")
  end)

  it("is used twice by its name, and trained by the sum of both gradients", function()
    local function train(make)
      flow.clear_default_session()
      flow.random.seed(1)
      flow.global_function { name = "twice", type = "train", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 2, 3, 3, 3 }) } },
        body = function(x)
          local function branch(v)
            v = make.conv(v)
            return make.dense(flow.reshape(v, { 2, 3, 9 }))
          end
          local loss = flow.math.square(branch(x) - branch(x * 2))
          flow.optimizer.SGD(0.1):minimize(loss)
          return loss
        end }(flow.ndarray.full({ 2, 3, 3, 3 }, 0.5))
      return flow.get_all_variables()
    end
    local same = { name = "same", reuse = true, activation = flow.math.tanh }
    local shared = train {
      conv = function(x) return flow.layers.conv2d(x, 3, 3, { padding = "SAME", name = "conv",
        reuse = true, activation = flow.nn.relu }) end,
      dense = function(x) return flow.layers.dense(x, 4, same) end,
    }
    local by_hand = train {
      conv = function(x)
        local w = flow.get_variable("conv-weight", { shape = { 3, 3, 3, 3 },
          initializer = flow.glorot_uniform_initializer() })
        local b = flow.get_variable("conv-bias", { 3 }, { initializer = flow.zeros_initializer() })
        return flow.nn.relu(flow.nn.bias_add(flow.nn.conv2d(x, w, 1, "SAME"), b, "NCHW"))
      end,
      dense = function(x)
        local w = flow.get_variable("same-weight", { shape = { 4, 9 },
          initializer = flow.glorot_uniform_initializer() })
        local b = flow.get_variable("same-bias", { 4 }, { initializer = flow.zeros_initializer() })
        local y = flow.matmul(flow.reshape(x, { 6, 9 }), w, { transpose_b = true })
        return flow.math.tanh(flow.reshape(flow.nn.bias_add(y, b), { 2, 3, 4 }))
      end,
    }
    for name, value in pairs(by_hand) do
      assert.is_true(flow.math.abs(shared[name] - value):max() < 1e-6, name)
      by_hand[name], shared[name] = nil, nil
    end
    assert.is_nil(next(shared))
  end)

  it("has no meaning outside a body", function()
    helper.fails(function() flow.layers.dense(nil, 3, { inputs = 5 }) end,
      "inside a job function's body")
  end)

  it("of another shape in another job is an error", function()
    helper.predict("a", { 1, 2 }, function(x)
      return flow.layers.dense(x, 3, { name = "l" })
    end):compile()
    local other = helper.predict("b", { 1, 4 }, function(x)
      return flow.layers.dense(x, 3, { name = "l" })
    end)
    helper.fails(function() other:compile() end, "l-weight")
  end)
end)

describe("layers.conv2d", function()
  before_each(flow.clear_default_session)

  it("convolves and adds a bias per filter", function()
    local job = helper.predict("c", { 1, 1, 3, 3 }, function(x)
      return flow.layers.conv2d(x, 1, 2, { kernel_initializer = flow.ones_initializer(), name = "c",
        bias_initializer = flow.constant_initializer(1) })
    end)
    assert.same({ { { { 13, 17 }, { 25, 29 } } } },
      job({ { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } } } }):totable())
    assert.same({ 1, 1, 2, 2 }, core.variable_get("c-weight").shape)
  end)

  it("needs no name beside unnamed convolutions that are no layers", function()
    local function net(x)
      local ones = flow.ones_initializer()
      local w = flow.get_variable("w", { shape = { 2, 2, 1, 1 }, initializer = ones })
      local y = flow.layers.conv2d(flow.nn.conv2d(x, w), 2, 1)
      return flow.layers.conv2d(flow.nn.conv2d(y, w, { name = "conv2d_3" }), 2, 1)
    end
    helper.predict("c", { 1, 2, 3, 3 }, net):compile()
    assert.same({ "conv2d_1-bias", "conv2d_1-weight", "conv2d_2-bias", "conv2d_2-weight", "w" },
      names())
  end)

  it("has weights (filters, in / groups, height, width)", function()
    local job = helper.predict("c", { 2, 4, 8, 8 }, function(x)
      return flow.layers.conv2d(x, 6, { 3, 5 }, { strides = 2, padding = "SAME", groups = 2,
        name = "c", activation = flow.nn.relu })
    end)
    assert.same({ 2, 6, 4, 4 }, job(flow.ndarray.ones({ 2, 4, 8, 8 })).shape)
    assert.same({ 6, 2, 3, 5 }, core.variable_get("c-weight").shape)
  end)

  it("names what is wrong", function()
    local function fails(f, text)
      flow.clear_default_session()
      helper.fails(function() helper.predict("bad", { 1, 3, 8, 8 }, f):compile() end, text)
    end
    fails(function(x) local y = flow.layers.conv2d(x, 4, 3, { groups = 2 }) return y end,
      "groups must divide 4 filters and 3 input channels, got 2")
    fails(function(x) local y = flow.layers.conv2d(x, 4, { 1, 2, 3 }) return y end, "a list of 3")
    fails(function(x) local y = flow.layers.conv2d(x, 4, 3, { padding = "HALF" }) return y end,
      "HALF")
    fails(function(x) local y = flow.layers.conv2d(flow.reshape(x, { 1, -1 }), 4, 3) return y end,
      "inputs must have four axes (NCHW), got shape (1, 192)")
  end)
end)

describe("get_variable", function()
  before_each(flow.clear_default_session)

  local function fails(f, text)
    flow.clear_default_session()
    helper.fails(function() helper.predict("bad", { 1 }, f):compile() end, text)
  end

  it("gives the same variable for the same name", function()
    helper.predict("v", { 1 }, function()
      local options = { shape = { 1 }, initializer = flow.ones_initializer() }
      local a, b = flow.get_variable("v", options), flow.get_variable("v", options)
      assert.equal(a.name, b.name)
      return a + b + flow.get_variable("v")
    end)
    assert.same({}, names())
  end)

  it("names what is wrong", function()
    fails(function() local v = flow.get_variable("v") return v end,
      "'v': shape is missing, and no such variable")
    fails(function() local v = flow.get_variable("v", { 1 }) return v end,
      "'v': initializer is missing: give one")
    fails(function()
      local one = { initializer = flow.ones_initializer() }
      flow.get_variable("v", { 1 }, one)
      local v = flow.get_variable("v", { 2 }, one)
      return v
    end, "'v' is float32 (1) in this job, asked for as float32 (2)")
    fails(function()
      flow.get_variable("v", { 1 }, { initializer = flow.ones_initializer() })
      local v = flow.get_variable("v", { reuse = false })
      return v
    end, "'v' exists in this job already and reuse is false")
    fails(function()
      local v = flow.get_variable("", { 1 }, { initializer = flow.ones_initializer() })
      return v
    end, "get_variable: name must be a string that is not empty, got an empty one")
  end)

  it("of integers takes whole numbers that fit", function()
    local function int8(initializer)
      return function()
        local v = flow.get_variable("v", { 100 }, { dtype = flow.int8, initializer = initializer })
        return v
      end
    end
    local draw = int8(flow.random_uniform_initializer(-2, 1))
    local values = helper.predict("draws", { 1 }, draw)({ 0 })
    assert.equal(-2, values:min())
    assert.equal(0, values:max())
    fails(int8(flow.constant_initializer(300)), "'v': the initializer's value must fit int8, "
      .. "got 300")
    fails(int8(flow.constant_initializer(0.5)), "value must fit int8, got 0.5")
    fails(int8(flow.glorot_uniform_initializer()), "must fit int8")
    fails(int8(flow.truncated_normal(1)), "the initializer must be constant or uniform for int8")
  end)
end)

describe("nn.dropout", function()
  it("drops what shares a draw together", function()
    flow.random.seed(2)
    local x = flow.ndarray.ones { 40, 5, 3, 2 }
    local y = flow.nn.dropout(x, 0.25, { 40, 5, 1, 1 }, { training = true })
    local kept = 0
    for _, sum in ipairs(helper.list(y:sum { 2, 3 })) do
      assert.is_true(sum == 0 or math.abs(sum - 8) < 1e-5)
      kept = kept + (sum > 0 and 1 or 0)
    end
    assert.near(150, kept, 30)
    helper.fails(function() flow.nn.dropout(x, 0.5, { 40, 4, 1, 1 }, { training = true }) end,
      "nn.dropout: noise_shape must be that of x, (40, 5, 3, 2), with 1 where places share a draw, "
        .. "got (40, 4, 1, 1)")
  end)

  before_each(flow.clear_default_session)

  local function dropped(mode, options)
    local job = flow.global_function { name = "drop", type = mode, returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder({ 1000 }) } },
      body = function(x)
        local w = flow.get_variable("w", { 1000 }, { initializer = flow.ones_initializer() })
        local y = flow.nn.dropout(x * w, 0.5, options)
        if mode == "train" then flow.optimizer.SGD(0.1):minimize(y) end
        return y
      end }
    return job(flow.ndarray.ones({ 1000 })):eq(0):sum()
  end

  it("is active in train jobs only", function()
    local n = dropped("train")
    assert.is_true(n > 400 and n < 600)
    flow.clear_default_session()
    assert.equal(0, dropped("predict"))
  end)

  it("can be told to be active or not", function()
    assert.equal(0, dropped("train", { training = false }))
    flow.clear_default_session()
    assert.is_true(dropped("predict", { training = true }) > 400)
  end)

  it("refuses a rate of 1", function()
    helper.fails(function()
      local y = flow.nn.dropout(flow.ndarray.ones({ 2 }), 1)
      return y
    end, "nn.dropout: rate must be a number from 0 to below 1, got 1")
  end)
end)
