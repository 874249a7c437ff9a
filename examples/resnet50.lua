-- ResNet-50 (He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2016), with
-- the stride of a block in its 3x3 convolution.
-- The folder has the folders train and val, each with a folder of pictures for each class. Parts of
-- random size and shape are cut out of the pictures for training, and one in two is mirrored.
-- Without a folder the network learns Fashion-MNIST, enlarged.
--   size          height and width of what the network sees; without a folder a multiple of 28
--   batch         pictures a step
--   epochs        how often it goes through the pictures
--   steps         the most steps of an epoch, and batches of the evaluation; 0: all
--   rate          the learning rate for 256 pictures a step
--   seed          a number of your own makes the run repeatable
--   blocks and width: how many blocks each of the four stages has, and the channels
--                 within those of the first one; less of both makes a small network
--   recompute     1: what is inside of blocks is computed again on the way back, not kept
local flow = require "jfl"

local options = {}

-- ---- the network ----

local kernel = flow.variance_scaling_initializer(2, "fan_out", "random_normal")

local NORM = { axis = 1, momentum = 0.9, epsilon = 1e-5 }
-- The last normalization of a block starts at 0, so that the block first passes on what it gets.
local LAST = { axis = 1, momentum = 0.9, epsilon = 1e-5,
  gamma_initializer = flow.zeros_initializer() }

local function conv(x, filters, size, stride)
  return flow.layers.conv2d(x, filters, size, { strides = stride, padding = (size - 1) / 2,
    use_bias = false, kernel_initializer = kernel,
    kernel_regularizer = flow.regularizers.l2(5e-5) })
end

local function conv_norm_relu(x, filters, size, stride)
  return flow.layers.batch_normalization_relu(conv(x, filters, size, stride), NORM)
end

local function block(x, filters, stride)
  local shortcut = x
  if stride > 1 or x.shape[2] ~= 4 * filters then
    shortcut = flow.layers.batch_normalization(conv(x, 4 * filters, 1, stride), NORM)
  end
  local y = conv_norm_relu(conv_norm_relu(x, filters, 1, 1), filters, 3, stride)
  return flow.layers.batch_normalization_add_relu(conv(y, 4 * filters, 1, 1), shortcut, LAST)
end

-- images: (batch, 3, size, size); gives (batch, classes).
local function resnet(images, classes, width, blocks)
  local x = conv_norm_relu(images, width, 7, 2)
  x = flow.nn.max_pool2d(x, { ksize = 3, strides = 2, padding = { 0, 0, 0, 0, 1, 1, 1, 1 } })
  for stage, count in ipairs(blocks) do
    for i = 1, count do
      local stride = i == 1 and stage > 1 and 2 or 1
      local from, layer = x, flow.model(("stage%d_%d"):format(stage, i), block)
      local function make() return layer(from, width * 2 ^ (stage - 1), stride) end
      x = options.recompute == 1 and flow.scope.recompute(make) or make()
    end
  end
  return flow.layers.dense(flow.math.reduce_mean(x, { axis = { 2, 3 } }), classes,
    { kernel_initializer = flow.random_normal_initializer(0, 0.01), name = "classes" })
end

-- The bench loads this file for the network alone.
if ... == "network" then return resnet end
options = flow.arguments [[
  [folder=FOLDER] [size=224] [batch=16] [epochs=1] [steps=0] [rate=0.1] [seed=0] [blocks=3,4,6,3]
  [width=64] [recompute=0] ]]
local folder = options.folder

if options.seed ~= 0 then flow.random.seed(options.seed) end
local SIZE, BATCH = options.size, options.batch
local blocks = {}
for count in options.blocks:gmatch "%d+" do blocks[#blocks + 1] = tonumber(count) end

-- ---- pictures ----

local MEAN, DEVIATION = { 0.485, 0.456, 0.406 }, { 0.229, 0.224, 0.225 }     -- of ImageNet's colors

-- Pictures of a folder, (batch, SIZE, SIZE, 3) of uint8, as (batch, 3, SIZE, SIZE) around 0.
local function from_folder(images)
  local x = flow.cast(images, flow.float32) * (1 / 255)
  x = (x - flow.ndarray.array(MEAN)) / flow.ndarray.array(DEVIATION)
  return flow.transpose(x, { 0, 3, 1, 2 })
end

-- Grey pictures of 28 by 28 cells, each cell enlarged.
local function from_fashion(images)
  local n, times = images.shape[1], SIZE / 28
  local x = flow.reshape((images - 0.286) / 0.353, { n, 1, 28, 1, 28, 1 })
  return flow.reshape(flow.broadcast_to(x, { n, 3, 28, times, 28, times }), { n, 3, SIZE, SIZE })
end

-- Both parts of the data, how many classes there are, the type of a batch of pictures, and what
-- prepares it.
local function read_folder()
  local train = flow.data.image_folder(folder .. "/train",
    { size = SIZE, fit = "random", flip = true })
  local val = flow.data.image_folder(folder .. "/val",
    { size = SIZE, fit = "center", shorter = math.floor(SIZE * 8 / 7 + 0.5) })
  return train, val, #train.classes, flow.uint8 { -1, SIZE, SIZE, 3 }, from_folder
end

local function read_fashion()
  if SIZE % 28 ~= 0 then error("resnet50.lua: size must be a multiple of 28", 0) end
  local train, test = flow.data.load_mnist({ batched = false })
  return train, test, 10, flow.float32 { -1, 1, 28, 28 }, from_fashion
end

local train_set, test_set, n_classes, pictures, prepare =
  (folder and read_folder or read_fashion)()

-- ---- jobs ----

local net = flow.model("resnet", function(images)
  return resnet(prepare(images), n_classes, options.width, blocks)
end)

local n_steps = math.floor(#train_set.labels / BATCH)
if options.steps > 0 then n_steps = math.min(n_steps, options.steps) end

local all, rate = n_steps * options.epochs, options.rate * BATCH / 256
local schedule = flow.optimizer.PiecewiseConstantScheduler(
  { math.floor(all * 0.5), math.floor(all * 0.8) }, { rate, rate / 10, rate / 100 },
  { warmup = flow.optimizer.warmup.linear(math.max(1, math.floor(all / 20)), 0.1) })

local train = net:train { inputs = { pictures, flow.int32 { -1 } }, loss = flow.nn.cross_entropy,
  optimizer = flow.optimizer.SGD(schedule, { momentum = 0.9 }) }

local classify = net:predict { inputs = { pictures },
  output = function(logits) return logits:argmax(1) end }

local function evaluate()
  local right, count = 0, 0
  for _, i, images, labels in flow.data.batches(test_set, { batch_size = BATCH, name = "test" }) do
    right = right + flow.cast(classify(images):eq(labels), flow.float32):sum()
    count = count + labels.shape[1]
    if i == options.steps then
      flow.data.close_loop("test")
      break
    end
  end
  return right / count
end

local done, sum = 0, 0
for epoch = 1, options.epochs do
  for _, i, images, labels in flow.data.batches(train_set,
    { batch_size = BATCH, shuffle = true, drop_last = true }) do
    done, sum = done + 1, sum + train(images, labels):item()
    if i % 20 == 0 or i == n_steps then
      print(("epoch %d, step %d of %d: loss %.4f"):format(epoch, i, n_steps, sum / done))
      done, sum = 0, 0
    end
    if i == options.steps then
      flow.data.close_loop("train")
      break
    end
  end
  print(("epoch %d: accuracy %.4f"):format(epoch, evaluate()))
end
