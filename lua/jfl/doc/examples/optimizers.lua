-- Examples of optimizers and their schedules.
return [==[
## Optimizer.lr
local sgd = flow.optimizer.SGD(0.1)
sgd.lr = sgd.lr / 2  -- the same as sgd:set_lr(0.05)
print(sgd.lr, sgd.momentum)  --> 0.05	0.9

## Optimizer:minimize
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) },
    { "y", tp.Numpy.Placeholder({ 4, 1 }) } },
  body = function(x, y)
    local loss = flow.math.squared_difference(flow.layers.dense(x, 1), y)
    -- from now on each call is a step
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
local x, y = nd.ones({ 4, 3 }), nd.ones({ 4, 1 })
local first = train(x, y):mean()
for i = 1, 100 do train(x, y) end
print(train(x, y):mean() < first)  --> true

## Optimizer:set_lr
-- kept outside of the body, to reach it later
local sgd = flow.optimizer.SGD(0.1)
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 1 }) } },
  body = function(x)
    local loss = flow.math.square(flow.layers.dense(x, 1))
    sgd:minimize(loss)
    return loss
  end }
train({ { 1 }, { 2 } })
sgd:set_lr(0.01)
print(sgd.lr)  --> 0.01

## optimizer.Adam
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = flow.math.square(w - x)
    flow.optimizer.Adam(0.1, { beta1 = 0.8 }):minimize(loss)
    return loss
  end }
for i = 1, 200 do train({ 3 }) end
print(math.abs(flow.get_all_variables().w[1] - 3) < 0.01)  --> true

## optimizer.PiecewiseConstantScheduler
local rate = flow.optimizer.PiecewiseConstantScheduler({ 1000, 5000 },
  { 0.1, 0.01, 0.001 })
-- 0.1 up to step 1000, then 0.01
print(flow.optimizer.SGD(rate).lr)  --> 0.1

## optimizer.SGD
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = flow.math.square(w - x)
    flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
    return loss
  end }
for i = 1, 50 do train({ 3 }) end
print(math.abs(flow.get_all_variables().w[1] - 3) < 0.01)  --> true

## optimizer.grad_clipping.by_global_norm
local clip = flow.optimizer.grad_clipping.by_global_norm(1)
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = w * x
    flow.optimizer.SGD(0.5, { momentum = 0, grad_clipping = clip })
      :minimize(loss)
    return loss
  end }
train({ 1000 })  -- a gradient of 1000 becomes one of 1
print(flow.get_all_variables().w)  --> [0.5]

## optimizer.warmup.constant
local warmup = flow.optimizer.warmup.constant(100, 0.1)
local rate = flow.optimizer.PiecewiseConstantScheduler({}, { 0.5 },
  { warmup = warmup })
-- a tenth of 0.5 in the first 100 steps
print(flow.optimizer.SGD(rate).lr)  --> 0.05

## optimizer.warmup.linear
local warmup = flow.optimizer.warmup.linear(100, 0.1)
local rate = flow.optimizer.PiecewiseConstantScheduler({ 1000 },
  { 0.5, 0.05 }, { warmup = warmup })
-- rises to 0.5 in 100 steps
print(flow.optimizer.SGD(rate).lr)  --> 0.05

]==]
