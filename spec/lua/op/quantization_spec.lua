-- flow.quantization against its formulas, written out here, and its gradient.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing
local q = flow.quantization

after_each(flow.clear_default_session)

local function near(want, got, tol)
  assert.equal(#want, #got)
  for i = 1, #want do
    assert.is_true(math.abs(want[i] - got[i]) <= (tol or 1e-6) * math.max(1, math.abs(want[i])),
      ("number %d: %g, expected %g"):format(i, got[i], want[i]))
  end
end

local function round(v)
  local low = math.floor(v)
  if v - low ~= 0.5 then return math.floor(v + 0.5) end
  return low % 2 == 0 and low or low + 1
end

local list = { -1.7, -0.42, 0, 0.33, 0.9, 2.6 }
local x = nd.array(list)

describe("quantization.min_max_observer", function()
  it("finds scales and zero points of each kind", function()
    local scale, zero = q.min_max_observer(x)
    near({ 2.6 / 127 }, scale:totable())
    assert.same({ 0 }, zero:totable())
    scale, zero = q.min_max_observer(x, { quantization_scheme = "affine", quantization_bit = 4 })
    near({ 4.3 / 15 }, scale:totable())
    assert.same({ round(1.7 / (4.3 / 15)) }, zero:totable())
    scale, zero = q.min_max_observer(x, { quantization_formula = "cambricon" })
    assert.same({ 1 - 6 }, scale:totable())
    assert.same({ 0 }, zero:totable())
  end)

  it("finds one for each index of axis 0", function()
    local rows = nd.array { { 1, -3, 2 }, { 0.5, 0, 0.25 } }
    local scale, zero = q.min_max_observer(rows, { per_layer_quantization = false })
    near({ 3 / 127, 0.5 / 127 }, scale:totable())
    assert.same({ 0, 0 }, zero:totable())
  end)

  it("names bad arguments", function()
    helper.fails(function() q.min_max_observer(3) end,
      "quantization.min_max_observer: input must be a blob or an NdArray, got number 3")
    helper.fails(function() q.min_max_observer(x, { quantization_bit = 1 }) end,
      "quantization_bit must be")
    helper.fails(function() q.min_max_observer(x, { quantization_scheme = "odd" }) end,
      "quantization_scheme must be \"symmetric\" or \"affine\", got string 'odd'")
    helper.fails(function() q.min_max_observer(x, { per_layer_quantization = false }) end,
      "input must have two or more axes")
  end)
end)

describe("quantization.fake_quantization", function()
  local function expected(scale, zero, least, most)
    local want = {}
    for i, v in ipairs(list) do
      local k = math.max(least, math.min(most, round(v / scale) + zero))
      want[i] = (k - zero) * scale
    end
    return want
  end

  it("rounds to what integers stand for, and clips", function()
    local scale, zero = nd.array { 0.25 }, nd.array { 0 }
    local four = { quantization_bit = 4 }
    near(expected(0.25, 0, -8, 7), q.fake_quantization(x, scale, zero, four):totable())
    near(expected(0.25, 3, 0, 15), q.fake_quantization(x, scale, nd.array { 3 },
      { quantization_bit = 4, quantization_scheme = "affine" }):totable())
    near(expected(0.5, 0, -8, 7), q.fake_quantization(x, nd.array { -1 }, zero,
      { quantization_bit = 4, quantization_formula = "cambricon" }):totable())
    assert.same({ 0, 0 }, q.fake_quantization(nd.array { 0, 3 }, zero, zero):totable())
  end)

  it("takes a scale for each index of axis 0", function()
    local rows = nd.array { { 1, 0.3 }, { 1, 0.3 } }
    assert.same({ { 1, 0.5 }, { 1, 0.25 } },
      q.fake_quantization(rows, nd.array { 0.5, 0.25 }, nd.array { 0, 0 }):totable())
    helper.fails(function() q.fake_quantization(rows, nd.ones { 3 }, nd.ones { 1 }) end,
      "scale must be (1) or (2), one for each index of axis 0, got (3)")
  end)

  it("passes gradients straight through, to the input alone", function()
    local job = flow.global_function { name = "j", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 3 }) } },
      body = function(input)
        local w = flow.get_variable("w", { shape = { 3 }, initializer = flow.ones_initializer() })
        local y = w * input
        local scale, zero = q.min_max_observer(y, { quantization_bit = 3 })
        y = q.fake_quantization(y, scale, zero, { quantization_bit = 3 })
        flow.optimizer.SGD(1):minimize(y)
        return y
      end }
    near({ 1, -2, 3 }, job({ 1.1, -2.4, 3 }):totable())
    near({ 1 - 1.1 / 3, 1 + 2.4 / 3, 1 - 3 / 3 }, flow.get_all_variables().w:totable())
  end)
end)

describe("quantization.moving_average_min_maxObserver", function()
  local function observer(name, mode, scheme)
    return flow.global_function { name = name, type = mode,
      returns = tp.Tuple(tp.Numpy, tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 4 }) } },
      body = function(input)
        local scale, zero = q.moving_average_min_maxObserver(input, { name = "range",
          quantization_scheme = scheme, momentum = 0.75 })
        if mode == "train" then
          local w = flow.get_variable("w", { shape = { 4 }, initializer = flow.ones_initializer() })
          flow.optimizer.SGD(0):minimize(w * input)
        end
        return scale, zero
      end }
  end

  it("keeps averages in train jobs, which predict jobs use", function()
    local train, predict = observer("train", "train", "affine"), observer("ask", nil, "affine")
    train({ -1, 0, 2, 3 })
    near({ 3 }, flow.get_all_variables()["range-moving_max"]:totable())
    local scale, zero = train({ -3, 0, 1, 5 })
    near({ 3.5 }, flow.get_all_variables()["range-moving_max"]:totable())
    near({ -1.5 }, flow.get_all_variables()["range-moving_min"]:totable())
    near({ 5 / 255 }, scale:totable())
    near({ 1.5 / (5 / 255) }, zero:totable())
    scale = predict({ 100, 0, 0, 0 })
    near({ 5 / 255 }, scale:totable())
    near({ 3.5 }, flow.get_all_variables()["range-moving_max"]:totable())
  end)

  it("keeps the largest magnitude where 0 is the middle", function()
    local train = observer("train", "train", "symmetric")
    local scale = train({ -4, 0, 2, 3 })
    near({ 4 / 127 }, scale:totable())
    near({ 4 }, flow.get_all_variables()["range-moving_max"]:totable())
  end)
end)
