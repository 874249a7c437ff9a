--- Functions at the ends of the range and close to their poles. The values are those of PyTorch.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd, tp = flow.ndarray, flow.typing
local inf, nan = math.huge, 0 / 0

local CASES = {
  { "float64", "gelu", { 1.7e308, -1.7e308, 0.5, -0.5, inf },
    { 1.7e308, 0, 0.34573123063700656, -0.15426876936299344, inf } },
  { "float32", "gelu", { 3e38, -3e38, 0.5, inf }, { 3e38, 0, 0.3457312306, inf } },
  { "float64", "gelu_tanh", { 1.7e308, -1.7e308, inf }, { 1.7e308, 0, inf } },
  { "float32", "gelu_tanh", { 3e38, -3e38, inf }, { 3e38, 0, inf } },
  { "float64", "digamma", { -1e-10, -1e-100, -1e-200, -1e-310, -0.5, -2.5 },
    { 9999999999.422785, 1e100, 1e200, inf, 0.03648997397857652, 1.1031566406452432 } },
  { "float32", "digamma", { -1e-7, -1e-20, -1e-40, 0.5 }, { 1e7, 1e20, inf, -1.963510026 } },
  { "float32", "nn.mish", { -80, -88, 0.5 },
    { -1.4438810169501244e-33, -5.3280493069724375e-37, 0.37524524331092834 } },
}
local SLOPES = {
  { "float64", "digamma", { -1e-10, -1e-100, -1e-200, -0.5 },
    { 1e20, 1e200, inf, 8.934802200544679 } },
  { "float32", "digamma", { -1e-7, -1e-20, -0.5 }, { 1e14, inf, 8.9348022 } },
  { "float64", "lgamma", { -1e-10, -1e-100 }, { 9999999999.422785, 1e100 } },
  { "float32", "nn.mish", { -80, -88, 0.5 },
    { -1.4258324950546982e-33, -5.2675033481724166e-37, 0.88642442226409912 } },
  { "float32", "nn.selu", { -inf, -2, 1 }, { 0, 0.23793286085128784, 1.0507010221481323 } },
  { "float64", "nn.selu", { -inf, -2, 1 }, { 0, 0.2379328722516818, 1.0507009873554805 } },
}
local OF_TWO = {
  { "maximum", { nan, 1, nan, -1, 3 }, { 1, nan, nan, 2, inf }, { nan, nan, nan, 2, inf } },
  { "minimum", { nan, 1, nan, -1, 3 }, { 1, nan, nan, 2, -inf }, { nan, nan, nan, -1, -inf } },
}
-- Of two equal numbers the first has the whole slope, where PyTorch shares it; where PyTorch gives
-- nan for a base or a logarithm of 0 that has no slope, that is 0, as in TensorFlow.
local SLOPES_OF_TWO = {
  { "maximum", { 1, 2, nan, 1 }, { 2, 1, 1, nan }, { 0, 1, 1, 1 }, { 1, 0, 1, 1 } },
  { "minimum", { 1, 2, nan, 1 }, { 2, 1, 1, nan }, { 1, 0, 1, 1 }, { 0, 1, 1, 1 } },
  { "atan2", { 0, 0, -0.0, 1, 3 }, { 0, 1, -1, 0, 4 }, { 0, 1, -1, 0, 0.16 },
    { 0, 0, 0, -1, -0.12 } },
  { "xlogy", { 0, 0, 0, 0, 2, 0, 0 }, { 0, 1, -1, inf, 3, 0.5, nan },
    { 0, 0, 0, inf, 1.0986122886681098, -0.6931471805599453, nan }, { 0, 0, 0, 0, 2 / 3, 0, 0 } },
  { "pow", { 0, 0, 0, 0, -2, 2, nan, nan }, { 0, 1, 2, -1, 2, 0.5, 0, 2 },
    { 0, 1, 0, -inf, -4, 0.35355339059327373, 0, nan },
    { 0, 0, 0, -inf, 0, 0.9802581434685472, nan, nan } },
}
local PAIR, EQUAL = { 300, 400 }, { 3e4, 3e4 }
local ROWS = { { 300, 400 }, { 0, 0 } }
-- What the squares of numbers in 16 bits add up to, between, is beyond float16.
local OF_SQUARES = {
  { "float16", "reduce_euclidean_norm", { PAIR }, { 500 } },
  { "float16", "reduce_euclidean_norm", { EQUAL }, { 42432 } },
  { "bfloat16", "reduce_euclidean_norm", { EQUAL }, { 42240 } },
  { "float16", "reduce_std", { { 1000, 9000 } }, { 4000 } },
  { "float16", "reduce_std", { { 1e-4, 2e-4 } }, { 5.0008296966552734e-05 } },
  { "bfloat16", "reduce_variance", { PAIR }, { 2496 } },
  { "float16", "nn.moments", { { 1000, 1300, 1600, 1000 }, 0 }, { 61888 } },
  { "float16", "l2_normalize", { ROWS, 1 }, { 0.60009765625, 0.7998046875, 0, 0 } },
  { "float16", "nn.cosine_similarity", { PAIR, { 400, 300 }, 0 }, { 0.9599609375 } },
  { "float16", "nn.pairwise_distance", { ROWS, { { 400, 300 }, { 300, 0 } } }, { 141.375, 300 } },
  { "float16", "nn.triplet_margin_loss", { PAIR, { 0, 0 }, { 300, 0 } }, { 101 } },
}

