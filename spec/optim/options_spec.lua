-- Every optimizer with every pair of its options, against one reference in plain Lua that computes
-- the steps from the options: gradients of several calls, regularizers, clipping, the scale of
-- losses, rates, decay of some variables only, averages.
local combine = require "spec.pairs"
local core = require "jfl.core"
local flow = require "jfl"
local tp = flow.typing

local o = flow.optimizer
local sqrt, abs, min, max = math.sqrt, math.abs, math.min, math.max

local STEPS = 4
-- still: its gradient is 0; empty: it begins with zeros; both are in all jobs.
local SIZES = { w = 21, b = 5, still = 4, empty = 3 }
local SHAPES = { w = { 3, 7 }, b = { 5 }, still = { 4 }, empty = { 3, 1 } }
local NAMES = { "w", "b", "still", "empty" }

-- ---- the rules: each changes w, a list, by gradients g in step t at a rate ----

-- A rule for each element alone: it gives what w becomes.
local function each(f)
  return function(a, w, g, states, t, rate)
    for i = 1, #w do
      states[i] = states[i] or {}
      w[i] = f(a, w[i], g[i], states[i], t, rate)
    end
  end
end

local function sgd(a, w, g, s, _, rate)
  local decay = rate * (a.weight_decay or 0) * w
  if a.momentum == 0 then return w - rate * g - decay end
  s.m = a.momentum * (s.m or 0) - rate * g
  return w + (a.nesterov and a.momentum * s.m - rate * g or s.m) - decay
end

local function means(a, s, g)
  s.m = a.beta1 * (s.m or 0) + (1 - a.beta1) * g
  s.v = a.beta2 * (s.v or 0) + (1 - a.beta2) * g * g
end

local function adam(a, w, g, s, t, rate)
  local decay = rate * (a.weight_decay or 0) * w
  means(a, s, g)
  if a.do_bias_correction then rate = rate * sqrt(1 - a.beta2 ^ t) / (1 - a.beta1 ^ t) end
  s.most = max(s.most or 0, s.v)
  return w - decay - rate * s.m / (sqrt(a.amsgrad and s.most or s.v) + a.epsilon)
end

local function lazy_adam(a, w, g, s, t, rate)
  if g == 0 then return w end
  return adam({ beta1 = a.beta1, beta2 = a.beta2, epsilon = a.epsilon, do_bias_correction = true },
    w, g, s, t, rate)
end

local function nadam(a, w, g, s, t, rate)
  local function mu(k) return a.beta1 * (1 - 0.5 * 0.96 ^ (k * a.momentum_decay)) end
  means(a, s, g)
  local product = 1
  for k = 1, t do product = product * mu(k) end
  local mean = mu(t + 1) * s.m / (1 - product * mu(t + 1)) + (1 - mu(t)) * g / (1 - product)
  return w - rate * mean / (sqrt(s.v / (1 - a.beta2 ^ t)) + a.epsilon)
end

local function rmsprop(a, w, g, s, _, rate)
  s.square = a.decay_rate * (s.square or 0) + (1 - a.decay_rate) * g * g
  s.mean = a.decay_rate * (s.mean or 0) + (1 - a.decay_rate) * g
  return w - rate * g / sqrt(s.square - (a.centered and s.mean ^ 2 or 0) + a.epsilon)
end

local function adagrad(a, w, g, s, t, rate)
  s.sum = (s.sum or a.initial_accumulator_value) + g * g
  return w - rate / (1 + (t - 1) * a.lr_decay) * g / (sqrt(s.sum) + a.epsilon)
end

local function adadelta(a, w, g, s, _, rate)
  s.square = a.rho * (s.square or 0) + (1 - a.rho) * g * g
  local step = sqrt((s.steps or 0) + a.epsilon) / sqrt(s.square + a.epsilon) * g
  s.steps = a.rho * (s.steps or 0) + (1 - a.rho) * step * step
  return w - rate * step
end

local function lion(a, w, g, s, _, rate)
  local mixed = a.beta1 * (s.m or 0) + (1 - a.beta1) * g
  s.m = a.beta2 * (s.m or 0) + (1 - a.beta2) * g
  return w - rate * ((mixed > 0 and 1 or mixed < 0 and -1 or 0) + a.weight_decay * w)
