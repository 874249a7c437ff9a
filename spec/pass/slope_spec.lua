--- A transformer's feed-forward on the emulated GPU: products apply an activation and keep what it
-- reads, multiply a gradient by the slope there, and sum it for the bias. Numbers are those of the
-- CPU's plain kernels.
local emulated = require "spec.dev.emulated"
local helper = require "spec.lua.helper"

-- Trains some steps of a body, of x (4, 16, 32) and with layers `dense`; prints all losses and the
-- sums of what was trained, then the plan.
local TRAINS = [[
  local core, flow = require "jfl.core", require "jfl"
  local tp = flow.typing
  local dtype, mixed, passes = "%s", "%s", "%s"
  flow.random.seed(5)
  flow.config.passes(passes)
  local config = flow.function_config()
  if mixed ~= "" then config.enable_auto_mixed_precision(mixed) end
  config.micro_batches(%d)
  local function dense(x, units, name)
    return flow.layers.dense(x, units, { name = name, use_bias = true,
      bias_initializer = flow.random_uniform_initializer(-1, 1) })
  end
  local train = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy, function_config = config,
    inputs = { { "x", tp.Numpy.Placeholder({ 4, 16, 32 }, { dtype = flow[dtype] }) } },
    body = function(x)
      local y = (function(x) %s end)(x)
      local loss = flow.math.reduce_mean(flow.math.square(y))
      flow.optimizer.SGD(0.5):minimize(loss)
      return loss
    end,
  }
  local x = core.cast(flow.random.normal({ 4, 16, 32 }), dtype)
  for _ = 1, 3 do print(("number %%.9g"):format(train(x):mean())) end
  local names, all = {}, flow.get_all_variables()
  for name in pairs(all) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local v = core.cast(all[name], "float64")
    print(("number %%.9g"):format(core.op("reduce_mean")(core.op("square")(v)):mean()))
  end
  print(train:plan())
]]

local FEED_FORWARD = [[
  local h = dense(x, 32, "in")
  for i = 1, 2 do
    h = h + dense(flow.nn.gelu_tanh(dense(h, 64, "up" .. i)), 32, "down" .. i)
  end
  return h
]]

