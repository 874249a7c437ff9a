-- Trains the network and saves it where the server loads it; a server that runs takes it over at
-- `nginx -s reload`.
package.path = (arg[0]:match("^.*/") or "") .. "?.lua;" .. package.path
local flow = require "jfl"
local network = require "network"

local o = flow.arguments "[folder=clothes] [epochs=3] [batches=N]"
local FOLDER, EPOCHS = o.folder, o.epochs
local BATCH, MOST = 100, o.batches or math.huge

local images = flow.float32 { BATCH, 1, 28, 28 }
local train = network.model:train { inputs = { images = images, labels = flow.int32 { BATCH } },
  loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.001) }
local ask = network.model:predict { inputs = { images } }

local train_set, test_set = flow.data.load_mnist(BATCH)

local function accuracy()
  local right, n = 0, 0
  for i, batch, labels in flow.zip(test_set.images, test_set.labels) do
    if i > MOST then break end
    right, n = right + flow.metrics.accuracy(ask(batch), labels), n + 1
  end
  return right / n
end

for epoch = 1, EPOCHS do
  for i, batch, labels in flow.zip(train_set.images, train_set.labels) do
    if i > MOST then break end
    train(batch, labels)
  end
  print(("epoch %d: %.1f %% right"):format(epoch, 100 * accuracy()))
end
network.model:save(FOLDER, { overwrite = true })
