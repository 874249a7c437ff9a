--- Which of NVIDIA's libraries serve a driver and a device, on the emulated GPU: several versions
-- beside each other, a device that is newer than the compiler, a driver that is older than a
-- library, a device without pools of memory, errors that end it and others.
local emulated = require "spec.dev.emulated"
local helper = require "spec.lua.helper"

local TRAINS = [[
  local flow, tp = require "jfl", require("jfl").typing
  flow.random.seed(1)
  local train = flow.global_function { name = "train", type = "train",
    inputs = { { "x", tp.Numpy.Placeholder { 4, 8 } } }, returns = tp.Numpy,
    body = function(x)
      local loss = flow.math.reduce_mean(flow.layers.dense(x, 3, { name = "fc" }) ^ 2)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end }
  for i = 1, 3 do
    local ok, loss = pcall(train, flow.ndarray.ones { 4, 8 })
    print(ok and ("%.6f"):format(loss:mean()) or loss)
  end
  print(train:plan():find "cublaslt_matmul" and "cuBLASLt" or "own products")
]]

--- A folder with the emulated driver and copies of its libraries as these versions; a file that is
-- no library hides one that is installed.
local function folder_with(nvrtc, blas)
  local folder = helper.directory()
  local function copy(from, to)
    assert(os.execute(("cp '%s/%s' '%s/%s'"):format(emulated.folder, from, folder, to)) == 0)
  end
  copy("libcuda.so.1", "libcuda.so.1")
  copy("runtime.h", "runtime.h")
  for _, version in ipairs { 12, 13 } do
    for name, wanted in pairs { nvrtc = nvrtc, cublasLt = blas } do
      local file = ("lib%s.so.%d"):format(name, version)
      if wanted[version] then copy(("lib%s.so.13"):format(name), file)
      else helper.write(folder .. "/" .. file, "") end
    end
  end
  return folder
end

describe("the libraries of a GPU", function()
  local want

  --- What the script prints with these libraries and settings; caches are fresh.
  local function trains(nvrtc, blas, settings)
    local folder, cache = folder_with(nvrtc, blas), helper.directory()
    local variables = { JFL_DEVICE = "gpu", folder = folder, XDG_CACHE_HOME = cache }
    for name, value in pairs(settings or {}) do variables[name] = value end
    local out = emulated.run(variables, TRAINS)
    helper.remove(folder)
    helper.remove(cache)
    return out
  end

  local BOTH, NEW, OLD = { [12] = true, [13] = true }, { [13] = true }, { [12] = true }

  setup(function()
    want = emulated.run({ JFL_DEVICE = "cpu", JFL_KERNELS = "reference" }, TRAINS)
      :gsub("own products\n", "")
  end)

  it("serve a driver of their version and newer ones", function()
    assert.equal(want .. "cuBLASLt\n", trains(NEW, NEW))
    assert.equal(want .. "cuBLASLt\n", trains(OLD, OLD))
    assert.equal(want .. "cuBLASLt\n", trains(OLD, OLD, { JFL_EMULATED_VERSION = 12040 }))
  end)

  it("are chosen by what the driver serves, where several are there", function()
    for _, version in ipairs { 12000, 12090, 13000, 14000 } do
      local out = trains(BOTH, BOTH, { JFL_EMULATED_VERSION = version })
      assert.equal(want .. "cuBLASLt\n", out)
    end
  end)

  it("are left out one by one, where an older driver does not serve them", function()
    local old = { JFL_EMULATED_VERSION = 12040 }
    assert.equal(want .. "own products\n", trains(OLD, NEW, old))
    local out = trains(NEW, OLD, old)
    assert.truthy(out:find("device kernel image is invalid (CUDA error 200)", 1, true), out)
  end)

  it("make PTX for a device that is newer than they are", function()
    for _, arch in ipairs { 103, 121, 90 } do
      local out = trains(NEW, NEW, { JFL_EMULATED_ARCH = arch, JFL_EMULATED_ARCHS = "75 80" })
      assert.equal(want .. "cuBLASLt\n", out)
    end
    local out = trains(NEW, NEW, { JFL_EMULATED_ARCH = 75, JFL_EMULATED_ARCHS = "80 90" })
    assert.truthy(out:find("makes nothing for compute capability 7.5", 1, true), out)
  end)

  it("ask the other compiler where the driver refuses what one has made", function()
    for _, code in ipairs { 200, 209, 218, 222 } do
      local fails = { JFL_EMULATED_FAIL = ("cuModuleLoadData:%d"):format(code) }
      assert.equal(want .. "cuBLASLt\n", trains(BOTH, NEW, fails))
    end
    local older = { JFL_EMULATED_ARCHS = "75", JFL_EMULATED_VERSION = 12000 }
    assert.equal(want .. "cuBLASLt\n", trains(BOTH, BOTH, older))
  end)
end)

