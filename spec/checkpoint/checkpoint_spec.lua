-- Checkpoints as scripts see them: resuming, transferring, and what they are told.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

local directory

-- A path below the spec's own directory.
local function at(name) return directory .. "/" .. name end

local function exists(path)
  local f = io.open(path, "rb")
  if f then f:close() end
  return f ~= nil
end

local read, write = helper.read, helper.write

-- A regression with dropout and momentum: weights, slots, the train step and the random stream all
-- matter to what the next step gives. `units` is the layer's width.
local function define(units)
  return flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = {
      { "x", tp.Numpy.Placeholder({ 8, 4 }) },
      { "labels", tp.Numpy.Placeholder({ 8 }, { dtype = flow.int32 }) },
    },
    body = function(x, labels)
      local hidden = flow.layers.dense(x, units or 16,
        { activation = flow.nn.relu, name = "hidden" })
      local logits = flow.layers.dense(flow.nn.dropout(hidden, 0.5), 3, { name = "output" })
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
      local rate = flow.optimizer.PiecewiseConstantScheduler({ 6 }, { 0.1, 0.01 })
      flow.optimizer.SGD(rate, { momentum = 0.9 }):minimize(loss)
      return loss
    end,
  }
end

local x, labels = {}, {}
for i = 1, 8 do
  x[i], labels[i] = {}, i % 3
  for k = 1, 4 do x[i][k] = (i * 7 + k * 3) % 11 / 11 - 0.5 end
end

-- The losses of n steps, bit for bit.
local function steps(job, n)
  local seen = {}
  for i = 1, n do seen[i] = helper.list(job(x, labels)) end
  return seen
end

local weights = helper.variables

local function sorted(list)
  table.sort(list)
  return list
end

