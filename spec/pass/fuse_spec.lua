local draws = require "spec.draws"
local chains = require "spec.pass.chains"
local command = require "spec.cmd.helper"
local core = require "jfl.core"
local flow = require "jfl"
local fuzz = require "spec.op.fuzz"
local golden = require "spec.golden"
local passes = require "spec.passes"
local support = require "spec.op.support"

local CHAINS, SEED = draws.trials(150), draws.seed()

local op = setmetatable({}, { __index = function(_, name) return core.op(name) end })

local function layer_norm(x, gain, bias)
  local last = { axis = -1, keepdims = true }
  local d = op.subtract(x, op.reduce_mean(x, last))
  local scale = op.rsqrt(op.add(op.reduce_mean(op.square(d), last), 1e-5))
  return op.add(op.multiply(op.multiply(d, scale), gain), bias)
end

local function gelu_by_tanh(x)
  local u = op.add(x, op.multiply(op.multiply(op.square(x), x), 0.044715))
  return op.multiply(op.multiply(x, 0.5), op.add(op.tanh(op.multiply(u, 0.79788456)), 1))
end

local function f32(...) return { "float32", { ... } } end

local function fused_in(text) return select(2, text:gsub("= fused%(", "")) end

--- A job of arrays, of which body makes blobs; its results, and its plan as text.
local function run(arrays, settings, body)
  core.reset()
  core.set("seed", 3)
  for k, v in pairs(settings) do core.set(k, v) end
  local g, x = core.graph("job", "predict"), {}
  core.trace(g)
  local ok, results = pcall(function()
    for i, a in ipairs(arrays) do x[i] = core.input(g, "x" .. i, a.dtype, a.shape) end
    return body(g, unpack(x))
  end)
  core.trace(nil)
  if not ok then error(results, 0) end
  for _, y in ipairs(results) do core.output(g, y) end
  local plan = core.compile(core.job("job", "predict"), g)
  local text = core.plan_text(plan)
  local lists = { core.run(plan, unpack(arrays)) }
  for i, a in ipairs(lists) do lists[i] = support.flat(a) end
  return lists, text
end

local function agree(arrays, body, tol, settings)
  settings = settings or {}
  settings.passes = ""
  local got, text = run(arrays, settings, body)
  settings.passes = "-fuse"
  local want = run(arrays, settings, body)
  core.set("passes", "")
  for i = 1, #want do
    local ok, message = support.close(got[i], want[i], tol)
    if not ok then error(("result %d, %s\n%s"):format(i, message, text), 2) end
  end
  return text
end

local function filled(dtype, ...) return support.filled(dtype, { ... }, -1.9, 2.1) end

local function page()
  local f = assert(io.open("src/pass/fuse/README.md"))
  local text = f:read("*a")
  f:close()
  return text
end

