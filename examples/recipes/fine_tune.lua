-- Fine-tuning: a network that has learned one task from many examples needs few for another. Here
-- it tells twelve sounds apart, in noise; then a new head on its frozen body learns four other
-- sounds from 20 examples, beside a network that begins with nothing.
local flow = require "jfl"
local nd = flow.ndarray
local LENGTH, OVERTONES, KINDS, NEW, FEW = 96, 5, 12, 4, 20
flow.random.seed(3)

-- A sound is how loud each overtone is; the pitch is another one in each example.
local sounds = nd.rand { KINDS + NEW, OVERTONES }
-- n examples of the sounds first to last, with labels from 0.
local function record(n, first, last)
  local kinds = flow.random.randint(first, last + 1, { n })
  local pitch, start = nd.rand { n, 1 } * 0.3 + 0.2, nd.rand { n, 1 } * 7
  local loud, rows = flow.gather(sounds, kinds - 1), nd.rand { n, LENGTH } - 0.5
  for k = 1, OVERTONES do
    rows = rows + loud[{ {}, { k, k } }] * flow.math.sin((start + pitch * nd.arange(LENGTH)) * k)
  end
  return { rows, kinds - first }
end

-- The body is a model of its own, which the networks for both tasks contain.
local function body(x)
  x = x:reshape { x.shape[1], 1, LENGTH }
  for i, filters in ipairs { 16, 32 } do
    x = flow.layers.conv1d(x, filters, 7, { padding = "SAME", activation = flow.nn.relu,
      name = "conv" .. i })
    x = flow.nn.max_pool1d(x, 2, 2, "VALID")
  end
  return flow.layers.dense(flow.math.reduce_mean(x, 2), 32, { activation = flow.nn.relu })
end
local function network(name, features, classes)
  return flow.model(name, function(x) return flow.layers.dense(features(x), classes) end)
end
local function learn(net, data, test, epochs)
  return flow.fit(net, data, { loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.01),
    epochs = epochs, batch_size = 20, validation = test, metrics = { "accuracy" }, show = false })
end

local features = flow.model("features", body)
local first = learn(network("first", features, KINDS), record(2000, 1, KINDS),
  record(300, 1, KINDS), 10)
local few, test = record(FEW, KINDS + 1, KINDS + NEW), record(300, KINDS + 1, KINDS + NEW)
features:freeze ""                       -- all of its variables; the new head alone learns
local tuned = learn(network("tuned", features, NEW), few, test, 60)
local fresh = learn(network("fresh", flow.model("new", body), NEW), few, test, 60)
print(("%d sounds: %.2f right"):format(KINDS, first.history.accuracy[10]))
print(("%d others by %d examples: %.2f right; without what it knew %.2f"):format(NEW, FEW,
  tuned.history.accuracy[60], fresh.history.accuracy[60]))
