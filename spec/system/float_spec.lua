--- Kernels compute as usual on a thread whose host rounds up, down or towards 0, or takes numbers
-- close to 0 for 0; so do the threads that jfl starts there.
local ffi = require "ffi"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd, tp = flow.ndarray, flow.typing

ffi.cdef "int fesetround(int); int fegetround(void);"
local MODES = { up = 0x800, down = 0x400, ["towards 0"] = 0xc00 }        -- of x86

describe("on a thread that rounds otherwise #cpu", function()
  local m = ffi.load "m.so.6"
  local x = nd.array { -3.5, -0.7, 0.1, 0.5, 1, 2.25, 3, 7.5 }

  local function values()
    local lists = {}
    for i, name in ipairs { "erf", "exp", "tanh", "sin", "softplus" } do
      lists[i] = flow.math[name](x):totable()
    end
    flow.clear_default_session()
    local job = helper.train("rounds", { inputs = { { "x", tp.Numpy.Placeholder { 8, 8 } } },
      body = function(at)
        local y = flow.layers.dense(at, 8, { activation = flow.math.erf,
          kernel_initializer = flow.ones_initializer() })
        local loss = flow.math.reduce_mean(flow.nn.softmax(y) * y)
        flow.optimizer.Adam(0.1):minimize(loss)
        return loss
      end })
    for i = 1, 5 do lists[#lists + 1] = job(nd.ones { 8, 8 } / i):totable() end
    return lists
  end

  for name, mode in pairs(MODES) do
    it(name .. " the same is computed", function()
      if ffi.arch ~= "x64" then return pending "the numbers of modes are those of x86" end
      local want, before = values(), m.fegetround()
      m.fesetround(mode)
      local ok, got = pcall(values)
      local kept = m.fegetround()
      m.fesetround(before)
      assert.is_true(ok, got)
      assert.equal(mode, kept)
      assert.same(want, got)
    end)

    it(name .. " arrays are printed as elsewhere", function()
      if ffi.arch ~= "x64" then return pending "the numbers of modes are those of x86" end
      local arrays = {}
      for i, dtype in ipairs { "float32", "float64", "float16", "bfloat16" } do
        arrays[i] = nd.array({ 0.1, 1 / 3, 2.675, 1e-7, 3e4 }):astype(dtype)
      end
      local function texts()
        local list = {}
        for i, a in ipairs(arrays) do list[i] = tostring(a) end
        return list
      end
      local want, before = texts(), m.fegetround()
      m.fesetround(mode)
      local ok, got = pcall(texts)
      m.fesetround(before)
      assert.is_true(ok, got)
      assert.same(want, got)
    end)
  end
end)