describe("a GPU without pools of memory", function()
  it("takes and gives back plain memory", function()
    local path = os.tmpname()
    local out, status = emulated.run({ JFL_DEVICE = "gpu", JFL_EMULATED_POOLS = 0,
      JFL_EMULATED_CALLS = path }, TRAINS)
    assert.equal(0, status, out)
    assert.falsy(out:find "error")
    local file = assert(io.open(path))
    local calls = file:read "*a"
    file:close()
    os.remove(path)
    assert.truthy(tonumber(calls:match "cuMemAlloc_v2 (%d+)") > 3)
    assert.equal(calls:match "cuMemAlloc_v2 (%d+)", calls:match "cuMemFree_v2 (%d+)")
    assert.falsy(calls:find "cuMemAllocAsync")
    assert.equal("0", calls:match "left (%d+)")
  end)

  it("is told from one that is out of memory, which gives up what it kept", function()
    local out, status = emulated.run({ JFL_DEVICE = "gpu",
      JFL_EMULATED_FAIL = "cuMemAllocAsync:2" }, TRAINS)
    assert.equal(0, status)
    assert.falsy(out:find "out of memory", out)
  end)
end)

describe("an error of a GPU", function()
  --- What follows a launch that failed so.
  local function after(code)
    local settings = { JFL_DEVICE = "gpu", JFL_EMULATED_FAIL = "cuGraphLaunch:" .. code }
    return (emulated.run(settings, TRAINS))
  end

  it("that ends it says what it means, and that a new process is needed", function()
    for code, means in pairs { [214] = "memory has an error that it cannot correct",
        [220] = "NVLink", [700] = "outside of its memory", [702] = "with a screen",
        [716] = "not a multiple", [719] = "ended in an error", [999] = "the system's log" } do
      local out = after(code)
      assert.truthy(out:find(means, 1, true), out)
      assert.truthy(out:find("only a new process can use it again", 1, true), out)
      assert.truthy(out:find(("an earlier failure (CUDA error %d) ended it"):format(code), 1, true))
    end
  end)

  it("that ends it is told as such, whichever call meets it", function()
    local path, settings = os.tmpname(), { JFL_DEVICE = "gpu" }
    settings.JFL_EMULATED_CALLS = path
    local want, calls = emulated.run(settings, TRAINS), 0
    settings.JFL_EMULATED_CALLS = nil
    for line in io.lines(path) do
      local call = line:match "^(cu%S+) "
      if call then
        calls, settings.JFL_EMULATED_FAIL = calls + 1, call .. ":700"
        local out = emulated.run(settings, TRAINS)
        assert(out == want or out:find("new process", 1, true), call .. ": " .. out)
        assert(not out:find("out of memory", 1, true), call .. ": " .. out)
      end
    end
    os.remove(path)
    assert.truthy(calls > 15)
  end)

  it("that leaves it whole is told alone", function()
    for _, code in ipairs { 701, 704, 708, 711, 712, 713, 720, 801 } do
      local out = after(code)
      assert.truthy(out:find(("(CUDA error %d)"):format(code), 1, true), out)
      assert.falsy(out:find("new process", 1, true), out)
      assert.falsy(out:find("earlier failure", 1, true), out)
    end
  end)
end)
