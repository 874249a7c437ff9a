-- A loss that becomes nan: first find the value where it begins, then what made it, then mend it.
-- Here a network learns the logarithm of a price, and some prices are 0.
local flow = require "jfl"
local nd = flow.ndarray
flow.random.seed(4)
local size = nd.rand { 256, 1 }
local price = flow.math.relu(size * 9 - 1)               -- 0 where the size is below 1/9

local function learn(name, logarithm)
  flow.random.seed(4)
  local net = flow.model(name, function(x)
    return flow.layers.dense(flow.layers.dense(x, 16, { activation = flow.nn.relu }), 1)
  end)
  return flow.fit(net, { size, price }, { epochs = 20, show = false,
    optimizer = flow.optimizer.Adam(0.01),
    loss = function(said, asked) return flow.nn.MSELoss(said, logarithm(asked)) end })
end

-- 1. What a user sees: the training stops by itself and says so.
local function careless(asked)
  return flow.math.log(asked, { name = "logarithm" })
end
local run = learn("careless", careless)
print(("stopped by %s in epoch %d"):format(run.stopped, run.epoch))

-- 2. Where it begins: each value is looked at as soon as it is computed. The error names the value,
-- the step and the line of this file, and the variables are as they were before that step.
flow.clear_default_session()
flow.config.check_finite(true)
local ok, message = pcall(learn, "careless", careless)
print("error: " .. message)
flow.config.check_finite(false)
assert(not ok)

-- 3. What it was made of: a value of the graph is shown at each call.
flow.clear_default_session()
local least = math.huge
pcall(learn, "watched", function(asked)
  flow.watch(asked, function(value) least = math.min(least, value:min()) end)
  return careless(asked)
end)
print(("the least price: %g"):format(least))

-- 4. Mended: the logarithm of 1 + price is finite. Other cures, by cause: divide by x + 1e-6; take
-- softmax and cross entropy in one (flow.nn.cross_entropy); clip gradients that grow (the option
-- grad_clipping of optimizers); lower the rate.
flow.clear_default_session()
run = learn("careful", function(asked) return flow.math.log(asked + 1) end)
print(("mended: loss %.4f"):format(run.history.loss[20]))
