--- Random jobs of elementwise ops, broadcasts, views and sums, to run with passes left out.
local core = require "jfl.core"
local fuzz = require "spec.op.fuzz"
local support = require "spec.op.support"

local pick = fuzz.pick
local chains = {}

local EXTENTS = { 1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 33, 100 }

--- Up to `most` axes of at most `size` elements.
local function base_shape(random, most, size)
  local s, n = {}, 1
  for i = 1, random(most) do
    s[i] = pick(random, EXTENTS)
    if n * s[i] > size then s[i] = 1 end
    n = n * s[i]
  end
  return s
end

--- A shape that broadcasts to s: some axes are 1, some in front are left out.
local function part_of(random, s)
  local t = {}
  for i = random(3) == 1 and random(#s) or 1, #s do
    t[#t + 1] = random(3) == 1 and 1 or s[i]
  end
  return t
end

--- Two or three of its axes as one, or another view.
local function reshaped(random, s)
  local t = { unpack(s) }
  for _ = 1, random(2) do
    if #t > 1 then
      local i = random(#t - 1)
      t[i] = t[i] * table.remove(t, i + 1)
    end
  end
  if random(4) == 1 then table.insert(t, random(#t + 1), 1) end
  return t
end

local function some_axes(random, s)
  local list = {}
  for i = 1, #s do
    if random(2) == 1 then list[#list + 1] = i - 1 end
  end
  return #list > 0 and list or { -1 }
end

local function unary(name) return function() return name, {} end end
local function binary(name) return function(_, _, j) return name, { j } end end
local function sum(name)
  return function(random, x)
    return name, {}, { axis = some_axes(random, x.shape), keepdims = random(3) > 1 }
  end
end
local function rows(name)
  return function(random, x)
    local list = {}
    for i = random(#x.shape), #x.shape do list[#list + 1] = i - 1 end
    return name, {}, { axis = list, keepdims = random(4) > 1 }
  end
end

--- Steps by the dtypes they are for; each gives an op, what it takes beside x, and options.
local FLOAT = {
  unary "tanh", unary "sigmoid", unary "exp", unary "erf", unary "gelu", unary "softplus",
  unary "rsqrt", unary "sqrt", unary "log",
  function() return "leaky_relu", {}, { alpha = 0.1 } end,
  function() return "elu", {}, { alpha = 0.5 } end,
  sum "reduce_mean", rows "reduce_mean", rows "reduce_mean",
  function() return "dropout", {}, { rate = 0.25 } end,
  function(_, _, j) return "divide", { j } end,
}
local ANY = {
  unary "relu", unary "negative", unary "abs", unary "sign", unary "square",
  binary "add", binary "subtract", binary "multiply", binary "maximum", binary "minimum",
  binary "squared_difference", binary "bias_add", binary "bias_add",
  sum "reduce_sum", rows "reduce_sum", rows "reduce_sum",
  function() return "clip_by_value", {}, { min_value = -1, max_value = 2 } end,
  function(random, x) return "reshape", {}, { shape = reshaped(random, x.shape) } end,
  function(_, _, _, y) return "broadcast_to", {}, { shape = y.shape } end,
  function(random)
    return "cast", {}, { dtype = pick(random, { "float32", "float64", "int32", "int64" }) }
  end,
  unary "flatten", unary "zeros_like", unary "ones_like",
  function(random, x) return "constant", nil, { value = random(5) - 2, dtype = x.dtype } end,
  function(_, x) return "zeros", nil, { shape = x.shape, dtype = x.dtype } end,
  function(_, _, j) return "where", { j } end,
  unary "transpose",
}
local COMPARE = { "equal", "less", "greater_equal", "not_equal" }

-- Ops whose last input is kept off 0, where they would blow up rounding.
local WANTS_MORE = { rsqrt = true, sqrt = true, log = true, divide = true }

local function apply(step, values)
  local list = {}
  for i, k in ipairs(step.from) do list[i] = values[k] end
  if WANTS_MORE[step.op] then
    list[#list] = (core.op "add")((core.op "square")(list[#list]), 0.3)
  end
  list[#list + 1] = step.options
  if step.op == "where" then
    local cond = core.op(step.compare)(list[1], list[2])
    return (core.op "where")(cond, list[1], list[2])
  end
  local y = core.op(step.op)(unpack(list))
  -- The mean of equal numbers may be one of them or not quite: no comparison should see which.
  return step.op == "reduce_mean" and (core.op "multiply")(y, 0.973) or y
end

local function tame(a)
  local flat = support.flat(a)
  if #flat > 20000 then return false end
  for _, v in ipairs(flat) do
    if not (math.abs(v) < 1e4) then return false end
  end
  return true
end

local function next_step(random, values)
  local i, j = random(#values), random(#values)
  if random(3) > 1 then i = math.max(1, #values - random(3) + 1) end
  local x = values[i]
  local op, more, options = pick(random, x.dtype:find "float" and random(2) == 1 and FLOAT or ANY)(
    random, x, j, values[j])
  local from = more and { i, unpack(more) } or {}
  return { op = op, from = from, options = options, compare = pick(random, COMPARE) }
end

--- {leaves = arrays, steps, outputs = which values are results}.
function chains.program(random, most_axes, size)
  core.set("kernels", "reference")
  local base = base_shape(random, most_axes, size)
  local dtypes = pick(random, { { "float32" }, { "float64" }, { "float32", "float64" },
    { "int32", "int64" }, { "float32", "int32" } })
  local p = { leaves = {}, steps = {}, outputs = {} }
  for i = 1, 1 + random(4) do
    local shape = i == 1 and base or part_of(random, base)
    local lo = (random(2) == 1 and 0.1 or -2) - 0.0371 * i * random(7)   -- so that none are equal
    p.leaves[i] = support.filled(pick(random, dtypes), shape, lo, 2.3)
  end
  local values = { unpack(p.leaves) }
  for _ = 1, 3 + random(22) do
    local step = next_step(random, values)
    local ok, y = pcall(apply, step, values)
    if ok and tame(y) then
      values[#values + 1] = y
      p.steps[#p.steps + 1] = step
    end
  end
  for i = #p.leaves + 1, #values do
    if i == #values or random(5) == 1 then p.outputs[#p.outputs + 1] = i end
  end
  core.set("kernels", "fast")
  return p
end

--- Whether nothing in it is rounded to float32.
function chains.is_float64(p)
  for _, a in ipairs(p.leaves) do
    if a.dtype == "float32" then return false end
  end
  for _, step in ipairs(p.steps) do
    if (step.options or {}).dtype == "float32" then return false end
  end
  return true
end

local function trace(p, g, mode)
  local values = {}
  for i, a in ipairs(p.leaves) do values[i] = core.input(g, "x" .. i, a.dtype, a.shape) end
  for _, step in ipairs(p.steps) do values[#values + 1] = apply(step, values) end
  local results = {}
  for k, i in ipairs(p.outputs) do results[k] = values[i] end
  if mode == "gradients" then
    local last, grads = values[#values], {}
    if last.dtype:find "float" then
      grads = core.gradients(g, last, nil, { unpack(values, 1, #p.leaves) })
    end
    for i = 1, #p.leaves do results[#results + 1] = grads[i] or nil end
  end
  return results
end

--- The results of a program as lists of numbers, and its plan as text. mode: nil or "gradients".
function chains.run(p, mode, settings)
  core.reset()
  core.set("seed", 5)
  for k, v in pairs(settings) do core.set(k, v) end
  local g = core.graph("chain", "predict")
  core.trace(g)
  local ok, results = pcall(trace, p, g, mode)
  core.trace(nil)
  if not ok then error(results, 0) end
  for _, y in ipairs(results) do core.output(g, y) end
  local plan = core.compile(core.job("chain", "predict"), g)
  local text = core.plan_text(plan)
  local lists = { core.run(plan, unpack(p.leaves)) }
  for i, a in ipairs(lists) do lists[i] = support.flat(a) end
  core.set("passes", "")
  core.set("kernels", "fast")
  return lists, text
end

return chains
