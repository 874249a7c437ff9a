-- Layers that go through sequences: states that come in and go out, dropout between layers.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local layers, nd, tp = flow.layers, flow.ndarray, flow.typing

local BATCH, LENGTH, SIZE, UNITS = 2, 6, 3, 4

describe("recurrent layers", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  local function double(shape) return tp.Numpy.Placeholder(shape, { dtype = flow.double }) end

  -- A job of the states of a layer over some steps, from first states, and of the last ones. Jobs
  -- share the layer's variables.
  local function steps(kind, length, o)
    local state = { o.num_layers * (o.bidirectional and 2 or 1), BATCH, UNITS }
    return flow.global_function {
      name = kind .. length, returns = tp.Tuple(tp.Numpy, tp.Numpy, tp.Numpy),
      inputs = { { "x", double { BATCH, length, SIZE } }, { "h", double(state) },
        { "c", double(state) } },
      body = function(x, h, c)
        local options = { name = "l", h0 = h, c0 = kind == "lstm" and c or nil }
        for key, value in pairs(o) do options[key] = value end
        local y, last_h, last_c = layers[kind](x, UNITS, options)
        return y, last_h, last_c or c * 1
      end,
    }
  end

  local function far(a, b) return flow.math.abs(a - b):max() end

  for _, kind in ipairs { "rnn", "lstm", "gru" } do
    it("go on from the states of the steps before: " .. kind, function()
      for num_layers = 1, 2 do
        for first = 1, LENGTH - 1 do
          flow.clear_default_session()
          flow.random.seed(3)
          local o = { num_layers = num_layers }
          local whole, head = steps(kind, LENGTH, o), steps(kind, first, o)
          local tail = first * 2 == LENGTH and head or steps(kind, LENGTH - first, o)
          local x = flow.random.normal({ BATCH, LENGTH, SIZE }, { dtype = flow.double })
          local h = flow.random.normal({ num_layers, BATCH, UNITS }, { dtype = flow.double })
          local c = flow.random.normal({ num_layers, BATCH, UNITS }, { dtype = flow.double })
          local y, last_h, last_c = whole(x, h, c)
          local one, h1, c1 = head(flow.slice(x, { 0, 0, 0 }, { BATCH, first, SIZE }), h, c)
          local two, h2, c2 = tail(flow.slice(x, { 0, first, 0 }, { BATCH, LENGTH - first, SIZE }),
            h1, c1)
          assert.is_true(far(flow.concat({ one, two }, 1), y) < 1e-12)
          assert.is_true(far(h2, last_h) < 1e-12 and far(c2, last_c) < 1e-12)
          assert.is_true(far(h1, h) > 1e-3)
        end
      end
    end)

    it("give each direction and layer its own first state: " .. kind, function()
      local o = { num_layers = 2, bidirectional = true }
      local job = steps(kind, 1, o)
      local x = nd.zeros({ BATCH, 1, SIZE }, "float64")
      local zero = nd.zeros({ 4, BATCH, UNITS }, "float64")
      local _, none = job(x, zero, zero)
      for i = 0, 3 do
        local h = nd.zeros({ 4, BATCH, UNITS }, "float64")
        h[i + 1]:fill(1)
        local _, last = job(x, h, zero)
        for k = 0, 3 do
          -- What a state of the first layer changes is seen in the second one, too.
          local changes = far(last[k + 1], none[k + 1]) > 1e-9
          assert.equal(k == i or i < 2 and k > 1, changes)
        end
      end
    end)
  end

  -- Layers that give what they get, as long as nothing is dropped.
  local function dropped(mode, num_layers, rate)
    flow.clear_default_session()
    flow.random.seed(1)
    return flow.global_function { name = "t", type = mode, returns = tp.Numpy,
      inputs = { { "x", double { 20, 30, 1 } } },
      body = function(x)
        local scale = flow.get_variable("scale", { 1 }, { dtype = flow.double,
          initializer = flow.ones_initializer() })
        local y = layers.rnn(x * scale, 1, { num_layers = num_layers, nonlinearity = "relu",
          dropout = rate, use_bias = false, trainable = false,
          kernel_initializer = flow.ones_initializer(),
          recurrent_initializer = flow.zeros_initializer() })
        if mode == "train" then flow.optimizer.SGD(0, { momentum = 0 }):minimize(y) end
        return y
      end }(nd.ones({ 20, 30, 1 }, "float64"))
  end

  it("drop elements between layers of train jobs, and nowhere else", function()
    for num_layers = 1, 3 do
      assert.is_true(far(dropped("predict", num_layers, 0.25), nd.ones({ 20, 30, 1 },
        "float64")) == 0)
      local kept, grown, y = 0, (1 / 0.75) ^ (num_layers - 1), dropped("train", num_layers, 0.25)
      for _, value in ipairs(helper.list(y)) do
        assert.is_true(value == 0 or math.abs(value - grown) < 1e-12)
        kept = kept + (value > 0 and 1 or 0)
      end
      -- 600, 450 and 337 are to be expected, give or take 12.
      assert.near(600 * 0.75 ^ (num_layers - 1), kept, num_layers == 1 and 0 or 60)
    end
  end)

  it("name what is wrong", function()
    local function fails(text, o)
      flow.clear_default_session()
      helper.fails(function()
        helper.predict("bad", { 2, 3, 4 }, function(x)
          local y = layers.lstm(x, 5, o(x))
          return y
        end):compile()
      end, text)
    end
    fails("layers.lstm: h0 must have shape (2, 2, 5) (layers * directions, batch, units), got "
      .. "(2, 3, 4)", function(x) return { h0 = x, bidirectional = true } end)
    fails("layers.lstm: c0 must have shape (1, 2, 5)", function(x) return { c0 = x } end)
    fails("layers.lstm: h0 must be a blob, got number 1", function() return { h0 = 1 } end)
    fails("layers.lstm: dropout must be a number from 0 to below 1, got 1",
      function() return { dropout = 1 } end)
    fails("layers.lstm: dropout must be a number from 0 to below 1, got -0.5",
      function() return { dropout = -0.5 } end)
    fails("layers.lstm: num_layers must be a whole number from 1 to 1000, got 1001",
      function() return { num_layers = 1001 } end)
    fails("layers.lstm: num_layers must be a whole number from 1 to 1000",
      function() return { num_layers = 0 } end)
  end)
end)
