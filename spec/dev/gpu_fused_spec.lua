--- Fused programs on a GPU, on the emulated driver of spec/cuda: random chains, rows of any length
-- and sums along any axes give what the CPU's plain kernels give.
local emulated = require "spec.dev.emulated"
local helper = require "spec.lua.helper"

-- What every script begins with: agree(name, arrays, tol, body) prints where the devices differ, or
-- that a sum is a step of its own.
local AGREE = [[
  package.path = "./?.lua;" .. package.path
  local core = require "jfl.core"
  local support = require "spec.op.support"
  local op = setmetatable({}, { __index = function(_, name) return core.op(name) end })
  local function run(arrays, settings, body)
    core.reset()
    for k, v in pairs(settings) do core.set(k, v) end
    local g, x = core.graph("job", "predict"), {}
    core.trace(g)
    for i, a in ipairs(arrays) do x[i] = core.input(g, "x" .. i, a.dtype, a.shape) end
    for _, y in ipairs(body(g, unpack(x))) do core.output(g, y) end
    core.trace(nil)
    local plan = core.compile(core.job("job", "predict"), g)
    local lists = { core.run(plan, unpack(arrays)) }
    for i, a in ipairs(lists) do lists[i] = support.flat(a) end
    return lists, core.plan_text(plan)
  end
  local function agree(name, arrays, tol, body)
    local want = run(arrays, { device = "cpu", kernels = "reference" }, body)
    local got, text = run(arrays, { device = "gpu", kernels = "fast" }, body)
    for i = 1, #want do
      local ok, message = support.close(got[i], want[i], tol)
      if not ok then print(name, i, message) end
    end
    if not text:find "cuda_fused" or text:find "cuda_reduce" then print(name, "apart", text) end
  end
  local function filled(dtype, ...) return support.filled(dtype, { ... }, -1.9, 2.1) end
]]

local function says_nothing(script)
  local out, status = emulated.run({}, AGREE .. script)
  assert.equal("", out)
  assert.equal(0, status, out)
end

