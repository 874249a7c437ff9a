-- Ten steps of optimizers against their formulas, written out here once more in plain Lua.
local core = require "jfl.core"
local flow = require "jfl"
local tp = flow.typing

local STEPS, RATE = 10, 0.05
local o = flow.optimizer

local function x_at(step, i) return math.sin(1.3 * step + i) end

-- A job whose gradient of w, which begins with ones, is its input x.
local function job_of(make, dtype)
  return flow.global_function { name = "t", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 4 }, { dtype = dtype }) } },
    body = function(x)
      local w = flow.get_variable("w", { 4 }, { dtype = dtype,
        initializer = flow.ones_initializer() })
      local loss = flow.math.reduce_sum(x * w)
      make():minimize(loss)
      return loss
    end }
end

local function inputs(step, dtype)
  local list = {}
  for i = 1, 4 do list[i] = x_at(step, i) end
  return core.from_table(list, dtype)
end

local function train(make, dtype)
  flow.clear_default_session()
  local job = job_of(make, dtype)
  for step = 1, STEPS do job(inputs(step, dtype)) end
  return core.to_table(core.variable_get "w")
end

-- Each rule: w and its state s after step t with gradient g, for one element.
local sqrt = math.sqrt
local function adam(lr_of, decay)
  return function(w, g, s, t)
    s.m, s.v = 0.9 * (s.m or 0) + 0.1 * g, 0.999 * (s.v or 0) + (1 - 0.999) * g * g
    return w - RATE * decay * w - lr_of(t) * s.m / (sqrt(s.v) + 1e-8)
  end
end
local function corrected(t) return RATE * sqrt(1 - 0.999 ^ t) / (1 - 0.9 ^ t) end

local rules = {
  { "SGDW", { momentum = 0.8, weight_decay = 0.1 }, function(w, g, s)
    s.m = 0.8 * (s.m or 0) - RATE * g
    return w + s.m - RATE * 0.1 * w
  end },
  { "SGD", { nesterov = true }, function(w, g, s)
    s.m = 0.9 * (s.m or 0) - RATE * g
    return w + 0.9 * s.m - RATE * g
  end },
  { "AdamW", { weight_decay = 0.1 }, adam(corrected, 0.1) },
  { "LazyAdam", { epsilon = 1e-8 }, adam(corrected, 0) },
  { "RMSProp", { centered = true }, function(w, g, s)
    s.ms, s.mg = 0.99 * (s.ms or 0) + 0.01 * g * g, 0.99 * (s.mg or 0) + 0.01 * g
    return w - RATE * g / sqrt(s.ms - s.mg ^ 2 + 1e-8)
  end },
  { "Adagrad", { lr_decay = 0.1 }, function(w, g, s, t)
    s.sum = (s.sum or 0) + g * g
    return w - RATE / (1 + (t - 1) * 0.1) * g / (sqrt(s.sum) + 1e-10)
  end },
  { "Adadelta", { rho = 0.9 }, function(w, g, s)
    s.v = 0.9 * (s.v or 0) + 0.1 * g * g
    local d = sqrt((s.d or 0) + 1e-6) / sqrt(s.v + 1e-6) * g
    s.d = 0.9 * (s.d or 0) + 0.1 * d * d
    return w - RATE * d
  end },
  { "Lion", { weight_decay = 0.1 }, function(w, g, s)
    local c = 0.9 * (s.m or 0) + 0.1 * g
    s.m = 0.99 * (s.m or 0) + 0.01 * g
    return w - RATE * ((c > 0 and 1 or -1) + 0.1 * w)
  end },
}

local function near(want, got, tolerance)
  for i = 1, #want do
    assert(math.abs(want[i] - got[i]) <= tolerance * math.max(1, math.abs(want[i])),
      ("element %d: expected %.15g, got %.15g"):format(i, want[i], got[i]))
  end
end

local function expected(rule)
  local w, states = { 1, 1, 1, 1 }, { {}, {}, {}, {} }
  for t = 1, STEPS do
    for i = 1, 4 do w[i] = rule(w[i], x_at(t, i), states[i], t) end
  end
  return w
