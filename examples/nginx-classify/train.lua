-- Trains the network and saves it where the server loads it; a server that runs takes it over at
-- `nginx -s reload`.
--   jfl train.lua [FOLDER [EPOCHS [BATCHES]]]
package.path = (arg[0]:match("^.*/") or "") .. "?.lua;" .. package.path
local flow = require "jfl"
local network = require "network"
local tp = flow.typing

local FOLDER, EPOCHS = arg[1] or "clothes", tonumber(arg[2]) or 3
local BATCH, MOST = 100, tonumber(arg[3]) or math.huge

local inputs = {
  { "images", tp.Numpy.Placeholder { BATCH, 1, 28, 28 } },
  { "labels", tp.Numpy.Placeholder({ BATCH }, { dtype = flow.int32 }) },
}

local train = flow.global_function {
  name = "train", type = "train", inputs = inputs, returns = tp.Numpy,
  body = function(images, labels)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network.logits(images))
    flow.optimizer.Adam(0.001):minimize(loss)
    return loss
  end,
}

local ask = flow.global_function {
  name = "ask", inputs = { inputs[1] }, returns = tp.Numpy, body = network.logits,
}

local train_set, test_set = flow.data.load_mnist(BATCH)

local function accuracy()
  local right, n = 0, 0
  for i, images, labels in flow.zip(test_set.images, test_set.labels) do
    if i > MOST then break end
    local logits = ask(images)
    for k = 1, BATCH do right = right + (logits[k]:argmax() == labels[k] and 1 or 0) end
    n = n + BATCH
  end
  return right / n
end

for epoch = 1, EPOCHS do
  for i, images, labels in flow.zip(train_set.images, train_set.labels) do
    if i > MOST then break end
    train(images, labels)
  end
  print(("epoch %d: %.1f %% right"):format(epoch, 100 * accuracy()))
end
flow.train.CheckPoint():save(FOLDER, { overwrite = true })
