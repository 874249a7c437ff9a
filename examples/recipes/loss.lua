-- A loss of your own is a function that gives a blob: one number, or one for each sample. Who
-- promises a delivery time wants no mean, but a time that nine of ten deliveries keep. The pinball
-- loss (Koenker, Bassett 1978) finds it: a promise that is too short costs nine times as much as
-- one that is too long.
local flow = require "jfl"
local nd = flow.ndarray

local function pinball(share)
  return function(promise, time)
    local late = time - promise
    return flow.math.maximum(late * share, late * (share - 1))
  end
end

-- The way takes 3 minutes a kilometre, and delays grow with it.
local function deliveries(n)
  local way = nd.rand { n, 1 } * 9 + 1
  local minutes = way * 3 - way * flow.math.log(1 - nd.rand { n, 1 })
  return { way / 10, minutes / 10 }
end
flow.random.seed(7)
local train, test = deliveries(4000), deliveries(2000)
local inputs = { flow.float32 { -1, 1 } }

local function promises(name, loss)
  local net = flow.model(name, function(x)
    return flow.layers.dense(flow.layers.dense(x, 16, { activation = flow.nn.relu }), 1)
  end)
  flow.fit(net, train, { loss = loss, optimizer = flow.optimizer.Adam(0.005), epochs = 30,
    show = false })
  return net:predict { inputs = inputs }
end

for _, case in ipairs { { "mean", flow.nn.MSELoss }, { "nine of ten", pinball(0.9) } } do
  local predict = promises(case[1]:gsub(" ", "_"), case[2])
  local kept = flow.math.less_equal(test[2], predict(test[1])):mean()
  print(("%s: %.0f minutes for 5 km, kept by %.2f of all"):format(case[1],
    10 * predict({ { 0.5 } }):item(), kept))
end
