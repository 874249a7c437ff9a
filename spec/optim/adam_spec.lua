local core = require "jfl.core"
local flow = require "jfl"
local oracle = require "spec.oracle"
local tp = flow.typing

-- Relative to numbers of about 1, after ten steps.
local TOLERANCE = { float64 = 1e-13, float32 = 1e-5 }
local STEPS = 10

-- The layer that scripts/oracles/training.py trains.
local function train_job(dtype, options)
  return flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = {
      { "x", tp.Numpy.Placeholder({ 5, 4 }, { dtype = dtype }) },
      { "labels", tp.Numpy.Placeholder({ 5 }, { dtype = flow.int32 }) },
    },
    body = function(x, labels)
      local like = { dtype = dtype, initializer = flow.zeros_initializer() }
      local w, b = flow.get_variable("w", { 4, 3 }, like), flow.get_variable("b", { 3 }, like)
      local logits = flow.nn.bias_add(flow.matmul(x, w), b)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
      flow.optimizer.Adam(0.05, {
        beta1 = options.beta1 or 0.9, beta2 = options.beta2, epsilon = options.epsilon,
        do_bias_correction = options.do_bias_correction,
        grad_clipping = options.clip and flow.optimizer.grad_clipping.by_global_norm(options.clip),
      }):minimize(loss)
      return loss
    end,
  }
end

-- The losses of all steps.
local function steps(job, dtype)
  local x, labels = oracle.wave({ 5, 4 }, 9, 1, dtype), core.from_table({ 0, 2, 1, 2, 0 }, "int32")
  local losses = {}
  for t = 1, STEPS do losses[t] = core.to_table(job(x, labels)) end
  return losses
end

-- Trains a new job; gives the losses and the job.
local function run(dtype, options)
  local job = train_job(dtype, options):compile()
  core.variable_set("w", oracle.wave({ 4, 3 }, 1, 0.3, dtype))
  core.variable_set("b", oracle.wave({ 3 }, 2, 0.3, dtype))
  return steps(job, dtype), job
end

local function trains_as(case, dtype)
  local got = { losses = core.from_table(run(dtype, case.options or {}), dtype) }
  for name, want in pairs(case.results) do
    oracle.check(case, name, want, got[name] or core.variable_get(name), dtype, TOLERANCE[dtype])
  end
end

describe("Adam", function()
  before_each(flow.clear_default_session)
  after_each(function()
    core.set("passes", "")
    core.set("kernels", "fast")
    flow.clear_default_session()
  end)

  local function describe_case(case, dtype, kernels, passes)
    it(("trains as PyTorch's does: %s, %s, %s kernels, passes '%s'"):format(case.id, dtype, kernels,
      passes), function()
      core.set("kernels", kernels)
      core.set("passes", passes)
      trains_as(case, dtype)
    end)
  end

  for _, case in ipairs(oracle.cases("training", "Adam")) do
    for dtype in pairs(TOLERANCE) do
      for _, kernels in ipairs { "fast", "reference" } do
        for _, passes in ipairs { "", "-matmul_update -multi_update" } do
          describe_case(case, dtype, kernels, passes)
        end
      end
    end
  end

  it("keeps two means for each variable, and updates all variables in one node", function()
    local text = train_job("float32", {}):compile():graph("optimized")
    for _, name in ipairs { "w-m", "w-v", "b-m", "b-v" } do
      assert.truthy(text:find("variable " .. name .. ": float32", 1, true), name)
    end
    local _, count = text:gsub(" update%(", "")
    assert.equal(1, count)
  end)

  it("goes on from a checkpoint as if it had never stopped", function()
    local path = os.tmpname()
    os.remove(path)
    finally(function() os.execute("rm -rf " .. path) end)
    local _, job = run("float64", {})
    flow.train.CheckPoint():save(path)
    local want = steps(job, "float64")
    flow.clear_default_session()
    local again = train_job("float64", {})
    flow.train.CheckPoint():load(path)
    assert.same(want, steps(again, "float64"))
  end)

  it("refuses decays and epsilons that make no sense", function()
    local function refuses(options, text)
      flow.clear_default_session()
      local job = flow.global_function { name = "bad", type = "train", body = function()
        local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
        flow.optimizer.Adam(0.1, options):minimize(w)
      end }
      local ok, message = pcall(job)
      assert.is_false(ok)
      assert.truthy(message:find(text, 1, true), message)
    end
    refuses({ beta1 = 1 }, "Adam: beta1 must be in [0, 1), got 1")
    refuses({ beta2 = -0.5 }, "Adam: beta2 must be in [0, 1), got -0.5")
    refuses({ epsilon = -1 }, "Adam: epsilon must be a finite number of at least 0, got -1")
    refuses({ do_bias_correction = 1 }, "Adam: do_bias_correction must be a boolean, got number 1")
  end)
end)
