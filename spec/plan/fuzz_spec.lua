--- Random small jobs: what their plans keep in memory never overlaps, and gradients and updates go
--- through views, results given twice and values with several readers. JFL_FUZZ sets how many jobs
--- are tried, JFL_FUZZ_SEED the first of them.
local draws = require "spec.draws"
local core = require "jfl.core"
local fuzz = require "spec.op.fuzz"
local support = require "spec.op.support"

local JOBS, SEED = draws.trials(60), draws.seed()
local pick = fuzz.pick

before_each(core.reset)
teardown(core.reset)

--- Steps that a program may take; each gives an op, what it takes beside x, and options.
local STEPS = {
  function() return "relu" end,
  function() return "tanh" end,
  function() return "sigmoid" end,
  function() return "square" end,
  function() return "negative" end,
  function() return "abs" end,
  function() return "identity" end,
  function(random) return "softmax", {}, { axis = -random(2) } end,
  function(random) return "reduce_sum", {}, { axis = random(3) - 2, keepdims = random(2) == 1 } end,
  function(random) return "reduce_mean", {}, { axis = -random(3) } end,
  function() return "transpose" end,
  function() return "flatten" end,
  function(random) return "flatten", {}, { start_dim = random(2) - 1 } end,
  function(random) return "reshape", {}, { shape = { pick(random, { 1, 2, 3, 4 }), -1 } } end,
  function() return "squeeze" end,
  function(random) return "expand_dims", {}, { axis = random(3) - 1 } end,
  function(_, x, y) return "broadcast_to", {},
    { shape = #y.shape >= #x.shape and y.shape or { 2, 3 } } end,
  function(random, x)
    local begin, size = {}, {}
    for i, d in ipairs(x.shape) do begin[i], size[i] = random(d) - 1, -1 end
    return "slice", {}, { begin = begin, size = size }
  end,
  function(_, _, _, j) return "add", { j } end,
  function(_, _, _, j) return "subtract", { j } end,
  function(_, _, _, j) return "multiply", { j } end,
  function(_, _, _, j) return "squared_difference", { j } end,
  function(_, _, _, j) return "matmul", { j } end,
  function(_, _, _, j) return "matmul", { j }, { transpose_b = true } end,
  function(_, _, _, j) return "bias_add", { j } end,
  function(random, _, _, j) return "concat", { j }, { axis = random(2) - 1 } end,
  function(random, _, _, j) return "stack", { j }, { axis = -random(2) } end,
}

local function apply(step, values)
  local list = {}
  for i, k in ipairs(step.from) do list[i] = values[k] end
  local args = (step.op == "concat" or step.op == "stack") and { list } or list
  args[#args + 1] = step.options
  return (core.op(step.op)(unpack(args)))
end

local function tame(a)
  if core.type(a) ~= "array" or #support.flat(a) > 3000 then return false end
  for _, v in ipairs(support.flat(a)) do
    if not (math.abs(v) < 50) then return false end
  end
  return true
end

--- {leaves = arrays, of which the first n_input are inputs and the others variables, steps = ...};
-- and the values of all of them by the plain kernels at once.
local function program(random)
  core.set("kernels", "reference")
  local p = { dtype = random(3) == 1 and "float32" or "float64", leaves = {}, steps = {} }
  local shapes = { { 2, 3, 4 }, { 3, 4 }, { 4 }, { 4, 3 }, { 1, 4 }, { 2, 1, 3 }, { 1 }, { 3, 3 } }
  p.n_input = random(3)
  for i = 1, p.n_input + random(3) - 1 do
    p.leaves[i] = support.filled(p.dtype, pick(random, shapes), -1.1, 0.3 + random(997) / 1300)
  end
  local values = { unpack(p.leaves) }
  for _ = 1, 3 + random(14) do
    local i, j = random(#values), random(#values)
    if random(2) == 1 then i = #values end
    local op, more, options = pick(random, STEPS)(random, values[i], values[j], j)
    local step = { op = op, from = { i, unpack(more or {}) }, options = options }
    local ok, y = pcall(apply, step, values)
    if ok and tame(y) then
      values[#values + 1] = y
      p.steps[#p.steps + 1] = step
    end
  end
  core.set("kernels", "fast")
  return p, values
end

local function evaluate(p, leaves)
  local values = { unpack(leaves) }
  for _, step in ipairs(p.steps) do values[#values + 1] = apply(step, values) end
  return values
end

local count = 0

--- A plan of the program; body(graph, values) may add to it and gives the results.
local function compile(p, mode, kernels, body)
  count = count + 1
  local name = "job" .. count
  local g, leaves = core.graph(name, mode), {}
  core.set("kernels", kernels)
  core.trace(g)
  local ok, message = pcall(function()
    for i, a in ipairs(p.leaves) do
      leaves[i] = i <= p.n_input and core.input(g, "x" .. i, a.dtype, a.shape)
        or core.variable(g, { name = p.name .. i, dtype = a.dtype, shape = a.shape })
    end
    for _, y in ipairs(body(g, evaluate(p, leaves))) do core.output(g, y) end
  end)
  core.trace(nil)
  local plan = ok and core.compile(core.job(name, mode), g)
  core.set("kernels", "fast")
  if not ok then error(message, 0) end
  return plan
end

local function set_variables(p)
  for i = p.n_input + 1, #p.leaves do
    for _, name in ipairs(core.variables()) do
      if name == p.name .. i then core.variable_set(name, p.leaves[i]) end
    end
  end
end

local function run(p, plan)
  return { core.run(plan, unpack(p.leaves, 1, p.n_input)) }
end

local function check(p, got, want, what, tol)
  for i, y in ipairs(want) do
    local ok, message = support.close(support.flat(got[i]), support.flat(y),
      tol or (p.dtype == "float32" and 1e-3 or 1e-9))
    if not ok then error(("%s %d, %s"):format(what, i, message), 0) end
  end
end

--- Runs body for many programs, naming the one that fails.
local function each(start, body)
  for i = 1, JOBS do
    local random = fuzz.random(SEED * 7919 + start + i)
    local p, values = program(random)
    p.name = ("v%d_%d_"):format(start, i)
    local ok, message = pcall(body, random, p, values)
    if not ok then
      local text = {}
      for k, s in ipairs(p.steps) do
        text[k] = ("%d = %s(%s)"):format(#p.leaves + k, s.op, table.concat(s.from, ", "))
      end
      error(("job %d, %s, %d leaves, %s: %s"):format(i, p.dtype, #p.leaves,
        table.concat(text, "; "),
        tostring(message)), 0)
    end
  end
end

--- Some of n, with repetitions.
local function some(random, n)
  local list = { n }
  for i = 2, random(5) do list[i] = random(n) end
  return list
end

local function chosen(values, list)
  local to = {}
  for i, k in ipairs(list) do to[i] = values[k] end
  return to
end

--- The gradient plan's results: one per leaf, zeros where none flows.
local function gradient_plan(p, kernels, target, wanted)
  return compile(p, "predict", kernels, function(g, values)
    local list = core.gradients(g, values[target], nil, chosen(values, wanted))
    for i, d in ipairs(list) do
      list[i] = d or core.op("zeros_like")(values[wanted[i]])
    end
    list[#list + 1] = values[target]
    return list
  end)
end

local function sum(a)
  local s = 0
  for _, v in ipairs(support.flat(a)) do s = s + v end
  return s
end

--- d/dt of sum(target) along a direction in all leaves, by differences at once.
local function slope(p, target, directions)
  local function at(t)
    local leaves = {}
    for i, a in ipairs(p.leaves) do
      leaves[i] = core.op("add")(a, core.op("multiply")(directions[i], t))
    end
    core.set("kernels", "reference")
    local y = sum(evaluate(p, leaves)[target])
    core.set("kernels", "fast")
    return y
  end
  return (at(1e-6) - at(-1e-6)) / 2e-6
end

local function check_slope(p, target, grads)
  local directions, dot = {}, 0
  for i, a in ipairs(p.leaves) do
    directions[i] = support.filled("float64", a.shape, -1, 1.1)
    dot = dot + sum(core.op("multiply")(directions[i], grads[i]))
  end
  local want = slope(p, target, directions)
  if math.abs(dot - want) > 1e-4 * math.max(1, math.abs(want)) then
    error(("the slope is %.9g, differences say %.9g"):format(dot, want), 0)
  end
end

describe("random jobs", function()
  it("give what their ops give one by one, also with other plans in between", function()
    local before
    each(0, function(random, p, values)
      local outputs = some(random, #values)
      local plan = compile(p, "predict", pick(random, { "fast", "reference" }),
        function(_, blobs) return chosen(blobs, outputs) end)
      set_variables(p)
      local first = run(p, plan)
      check(p, first, chosen(values, outputs), "result")
      if before then run(before.p, before.plan) end
      check(p, run(p, plan), first, "result again", 0)
      before = { p = p, plan = plan }
    end)
  end)

  it("have the gradients that differences give, with fast and plain kernels", function()
    each(1000, function(random, p, values)
      local target, wanted = #values - random(math.min(3, #values)) + 1, {}
      for i = 1, #p.leaves do wanted[i] = i end
      local results = {}
      for _, kernels in ipairs { "fast", "reference" } do
        local plan = gradient_plan(p, kernels, target, wanted)
        set_variables(p)
        results[kernels] = run(p, plan)
      end
      check(p, results.fast, results.reference, "gradient")
      if p.dtype == "float64" then check_slope(p, target, results.fast) end
    end)
  end)

  it("train: results are from before the update, and the update follows the gradient", function()
    each(2000, function(random, p, values)
      if #p.leaves == p.n_input then return end
      local target, wanted, outputs = #values, {}, some(random, #values)
      for i = p.n_input + 1, #p.leaves do wanted[#wanted + 1] = i end
      local grads = gradient_plan(p, "reference", target, wanted)
      local options = { momentum = random(2) == 1 and 0.9 or 0 }
      set_variables(p)
      grads = run(p, grads)
      local ok, plan = pcall(compile, p, "train", "fast", function(g, blobs)
        core.minimize(g, { losses = { blobs[target] }, optimizer = "SGD", options = options,
          schedule = "piecewise_constant_schedule",
          schedule_options = { boundaries = {}, values = { 0.5 } } })
        return chosen(blobs, outputs)
      end)
      if not ok then
        assert.matches("depends on no trainable variable", plan)
        return
      end
      set_variables(p)
      check(p, run(p, plan), chosen(values, outputs), "result")
      local rate = 0.5 / #support.flat(values[target])
      for k, i in ipairs(wanted) do
        local want = core.op("subtract")(p.leaves[i], core.op("multiply")(grads[k], rate))
        local has = pcall(core.variable_get, p.name .. i)
        if has then check(p, { core.variable_get(p.name .. i) }, { want }, "variable") end
      end
    end)
  end)
end)