describe("a fused program on a GPU", function()
  it("sums rows of any length, whose sums it reads", function()
    says_nothing [[
      for i, n in ipairs { 2, 31, 33, 132, 1023, 1024, 1025, 2052, 16384 } do
        local dtype = i % 4 == 0 and "float64" or "float32"
        local x, gain = filled(dtype, 5, n), filled(dtype, n)
        agree("rows of " .. n, { x, gain }, dtype == "float64" and 1e-12 or 2e-6, function(_, a, b)
          local last = { axis = -1, keepdims = true }
          local d = op.subtract(a, op.reduce_mean(a, last))
          local scale = op.rsqrt(op.add(op.reduce_mean(op.square(d), last), 1e-5))
          return { op.add(op.multiply(op.multiply(d, scale), b), 0.5) }
        end)
      end
    ]]
  end)

  it("sums along any axes", function()
    says_nothing [[
      local x = filled("float32", 70, 6, 33)
      for _, axis in ipairs { { 0 }, { 0, 1 }, { 0, 2 }, { 1, 2 }, { 2 }, { 0, 1, 2 } } do
        agree("axes " .. table.concat(axis, " "), { x }, 2e-6, function(_, a)
          return { op.reduce_sum(op.tanh(op.multiply(a, 3)), { axis = axis }) }
        end)
      end
      for axis, shape in pairs { [0] = { 40, 3, 4, 5 }, { 2, 3, 2, 20000 } } do
        agree("every other axis from " .. axis, { filled("float32", unpack(shape)) }, 2e-6,
          function(_, a) return { op.reduce_sum(op.square(a), { axis = { axis, axis + 2 } }) } end)
      end
      agree("few columns", { filled("float32", 9000, 3) }, 2e-6, function(_, a)
        local y = op.square(a)
        return { y, op.reduce_mean(y, { axis = 0 }), op.reduce_sum(y) }
      end)
      agree("long lines", { filled("float32", 3, 100000) }, 2e-6, function(_, a)
        return { op.reduce_mean(op.square(a), { axis = 1 }) }
      end)
      agree("whole numbers", { filled("int32", 300, 8) }, 0, function(_, a)
        return { op.reduce_sum(op.multiply(a, 1000000007), { axis = 0 }) }
      end)
    ]]
  end)

  it("sums rows and columns at once, in the gradient of a normalization", function()
    says_nothing [[
      for dtype, tol in pairs { float64 = 1e-11, float32 = 2e-5 } do
        local x, gain = filled(dtype, 300, 48), filled(dtype, 48)
        agree("gradient", { x, gain, x }, tol, function(g, a, b, dy)
          local last = { axis = -1, keepdims = true }
          local d = op.subtract(a, op.reduce_mean(a, last))
          local scale = op.rsqrt(op.add(op.reduce_mean(op.square(d), last), 0.01))
          local y = op.multiply(op.multiply(d, scale), b)
          return { y, unpack(core.gradients(g, y, dy, { a, b })) }
        end)
      end
    ]]
  end)

  it("computes in float32 on what is stored in 16 bits", function()
    says_nothing [[
      local x = op.cast(filled("float32", 40, 64), "bfloat16")
      agree("16 bits", { x }, 2e-2, function(_, a)
        local y = op.multiply(op.tanh(a), 2)
        return { op.cast(y, "float32"),
          op.cast(op.reduce_sum(y, { axis = 1, keepdims = true }), "float32") }
      end)
    ]]
  end)

  it("reduces, searches and normalizes lines of any length along any axis", function()
    says_nothing [[
      local function each(device, x, made)
        core.reset()
        core.set("device", device)
        core.set("kernels", device == "cpu" and "reference" or "fast")
        local list = { made(x) }
        for i, a in ipairs(list) do list[i] = support.flat(a) end
        return list
      end
      local function same(name, x, made)
        local want, got = each("cpu", x, made), each("gpu", x, made)
        for i = 1, #want do
          local ok, message = support.close(got[i], want[i], 3e-6)
          if not ok then print(name, i, message) end
        end
      end
      local shapes = { { 3, 1 }, { 5, 31 }, { 2, 1025 }, { 40, 3, 7 }, { 2, 100003 }, { 9000, 3 } }
      for _, shape in ipairs(shapes) do
        local x = filled("float32", unpack(shape))
        for axis = 0, #shape - 1 do
          same(table.concat(shape, " ") .. " along " .. axis, x, function(a)
            local o = { axis = { axis } }
            return op.reduce_max(a, o), op.reduce_sum(a, o), op.reduce_mean(a, o),
              op.argmax(a, { axis = axis }), op.argmin(a, { axis = axis }),
              op.softmax(a, { axis = axis }), op.logsoftmax(a, { axis = axis })
          end)
        end
        same("all of " .. table.concat(shape, " "), x, function(a)
          return op.reduce_min(a), op.reduce_sum(a)
        end)
      end
    ]]
  end)

  it("leaves out what is masked, and tells what is not finite", function()
    says_nothing [[
      local inf, nan = 1 / 0, 0 / 0
      for i, row in ipairs { { -inf, -inf, 1, 2 }, { -inf, 1, -inf, 1 }, { -inf, -inf, -inf, -inf },
                             { 1, nan, 2, 3 }, { inf, 1, 2, 3 } } do
        local x = core.array("float32", { 1, 4 })
        local flat = core.reshape(x, { -1 })
        for j, v in ipairs(row) do flat[j] = v end
        local lists = {}
        for _, device in ipairs { "cpu", "gpu" } do
          core.reset()
          core.set("device", device)
          lists[device] = support.flat(op.softmax(x))
        end
        for j = 1, 4 do
          local a, b = lists.cpu[j], lists.gpu[j]
          if not (math.abs(a - b) < 1e-6 or (a ~= a and b ~= b)) then print(i, j, a, b) end
        end
      end
    ]]
  end)

  -- A block and a warp share a row; few and many rows; sums of columns in a block and in a warp.
  it("normalizes rows together with the sum before them, and with that of gradients", function()
    says_nothing [[
      local flow = require "jfl"
      local tp = flow.typing
      local function train(device, kernels, rows, n, kind, mixed)
        flow.clear_default_session()
        core.set("device", device)
        core.set("kernels", kernels)
        flow.random.seed(3)
        local config = flow.function_config()
        if mixed then config.enable_auto_mixed_precision(true) end
        local shape = { rows, n }
        local job = flow.global_function { name = "train", type = "train", function_config = config,
          returns = tp.Tuple(tp.Numpy, tp.Numpy), inputs = { { "x", tp.Numpy.Placeholder(shape) } },
          body = function(x)
            local h = x + flow.layers.dense(x, n, { name = "a" })
            local first = h
            for i = 1, 2 do
              local y = kind == "rms" and flow.layers.rms_norm(h, { name = "norm" .. i })
                or flow.layers.layer_norm(h, { begin_norm_axis = -1, name = "norm" .. i,
                  center = kind ~= "gamma", scale = kind ~= "beta" })
              h = h + flow.math.tanh(flow.layers.dense(y, n, { name = "b" .. i }))
            end
            local loss = flow.math.reduce_mean(flow.math.tanh(h) * first)
            flow.optimizer.SGD(0.5):minimize(loss)
            return loss, h
          end }
        local x, got = flow.random.normal(shape), {}
        for _ = 1, 3 do
          local loss, h = job(x)
          got[#got + 1] = loss:mean()
          for _, v in ipairs(support.flat(h)) do got[#got + 1] = v end
        end
        local names = {}
        for name in pairs(flow.get_all_variables()) do names[#names + 1] = name end
        table.sort(names)
        for _, name in ipairs(names) do
          if name:find "^norm%d" and not name:find "momentum" then
            for _, v in ipairs(support.flat(flow.get_all_variables()[name])) do
              got[#got + 1] = v
            end
          end
        end
        return got, job:plan()
      end
      for _, c in ipairs { { 17, 33, "rms" }, { 130, 128, "all" },
                           { 24, 516, "beta" }, { 33, 768, "all" }, { 20, 1032, "gamma" } } do
        local rows, n, kind = unpack(c)
        for _, mixed in ipairs { false, n % 8 == 0 } do
          local want = train("cpu", "reference", rows, n, kind)
          local got, plan = train("gpu", "fast", rows, n, kind, mixed)
          local name = ("%d x %d, %s, %s"):format(rows, n, kind, tostring(mixed))
          local ok, message = support.close(got, want, mixed and 0.1 or 2e-4)
          if not ok then print(name, message) end
          if plan:find "row_norm[_grad]* +cuda" or plan:find "%d  reduce_mean" then
            print(name, "apart", plan)
          end
          local programs = select(2, plan:gsub("fused%(", ""))
          local more = plan:find "subtract_%d+%[arena" or plan:find "cast_%d+%[arena"
          if programs ~= 5 or more then print(name, programs, plan) end
        end
      end
    ]]
  end)

  -- Extents and steps are arguments; numbers are, too, but for small whole ones.
  it("compiles one program for all extents of a batch norm and of what is broadcast", function()
    local cache = helper.directory()
    local out = helper.script([[
      local flow = require "jfl"
      local tp = flow.typing
      local function compiled()
        local pipe = io.popen "ls $XDG_CACHE_HOME/jfl/*.cubin 2>/dev/null | wc -l"
        local n = pipe:read "*n"
        pipe:close()
        return n
      end
      local function train(n, c, h)
        flow.clear_default_session()
        local shape = { n, c, h, h }
        local job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
          inputs = { { "x", tp.Numpy.Placeholder(shape) }, { "line", tp.Numpy.Placeholder { c } } },
          body = function(x, line)
            local y = flow.layers.batch_normalization(flow.nn.bias_add(x, line), { axis = 1 })
            local loss = flow.math.reduce_mean(y * flow.math.tanh(y * 0.3))
            flow.optimizer.SGD(0.1):minimize(loss)
            return loss
          end }
        job(flow.ndarray.ones(shape), flow.ndarray.ones { c })
        return compiled()
      end
      local first = train(4, 8, 28)
      print(first > 5, train(3, 40, 20) - first, train(5, 24, 28) - first)
    ]], ("JFL_DEVICE=gpu LD_LIBRARY_PATH=build/emulated JFL_EMULATED_COMPILE=0 XDG_CACHE_HOME='%s'")
      :format(cache))
    helper.remove(cache)
    assert.equal("true\t0\t0\n", out)
  end)

  it("agrees on random chains", function()
    local chains = os.getenv "JFL_FUZZ" and 150 or 12
    local out, status = emulated.run({ JFL_CHAINS = chains }, [[
      package.path = "./?.lua;" .. package.path
      local chains = require "spec.pass.chains"
      local core = require "jfl.core"
      local fuzz = require "spec.op.fuzz"
      local support = require "spec.op.support"
      for i = 1, tonumber(os.getenv "JFL_CHAINS") do
        core.set("device", "cpu")
        local p = chains.program(fuzz.random(1000 + i), 1 + i % 8, i % 10 == 0 and 19000 or 3000)
        local mode = i % 2 == 0 and "gradients" or nil
        local want = chains.run(p, mode, { kernels = "reference", device = "cpu" })
        local got, text = chains.run(p, mode, { device = "gpu" })
        for k = 1, #want do
          local ok, message = support.close(got[k], want[k], chains.is_float64(p) and 1e-9 or 2e-4)
          if not ok then print(("chain %d, result %d: %s\n%s"):format(i, k, message, text)) end
        end
      end
    ]])
    assert.equal("", out)
    assert.equal(0, status, out)
  end)
end)
