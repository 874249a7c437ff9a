-- Examples of optimizers and their schedules.

-- Each optimizer steps the same variable, with the arguments that its line names.
local STEPS = [[
## optimizer.NAME
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = flow.math.square(w - x)
    flow.optimizer.NAMEARGUMENTS:minimize(loss)
    return loss
  end }
for i = 1, 300 do train({ 3 }) end
print(math.abs(flow.get_all_variables().w[1] - 3) < 0.1)  --> true

]]
local optimizers = ([[
Adam(0.1, { beta1 = 0.8 })
SGD(0.1, { momentum = 0 })
AdamW(0.1, { weight_decay = 0.001 })
Adadelta(10)
Adagrad(1)
LAMB(0.05)
LARS(0.1, { lars_coefficient = 0.1, momentum_beta = 0 })
LazyAdam(0.1)
Lion(0.02)
NAdam(0.1)
RMSProp(0.02)
SGDW(0.05, { weight_decay = 0.001 })
CombinedOptimizer({
      flow.optimizer.Adam(0.1, { variables = { "w" } }),
    })
]]):gsub("(%w+)(%b())\n", function(name, arguments)
  return (STEPS:gsub("NAME", name):gsub("ARGUMENTS", arguments))
end)

-- Each schedule is asked for its first rate.
local RATE = [[
## optimizer.NAME
WHAT
local rate = flow.optimizer.NAMEARGUMENTS
print(flow.optimizer.SGD(rate).lr)  --> FIRST

]]
local schedules = ([[
-- from 0.1 to 0.01 in 1000 steps
CosineScheduler(0.1, 1000, { alpha = 0.1 }): 0.1
-- falls from 0.1 in 1000 steps, then again in 2000, in 4000 and so on
CosineRestartsScheduler(0.1, 1000, { multiplier = 2 }): 0.1
-- rises to 0.1 in 100 steps, and falls in the other 900
CosineWarmupScheduler(0.1, 1000, 100): 0
-- halves in each 1000 steps
ExponentialScheduler(0.1, 1000, 0.5): 0.1
-- 0.1 / 2 after 1000 steps, 0.1 / 3 after 2000
InverseTimeScheduler(0.1, 1000, 1): 0.1
-- a straight line times half a cosine
LinearCosineScheduler(0.1, 1000): 0.1001
-- divided by e in each 1000 steps
NaturalExpScheduler(0.1, 1000, 1): 0.1
-- from 0.004 up to 0.1 in 300 steps, then down to 4e-7
OneCycleScheduler(0.1, 1000): 0.004
-- a tenth behind step 1000, a tenth of that behind step 5000
PiecewiseScalingScheduler(0.1, { 1000, 5000 }, 0.1): 0.1
-- in a straight line to 0
PolynomialScheduler(0.1, 1000, { end_learning_rate = 0 }): 0.1
]]):gsub("([^\n]+)\n(%w+)(%b()): ([%d.]+)\n", function(what, name, arguments, first)
  return (RATE:gsub("WHAT", what):gsub("NAME", name):gsub("ARGUMENTS", arguments)
    :gsub("FIRST", first))
end)

return optimizers .. schedules .. [==[
## Optimizer.lr, Optimizer:set_lr, Optimizer:minimize
local sgd = flow.optimizer.SGD(0.1)  -- kept outside of the body, to reach it later
local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) }, { "y", tp.Numpy.Placeholder({ 4, 1 }) } },
  body = function(x, y)
    local loss = flow.math.squared_difference(flow.layers.dense(x, 1), y)
    sgd:minimize(loss)  -- from now on each call is a step
    return loss
  end }
local x, y = nd.ones({ 4, 3 }), nd.ones({ 4, 1 })
local first = train(x, y):mean()
for i = 1, 100 do train(x, y) end
print(train(x, y):mean() < first)  --> true
sgd:set_lr(0.01)
sgd.lr = sgd.lr / 2                -- the same as sgd:set_lr(0.005)
print(sgd.lr, sgd.momentum)        --> 0.005	0.9

## optimizer.PiecewiseConstantScheduler, optimizer.warmup.constant, optimizer.warmup.linear
local warmup, scheduler = flow.optimizer.warmup, flow.optimizer.PiecewiseConstantScheduler
local function first(rate) return flow.optimizer.SGD(rate).lr end
-- 0.1 up to step 1000, then 0.01
print(first(scheduler({ 1000, 5000 }, { 0.1, 0.01, 0.001 })))  --> 0.1
-- a tenth of 0.5 in the first 100 steps; rises to 0.5 in 100 steps
print(first(scheduler({}, { 0.5 }, { warmup = warmup.constant(100, 0.1) })))             --> 0.05
print(first(scheduler({ 1000 }, { 0.5, 0.05 }, { warmup = warmup.linear(100, 0.1) })))  --> 0.05

## optimizer.CustomScheduler
-- the rate is an input of the job
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) },
    { "rate", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x, rate)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = flow.math.square(w - x)
    local schedule = flow.optimizer.CustomScheduler(rate)
    flow.optimizer.SGD(schedule, { momentum = 0 }):minimize(loss)
    return loss
  end }
train({ 3 }, { 0.25 })
print(flow.get_all_variables().w)  --> [2.]

## optimizer.grad_clipping.by_norm, optimizer.grad_clipping.by_value,
## optimizer.grad_clipping.by_global_norm
local clipping = flow.optimizer.grad_clipping
local all = clipping.by_global_norm(1)  -- the norm of all gradients together is at most 1
local norm = clipping.by_norm(1)        -- no variable's gradient has a norm above 1
local value = clipping.by_value(1)      -- no element of a gradient is beyond -1 or 1
for _, clip in ipairs { all, norm, value } do
  print(flow.optimizer.SGD(0.1, { grad_clipping = clip }).lr)  --> 0.1
end

## optimizer.loss_scale.static_loss_scale, optimizer.loss_scale.dynamic_loss_scale
local fixed = flow.optimizer.loss_scale.static_loss_scale(1024)
-- halves when a gradient is not finite; doubles after 2000 good steps
local moving = flow.optimizer.loss_scale.dynamic_loss_scale(2 ^ 16)
print(flow.optimizer.SGD(0.1, { loss_scale_policy = fixed }).lr)    --> 0.1
print(flow.optimizer.Adam(0.1, { loss_scale_policy = moving }).lr)  --> 0.1

## train.ExponentialMovingAverage
local average = flow.train.ExponentialMovingAverage(0.9)
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = flow.math.square(w - x)
    flow.optimizer.SGD(0.1, { momentum = 0, moving_average = average }):minimize(loss)
    return loss
  end }
for i = 1, 10 do train({ 3 }) end
local show = flow.global_function { name = "show", returns = tp.Numpy,
  body = function()
    return average:use(function() return flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() }) end)
  end }
print(show()[1] < flow.get_all_variables().w[1])  --> true
]==]
