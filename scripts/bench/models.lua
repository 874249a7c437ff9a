-- The models of the bench: each makes a function that runs one step, or a thousand tiny calls.
local flow = require "jfl"

local nd = flow.ndarray
local tp = flow.typing

local function dense(x, units, activation, name)
  return flow.layers.dense(x, units,
    { activation = activation, kernel_initializer = flow.truncated_normal(0.1), name = name })
end

local function conv(x, filters, name)
  local y = flow.layers.conv2d(x, filters, 5, { padding = "SAME", activation = flow.nn.relu,
    kernel_initializer = flow.truncated_normal(0.1), name = name })
  return flow.nn.max_pool2d(y, { ksize = 2, strides = 2, padding = "SAME" })
end

local function mlp(x)
  local hidden = dense(flow.reshape(x, { x.shape[1], -1 }), 512, flow.nn.relu, "hidden")
  return dense(hidden, 10, nil, "output")
end

local function lenet(x)
  local features = flow.reshape(conv(conv(x, 32, "conv1"), 64, "conv2"), { x.shape[1], -1 })
  local hidden = flow.nn.dropout(dense(features, 512, flow.nn.relu, "dense1"), { rate = 0.5 })
  return dense(hidden, 10, nil, "dense2")
end

local function images_of(batch) return { "images", tp.Numpy.Placeholder { batch, 1, 28, 28 } } end

--- A training step on the same batch, again and again.
local function train(network, batch)
  local job = flow.global_function {
    name = "train", type = "train", returns = tp.Numpy,
    inputs = {
      images_of(batch),
      { "labels", tp.Numpy.Placeholder({ batch }, { dtype = flow.int32 }) },
    },
    body = function(images, labels)
      local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, network(images))
      flow.optimizer.SGD(0.001, { momentum = 0 }):minimize(loss)
      return loss
    end,
  }
  local images, labels = nd.rand { batch, 1, 28, 28 }, nd.zeros({ batch }, "int32")
  for i = 1, batch do labels[i] = i % 10 end
  return function() job(images, labels) end
end

local function predict(network, batch)
  local job = flow.global_function {
    name = "predict", returns = tp.Numpy, inputs = { images_of(batch) }, body = network,
  }
  local images = nd.rand { batch, 1, 28, 28 }
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

return {
  lenet = function() return train(lenet, 100) end,
  mlp = function() return train(mlp, 100) end,
  lenet1 = function() return train(lenet, 1) end,
  mlp1 = function() return train(mlp, 1) end,
  predict1 = function() return predict(lenet, 1) end,
  tiny = function() return tiny(tp.Numpy, ignore) end,
  tiny_async = function() return tiny(tp.Callback(tp.Numpy), function(call) call(ignore) end) end,
}
