-- DCGAN (Radford, Metz, Chintala 2015): a generator learns to draw clothes that a discriminator
-- cannot tell from Fashion-MNIST's. Each has an optimizer of its own; both learn in one job. After
-- each epoch a grid of drawings is saved as dcgan-EPOCH.png.
-- batches: how many an epoch has, else all.
local flow = require "jfl"
local nd = flow.ndarray

local o = flow.arguments "[epochs=10] [batches=N]"
local EPOCHS, BATCHES = o.epochs, o.batches
local BATCH, CODE = 100, 100
local DRAWINGS = 64

local initializer = flow.random_normal_initializer(0, 0.02)

local function norm(x)
  return flow.layers.batch_normalization_relu(x, { axis = 1, momentum = 0.9 })
end

local function wider(x, filters, use_bias)
  return flow.layers.conv2d_transpose(x, filters, 5, { strides = 2, padding = "SAME",
    use_bias = use_bias, kernel_initializer = initializer })
end

-- Codes (N, 100) become pictures (N, 1, 28, 28) from -1 to 1.
local generator = flow.model("generator", function(codes)
  local x = flow.layers.dense(codes, 128 * 7 * 7,
    { use_bias = false, kernel_initializer = initializer })
  x = wider(norm(x:reshape(-1, 128, 7, 7)), 64, false)
  return wider(norm(x), 1, true):tanh()
end)

-- One number for each picture: large if it looks real.
local discriminator = flow.model("discriminator", function(images)
  local x = images
  for _, filters in ipairs { 64, 128 } do
    x = flow.layers.conv2d(x, filters, 5,
      { strides = 2, padding = "SAME", kernel_initializer = initializer })
    x = x:leaky_relu(0.3):dropout(0.3)
  end
  return flow.layers.dense(x:reshape(BATCH, -1), 1, { kernel_initializer = initializer })
end)

local function loss_of(logits, is_real)
  local labels = is_real and logits:ones_like() or logits:zeros_like()
  return flow.nn.binary_cross_entropy_with_logits(logits, labels)
end

local train = flow.global_function {
  name = "train",
  type = "train",
  inputs = { flow.float32 { BATCH, 1, 28, 28 }, flow.float32 { BATCH, CODE } },
  body = function(images, codes)
    local real = discriminator(images * 2 - 1)
    local drawn = discriminator(generator(codes))
    local d_loss = loss_of(real, true) + loss_of(drawn, false)
    local g_loss = loss_of(drawn, true)
    flow.optimizer.Adam(2e-4, { beta1 = 0.5, variables = discriminator }):minimize(d_loss)
    flow.optimizer.Adam(2e-4, { beta1 = 0.5, variables = generator }):minimize(g_loss)
    return d_loss, g_loss
  end,
}

local draw = generator:predict { inputs = { flow.float32 { DRAWINGS, CODE } },
  output = function(pictures) return (pictures + 1) / 2 end }

flow.random.seed(1)
local data = flow.data.load_mnist(BATCH)
local images = BATCHES and data.images:slice(1, BATCHES) or data.images
local codes = nd.randn({ DRAWINGS, CODE })

for epoch = 1, EPOCHS do
  local bar = flow.progress(images, { desc = ("epoch %d/%d"):format(epoch, EPOCHS) })
  local d_sum, g_sum = 0, 0
  for _, batch in bar do
    local d, g = train(batch, nd.randn({ BATCH, CODE }))
    bar.d, bar.g = d, g
    d_sum, g_sum = d_sum + d:item(), g_sum + g:item()
  end
  local file = ("dcgan-%d.png"):format(epoch)
  flow.data.save_image(file, draw(codes))
  print(("epoch %d: loss of the discriminator %.3f, of the generator %.3f; %s"):format(epoch,
    d_sum / #images, g_sum / #images, file))
end
