-- A dense layer learns to add three numbers.
local flow = require "jfl"
local tp = flow.typing
local job = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 8, 3 }) }, { "y", tp.Numpy.Placeholder({ 8, 1 }) } },
  body = function(x, y)
    local loss = flow.math.square(flow.layers.dense(x, 1) - y)
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end,
}
local x = flow.ndarray.rand({ 8, 3 })
local y = x:sum(1):reshape({ 8, 1 })
local first = job(x, y):mean()
for _ = 1, 200 do job(x, y) end
assert(job(x, y):mean() < first / 10)
print "learned"
