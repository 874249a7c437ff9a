--- Functions at the ends of the range and close to their poles. The values are those of PyTorch.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd, tp = flow.ndarray, flow.typing
local inf = math.huge

local CASES = {
  { "float64", "gelu", { 1.7e308, -1.7e308, 0.5, -0.5, inf },
    { 1.7e308, 0, 0.34573123063700656, -0.15426876936299344, inf } },
  { "float32", "gelu", { 3e38, -3e38, 0.5, inf }, { 3e38, 0, 0.3457312306, inf } },
  { "float64", "gelu_tanh", { 1.7e308, -1.7e308, inf }, { 1.7e308, 0, inf } },
  { "float32", "gelu_tanh", { 3e38, -3e38, inf }, { 3e38, 0, inf } },
  { "float64", "digamma", { -1e-10, -1e-100, -1e-200, -1e-310, -0.5, -2.5 },
    { 9999999999.422785, 1e100, 1e200, inf, 0.03648997397857652, 1.1031566406452432 } },
  { "float32", "digamma", { -1e-7, -1e-20, -1e-40, 0.5 }, { 1e7, 1e20, inf, -1.963510026 } },
}
local SLOPES = {
  { "float64", "digamma", { -1e-10, -1e-100, -1e-200, -0.5 },
    { 1e20, 1e200, inf, 8.934802200544679 } },
  { "float32", "digamma", { -1e-7, -1e-20, -0.5 }, { 1e14, inf, 8.9348022 } },
  { "float64", "lgamma", { -1e-10, -1e-100 }, { 9999999999.422785, 1e100 } },
}

local function op_of(name) return flow.math[name] or flow.nn[name] end

local function check(wanted, got, dtype)
  local bound = dtype == "float64" and 1e-13 or 1e-5
  for i, want in ipairs(wanted) do
    local near = got[i] == want or math.abs(got[i] - want) <= bound * math.abs(want)
    assert(near, ("number %d must be %.17g, got %.17g"):format(i, want, got[i]))
  end
end

-- The slopes of a function at the numbers in x: the gradient of the sum of its values.
local function slopes(name, x)
  local got
  local n = x.shape[1]
  flow.clear_default_session()
  local job = helper.train("slopes", {
    inputs = { { "x", tp.Numpy.Placeholder({ n }, { dtype = x.dtype }) } },
    body = function(at)
      local w = flow.get_variable("w", { n }, { dtype = x.dtype,
        initializer = flow.zeros_initializer() })
      local sum = at + w
      flow.watch_diff(sum, function(dx) got = dx:totable() end)
      local loss = flow.math.reduce_sum(op_of(name)(sum))
      flow.optimizer.SGD(0):minimize(loss)
      return loss
    end })
  job(x)
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
      check(y, slopes(name, nd.array(x, { dtype = dtype })), dtype)
    end)
  end
end)
