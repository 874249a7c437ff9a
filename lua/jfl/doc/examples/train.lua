-- Examples of training, and of metrics.
return [==[
## FitRun:plot
local job = flow.global_function { name = "train", type = "train",
  inputs = { { "x", tp.Numpy.Placeholder { -1, 2 } } },
  returns = tp.Numpy,
  body = function(x)
    local loss = flow.math.reduce_mean(flow.layers.dense(x, 1) ^ 2)
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
local run = flow.fit(job, { nd.ones { 8, 2 } }, {
  epochs = 3, show = false })
run:plot()
print(run.epoch)  --> 3

## FitRun:stop
local job = flow.global_function { name = "train", type = "train",
  inputs = { { "x", tp.Numpy.Placeholder { -1, 2 } } },
  returns = tp.Numpy,
  body = function(x)
    local loss = flow.math.reduce_mean(flow.layers.dense(x, 1) ^ 2)
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
local run = flow.fit(job, { nd.ones { 8, 2 } }, {
  epochs = 100, show = false,
  callbacks = function(run) if run.epoch == 3 then run:stop() end end })
print(run.epoch, run.stopped)  --> 3	stop

## FitRun:wait
local job = flow.global_function { name = "train", type = "train",
  inputs = { { "x", tp.Numpy.Placeholder { -1, 2 } } },
  returns = tp.Numpy,
  body = function(x)
    local loss = flow.math.reduce_mean(flow.layers.dense(x, 1) ^ 2)
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
local run = flow.fit(job, { nd.ones { 8, 2 } }, {
  epochs = 2, background = true })
print(run:wait().done)  --> true

## find_rate
local net = flow.model("line", function(x) return flow.layers.dense(x, 1) end)
local adam = flow.optimizer.Adam(0.001)
local x = nd.rand { 64, 1 }
local rate = flow.find_rate(net, { x, x * 3 }, {
  loss = flow.nn.MSELoss, optimizer = adam, show = false })
print(rate > 0.001)  --> true
adam.lr = rate

## fit
local x = nd.array { { 0 }, { 1 }, { 2 }, { 3 } }
local net = flow.model("line", function(x) return flow.layers.dense(x, 1) end)
local run = flow.fit(net, { x, x * 2 + 1 }, {
  loss = flow.nn.MSELoss, optimizer = flow.optimizer.Adam(0.1),
  epochs = 200, batch_size = 4, show = false })
print(run.step, run.history.loss[200] < run.history.loss[1])
--> 200	true

## metrics.accuracy
print(flow.metrics.accuracy({ { 2, 1 }, { 0, 3 } }, { 0, 0 }))  --> 0.5

## metrics.auc
local value = flow.metrics.auc({ 0.1, 0.4, 0.35, 0.8 }, { 0, 0, 1, 1 })
print(value)  --> 0.75

## metrics.confusion
print(flow.metrics.confusion({ 0.9, 0.8, 0.1 }, { 1, 0, 0 }))
--> [[1 1]
-->  [0 1]]

## metrics.f1
print(flow.metrics.f1({ 0.9, 0.8, 0.1, 0.7 }, { 1, 0, 0, 1 }))  --> 0.8

## metrics.mean_absolute_error
print(flow.metrics.mean_absolute_error({ 1, 2, 3 }, { 2, 2, 1 }))  --> 1

## metrics.mean_squared_error
local value = flow.metrics.mean_squared_error({ 1, 2, 3 }, { 2, 2, 2 - 1 })
print(value)  --> 1.6666666666667

## metrics.precision
local value = flow.metrics.precision({ 0.9, 0.8, 0.1, 0.7 }, { 1, 0, 0, 1 })
print(value)  --> 0.66666666666667

## metrics.recall
local value = flow.metrics.recall({ 0.9, 0.8, 0.1, 0.7 }, { 1, 0, 0, 1 })
print(value)  --> 1

## metrics.top_k
local value = flow.metrics.top_k({ { 3, 2, 1 }, { 1, 2, 3 } }, { 1, 0 }, 2)
print(value)  --> 0.5

]==]
