-- Convolutions, pools and images at another size that are made of ops: what they refuse, and what
-- holds for any input. Their values are compared with PyTorch's in spec/oracle/conv.lua.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, nn = flow.ndarray, flow.nn

local function ones(...) return nd.ones({ ... }) end

local function sum(a) return flow.math.reduce_sum(a):item() end

describe("transposed convolutions", function()
  it("are the adjoints of convolutions", function()
    flow.random.seed(3)
    for _, options in ipairs {
      { strides = 2, padding = "SAME" }, { strides = { 1, 3 }, padding = { 1, 0, 2, 1 } },
      { dilations = 2, groups = 2 }, { strides = 2, padding = "SAME_UPPER" },
    } do
      local x, w = nd.randn({ 2, 4, 9, 10 }), nd.randn({ 6, 4 / (options.groups or 1), 3, 2 })
      local y = nn.conv2d(x, w, options)
      local dy = nd.randn(y.shape)
      local back = { output_shape = { 9, 10 } }
      for k, v in pairs(options) do back[k] = v end
      local want, got = sum(y * dy), sum(x * nn.conv2d_transpose(dy, w, back))
      assert.is_true(math.abs(want - got) < 1e-3 * math.max(1, math.abs(want)))
    end
  end)

  it("give the least size that leads back, with SAME strides times the input's", function()
    local x, w = ones(1, 3, 3, 4), ones(3, 2, 3, 3)
    assert.same({ 1, 2, 7, 9 }, nn.conv2d_transpose(x, w, nil, 2).shape)
    assert.same({ 1, 2, 6, 8 },
      nn.conv2d_transpose(x, w, { strides = 2, padding = "SAME" }).shape)
  end)

  it("name what is wrong", function()
    local x, w = ones(1, 3, 4, 4), ones(3, 2, 3, 3)
    local function fails(text, ...)
      local a = { ... }
      helper.fails(function() nn.conv2d_transpose(unpack(a)) end, "nn.conv2d_transpose: " .. text)
    end
    fails("value must be a blob or an NdArray, got number 3", 3, w)
    fails("value must have four axes (NCHW), got shape (1, 3, 16)", ones(1, 3, 16), w)
    fails("filter must have four axes (NCHW), got shape (3, 2)", x, ones(3, 2))
    fails("filter must begin with the 3 channels of value, got shape (2, 3, 3, 3)", x,
      ones(2, 3, 3, 3))
    fails("groups must divide the 3 channels of value, got 2", x, w, { groups = 2 })
    fails("data_format must be NCHW or NHWC, got string 'NCW'", x, w, { data_format = "NCW" })
    fails("strides must be a whole number of at least 1, got number 0", x, w, { strides = 0 })
    fails("dilations must be a number or a list of 2, got a list of 3", x, w,
      { dilations = { 1, 1, 1 } })
    fails("output_shape must be one that leads back to value's extent of 4, got 9", x, w,
      { output_shape = { 9, 6 } })
    fails("output_shape must be a list of 2 or 4, got a list of 3", x, w,
      { output_shape = { 1, 6, 6 } })
    fails("output_padding must be below strides or dilations, got 2", x, w,
      { strides = 2, output_padding = 2 })
    fails("output_padding must not be given together with output_shape", x, w,
      { strides = 2, output_padding = 1, output_shape = { 10, 10 } })
    fails("padding must leave at least one cell, got 0 for an axis of 4", x, w, { padding = 3 })
    fails("padding must be a word or a list of 1, 2, 4 or 8 numbers, got 3", x, w,
      { padding = { 1, 1, 1 } })
    fails("padding of images and channels must be 0, got 1", x, w,
      { padding = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 1, 1 } } })
    helper.fails(function() nn.torch_conv2d_transpose(x, w, { padding_needed = -1 }) end,
      "padding_needed must be a whole number of at least 0, got number -1")
  end)
end)

