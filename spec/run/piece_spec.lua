--- Variables of jobs on several devices: whole for whoever reads, sets, saves or loads them, and
-- shared by jobs on other devices.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local profile = require "jfl.tools.profile"

local nd, tp = flow.ndarray, flow.typing

local ONE, TWO, FOUR, CORES = "sim:0", "sim 0:0-1", "sim 0:0-3", "cpu 0:0-1"

local function start(devices)
  flow.clear_default_session()
  if devices == CORES then core.set("cpu_devices", 2) end
  core.set("device", devices)
  flow.random.seed(5)
end

-- A train job whose second layer's weight lies as `lies` says: rows of the batch of 12 meet
-- dropout, momentum and a schedule.
local function define(name, lies)
  return flow.global_function {
    name = name or "train", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 12, 6 }) } },
    body = function(x)
      local h = flow.layers.dense(x, 16, { activation = flow.math.tanh, name = "one" })
      local w = flow.get_variable("two", { 16, 4 },
        { initializer = flow.random_normal_initializer(0, 0.3) })
      if lies then core.distribute(w, lies, 0) end
      local loss = flow.math.square(flow.matmul(flow.nn.dropout(h, 0.3), w))
      local rate = flow.optimizer.PiecewiseConstantScheduler({ 3 }, { 0.1, 0.05 })
      flow.optimizer.SGD(rate, { momentum = 0.9 }):minimize(loss)
      return loss
    end,
  }
end

local function batch(i) return nd.arange(72):reshape({ 12, 6 }) * (0.01 * i) end

