-- Ten steps of every optimizer, and the rates of every schedule, against PyTorch's and numpy's.
local core = require "jfl.core"
local flow = require "jfl"
local oracle = require "spec.optim.oracle_rules"
local schedules = require "jfl.net.schedules"
local tp = flow.typing

local SHAPES = { w = { 3, 7 }, b = { 5 } }
-- Relative to numbers of about 1, after ten steps.
local TOLERANCE = { float64 = 1e-10, float32 = 1e-5 }

-- scale sin(phase + 1.7 i), rounded to float32; with a threshold, 0 where it is smaller.
local function wave(name, dtype, phase, scale, threshold)
  local a = core.array("float32", SHAPES[name])
  local flat = core.reshape(a, { -1 })
  for i = 1, #flat do
    flat[i] = scale * math.sin(phase + 1.7 * (i - 1))
    if threshold and math.abs(flat[i]) < threshold then flat[i] = 0 end
  end
  return core.from_table(core.to_table(a), dtype)
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
      flow.optimizer[case.name](oracle.rate, case.options):minimize {
        flow.math.reduce_sum(of_w * w), flow.math.reduce_sum(of_b * b) }
    end }
end

local function train(case, dtype)
  local job = job_of(case, dtype):compile()
  for name in pairs(SHAPES) do core.variable_set(name, wave(name, dtype, 2, 0.8)) end
  local threshold = case.name == "LazyAdam" and oracle.threshold
  for t = 1, oracle.steps do
    job(wave("w", dtype, 1.3 * t, 1, threshold), wave("b", dtype, 1.3 * t + 1, 1, threshold))
  end
end

local function near(want, got, tolerance, what)
  assert.equal(#want, #got, what)
  for i, value in ipairs(want) do
    assert(math.abs(value - got[i]) <= tolerance * math.max(1, math.abs(value)),
      ("%s %d: expected %.17g, got %.17g"):format(what, i, value, got[i]))
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

  for _, case in ipairs(oracle.rules) do
    for dtype, tolerance in pairs(TOLERANCE) do
      for _, kernels in ipairs { "fast", "reference" } do
        it(("trains as it does elsewhere: %s(%s), %s, %s kernels"):format(case.name,
          text_of(case.options or {}), dtype, kernels), function()
          core.set("kernels", kernels)
          train(case, dtype)
          for name in pairs(SHAPES) do
            local got = core.reshape(core.variable_get(name), { -1 })
            near(case[name], core.to_table(got), tolerance, name)
          end
        end)
      end
    end
  end

  it("is tried, whichever it is", function()
    local tried = {}
    for _, case in ipairs(oracle.rules) do tried[case.name] = true end
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
  for _, case in ipairs(oracle.schedules) do
    it(("has the rates it has elsewhere: %s(%s)"):format(case.name, text_of(case.arguments)),
      function()
        local schedule, got = flow.optimizer[case.name](arguments_of(case)), {}
        for t = 1, #case.rates do got[t] = schedules.rate(schedule, t - 1) end
        near(case.rates, got, 1e-14, "rate")
      end)
  end

  it("is tried, whichever it is", function()
    local tried = {}
    for _, case in ipairs(oracle.schedules) do tried[case.name] = true end
    for name in pairs(schedules.kinds) do assert.truthy(tried[name], name) end
  end)
end)