describe("a checkpoint", function()
  local checkpoint

  before_each(function()
    flow.clear_default_session()
    directory = os.tmpname()
    os.remove(directory)
    checkpoint = flow.train.CheckPoint()
  end)

  after_each(function()
    flow.clear_default_session()
    os.execute("rm -rf '" .. directory .. "'")
  end)

  it("resumes a run bit for bit", function()
    local job = define()
    steps(job, 4)
    checkpoint:save(at("model"))
    local want = steps(job, 5)
    local want_weights = weights()
    flow.clear_default_session()
    job = define()
    checkpoint:load(at("model"))
    assert.same(want, steps(job, 5))
    assert.same(want_weights, weights())
  end)

  it("takes part in a run without changing it", function()
    flow.random.seed(3)
    local job = define()
    steps(job, 2)
    local want = steps(job, 2)
    flow.clear_default_session()
    flow.random.seed(3)
    job = define()
    steps(job, 2)
    checkpoint:save(at("model"))
    assert.same(want, steps(job, 2))
  end)

  it("holds every variable under its name", function()
    local job = define()
    steps(job, 1)
    checkpoint:save(at("model"))
    local text = read(at("model/model.safetensors"))
    for _, name in ipairs { "hidden-weight", "hidden-bias", "output-weight", "output-bias",
      "hidden-weight-momentum", "System-Train-TrainStep-train", "run.train" } do
      assert.truthy(text:find(('"%s":'):format(name), 1, true), name)
    end
  end)

  it("waits for calls in flight", function()
    local job = flow.global_function {
      name = "count", type = "train", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
      body = function(v)
        local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.zeros_initializer() })
        local loss = v * w
        flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
        return loss
      end,
    }
    local called = 0
    for _ = 1, 4 do job({ 2, 2 })(function() called = called + 1 end) end
    checkpoint:save(at("model"))
    assert.equal(4, called)
    local saved = weights()
    flow.sync()
    assert.same(saved, weights())
  end)

  it("is refused where one is, unless told to replace it", function()
    local job = define()
    checkpoint:save(at("deep/model"))
    local first = read(at("deep/model/model.safetensors"))
    local err = helper.fails(function() checkpoint:save(at("deep/model")) end, "is not empty")
    assert.truthy(err:find("overwrite", 1, true))
    steps(job, 1)
    assert.equal(first, read(at("deep/model/model.safetensors")))
    checkpoint:save(at("deep/model"), { overwrite = true })
    assert.not_equal(first, read(at("deep/model/model.safetensors")))
    assert.is_false(exists(at("deep/model/model.safetensors.saving")))
  end)

  it("names the directory that it does not find", function()
    define()
    helper.fails(function() checkpoint:load(at("none")) end, at("none") .. ": no such directory")
  end)

  it("says where a cut file ends, and changes nothing", function()
    define()
    checkpoint:save(at("model"))
    local file = at("model/model.safetensors")
    write(file, read(file):sub(1, -2))
    local before = weights()
    helper.fails(function() checkpoint:load(at("model")) end,
      ("cut at byte %d"):format(#read(file)))
    assert.same(before, weights())
  end)

  it("names the variable that does not fit, and changes nothing", function()
    define(16)
    checkpoint:save(at("model"))
    flow.clear_default_session()
    local job = define(17)
    checkpoint:init()
    local before = weights()
    helper.fails(function() checkpoint:load(at("model")) end,
      "must be float32 (17, 4), got float32 (16, 4) in the file")
    assert.same(before, weights())
    assert.equal(1, #steps(job, 1))
  end)

  it("reports what is missing and unexpected, state apart", function()
    define()
    checkpoint:save(at("model"))
    flow.clear_default_session()
    helper.predict("eval", { 8, 4 }, function(v)
      local hidden = flow.layers.dense(v, 16, { name = "hidden" })
      return flow.layers.dense(hidden, 2, { name = "fresh" })
    end)
    local report
    local told = helper.stderr_of(function() report = checkpoint:load(at("model")) end)
    assert.same({ "hidden-bias", "hidden-weight" }, sorted(report.loaded))
    assert.same({ "fresh-bias", "fresh-weight" }, sorted(report.missing))
    assert.truthy(told:find("fresh-weight", 1, true))
    assert.truthy(told:find("output-weight", 1, true))
    assert.falsy(told:find("momentum", 1, true))
    assert.truthy(report.state["hidden-weight-momentum"])
    helper.fails(function() checkpoint:load(at("model"), { strict = true }) end, "fresh-weight")
  end)

  -- A checkpoint of arrays, or of another program, does not say what is state: the names do.
  it("knows the state of every optimizer by its name", function()
    local each = { { "SGD", { momentum = 0.9 } }, { "Adam", { amsgrad = true } },
      { "RMSProp", { centered = true } },
      { "SGD", { momentum = 0, gradient_accumulation_steps = 2 } },
      { "SGD", { momentum = 0, moving_average = flow.train.ExponentialMovingAverage(0.9) } } }
    for _, optimizer in ipairs(require("jfl.core").optimizers()) do
      each[#each + 1] = { optimizer.name, {} }
    end
    local n = 0
    for i, choice in ipairs(each) do
      flow.clear_default_session()
      local train = helper.train("t", { body = function(v)
        local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
        local loss = v * w
        local rate = flow.optimizer.PiecewiseConstantScheduler({}, { 0.1 })
        flow.optimizer[choice[1]](rate, choice[2]):minimize(loss)
        return loss
      end })
      train({ 1, 1 })
      local arrays = {}
      for name, value in pairs(flow.get_all_variables()) do
        arrays[name] = value
        n = n + (name == "w" and 0 or 1)
      end
      flow.checkpoint.save(at("arrays" .. i), arrays)
      flow.clear_default_session()
      helper.predict("eval", { 2 }, function(v)
        return v * flow.get_variable("w", { shape = { 2 }, initializer = flow.zeros_initializer() })
      end)
      local told = helper.stderr_of(function()
        flow.checkpoint.load(at("arrays" .. i), { strict = true })
      end)
      assert.equal("", told)
      assert.same({ w = weights().w }, weights())
    end
    assert.truthy(n > 20)
  end)

  it("reads OneFlow's own layout", function()
    define()
    checkpoint:init()
    os.execute(("mkdir -p '%s'"):format(at("model/output-bias")))
    write(at("model/output-bias/out"), ("\0\0\128\63"):rep(3))
    write(at("model/output-bias/meta"), "shape { dim: 3 } data_type: kFloat")
    helper.stderr_of(function() checkpoint:load(at("model")) end)
    assert.same({ 1, 1, 1 }, weights()["output-bias"])
  end)
end)
