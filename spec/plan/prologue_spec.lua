--- What depends on variables alone is the prologue of a plan, which is made once, until a variable
-- changes; so are weights as kernels want them.
local core = require "jfl.core"
local flow = require "jfl"
local profile = require "jfl.tools.profile"
local nd, tp = flow.ndarray, flow.typing

local SHAPE = { 1, 32, 9, 9 }

local function block(x, name)
  local y = flow.layers.conv2d(x, 32, 3, { padding = "SAME", name = name })
  return flow.nn.relu(flow.layers.batch_normalization(y, { axis = 1, name = name .. "-norm" }))
end

local function job(kind, body)
  return flow.global_function { name = kind, type = kind, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(SHAPE) } }, body = body }
end

--- The names of the steps of a run that took time, and of those of the op `pack` how many did.
local function steps_run(call, x)
  local n, ops = 0, {}
  profile.start()
  call(x)
  for _, row in ipairs((profile.finish())) do
    if row.seconds > 0 then
      ops[row.op] = (ops[row.op] or 0) + 1
      if row.op == "pack" then n = n + 1 end
    end
  end
  return n, ops
end

--- The lines of a plan's text, by op.
local function lines(f, op)
  local out = {}
  for line in f:plan():gmatch "[^\n]+" do
    if line:match("^%s*%d+%s+(%S+)") == op then out[#out + 1] = line end
  end
  return out
end

-- What is made of two variables, each of which differs from another one in one thing: the op, an
-- attribute, an input or their order, a dtype, a constant or its shape, or which result of a step
-- it is.
local function third(i)
  return function(a)
    local part = select(i, flow.split(a, { 1, 1, 1 }, 1))
    return flow.concat({ part, part, part }, 1)
  end
end
local function plus(constant) return function(a) return constant + a end end
local DIFFERENT = {
  function(a) return flow.math.exp(a) end, function(a) return flow.math.sqrt(a) end,
  function(_, b) return flow.math.sqrt(b) end,
  function(a, b) return a - b end, function(a, b) return b - a end,
  function(a) return flow.cumsum(a, 0) end, function(a) return flow.cumsum(a, 1) end,
  function(_, b) return flow.cumsum(b, 1) end, function(a) return flow.transpose(a, { 1, 0 }) end,
  function(a, b) return flow.matmul(a, b) end, function(a, b) return flow.matmul(b, a) end,
  function(a, b) return flow.matmul(a, b, { transpose_b = true }) end,
  function(a) return flow.cast(flow.cast(a / 3, "float16"), "float32") end,
  function(a) return flow.cast(flow.cast(a / 3, "bfloat16"), "float32") end,
  plus(nd.array { { 1, 2, 3 } }), plus(nd.array { { 1, 2, 4 } }),
  plus(nd.array { { 1 }, { 2 }, { 3 } }), third(1), third(2), third(3),
}

describe("the prologue of a plan #cpu", function()
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(3)
  end)
  after_each(flow.clear_default_session)

  it("packs weights once, until a variable changes", function()
    local predict = job("predict", function(x) return block(block(x, "a"), "b") end)
    local x = nd.rand(SHAPE)
    local first = tostring(predict(x))
    local packs = #lines(predict, "pack")
    if predict:plan():match "winograd_conv2d" then assert.equal(2, packs) end
    assert.equal(0, (steps_run(predict, x)))
    assert.equal(first, tostring(predict(x)))
    flow.load_variables { ["a-weight"] = nd.rand({ 32, 32, 3, 3 }) }
    assert.equal(math.min(packs, 1), (steps_run(predict, x)))          -- those of "b" stay
    assert.equal(0, (steps_run(predict, x)))
    assert.not_equal(first, tostring(predict(x)))
  end)

  for _, rows in ipairs { 1, 11 } do
    it(("packs while runs go on what %d rows can do without"):format(rows), function()
      local sizes = { { 70, 64 }, { 96, 70 * 32 }, { 33, 96 } }
      local function weights()
        local list = {}
        for i, size in ipairs(sizes) do list["w" .. i] = nd.rand(size):astype "q4_0" end
        return list
      end
      local function define()
        return flow.global_function { name = "products", type = "predict", returns = tp.Numpy,
          inputs = { { "x", tp.Numpy.Placeholder({ rows, 64 }) } }, body = function(x)
            for i, size in ipairs(sizes) do
              local w = flow.get_variable("w" .. i, size, { dtype = "q4_0", trainable = false,
                initializer = flow.zeros_initializer() })
              x = flow.matmul(x, w, { transpose_b = true })
              if i == 1 then x = flow.tile(x, { 1, 32 }) end
            end
            return x
          end }
      end
      local predict, x, packs = define(), nd.rand { rows, 64 }, {}
      predict:compile()
      for _ = 1, 2 do
        local first
        flow.load_variables(weights())
        for run = 1, 5 do
          local y
          packs[#packs + 1] = steps_run(function() y = predict(x):totable() end)
          first = first or y
          assert.same(first, y, "run " .. run)
        end
      end
      if #lines(predict, "pack") == 0 then return end   -- the processor wants nothing packed
      assert.equal("0 2 1 0 0 2 1 0 0 0", table.concat(packs, " "))
    end)
  end

  it("lets no weights lie in memory twice", function()
    local predict = job("predict", function(x) return block(block(x, "a"), "b") end)
    predict(nd.rand(SHAPE))
    local scaled = lines(predict, "scale_filters")
    assert.equal(2, #scaled)
    for _, line in ipairs(scaled) do assert.truthy(line:match "%-> [%w_%-]+%[arena", line) end
    for _, line in ipairs(lines(predict, "pack")) do
      assert.truthy(line:match "%-> [%w_%-]+%[prologue%]$", line)
    end
  end)

  for _, device in ipairs { "cpu", "sim" } do
    it("is made once on " .. device .. ", until a variable changes", function()
      core.set("device", device)
      core.set("inline_limit", 0)
      local predict = flow.global_function { name = "predict", returns = tp.Callback(tp.Numpy),
        inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) } },
        body = function(x)
          local w = flow.get_variable("w", { shape = { 3, 3 },
            initializer = flow.ones_initializer() })
          return flow.matmul(x, flow.cumsum(w, 1))
        end }
      local x, sums = nd.zeros({ 4, 3 }) + 1, {}
      local function call() predict(x)(function(y) sums[#sums + 1] = y:sum() end) end
      local function made()
        local _, ops = steps_run(function() call() flow.sync() end)
        return ops.cumsum or 0, ops.matmul or ops.matmul_fused
      end
      call()
      flow.sync()
      assert.same({ 0, 1 }, { made() })
      for w = 2, 4 do
        flow.load_variables { w = nd.zeros({ 3, 3 }) + w }
        for _ = 1, 5 do call() end
        flow.sync()
      end
      assert.same({ 0, 1 }, { made() })
      flow.load_variables { w = nd.zeros({ 3, 3 }) + 5 }
      assert.same({ 1, 1 }, { made() })
      local want = { 72, 72 }
      for w = 2, 4 do for _ = 1, 5 do want[#want + 1] = 72 * w end end
      want[#want + 1], want[#want + 2] = 288, 360
      assert.same(want, sums)
    end)
  end

  for _, device in ipairs { "cpu", "sim" } do
    describe("on " .. device .. " is shared", function()
      local function sums_of(x, reverse)
        local w = flow.get_variable("w", { shape = { 3, 3 },
          initializer = flow.ones_initializer() })
        return flow.matmul(x, flow.cumsum(flow.cumsum(w, 1), 0, { reverse = reverse == true }))
      end
      local function define(name, body)
        return flow.global_function { name = name, body = body or sums_of,
          inputs = { flow.float32 { -1, 3 } } }
      end
      local function ones(n) return nd.zeros({ n, 3 }) + 1 end
      -- How many cumulated sums a call makes, and what it gives.
      local function made(f, n)
        local y
        local _, ops = steps_run(function(x) y = f(x) end, ones(n))
        return { ops.cumsum or 0, y:sum() }
      end
      before_each(function() core.set("device", device) end)

      it("by plans for other extents, and by other jobs", function()
        local a, b = define "a", define "b"
        assert.same({ 2, 36 }, made(a, 1))
        assert.same({ 0, 72 }, made(a, 2))
        assert.same({ 0, 108 }, made(b, 3))
        flow.load_variables { w = nd.zeros({ 3, 3 }) + 2 }
        assert.same({ 2, 216 }, made(b, 3))
        assert.same({ 0, 72 }, made(a, 1))
        assert.same({ 0, 144 }, made(a, 2))
      end)

      it("until the last of these plans is gone", function()
        flow.config.max_plans(1)
        local a, b = define "a", define "b"
        made(b, 1)
        for n = 1, 5 do assert.same({ 0, 36 * n }, made(a, n)) end
        flow.drop_variables "w"
        assert.same({ 2, 36 }, made(b, 1))
      end)

      it("with the constants in it", function()
        local function of(constant)
          return define("plus_" .. constant, function(x)
            local w = flow.get_variable("w", { shape = { 3, 3 },
              initializer = flow.ones_initializer() })
            return flow.matmul(x, flow.cumsum(w + nd.array { { constant, 0, 0 } }, 1))
          end)
        end
        local a, b = of(1), of(2)
        assert.same({ 1, 27 }, made(a, 1))
        assert.same({ 0, 54 }, made(a, 2))
        assert.same({ 1, 36 }, made(b, 1))
      end)

      it("where it is the same alone", function()
        local backwards = define("backwards", function(x) return sums_of(x, true) end)
        made(define "a", 1)
        assert.same({ 2, 36 }, made(backwards, 1))
      end)

      for _, kernels in ipairs { "fast", "reference" } do
        it("but not where one thing differs, by kernels that are " .. kernels, function()
          flow.config.kernels(kernels)
          finally(function() flow.config.kernels "fast" end)
          local x, a, b = nd.array { { 2, 3, 5 } }, nd.rand { 3, 3 } + 1, nd.rand { 3, 3 } + 2
          local jobs = {}
          for i, fn in ipairs(DIFFERENT) do
            jobs[i] = define("job_" .. i, function(v)
              local function variable(name)
                return flow.get_variable(name, { shape = { 3, 3 },
                  initializer = flow.ones_initializer() })
              end
              return flow.matmul(v, fn(variable "a", variable "b"))
            end)
          end
          for _ = 1, 2 do
            for i = 1, #jobs do jobs[i](x) end         -- so that all variables are there
            flow.load_variables { a = a, b = b }
            for i, fn in ipairs(DIFFERENT) do
              local want = flow.matmul(x, fn(a, b))
              local off = flow.math.reduce_max(flow.math.abs(jobs[i](x) - want)):item()
              assert(off <= 1e-5 * flow.math.reduce_max(flow.math.abs(want)):item(), i)
            end
            a, b = b, a
          end
        end)
      end

      it("while a train job changes variables", function()
        local predict = define "predict"
        local train = flow.global_function { name = "train", type = "train",
          inputs = { flow.float32 { 1, 3 } }, body = function(x)
            local y = flow.math.reduce_sum(sums_of(x))
            flow.optimizer.SGD(0.5):minimize(y)
            return y
          end }
        made(predict, 1)
        made(predict, 2)
        local before = 36
        for _ = 1, 3 do
          assert.equal(before, train(ones(1)):sum())         -- what it was before the step
          before = made(predict, 1)[2]
          assert.same({ 0, 2 * before }, made(predict, 2))
        end
        assert.is_true(before < 36)
      end)
    end)
  end

  it("leaves out the variables that the job itself changes", function()
    local train = job("train", function(x)
      local y = block(x, "a")
      flow.optimizer.SGD(0.1):minimize(y)
      return y
    end)
    local _, ops = steps_run(train, nd.rand(SHAPE))
    assert.is_nil(ops.pack)
    assert.is_nil(train:plan():match "a%-[%w_]+%[variable%][^\n]*%[prologue%]")
  end)

  it("is made once in a job that changes other variables", function()
    local step = job("predict", function(x)
      local w = flow.get_variable("w", { shape = { 3, 3 }, initializer = flow.ones_initializer() })
      local count = flow.get_variable("count", { shape = { 1 },
        initializer = flow.zeros_initializer() })
      flow.assign(count, count + 1)
      return flow.math.reduce_sum(flow.cumsum(w, 1)) + count + 0 * flow.math.reduce_sum(x)
    end)
    local x = nd.zeros(SHAPE)
    local function cumsums()
      local _, ops = steps_run(step, x)
      return ops.cumsum or 0
    end
    assert.equal(1, cumsums())
    assert.equal(0, cumsums())
    assert.equal(20, step(x):sum())
    flow.load_variables { w = nd.zeros { 3, 3 } + 2 }
    assert.equal(1, cumsums())
    assert.equal(0, cumsums())
    flow.load_variables { count = nd.zeros { 1 } }
    assert.equal(0, cumsums())
    assert.equal(37, step(x):sum())
  end)

  it("packs weights that are not trained once", function()
    local train = job("train", function(x)
      local y = block(x, "a")
      y = flow.layers.conv2d(y, 32, 3, { padding = "SAME", name = "b", trainable = false })
      flow.optimizer.SGD(0.1):minimize(flow.layers.conv2d(y, 1, 1, { name = "c" }))
      return y
    end)
    local x = nd.rand(SHAPE)
    train(x)
    local packs = lines(train, "pack")
    if train:plan():match "winograd_conv2d " then assert.is_true(#packs > 0) end
    for _, line in ipairs(packs) do assert.truthy(line:match " b%-weight%[variable%]", line) end
    assert.equal(0, (steps_run(train, x)))
  end)
end)
