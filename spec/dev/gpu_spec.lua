--- GPUs, on the emulated driver of spec/cuda: what is said where none can be used, jobs, and
-- failures of each call to the driver.
local emulated = require "spec.dev.emulated"
local helper = require "spec.lua.helper"

local on_gpu = emulated.run

local PLACED = [[
  local flow = require "jfl"
  flow.scope.placement("gpu", "0:0", function() end)
]]

describe("without a GPU", function()
  local why = {
    ["the NVIDIA driver finds no GPU"] = { JFL_EMULATED_INIT = 100 },
    ["libcuda.so.1 is the stub"] = { JFL_EMULATED_INIT = 34 },
    ["the NVIDIA driver does not start: unspecified launch failure (CUDA error 719)"] =
      { JFL_EMULATED_INIT = 719 },
    ["the NVIDIA driver is too old: it serves CUDA 11.4; it must serve CUDA 12.0 or newer"] =
      { JFL_EMULATED_VERSION = 11040 },
  }
  for sentence, variables in pairs(why) do
    it("warns that " .. sentence, function()
      local out, status = on_gpu(variables, PLACED)
      assert.equal(0, status, out)
      assert.truthy(out:find(sentence, 1, true), out)
      assert.truthy(out:find('what is placed on "gpu" runs on the CPU', 1, true), out)
    end)
  end

  it("fails with that reason where placing must not be given up", function()
    local out = on_gpu({ JFL_EMULATED_INIT = 100 }, [[
      require("jfl").config.strict_placement(true)
    ]] .. PLACED)
    assert.truthy(out:find("no GPU is usable here and flow.config.strict_placement is on: "
      .. "the NVIDIA driver finds no GPU", 1, true), out)
  end)

  it("says why JFL_DEVICE cannot be used", function()
    local out = on_gpu({ JFL_EMULATED_INIT = 100, JFL_DEVICE = "gpu" },
      "require('jfl').random.normal({ 2 })")
    assert.truthy(out:find("JFL_DEVICE: device must be one that is here, got 'gpu': the NVIDIA "
      .. "driver finds no GPU", 1, true), out)
  end)
end)

-- Two dense layers with dropout, whose loss is printed after each of some steps.
local TRAINS = [[
  local flow = require "jfl"
  local tp = flow.typing
  flow.random.seed(5)
  local train = flow.global_function {
    name = "train", type = "train",
    inputs = { { "x", tp.Numpy.Placeholder({ 8, 6 }) },
               { "y", tp.Numpy.Placeholder({ 8 }, { dtype = flow.int32 }) } },
    returns = tp.Numpy,
    body = function(x, y)
      local h = flow.layers.dense(x, 16, { activation = flow.math.tanh, name = "h" })
      h = flow.nn.dropout(h, 0.25)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, flow.layers.dense(h, 4))
      flow.optimizer.Adam(0.01):minimize(loss)
      return loss
    end,
  }
  local x, y = flow.random.normal({ 8, 6 }), { 0, 1, 2, 3, 0, 1, 2, 3 }
  for _ = 1, tonumber(os.getenv "STEPS" or 3) do
    local ok, loss = pcall(train, x, y)
    print(ok and ("%.5f"):format(loss:mean()) or loss)
  end
]]

