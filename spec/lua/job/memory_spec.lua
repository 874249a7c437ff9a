-- The memory of arrays is given back. Each script runs in a process of its own, whose peak is read.
local helper = require "spec.lua.helper"

local LIMIT = 256            -- MiB

-- Runs a script whose `mib(i)` is an array of 1 MiB; gives the peak of its resident memory in MiB.
local function peak_of(script)
  local out, status = helper.script([[
    local flow = require "jfl"
    local nd = flow.ndarray
    local function mib(i) return nd.full({ 512, 512 }, i or 0) end
  ]] .. script .. [[
    for line in io.lines("/proc/self/status") do
      local kib = line:match("^VmHWM:%s*(%d+)")
      if kib then print("peak " .. kib / 1024) end
    end
  ]])
  local peak = tonumber(out:match("peak ([%d.]+)"))
  assert(status == 0 and peak, out)
  return peak
end

describe("the memory of NdArrays", function()
  local function stays_low(what, script)
    it("is given back: " .. what, function()
      if helper.sanitized() then return pending("the sanitizer holds memory back") end
      local peak = peak_of(script)
      assert.is_true(peak < LIMIT, ("peak of %.0f MiB"):format(peak))
    end)
  end

  stays_low("of the values a variable had", [[
    local a = mib()
    for _ = 1, 6000 do a = a + 1 end
    assert(a[512][512] == 6000)
  ]])

  stays_low("of what nobody kept", [[
    local a = mib(1)
    for _ = 1, 6000 do flow.math.square(a) end
  ]])

  stays_low("of copies, conversions and joined arrays", [[
    local a = mib(1)
    for _ = 1, 400 do
      local b = a:copy():astype("float64")
      local c = nd.concat({ a, b:astype("float32") })
      assert(c:slice(1, 1)[1][1] == 1)
    end
  ]])

  stays_low("behind views, once those are gone", [[
    local last = {}
    for i = 1, 1500 do last[i % 50] = mib(i):slice(1, 2):reshape(-1) end
    assert(last[0][1] == 1500)
  ]])

  stays_low("behind pointers, once those are gone", [[
    local last = {}
    for i = 1, 1000 do last[i % 50] = mib(i):pointer() end
    assert(last[0][512 * 512 - 1] == 1000)
  ]])

  stays_low("on the way to an error", [[
    local a, wrong = mib(1), nd.ones(3)
    for _ = 1, 1000 do
      assert(not pcall(function() return (a + 1) + wrong end))
      assert(not pcall(function() return nd.array(mib(0.5):slice(1, 2):totable(), "int32") end))
    end
  ]])

  stays_low("of results that callbacks get, and make", [[
    local tp = flow.typing
    local job = flow.global_function { name = "double",
      inputs = { { "x", tp.Numpy.Placeholder({ 512, 512 }) } }, returns = tp.Callback(tp.Numpy),
      body = function(x) return x * 2 end }
    local a, sum = mib(1), 0
    for _ = 1, 600 do
      job(a)(function(y)
        local z = y + 1
        sum = sum + z[1][1]
      end)
    end
    flow.sync()
    assert(sum == 1800)
  ]])

  stays_low("of arrays that a loop frees while the collector stands still", [[
    collectgarbage("stop")
    for i = 1, 1000 do mib(i):free() end
  ]])
end)

describe("the memory of jobs", function()
  -- #cpu: on another device a plan has more.
  it("#cpu is some KiB for one that is defined, tens for a small one that is compiled", function()
    if helper.sanitized() then return pending("the sanitizer holds memory back") end
    local out, status = helper.script(helper.RESIDENT .. [[
      local flow = require "jfl"
      local tp = flow.typing
      local jobs, N = {}, 2000
      for i = 0, N do
        jobs[i] = flow.global_function { name = "job" .. i, returns = tp.Numpy,
          inputs = { { "x", tp.Numpy.Placeholder({ 8, 16 }) } },
          body = function(x) return flow.math.tanh(x) * 1.5 end }
        if i == 0 then
          jobs[0]:compile()           -- the first loads what all need
          BEFORE = resident()
        end
      end
      local defined = resident()
      for i = 1, N do jobs[i]:compile() end
      print((defined - BEFORE) / N, (resident() - defined) / N)
    ]])
    assert.equal(0, status, out)
    local defined, compiled = out:match("([%d.]+)%s+([%d.]+)")
    assert.is_true(tonumber(defined) < 4, out)
    assert.is_true(tonumber(compiled) < 48, out)
  end)
end)
