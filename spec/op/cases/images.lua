--- Cases of pictures: sizes, parts, pixels made floats.
return function(give)
  local case, of, big = give.case, give.of, give.big

  -- the result's rows and columns grow, shrink by whole and by other factors, or stay
  local function resized(x, options)
    case("image_resize", { of(x) }, options)
    local y = { unpack(x) }
    local rows = options.data_format == "NCHW" and 3 or 2
    y[rows], y[rows + 1] = options.size[1], options.size[2]
    local back = { size = { x[rows], x[rows + 1] }, data_format = options.data_format,
      interpolation = options.interpolation }
    case("image_resize_grad", { of(y) }, back)
  end
  for _, how in ipairs { "auto", "nearest", "bilinear", "area" } do
    resized({ 2, 4, 3, 2 }, { size = { 2, 5 }, interpolation = how })
    resized({ 1, 2, 5, 4 }, { size = { 3, 2 }, interpolation = how, data_format = "NCHW" })
    resized({ 1, 1, 1, 3 }, { size = { 2, 2 }, interpolation = how })
  end
  resized({ 0, 4, 3, 2 }, { size = { 2, 5 } })
  resized({ 2, 4, 3, 0 }, { size = { 2, 5 } })
  big("image_resize", { of { 3, 67, 45, 3 } }, { size = { 31, 90 } })
  big("image_resize_grad", { of { 3, 67, 45, 3 } }, { size = { 90, 31 } })
  -- rows in several strips; pixels of many elements
  big("image_resize", { of { 1, 3, 3000, 3 } }, { size = { 5, 1700 } })
  big("image_resize", { of { 2, 9, 12, 20 } }, { size = { 4, 30 } })
  big("image_resize_grad", { of { 2, 9, 300, 20 } }, { size = { 4, 100 } })
  big("upsample_2d", { of { 1, 3, 4000, 7 } }, { size = { 2, 40 }, interpolation = "bilinear",
    align_corners = true, data_format = "NHWC" })
  case("image_resize", { of({ 2, 400, 3, 3 }, 0, 255, "uint8") }, { size = { 7, 500 } },
    { only = "uint8" })

  local pixels = of({ 3, 4, 5, 3 }, 0, 255, "uint8")
  local function normalized(inputs, options)
    case("crop_mirror_normalize", inputs, options, { only = "uint8" })
  end
  normalized({ pixels }, {})
  normalized({ pixels, { data = { 1, 0, 2 }, dtype = "int8" } }, { output_layout = "NHWC",
    crop_h = 2, crop_w = 3, crop_pos_y = 1, crop_pos_x = 0 })
  normalized({ of({ 2, 3, 3, 1 }, 0, 255, "uint8") }, { color_space = "GRAY", mean = { 10 },
    std = { 3 } })
  normalized({ of({ 0, 3, 3, 3 }, 0, 255, "uint8") }, { mean = { 1, 2, 3 }, std = { 4, 5, 6 } })
  normalized({ of({ 5, 64, 48, 3 }, 0, 255, "uint8") }, { mean = { 124, 117, 104 }, crop_w = 40 })

  for _, flip in ipairs { 0, 0.5, 1 } do
    case("random_crop", { of { 4, 3, 5, 6 } }, { size = { 4, 3 }, flip = flip }, { grad = false })
    case("random_crop", { of { 4, 5, 6, 3 } }, { size = { 6, 8 }, padding = { 1, 2 }, flip = flip,
      data_format = "NHWC" }, { grad = false })
  end
  case("random_crop", { of { 0, 3, 5, 6 } }, { size = { 4, 3 } }, { grad = false })
  case("random_crop", { of { 2, 3, 0, 6 } }, { size = { 1, 3 }, padding = 1 }, { grad = false })
  big("random_crop", { of { 9, 3, 40, 33 } }, { size = { 32, 32 }, padding = 4, flip = 0.5 })
  local place = { data = { { 0, 1, 0 }, { 2, 3, 1 }, { -7, 9, 1 } }, dtype = "int32" }
  case("random_crop_grad", { of { 3, 2, 2, 3 }, place }, { size = { 4, 5 } })
  case("random_crop_grad", { of { 3, 2, 3, 2 }, place }, { size = { 3, 4 }, padding = 1,
    data_format = "NHWC" })
end
