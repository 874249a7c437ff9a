-- Predict jobs whose products read integers: what they become, and that results stay those of the
-- float32 that the graph describes, but for numbers that fall on the other side of a half.
local flow = require "jfl"
local core = require "jfl.core"

local nd, tp = flow.ndarray, flow.typing

after_each(flow.clear_default_session)

local function distance(a, b) return (a - b):abs():max() end

local function predict(name, shape, body)
  return flow.global_function { name = name, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } }, body = body }
end

local function conv(x, name, filters, options)
  local o = { name = name, padding = "SAME" }
  for key, value in pairs(options or {}) do o[key] = value end
  return flow.layers.conv2d(x, filters, 3, o)
end

local function count(text, word) return select(2, text:gsub(word, "")) end

-- Whether a kernel of this machine computes with integers.
local function has_kernel()
  local list = {}
  for i, each in ipairs { { "uint8", { 1, 8, 8, 16 } }, { "int8", { 16, 1, 1, 16 } },
    { "float32", { 16 } } } do
    list[i] = { "v" .. i, tp.Numpy.Placeholder(each[2], each[1]) }
  end
  return flow.global_function { name = "try", returns = tp.Numpy, inputs = list,
    body = function(x, f, line) return core.op "quantized_conv2d"(x, f, line, line) end
  }:plan():find("dnnl_quantized_conv2d", 1, true) ~= nil
end

-- Compares a network in float32, in int8 by integers and in int8 by floats; n: how many products
-- become such of integers, of which so many give integers.
local function check(shape, body, n, integers)
  local x = nd.rand(shape) * 2 - 1
  local job = predict("job", shape, body)
  local before = job(x)
  flow.quantization.quantize("*", { form = "int8", job = job, batches = { x } })
  local after, text = job(x), job:graph("optimized")
  flow.config.passes("-integers")
  local floats = predict("floats", shape, body)(x)
  flow.config.passes("")
  local most = before:abs():max()
  assert.is_true(distance(floats, before) < 0.05 * most, distance(floats, before) / most)
  assert.is_true(distance(floats, before) > 0)
  assert.is_true(distance(after, floats) < 0.01 * most, distance(after, floats) / most)
  if not has_kernel() then return end
  assert.equal(n, count(text, "= quantized_conv2d"))
  assert.equal(integers, count(text, ": u?int8 %b() = quantized_conv2d"))
  assert.equal(0, count(text, "= conv2d") + count(text, "= matmul"))
end

local op = core.op

--- v as integers of that dtype and scale, by which they are multiplied again.
local function rounded(v, scale, zero, dtype)
  local q = op "round"(op "divide"(v, scale))
  q = op "cast"(zero == 0 and q or op "add"(q, zero), { dtype = dtype })
  local back = op "cast"(q, { dtype = "float32" })
  return op "multiply"(zero == 0 and back or op "subtract"(back, zero), scale)
end

local function filters(shape)
  local w = op "array" { value = (nd.rand(shape) * 200 - 100):astype("int8") }
  return op "multiply"(op "cast"(w, { dtype = "float32" }), 2 ^ -9)
end

--- Compares a job on integers with that on floats; gives its graph.
local function check_exact(shape, body)
  local function seeded(v)
    flow.random.seed(3)
    return body(v)
  end
  local x = nd.rand(shape) * 4 - 2
  local job = predict("job", shape, seeded)
  local y = job(x)
  flow.config.passes("-integers")
  assert.equal(0, distance(predict("floats", shape, seeded)(x), y))
  flow.config.passes("")
  assert.is_true(y:max() > y:min())
  return job:graph("optimized")
end

