local core = require "jfl.core"
local flow = require "jfl"
local oracle = require "spec.optim.adam_oracle"
local tp = flow.typing

-- Relative to numbers of about 1, after ten steps.
local TOLERANCE = { float64 = 1e-13, float32 = 1e-5 }
local STEPS = 10

local function wave(dtype, shape, phase, scale)
  local a = core.array(dtype, shape)
  local flat = core.reshape(a, { -1 })
  for i = 1, #flat do flat[i] = scale * math.sin(phase + 1.7 * (i - 1)) end
  return a
end

local function train_job(case)
  return flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = {
      { "x", tp.Numpy.Placeholder({ 5, 4 }, { dtype = case.dtype }) },
      { "labels", tp.Numpy.Placeholder({ 5 }, { dtype = flow.int32 }) },
    },
    body = function(x, labels)
      local like = { dtype = case.dtype, initializer = flow.zeros_initializer() }
      local w, b = flow.get_variable("w", { 4, 3 }, like), flow.get_variable("b", { 3 }, like)
      local logits = flow.nn.bias_add(flow.matmul(x, w), b)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
      flow.optimizer.Adam(0.05, {
        beta1 = case.beta1 or 0.9, beta2 = case.beta2, epsilon = case.epsilon,
        do_bias_correction = case.correct,
        grad_clipping = case.clip and flow.optimizer.grad_clipping.by_global_norm(case.clip),
      }):minimize(loss)
      return loss
    end,
  }
end

local function near(want, got, tolerance, what)
  local flat = core.to_table(core.reshape(got, { -1 }))
  assert.equal(#want, #flat, what)
  for i, value in ipairs(want) do
    assert(math.abs(value - flat[i]) <= tolerance * math.max(1, math.abs(value)),
      ("%s %d: expected %.17g, got %.17g"):format(what, i, value, flat[i]))
  end
end

local function steps(job, case)
  local x, labels = wave(case.dtype, { 5, 4 }, 9, 1), core.from_table({ 0, 2, 1, 2, 0 }, "int32")
  local loss
  for _ = 1, STEPS do loss = job(x, labels) end
  return loss
end

-- Trains a new job; gives the last loss and the job.
local function run(case)
  local job = train_job(case):compile()
  core.variable_set("w", wave(case.dtype, { 4, 3 }, 1, 0.3))
  core.variable_set("b", wave(case.dtype, { 3 }, 2, 0.3))
  return steps(job, case), job
end

local function title_of(case)
  local parts = { case.dtype }
  for _, name in ipairs { "beta1", "beta2", "epsilon", "correct", "clip" } do
    if case[name] ~= nil then parts[#parts + 1] = ("%s %s"):format(name, tostring(case[name])) end
  end
  return table.concat(parts, ", ")
end

describe("Adam", function()
  before_each(flow.clear_default_session)
  after_each(function()
    core.set("passes", "")
    core.set("kernels", "fast")
    flow.clear_default_session()
  end)

  for _, case in ipairs(oracle) do
    for _, kernels in ipairs { "fast", "reference" } do
      for _, passes in ipairs { "", "-matmul_update -multi_update" } do
        it(("trains as PyTorch's does: %s; %s kernels, passes '%s'"):format(title_of(case), kernels,
          passes), function()
          core.set("kernels", kernels)
          core.set("passes", passes)
          local loss, tolerance = run(case), TOLERANCE[case.dtype]
          near(case.losses, loss, tolerance, "loss")
          near(case.w, core.variable_get "w", tolerance, "w")
          near(case.b, core.variable_get "b", tolerance, "b")
        end)
      end
    end
  end

  it("keeps two means for each variable, and updates all variables in one node", function()
    local text = train_job({ dtype = "float32" }):compile():graph("optimized")
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
    local case = { dtype = "float64" }
    local _, job = run(case)
    flow.train.CheckPoint():save(path)
    local want = core.to_table(steps(job, case))
    flow.clear_default_session()
    local again = train_job(case)
    flow.train.CheckPoint():load(path)
    assert.same(want, core.to_table(steps(again, case)))
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