describe("fusing", function()
  local threads = core.get("threads")
  after_each(function()
    core.reset()
    core.set("threads", threads)
    core.set("kernels", "fast")
    core.set("passes", "")
  end)

  it("makes the gradient of relu and of a bias one sweep, in any layout", function()
    golden.check("fuse_relu_grad", passes.graph_after("fuse",
      { f32(8, 32, 9, 9), f32(8, 32, 9, 9), f32(8, 2, 9, 9, 16), f32(8, 2, 9, 9, 16) },
      function(x)
        local a, b = op.relu_grad(x[1], x[2]), op.relu_grad(x[3], x[4])
        return { a, op.reduce_sum(a, { axis = { 0, 2, 3 } }), b,
          op.reduce_sum(b, { axis = { 0, 2, 3 } }) }
      end))
  end)

  it("makes a layer normalization with its gradient one sweep", function()
    golden.check("fuse_layer_norm", passes.graph_after("fuse",
      { f32(32, 768), f32(768), f32(768), f32(32, 768) }, function(x, g)
        local y = layer_norm(x[1], x[2], x[3])
        local out = { op.softmax(y) }
        for i, d in ipairs(core.gradients(g, y, x[4], { x[1], x[2], x[3] })) do out[i + 1] = d end
        return out
      end))
  end)

  it("goes past views and broadcasts, and takes constants in", function()
    golden.check("fuse_views", passes.graph_after("fuse", { f32(4, 6, 10), f32(60), f32(4, 1, 1) },
      function(x)
        local flat = op.reshape(op.multiply(x[1], 2), { 4, 60 })
        local y = op.bias_add(op.tanh(flat), x[2])
        local z = op.multiply(op.reshape(y, { 4, 6, 10 }), op.broadcast_to(x[3], { 4, 6, 10 }))
        return { z, op.reduce_sum(z, { axis = 2 }) }
      end))
  end)

  it("makes of the example on its page what is printed there", function()
    local text = page()
    local script = command.file(text:match("```lua\n(.-)```"))
    local before, after = text:match("```text\n(.-)```.-```text\n(.-)```")
    for pass, want in pairs { forms = before, fuse = after } do
      local _, printed = command.shell(("JFL_PASSES= JFL_DUMP=%s %s %s"):format(pass,
        command.command(), script))
      assert.equal(("-- after pass %s\n%s"):format(pass, want), printed)
    end
    command.clean()
  end)

  it("does not reach over what must come between", function()
    golden.check("fuse_between", passes.graph_after("fuse", { f32(4, 6), f32(6, 6) }, function(x)
      local a = op.relu(op.add(x[1], 1))
      local b = op.matmul(a, x[2])
      return { op.multiply(op.add(a, b), 3) }
    end))
  end)

  it("makes a program for each device of what is on several", function()
    flow.clear_default_session()
    local function on(place, x)
      return flow.scope.placement("sim", place, function() return flow.math.tanh(x * 2) end)
    end
    local chain = flow.global_function {
      name = "chain", returns = flow.typing.Numpy,
      inputs = { { "x", flow.typing.Numpy.Placeholder({ 3, 4 }) } },
      body = function(x) return on("0:1", on("0:0", x)) end,
    }
    chain:compile()
    local _, programs = tostring(chain:plan()):gsub("fused%(multiply, tanh%)", "")
    assert.equal(2, programs)
    assert.near(math.tanh(2 * math.tanh(1)), chain(flow.ndarray.full({ 3, 4 }, 0.5))[3][4], 1e-6)
    flow.clear_default_session()
  end)

  it("takes scalars, and leaves empty tensors alone", function()
    local text = agree({ filled("float64"), filled("float64", 5, 3) }, function(g, s, x)
      local y = op.multiply(op.tanh(op.add(s, 1)), s)
      local z = op.multiply(op.add(x, y), s)
      return { y, op.exp(op.add(op.reduce_sum(z), y)), core.gradients(g, z, nil, { s })[1] }
    end, 1e-12)
    assert.truthy(text:find("fused(add, tanh", 1, true), text)
    text = agree({ core.array("float32", { 0, 3 }) }, function(_, x)
      local y = op.tanh(op.add(x, 1))
      return { y, op.multiply(y, op.reduce_sum(y, { axis = 0 })) }
    end, 0)
    assert.falsy(text:find("fused", 1, true))
  end)

  it("leaves alone what is no chain", function()
    local text = passes.graph_after("fuse", { f32(4, 6), f32(6, 4) }, function(x)
      return { op.relu(x[1]), op.softmax(op.tanh(x[2])), op.reduce_sum(op.softmax(x[1])) }
    end)
    assert.equal(0, fused_in(text))
  end)

  it("does not read a sum before it is complete", function()
    local text = passes.graph_after("fuse", { f32(40, 6) }, function(x)
      local y = op.exp(x[1])
      return { op.subtract(y, op.reduce_sum(y, { axis = 0, keepdims = true })) }
    end)
    assert.equal(1, fused_in(text))
    assert.truthy(text:find("= subtract(", 1, true))
  end)

  it("agrees with its absence on random chains, bit for bit on plain kernels", function()
    for i = 1, CHAINS do
      local most = i % 10 == 0 and 19000 or 3000
      local p = chains.program(fuzz.random(SEED * 1000 + i), 1 + i % 8, most)
      local mode, kernels = i % 2 == 0 and "gradients" or nil, i % 3 == 0 and "reference" or "fast"
      local got, text = chains.run(p, mode, { passes = "", kernels = kernels })
      local want = chains.run(p, mode, { passes = "-fuse", kernels = kernels })
      local tol = kernels == "reference" and 0 or chains.is_float64(p) and 1e-9 or 2e-4
      for k = 1, #want do
        local ok, message = support.close(got[k], want[k], tol)
        if not ok then error(("chain %d, result %d: %s\n%s"):format(i, k, message, text), 0) end
      end
    end
  end)

  it("draws the masks that dropout alone draws, wherever tiles begin", function()
    for _, dtype in ipairs { "float32", "float64" } do
      for _, shape in ipairs { { 3000 }, { 7, 33 }, { 5, 1 }, { 50, 1031 }, { 3, 5, 7 } } do
        local last = shape[#shape]
        for _, kernels in ipairs { "fast", "reference" } do
          local text = agree({ support.filled(dtype, shape, -1, 2), filled(dtype, last) },
            function(g, x, b)
              local y = op.dropout(op.multiply(op.add(x, b), 3), { rate = 0.3, name = "drop" })
              local dx = core.gradients(g, op.multiply(y, 2), nil, { x })[1]
              return { op.multiply(y, 2), dx }
            end, 0, { kernels = kernels })
          assert.truthy(text:find("dropout", 1, true))
          assert.falsy(text:find("  dropout", 1, true))
        end
      end
    end
  end)

  it("agrees with its absence on long graphs with connections that skip far ahead", function()
    local text = agree({ filled("float64", 5) }, function(g, x)
      local random, made = fuzz.random(SEED), { x }
      for i = 1, 1500 do
        local far = made[random(#made)]
        made[#made + 1] = i % 3 == 0 and op.tanh(made[#made])
          or op.multiply(op.add(made[#made], far), 0.5)
      end
      return { made[#made], core.gradients(g, made[#made], nil, { x })[1] }
    end, 1e-9)
    assert.truthy(text:find("fused(", 1, true))
  end)

  it("gives the same bits with any number of threads, and again", function()
    local a = filled("float32", 70, 96, 23)
    local arrays = { a, filled("float32", 96, 1), a }
    local function body(g, x, b, dy)
      local y = gelu_by_tanh(op.add(x, b))
      local dx, db = unpack(core.gradients(g, y, dy, { x, b }))
      return { y, dx, db, op.reduce_mean(dx, { axis = { 0, 2 } }) }
    end
    local first = run(arrays, { threads = 1 }, body)
    for _, n in ipairs { 2, 3, 1, 2 } do
      local again = run(arrays, { threads = n }, body)
      for i = 1, #first do assert.truthy(support.close(again[i], first[i], 0)) end
    end
  end)

  it("works on rows of any length", function()
    local lengths = { 63, 64, 255, 1000, 4096, 4097, 9000 }
    for n = 1, 17 do lengths[#lengths + 1] = n end
    for _, n in ipairs(lengths) do
      local x, gain = filled("float64", 5, n), filled("float64", n)
      local arrays = { x, gain, gain, x }
      agree(arrays, function(g, a, scale, bias, dy)
        local y = layer_norm(a, scale, bias)
        local dx, dgain, dbias = unpack(core.gradients(g, y, dy, { a, scale, bias }))
        return { y, dx, dgain, dbias }
      end, 1e-11)
    end
  end)

  it("works on all eight axes, and on axes of extent 1", function()
    local a = filled("float64", 2, 1, 3, 2, 1, 2, 3, 2)
    local b = filled("float64", 1, 1, 3, 1, 1, 2, 1, 2)
    local c = filled("float64", 2, 1, 1, 2, 1, 1, 3, 1)
    agree({ a, b, c }, function(g, x, y, z)
      local u = op.multiply(op.tanh(op.add(x, y)), z)
      local grads = core.gradients(g, u, nil, { x, y, z })
      return { u, grads[1], grads[2], grads[3], op.reduce_sum(u, { axis = { 0, 3, 6 } }) }
    end, 1e-12)
    local one = filled("float64", 1, 1, 1, 1, 1, 1, 1, 1)
    agree({ one }, function(_, x)
      return { op.reduce_mean(op.multiply(op.exp(x), op.add(x, 1)), { axis = { 1, 2 } }) }
    end, 1e-15)
  end)

  it("keeps float32 sums of many elements as exact as doubles make them", function()
    local a = filled("float32", 20000, 5)
    for _, kernels in ipairs { "fast", "reference" } do
      agree({ a }, function(_, x)
        local y = op.add(op.square(x), 1000)
        local columns, rows = op.reduce_mean(y, { axis = 0 }), op.reduce_mean(y, { axis = 1 })
        return { columns, op.reduce_mean(y), rows }
      end, 3e-7 * 1000, { kernels = kernels })
    end
  end)

  it("wraps sums of integers as they do alone", function()
    local n = 40000
    local a = core.array("int32", { n, 2 })
    local flat = core.reshape(a, { -1 })
    for i = 1, 2 * n do flat[i] = 2000000000 - i end
    agree({ a }, function(_, x)
      local y = op.multiply(op.add(x, 5), 3)
      return { op.reduce_sum(y, { axis = 0 }), op.reduce_sum(y, { axis = 1 }) }
    end, 0)
  end)

  it("writes over an input that dies only where each element is read for the last time", function()
    local arrays = { filled("float64", 40, 50), filled("float64", 50, 50), filled("float64", 50) }
    agree(arrays, function(_, x, w, b)
      local m = op.matmul(x, w)
      local y = op.tanh(op.add(m, b))
      local z = op.multiply(op.add(y, m), m)
      local n = op.matmul(z, w)
      local s = op.subtract(n, op.reduce_mean(n, { axis = -1, keepdims = true }))
      return { op.matmul(y, w), op.softmax(s), op.softmax(op.multiply(op.square(s), n)) }
    end, 1e-12)
  end)

  it("has the gradients that differences give", function()
    local arrays = { filled("float64", 6, 8), filled("float64", 8), filled("float64", 8) }
    local function loss(_, x, gain, bias)
      return { op.reduce_sum(gelu_by_tanh(layer_norm(x, gain, bias))) }
    end
    local grads = run(arrays, {}, function(g, ...)
      return core.gradients(g, loss(g, ...)[1], nil, { ... })
    end)
    local specs = {}
    for i, a in ipairs(arrays) do specs[i] = { dtype = "float64", shape = a.shape } end
    local plan = support.plan(specs, function(g, x) return loss(g, unpack(x)) end)
    for i, a in ipairs(arrays) do
      local flat = core.reshape(a, { -1 })
      for j = 1, #flat do
        local keep, at = flat[j], {}
        for k, h in ipairs { 1e-5, -1e-5 } do
          flat[j] = keep + h
          at[k] = support.flat((core.run(plan, unpack(arrays))))[1]
        end
        flat[j] = keep
        assert.near((at[1] - at[2]) / 2e-5, grads[i][j], 1e-7)
      end
    end
  end)
end)