end

-- LAMB needs norms over all elements.
local function expected_lamb()
  local w, m, v = { 1, 1, 1, 1 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }
  for t = 1, STEPS do
    local u, ww, uu = {}, 0, 0
    for i = 1, 4 do
      local g = x_at(t, i)
      m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + (1 - 0.999) * g * g
      u[i] = m[i] / (1 - 0.9 ^ (t + 1)) / (sqrt(v[i] / (1 - 0.999 ^ (t + 1))) + 1e-6)
      ww, uu = ww + w[i] ^ 2, uu + u[i] ^ 2
    end
    for i = 1, 4 do w[i] = w[i] - RATE * sqrt(ww / uu) * (u[i] + 0.1 * w[i]) end
  end
  return w
end

describe("a rule", function()
  before_each(flow.clear_default_session)
  after_each(function()
    core.set("kernels", "fast")
    flow.clear_default_session()
  end)

  for dtype, tolerance in pairs { float64 = 1e-10, float32 = 1e-5 } do
    for _, kernels in ipairs { "fast", "reference" } do
      for _, rule in ipairs(rules) do
        it(("follows its formula: %s, %s, %s kernels"):format(rule[1], dtype, kernels), function()
          core.set("kernels", kernels)
          near(expected(rule[3]), train(function() return o[rule[1]](RATE, rule[2]) end, dtype),
            tolerance)
        end)
      end
      it(("measures the whole variable: LAMB, %s, %s kernels"):format(dtype, kernels), function()
        core.set("kernels", kernels)
        near(expected_lamb(), train(function()
          return o.LAMB(RATE, { weight_decay = 0.1 })
        end, dtype), tolerance)
      end)
    end
  end
end)

