--- Convolutions by cuDNN, on the emulated one of spec/cuda: what is planned, what its engines
-- refuse, choices that are kept, failures of its calls.
local helper = require "spec.lua.helper"

local EMULATED = "build/emulated"

--- Runs a script on the emulated GPU with these variables in its environment.
local function on_gpu(variables, text)
  local list = { ("LD_LIBRARY_PATH='%s' XDG_CACHE_HOME='%s' JFL_DEVICE=gpu JFL_TF32=%d")
    :format(variables.folder or EMULATED, variables.cache or "'$PWD'/build/cache",
            variables.tf32 or 0) }
  for name, value in pairs(variables) do
    if name:find "^JFL" then list[#list + 1] = ("%s='%s'"):format(name, value) end
  end
  return helper.script(text, table.concat(list, " "))
end

-- Two convolutions with what follows them, trained for two steps.
local TRAINS = [[
  local flow = require "jfl"
  local tp = flow.typing
  flow.random.seed(5)
  local train = flow.global_function {
    name = "train", type = "train",
    inputs = { { "x", tp.Numpy.Placeholder({ 4, 1, 10, 10 }) },
               { "y", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) } },
    returns = tp.Numpy,
    body = function(x, y)
      local h = flow.layers.conv2d(x, 4, 3, { activation = flow.nn.relu, name = "first" })
      h = flow.layers.conv2d(h, 6, 3, { activation = flow.math.tanh, strides = 2, name = "second" })
      local logits = flow.layers.dense(flow.reshape(h, { 4, -1 }), 3)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end,
  }
  local x, y = flow.random.normal({ 4, 1, 10, 10 }), { 0, 1, 2, 0 }
  for _ = 1, 2 do
    local ok, loss = pcall(train, x, y)
    print(ok and ("%.4f"):format(loss:mean()) or loss)
  end
]]
local PLANNED = TRAINS .. "print(train:plan())"