--- The numbers that are printed, and the plan's steps by op.
local function trained(body, options, variables)
  local text = TRAINS:format(options.dtype or "float32", options.mixed or "",
    options.passes or "", options.turns or 1, body)
  local out, status = emulated.run(variables, text)
  assert.equal(0, status, out)
  local numbers, steps = {}, {}
  for word in out:gmatch "number (%S+)" do numbers[#numbers + 1] = tonumber(word) end
  for op, kernel in out:gsub("gpu:%d+ ", ""):gmatch "\n *%d+ +([%w_]+) +([%w_]+)" do
    steps[op] = (steps[op] or 0) + 1
    steps[kernel] = (steps[kernel] or 0) + 1
  end
  return numbers, steps, out
end

local CPU, GPU = { JFL_DEVICE = "cpu", JFL_KERNELS = "reference" }, { JFL_DEVICE = "gpu" }

--- Trains on the CPU and the GPU; fails where numbers are further apart than `most` of them. Gives
-- how many steps of the GPU's plan keep, multiply by a slope, and sum.
local function check(body, options, variables, most)
  local want = trained(body, options, CPU)
  local got, steps, out = trained(body, options, variables or GPU)
  assert.truthy(#want > 3 and #want == #got, out)
  for i, number in ipairs(want) do assert.near(number, got[i], most * math.abs(number), out) end
  local function n(name) return steps["matmul_" .. name] or 0 end
  return ("%d %d %d"):format(n "kept", n "slope", n "summed"), steps
end

describe("a feed-forward's products", function()
  it("keep, multiply and sum in float32", function()
    local found, steps = check(FEED_FORWARD, {}, nil, 1e-5)
    assert.equal("2 2 2", found)
    assert.equal(2, steps.cublaslt_matmul_kept)
    assert.equal(2, steps.cublaslt_matmul_slope)
    assert.equal(2, steps.cublaslt_matmul_summed)
    assert.falsy(steps.gelu_tanh or steps.gelu_tanh_slope)
  end)

  it("do so in mixed precision, and store what is kept in 16 bits", function()
    local found, steps = check(FEED_FORWARD, { mixed = "bfloat16" }, nil, 1e-2)
    assert.equal("2 2 2", found)
    assert.equal(2, steps.cublaslt_matmul_kept)
    assert.equal(2, steps.cublaslt_matmul_slope)
    local _, _, out = trained(FEED_FORWARD, { mixed = "bfloat16" }, GPU)
    assert.truthy(out:find "matmul_kept +cublaslt_matmul_kept[^\n]*%-> up1[%w_/-]*%-bfloat16[^,]*, "
      .. "up1[%w_/-]*kept%-bfloat16", out)
  end)

  it("do so by their own kernel where the library is missing", function()
    local folder = emulated.without_blas()
    local found, steps = check(FEED_FORWARD, {}, { JFL_DEVICE = "gpu", folder = folder }, 1e-5)
    helper.remove(folder)
    assert.equal("2 2 2", found)
    assert.equal(2, steps.cuda_matmul_kept)
  end)

  it("stay plain in float16, which rounds what products read", function()
    assert.equal("0 0 0", (check(FEED_FORWARD, { mixed = "float16" }, nil, 2e-3)))
  end)

  it("stay plain where the library takes two steps: float64, older GPUs, odd widths", function()
    assert.equal("0 0 0", (check(FEED_FORWARD, { dtype = "float64" }, nil, 1e-12)))
    assert.equal("0 0 0", (check(FEED_FORWARD, {}, { JFL_DEVICE = "gpu", JFL_EMULATED_ARCH = 80 },
      1e-5)))
    assert.equal("0 0 0", (check(FEED_FORWARD:gsub("64", "63"), {}, nil, 1e-5)))
  end)

  it("stay plain where another value is multiplied, or another function applied", function()
    for _, body in ipairs {
      "return dense(flow.nn.gelu(dense(x, 64, 'up')), 32, 'down')",
      "local u = dense(x, 64, 'up') return dense(flow.nn.gelu_tanh(u) * u, 32, 'down')",
      "local u = dense(x, 64, 'up') return dense(flow.nn.gelu_tanh(u) + u, 32, 'down')",
      "return dense(flow.nn.gelu_tanh(dense(x, 64, 'up')) + 1, 32, 'down') * 2",
    } do
      local found = check(body, {}, nil, 1e-5)
      assert.equal("0", found:match "^%d+", body)
    end
    local twice = "local u = dense(x, 64, 'up') return dense(flow.nn.gelu_tanh(u), 64, 'down') + u"
    assert.equal("1 1 0", (check(twice, {}, nil, 1e-5)))
  end)

  it("are found in regions that are computed again, and in parts of a batch", function()
    assert.equal("2 2 2", (check(("return flow.scope.recompute(function() %s end)")
      :format(FEED_FORWARD), {}, nil, 1e-5)))
    assert.equal("4 4 2", (check(FEED_FORWARD, { turns = 2 }, nil, 1e-5)))
  end)

  it("stay plain where the pass is left out", function()
    assert.equal("0 0 0", (check(FEED_FORWARD, { passes = "-slope -epilogue" }, nil, 1e-5)))
  end)
end)

describe("sums of a gradient that products made", function()
  it("come with the gradient of the weights, for either order of them", function()
    assert.equal("0 0 1", (check("return dense(dense(x, 64, 'a'), 32, 'b')", {}, nil, 1e-5)))
    assert.equal("0 0 1", (check([[
      local w = flow.get_variable("w", { shape = { 32, 24 }, dtype = flow.float32,
        initializer = flow.random_normal_initializer(0, 0.3) })
      local b = flow.get_variable("b", { shape = { 24 }, dtype = flow.float32,
        initializer = flow.zeros_initializer() })
      local h = flow.nn.bias_add(flow.matmul(flow.reshape(x, { 64, 32 }), w), b)
      return dense(h, 8, "last")
    ]], {}, nil, 1e-5)))
  end)

  it("stay with the program that makes the gradient", function()
    assert.equal("0 0 0", (check("return dense(flow.math.tanh(dense(x, 64, 'a')), 32, 'b')", {},
      nil, 1e-5)))
  end)
end)

-- Between a product and its multiplication by a slope the body changes the product's factor.
local UPDATES = [[
  local core, support = require "jfl.core", require "spec.op.support"
  local op = setmetatable({}, { __index = function(_, name) return core.op(name) end })
  local shapes, inputs = { { 2, 8 }, { 8, 16 }, { 2, 16 } }, {}
  for i, shape in ipairs(shapes) do inputs[i] = support.filled("float32", shape, -1, 2) end
  inputs[4] = core.from_table({ 1, 0.5 }, "float64")
  local specs = {}
  for i, x in ipairs(inputs) do specs[i] = { dtype = x.dtype, shape = x.shape } end
  local plan = support.plan(specs, function(g, v)
    local w = core.variable(g, { name = "w", dtype = "float32", shape = { 8, 16 } })
    local y = op.matmul(v[1], w)
    op.update({ w, v[2], v[4] }, { optimizer = "SGD", options = { 0 } })
    return { op.multiply(y, op.gelu_tanh_slope(v[3])) }
  end)
  core.run(plan, unpack(inputs))
  for _, y in ipairs(support.flat((core.run(plan, unpack(inputs))))) do
    io.write(("%.5f "):format(y))
  end
  print(core.plan_text(plan):find("matmul_slope .- update ") and "first" or "last")
]]

it("an update of the factor comes after the product and the slope", function()
  local plain = emulated.run(CPU, UPDATES):gsub("%a+\n", "")
  local out = emulated.run(GPU, UPDATES)
  assert.equal("first", out:match "(%a+)\n")
  assert.equal(plain, (out:gsub("%a+\n", "")))
end)
