--- Cases of convolutions and pools.
return function(give)
  local case, of, big = give.case, give.of, give.big

  -- convolution: both gradient ops, with the options of each forward case
  local function conv(x, f, y, options)
    local name, last = ("conv%dd"):format(#x - 2), (options.data_format or "NC"):sub(2, 2) ~= "C"
    case(name, { of(x), of(f) }, options)
    local function with(shape, bias)
      local o = { size = {}, bias = bias }
      for i = 1, #x - 2 do o.size[i] = shape[i + (last and 1 or 2)] end
      for k, v in pairs(options) do o[k] = v end
      return o
    end
    case(name .. "_data_grad", { of(f), of(y) }, with(x))
    case(name .. "_filter_grad", { of(x), of(y) }, with(f))
    case(name .. "_filter_grad", { of(x), of(y) }, with(f, true))
  end
  conv({ 2, 2, 5, 6 }, { 3, 2, 3, 3 }, { 2, 3, 3, 4 }, {})
  conv({ 2, 2, 5, 6 }, { 3, 2, 3, 2 }, { 2, 3, 3, 3 }, { strides = 2, padding = "SAME" })
  conv({ 2, 2, 5, 6 }, { 3, 2, 2, 3 }, { 2, 3, 3, 3 }, { strides = 2, padding = "SAME_UPPER" })
  conv({ 1, 4, 5, 5 }, { 4, 2, 3, 3 }, { 1, 4, 5, 5 }, { padding = "SAME", groups = 2 })
  conv({ 1, 2, 7, 6 }, { 2, 2, 3, 2 }, { 1, 2, 5, 7 },
    { dilations = { 2, 1 }, padding = { 0, 0, 0, 0, 1, 1, 2, 0 } })
  conv({ 1, 1, 3, 70 }, { 2, 1, 3, 5 }, { 1, 2, 3, 70 }, { padding = "SAME" })
  conv({ 1, 3, 4, 4 }, { 2, 3, 1, 1 }, { 1, 2, 2, 2 }, { strides = 2 })
  conv({ 2, 3, 3, 4 }, { 6, 1, 2, 2 }, { 2, 6, 3, 4 }, { groups = 3, padding = "SAME" })

  -- channels that are last
  conv({ 2, 5, 6, 2 }, { 3, 3, 2, 2 }, { 2, 3, 3, 3 },
    { strides = 2, padding = "SAME", data_format = "NHWC" })
  conv({ 1, 4, 5, 4 }, { 6, 3, 3, 2 }, { 1, 4, 5, 6 },
    { padding = { 0, 0, 1, 1, 1, 1, 0, 0 }, groups = 2, data_format = "NHWC" })
  conv({ 1, 3, 3, 16 }, { 16, 3, 3, 16 }, { 1, 1, 1, 16 }, { data_format = "NHWC" })

  -- one and three spatial axes
  conv({ 2, 3, 7 }, { 4, 3, 3 }, { 2, 4, 4 }, { strides = 2, padding = { 1, 1 } })
  conv({ 1, 4, 6 }, { 4, 1, 2 }, { 1, 4, 6 }, { groups = 4, dilations = 3, padding = "SAME" })
  conv({ 2, 7, 3 }, { 4, 3, 3 }, { 2, 5, 4 }, { data_format = "NWC" })
  conv({ 1, 2, 3, 4, 5 }, { 3, 2, 2, 3, 2 }, { 1, 3, 3, 2, 5 },
    { strides = { 1, 2, 1 }, padding = "SAME" })
  conv({ 2, 4, 3, 3, 3 }, { 2, 2, 3, 2, 1 }, { 2, 2, 1, 2, 3 }, { groups = 2 })
  conv({ 1, 3, 2, 4, 2 }, { 3, 2, 1, 3, 2 }, { 1, 1, 2, 1, 3 },
    { data_format = "NDHWC", strides = { 2, 1, 2 }, dilations = { 2, 1, 1 },
      padding = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } })

  -- images at another size: larger, smaller, both, with channels last
  for _, o in ipairs {
    { size = { 6, 8 } }, { size = { 6, 8 }, interpolation = "bilinear" }, { size = { 2, 3 } },
    { size = { 2, 5 }, interpolation = "bilinear" },
    { size = { 7, 4 }, interpolation = "bilinear", align_corners = true },
    { size = { 1, 1 }, interpolation = "bilinear", align_corners = true },
  } do
    case("upsample_2d", { of { 2, 3, 3, 4 } }, o)
    local back = { size = { 3, 4 }, interpolation = o.interpolation,
      align_corners = o.align_corners }
    case("upsample_2d_grad", { of { 2, 3, o.size[1], o.size[2] } }, back)
    local last = { data_format = "NHWC" }
    for k, v in pairs(back) do last[k] = v end
    case("upsample_2d_grad", { of { 1, o.size[1], o.size[2], 3 } }, last)
  end
  case("upsample_2d", { of { 2, 3, 4, 5 } }, { size = 7, interpolation = "bilinear",
    data_format = "NHWC" })
  big("upsample_2d", { of { 3, 4, 30, 50 } }, { size = { 75, 90 }, interpolation = "bilinear" })
  big("upsample_2d_grad", { of { 3, 4, 75, 600 } }, { size = { 30, 50 },
    interpolation = "bilinear" })

  -- pooling
  local pools = {
    { { 2, 2, 6, 6 }, { 2, 2, 3, 3 }, { ksize = 2, strides = 2, padding = "VALID" } },
    { { 1, 2, 5, 7 }, { 1, 2, 3, 4 }, { ksize = 2, strides = 2, padding = "SAME" } },
    { { 1, 1, 5, 6 }, { 1, 1, 5, 6 }, { ksize = 3, strides = 1, padding = "SAME_UPPER" } },
    { { 1, 2, 6, 5 }, { 1, 2, 3, 2 }, { ksize = { 3, 2 }, strides = { 2, 3 }, padding = { 1, 0, 0,
      1 } } },
    { { 1, 1, 6, 6 }, { 1, 1, 3, 3 }, { ksize = 3, strides = 2, padding = 0, ceil_mode = true } },
    { { 1, 1, 4, 4 }, { 1, 1, 2, 2 }, { ksize = 2 } },
    { { 1, 5, 6, 3 }, { 1, 3, 2, 3 }, { ksize = 2, strides = { 2, 3 }, data_format = "NHWC",
      padding = { 0, 0, 1, 0, 0, 0, 0, 0 } } },
  }
  for _, p in ipairs(pools) do
    local x, y, options = unpack(p)
    local last = options.data_format == "NHWC"
    local with_size = { size = last and { x[2], x[3] } or { x[3], x[4] } }
    for k, v in pairs(options) do with_size[k] = v end
    case("max_pool2d", { of(x) }, options)
    case("avg_pool2d", { of(x) }, options)
    case("max_pool2d_grad", { of(x), of(y), of(y) }, options, { y_of = "max_pool2d" })
    case("avg_pool2d_grad", { of(y) }, with_size)
  end
  -- ties: the first occurrence wins on every kernel
  local flat_plane = { { { { 1, 1, 0, 2 }, { 1, 1, 2, 2 }, { 3, 0, 0, 0 }, { 3, 3, 0, 0 } } } }
  case("max_pool2d_grad", { { data = flat_plane }, of { 1, 1, 2, 2 }, of { 1, 1, 2, 2 } },
    { ksize = 2 }, { y_of = "max_pool2d" })
  case("max_pool2d_grad", { { data = flat_plane }, of { 1, 1, 4, 4 }, of { 1, 1, 4, 4 } },
    { ksize = 3, strides = 1, padding = "SAME" }, { y_of = "max_pool2d" })

  -- enough for fast kernels to use whole vectors and several threads
  big("max_pool2d", { of { 8, 32, 28, 28 } }, { ksize = 2, strides = 2, padding = "SAME" })
  big("avg_pool2d", { of { 8, 32, 27, 29 } }, { ksize = 3, strides = 2, padding = "SAME" })
  big("max_pool2d", { of { 8, 27, 29, 32 } }, { ksize = 3, strides = 2, padding = "SAME",
    data_format = "NHWC" })
  case("max_pool2d_grad", { of { 8, 32, 28, 28 }, of { 8, 32, 14, 14 }, of { 8, 32, 14, 14 } },
    { ksize = 2, strides = 2, padding = "SAME" }, { y_of = "max_pool2d", only = "float32" })
  -- pairs: rows of whole vectors, of several with a rest, and of less than one
  for _, n in ipairs { 32, 75, 9 } do
    local x, y = of { 6, 5, 3, 2 * n }, of { 6, 5, 3, n }
    local pairs_of = { ksize = { 1, 2 }, strides = { 1, 2 } }
    local f32 = { y_of = "max_pool2d", only = "float32" }
    big("max_pool2d", { x }, pairs_of)
    big("avg_pool2d", { x }, pairs_of)
    case("max_pool2d_grad", { x, y, y }, pairs_of, f32)
    case("avg_pool2d_grad", { y }, { ksize = { 1, 2 }, strides = { 1, 2 }, size = { 3, 2 * n } })
  end
  local lenet = { padding = "SAME" }
  big("conv2d", { of { 8, 1, 28, 28 }, of { 32, 1, 5, 5 } }, lenet)
  big("conv2d", { of { 4, 32, 14, 14 }, of { 64, 32, 5, 5 } }, lenet, 1e-3)
  big("conv2d_data_grad", { of { 64, 32, 5, 5 }, of { 4, 64, 14, 14 } },
    { padding = "SAME", size = 14 }, 1e-3)
  big("conv2d_filter_grad", { of { 4, 32, 14, 14 }, of { 4, 64, 14, 14 } },
    { padding = "SAME", size = 5 }, 1e-3)
  big("conv2d_filter_grad", { of { 4, 32, 14, 14 }, of { 4, 64, 14, 14 } },
    { padding = "SAME", size = 5, bias = true }, 1e-3)
end
