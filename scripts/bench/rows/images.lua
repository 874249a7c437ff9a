-- Pictures as they come from a loader, and what augments them.
local flow = require "jfl"

return function(row)
  local pixels = { { 16, 256, 256, 3 }, "uint8", 0, 256 }
  row("crop_mirror_normalize of (16, 256, 256, 3) to 224", { pixels }, function(x)
    return flow.image.CropMirrorNormalize(x, { mean = { 124, 117, 104 }, std = { 58, 57, 57 },
      crop_h = 224, crop_w = 224, color_space = "RGB" })
  end, { backward = false })
  row("image.Resize of (16, 3, 256, 256) to 128, areas", { { 16, 3, 256, 256 } }, function(x)
    return flow.image.Resize(x, { 128, 128 }, { data_format = "NCHW" })
  end)
  row("image.Resize of (16, 3, 256, 256) to 224, bilinear", { { 16, 3, 256, 256 } }, function(x)
    return flow.image.Resize(x, { 224, 224 }, { data_format = "NCHW",
      interpolation_type = "bilinear" })
  end)
  row("image.Resize of (16, 256, 256, 3) to 224, bilinear", { { 16, 256, 256, 3 } }, function(x)
    return flow.image.Resize(x, { 224, 224 }, { interpolation_type = "bilinear" })
  end)
  row("image.Resize of (16, 256, 256, 3) bytes to 224, bilinear", { pixels }, function(x)
    return flow.image.Resize(x, { 224, 224 }, { interpolation_type = "bilinear" })
  end, { backward = false })
  row("image.normalize of (16, 3, 224, 224)", { { 16, 3, 224, 224 } }, function(x)
    return flow.image.normalize(x, { 0.2, 0.3, 0.4 }, { 0.5, 0.4, 0.3 }, { data_format = "NCHW" })
  end)
  row("image.random_crop of (128, 3, 32, 32), padded by 4 and mirrored", { { 128, 3, 32, 32 } },
    function(x)
      return flow.image.random_crop(x, 32, { padding = 4, flip = 0.5, training = true })
    end, { backward = false })
end