local function op_of(name)
  local of_networks = name:match "^nn%.(.*)"
  return of_networks and flow.nn[of_networks] or flow.math[name]
end

local function check(wanted, got, dtype)
  local bound = dtype == "float64" and 1e-13 or 1e-5
  for i, want in ipairs(wanted) do
    local near = got[i] == want or math.abs(got[i] - want) <= bound * math.abs(want)
      or want ~= want and got[i] ~= got[i]
    assert(near, ("number %d must be %.17g, got %.17g"):format(i, want, got[i]))
  end
end

-- The slopes of a function at the numbers in each of the lists: the gradients of the sum of its
-- values.
local function slopes(name, dtype, ...)
  local given, got, inputs = { ... }, {}, {}
  local n = #given[1]
  flow.clear_default_session()
  for i, x in ipairs(given) do
    given[i] = nd.array(x, { dtype = dtype })
    inputs[i] = { "x" .. i, tp.Numpy.Placeholder({ n }, { dtype = dtype }) }
  end
  local job = helper.train("slopes", { inputs = inputs, body = function(...)
    local at = { ... }
    for i, x in ipairs(at) do
      at[i] = x + flow.get_variable("w" .. i, { n }, { dtype = dtype,
        initializer = flow.zeros_initializer() })
      flow.watch_diff(at[i], function(dx) got[i] = dx:totable() end)
    end
    local loss = flow.math.reduce_sum(op_of(name)(unpack(at)))
    flow.optimizer.SGD(0):minimize(loss)
    return loss
  end })
  job(unpack(given))
  flow.sync()
  return got
end

describe("at the ends of the range", function()
  for _, case in ipairs(CASES) do
    local dtype, name, x, y = unpack(case)
    it(("%s of %s equals PyTorch's"):format(name, dtype), function()
      check(y, op_of(name)(nd.array(x, { dtype = dtype })):totable(), dtype)
    end)
  end

  for _, case in ipairs(SLOPES) do
    local dtype, name, x, y = unpack(case)
    it(("the slope of %s of %s equals PyTorch's"):format(name, dtype), function()
      check(y, slopes(name, dtype, x)[1], dtype)
    end)
  end

  for _, case in ipairs(OF_TWO) do
    local name, a, b, y = unpack(case)
    for _, dtype in ipairs { "float16", "bfloat16", "float32", "float64" } do
      it(("%s of %s equals PyTorch's"):format(name, dtype), function()
        local o = { dtype = dtype }
        check(y, op_of(name)(nd.array(a, o), nd.array(b, o)):totable(), dtype)
      end)
    end
  end

  for _, case in ipairs(SLOPES_OF_TWO) do
    local name, a, b, da, db = unpack(case)
    for _, dtype in ipairs { "float32", "float64" } do
      it(("the slopes of %s of %s equal PyTorch's"):format(name, dtype), function()
        local got = slopes(name, dtype, a, b)
        check(da, got[1], dtype)
        check(db, got[2], dtype)
      end)
    end
  end

  for i, case in ipairs(OF_SQUARES) do
    local dtype, name, given, y = unpack(case)
    it(("%d: %s of %s equals PyTorch's"):format(i, name, dtype), function()
      local x = {}
      for k, value in ipairs(given) do
        x[k] = type(value) == "table" and nd.array(value, { dtype = dtype }) or value
      end
      local first, second = op_of(name)(unpack(x))
      local got = second or first
      assert.equal(dtype, got.dtype)
      check(y, got:reshape { -1 }:totable(), dtype)
    end)
  end

  -- Windows that an infinity is not in, whatever the fast kernels read beside them.
  it("convolutions of bfloat16 keep an infinity to its windows", function()
    for channels = 1, 5 do
      local shapes = { NCHW = { { 1, channels, 8, 8 }, { 8, channels, 3, 3 } },
        NHWC = { { 1, 8, 8, channels }, { 8, 3, 3, channels } } }
      for format, of in pairs(shapes) do
        for _, at in ipairs { 2, 3, 38, 64 } do
          local x = nd.ones { channels * 64 }
          x[at] = inf
          local function result(dtype)
            return flow.nn.conv2d(x:reshape(of[1]):astype(dtype), nd.ones(of[2]):astype(dtype), 1,
              "SAME", format):astype("float32"):totable()
          end
          assert.same(result "float32", result "bfloat16")
        end
      end
    end
  end)
end)