describe("pools over one and three axes", function()
  it("name what is wrong", function()
    local x = ones(1, 2, 4, 4, 4)
    local function fails(f, text, ...)
      local a = { ... }
      helper.fails(function() nn[f](unpack(a)) end, ("nn.%s: %s"):format(f, text))
    end
    fails("max_pool3d", "input must have five axes (NCDHW), got shape (1, 2, 4)", ones(1, 2, 4), 2)
    fails("max_pool1d", "input must have three axes (NCW), got shape (1, 2, 4, 4, 4)", x, 2)
    fails("avg_pool3d", "ksize must be a number or a list of 3, got a list of 2", x, { 2, 2 })
    fails("avg_pool3d", "strides must be a whole number of at least 1, got number 0.5", x, 2, 0.5)
    fails("avg_pool1d", "data_format must be NCW or NWC, got string 'NCHW'", ones(1, 2, 4), 2, 2,
      "SAME", "NCHW")
    fails("max_pool1d", "ceil_mode must be a boolean, got number 1", ones(1, 2, 4), 2,
      { ceil_mode = 1 })
    fails("adaptive_avg_pool2d", "output_size must be a whole number of at least 1, got number 0",
      ones(1, 2, 4, 4), 0)
    fails("adaptive_max_pool1d", "input must have one or more cells, got shape (1, 2, 0)",
      nd.zeros({ 1, 2, 0 }), 1)
    fails("global_avg_pool", "input must have three or more axes, got shape (2, 3)", ones(2, 3))
    fails("global_avg_pool", "data_format must be NCHW or NHWC, got string 'HWC'",
      ones(1, 2, 4, 4), "HWC")
  end)

  it("are those over two axes, one after the other", function()
    flow.random.seed(1)
    local x = nd.randn({ 1, 1, 3, 4, 5 })
    local flat = nn.max_pool2d(nd.randn({ 1, 1, 3, 4 }), 2).shape
    assert.same({ 1, 1, 1, 2 }, flat)
    assert.equal(x:max(), nn.max_pool3d(x, { 3, 4, 5 }):item())
    assert.is_true(math.abs(x:mean() - nn.avg_pool3d(x, { 3, 4, 5 }):item()) < 1e-6)
  end)
end)

describe("images at another size", function()
  it("name what is wrong", function()
    local x = ones(1, 4, 3, 3)
    local function fails(text, f, ...)
      local a = { ... }
      helper.fails(function() f(unpack(a)) end, text)
    end
    fails("nn.interpolate: size or scale_factor must be given, got none", nn.interpolate, x)
    fails("nn.interpolate: size or scale_factor must be given, got both", nn.interpolate, x,
      { size = 2, scale_factor = 2 })
    fails("mode must be nearest or bilinear for 2 spatial axes, got string 'linear'",
      nn.interpolate, x, { size = 2, mode = "linear" })
    fails("nn.interpolate: scale_factor must be a positive number or a list of 2, got number -1",
      nn.interpolate, x, { scale_factor = -1 })
    fails("nn.interpolate: scale_factor must leave at least one pixel, got 0.1 for 3",
      nn.interpolate, x, { scale_factor = 0.1 })
    fails("nn.interpolate: input must have three to five axes, got shape (3, 3)", nn.interpolate,
      ones(3, 3), { size = 2 })
    fails("layers.upsample_2d: interpolation must be nearest or bilinear, got string 'cubic'",
      flow.layers.upsample_2d, x, { interpolation = "cubic" })
    fails("nn.PixelShuffle: input must have a multiple of 9 channels, got 4", nn.PixelShuffle, x, 3)
    fails("nn.PixelShufflev2: w_upscale_factor must be a whole number of at least 1, got number 0",
      nn.PixelShufflev2, x, 2, 0)
  end)

  it("stay what they are where the size stays", function()
    flow.random.seed(2)
    local x = nd.rand({ 2, 3, 5, 4 })
    for _, mode in ipairs { "nearest", "bilinear" } do
      assert.equal(0, flow.math.reduce_max(flow.math.abs(
        nn.interpolate(x, { size = { 5, 4 }, mode = mode }) - x)):item())
    end
  end)
end)

