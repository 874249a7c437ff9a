-- A small U-Net (Ronneberger, Fischer, Brox 2015) finds discs and squares in noisy pictures that
-- the script draws, and says of each pixel what it belongs to.
local ffi = require "ffi"
local flow = require "jfl"
local nd = flow.ndarray

local STEPS = flow.arguments("[steps=400]").steps
local BATCH, SIDE = 8, 64
local CLASSES = { "background", "disc", "square" }

-- ---- pictures ----

-- Draws a shape of that class with its centre at (x, y) into a picture and its labels.
local function draw(picture, labels, class, x, y, radius, brightness)
  for i = math.max(0, y - radius), math.min(SIDE - 1, y + radius) do
    for j = math.max(0, x - radius), math.min(SIDE - 1, x + radius) do
      if class == 2 or (i - y) ^ 2 + (j - x) ^ 2 <= radius ^ 2 then
        picture[i * SIDE + j] = picture[i * SIDE + j] + brightness
        labels[i * SIDE + j] = class
      end
    end
  end
end

-- A batch of noisy pictures, each with three to six shapes, and the class of each pixel.
local function draw_batch(random)
  local images = flow.random.normal({ BATCH, 1, SIDE, SIDE }) * 0.3
  local labels = nd.zeros({ BATCH, SIDE, SIDE }, "int32")
  local pixels, classes = ffi.cast("float *", images:pointer()),
    ffi.cast("int32_t *", labels:pointer())
  for n = 0, BATCH - 1 do
    local at = n * SIDE * SIDE
    for _ = 1, random(3, 6) do
      draw(pixels + at, classes + at, random(1, 2), random(0, SIDE - 1), random(0, SIDE - 1),
        random(5, 11), random(5, 10) / 10)
    end
  end
  return images, labels
end

-- ---- the network ----

local function conv(x, filters)
  x = flow.layers.conv2d(x, filters, 3, { padding = "SAME", use_bias = false })
  return flow.layers.batch_normalization_relu(x, { axis = 1, momentum = 0.9 })
end

local function two_convs(x, filters) return conv(conv(x, filters), filters) end

-- Goes down by pools and up by transposed convolutions; on the way up each level also sees what
-- the way down saw at that size.
local unet = flow.model("unet", function(x)
  local level1 = two_convs(x, 16)
  local level2 = two_convs(level1:max_pool2d(2), 32)
  local deep = two_convs(level2:max_pool2d(2), 64)
  local up2 = flow.layers.conv2d_transpose(deep, 32, 2, { strides = 2 })
  up2 = two_convs(flow.concat({ level2, up2 }, 1), 32)
  local up1 = flow.layers.conv2d_transpose(up2, 16, 2, { strides = 2 })
  up1 = two_convs(flow.concat({ level1, up1 }, 1), 16)
  return flow.layers.conv2d(up1, #CLASSES, 1)
end)

local pictures = flow.float32 { BATCH, 1, SIDE, SIDE }

local train = unet:train {
  inputs = { pictures, flow.int32 { BATCH, SIDE, SIDE } },
  loss = function(logits, labels)
    return flow.nn.cross_entropy(logits:transpose(0, 2, 3, 1), labels)
  end,
  optimizer = flow.optimizer.Adam(
    flow.optimizer.PiecewiseConstantScheduler({ STEPS * 0.8 }, { 0.003, 0.0003 })),
}

local segment = unet:predict { inputs = { pictures },
  output = function(logits) return logits:argmax(1) end }

-- ---- training and test ----

flow.random.seed(1)
math.randomseed(1)
local bar = flow.progress(STEPS, { desc = "training" })
for _ in bar do bar.loss = train(draw_batch(math.random)):item() end

-- The intersection over union of a class: pixels that are found and right, of those that are one
-- or the other.
local right, either = { 0, 0, 0 }, { 0, 0, 0 }
for _ = 1, 8 do
  local images, labels = draw_batch(math.random)
  local found = segment(images)
  for class = 1, #CLASSES do
    local a, b = found:eq(class - 1), labels:eq(class - 1)
    local both = flow.math.logical_and(a, b):sum()
    right[class] = right[class] + both
    either[class] = either[class] + a:sum() + b:sum() - both
  end
end
local mean = 0
for class, name in ipairs(CLASSES) do
  print(("IoU of %-10s %.3f"):format(name, right[class] / either[class]))
  mean = mean + right[class] / either[class] / #CLASSES
end
print(("mean IoU: %.3f"):format(mean))
