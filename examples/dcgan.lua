-- DCGAN (Radford, Metz, Chintala 2015): a generator learns to draw clothes that a discriminator
-- cannot tell from Fashion-MNIST's. Each has an optimizer of its own; both learn in one job. After
-- each epoch a grid of drawings is saved as dcgan-EPOCH.png.
-- Usage: jfl examples/dcgan.lua [epochs [batches an epoch]]
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing

local EPOCHS = tonumber((...)) or 10
local BATCHES = tonumber((select(2, ...)))
local BATCH, CODE = 100, 100
local DRAWINGS = 64

local initializer = flow.random_normal_initializer(0, 0.02)

local function options(name, more)
  more.name, more.kernel_initializer = name, initializer
  return more
end

local function norm(x, name)
  return flow.layers.batch_normalization_relu(x, { axis = 1, momentum = 0.9, name = name })
end

-- Codes (N, 100) become pictures (N, 1, 28, 28) from -1 to 1.
local function generator(codes)
  local x = flow.layers.dense(codes, 128 * 7 * 7, options("g-dense", { use_bias = false }))
  x = norm(flow.reshape(x, { -1, 128, 7, 7 }), "g-norm1")
  x = flow.layers.conv2d_transpose(x, 64, 5,
    options("g-conv1", { strides = 2, padding = "SAME", use_bias = false }))
  x = flow.layers.conv2d_transpose(norm(x, "g-norm2"), 1, 5,
    options("g-conv2", { strides = 2, padding = "SAME" }))
  return flow.math.tanh(x)
end

-- One number for each picture: large if it looks real.
local function discriminator(images, reuse)
  local x = images
  for i, filters in ipairs { 64, 128 } do
    x = flow.layers.conv2d(x, filters, 5,
      options("d-conv" .. i, { strides = 2, padding = "SAME", reuse = reuse }))
    x = flow.nn.dropout(flow.nn.leaky_relu(x, 0.3), 0.3)
  end
  return flow.layers.dense(flow.reshape(x, { BATCH, -1 }), 1, options("d-out", { reuse = reuse }))
end

local function loss_of(logits, is_real)
  local labels = is_real and flow.ones_like(logits) or flow.zeros_like(logits)
  return flow.math.reduce_mean(flow.nn.sigmoid_cross_entropy_with_logits(labels, logits))
end

-- The variables whose names begin with a letter.
local function of(letter)
  return function(name) return name:sub(1, 2) == letter .. "-" end
end

local train = flow.global_function {
  name = "train",
  type = "train",
  inputs = {
    { "images", tp.Numpy.Placeholder({ BATCH, 1, 28, 28 }) },
    { "codes", tp.Numpy.Placeholder({ BATCH, CODE }) },
  },
  returns = tp.List(tp.Numpy),
  body = function(images, codes)
    local real = discriminator(images * 2 - 1)
    local drawn = discriminator(generator(codes), true)
    local d_loss = loss_of(real, true) + loss_of(drawn, false)
    local g_loss = loss_of(drawn, true)
    flow.optimizer.Adam(2e-4, { beta1 = 0.5, variables = of "d" }):minimize(d_loss)
    flow.optimizer.Adam(2e-4, { beta1 = 0.5, variables = of "g" }):minimize(g_loss)
    return { d_loss, g_loss }
  end,
}

local draw = flow.global_function {
  name = "draw",
  inputs = { { "codes", tp.Numpy.Placeholder({ DRAWINGS, CODE }) } },
  returns = tp.Numpy,
  body = function(codes) return (generator(codes) + 1) / 2 end,
}

flow.random.seed(1)
local data = flow.data.load_mnist(BATCH)
local images = BATCHES and data.images:slice(1, BATCHES) or data.images
local codes = nd.randn({ DRAWINGS, CODE })

for epoch = 1, EPOCHS do
  local bar = flow.progress(images, { desc = ("epoch %d/%d"):format(epoch, EPOCHS) })
  local d_sum, g_sum = 0, 0
  for _, batch in bar do
    local losses = train(batch, nd.randn({ BATCH, CODE }))
    bar.d, bar.g = losses[1]:item(), losses[2]:item()
    d_sum, g_sum = d_sum + losses[1]:item(), g_sum + losses[2]:item()
  end
  local file = ("dcgan-%d.png"):format(epoch)
  flow.data.save_image(file, draw(codes))
  print(("epoch %d: loss of the discriminator %.3f, of the generator %.3f; %s"):format(epoch,
    d_sum / #images, g_sum / #images, file))
end