-- A network on two devices, trained by calls with and without a callback; a checkpoint saved and
-- loaded. Then, in another session, something on the CPU.
local SPREAD = [[
  local flow = require "jfl"
  local core = require "jfl.core"
  local tp = flow.typing
  flow.random.seed(5)
  local n = os.getenv "KIND"
  local folder = os.tmpname()
  os.remove(folder)
  local function try(fn)
    local ok, message = pcall(fn)
    if not ok then print((message:gsub("^.-:%d+: ", ""))) end
  end
  local function network(name, returns)
    return flow.global_function { name = name, type = "train", returns = returns,
      inputs = { { "x", tp.Numpy.Placeholder({ 8, 6 }) } },
      body = function(x)
        local h = flow.layers.dense(x, 16, { name = "h" })
        h = flow.scope.placement(n, n == "gpu" and "0:1" or "0:0", function()
          return flow.math.tanh(flow.layers.dense(h, 4, { name = "o" }))
        end)
        flow.optimizer.SGD(0.1):minimize(h)
        return h
      end }
  end
  local function line(i, y) print(("%d %.4f"):format(i, y:get(1, 1))) end
  try(function()
    core.set("device", n)
    core.set("inline_limit", 0)
    local now, later = network("now", tp.Numpy), network("later", tp.Callback(tp.Numpy))
    local x = {}
    for i = 1, 8 do x[i] = { i, 1, 2, 3, 4, 5 } end
    line(1, now(x))
    for i = 2, 4 do later(x)(function(y) line(i, y) end, function(m) print(m) end) end
    flow.sync()
    flow.train.CheckPoint():save(folder)
    line(5, now(x))
    flow.train.CheckPoint():load(folder)
    line(6, now(x))
  end)
  try(function()
    flow.clear_default_session()
    print("the CPU goes on: " .. (flow.ndarray.zeros({ 3 }) + 2):sum())
  end)
  os.execute("rm -rf '" .. folder .. "'")
]]

--- How often a script calls each function of the driver, by name, and how many calls may fail.
local function calls_of(text, variables)
  local path = os.tmpname()
  variables.JFL_EMULATED_CALLS = path
  local out, status = on_gpu(variables, text)
  local file, counts = assert(io.open(path), out), {}
  local all = file:read("*n")
  for name, n in file:read("*a"):gmatch "([%w_]+) (%d+)" do counts[name] = tonumber(n) end
  file:close()
  os.remove(path)
  return counts, all, out, status
end

--- The calls that `more` further steps of a script make.
local function calls_of_steps(text, variables, more)
  variables.STEPS = 5
  local few, _, out, status = calls_of(text, variables)
  assert(status == 0, out)
  variables.STEPS = 5 + more
  local many = calls_of(text, variables)
  for name, n in pairs(few) do many[name] = (many[name] or 0) - n end
  for name, n in pairs(many) do many[name] = n ~= 0 and n or nil end
  return many
end

describe("--version", function()
  it("tells which of NVIDIA's libraries are there", function()
    local pipe = io.popen(("LD_LIBRARY_PATH=%s %s --version"):format(emulated.folder,
      helper.command()))
    local out = pipe:read("*a")
    pipe:close()
    assert.truthy(out:find("\n  NVIDIA's driver: GPUs\n  NVRTC: ", 1, true), out)
    assert.truthy(out:find("\n  cuBLASLt 13.0.0: products on GPUs\n", 1, true), out)
    assert.truthy(out:find("\n  cuDNN [%d.]+: "), out)
  end)
end)

