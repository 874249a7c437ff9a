-- A training loop of your own, for what flow.fit does not do. This one trains on the hard examples
-- more often: it keeps the last loss of each, and draws batches by that.
local flow = require "jfl"
local nd = flow.ndarray
local N, BATCH, STEPS = 2000, 50, 1000

-- Rings: the outer ones are thin, and few points lie in them.
local function points(n)
  local radius, angle = nd.rand { n } ^ 2, nd.rand { n } * 2 * math.pi
  local rows = nd.stack({ radius * flow.math.cos(angle), radius * flow.math.sin(angle) }, 1)
  return rows, flow.math.floor(radius * 4):astype "int32" % 2
end
flow.random.seed(9)
local x, y = points(N)
local x_test, y_test = points(1000)

local net = flow.model("rings", function(blob)
  for _ = 1, 2 do blob = flow.layers.dense(blob, 32, { activation = flow.nn.relu }) end
  return flow.layers.dense(blob, 2)
end)
local adam = flow.optimizer.Adam(0.01)
local function each_loss(scores, labels)             -- one for each example, not their mean
  return flow.nn.cross_entropy(scores, labels, { reduction = "none" })
end
local inputs = { flow.float32 { -1, 2 }, flow.int32 { -1 } }
local step = net:train { inputs = inputs, loss = each_loss, optimizer = adam }
local judge = net:evaluate { inputs = inputs, loss = each_loss }

local hardness = nd.ones { N }
local best, best_variables = 0, nil
for i = 1, STEPS do
  local chosen = flow.random.choice(hardness, { n = BATCH, replace = false })
  local losses = step(flow.gather(x, chosen), flow.gather(y, chosen))
  for k = 1, BATCH do hardness[chosen[k] + 1] = losses[k] + 0.05 end
  if i % 100 == 0 then
    local loss, scores = judge(x_test, y_test)
    local right = flow.metrics.accuracy(scores, y_test)
    print(("step %d: rate %.4f, loss %.3f, %.3f right"):format(i, adam.lr, loss:mean(), right))
    if right > best then best, best_variables = right, net:variables() end
    adam.lr = adam.lr * 0.7                          -- between two calls, and at once
  end
end

flow.checkpoint.save("./rings", { var_dict = best_variables, overwrite = true })
net:load "./rings"
print(("the best, loaded again: %.3f right"):format(
  flow.metrics.accuracy(select(2, judge(x_test, y_test)), y_test)))
