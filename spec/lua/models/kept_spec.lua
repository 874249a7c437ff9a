-- Checkpoints of models whose function a script gave: flow.models.load makes them again, from the
-- graph that stands there.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("a model that a script described", function()
  local directory

  before_each(function()
    flow.clear_default_session()
    flow.random.seed(3)
    directory = helper.directory()
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local function path() return directory .. "/saved" end

  -- A job of a model with that function, for `shape` behind the batch; and the model.
  local function made(body, ...)
    local net = flow.model("own", body)
    return net:predict { inputs = { flow.float32 { -1, ... } } }, net
  end

  local function same(a, b)
    assert.same(a.shape, b.shape)
    assert.is_true((a - b):abs():max() < 1e-6)
  end

  local function again(...)
    local net = flow.models.load(path(), { name = "again" })
    return net:predict { inputs = { flow.float32 { -1, ... } } }, net
  end

  local function pictures(x)
    x = flow.layers.conv2d(x, 3, 3, { padding = "SAME", activation = flow.nn.relu })
    x = flow.layers.batch_normalization(x, { axis = 1 })
    return flow.layers.dense(x:max_pool2d(2):reshape(x.shape[1], -1):dropout(0.5), 4)
  end

  it("is made again without its script, for any batch", function()
    local job, net = made(pictures, 1, 6, 6)
    local train = net:train { inputs = { flow.float32 { 5, 1, 6, 6 }, flow.int32 { 5 } },
      loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.01) }
    for _ = 1, 3 do train(nd.rand { 5, 1, 6, 6 }, nd.array({ 0, 1, 2, 3, 0 }, "int32")) end
    local x = nd.rand { 3, 1, 6, 6 }
    local wanted = job(x)
    net:save(path())
    local names = net:variables()
    flow.clear_default_session()
    local job_again, net_again = again(1, 6, 6)
    same(wanted, job_again(x))
    for name, value in pairs(net_again:variables()) do same(names[name], value) end
    assert.truthy(net_again:summary():find("moving_mean *float32 %(3%) *3  not trained"))
  end)

  it("is trained further, saved, and made again of that", function()
    local _, net = made(pictures, 1, 6, 6)
    net:save(path())
    local _, other = again(1, 6, 6)
    local train = other:train { inputs = { flow.float32 { 5, 1, 6, 6 }, flow.int32 { 5 } },
      loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.02) }
    local x, y = nd.rand { 5, 1, 6, 6 }, nd.array({ 0, 1, 2, 3, 0 }, "int32")
    local first = train(x, y):mean()
    for _ = 1, 30 do train(x, y) end
    assert.is_true(train(x, y):mean() < first / 2)
    local mean = other:variables()["batch_norm_1-moving_mean"]
    assert.is_true(mean:abs():max() > 0)           -- statistics follow, as when it was described
    other:save(directory .. "/second")
    local third = flow.models.load(directory .. "/second", { name = "third" })
    same(other:variables()["dense_1-weight"], third:variables()["dense_1-weight"])
  end)

  it("gives several results, and tables of them, as it did", function()
    local x = nd.rand { 2, 3 }
    local job, net = made(function(v)
      local y = flow.layers.dense(v, 4)
      return { logits = y, parts = { flow.nn.softmax(y), y * 2 } }
    end, 3)
    local wanted = job(x)
    net:save(path())
    local got = again(3)(x)
    same(wanted.logits, got.logits)
    same(wanted.parts[1], got.parts[1])
    same(wanted.parts[2], got.parts[2])
    flow.clear_default_session()
    job, net = made(function(v) return flow.layers.dense(v, 4), v + 1 end, 3)
    local _, second = job(x)
    net:save(path(), { overwrite = true })
    local _, second_again = again(3)(x)
    same(second, second_again)
  end)

  it("is described once until it is traced anew or its variables change", function()
    local n = 0
    local job, net = made(function(x)
      n = n + 1
      return flow.layers.dense(x, 40)
    end, 32)
    job(nd.rand { 2, 32 })
    net:save(path())
    local traced = n
    net:save(path(), { overwrite = true })
    assert.equal(traced, n)
    job(nd.rand { 3, 32 })                         -- which the body sees, so that it may differ
    traced = n
    net:save(path(), { overwrite = true })
    assert.is_true(n > traced)
    traced = n
    flow.quantization.quantize(net, "q8_0")
    net:save(path(), { overwrite = true })
    assert.is_true(n > traced)
    assert.error_matches(function() flow.models.load(path(), { name = "b" }) end,
      "quantized_matmul", 1, true)
  end)

  it("is opened once to be loaded", function()
    local core, n = require "jfl.core", 0
    local _, net = made(pictures, 1, 6, 6)
    net:save(path())
    local open = core.checkpoint_open
    finally(function() core.checkpoint_open = open end)
    core.checkpoint_open = function(...)
      n = n + 1
      return open(...)
    end
    flow.models.load(path(), { name = "again" })
    assert.equal(1, n)
  end)

  it("may have come from an ONNX file", function()
    local net = flow.onnx.load("spec/lua/onnx/cases/mlp.onnx", { name = "own" })
    local shape = flow.onnx.check("spec/lua/onnx/cases/mlp.onnx").inputs[1].shape
    local x = nd.rand { 3, shape[2] }
    local wanted = net:predict { inputs = { flow.float32 { -1, shape[2] } } }(x)
    net:save(path())
    same(wanted, again(shape[2])(x))
  end)

  it("says why it cannot be made again", function()
    local _, net = made(function(x)
      return flow.layers.dense(x, 4) + flow.random.uniform({ 4 })
    end, 3)
    net:save(path())
    helper.fails(function() flow.models.load(path()) end, path() .. ": the checkpoint does not say "
      .. "which network it is, as that could not be written when it was saved: ")
  end)

  it("has no classes that are known as such", function()
    local _, net = made(pictures, 1, 6, 6)
    net:save(path())
    helper.fails(function() flow.models.load(path(), { num_labels = 7 }) end, "num_labels: which "
      .. "layer tells classes apart is known of the networks of flow.models alone")
  end)

  it("is refused where the graph is damaged, or names what is not there", function()
    local _, net = made(pictures, 1, 6, 6)
    net:save(path())
    local file = path() .. "/model.safetensors"
    local whole = helper.read(file)
    for why, change in pairs {
      ["must be an ONNX model"] = { '{\\"\\tbytes\\":\\"08', '{\\"\\tbytes\\":\\"18' },
      ["the model: results must be a table"] = { '\\"results\\":', '\\"resulti\\":' },
      ["is that another model's?"] = { '\\"dense_1-weight\\"', '\\"dense_2-weight\\"' },
    } do
      local from, to = change[1]:gsub("\\t", "\\\\t"), change[2]:gsub("\\t", "\\\\t")
      local at, stop = whole:find(from, 1, true)
      assert.truthy(at, from)
      helper.write(file, whole:sub(1, at - 1) .. to .. whole:sub(stop + 1))
      helper.fails(function() flow.models.load(path(), { name = "damaged" }) end, why)
      flow.clear_default_session()
    end
  end)
end)
