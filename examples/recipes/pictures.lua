-- A folder of your own pictures, with a sub-folder for each class, becomes a network that names
-- what is on a picture. The folder is the argument; without one, the program draws one.
local flow = require "jfl"
local nd = flow.ndarray
local SIZE, FOLDER = 24, flow.arguments("[folder=FOLDER]").folder

-- A picture with a disc, a square or a cross at a place by chance, in some colour.
local inside = {
  disc = function(x, y, r) return x * x + y * y < r * r end,
  square = function(x, y, r) return math.abs(x) < r and math.abs(y) < r end,
  cross = function(x, y, r) return math.min(math.abs(x), math.abs(y)) < r / 3
    and math.max(math.abs(x), math.abs(y)) < r end,
}
local function draw(is_inside)
  local picture, at = nd.rand { 3, 32, 32 } * 0.4, { math.random(10, 22), math.random(10, 22) }
  local r, pixels = math.random(5, 9), picture:pointer()
  for channel = 0, 2 do
    local shade = 0.5 + math.random() / 2
    for i = 0, 32 * 32 - 1 do
      if is_inside(i % 32 - at[1], math.floor(i / 32) - at[2], r) then
        pixels[channel * 32 * 32 + i] = shade
      end
    end
  end
  return picture
end

math.randomseed(1)
flow.random.seed(1)
if not FOLDER then
  FOLDER = "shapes"
  for _, class in ipairs { "cross", "disc", "square" } do
    os.execute(("mkdir -p %s/%s"):format(FOLDER, class))
    for i = 1, 100 do
      flow.data.save_image(("%s/%s/%d.png"):format(FOLDER, class, i), draw(inside[class]))
    end
  end
end

-- Nothing is read yet: pictures are decoded and sized on threads, ahead of the training.
local all = flow.data.image_folder(FOLDER, { size = SIZE })
local train, test = flow.data.split(all, { 0.8, 0.2, seed = 1, by_class = true })

local net = flow.model("net", function(images)
  local x = flow.image.CropMirrorNormalize(images, { std = { 255 } })    -- (N, C, H, W), 0 to 1
  x = flow.image.random_crop(x, SIZE, { padding = 2, flip = 0.5 })       -- in training alone
  for i, filters in ipairs { 16, 32 } do
    x = flow.layers.conv2d(x, filters, 3, { padding = "SAME", name = "conv" .. i })
    x = flow.nn.max_pool2d(flow.nn.relu(x), 2, 2, "VALID")
  end
  return flow.layers.dense(x:reshape { x.shape[1], -1 }, #all.classes, { name = "output" })
end)
local run = flow.fit(net, train, { loss = flow.nn.cross_entropy, metrics = { "accuracy" },
  optimizer = flow.optimizer.Adam(0.005), epochs = 25, batch_size = 20, validation = test,
  keep_best = true, monitor = "accuracy" })

local name = net:predict { inputs = { flow.uint8 { 1, SIZE, SIZE, 3 } }, output = flow.math.argmax }
local picture = flow.data.load_image(test.images[1], { size = SIZE }):reshape { 1, SIZE, SIZE, 3 }
print(("%s: %s"):format(test.images[1], all.classes[name(picture)[1] + 1]))
print(("accuracy %.2f"):format(run.best.value))
