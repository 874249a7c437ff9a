-- Networks whose channels are last run on blocks of channels on CPUs, and give what plain kernels
-- give. #cpu
local core = require "jfl.core"
local flow = require "jfl"
local tp = flow.typing

after_each(function()
  core.set("passes", "")
  core.set("kernels", "fast")
  core.set("cpu_devices", 1)
  flow.clear_default_session()
end)

local function conv(v, filters, name, options)
  options.data_format, options.name = "NHWC", name
  options.kernel_initializer = flow.truncated_normal(0.2)
  return flow.layers.conv2d(v, filters, 3, options)
end

--- A batch norm, a pool, a sum, a scale along channels, a mean and a condition, which is of bytes,
--- between convolutions.
local function body(kind, o)
  return function(x)
    x = conv(x, 32, "a", { strides = o.strides, padding = "SAME" })
    x = flow.nn.relu(flow.layers.batch_normalization(x, { axis = 3, name = "bn" }))
    local y = conv(x, 32, "b", { padding = { 1, 1, 2, 2 }, dilation_rate = { 1, 2 },
      groups = o.groups })
    x = flow.nn.max_pool2d(x + y, 2, 2, "SAME", { data_format = "NHWC" })
    x = x * flow.math.sigmoid(flow.math.reduce_mean(x, { 1, 2 }, true))
    x = flow.where(flow.math.greater(x, 0), x, x * 0.1)
    x = conv(x, o.filters, "c", {})
    if kind == "predict" then return x end
    local loss = flow.math.reduce_mean(flow.math.square(x))
    flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
    return loss
  end
end

local function run(kind, o, kernels, passes)
  core.set("cpu_devices", o.devices or 1)
  flow.clear_default_session()
  flow.random.seed(3)
  core.set("kernels", kernels)
  core.set("passes", passes)
  local config = flow.function_config()
  config.micro_batches(o.parts or 1)
  local job = flow.global_function { name = "job", type = kind, returns = tp.Numpy,
    function_config = config,
    inputs = { { "x", tp.Numpy.Placeholder { 2, 13, 12, 3 } } }, body = body(kind, o) }
  flow.random.seed(4)
  local x, results = flow.random.normal { 2, 13, 12, 3 }, {}
  for i = 1, 3 do results[i] = job(x) end
  local graph = job:graph "optimized"
  core.set("passes", "")
  core.set("kernels", "fast")
  results[#results + 1] = flow.get_all_variables()["a-weight"]
  return results, graph
end

local function flat(t, list)
  for _, v in ipairs(t) do
    if type(v) == "table" then flat(v, list) else list[#list + 1] = v end
  end
  return list
end

local function numbers(a)
  local t = a:totable()
  return type(t) == "table" and flat(t, {}) or { t }
end

--- Elements may differ by a little of the largest magnitude.
local function assert_close(want, got)
  assert.same(want.shape, got.shape)
  local a, b, scale = numbers(want), numbers(got), 1e-6
  for _, v in ipairs(a) do scale = math.max(scale, math.abs(v)) end
  for i, v in ipairs(a) do assert.is_true(math.abs(v - b[i]) <= 1e-4 * scale) end
end

local CASES = {
  { filters = 16 }, { filters = 16, strides = 2, groups = 32 }, { filters = 48, groups = 2 },
  { filters = 5, strides = 2 },
}

describe("channels that are last #cpu", function()
  for i, case in ipairs(CASES) do
    for _, kind in ipairs { "predict", "train" } do
      it(("give what plain kernels give, case %d, %s"):format(i, kind), function()
        local want = run(kind, case, "reference", "")
        local got, graph = run(kind, case, "fast", "")
        for k, array in ipairs(want) do assert_close(array, got[k]) end
        if i == 1 then
          local _, left = run(kind, case, "fast", "-channels_first")
          assert.is_truthy(left:find("NHWC", 1, true))
          assert.is_nil(graph:find("NHWC", 1, true))
          assert.is_nil(graph:find("axis=3", 1, true))
        end
      end)
    end
  end

  local function transposes(kind, filters)
    local graph = flow.global_function { name = "one", type = kind, returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder { 1, 9, 9, 32 } } },
      body = function(x)
        local y = conv(conv(x, filters, "a", { use_bias = false }), 32, "b", { use_bias = false })
        if kind == "train" then
          flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(flow.math.reduce_mean(y * y))
        end
        return y
      end }:graph "optimized"
    return select(2, graph:gsub("= transpose", "")), graph
  end

  it("are put first on several devices and in parts of a batch too", function()
    for _, kind in ipairs { "predict", "train" } do
      local want = run(kind, { filters = 16 }, "reference", "")
      for _, o in ipairs { { devices = 2 }, { parts = 2 } } do
        o.filters = 16
        local got, graph = run(kind, o, "fast", "")
        for k, array in ipairs(want) do assert_close(array, got[k]) end
        assert.is_nil(graph:find("NHWC", 1, true))
      end
    end
  end)

  it("are turned and cut into blocks by one transpose", function()
    assert.equal(2, (transposes("predict", 32)))       -- the input and the result
  end)

  it("are turned in no step of a training for filters, which are kept as they are read", function()
    local n, graph = transposes("train", 32)
    assert.equal(2, n)
    assert.is_truthy(graph:find("blocks of (32, 3, 3, 32)", 1, true))
    assert.same({ 32, 3, 3, 32 }, flow.get_all_variables()["a-weight"].shape)
  end)

  it("stay last where products of integers want them, and there alone", function()
    local op, nd = core.op, flow.ndarray
    local function body_of_both(x)
      flow.random.seed(5)
      x = flow.nn.relu(conv(x, 16, "a", {}))
      local q = op "cast"(op "round"(op "divide"(x, 2 ^ -5)), { dtype = "uint8" })
      local w = op "array" { value = (nd.rand { 16, 3, 3, 16 } * 200 - 100):astype "int8" }
      x = op "multiply"(op "cast"(q, { dtype = "float32" }), 2 ^ -5)
      w = op "multiply"(op "cast"(w, { dtype = "float32" }), 2 ^ -9)
      return conv(flow.nn.relu(flow.nn.conv2d(x, w, { data_format = "NHWC" })), 16, "b", {})
    end
    local function graph_with(passes)
      core.set("passes", passes)
      return flow.global_function { name = "both", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder { 1, 9, 9, 16 } } }, body = body_of_both
      }:graph "optimized"
    end
    local function count(text, word) return select(2, text:gsub(word, "")) end
    local before, after = graph_with "-channels_first", graph_with ""
    assert.equal(count(before, "quantized_conv2d"), count(after, "quantized_conv2d"))
    assert.equal(3, count(before, "NHWC"))
    assert.equal(1, count(after, "NHWC"))
  end)
end)
