-- How near the memory of plans is to what the lifetimes of their temporaries need at least.
local flow = require "jfl"
local tp = flow.typing

local NEAR = 1.10

local relu = { activation = flow.nn.relu }

local function mlp(x)
  local h = flow.reshape(x, { x.shape[1], -1 })
  for _, units in ipairs { 512, 300, 300, 100 } do h = flow.layers.dense(h, units, relu) end
  return flow.layers.dense(h, 10)
end

local function conv(x, filters, kernel, strides, activation)
  return flow.layers.conv2d(x, filters, kernel,
    { padding = "SAME", strides = strides, activation = activation })
end

local function lenet(x)
  local pool = { ksize = 2, strides = 2, padding = "SAME" }
  local y = flow.nn.max_pool2d(conv(x, 32, 5, 1, flow.nn.relu), pool)
  y = flow.nn.max_pool2d(conv(y, 64, 5, 1, flow.nn.relu), pool)
  y = flow.layers.dense(flow.reshape(y, { x.shape[1], -1 }), 512, relu)
  return flow.layers.dense(flow.nn.dropout(y, 0.5), 10)
end

-- A block of two convolutions beside a shortcut, which is a convolution where the extent changes.
local function block(x, filters, strides)
  local y = conv(conv(x, filters, 3, strides, flow.nn.relu), filters, 3, 1)
  local short = strides == 1 and x or conv(x, filters, 1, strides)
  return flow.nn.relu(y + short)
end

local function resnet(x)
  local y = conv(x, 16, 3, 1, flow.nn.relu)
  for stage, filters in ipairs { 16, 32, 64 } do
    for i = 1, 3 do y = block(y, filters, stage > 1 and i == 1 and 2 or 1) end
  end
  return flow.layers.dense(flow.math.reduce_mean(y, { axis = { 2, 3 } }), 10)
end

-- Rows of each image as a sequence: attention and a wide layer, each beside a shortcut.
local function transformer(x)
  local n, width = x.shape[1], 28
  local h = flow.reshape(x, { n, width, width })
  for _ = 1, 2 do
    local q, k, v = flow.layers.dense(h, width), flow.layers.dense(h, width),
      flow.layers.dense(h, width)
    local scores = flow.nn.softmax(flow.matmul(q, k, { transpose_b = true }) * 0.19)
    h = h + flow.layers.dense(flow.matmul(scores, v), width)
    h = h + flow.layers.dense(flow.math.gelu(flow.layers.dense(h, 4 * width)), width)
  end
  return flow.layers.dense(flow.reshape(h, { n, -1 }), 10)
end

local UNITS = { B = 1, KB = 1e3, MB = 1e6 }

local function bytes(text, before)
  local number, unit = text:match(before .. "([%d.]+) (%a+)")
  return tonumber(number) * UNITS[unit]
end

describe("the memory of a plan", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  local function plan_of(network, batch, kind, momentum)
    local inputs = { { "images", tp.Numpy.Placeholder { batch, 1, 28, 28 } } }
    if kind == "train" then
      inputs[2] = { "labels", tp.Numpy.Placeholder({ batch }, { dtype = flow.int32 }) }
    end
    return flow.global_function { name = "job", type = kind, inputs = inputs, returns = tp.Numpy,
      body = function(images, labels)
        local y = network(images)
        if kind == "predict" then return flow.nn.softmax(y) end
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, y)
        flow.optimizer.SGD(0.1, { momentum = momentum }):minimize(loss)
        return loss
      end }:plan()
  end

  for name, network in pairs { mlp = mlp, lenet = lenet, resnet = resnet,
    transformer = transformer } do
    it("of " .. name .. " is near its lower bound", function()
      for _, batch in ipairs { 1, 8, 100 } do
        for _, kind in ipairs { "predict", "train" } do
          flow.clear_default_session()
          local text = plan_of(network, batch, kind, batch == 8 and 0.9 or 0)
          local size, least = bytes(text, "temporaries of "), bytes(text, "needs less than ")
          assert.is_true(size <= NEAR * least, ("%s, batch %d, %s: %s"):format(name, batch, kind,
            text:match "^[^\n]*"))
        end
      end
    end)
  end
end)
