-- Models that PyTorch and scikit-learn wrote, beside what onnxruntime gives for them
-- (scripts/oracles/onnx_cases/models.py).
local flow = require "jfl"
local core = require "jfl.core"
local counts = require "spec.lua.onnx.counts"
local golden = require "spec.golden"
local job_parts = require "jfl.job.parts"

local HERE = "spec/lua/onnx/cases/"

-- Names of models, whether their batch may vary, how many calls there are beside the first, and the
-- patterns that are found in them.
local CASES = {
  resnet = { varies = true }, mobilenet = { varies = true },
  vit = { patterns = { ["attention"] = 1, ["linear"] = 3 } },
  bert = { varies = true, patterns = { ["layer norm"] = 3, ["gelu"] = 1,
    ["attention with a mask"] = 1, ["linear"] = 6 } },
  gpt2 = { patterns = { ["gelu by tanh"] = 1, ["attention with a mask"] = 1 } },
  llama = { patterns = { ["rms norm with weights"] = 3, ["rotary embedding"] = 2, ["silu"] = 1,
    ["attention with a mask"] = 1 } },
  lstm = { varies = true }, gru = { varies = true }, mlp = { varies = true },
  detector = { calls = 2 },              -- scripts/oracles/onnx_cases/detector.py
  -- scripts/oracles/onnx_cases/vectors.py
  svc_two = { varies = true }, svc_three = { varies = true }, svr = { varies = true },
}

