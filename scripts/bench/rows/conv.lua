-- Convolutions, pools, images at another size.
local flow = require "jfl"

return function(row)
  local images = { 16, 64, 56, 56 }
  row("conv2d 3x3 of (16, 64, 56, 56) to 64", { images, { 64, 64, 3, 3 } },
    function(x, w) return flow.nn.conv2d(x, w, 1, "SAME") end)
  row("conv2d 3x3 of (16, 56, 56, 64) to 64, channels last",
    { { 16, 56, 56, 64 }, { 64, 3, 3, 64 } },
    function(x, w) return flow.nn.conv2d(x, w, 1, "SAME", "NHWC") end)
  row("conv2d 3x3 of (16, 128, 56, 56), depthwise", { { 16, 128, 56, 56 }, { 128, 1, 3, 3 } },
    function(x, w) return flow.nn.conv2d(x, w, 1, "SAME", { groups = 128 }) end)
  row("conv2d 3x3 of (16, 128, 56, 56), 32 groups", { { 16, 128, 56, 56 }, { 128, 4, 3, 3 } },
    function(x, w) return flow.nn.conv2d(x, w, 1, "SAME", { groups = 32 }) end)
  row("conv2d 3x3 of (16, 64, 56, 56) to 64, dilated by 2", { images, { 64, 64, 3, 3 } },
    function(x, w) return flow.nn.conv2d(x, w, 1, "SAME", { dilations = 2 }) end)
  row("conv2d_transpose 4x4 / 2 of (16, 128, 28, 28) to 64",
    { { 16, 128, 28, 28 }, { 128, 64, 4, 4 } }, function(x, w)
      return flow.nn.conv2d_transpose(x, w, { strides = 2, padding = "SAME" })
    end)
  row("conv1d 5 of (16, 64, 1000) to 64", { { 16, 64, 1000 }, { 64, 64, 5 } },
    function(x, w) return flow.nn.conv1d(x, w, 1, "SAME") end)
  row("conv3d 3x3x3 of (4, 32, 16, 28, 28) to 32", { { 4, 32, 16, 28, 28 }, { 32, 32, 3, 3, 3 } },
    function(x, w) return flow.nn.conv3d(x, w, 1, "SAME") end)
  row("max_pool2d 3x3 / 2 of (16, 64, 112, 112)", { { 16, 64, 112, 112 } },
    function(x) return flow.nn.max_pool2d(x, 3, 2, 1) end)
  row("avg_pool2d 2x2 of (16, 64, 56, 56)", { images },
    function(x) return flow.nn.avg_pool2d(x, 2) end)
  row("max_pool1d 2 of (64, 64, 1000)", { { 64, 64, 1000 } },
    function(x) return flow.nn.max_pool1d(x, 2) end)
  row("max_pool3d 2 of (4, 32, 16, 56, 56)", { { 4, 32, 16, 56, 56 } },
    function(x) return flow.nn.max_pool3d(x, 2) end)
  row("avg_pool3d 2 of (4, 32, 16, 56, 56)", { { 4, 32, 16, 56, 56 } },
    function(x) return flow.nn.avg_pool3d(x, 2) end)
  row("mean of each channel of (16, 2048, 7, 7)", { { 16, 2048, 7, 7 } },
    function(x) return flow.nn.global_avg_pool(x) end)
  row("adaptive_avg_pool2d 7 of (16, 512, 10, 10)", { { 16, 512, 10, 10 } },
    function(x) return flow.nn.adaptive_avg_pool2d(x, 7) end)
  row("adaptive_max_pool2d 7 of (16, 512, 10, 10)", { { 16, 512, 10, 10 } },
    function(x) return flow.nn.adaptive_max_pool2d(x, 7) end)
  row("nearest pixels of (16, 64, 56, 56), twice", { images },
    function(x) return flow.nn.interpolate(x, { scale_factor = 2 }) end)
  row("bilinear pixels of (16, 64, 56, 56), twice", { images }, function(x)
    return flow.nn.interpolate(x, { scale_factor = 2, mode = "bilinear" })
  end)
  row("PixelShuffle 2 of (16, 256, 28, 28)", { { 16, 256, 28, 28 } },
    function(x) return flow.nn.PixelShuffle(x, 2) end)
end
