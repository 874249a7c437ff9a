-- The models of the bench: each makes a function that runs one step, or a thousand tiny calls.
-- Those that train give their job instead if called with true.
local flow = require "jfl"

local nd = flow.ndarray
local tp = flow.typing

local layers = dofile "scripts/bench/layers.lua"
local dense, conv = layers.dense, layers.conv

local function mlp(x)
  local hidden = dense(flow.reshape(x, { x.shape[1], -1 }), 512, flow.nn.relu, "hidden")
  return dense(hidden, 10, nil, "output")
end

local function lenet(x)
  local features = flow.reshape(conv(conv(x, 32, "conv1"), 64, "conv2"), { x.shape[1], -1 })
  local hidden = flow.nn.dropout(dense(features, 512, flow.nn.relu, "dense1"), { rate = 0.5 })
  return dense(hidden, 10, nil, "dense2")
end

-- ResNet-50 as in the example, for pictures of 224 by 224 and 1000 classes.
local function resnet50(x)
  return loadfile "examples/resnet50.lua"("network")(x, 1000, 64, { 3, 4, 6, 3 })
end

-- The extents of a batch of images: those of MNIST, unless a picture's are given.
local function extents(batch, picture)
  return picture and { batch, unpack(picture) } or { batch, 1, 28, 28 }
end

local function images_of(shape) return { "images", tp.Numpy.Placeholder(shape) } end

local PICTURE = { 3, 224, 224 }

--- A training step on the same batch, again and again; or with `bare` its job.
local function train(network, batch, picture, bare)
  local shape = extents(batch, picture)
  local job = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = {
      images_of(shape),
      { "labels", tp.Numpy.Placeholder({ batch }, { dtype = flow.int32 }) },
    },
    body = function(images, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network(images))
      flow.optimizer.SGD(0.001, { momentum = 0 }):minimize(loss)
      return loss
    end,
  }
  if bare then return job end
  local images, labels = nd.rand(shape), nd.zeros({ batch }, "int32")
  for i = 1, batch do labels[i] = i % 10 end
  return function() job(images, labels) end
end

local function predict(network, batch, picture)
  local shape = extents(batch, picture)
  local job = flow.global_function {
    name = "predict", returns = tp.Numpy, inputs = { images_of(shape) }, body = network,
  }
  local images = nd.rand(shape)
  return function() job(images) end
end

--- A thousand calls of a job that adds twice, on four numbers: milliseconds are microseconds each.
local function tiny(returns, finish)
  local job = flow.global_function {
    name = "tiny", returns = returns, inputs = { { "x", tp.Numpy.Placeholder { 4 } } },
    body = function(x) return x + x + x end,
  }
  local x = nd.ones { 4 }
  return function()
    for _ = 1, 1000 do finish(job(x)) end
    flow.sync()
  end
end

local function ignore() end

--- The job of a training step of two layers of LSTM on 32 texts of 32 letters.
local function lstm()
  local function letters(name)
    return { name, tp.Numpy.Placeholder({ 32, 32 }, { dtype = flow.int32 }) }
  end
  return flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = { letters "letters", letters "nexts" },
    body = function(ids, nexts)
      local y = flow.layers.lstm(flow.layers.embedding(ids, 80, 32), 128, { num_layers = 2 })
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(flow.reshape(nexts, { -1 }),
        flow.layers.dense(flow.reshape(y, { -1, 128 }), 80))
      flow.optimizer.Adam(0.002):minimize(loss)
      return loss
    end,
  }
end

local transformers = dofile "scripts/bench/transformers.lua"

return {
  lenet = function(bare) return train(lenet, 100, nil, bare) end,
  mlp = function() return train(mlp, 100) end,
  lenet1 = function() return train(lenet, 1) end,
  mlp1 = function() return train(mlp, 1) end,
  predict1 = function() return predict(lenet, 1) end,
  resnet50 = function() return train(resnet50, 16, PICTURE) end,
  resnet50_256 = function(bare) return train(resnet50, 256, PICTURE, bare) end,
  resnet50_predict1 = function() return predict(resnet50, 1, PICTURE) end,
  gpt2 = function() return transformers.gpt2() end,
  gpt2_16 = function(bare) return transformers.gpt2(16, 1024, bare) end,
  gpt2_64 = function() return transformers.gpt2(64, 1024) end,
  bert = transformers.bert,
  bert_predict1 = transformers.bert_predict1,
  lstm = lstm,
  tiny = function() return tiny(tp.Numpy, ignore) end,
  tiny_async = function() return tiny(tp.Callback(tp.Numpy), function(call) call(ignore) end) end,
}
