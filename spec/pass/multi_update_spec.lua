local core = require "jfl.core"
local flow = require "jfl"
local golden = require "spec.golden"
local passes = require "spec.passes"
local tp = flow.typing

--- A job that trains a perceptron by the optimizer that make() gives.
local function train(make, dtype)
  return flow.global_function {
    name = "train_job", type = "train", returns = tp.Numpy,
    inputs = {
      { "x", tp.Numpy.Placeholder({ 4, 6 }, { dtype = dtype }) },
      { "labels", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) },
    },
    body = function(x, labels)
      local hidden = flow.layers.dense(x, 5, { activation = flow.nn.relu })
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels,
        flow.layers.dense(hidden, 3))
      make():minimize(loss)
      return loss
    end,
  }
end

--- The graph that these two passes make of a job, all others that can be left out being so.
local function graph_of(make)
  local others = {}
  for _, name in ipairs((core.passes())) do
    if name ~= "matmul_update" and name ~= "multi_update" then others[#others + 1] = "-" .. name end
  end
  return passes.with(table.concat(others, " "),
    function() return train(make, "float32"):graph("optimized") end)
end

local function momentum() return flow.optimizer.SGD(0.1, { momentum = 0.9 }) end
local function plain() return flow.optimizer.SGD(0.1, { momentum = 0 }) end
local function clipped()
  return flow.optimizer.SGD(0.1, { momentum = 0,
    grad_clipping = flow.optimizer.grad_clipping.by_global_norm(0.25) })
end

--- All numbers that six steps make: losses, then variables by name.
local function outcome(make, dtype, settings)
  flow.clear_default_session()
  core.set("seed", 3)
  for name, value in pairs(settings) do core.set(name, value) end
  local job, numbers = train(make, dtype), {}
  local x = core.array(dtype, { 4, 6 })
  for i = 1, 4 do
    for j = 1, 6 do x[i][j] = math.sin(i * 6 + j) end
  end
  local function add(a)
    for _, v in ipairs(core.to_table(core.reshape(a, { -1 }))) do numbers[#numbers + 1] = v end
  end
  for _ = 1, 6 do add(job(x, { 0, 2, 1, 2 })) end
  local names = core.variables()
  table.sort(names)
  for _, name in ipairs(names) do add(core.variable_get(name)) end
  return numbers
end

--- The variables after three steps of one sample through layers that are worth several threads.
local function wide(make, threads)
  flow.clear_default_session()
  core.set("seed", 3)
  core.set("threads", threads)
  local job = flow.global_function {
    name = "wide_job", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder { 1, 900 } } },
    body = function(x)
      local y = flow.layers.dense(flow.layers.dense(x, 701, { activation = flow.nn.relu }), 3)
      make():minimize(flow.math.square(y))
      return y
    end,
  }
  local x, texts = core.array("float32", { 1, 900 }), {}
  for i = 1, 900 do x[1][i] = math.sin(i) end
  for _ = 1, 3 do job(x) end
  local names = core.variables()
  table.sort(names)
  for _, name in ipairs(names) do
    local flat, n, sum = core.reshape(core.variable_get(name), { -1 }), 0, 0
    for i = 1, #flat do
      n, sum = n + 1, (sum * 31 + flat[i] * 2 ^ 40) % 2 ^ 45
    end
    texts[#texts + 1] = ("%s %d %.17g %.17g"):format(name, n, sum, flat[1])
  end
  return texts
end

local function agree(a, b, tolerance)
  assert.equal(#a, #b)
  for i = 1, #a do
    local difference = math.abs(a[i] - b[i])
    assert.truthy(difference <= tolerance, ("number %d: %.17g and %.17g"):format(i, a[i], b[i]))
  end
end

describe("the updates of a job", function()
  before_each(function() flow.clear_default_session() end)
  after_each(function()
    flow.clear_default_session()
    core.set("passes", "")
    core.set("kernels", "fast")
  end)

  it("with momentum are one node", function()
    golden.check("momentum_graph", graph_of(momentum))
  end)

  it("of plain SGD are products where gradients are, and one node for the others", function()
    golden.check("sgd_graph", graph_of(plain))
  end)

  it("are one node with its scale where gradients are clipped", function()
    golden.check("clipped_graph", graph_of(clipped))
  end)

  it("stay apart where the passes are left out", function()
    core.set("passes", "-matmul_update -multi_update")
    local text = train(plain, "float32"):graph("optimized")
    assert.is_nil(text:find "matmul_update")
    local _, count = text:gsub(" update%([%w_-]+, [%w_]+, [%w_]+%)", "")
    assert.equal(4, count)
  end)

  it("do not join what has another dtype", function()
    local job = flow.global_function {
      name = "two", type = "train", returns = tp.Numpy,
      body = function()
        local one = flow.ones_initializer()
        local a = flow.get_variable("a", { shape = { 2 }, initializer = one })
        local b = flow.get_variable("b", { shape = { 2 }, dtype = flow.double, initializer = one })
        flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(flow.cast(a * 2, flow.double) * b)
        return a
      end,
    }
    local _, count = job:graph("optimized"):gsub(" update%(", "")
    assert.equal(2, count)
    job()
    assert.same({ 0.5, 0.5 }, core.to_table(core.variable_get "a"))
  end)

  for name, make in pairs { momentum = momentum, plain = plain, clipped = clipped } do
    it(("come out the same with and without the passes: %s"):format(name), function()
      for _, kernels in ipairs { "fast", "reference" } do
        for dtype, tolerance in pairs { float32 = 2e-6, float64 = 1e-14 } do
          local want = outcome(make, dtype, { kernels = kernels,
            passes = "-matmul_update -multi_update" })
          for _, list in ipairs { "", "-matmul_update", "-multi_update" } do
            agree(outcome(make, dtype, { kernels = kernels, passes = list }), want, tolerance)
          end
        end
      end
    end)

    it(("come out the same again, with any number of threads: %s"):format(name), function()
      local threads = core.get "threads"
      finally(function() core.set("threads", threads) end)
      local want = wide(make, 1)
      assert.same(want, wide(make, 1))
      assert.same(want, wide(make, 2))
      assert.same(want, wide(make, 3))
    end)
  end

  it("wait until nothing can fail", function()
    local job = train(plain, "float32")
    local x = core.array("float32", { 4, 6 })
    job(x, { 0, 1, 2, 0 })
    local before = {}
    for _, name in ipairs(core.variables()) do
      before[name] = core.to_table(core.variable_get(name))
    end
    assert.has_error(function() job(x, { 0, 1, 2, 3 }) end)
    for name, values in pairs(before) do assert.same(values,
      core.to_table(core.variable_get(name))) end
  end)
end)