describe("a step", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  it("is skipped and not counted where a gradient is not finite, and the scale shrinks", function()
    local job = job_of(function()
      return o.SGD(0.5, { momentum = 0, loss_scale_policy =
        o.loss_scale.dynamic_loss_scale(1024, 2, 4) })
    end, "float32")
    job({ 1, 1, 1, math.huge })
    assert.same({ 1, 1, 1, 1 }, core.to_table(core.variable_get "w"))
    assert.equal(256, core.variable_get("System-Train-DynamicLossScale-t-LossScale")[1])
    assert.equal(0, core.variable_get("System-Train-TrainStep-t")[1])
    for _ = 1, 2 do job({ 1, 0, 0, 0 }) end
    assert.same({ 0, 1, 1, 1 }, core.to_table(core.variable_get "w"))
    assert.equal(1024, core.variable_get("System-Train-DynamicLossScale-t-LossScale")[1])
    assert.equal(2, core.variable_get("System-Train-TrainStep-t")[1])
  end)

  it("is skipped for all variables alike, whatever clips them", function()
    for _, clip in ipairs { "by_norm", "by_value", "by_global_norm" } do
      flow.clear_default_session()
      local job = flow.global_function { name = "t", type = "train",
        inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
        body = function(x)
          local one = { initializer = flow.ones_initializer() }
          local a, b = flow.get_variable("a", { 1 }, one), flow.get_variable("b", { 1 }, one)
          o.SGD(0.5, { momentum = 0, grad_clipping = o.grad_clipping[clip](1),
            loss_scale_policy = o.loss_scale.dynamic_loss_scale(16, 9) })
            :minimize(flow.math.reduce_sum(flow.concat({ a, b }, 0) * x))
        end }
      job({ 1, math.huge })
      assert.same({ a = 1, b = 1, step = 0 }, { a = core.variable_get("a")[1],
        b = core.variable_get("b")[1], step = core.variable_get("System-Train-TrainStep-t")[1] })
      job({ 0.5, 0 })
      assert.same({ 0.75, 1 }, { core.variable_get("a")[1], core.variable_get("b")[1] })
    end
  end)

  it("takes the mean of several calls' gradients", function()
    local job = job_of(function()
      return o.SGD(1, { momentum = 0, gradient_accumulation_steps = 2 })
    end, "float64")
    job({ 1, 0, 2, 0 })
    assert.same({ 1, 1, 1, 1 }, core.to_table(core.variable_get "w"))
    job({ 1, 1, 0, 0 })
    assert.same({ 0, 0.5, 0, 1 }, core.to_table(core.variable_get "w"))
    assert.equal(1, core.variable_get("System-Train-TrainStep-t")[1])
  end)

  it("of several calls has their regularizers' mean, too", function()
    local job = flow.global_function { name = "t", type = "train",
      inputs = { { "x", tp.Numpy.Placeholder({ 1 }, { dtype = flow.double }) } },
      body = function(x)
        local w = flow.get_variable("w", { 1 }, { dtype = flow.double,
          initializer = flow.ones_initializer(), regularizer = flow.regularizers.l1_l2(0.5, 0.25) })
        o.SGD(1, { momentum = 0, gradient_accumulation_steps = 4 }):minimize(x * w)
      end }
    for _ = 1, 4 do job({ 0 }) end
    assert.same({ 0.25 }, core.to_table(core.variable_get "w"))
  end)

  it("moves averages, which begin with the first step's variables", function()
    local average = flow.train.ExponentialMovingAverage(0.75)
    local job = job_of(function()
      return o.SGD(1, { momentum = 0, moving_average = average })
    end, "float64")
    job({ 1, 0, 0, 0 })
    assert.same({ 0, 1, 1, 1 }, core.to_table(core.variable_get "w-ema"))
    job({ 4, 0, 0, 0 })
    assert.same({ -1, 1, 1, 1 }, core.to_table(core.variable_get "w-ema"))
  end)

  it("spares what its names exclude from weight decay", function()
    local job = job_of(function()
      return o.SGDW(1, { momentum = 0, weight_decay = 0.5, weight_decay_excludes = { "^w$" } })
    end, "float64")
    job({ 0, 0, 0, 0 })
    assert.same({ 1, 1, 1, 1 }, core.to_table(core.variable_get "w"))
  end)

  it("spares them where it is told what it trains, too", function()
    local job = job_of(function()
      return o.SGDW(1, { momentum = 0, weight_decay = 0.5, weight_decay_excludes = { "^w$" },
        variables = { "w" } })
    end, "float64")
    job({ 0, 0, 0, 0 })
    assert.same({ 1, 1, 1, 1 }, core.to_table(core.variable_get "w"))
  end)

  it("takes its rate from a function of the step", function()
    local steps = {}
    local job = job_of(function()
      return o.SGD(function(t)
        steps[#steps + 1] = t
        return t == 0 and 1 or 0.25
      end, { momentum = 0 })
    end, "float64")
    for _ = 1, 3 do job({ 1, 0, 0, 0 }) end
    assert.same({ 0, 1, 2 }, steps)
    assert.same({ -0.5, 1, 1, 1 }, core.to_table(core.variable_get "w"))
  end)
end)

describe("a checkpoint", function()
  after_each(flow.clear_default_session)

  for _, info in ipairs(core.optimizers()) do
    it("lets " .. info.name .. " go on bit for bit", function()
      local path = os.tmpname()
      os.remove(path)
      finally(function() os.execute("rm -rf " .. path) end)
      local function make()
        return o[info.name](RATE, {
          moving_average = flow.train.ExponentialMovingAverage(0.9),
          gradient_accumulation_steps = 2,
          loss_scale_policy = o.loss_scale.dynamic_loss_scale(64, 2),
        })
      end
      flow.clear_default_session()
      local job = job_of(make, "float32")
      for step = 1, 5 do job(inputs(step, "float32")) end
      flow.train.CheckPoint():save(path)
      local function rest(goes_on)
        for step = 6, 9 do goes_on(inputs(step, "float32")) end
        local all = {}
        for name, array in pairs(flow.get_all_variables()) do all[name] = core.to_table(array) end
        return all
      end
      local want = rest(job)
      flow.clear_default_session()
      local again = job_of(make, "float32")
      flow.train.CheckPoint():load(path)
      assert.same(want, rest(again))
    end)
  end
end)
