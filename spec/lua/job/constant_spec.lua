--- NdArrays in a job's body: constants that hold what the arrays held when the body ran.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local passes = require "spec.passes"

local nd = flow.ndarray

local function ramp(...) return nd.arange(6):reshape(...) end

describe("an NdArray in a body", function()
  before_each(flow.clear_default_session)

  it("is an operand on either side of an operator and of any op", function()
    local a = ramp(2, 3)
    local job = helper.predict("j", { 2, 3 }, function(x)
      return flow.concat({ x + a, a - x, x * a, flow.math.maximum(a, x), flow.gather(a,
        nd.array({ 1 }, "int32")), flow.matmul(x, a, { transpose_b = true }) * nd.ones { 2, 1 } },
        { axis = 0 })
    end)
    helper.fails(function() local _ = job(nd.ones { 2, 3 }) end, "concat")
    job = helper.predict("k", { 2, 3 }, function(x)
      return flow.concat({ x + a, a - x, flow.math.maximum(a, x), flow.nn.relu(x) * a }, 0)
    end)
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 }, { -1, 0, 1 }, { 2, 3, 4 }, { 1, 1, 2 }, { 3, 4, 5 },
      { 0, 1, 2 }, { 3, 4, 5 } }, job(nd.ones { 2, 3 }):totable())
  end)

  it("of float64 has the dtype of the blob beside it, as a number has", function()
    local exact = nd.array({ 1, 2 }, "int32") / 4
    assert.equal("float64", exact.dtype)
    for _, dtype in ipairs { "float32", "float16", "bfloat16", "float64" } do
      local job = helper.predict("of " .. dtype, { 2 }, function(x)
        x = flow.cast(x, dtype)
        return flow.cast(flow.concat({ x * exact, exact - x, flow.math.maximum(exact, x) }, 0) +
          (dtype == "float64" and nd.ones { 1 } or 1), "float32")
      end)
      assert.same({ 1.25, 1.5, 0.25, 0.5, 2, 2 }, job { 1, 1 }:totable())
    end
    local picks = flow.global_function { name = "picks", inputs = { flow.int32 { 2 } },
      body = function(i) return flow.gather(exact, i) end }
    assert.equal("float64", picks({ 0, 1 }).dtype)
    helper.fails(function() flow.math.add(nd.ones { 2 }, exact) end, "cast converts")
  end)

  it("counts as it was, whatever becomes of it", function()
    local a = ramp(3, 2)
    local job = helper.predict("j", { 2, 3 }, function(x) return flow.matmul(x, a) end)
    job:compile()
    a:fill(100)
    a:free()
    collectgarbage()
    collectgarbage()
    assert.same({ { 6, 9 }, { 6, 9 } }, job(nd.ones { 2, 3 }):totable())
  end)

  it("gives the same without passes and on plain kernels", function()
    local want
    for _, off in ipairs { "", passes.all_but() } do
      for _, kernels in ipairs { "fast", "reference" } do
        flow.clear_default_session()
        core.set("kernels", kernels)
        core.set("passes", off)
        local job = helper.predict("j", { 2, 3 }, function(x)
          local a = flow.constant(ramp(3, 2)) * nd.array { 0.5, 2 }
          return flow.math.tanh(flow.matmul(x, a) - flow.math.reduce_sum(a, 0)) + nd.full({}, 3)
        end)
        local got = job(ramp(2, 3)):totable()
        want = want or got
        for i = 1, 2 do
          for k = 1, 2 do assert.is_true(math.abs(got[i][k] - want[i][k]) < 1e-6) end
        end
        core.set("kernels", "fast")
        core.set("passes", "")
      end
    end
  end)

  it("may be a result, of any dtype and shape", function()
    for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32",
      "int64" } do
      for _, shape in ipairs { {}, { 0, 2 }, { 2, 3 } } do
        local a = nd.full(shape, 3, dtype)
        local job = flow.global_function { name = "j_" .. dtype .. #shape .. a.size,
          returns = flow.typing.Numpy, body = function() return flow.constant(a) end }
        local got = job()
        assert.equal(dtype, got.dtype)
        assert.same(shape, got.shape)
        assert.equal(a.size, got:astype("float64"):eq(3):sum())
      end
    end
  end)

  -- #cpu: other devices copy it, into a temporary.
  it("is shown by its shape and first elements, and is there but once #cpu", function()
    local job = helper.predict("j", { 2, 3 }, function(x)
      return (x + ramp(2, 3)) * ramp(2, 3) + nd.ones { 2, 3 }
    end)
    job:compile()
    local _, n = job:graph("optimized")
      :gsub("array%(%) {value=float32 %(2, 3%) {0, 1, 2, 3, ...}}", "")
    assert.equal(1, n)
    assert.truthy(job:plan():find("array_1[constant]", 1, true))
    assert.truthy(job:graph("optimized"):find("add(t3, 1)", 1, true))      -- one number throughout
  end)

  it("counts as memory #cpu", function()
    local job = helper.predict("j", { 100 }, function(x) return x + nd.arange(100) end)
    flow.config.memory_limit(300)
    helper.fails(function() job:compile() end,
      "variables, constants and temporaries take 400 bytes, memory_limit is 300")
    flow.config.memory_limit(0)
  end)

  it("takes no part in training or checkpoints, and lets gradients pass", function()
    local directory = helper.directory()
    local job = helper.train("t", { body = function(x)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      local loss = x * w * nd.array { 2, 3 }
      flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
      return loss
    end })
    assert.same({ 2, 3 }, job({ 1, 1 }):totable())
    assert.same({ 0, -0.5 }, flow.get_all_variables().w:totable())
    flow.train.CheckPoint():save(directory .. "/c")
    for name in pairs(flow.checkpoint.get(directory .. "/c")) do
      assert.truthy(name == "w" or name:find("TrainStep"), name)
    end
    helper.remove(directory)
  end)

  it("is what flow.constant makes of it, under another dtype or shape too", function()
    local job = helper.predict("j", { 1 }, function(x)
      return flow.reshape(flow.constant(ramp(2, 3), { dtype = flow.float64, shape = { 3, 2 },
        name = "table" }), { 6 }) + flow.cast(x, flow.float64)
    end)
    assert.same({ 1, 2, 3, 4, 5, 6 }, job({ 1 }):totable())
    assert.truthy(job:graph("optimized"):find("table: float64 (3, 2)", 1, true))
    assert.same({ 2, 3 }, flow.constant(ramp(2, 3)).shape)
    assert.same({ 2, 2 }, flow.constant(2, { shape = { 2 } }):totable())
  end)

  it("is refused where it does not fit", function()
    local function fails(f, text)
      helper.fails(function() helper.predict("j" .. text, { 2, 3 }, f):compile() end, text)
    end
    fails(function(x) return x + nd.ones { 4 } end, "do not broadcast")
    fails(function(x) return x + nd.ones({ 3 }, "float16") end, "float16")
    fails(function(x)
      local a = nd.ones { 3 }
      a:free()
      return x + a
    end, "freed")
  end)
end)