describe("layers of convolutions", function()
  before_each(flow.clear_default_session)

  it("have weights in the order of their format, and numbers in the order of calls", function()
    helper.predict("net", { 2, 9, 4 }, function(x)
      local y = flow.layers.conv1d(x, 6, 3, { data_format = "NWC", groups = 2 })
      y = flow.layers.conv1d(y, 8, 3, { data_format = "NWC" })
      y = flow.layers.conv1d_transpose(y, 5, 2, { data_format = "NWC", strides = 2 })
      y = flow.reshape(y, { 2, 5, 1, 10, 1 })
      y = flow.layers.conv3d(y, 3, { 1, 2, 1 }, { name = "deep" })
      return flow.layers.conv3d_transpose(y, 7, 2, { name = "up" })
    end):compile()
    local function shape(name) return core.variable_get(name).shape end
    assert.same({ 6, 3, 2 }, shape "conv1d_1-weight")
    assert.same({ 8, 3, 6 }, shape "conv1d_2-weight")
    assert.same({ 8, 2, 5 }, shape "conv1d_transpose_1-weight")
    assert.same({ 5 }, shape "conv1d_transpose_1-bias")
    assert.same({ 3, 5, 1, 2, 1 }, shape "deep-weight")
    assert.same({ 3, 7, 2, 2, 2 }, shape "up-weight")
  end)

  it("train in blocks of channels, up and down, as on plain kernels", function()
    local function losses()
      flow.clear_default_session()
      flow.random.seed(5)
      local job = flow.global_function {
        name = "train", type = "train", returns = flow.typing.Numpy,
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 2, 16, 8, 8 }) } },
        body = function(x)
          local y = flow.layers.conv2d(x, 32, 3, { padding = "SAME", activation = flow.math.tanh })
          y = flow.layers.upsample_2d(nn.max_pool2d(y, 2), { interpolation = "bilinear" })
          y = flow.layers.conv2d_transpose(y, 16, 2, { strides = 2, activation = flow.math.tanh })
          y = flow.layers.conv2d(y, 16, 3, { groups = 16, padding = "SAME", strides = 2 })
          local loss = flow.math.square(y - x)
          flow.optimizer.SGD(0.05):minimize(loss)
          return flow.math.reduce_mean(loss)
        end,
      }
      local x, list = nd.randn({ 2, 16, 8, 8 }), {}
      for i = 1, 4 do list[i] = job(x):item() end
      return list
    end
    local fast = losses()
    flow.clear_default_session()
    local before = flow.config.kernels()
    flow.config.kernels "reference"
    local plain = losses()
    flow.clear_default_session()
    flow.config.kernels(before)
    for i, loss in ipairs(plain) do assert.near(loss, fast[i], 1e-4) end
    assert.is_true(fast[4] < fast[1])
  end)
end)

describe("windows as columns", function()
  it("name what is wrong", function()
    local x = ones(1, 2, 4, 4)
    helper.fails(function() nn.unfold(ones(2, 4), 2) end,
      "nn.unfold: input must have four axes (NCHW), got shape (2, 4)")
    helper.fails(function() nn.unfold(x, 0) end,
      "nn.unfold: kernel_size must be a whole number of at least 1, got number 0")
    helper.fails(function() nn.unfold(nd.zeros { 1, 0, 4, 4 }, 2) end,
      "nn.unfold: input must have one or more channels, got shape (1, 0, 4, 4)")
    helper.fails(function() nn.fold(ones(1, 8, 4), 4, 2) end,
      "nn.fold: input must have shape (N, C * 4, 9), got (1, 8, 4)")
    helper.fails(function() nn.fold(ones(1, 6, 9), 4, 2) end,
      "nn.fold: input must have shape (N, C * 4, 9), got (1, 6, 9)")
    helper.fails(function() nn.fold(ones(1, 8, 4), { 4, 1 }, 2) end,
      "nn.fold: input must have shape (N, C * 4, 0), got (1, 8, 4)")
    helper.fails(function() nn.fold(ones(1, 8, 4), { 1, 4 }, 2) end,
      "nn.fold: input must have shape (N, C * 4, 0), got (1, 8, 4)")
  end)
end)