end

local function norm(list)
  local sum = 0
  for _, x in ipairs(list) do sum = sum + x * x end
  return sqrt(sum)
end

local function lamb(a, w, g, states, t, rate)
  local u = {}
  for i = 1, #w do
    states[i] = states[i] or {}
    means(a, states[i], g[i])
    local m = states[i].m / (1 - a.beta1 ^ (t + 1))
    u[i] = m / (sqrt(states[i].v / (1 - a.beta2 ^ (t + 1))) + a.epsilon)
  end
  local of_w, of_u = norm(w), norm(u)
  local trust = of_w > 0 and of_u > 0 and of_w / of_u or 1
  for i = 1, #w do w[i] = w[i] - rate * trust * (u[i] + a.weight_decay * w[i]) end
end

local function lars(a, w, g, states, t, rate)
  local of_w, of_g = norm(w) / sqrt(#w), norm(g) / sqrt(#w)
  local below = a.epsilon + of_g + (t > 1 and a.weight_decay * of_w or 0)
  local here = rate * a.lars_coefficient * of_w / below
  for i = 1, #w do
    states[i] = a.momentum_beta * (states[i] or 0) - here * (g[i] + a.weight_decay * w[i])
    w[i] = w[i] + states[i]
  end
end

local ANY, FLAG = { 0, 0.3 }, { false, true }
-- Nesterov's momentum needs one, so both options are one factor.
local STYLE = { plain = { momentum = 0 }, heavy = { momentum = 0.8 },
  nesterov = { momentum = 0.8, nesterov = true } }
local MEANS = { { "beta1", { 0.9, 0 } }, { "beta2", { 0.99, 0.5 } }, { "epsilon", { 1e-3 } } }

local function with(list, ...)
  local all = {}
  for _, of in ipairs { list, { ... } } do
    for _, factor in ipairs(of) do all[#all + 1] = factor end
  end
  return all
end

local DECAY = { "weight_decay", ANY }
local RULES = {
  SGD = { each(sgd), { { "style", { "plain", "heavy", "nesterov" } } } },
  SGDW = { each(sgd), { { "momentum", { 0.8, 0 } }, DECAY } },
  Adam = { each(adam), with(MEANS, { "do_bias_correction", FLAG }, { "amsgrad", FLAG }) },
  AdamW = { each(adam), with(MEANS, { "do_bias_correction", FLAG }, { "amsgrad", FLAG }, DECAY) },
  LazyAdam = { each(lazy_adam), MEANS },
  NAdam = { each(nadam), with(MEANS, { "momentum_decay", { 0.004, 0.5 } }) },
  RMSProp = { each(rmsprop), { { "decay_rate", { 0.9, 0.5 } }, { "epsilon", { 1e-3 } },
    { "centered", FLAG } } },
  Adagrad = { each(adagrad), { { "lr_decay", ANY }, { "initial_accumulator_value", { 0, 0.5 } },
    { "epsilon", { 1e-3 } } } },
  Adadelta = { each(adadelta), { { "rho", { 0.9, 0.5 } }, { "epsilon", { 1e-3 } } } },
  Lion = { each(lion), { { "beta1", { 0.9, 0 } }, { "beta2", { 0.99, 0.5 } }, DECAY } },
  LAMB = { lamb, with(MEANS, DECAY) },
  LARS = { lars, { { "momentum_beta", { 0.9, 0 } }, { "epsilon", { 1e-3 } },
    { "lars_coefficient", { 0.02 } }, DECAY } },
}

-- ---- the options that all have ----

-- Rates by their names: what the optimizer gets, and the rate in a step counted from 0.
local RATES = {
  constant = { function() return 0.05 end, function() return 0.05 end },
  pieces = { function() return o.PiecewiseConstantScheduler({ 0, 2 }, { 0.05, 0, 0.1 }) end,
    function(t) return t == 0 and 0.05 or t <= 2 and 0 or 0.1 end },
  warm = { function()
    return o.CosineScheduler(0.1, 6, { alpha = 0.2, warmup = o.warmup.linear(2, 0.5) })
  end, function(t)
    if t < 2 then return 0.1 * (0.5 + 0.5 * t / 2) end
    return 0.1 * (0.8 * 0.5 * (1 + math.cos(math.pi * t / 6)) + 0.2)
  end },
  called = { function() return function(t) return 0.04 + 0.01 * t end end,
    function(t) return 0.04 + 0.01 * t end },
}

local CLIPS = { global = "by_global_norm", own = "by_norm", value = "by_value" }
-- Limits such that some gradients are clipped, and others not.
local LIMITS = { global = 1.5, own = 1, value = 0.6 }

local COMMON = {
  { "rate", { "constant", "pieces", "warm", "called" } },
  { "clip", { "none", "global", "own", "value" } },
  { "scale", { "none", "static", "dynamic" } },
  { "calls", { 1, 3 } },
  { "average", { "none", "plain", "warm" } },
  { "regularizer", { "none", "l1_l2" } },
  { "trains", { "all", "some", "beside" } },
  { "overflows", { "w", "b" } },
  { "kernels", { "fast", "reference" } },
  { "devices", { "one", "two", "split" } },
}
local SPARES = { "spares", { "none", "excludes", "includes" } }

local STATIC, FIRST, PERIOD, GROWS = 6, 16, 2, 4       -- scales of losses
local KEEPS = 0.7                                      -- what averages keep
local L1, L2 = 0.05, 0.2

local BESIDE = 0.5                    -- the rate of SGD, which may train b beside the optimizer

local function is_trained(row, name) return row.trains == "all" or name ~= "b" end
local function is_spared(row, name)
  if row.spares == "excludes" then return name == "w" or name == "still" end
  return row.spares == "includes" and name ~= "w"
end

-- The names of the own options that this optimizer has, with their values.
local function own_options(factors, row)
  local own = {}
  for _, factor in ipairs(factors) do own[factor[1]] = row[factor[1]] end
  for name, value in pairs(STYLE[own.style] or {}) do own[name] = value end
  own.style = nil
  return own
end

local function average_of(row)
  if row.average == "none" then return nil end
  return flow.train.ExponentialMovingAverage(KEEPS, row.average == "warm")
end

local function policy_of(row)
  if row.scale == "static" then return o.loss_scale.static_loss_scale(STATIC) end
  return row.scale == "dynamic" and o.loss_scale.dynamic_loss_scale(FIRST, PERIOD, GROWS) or nil
end

local function options_of(factors, row)
  local options = own_options(factors, row)
  if row.clip ~= "none" then
    options.grad_clipping = o.grad_clipping[CLIPS[row.clip]](LIMITS[row.clip])
  end
  options.loss_scale_policy = policy_of(row)
  if row.spares == "excludes" then options.weight_decay_excludes = { "^w$", "^still" } end
  if row.spares == "includes" then options.weight_decay_includes = { "^w$" } end
  if row.trains ~= "all" then options.variables = { "w", "still", "empty" } end
  options.gradient_accumulation_steps = row.calls
  options.moving_average = average_of(row)
  return options
end

-- ---- numbers that a run begins with ----

local function first_of(name)
  local list = {}
  for i = 1, SIZES[name] do list[i] = name == "empty" and 0 or 0.8 * math.sin(2 + 1.7 * i) end
  return list
end

-- The gradient in a call, counted from 1, of which that in each third call is small. With a dynamic
-- scale the last call of the second step has one that is not finite, in one variable alone.
local function gradient_of(row, name, call)
  local list, size = {}, name == "still" and 0 or call % 3 == 0 and 0.2 or 0.9
  for i = 1, SIZES[name] do list[i] = size * math.sin(1.3 * call + 0.7 * i + #name) end
  if row.scale == "dynamic" and name == row.overflows and call == 2 * row.calls then
    list[4] = math.huge
  end
  return list
end

-- ---- the reference ----

local function clipped(row, grads)
  if row.clip == "value" then
    for _, g in pairs(grads) do
      for i, x in ipairs(g) do g[i] = max(-LIMITS.value, min(x, LIMITS.value)) end
    end
  end
  local sum, norms = 0, {}
  for name, g in pairs(grads) do
    norms[name] = norm(g)
    sum = sum + norms[name] ^ 2
  end
  for name, g in pairs(grads) do
    local of = row.clip == "global" and sqrt(sum) or row.clip == "own" and norms[name] or 0
    if of > (LIMITS[row.clip] or 0) then
      for i, x in ipairs(g) do g[i] = x * (LIMITS[row.clip] / of) end
    end
  end
end

-- The means of the gradients of the calls that a step takes together, by name, and whether all are
-- finite.
local function mean_gradients(row, w, step)
  local grads, finite = {}, true
  for _, name in ipairs(NAMES) do
    if is_trained(row, name) or row.trains == "beside" then
      local g = {}
      for i = 1, SIZES[name] do g[i] = 0 end
      for k = 1, row.calls do
        for i, x in ipairs(gradient_of(row, name, (step - 1) * row.calls + k)) do
          if row.regularizer ~= "none" and name ~= "empty" then
            x = x + L2 * w[name][i] + L1 * (w[name][i] > 0 and 1 or w[name][i] < 0 and -1 or 0)
          end
          g[i] = g[i] + x / row.calls
          finite = finite and abs(x) < math.huge
        end
      end
      grads[name] = g
    end
  end
  return grads, finite
end

local function move_averages(row, state)
  local share = state.made == 0 and 1
    or 1 - (row.average == "warm" and min(KEEPS, (1 + state.made) / (10 + state.made)) or KEEPS)
  for name, w in pairs(state.w) do
    local ema = state.ema[name]
    for i = 1, is_trained(row, name) and #w or 0 do ema[i] = ema[i] + share * (w[i] - ema[i]) end
  end
end

local function without_decay(own)
  local copy = {}
  for name, value in pairs(own) do copy[name] = value end
  copy.weight_decay = 0
  return copy
end

local function make_step(row, rule, own, state, grads)
  local rate = RATES[row.rate][2](state.made)
  if row.trains == "beside" then
    for i, x in ipairs(grads.b) do state.w.b[i] = state.w.b[i] - BESIDE * x end
    grads.b = nil
  end
  clipped(row, grads)
  for name, g in pairs(grads) do
    local options = own.weight_decay and is_spared(row, name) and without_decay(own) or own
    rule(options, state.w[name], g, state.of[name], state.made + 1, rate)
  end
  if row.average ~= "none" then move_averages(row, state) end
  state.made = state.made + 1
end

local function rescale(state, finite)
  state.good = finite and state.good + 1 or 0
  if not finite then state.scale = max(state.scale / GROWS, 1) end
  if state.good < PERIOD then return end
  state.good, state.scale = 0, state.scale * GROWS
end

local function expected(rule, factors, row)
  local state = { w = {}, ema = {}, of = {}, made = 0, good = 0, scale = FIRST }
  for _, name in ipairs(NAMES) do
    state.w[name], state.of[name], state.ema[name] = first_of(name), {}, {}
    for i = 1, SIZES[name] do state.ema[name][i] = 0 end
  end
  for step = 1, STEPS do
    local grads, finite = mean_gradients(row, state.w, step)
    local skips = row.scale == "dynamic" and not finite
    if not skips then make_step(row, rule, own_options(factors, row), state, grads) end
    if row.scale == "dynamic" then rescale(state, finite) end
  end
  return state
end

-- ---- the job ----

local function job_of(name, options, row)
  local inputs = {}
  for i, each_name in ipairs(NAMES) do
    inputs[i] = { "of_" .. each_name, tp.Numpy.Placeholder(SHAPES[each_name],
      { dtype = flow.double, distribute = flow.distribute.broadcast() }) }
  end
  local config = flow.function_config()
  if row.devices == "split" then
    config.optimizer_placement_optimization_mode("distributed_split")
    config.optimizer_placement_optimization_threshold(1)
  end
  return flow.global_function { name = "t", type = "train", inputs = inputs,
    function_config = config, body = function(...)
    local losses = {}
    for i, gradient in ipairs { ... } do
      local of = NAMES[i]
      local regularizer = row.regularizer ~= "none" and of ~= "empty"
        and flow.regularizers.l1_l2(L1, L2) or nil
      losses[i] = flow.math.reduce_sum(gradient * flow.get_variable(of, SHAPES[of],
        { dtype = flow.double, initializer = flow.zeros_initializer(),
          regularizer = regularizer }))
    end
    o[name](RATES[row.rate][1](), options):minimize(losses)
    if row.trains ~= "beside" then return end
    o.SGD(BESIDE, { momentum = 0, variables = { "b" }, loss_scale_policy = policy_of(row),
      gradient_accumulation_steps = row.calls }):minimize(losses)
  end }
end

local function array_of(name, list)
  return core.reshape(core.from_table(list, "float64"), SHAPES[name])
end

local function train(name, factors, row)
  flow.clear_default_session()
  core.set("kernels", row.kernels)
  core.set("device", row.devices == "one" and "cpu:0" or "sim 0:0-1")
  local job = job_of(name, options_of(factors, row), row):compile()
  for _, each_name in ipairs(NAMES) do
    core.variable_set(each_name, array_of(each_name, first_of(each_name)))
  end
  for call = 1, STEPS * row.calls do
    local gradients = {}
    for i, each_name in ipairs(NAMES) do
      gradients[i] = array_of(each_name, gradient_of(row, each_name, call))
    end
    job(unpack(gradients))
  end
end

local function number_of(variable) return core.variable_get(variable):item() end

local function check(want, variable, what)
  local got = core.to_table(core.reshape(core.variable_get(variable), { -1 }))
  for i, value in ipairs(want) do
    assert(abs(value - got[i]) <= 1e-12 * max(1, abs(value)), ("%s: %s %d: expected %.17g, "
      .. "got %.17g"):format(what, variable, i, value, got[i]))
  end
end

local function check_all(state, row, what)
  for _, name in ipairs(NAMES) do
    check(state.w[name], name, what)
    if row.average ~= "none" and is_trained(row, name) then
      check(state.ema[name], name .. "-ema", what)
    end
  end
  assert.equal(state.made, number_of "System-Train-TrainStep-t", what)
  if row.scale == "dynamic" then
    assert.equal(state.scale, number_of "System-Train-DynamicLossScale-t-LossScale", what)
  end
end

describe("every pair of options", function()
  after_each(function()
    flow.clear_default_session()
    core.set("kernels", "fast")
    core.set("device", "cpu:0")
  end)

  for _, info in ipairs(core.optimizers()) do
    it("does what its formulas say: " .. info.name, function()
      local rule, own = RULES[info.name][1], RULES[info.name][2]
      local factors = with(own, unpack(COMMON))
      for _, factor in ipairs(own) do
        if factor == DECAY then factors[#factors + 1] = SPARES end
      end
      for _, row in ipairs(combine.rows(factors)) do
        train(info.name, own, row)
        check_all(expected(rule, own, row), row, combine.text(factors, row))
      end
    end)

    it("has all of its own options tried: " .. info.name, function()
      local known = STYLE.nesterov
      if info.name ~= "SGD" then known = {} end
      for _, factor in ipairs(RULES[info.name][2]) do known[factor[1]] = true end
      for _, param in ipairs(info.params) do assert.truthy(known[param.name], param.name) end
    end)
  end
end)

-- Options that say how much of a mean is kept in a step.
local DECAYS = { beta1 = true, beta2 = true, rho = true, momentum_beta = true, decay_rate = true }

describe("a decay", function()
  after_each(flow.clear_default_session)

  for _, info in ipairs(core.optimizers()) do
    it("is refused outside [0, 1): " .. info.name, function()
      for _, param in ipairs(info.params) do
        for _, value in ipairs(DECAYS[param.name] and { 1, -0.5 } or {}) do
          flow.clear_default_session()
          local job = flow.global_function { name = "bad", type = "train", body = function()
            local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
            o[info.name](0.1, { [param.name] = value }):minimize(w)
          end }
          local ok, message = pcall(job)
          assert.is_false(ok, param.name)
          local text = ("%s: %s must be in [0, 1), got %g"):format(info.name, param.name, value)
          assert.truthy(message:find(text, 1, true), message)
        end
      end
    end)
  end
end)
