-- Ten steps of every optimizer, and the rates of every schedule, against PyTorch's and numpy's:
-- scripts/oracles/optim.py and schedules.py tell what they are trained on.
local core = require "jfl.core"
local flow = require "jfl"
local oracle = require "spec.oracle"
local schedules = require "jfl.optim.schedules"
local tp = flow.typing

local RATE, STEPS, SHAPES = 0.05, 10, { w = { 3, 7 }, b = { 5 } }
-- LazyAdam leaves elements alone whose gradient is exactly 0: its gradients are 0 below this.
local THRESHOLD = 0.3
-- Relative to numbers of about 1, after ten steps.
local TOLERANCE = { float64 = 1e-10, float32 = 1e-5 }

local rules, plans = oracle.cases "optim", oracle.cases "schedules"

local function gradient(name, dtype, phase, threshold)
  local a = oracle.wave(SHAPES[name], phase, 1, dtype)
  local flat = core.reshape(a, { -1 })
  for i = 1, #flat do
    if math.abs(flat[i]) < threshold then flat[i] = 0 end
  end
  return a
end

local function placeholder(name, dtype)
  return { name .. "_gradient", tp.Numpy.Placeholder(SHAPES[name], { dtype = dtype }) }
end

-- A job whose inputs are the gradients of its variables.
local function job_of(case, dtype)
  return flow.global_function { name = "t", type = "train",
    inputs = { placeholder("w", dtype), placeholder("b", dtype) },
    body = function(of_w, of_b)
      local like = { dtype = dtype, initializer = flow.zeros_initializer() }
      local w, b = flow.get_variable("w", SHAPES.w, like), flow.get_variable("b", SHAPES.b, like)
      flow.optimizer[case.name](RATE, case.options):minimize {
        flow.math.reduce_sum(of_w * w), flow.math.reduce_sum(of_b * b) }
    end }
end

local function train(case, dtype)
  local job = job_of(case, dtype):compile()
  for name in pairs(SHAPES) do
    core.variable_set(name, oracle.wave(SHAPES[name], 2, 0.8, dtype))
  end
  local threshold = case.name == "LazyAdam" and THRESHOLD or 0
  for t = 1, STEPS do
    job(gradient("w", dtype, 1.3 * t, threshold), gradient("b", dtype, 1.3 * t + 1, threshold))
  end
end

local function text_of(values)
  local parts = {}
  for key, value in pairs(values) do
    if type(value) == "table" then value = text_of(value) end
    parts[#parts + 1] = type(key) == "string" and key .. " " .. tostring(value) or tostring(value)
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

describe("an optimizer", function()
  before_each(flow.clear_default_session)
  after_each(function()
    core.set("kernels", "fast")
    flow.clear_default_session()
  end)

  for _, case in ipairs(rules) do
    for dtype, tolerance in pairs(TOLERANCE) do
      for _, kernels in ipairs { "fast", "reference" } do
        it(("trains as it does elsewhere: %s(%s), %s, %s kernels"):format(case.name,
          text_of(case.options or {}), dtype, kernels), function()
          core.set("kernels", kernels)
          train(case, dtype)
          for name, want in pairs(case.results) do
            oracle.check(case, name, want, core.variable_get(name), dtype, tolerance)
          end
        end)
      end
    end
  end

  it("is tried, whichever it is", function()
    local tried = {}
    for _, case in ipairs(rules) do tried[case.name] = true end
    for _, info in ipairs(core.optimizers()) do assert.truthy(tried[info.name], info.name) end
  end)
end)

-- The arguments of a schedule; a warm-up stands in the file as its kind and its own arguments.
local function arguments_of(case)
  local list = {}
  for i, each in ipairs(case.arguments) do
    local warmup = type(each) == "table" and each.warmup
    list[i] = warmup and { warmup = flow.optimizer.warmup[warmup[1]](warmup[2], warmup[3]) } or each
  end
  return unpack(list)
end

describe("a schedule", function()
  for _, case in ipairs(plans) do
    it(("has the rates it has elsewhere: %s(%s)"):format(case.name, text_of(case.arguments)),
      function()
        local schedule, got = flow.optimizer[case.name](arguments_of(case)), {}
        for t = 1, case.results.rates.shape[1] do got[t] = schedules.rate(schedule, t - 1) end
        oracle.check(case, "rates", case.results.rates, core.from_table(got, "float64"), "float64",
          1e-14)
      end)
  end

  it("is tried, whichever it is", function()
    local tried = {}
    for _, case in ipairs(plans) do tried[case.name] = true end
    for name in pairs(schedules.kinds) do assert.truthy(tried[name], name) end
  end)
end)
