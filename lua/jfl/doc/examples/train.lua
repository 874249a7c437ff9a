-- Examples of training, and of metrics.
return [==[
## FitRun:plot, FitRun:stop, FitRun:wait
local function line(x) return flow.layers.dense(x, 1) end
local net = flow.model("line", line)
local function fit(options)
  options.loss, options.show = flow.nn.mse_loss, false
  options.optimizer = flow.optimizer.SGD(0.1)
  return flow.fit(net, { nd.ones { 8, 2 }, nd.ones { 8, 1 } }, options)
end
local run = fit { epochs = 100,
  callbacks = function(run) if run.epoch == 3 then run:stop() end end }
run:plot()
print(run.epoch, run.stopped)  --> 3	stop
print(fit({ epochs = 2, background = true }):wait().done)
--> true

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

## metrics.accuracy, metrics.top_k
print(flow.metrics.accuracy({ { 2, 1 }, { 0, 3 } }, { 0, 0 }))          --> 0.5
print(flow.metrics.top_k({ { 3, 2, 1 }, { 1, 2, 3 } }, { 1, 0 }, 2))  --> 0.5

## metrics.mean_absolute_error, metrics.mean_squared_error
local y, wanted = { 1, 2, 3 }, { 2, 2, 1 }
print(flow.metrics.mean_absolute_error(y, wanted))  --> 1
print(flow.metrics.mean_squared_error(y, wanted))   --> 1.6666666666667

## metrics.precision, metrics.recall, metrics.f1, metrics.auc, metrics.confusion
local scores, labels = { 0.9, 0.8, 0.1, 0.7 }, { 1, 0, 0, 1 }
print(flow.metrics.precision(scores, labels), flow.metrics.recall(scores, labels))
--> 0.66666666666667	1
print(flow.metrics.f1(scores, labels), flow.metrics.auc(scores, labels))  --> 0.8	0.75
print(flow.metrics.confusion(scores, labels))                             --> [[1 1]
                                                                          -->  [0 2]]

]==]
