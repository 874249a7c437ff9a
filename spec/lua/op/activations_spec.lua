-- Activations that are made of ops: what they refuse, and what chance gives. Their values are
-- compared with PyTorch's in spec/oracle/math.lua.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, nn = flow.ndarray, flow.nn

describe("activations made of ops", function()
  it("name what is wrong", function()
    local x = nd.ones({ 2, 3 })
    helper.fails(function() nn.glu(x) end,
      "nn.glu: x must have an even extent along axis 1, got 3")
    helper.fails(function() nn.celu(x, 0) end, "nn.celu: alpha must be a number above 0, got 0")
    helper.fails(function() nn.threshold(x, "a", 1) end, "nn.threshold: threshold must be a number")
    helper.fails(function() nn.gumbel_softmax(x, -1) end,
      "nn.gumbel_softmax: tau must be a number above 0, got -1")
    helper.fails(function() nn.gumbel_softmax(3) end, "nn.gumbel_softmax: x must be a blob or an "
      .. "NdArray, got number 3")
  end)

  it("take choices as often as logits say", function()
    flow.random.seed(3)
    local logits = flow.math.log(nd.array { 0.7, 0.2, 0.1 }) * nd.ones { 4000, 1 }
    local soft = nn.gumbel_softmax(logits, 0.5)
    local sums = soft:sum(1)
    assert.is_true(math.abs(sums:max() - 1) < 1e-5 and math.abs(sums:min() - 1) < 1e-5)
    local shares = nn.gumbel_softmax(logits, { hard = true }):mean(0)
    for i, share in ipairs { 0.7, 0.2, 0.1 } do assert.near(share, shares[i], 0.03) end
    -- Beside such numbers the noise is nothing: 0 and 1 are left.
    local even = nn.gumbel_softmax(nd.array { { 0, 1e6 } }, 1e6)
    assert.near(1 / (1 + math.exp(1)), even[1][1], 1e-3)
    assert.near(1 / (1 + math.exp(-1)), even[1][2], 1e-3)
  end)

  it("give whole choices the gradient of soft ones", function()
    local function slopes(hard)
      flow.clear_default_session()
      flow.random.seed(3)
      local job = flow.global_function { name = "g", type = "train", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder { 4, 3 } } },
        body = function(x)
          local w = flow.get_variable("w", { 4, 3 }, { initializer = flow.zeros_initializer() })
          local y = nn.gumbel_softmax(x + w, { hard = hard, name = "y" })
          flow.optimizer.SGD(1, { momentum = 0 }):minimize(y * flow.constant(nd.arange(12)
            :reshape(4, 3)))
          return y
        end }
      job(nd.zeros { 4, 3 })
      return helper.list(flow.get_all_variables().w)
    end
    local soft, hard = slopes(false), slopes(true)
    for i = 1, 12 do assert.near(soft[i], hard[i], 1e-6) end
    assert.is_true(math.abs(soft[1]) > 0)
  end)
end)