-- The inputs and results of the k-th call.
local function call_of(arrays, k)
  local inputs, results = {}, {}
  while arrays[("in_%d_%d"):format(k, #inputs)] do
    inputs[#inputs + 1] = arrays[("in_%d_%d"):format(k, #inputs)]
  end
  while arrays[("out_%d_%d"):format(k, #results)] do
    results[#results + 1] = arrays[("out_%d_%d"):format(k, #results)]
  end
  return #inputs > 0 and inputs or nil, results
end

local function types_of(inputs, varies)
  local types = {}
  for i, a in ipairs(inputs) do
    local shape = { unpack(a.shape) }
    if varies then shape[1] = -1 end
    types[i] = flow.typing.Numpy.Placeholder(shape, { dtype = a.dtype })
  end
  return types
end

local function check_close(want, got, what)
  assert.same(want.shape, got.shape, what)
  if want.size == 0 then return end
  local x, y = core.cast(want, "float64"), core.cast(got, "float64")
  local far, most = flow.math.abs(x - y):max(), flow.math.abs(x):max()
  assert.is_true(far <= 1e-5 * math.max(most, 1), ("%s is off by %g"):format(what, far))
end

describe("an ONNX model", function()
  before_each(function() flow.clear_default_session() end)

  -- scripts/oracles/onnx_cases/quantized.py. Numbers that fall on the other side of a half move
  -- what follows by some steps.
  for _, name in ipairs { "resnet_int8", "resnet_uint8" } do
    it(("in 8 bits gives what onnxruntime does, and its convolutions stay integers: %s"):format(
      name), function()
      local arrays = flow.ndarray.load(HERE .. name .. ".npz")
      local inputs, results = call_of(arrays, 0)
      local job = flow.onnx.load(HERE .. name .. ".onnx"):predict {
        inputs = types_of(inputs, true) }
      local got, most = job(unpack(inputs)), flow.math.abs(results[1]):max()
      assert.same(results[1].shape, got.shape)
      assert.is_true(flow.math.abs(results[1] - got):max() <= 0.02 * most)
      local text = job:graph("optimized")
      local products = select(2, text:gsub("= quantized_conv2d", ""))
      assert.is_true(products == 0 or not text:find("= conv2d", 1, true), text)
    end)
  end

  for name, case in pairs(CASES) do
    it(("gives what onnxruntime does: %s"):format(name), function()
      local arrays = flow.ndarray.load(HERE .. name .. ".npz")
      local net = flow.onnx.load(HERE .. name .. ".onnx")
      local job
      for k = 0, case.calls or case.varies and 1 or 0 do
        local inputs, want = call_of(arrays, k)
        job = job or net:predict { inputs = types_of(inputs, case.varies) }
        local got = { job(unpack(inputs)) }
        assert.equal(#want, #got)
        for i = 1, #want do
          check_close(want[i], got[i], ("%s: call %d, result %d"):format(name, k, i))
        end
      end
    end)

    it(("is all known to flow.onnx.check: %s"):format(name), function()
      local report = flow.onnx.check(HERE .. name .. ".onnx")
      assert.same({}, report.unsupported)
      for pattern, count in pairs(case.patterns or {}) do
        assert.equal(count, report.patterns[pattern], pattern)
      end
    end)
  end

  -- Many graphs give the same numbers; these are those that run well.
  it("becomes the ops that it did", function()
    local lines = {}
    for name in pairs(CASES) do
      flow.clear_default_session()
      local inputs = call_of(flow.ndarray.load(HERE .. name .. ".npz"), 0)
      local net = flow.onnx.load(HERE .. name .. ".onnx")
      local job = net:predict { inputs = types_of(inputs, false) }
      local text = counts.text(job_parts.of(job).nodes, "op")
      lines[#lines + 1] = ("%s: %s\n"):format(name, text)
    end
    table.sort(lines)
    golden.check("onnx_models", table.concat(lines))
  end)
end)

describe("a train job of an ONNX model", function()
  before_each(function() flow.clear_default_session() end)

  -- Loads a model and a job that brings its first result nearer to numbers.
  local function trained(name, options)
    local arrays = flow.ndarray.load(HERE .. name .. ".npz")
    local inputs, results = call_of(arrays, 0)
    local net = flow.onnx.load(HERE .. name .. ".onnx", options or {})
    local types = types_of(inputs)
    types[#types + 1] = flow.typing.Numpy.Placeholder(results[1].shape,
      { dtype = results[1].dtype })
    local step = net:train { inputs = types, optimizer = flow.optimizer.SGD(1e-3),
      loss = function(...)
        local list = { ... }
        return flow.math.reduce_mean(flow.math.square(list[1] - list[#list]))
      end }
    inputs[#inputs + 1] = results[1] * 0.5
    return net, function() return (step(unpack(inputs))):mean() end
  end

  for _, name in ipairs { "resnet", "mobilenet", "vit", "bert", "gpt2", "llama", "lstm", "gru" } do
    it(("makes its loss smaller: %s"):format(name), function()
      local _, step = trained(name)
      local first, last = step(), nil
      for _ = 1, 3 do last = step() end
      assert.is_true(last < first, ("%g, then %g"):format(first, last))
    end)
  end

  it("changes weights, and no statistics unless it is told to", function()
    local net, step = trained "resnet"
    step()
    local before = net:variables()
    step()
    local after = net:variables()
    assert.is_true(flow.math.abs(before["0.weight"] - after["0.weight"]):max() > 0)
    assert.equal(0, flow.math.abs(before["1.running_mean"] - after["1.running_mean"]):max())
    flow.clear_default_session()
    net, step = trained("resnet", { update_statistics = true })
    step()
    before = net:variables()
    step()
    after = net:variables()
    assert.is_true(flow.math.abs(before["1.running_mean"] - after["1.running_mean"]):max() > 0)
  end)

  it("has variables under the names of the file, which are saved and loaded", function()
    local net, step = trained "gru"
    step()
    local saved = net:variables()
    assert.same({ 40, 6 }, saved["words.weight"].shape)
    local folder = os.tmpname()
    os.remove(folder)
    net:save(folder)
    step()
    local now = net:variables()["words.weight"]
    assert.is_true(flow.math.abs(saved["words.weight"] - now):max() > 0)
    net:load(folder)
    assert.equal(0, flow.math.abs(saved["words.weight"] - net:variables()["words.weight"]):max())
    os.execute("rm -r '" .. folder .. "'")
  end)

  it("leaves what is frozen as it is", function()
    local net, step = trained "bert"
    step()
    assert.is_true(net:freeze "embeddings" > 0)
    local before = net:variables()
    step()
    local after = net:variables()
    for name, a in pairs(before) do
      if name:find "embeddings" then
        assert.equal(0, flow.math.abs(a - after[name]):max(), name)
      end
    end
  end)
end)

describe("the body of a job", function()
  before_each(function() flow.clear_default_session() end)

  it("calls a model by names, and gives results by names", function()
    local arrays = flow.ndarray.load(HERE .. "bert.npz")
    local inputs, want = call_of(arrays, 0)
    local net = flow.onnx.load(HERE .. "bert.onnx", { name = "text" })
    local names = {}
    for i, output in ipairs(flow.onnx.check(HERE .. "bert.onnx").outputs) do
      names[i] = output.name
    end
    local job = flow.global_function {
      name = "named", inputs = { { "ids", types_of(inputs)[1] }, { "mask", types_of(inputs)[2] } },
      returns = flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy),
      body = function(ids, mask)
        local results = net { input_1 = mask, input_0 = ids }
        return results[names[2]], results[names[1]]
      end,
    }
    local second, first = job(unpack(inputs))
    check_close(want[1], first, "the first result")
    check_close(want[2], second, "the second result")
  end)

  it("asks for tensors within by their names", function()
    local arrays = flow.ndarray.load(HERE .. "mlp.npz")
    local inputs = call_of(arrays, 1)
    local whole = flow.onnx.load(HERE .. "mlp.onnx", { outputs = { "probabilities" } })
    local p = whole:predict { inputs = types_of(inputs) } (inputs[1])
    check_close(arrays.out_1_1, p, "probabilities")
  end)

  it("shares the weights of a model that it calls twice", function()
    local net = flow.onnx.load(HERE .. "mlp.onnx", { outputs = { "probabilities" } })
    local job = flow.global_function {
      name = "twice", inputs = { { "x", flow.float32 { 2, 4 } } }, returns = flow.typing.Numpy,
      body = function(x) return net(x) - net(x) end,
    }
    assert.equal(0, flow.math.abs(job(flow.ndarray.ones { 2, 4 })):max())
  end)
end)
