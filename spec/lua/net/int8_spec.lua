-- flow.quantization.quantize with int8: ranges, what is stored and saved, what is refused.
local emulated = require "spec.dev.emulated"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

before_each(function() flow.random.seed(1) end)
after_each(flow.clear_default_session)

local function distance(a, b) return (a - b):abs():max() end

local function body(x)
  x = flow.layers.conv2d(x, 8, 3, { name = "a", activation = flow.nn.relu })
  return flow.layers.dense(flow.reshape(x, { x.shape[1], -1 }), 3, { name = "b" })
end

local function predict(name)
  return flow.global_function { name = name or "predict", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ -1, 2, 6, 6 }) } }, body = body }
end

local function quantize(job, batches, names)
  return flow.quantization.quantize(names or "*", { form = "int8", job = job, batches = batches })
end

describe("quantization to int8", function()
  it("stores a scale for each filter and one for what is multiplied by it", function()
    local job, x = predict(), nd.rand({ 4, 2, 6, 6 }) - 0.5
    job(x)
    x[2][1][3][3] = -6.35
    local weight = flow.get_all_variables()["a-weight"]
    weight[1] = weight[1] * 0
    flow.load_variables { ["a-weight"] = weight }
    local before = job(x)
    assert.same({ "a-weight", "b-weight" }, quantize(job, { x * 0, { x } }))
    local after, all = job(x), flow.get_all_variables()
    assert.is_true(distance(before, after) > 0)
    assert.is_true(distance(before, after) < 0.05 * before:abs():max())
    assert.equal("int8", all["a-weight"].dtype)
    assert.is_true(math.abs(all["a-weight_input_int8"]:item() - 0.05) < 1e-6)
    assert.is_true(all["b-weight_input_uint8"]:item() > 0)
    assert.equal(1, all["a-weight_scale"][1])
    assert.equal(127, all["a-weight"][2]:abs():max())
    local wide = all["a-weight"]:astype("float32") * all["a-weight_scale"]:reshape(-1, 1, 1, 1)
    assert.is_true(distance(wide, weight) <= all["a-weight_scale"][2] + all["a-weight_scale"]:max())
  end)

  it("takes the batches of a function, also with labels", function()
    local job, n = predict(), 0
    quantize(job, function()
      n = n + 1
      if n <= 3 then return nd.ones { n, 2, 6, 6 } * n, nd.zeros { n } end
    end, "a-weight")
    assert.equal(4, n)
    local step = flow.get_all_variables()["a-weight_input_uint8"]:item()
    assert.is_true(math.abs(step - 3 / 255) < 1e-7)
    assert.equal("float32", flow.variable_info("b-weight").dtype)
  end)

  it("gives on a GPU, in float32, what it gives on the CPU", function()
    local script = [[
      local flow = require "jfl"
      local nd = flow.ndarray
      flow.random.seed(1)
      local net = flow.model("net", function(x)
        x = flow.layers.conv2d(x, 8, 3, { name = "a", activation = flow.nn.relu })
        x = flow.nn.max_pool2d(flow.layers.conv2d(x, 4, 3, { name = "b" }), 2, 2, "VALID")
        return flow.layers.dense(x:reshape { x.shape[1], -1 }, 3, { name = "c" })
      end)
      local job = net:predict { inputs = { flow.float32 { -1, 2, 8, 8 } } }
      local x = nd.rand { 4, 2, 8, 8 } - 0.5
      flow.quantization.quantize(net, { form = "int8", job = job, batches = { x } })
      local y = job(x):reshape(-1)
      for i = 1, #y do print(("%.9g"):format(y[i])) end]]
    local function numbers(text)
      local list = {}
      for word in text:gmatch "%S+" do list[#list + 1] = tonumber(word) or word end
      return list
    end
    local want = numbers((helper.script(script, "JFL_KERNELS=reference")))
    local got = numbers((emulated.run({ JFL_DEVICE = "gpu" }, script)))
    assert.equal(12, #want)
    assert.equal(#want, #got)
    for i, v in ipairs(want) do assert.is_true(math.abs(v - got[i]) < 1e-5, i) end
  end)

  it("is saved and loaded, by checkpoints and as a model", function()
    local path, x = os.tmpname(), nd.rand({ 2, 2, 6, 6 })
    os.remove(path)
    local net = flow.model("net", body)
    local job = net:predict { inputs = { flow.float32 { -1, 2, 6, 6 } } }
    job(x)
    quantize(job, { x }, net)
    local after = job(x)
    net:save(path)
    flow.clear_default_session()
    local other = flow.models.load(path)
    local again = other:predict { inputs = { flow.float32 { -1, 2, 6, 6 } } }
    assert.is_true(distance(again(x), after) < 0.01 * after:abs():max())
    assert.equal(2, select(2, again:graph("traced"):gsub("= round", "")))
    assert.equal("int8", flow.variable_info("net-a-weight").dtype)
    os.execute("rm -r " .. path)
  end)

  it("names what is wrong", function()
    local job, x = predict(), nd.rand({ 2, 2, 6, 6 })
    job(x)
    local function fails(text, by, batches, names)
      helper.fails(function() quantize(by, batches, names) end, text)
    end
    fails("batches must have one or more, got none", job, {})
    fails("batches", job, nil)
    fails("job must be a predict job", nil, { x })
    local nan = x * 1
    nan[2][1][1][1] = 0 / 0
    fails("'a-weight' has nan in it", job, { x, nan })
    fails("'a-bias' (8) of float32 has 1 axes", job, { x }, "a-bias")
    fails("x must be", job, { nd.ones { 2, 3 } })
    local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 2, 2, 6, 6 }) } }, body = function(v)
        local loss = flow.math.reduce_mean(flow.math.square(body(v)))
        flow.optimizer.SGD(0.1):minimize(loss)
        return loss
      end }
    fails("the train job 'train'", train, { x })
    local other = flow.global_function { name = "other", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 2, 4 }) } },
      body = function(v) return flow.layers.dense(v, 2, { name = "c" }) end }
    fails("job 'other' has no product nor convolution of a-weight", other, { nd.ones { 2, 4 } },
      "a-weight")
    local after = job(x)
    assert.equal("float32", flow.variable_info("a-weight").dtype)
    assert.same({ "a-weight", "b-weight" }, quantize(job, { x }))
    assert.is_true(distance(job(x), after) < 0.05 * after:abs():max())
  end)
end)
