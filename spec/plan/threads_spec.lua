-- Large products and convolutions are cut into pieces for threads to take. The results must not
-- tell how many threads there were.
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing

--- The largest difference of two arrays' elements.
local function apart(a, b)
  return flow.math.reduce_max(flow.math.abs(a - b)):item()
end

--- What a training job makes of its variables in two steps; its loss is the mean of net(x).
local function trained(net, shape, threads)
  flow.clear_default_session()
  flow.config.threads(threads)
  flow.random.seed(7)
  local job = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } },
    body = function(x)
      -- A variable before the net makes it pass a gradient on to its input.
      local scale = flow.get_variable("scale",
        { shape = { 1 }, initializer = flow.ones_initializer() })
      local y = net(x * scale)
      local loss = flow.math.reduce_mean(y * y)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end,
  }
  local x = nd.rand(shape)
  local losses = { job(x):item(), job(x):item() }
  return losses, flow.get_all_variables()
end

local function weights(shape)
  return flow.get_variable("b", { shape = shape, initializer = flow.truncated_normal(0.1) })
end

local function dense(units)
  return function(x) return flow.layers.dense(x, units, { name = "layer" }) end
end

local function conv(filters, kernel, options)
  options = options or {}
  options.name = "layer"
  return function(x) return flow.layers.conv2d(x, filters, kernel, options) end
end

local nets = {
  ["many columns"] = { dense(700), { 60, 500 } },
  ["many rows, few columns"] = { dense(20), { 3000, 300 } },
  ["a last piece that is smaller"] = { dense(391), { 130, 777 } },
  ["a batch of matrices"] = { function(x)
    return flow.matmul(x, weights { 9, 120, 250 })
  end, { 9, 150, 120 } },
  ["a few large matrices, transposed"] = { function(x)
    return flow.matmul(x, weights { 2, 400, 300 }, { transpose_a = true, transpose_b = true })
  end, { 2, 300, 350 } },
  ["images"] = { conv(24, 3, { strides = 2, padding = "SAME" }), { 21, 16, 24, 24 } },
  ["one image"] = { conv(128, 3, { strides = 2, padding = "SAME" }), { 1, 64, 32, 32 } },
  ["images of one channel"] = { conv(32, 5, { padding = "SAME" }), { 30, 1, 28, 28 } },
  ["channels in groups"] = { conv(32, 3, { groups = 4, strides = 2 }), { 10, 16, 30, 30 } },
  ["images for transforms"] = { conv(32, 3, { padding = "SAME" }), { 10, 32, 20, 20 } },
  ["many tiles of images"] = { conv(80, 3, { padding = "SAME" }), { 8, 48, 24, 24 } },
  ["small images, many channels"] = { conv(256, 1), { 9, 256, 14, 14 } },
}

describe("threads", function()
  after_each(flow.clear_default_session)

  for name, net in pairs(nets) do
    it("do not change results: " .. name, function()
      local losses, variables = trained(net[1], net[2], 1)
      for _, threads in ipairs { 2, 5 } do
        local again, others = trained(net[1], net[2], threads)
        assert.same(losses, again)
        for v, value in pairs(variables) do
          assert.equal(0, apart(value, others[v]), ("%s with %d threads"):format(v, threads))
        end
      end
      flow.clear_default_session()
      flow.config.kernels("reference")
      local plain = trained(net[1], net[2], 2)
      for i, loss in ipairs(losses) do assert.near(plain[i], loss, 1e-4 * math.abs(plain[i])) end
    end)
  end
end)