local function steps(job, first, last)
  local losses = {}
  for i = first, last do losses[#losses + 1] = job(batch(i)):mean() end
  return losses
end

local function weights()
  local all = {}
  for name, value in pairs(flow.get_all_variables()) do
    all[name] = value:reshape({ -1 }):totable()
  end
  return all
end

local function check_near(want, got, most)
  for name, list in pairs(want) do
    assert.equal(#list, #got[name])
    for i, v in ipairs(list) do
      if math.abs(v - got[name][i]) > most then
        error(("%s[%d] is %.9g, not %.9g"):format(name, i, got[name][i], v), 0)
      end
    end
  end
end

-- The losses and the variables after steps 1 to 6 without a break.
local function unstopped(devices, lies)
  start(devices)
  local job = define("train", lies)
  return steps(job, 1, 6), weights()
end

describe("variables on several devices", function()
  local directory, path

  before_each(function()
    directory = helper.directory()
    path = directory .. "/model"
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  it("say where they lie", function()
    start(TWO)
    steps(define("train", "split"), 1, 1)
    local w, b = flow.variable_info("two"), flow.variable_info("one-bias")
    assert.same({ "sim 0:0-1", "split(0)" }, { w.devices, w.distribute })
    assert.same({ "sim 0:0-1", "broadcast" }, { b.devices, b.distribute })
    assert.same({ 16, 4 }, { w.shape[1], w.shape[2] })
    assert.equal("split(0)", flow.variable_info("two-momentum").distribute)
    helper.fails(function() flow.variable_info("tow") end, "'tow' is not a variable of any job")
  end)

  it("begin with the numbers of one device, however they lie", function()
    start(ONE)
    define()
    local want = weights()
    for _, devices in ipairs { TWO, FOUR, CORES } do
      for _, lies in ipairs { "broadcast", "split" } do
        start(devices)
        define("train", lies)
        assert.same(want, weights())
      end
    end
  end)

  it("are set as wholes", function()
    for _, lies in ipairs { "broadcast", "split" } do
      start(FOUR)
      local job = define("train", lies)
      steps(job, 1, 1)
      local w = nd.arange(64):reshape({ 16, 4 }) * 0.01
      flow.load_variables { two = w }
      assert.same(w:totable(), flow.get_all_variables().two:totable())
      local on_four = steps(job, 2, 2)[1]
      start(ONE)
      job = define("train")
      steps(job, 1, 1)
      flow.load_variables { two = w }
      assert.is_true(math.abs(steps(job, 2, 2)[1] - on_four) < 1e-5)
      helper.fails(function() flow.load_variables { two = nd.zeros { 8, 4 } } end,
        "variable 'two' must be float32 (16, 4)")
    end
  end)

  it("train on from a checkpoint as if they had never stopped, bit for bit", function()
    for _, devices in ipairs { TWO, CORES } do
      for _, lies in ipairs { "broadcast", "split" } do
        local losses, want = unstopped(devices, lies)
        start(devices)
        steps(define("train", lies), 1, 3)
        flow.train.CheckPoint():save(path, { overwrite = true })
        start(devices)
        flow.random.seed(99)
        local job = define("train", lies)
        flow.random.seed(5)
        flow.train.CheckPoint():load(path)
        assert.same({ losses[4], losses[5], losses[6] }, steps(job, 4, 6))
        assert.same(want, weights())
      end
    end
  end)

  it("train on on another number of devices as on one", function()
    local _, want = unstopped(ONE)
    for _, way in ipairs { { TWO, ONE }, { ONE, FOUR }, { FOUR, CORES } } do
      for _, lies in ipairs { "broadcast", "split" } do
        start(way[1])
        steps(define("train", lies), 1, 3)
        flow.train.CheckPoint():save(path, { overwrite = true })
        start(way[2])
        local job = define("train", lies)
        flow.train.CheckPoint():load(path)
        steps(job, 4, 6)
        check_near(want, weights(), 1e-5)
      end
    end
  end)

  it("write the same file as one device", function()
    local files = {}
    for i, devices in ipairs { ONE, TWO, CORES } do
      start(devices)
      define("train", "split")
      flow.train.CheckPoint():save(path .. i)
      local file = assert(io.open(path .. i .. "/model.safetensors", "rb"))
      files[i] = file:read("*a")
      file:close()
    end
    assert.is_true(files[1] == files[2] and files[1] == files[3])
  end)

  it("serve jobs on other devices, and in other distributions", function()
    start(ONE)
    steps(define(), 1, 3)
    local want = weights().two
    start(TWO)
    steps(define("train", "split"), 1, 3)
    local function reads(name, devices, lies)
      core.set("device", devices)
      return flow.global_function { name = name, returns = tp.Numpy, inputs = {},
        body = function()
          local w = flow.get_variable("two", { 16, 4 },
            { initializer = flow.random_normal_initializer() })
          if lies then core.distribute(w, lies, 1) end
          return w * 1
        end }():reshape({ -1 }):totable()
    end
    check_near({ two = want }, { two = reads("same", TWO) }, 1e-5)
    check_near({ two = want }, { two = reads("four", FOUR) }, 1e-5)
    check_near({ two = want }, { two = reads("host", "cpu:0") }, 1e-5)
    check_near({ two = want }, { two = reads("another", TWO, "split") }, 1e-5)
    assert.equal("split(0)", flow.variable_info("two").distribute)
  end)

  it("can be dropped and made anew on other devices", function()
    start(TWO)
    steps(define("train", "split"), 1, 2)
    flow.drop_variables("two")
    flow.drop_variables("one")
    core.set("device", FOUR)
    steps(define("other"), 1, 1)
    assert.equal("sim 0:0-3", flow.variable_info("two").devices)
    assert.equal("broadcast", flow.variable_info("two").distribute)
  end)

  it("are as they were when a checked run finds what is not finite", function()
    for _, lies in ipairs { "broadcast", "split" } do
      start(TWO)
      flow.config.check_finite(true)
      local job = define("train", lies)
      steps(job, 1, 1)
      local before = weights()
      helper.fails(function() job(nd.full({ 12, 6 }, 1 / 0)) end, "must be finite in step 2")
      assert.same(before, weights())
      assert.is_true(steps(job, 2, 2)[1] < math.huge)
      flow.load_variables { two = nd.full({ 16, 4 }, 0 / 0) }
      helper.fails(function() job(batch(3)) end, "variable 'two' must be finite")
      flow.config.check_finite(false)
    end
  end)

  it("are trained by asynchronous calls as by others", function()
    local losses = unstopped(TWO, "split")
    start(TWO)
    local got = {}
    local job = flow.global_function { name = "train", type = "train",
      returns = tp.Callback(tp.Numpy), inputs = { { "x", tp.Numpy.Placeholder({ 12, 6 }) } },
      body = function(x)
        local h = flow.layers.dense(x, 16, { activation = flow.math.tanh, name = "one" })
        local w = flow.get_variable("two", { 16, 4 },
          { initializer = flow.random_normal_initializer(0, 0.3) })
        core.distribute(w, "split", 0)
        local loss = flow.math.square(flow.matmul(flow.nn.dropout(h, 0.3), w))
        local rate = flow.optimizer.PiecewiseConstantScheduler({ 3 }, { 0.1, 0.05 })
        flow.optimizer.SGD(rate, { momentum = 0.9 }):minimize(loss)
        return loss
      end }
    for i = 1, 6 do
      local x = batch(i)
      job(x)(function(y) got[#got + 1] = y:mean() end)
      x:fill(0)
    end
    flow.sync()
    assert.same(losses, got)
  end)

  it("are trained, saved and loaded in the mirrored view", function()
    local function mirrored(name, returns)
      local config = flow.function_config()
      config.default_logical_view(flow.scope.mirrored_view())
      return flow.global_function { name = name, type = "train", returns = returns,
        function_config = config, inputs = { { "x", tp.ListNumpy.Placeholder({ 6, 6 }) } },
        body = function(x)
          local loss = flow.math.square(flow.layers.dense(x, 4, { name = "one" }))
          flow.optimizer.SGD(0.05, { momentum = 0.9 }):minimize(loss)
          return loss
        end }
    end
    for _, devices in ipairs { TWO, CORES } do
      start(devices)
      local a, b = nd.arange(36):reshape({ 6, 6 }) * 0.01, nd.ones { 6, 6 }
      local job, want, got = mirrored("train", tp.ListNumpy), {}, {}
      job({ a, b })
      flow.train.CheckPoint():save(path, { overwrite = true })
      for i = 1, 2 do want[i] = job({ a, b }) end
      flow.train.CheckPoint():load(path)
      local later = mirrored("later", tp.Callback(tp.ListNumpy))
      for _ = 1, 2 do
        local x, y = a * 1, b * 1
        later({ x, y })(function(r) got[#got + 1] = r end)
        x:fill(0)
        y:fill(0)
      end
      flow.sync()
      for i = 1, 2 do
        for k = 1, 2 do assert.same(want[i][k]:totable(), got[i][k]:totable()) end
      end
    end
  end)

  it("and their gradients are watched as wholes", function()
    local function watched(devices, lies)
      local seen = {}
      start(devices)
      flow.global_function { name = "train", type = "train", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 12, 6 }) } },
        body = function(x)
          local w = flow.get_variable("w", { 6, 4 }, { initializer = flow.ones_initializer() })
          if lies then core.distribute(w, lies, 0) end
          local loss = flow.math.square(flow.matmul(x, w))
          for _, v in ipairs { w, loss } do
            flow.watch(v, function(a) seen[#seen + 1] = a:reshape({ -1 }):totable() end)
            flow.watch_diff(v, function(a) seen[#seen + 1] = a:reshape({ -1 }):totable() end)
          end
          flow.optimizer.SGD(0.1):minimize(loss)
          return loss
        end }(batch(1))
      return seen
    end
    local want = watched(ONE)
    assert.equal(4, #want)
    check_near(want, watched(TWO), 1e-5)
    check_near(want, watched(FOUR, "split"), 1e-5)
  end)

  it("take part in a profile that tells the devices apart", function()
    start(TWO)
    local job = define()
    steps(job, 1, 1)
    profile.start()
    steps(job, 2, 3)
    local rows = profile.finish()
    local text = profile.text(rows, 5)
    local seen = {}
    for _, row in ipairs(rows) do seen[row.device] = true end
    assert.is_true(seen["sim:0"] and seen["sim:1"])
    assert.truthy(text:find("on sim:0: ", 1, true) and text:find("on sim:1: ", 1, true))
  end)

  it("are no more than a memory limit allows", function()
    start(TWO)
    flow.config.memory_limit(1000)
    helper.fails(function() steps(define(), 1, 1) end, "memory_limit is 1000")
    flow.config.memory_limit(0)
  end)
end)