describe("convolutions by cuDNN", function()
  local want

  setup(function()
    want = helper.script(TRAINS, "JFL_DEVICE=cpu JFL_KERNELS=reference")
  end)

  it("train as the CPU's do, forward and backward", function()
    local out = on_gpu({}, PLANNED)
    assert.equal(want, out:sub(1, #want))
    for _, way in ipairs { "_filter_grad", "_data_grad" } do
      assert.truthy(out:find("%sconv2d" .. way .. "%s+cudnn_conv" .. way), out)
    end
    assert.truthy(out:find("%sconv2d_fused%s+cudnn_conv%s"), out)
  end)

  it("are followed by kernels of jfl where its engines take single ops alone", function()
    local out = on_gpu({ JFL_EMULATED_CUDNN = "single" }, PLANNED)
    assert.equal(want, out:sub(1, #want))
    assert.truthy(out:find("conv2d_fused%s+cudnn_conv"), out)
  end)

  for why, shown in pairs { none = "", start = "libcudnn.so.9: it does not start on gpu:0" } do
    it("are left to jfl's kernels where cuDNN says " .. why, function()
      local out = on_gpu({ JFL_EMULATED_CUDNN = why }, PLANNED)
      assert.equal(want, out:sub(1, #want))
      assert.truthy(out:find("conv2d_fused%s+cuda_conv"), out)
      assert.falsy(out:find("cudnn_", 1, true), out)
      assert.truthy(out:find(shown, 1, true), out)
    end)
  end

  it("are left to jfl's kernels without cuDNN", function()
    local folder = helper.directory()
    assert(os.execute(("ln -s \"$PWD/%s/\"* '%s'"):format(EMULATED, folder)) == 0)
    os.remove(folder .. "/libcudnn.so.9")
    assert(io.open(folder .. "/libcudnn.so.9", "w")):close()  -- hides one that is installed
    local out = on_gpu({ folder = folder }, PLANNED)
    helper.remove(folder)
    assert.equal(want, out:sub(1, #want))
    assert.truthy(out:find("conv2d_fused%s+cuda_conv"), out)
    local said = "slower kernels serve: libcudnn.so.9: it is not installed"
    assert.truthy(out:find(said, 1, true), out)
  end)

  for _, dtype in ipairs { "float16", "bfloat16" } do
    it("read " .. dtype .. " in mixed precision", function()
      local mixed = ("require('jfl').config.enable_auto_mixed_precision('%s')\n"):format(dtype)
      local function larger(text)      -- convolutions that are worth bfloat16
        return mixed .. text:gsub("h, 6, 3", "h, 48, 3"):gsub("x, 4, 3", "x, 32, 3")
      end
      local cpu = helper.script(larger(TRAINS), "JFL_DEVICE=cpu")
      local out = on_gpu({}, larger(PLANNED))
      assert.truthy(out:find("cudnn_conv_filter_grad%s+%S+-" .. dtype), out)
      local a, b = cpu:gmatch "%S+", out:gmatch "%S+"
      for _ = 1, 2 do assert.near(tonumber(a()), tonumber(b()), 0.01) end
    end)
  end

  it("round operands to TF32 where the setting allows it", function()
    local script = [[
      local flow = require "jfl"
      local one = 1 + 2 ^ -12                     -- 1 in TF32
      local x, f = flow.ones({ 1, 1, 1, 1 }) * one, flow.ones({ 1, 1, 1, 1 })
      print(("%.6f"):format(flow.nn.conv2d(x, f, { padding = "VALID" }):mean()))
    ]]
    local cache = helper.directory()
    local settings = { cache = cache, JFL_EMULATED_CUDNN = "slow" }
    assert.equal("1.000244\n", (on_gpu(settings, script)))
    settings.tf32 = 1
    assert.equal("1.000000\n", (on_gpu(settings, script)))
    helper.remove(cache)
  end)

  it("measure engines once, and keep the choice", function()
    local cache = helper.directory()
    local calls = {}
    for run = 1, 2 do
      local counted = os.tmpname()
      local out = on_gpu({ cache = cache, JFL_EMULATED_CALLS = counted }, TRAINS)
      assert.equal(want, out)
      local file = assert(io.open(counted))
      calls[run] = file:read("*n")
      file:close()
      os.remove(counted)
    end
    helper.remove(cache)
    assert.truthy(calls[2] < calls[1] - 30, ("%d calls, then %d"):format(calls[1], calls[2]))
  end)

  it("go on after a list of places could not be made", function()
    local again = TRAINS:gsub("for _ = 1, 2 do", "for _ = 1, 40 do")
    local out, status = on_gpu({ JFL_EMULATED_CUDNN = "packs" }, again)
    assert.equal(0, status, out)
    local lines, failed = {}, 0
    for line in out:gmatch "[^\n]+" do lines[#lines + 1] = line end
    for i, line in ipairs(lines) do
      if not line:find "^%d+%.%d+$" then
        assert.truthy(line:find("cuDNN failed", 1, true), out)
        failed = i
      end
    end
    assert.truthy(failed > 0 and failed < 20 and #lines == 40, out)
  end)

  -- Every call in CI, some of them otherwise.
  it("make an error of each failure, or are left to jfl's kernels", function()
    local counted = os.tmpname()
    on_gpu({ JFL_EMULATED_CALLS = counted }, TRAINS)
    local file = assert(io.open(counted))
    local calls = file:read("*n")
    file:close()
    os.remove(counted)
    for number = 1, calls, os.getenv "JFL_CUTS" and 1 or 61 do
      local out, status = on_gpu({ JFL_EMULATED_FAIL = number .. ":2" }, TRAINS)
      local said = ("call %d fails: %s"):format(number, out)
      assert.truthy(status == 0 or status == 1, said)
      assert.truthy(out == want or out:find("gpu:0", 1, true), said)
    end
  end)
end)

-- Attention of three variables, trained for two steps.
local ATTENDS = [[
  local flow = require "jfl"
  local tp = flow.typing
  local shape = { 1, 2, 160, 8 }              -- so long that bfloat16 is worth it
  flow.random.seed(5)
  flow.config.enable_auto_mixed_precision("%s")
  local train = flow.global_function {
    name = "train", type = "train", inputs = { { "x", tp.Numpy.Placeholder(shape) } },
    returns = tp.Numpy,
    body = function(x)
      local function of(name)
        local normal = flow.random_normal_initializer(0, 1)
        return x * flow.get_variable(name, { shape = shape, initializer = normal })
      end
      local options = { causal = %s }
      local y = flow.nn.scaled_dot_product_attention(of "q", of "k", of "v", options)
      local loss = flow.math.reduce_mean(flow.math.square(y - x))
      flow.optimizer.SGD(60):minimize(loss)
      return loss
    end,
  }
  local x = flow.random.normal(shape)
  for _ = 1, 3 do print(("%%.5f"):format(train(x):mean())) end
  print(train:plan())
]]

describe("attention by cuDNN", function()
  for _, dtype in ipairs { "float16", "bfloat16" } do
    for _, causal in ipairs { "false", "true" } do
      it(("gives what the CPU gives, in %s, causal %s"):format(dtype, causal), function()
        local script = ATTENDS:format(dtype, causal)
        local out = on_gpu({}, script)
        assert.truthy(out:find("attention%s+cudnn_attention%s"), out)
        assert.truthy(out:find("attention_grad%s+cudnn_attention%s"), out)
        local cpu = helper.script(script, "JFL_DEVICE=cpu JFL_KERNELS=reference")
        local a, b = cpu:gmatch "%S+", out:gmatch "%S+"
        local last
        for _ = 1, 3 do
          last = tonumber(b())
          assert.near(tonumber(a()), last, 0.002)
        end
        assert.truthy(last < 1.2, out)
      end)
    end
  end

  it("is left to jfl's kernels where cuDNN has no engine", function()
    local script = ATTENDS:format("float16", "true")
    local out = on_gpu({ JFL_EMULATED_CUDNN = "none" }, script)
    assert.truthy(out:find("attention%s+cuda_attention%s"), out)
    local a, b = on_gpu({}, script):gmatch "%S+", out:gmatch "%S+"
    for _ = 1, 3 do assert.near(tonumber(a()), tonumber(b()), 0.002) end
  end)
end)

describe("the installed cuDNN", function()
  it("has all entry points that are used", function()
    local path
    for line in io.popen("/sbin/ldconfig -p 2>/dev/null"):lines() do
      path = path or line:match "libcudnn%.so%.9 .*=> (%S+)"
    end
    if not path then return pending "there is no libcudnn.so.9" end
    local pipe = io.popen(("nm -D --defined-only '%s'"):format(path))
    local symbols = pipe:read "*a"
    pipe:close()
    local source = assert(io.open "src/dev/cuda/dnn.h"):read "*a"
    local n = 0
    for symbol in source:gmatch "[%s(,](cudnn%u%w+), %(" do
      n = n + 1
      assert.truthy(symbols:find("%s" .. symbol .. "[%s@]"), symbol)
    end
    assert.equal(11, n)
  end)
end)
