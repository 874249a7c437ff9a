--- How the programs of a plan are compiled, on an emulated compiler that makes nothing of them.
local emulated = require "spec.dev.emulated"
local helper = require "spec.lua.helper"

-- Jobs of some kinds of kernels, of which THREADS may be compiled at once.
local JOBS = [[
  local flow = require "jfl"
  local threads = tonumber(os.getenv "THREADS")
  require("jfl.core").set("threads", threads)
  local text = [=[
    local flow = require "jfl"
    local function job(name, body)
      return flow.global_function { name = name, inputs = { x = flow.float32 { 4, 8 } },
        body = body }
    end
    local x = flow.ndarray.ones { 4, 8 }
    function small() return job("small", function(x) return flow.math.cumsum(x) end)(x) end
    function large()
      return job("large", function(x)
        local turned = flow.sort(flow.math.cumsum(flow.nn.softmax(x)))
        return turned:argmax(1)
      end)(x)
    end
  ]=]
]]

--- A folder for what is kept on disk, and settings that name what the compiler tells.
local function fresh(settings)
  local folder = helper.directory()
  settings.JFL_DEVICE, settings.JFL_EMULATED_COMPILE = settings.JFL_DEVICE or "gpu", 0
  settings.XDG_CACHE_HOME = settings.XDG_CACHE_HOME or folder
  settings.JFL_EMULATED_SOURCES = folder
  settings.JFL_EMULATED_COMPILES = folder .. "/compiled"
  return folder
end

--- What a script prints; how many programs were compiled, and how many are different ones.
local function compiles(settings, script)
  local folder = fresh(settings)
  local out, status = emulated.run(settings, JOBS .. script)
  local pipe = io.popen(("ls '%s' | grep -c '[.]cu$'"):format(folder))
  local different = pipe:read "*n"
  pipe:close()
  local file = io.open(folder .. "/compiled")
  local all = file and file:read "*n" or 0
  if file then file:close() end
  helper.remove(folder)
  assert.equal(0, status, out)
  return out, all, different
end

local RUN = "assert(loadstring(text))() large() small() print 'done'"

describe("the programs of a plan", function()
  local want

  setup(function() want = select(2, compiles({ THREADS = 1 }, RUN)) end)

  it("are compiled side by side, each of them once", function()
    local out, all, different = compiles({ THREADS = 2, JFL_EMULATED_TOGETHER = 2 }, RUN)
    assert.equal("done\n", out)
    assert.truthy(want >= 4)
    assert.equal(want, all)
    assert.equal(want, different)
  end)

  it("are compiled once for several devices, with no folder to keep them in", function()
    local out, all, different = compiles({ THREADS = 2, JFL_DEVICE = "cpu",
      XDG_CACHE_HOME = "/dev/null" }, [[
      local x = flow.ndarray.ones { 4, 8 }
      flow.global_function { name = "both", inputs = { x = flow.float32 { 4, 8 } },
        body = function(x)
          local y = flow.scope.placement("gpu", "0:0", function() return flow.math.cumsum(x) end)
          return flow.scope.placement("gpu", "0:1", function() return flow.math.cumsum(y) end)
        end }(x)
      print "done"
    ]])
    assert.equal("done\n", out)
    assert.equal(1, all)
    assert.equal(1, different)
  end)

  it("fail as the step whose program does not compile, and the others stay", function()
    local out, all = compiles({ THREADS = 2, JFL_EMULATED_REFUSE = "softmax_args" }, [[
      assert(loadstring(text))()
      for _ = 1, 2 do print(select(2, pcall(large))) end
      print(select(2, pcall(small)).shape[1])
    ]])
    local message = "softmax: softmax does not compile: this source has 'softmax_args'"
    assert.equal(2, select(2, out:gsub(message, "")), out)
    assert.truthy(out:find "\n4\n$", out)
    assert.equal(want + 1, all)            -- that one twice
  end)

  it("that were compiled before a script's time was over need not be compiled again", function()
    local out, all, different = compiles({ THREADS = 2, JFL_EMULATED_SLOW = 1000 }, [[
      local box = flow.sandbox { seconds = 1 }
      print(pcall(box.run, box, text .. "large()"))
      assert(loadstring(text))()
      print(large().shape[1])
    ]])
    assert.truthy(out:find("the script was ended: it ran for more than 1 s", 1, true), out)
    assert.truthy(out:find "\n4\n$", out)
    assert.equal(want, all)
    assert.equal(want, different)
  end)
end)