describe("products of integers", function()
  it("stay integers from one convolution to the next, with a residual and a pool", function()
    check({ 2, 3, 12, 12 }, function(v)
      v = conv(v, "first", 16, { activation = flow.nn.relu })
      local y = flow.layers.batch_normalization(conv(v, "second", 16, { use_bias = false }),
        { axis = 1, name = "norm" })
      v = flow.nn.max_pool2d(flow.nn.relu(v + y), 2, 2, "VALID")
      return flow.layers.dense(flow.reshape(v, { 2, -1 }), 5, { name = "last" })
    end, 3, 2)
  end)

  it("are of filters that a batch normalization scales, also by 0", function()
    local uniform = flow.random_uniform_initializer
    for _, gamma in ipairs { uniform(-2, 2), flow.zeros_initializer() } do
      check({ 2, 3, 8, 8 }, function(v)
        v = conv(v, "first", 8, { use_bias = false })
        v = flow.layers.batch_normalization(v, { axis = 1, name = "norm",
          gamma_initializer = gamma, beta_initializer = uniform(-1, 1),
          moving_variance_initializer = uniform(0.5, 2), moving_mean_initializer = uniform(-1, 1) })
        return conv(v, "second", 4)
      end, 2, 1)
      flow.clear_default_session()
    end
  end)

  it("are of images in both orders, in groups, with steps and without a bias", function()
    check({ 2, 9, 8, 4 }, function(v)
      v = conv(v, "first", 16, { data_format = "NHWC", strides = 2, activation = flow.nn.relu })
      return conv(v, "second", 8, { data_format = "NHWC", use_bias = false })
    end, 2, 1)
    flow.clear_default_session()
    check({ 1, 8, 9, 9 }, function(v)
      return conv(conv(v, "first", 16, { groups = 2 }), "second", 8, { dilation_rate = 2 })
    end, 2, 1)
  end)

  it("give floats to what reads floats, and add a residual of floats", function()
    check({ 2, 4, 8, 8 }, function(v)
      local y = flow.math.tanh(conv(v, "first", 8))
      local z = flow.math.sigmoid(conv(v, "other", 8))
      return conv(y, "second", 8) + z
    end, 3, 0)
  end)

  -- Scales are powers of 2, so that floats compute the same numbers.
  it("may stand for 0 by another integer than 0, also where borders are padded", function()
    local text = check_exact({ 2, 4, 5, 5 }, function(v)
      local x = rounded(v, 2 ^ -6, 135, "uint8")
      local y = op "conv2d"(x, filters { 6, 4, 3, 3 }, { padding = "SAME" })
      y = rounded(flow.nn.relu(op "bias_add"(y, op "array" { value = nd.arange(6) / 8 })), 2 ^ -5,
        7, "uint8")
      local z = op "conv2d"(y, filters { 6, 6, 3, 3 }, { padding = "SAME" })
      z = rounded(z, 2 ^ -4, -9, "int8")
      z = rounded(op "add"(z, y):reshape { 2, -1 }, 2 ^ -4, 99, "uint8")
      local sums = flow.matmul(z, filters { 3, 150 }, { transpose_b = true })
      return rounded(sums, 2 ^ -3, 128, "uint8")
    end)
    if not has_kernel() then return end
    assert.equal(3, count(text, ": u?int8 %b() = quantized_conv2d"))
    assert.equal(1, count(text, "first=int8 first_zero=%-9 residual_zero=7"))
  end)

  it("are added to others, also of another product, as onnxruntime writes it", function()
    for _, zero in ipairs { 0, 11 } do
      for _, first in ipairs { "uint8", "int8" } do
        local text = check_exact({ 1, 4, 6, 6 }, function(v)
          local x = rounded(v, 2 ^ -6, 128, "uint8")
          local a = op "conv2d"(x, filters { 8, 4, 3, 3 }, { padding = "SAME" })
          local b = op "conv2d"(x, filters { 8, 4, 1, 1 })
          a = rounded(zero == 0 and flow.nn.relu(a) or a, 2 ^ -5, zero, first)
          b = rounded(b, 2 ^ -4, -3, "int8")
          local y = rounded(flow.nn.relu(op "add"(b, a)), 2 ^ -5, zero, "uint8")
          return op "conv2d"(y, filters { 2, 8, 1, 1 })
        end)
        if has_kernel() then
          assert.equal(3, count(text, "= quantized_conv2d"))
          assert.equal(1, count(text, "first=u?int8"), text)
        end
        flow.clear_default_session()
      end
    end
  end)

  it("are of one row and of many", function()
    for _, rows in ipairs { 1, 70 } do
      check({ rows, 40 }, function(v)
        v = flow.layers.dense(v, 24, { name = "first", activation = flow.nn.relu })
        return flow.layers.dense(v, 3, { name = "second" })
      end, 2, 1)
      flow.clear_default_session()
    end
  end)

  it("whose sums would not fit stay products of floats", function()
    local x = nd.rand({ 1, 70000 })
    local job = predict("job", { 1, 70000 }, function(v)
      return flow.layers.dense(v, 2, { name = "first" })
    end)
    local before = job(x)
    flow.quantization.quantize("*", { form = "int8", job = job, batches = { x } })
    assert.is_true(distance(job(x), before) < 0.05 * before:abs():max() + 0.05)
    assert.equal(0, count(job:graph("optimized"), "quantized_conv2d"))
  end)

  it("are left to train jobs and to reference kernels as they were", function()
    local x = nd.rand({ 2, 8 })
    local job = predict("job", { 2, 8 }, function(v)
      return flow.layers.dense(v, 4, { name = "first" })
    end)
    job(x)
    flow.quantization.quantize("*", { form = "int8", job = job, batches = { x } })
    core.set("kernels", "reference")
    local text = predict("plain", { 2, 8 }, function(v)
      return flow.layers.dense(v, 4, { name = "first" })
    end):graph("optimized")
    core.set("kernels", "fast")
    assert.equal(0, count(text, "quantized_conv2d"))
    assert.equal(1, count(text, "round"))
    local step = flow.global_function { name = "step", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 2, 8 }) } }, body = function(v)
        v = flow.layers.dense(flow.layers.dense(v, 4, { name = "first" }), 1, { name = "new" })
        local loss = flow.math.reduce_mean(flow.math.square(v - 1))
        flow.optimizer.SGD(0.1):minimize(loss)
        return loss
      end }
    local first = step(x):item()
    assert.is_true(step(x):item() < first)
    assert.equal(0, count(step:graph("optimized"), "round"))
  end)
end)