describe("a GPU", function()
  local want

  setup(function() want = on_gpu({ JFL_DEVICE = "cpu", JFL_KERNELS = "reference" }, TRAINS) end)

  it("trains as the CPU does, with the same random numbers", function()
    assert.equal(want, (on_gpu({ JFL_DEVICE = "gpu" }, TRAINS)))
  end)

  it("compiles again what the driver does not take", function()
    local counts = calls_of(TRAINS, { JFL_DEVICE = "gpu", STEPS = 1 })
    local again, _, out = calls_of(TRAINS, { JFL_DEVICE = "gpu", STEPS = 1,
      JFL_EMULATED_FAIL = "cuModuleLoadData:200" })
    assert.equal(counts.cuModuleLoadData + 1, again.cuModuleLoadData)
    assert.equal(0, select(2, out:gsub("CUDA error", "")))
  end)

  it("does a step that trains, dropout included, by one launch and one wait", function()
    local silent = TRAINS:gsub("print%b()", "assert(ok, loss)")       -- means are launches, too
    assert.same({ cuGraphLaunch = 10, cuStreamSynchronize = 10, cuCtxPushCurrent_v2 = 20,
      cuCtxPopCurrent_v2 = 20 }, calls_of_steps(silent, { JFL_DEVICE = "gpu" }, 10))
  end)

  it("runs an op at once by one launch and one wait, without taking memory", function()
    local calls = calls_of_steps([[
      local flow = require "jfl"
      local x = flow.ndarray.rand({ 8, 6 })
      for _ = 1, tonumber(os.getenv "STEPS") do flow.math.tanh(x) end
    ]], { JFL_DEVICE = "gpu" }, 10)
    assert.equal(10, calls.cuLaunchKernel)
    assert.equal(10, calls.cuStreamSynchronize)
    assert.is_nil(calls.cuMemAllocAsync)
  end)

  -- TRAINS by asynchronous calls, and that with large inputs.
  local LATE = TRAINS:gsub("returns = tp.Numpy", "returns = tp.Callback(tp.Numpy)")
    :gsub("local ok, loss.*print%b()",
      'train(x, y)(function(loss) print(("%%.4f"):format(loss[1])) end, print)')
    :gsub("flow.random.seed", 'require("jfl.core").set("inline_limit", 0)\n  %0')
  local LARGE = LATE:gsub("%f[%d]6 }", "2048 }")

  it("has the next of some asynchronous steps while it works on one", function()
    local calls = calls_of_steps(LATE, { JFL_DEVICE = "gpu", JFL_EMULATED_DELAY = 3000 }, 20)
    assert.truthy(calls.ahead >= 10, calls.ahead)
    calls.ahead, calls.beside = nil, nil
    assert.same({ cuGraphLaunch = 20, cuEventRecord = 20, cuEventSynchronize = 20,
      cuCtxPushCurrent_v2 = 60, cuCtxPopCurrent_v2 = 60 }, calls)
  end)

  it("has the inputs of the next one there before that has ended, where they are large", function()
    local on_cpu = on_gpu({ JFL_DEVICE = "cpu", JFL_KERNELS = "reference", STEPS = 5 }, LARGE)
    local on = { JFL_DEVICE = "gpu", JFL_EMULATED_DELAY = 3000, JFL_EMULATED_ORDER = 1, STEPS = 5 }
    assert.equal(on_cpu, (on_gpu(on, LARGE)))        -- which also measures kernels, once
    local calls = calls_of_steps(LARGE, on, 20)
    assert.truthy(calls.beside >= 10, calls.beside)
    calls.beside, calls.ahead = nil, nil
    assert.same({ cuGraphLaunch = 20, cuMemcpyHtoDAsync_v2 = 20, cuStreamWaitEvent = 20,
      cuEventRecord = 40, cuEventSynchronize = 40, cuCtxPushCurrent_v2 = 140,
      cuCtxPopCurrent_v2 = 140 }, calls)
  end)

  it("needs NVIDIA's compiler, and says so", function()
    local folder = helper.directory()
    assert(os.execute(("ln -s \"$PWD/%s/libcuda.so.1\" '%s'"):format(emulated.folder, folder)) == 0)
    for version = 12, 13 do      -- what is no library hides one that is installed
      assert(io.open(("%s/libnvrtc.so.%d"):format(folder, version), "w")):close()
    end
    local out = on_gpu({ JFL_DEVICE = "gpu", folder = folder }, TRAINS)
    helper.remove(folder)
    assert.truthy(out:find("NVIDIA's compiler of kernels is not installed", 1, true), out)
  end)

  it("keeps compiled kernels, and compiles again what is damaged", function()
    local cache = helper.directory()
    local settings = { JFL_DEVICE = "gpu", XDG_CACHE_HOME = cache }
    local function count()
      local pipe = io.popen(("ls '%s/jfl' | wc -l"):format(cache))
      return tonumber(pipe:read("*l")), pipe:close()
    end
    assert.equal(want, (on_gpu(settings, TRAINS)))
    local kept = count()
    assert.truthy(kept > 0)
    assert(os.execute(("for f in '%s'/jfl/*; do echo nonsense > $f; done"):format(cache)) == 0)
    assert.equal(want, (on_gpu(settings, TRAINS)))
    assert.equal(kept, (count()))
    assert(os.execute(("chmod 777 '%s/jfl'"):format(cache)) == 0)
    assert.equal(want, (on_gpu(settings, TRAINS)))
    helper.remove(cache)
  end)

  -- Every call in CI, of the longer script every fourth, and some of them otherwise.
  local function check_failures(text, expected)
    local variables = text == SPREAD and { KIND = "gpu" } or { JFL_DEVICE = "gpu" }
    if text == LARGE then variables.STEPS = 5 end
    variables.JFL_EMULATED_ORDER = 1
    local _, calls, out = calls_of(text, variables)
    assert.equal(expected, out)
    assert.truthy(calls > 50)
    local often = text == SPREAD and 4 or 1
    for number = 1, calls, os.getenv "JFL_CUTS" and often or 17 * often do
      for _, code in ipairs { 2, 700 } do
        variables.JFL_EMULATED_FAIL = number .. ":" .. code
        local after, _, said, status = calls_of(text, variables)
        local what = ("call %d fails with %d: %s"):format(number, code, said)
        assert.truthy(status == 0 or status == 1, what)
        assert.truthy(said:find("gpu:%d") or said == expected, what)
        assert.falsy(said:find("in order", 1, true), what)
        -- A lost device keeps what it has, and what cannot be given back stays.
        assert.truthy(code == 700 or after.left <= 1, what)
        if text == SPREAD then assert.truthy(said:find("the CPU goes on: 6", 1, true), what) end
      end
    end
  end

  it("makes an error of each failure of the driver", function() check_failures(TRAINS, want) end)

  it("does so where inputs go ahead of the run before", function()
    check_failures(LARGE, (on_gpu({ JFL_DEVICE = "gpu", STEPS = 5 }, LARGE)))
  end)

  it("does so in asynchronous calls, on two devices and in checkpoints, and the CPU goes on",
    function()
      local alone = on_gpu({ KIND = "cpu", JFL_KERNELS = "reference" }, SPREAD)
      assert.matches("1.*2.*3.*4.*the CPU goes on: 6", alone)
      local calls = calls_of(SPREAD, { KIND = "gpu" })
      assert.equal(2, calls.cuCtxEnablePeerAccess)           -- once for each direction
      assert.truthy(calls.cuMemcpyPeerAsync > 10)
      check_failures(SPREAD, alone)
    end)

  it("says what does not fit, and how much there is", function()
    local out = on_gpu({ JFL_DEVICE = "gpu" }, [[
      local flow = require "jfl"
      local job = flow.global_function { name = "job", inputs = {
        { "x", flow.typing.Numpy.Placeholder({ 1 }) } }, returns = flow.typing.Numpy,
        body = function(x)
          local big = flow.math.tanh(x + flow.zeros({ 40000, 1 }))
          return flow.matmul(big, big, { transpose_b = true })
        end }
      print(pcall(job, { 1 }))
      print(pcall(flow.global_function { name = "large", returns = flow.typing.Numpy,
        body = function() return flow.get_variable("w", { shape = { 1500000000 },
          initializer = flow.zeros_initializer() }) end }))
    ]])
    assert.truthy(out:find("job: out of memory: temporaries take 6400%d+ bytes on gpu:0, "
      .. "where %d+ of 4294967296 are free; smaller batches take less"), out)
    assert.truthy(out:find("variable 'w': out of memory: its elements take 6000000000 bytes on "
      .. "gpu:0, where %d+ of 4294967296 are free"), out)
  end)
end)
