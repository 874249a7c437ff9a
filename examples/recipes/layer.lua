-- A layer of your own is a function from blobs to blobs. It makes its variables by
-- flow.get_variable, and gradients come by themselves. This one answers how near its input is to
-- some places that it learns, which suits data that lie in heaps: here, two spirals.
local flow = require "jfl"
local nd = flow.ndarray

-- x (N, size) -> (N, n): exp(-|x - place|^2 * sharpness) for each of n places.
local function near_places(x, n, name)
  local size = x.shape[2]
  return flow.scope.namespace(name, function()       -- the names of its variables begin with it
    local places = flow.get_variable("places", { n, size },
      { initializer = flow.random_normal_initializer(0, 1) })
    local sharpness = flow.get_variable("sharpness", { n },
      { initializer = flow.constant_initializer(3) })
    local off = x:reshape { -1, 1, size } - places:reshape { 1, n, size }
    return flow.math.exp(-flow.math.reduce_sum(off * off, 2) * flow.nn.softplus(sharpness))
  end)
end

-- Two arms that wind around each other.
local function spirals(n)
  local turn, labels = flow.math.sqrt(nd.rand { n }) * 4 * math.pi, nd.arange(n) % 2
  local r, angle = turn / 8, turn + labels * math.pi
  local x = r * flow.math.cos(angle) + nd.rand { n } * 0.1
  return { nd.stack({ x, r * flow.math.sin(angle) }, 1), labels:astype "int32" }
end
flow.random.seed(5)

local function learn(name, layer)
  local net = flow.model(name, function(x) return flow.layers.dense(layer(x), 2) end)
  local test = spirals(500)
  local run = flow.fit(net, spirals(1000), { loss = flow.nn.cross_entropy, epochs = 60,
    optimizer = flow.optimizer.Adam(0.03), validation = test, metrics = { "accuracy" },
    show = false })
  print(("%s: %.2f right, %s"):format(name, run.history.accuracy[60],
    net:summary():match "[^\n]*$"))
end
learn("places", function(x) return near_places(x, 28, "near") end)
learn("dense", function(x) return flow.layers.dense(x, 28, { activation = flow.nn.relu }) end)
