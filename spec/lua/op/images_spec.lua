local flow = require "jfl"
local helper = require "spec.lua.helper"

local image, nd, tp = flow.image, flow.ndarray, flow.typing

describe("pictures in batches", function()
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(6)
  end)
  after_each(function() flow.clear_default_session() end)

  local function list(...) return helper.list((...)) end

  -- (n, 3, h, w) from 0 to 1
  local function colours(n, h, w) return nd.rand({ n, 3, h, w }) end

  it("are mirrored", function()
    local x = nd.arange(4):reshape({ 1, 2, 2, 1 })
    assert.same({ 1, 0, 3, 2 }, list(image.flip(x)))
    assert.same({ 2, 3, 0, 1 }, list(image.flip(x, 0)))
    assert.same({ 3, 2, 1, 0 }, list(image.flip(x, -1)))
    local planes = x:reshape({ 1, 1, 2, 2 })
    assert.same({ 1, 0, 3, 2 }, list(image.flip(planes, { data_format = "NCHW" })))
    assert.same({ 1, 0, 3, 2 }, list(image.random_flip(x, 1, { data_format = "NHWC" })))
    assert.same({ 0, 1, 2, 3 }, list(image.random_flip(x, 0, { data_format = "NHWC" })))
  end)

  it("are cut out of the middle", function()
    local x = nd.arange(12):reshape({ 1, 1, 3, 4 })
    assert.same({ 5, 6 }, list(image.center_crop(x, { 1, 2 })))
    assert.same({ 5 }, list(image.center_crop(x:reshape({ 1, 3, 4, 1 }), 1,
      { data_format = "NHWC" })))
  end)

  it("become what a network takes", function()
    local x = nd.array({ { { { 10, 20, 30 }, { 40, 50, 60 } } } }, flow.uint8)
    local y = image.CropMirrorNormalize(x, { mean = { 10, 20, 30 }, std = { 2, 5, 10 } })
    assert.same({ 1, 3, 1, 2 }, y.shape)
    assert.same({ 0, 15, 0, 6, 0, 3 }, list(y))
    local mirror = nd.array({ 1 }, flow.int8)
    assert.same({ 40, 50, 60, 10, 20, 30 },
      list(image.CropMirrorNormalize(x, mirror, { output_layout = "NHWC" })))
    assert.same({ 3.5, 8.5 }, { image.normalize(x, 2, { 3, 3, 3 }):get(1, 1, 1, 1),
      image.normalize(x, 2, 3):get(1, 1, 1, 2) })
    assert.same({ 1, 2, 1, 3 }, image.Resize(x, { 1, 2 }).shape)
  end)

  it("are changed at random in train jobs and outside of jobs, and left alone elsewhere", function()
    local changes = {
      crop = function(x) return image.random_crop(x, 8, { padding = 2, flip = 0.5 }) end,
      flip = function(x) return image.random_flip(x) end,
      jitter = function(x)
        return image.color_jitter(x, { brightness = 0.4, contrast = 0.4, saturation = 0.4,
          hue = 0.1 })
      end,
      erase = function(x) return image.random_erasing(x, { probability = 1 }) end,
    }
    local x = colours(6, 8, 8)
    for name, change in pairs(changes) do
      local predict = helper.predict("p" .. name, { 6, 3, 8, 8 }, change)
      assert.same(list(x), list(predict(x)), name)
      local train = flow.global_function {
        name = "t" .. name, type = "train", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 6, 3, 8, 8 }) } },
        body = function(input)
          local w = flow.get_variable("w", { 1 }, { initializer = flow.ones_initializer() })
          local y = change(input * w)
          flow.optimizer.SGD(0):minimize(y)
          return y
        end,
      }
      local first, second = list(train(x)), list(train(x))
      assert.are_not.same(first, second, name)
      assert.are_not.same(list(x), first, name)
      assert.are_not.same(list(x), list(change(x)), name)
    end
  end)

  it("keep their grey, and their range, where colours change", function()
    local x = nd.full({ 3, 3, 2, 2 }, 0.5)
    local y = image.color_jitter(x, { saturation = 0.9 })
    assert.near(0.5, y:min(), 1e-6)
    assert.near(0.5, y:max(), 1e-6)
    local z = image.color_jitter(colours(4, 3, 3), { brightness = 3, contrast = 2, saturation = 2 })
    assert.is_true(z:min() >= 0 and z:max() <= 1)
    local bright = image.color_jitter(nd.full({ 50, 3, 1, 1 }, 0.2), { brightness = 0.5 })
    assert.is_true(bright:min() >= 0.1 - 1e-6 and bright:max() <= 0.3 + 1e-6)
    assert.is_true(bright:max() - bright:min() > 0.1)
    local grey = image.color_jitter(x, { hue = 0.5 })
    assert.near(0, flow.math.abs(grey - x):max(), 1e-6)
  end)

  it("lose a rectangle of all channels", function()
    local y = image.random_erasing(nd.ones({ 20, 2, 12, 12 }), { probability = 1, value = 3,
      scale = { 0.1, 0.2 }, ratio = { 0.5, 2 } })
    local total = 0
    for i = 1, 20 do
      local top, left, bottom, right, count = 13, 13, 0, 0, 0
      for r = 1, 12 do
        for c = 1, 12 do
          assert.equal(y:get(i, 1, r, c), y:get(i, 2, r, c))
          if y:get(i, 1, r, c) == 3 then
            count, top, left = count + 1, math.min(top, r), math.min(left, c)
            bottom, right = math.max(bottom, r), math.max(right, c)
          end
        end
      end
      total = total + count
      if count > 0 then assert.equal(count, (bottom - top + 1) * (right - left + 1)) end
    end
    assert.is_true(total > 100 and total < 20 * 40, total)
    local few = image.random_erasing(nd.ones({ 200, 1, 4, 4 }), { probability = 0.25 })
    local changed = 0
    for i = 1, 200 do changed = changed + (few[i]:min() < 1 and 1 or 0) end
    assert.is_true(changed > 10 and changed < 90, changed)
  end)

  it("draw coins", function()
    local coins = flow.random.CoinFlip(1000, 0.2)
    assert.equal("int8", coins.dtype)
    local share = coins:astype("float32"):mean()
    assert.is_true(share > 0.14 and share < 0.26, share)
    assert.equal(0, flow.random.CoinFlip(10, 0):max())
    assert.equal(1, flow.random.CoinFlip(10, 1):min())
  end)

  it("name what is wrong", function()
    local x, u = nd.ones({ 1, 3, 4, 4 }), nd.zeros({ 1, 4, 4, 3 }, flow.uint8)
    local function fails(text, f, ...)
      local given, n = { ... }, select("#", ...)
      helper.fails(function() f(unpack(given, 1, n)) end, text)
    end
    fails("image.random_erasing: x must be floats, got uint8", image.random_erasing, u,
      { data_format = "NHWC" })
    fails("image.random_crop: x must be of shape (N, C, H, W), got (3)", image.random_crop,
      nd.ones({ 3 }), 2)
    fails("size must be at most 6 for the rows of a padded picture, got 7", image.random_crop, x, 7,
      { padding = 1 })
    fails("size must be one number or two", image.random_crop, x, { 1, 2, 3 })
    fails("flip must be a number from 0 to 1, got 2", image.random_crop, x, 2, { flip = 2 })
    fails("size must be at most 4 by 4, got 5 by 5", image.center_crop, x, 5)
    fails("data_format must be \"NCHW\" or \"NHWC\"", image.random_flip, x, { data_format = "CHW" })
    fails("training must be a boolean", image.random_flip, x, { training = 1 })
    fails("flip_code must be 1, 0 or -1, got number 2", image.flip, x, 2)
    fails("target_size must be {width, height}, got number 3", image.Resize, u, 3)
    fails("interpolation must be one of", image.Resize, u, { 2, 2 }, { interpolation_type = "x" })
    fails("x must be floats with 3 channels, got uint8", image.color_jitter, u,
      { data_format = "NHWC" })
    fails("brightness must be a number of at least 0, got -1", image.color_jitter, x,
      { brightness = -1 })
    fails("hue must be a number from 0 to 0.5, got 0.6", image.color_jitter, x,
      { hue = 0.6 })
    fails("hue_factor must be a number from -0.5 to 0.5, got -1", image.adjust_hue, x, -1)
    fails("saturation_factor must be a number of at least 0, got string 'a'",
      image.adjust_saturation, x, "a")
    fails("scale must be two numbers above 0", image.random_erasing, x, { scale = { 0, 1 } })
    fails("mean must have one number, or one for each of 3 channels, got 2", image.normalize, u, 1,
      { 1, 2 })
    fails("input_blob must be uint8, got float32", image.CropMirrorNormalize, x)
    fails("mean must have 1 number or 3, one a channel, got 2", image.CropMirrorNormalize, u,
      { mean = { 1, 2 } })
    fails("std must be finite and not 0, got 0", image.CropMirrorNormalize, u, { std = { 0 } })
    fails("crop_h must be from 0 to 4, got 5", image.CropMirrorNormalize, u, { crop_h = 5 })
    fails("crop_pos_x must be from 0 to 1, got 2", image.CropMirrorNormalize, u, { crop_pos_x = 2 })
    fails("color_space must be BGR or RGB for 3 channels and GRAY for 1, got GRAY for 3",
      image.CropMirrorNormalize, u, { color_space = "GRAY" })
    fails("mirror_blob must be int8 with a number for each of 1 pictures",
      image.CropMirrorNormalize, u, nd.zeros({ 2 }, flow.int8))
    fails("probability must be a number from 0 to 1, got 2", flow.random.CoinFlip, 3, 2)
  end)
end)
