-- Small jobs that together reach every row of the exporter, for spec/lua/onnx/export_spec.lua and,
-- beside onnxruntime, scripts/oracles/onnx_out.lua.
--
-- A case: { name =, inputs = { { name, shape, what } }, body =, fixed = }. `what` says what numbers
-- an input gets: "normal" (without it), "positive", "unit", "above", or { dtype, least, most }.
-- fixed: why its batch cannot be left free.
local flow = require "jfl"
local core = require "jfl.core"
local op = require("jfl.op.call").op

local cases = {}

local function case(name, inputs, body, more)
  local t = { name = name, inputs = inputs, body = body }
  for key, value in pairs(more or {}) do t[key] = value end
  cases[#cases + 1] = t
end

local X = { "x", { 4, 3, 5 } }
local function x(what) return { { "x", { 4, 3, 5 }, what } } end
local function xy(what, other)
  return { { "x", { 4, 3, 5 }, what }, { "y", { 3, 5 }, other or what } }
end
local function int(dtype, least, most) return { dtype, least, most } end

-- ---- element by element ----

for what, names in pairs {
  normal = "abs atan ceil cos cosh erf exp floor hardswish negative relu round selu sigmoid sign "
    .. "sin sinh softplus softsign tanh asinh relu6 elu leaky_relu hardsigmoid hardshrink "
    .. "softshrink hardtanh silu swish mish log_sigmoid gelu gelu_tanh softmax logsoftmax "
    .. "square exp2 erfc trunc expm1 reciprocal reciprocal_no_nan isnan isinf isfinite "
    .. "logical_not identity stop_gradient zeros_like ones_like",
  positive = "log sqrt rsqrt log2 log10 log1p tan",
  unit = "acos asin atanh", above = "acosh",
} do
  for name in names:gmatch("%S+") do
    case(name, x(what), function(v) return op[name](v, {}) end)
  end
end
for name in ("add subtract multiply maximum minimum squared_difference equal not_equal less "
  .. "less_equal greater greater_equal logical_and logical_or logical_xor divide mod floordiv "
  .. "atan2"):gmatch("%S+") do
  case(name, xy(), function(v, w) return op[name](v, w) end)
  if name ~= "atan2" then
    case(name .. "_int32", xy(int("int32", -4, 4)), function(v, w) return op[name](v, w) end)
  end
end
case("pow", xy("positive"), function(v, w) return op.pow(v, w) end)
case("xlogy", xy(int("float32", 0, 3), "positive"), function(v, w) return op.xlogy(v, w) end)
case("xdivy", xy(int("float32", 0, 3), "positive"), function(v, w) return op.xdivy(v, w) end)
case("clip_one_side", x(), function(v) return op.clip_by_value(v, { max_value = 0.5 }) end)
case("clip_both", x(), function(v)
  return op.clip_by_value(v, { min_value = -0.5, max_value = 0.5 })
end)
case("swish_beta", x(), function(v) return op.swish(v, { beta = 1.5 }) end)
case("where_compared", xy(), function(v, w)
  local low = op.less(v, w)
  return { op.where(low, v, op.add(w, 1)), op.cast(low, { dtype = "float32" }), low = low }
end)
for _, to in ipairs { "int8", "uint8", "int32", "int64", "float64" } do
  case("cast_" .. to, x(int("float32", -400, 400)), function(v)
    return op.cast(v, { dtype = to })
  end)
end
case("cast_int8_uint8", x(int("int8", -128, 127)), function(v)
  return op.cast(v, { dtype = "uint8" })
end)
case("float16", xy(), function(v, w)
  local half = op.cast(v, { dtype = "float16" })
  return op.multiply(op.tanh(half), op.cast(w, { dtype = "float16" }))
end)
case("float64", x(), function(v)
  return op.softmax(op.cast(v, { dtype = "float64" }), { axis = 1 })
end)

-- ---- reductions, losses ----

for _, name in ipairs { "sum", "mean", "max", "min", "prod" } do
  case("reduce_" .. name, x(), function(v)
    local f = op["reduce_" .. name]
    return { f(v, { axis = { -1, 1 } }), f(v, { axis = 2, keepdims = true }), f(v) }
  end)
end
for _, name in ipairs { "all", "any" } do
  case("reduce_" .. name, x(int("float32", 0, 3)), function(v)
    local f = op["reduce_" .. name]
    return { f(op.greater(v, 0), { axis = 1 }), f(op.not_equal(v, 9)) }
  end)
end
local LOGITS = { { "x", { 4, 7 } }, { "y", { 4, 7 }, "positive" } }
case("cross_entropy", LOGITS, function(v, w)
  return { op.softmax_cross_entropy_with_logits(w, v), op.sigmoid_cross_entropy_with_logits(w, v),
    op.smooth_l1_loss(v, w, { beta = 0.5 }), op.smooth_l1_loss(v, w) }
end)
case("sparse_cross_entropy", { { "x", { 4, 7 } }, { "labels", { 4 }, int("int32", 0, 6) } },
  function(v, labels) return op.sparse_softmax_cross_entropy_with_logits(labels, v) end)

-- ---- moving elements ----

case("reshape", { X }, function(v)
  local s = v.shape
  return { op.reshape(v, { s[1], 15 }), op.reshape(v, { s[1] * 3, -1 }),
    op.reshape(v, { 3, s[1], 5 }), op.flatten(v), op.flatten(v, { start_dim = 1 }) }
end)
case("axes", { X }, function(v)
  local one = op.expand_dims(v, 1)
  return { one, op.squeeze(one, { axis = 1 }), op.squeeze(op.reshape(v, { v.shape[1], 1, 15, 1 })),
    op.transpose(v, { perm = { 2, 0, 1 } }), op.transpose(v) }
end)
case("broadcast_to", { { "x", { 4, 1, 5 } } }, function(v)
  return { op.broadcast_to(v, { v.shape[1], 3, 5 }), op.broadcast_to(v, { 2, v.shape[1], 3, 5 }) }
end)
case("concat", { X, { "y", { 4, 3, 5 } } }, function(v, w)
  return { op.concat({ v, w, v }, { axis = 1 }), op.concat({ v, w }, { axis = 0 }),
    op.stack({ v, w }, { axis = 1 }), op.stack({ v, w }, { axis = -1 }) }
end)
case("split", { X }, function(v)
  local a, b, c = op.split(v, { sizes = { 1, 3, 1 }, axis = 2 })
  local d, e = op.split(v, { sizes = { v.shape[1] - 2, 2 }, axis = 0 })
  return { a, b, c, d, e }
end)
case("slice", { X }, function(v)
  local n = v.shape[1]
  return { op.slice(v, { begin = { 0, 1, 1 }, size = { n, 2, 3 } }),
    op.slice(v, { begin = { n - 1, 0, 0 }, size = { 1, 3, 5 } }),
    op.slice(v, { begin = { 0, 0, 0 }, size = { n, 3, 5 } }),
    op.slice(v, { begin = { n / 2, 0, 0 }, size = { n / 2, 3, 5 } }),
    op.strided_slice(v, { begin = { 0, 0, 4 }, step = { 1, 2, -2 }, size = { n, 2, 3 } }),
    op.strided_slice(v, { begin = { n - 1, 0, 0 }, step = { -1, 1, 1 }, size = { n, 3, 5 } }) }
end)
case("strided_slice_update", { X, { "y", { 4, 2, 2 } } }, function(v, w)
  return op.strided_slice_update(v, w, { begin = { 0, 0, 1 }, step = { 1, 2, 3 } })
end, { fixed = "its shape depends on the batch size" })
case("roll", { X }, function(v)
  return { op.roll(v, { shift = 2, axis = 2 }), op.roll(v, { shift = -1, axis = 1 }) }
end)
case("pad", { X }, function(v)
  local sides = { 0, 0, 1, 2, 2, 0 }
  return { op.pad(v, { paddings = sides, constant_value = 1.5 }),
    op.pad(v, { paddings = sides, mode = "reflect" }),
    op.pad(v, { paddings = sides, mode = "replicate" }),
    op.pad(v, { paddings = sides, mode = "circular" }) }
end)
case("triangles", { { "x", { 2, 4, 5 } } }, function(v)
  return { op.tril(v), op.triu(v, { diagonal = 1, fill_value = -2 }),
    op.fused_scale_tril(v, { diagonal = -1, scale = 0.5, fill_value = 3 }) }
end)
case("gather", { X, { "at", { 4, 2 }, int("int32", 0, 2) } }, function(v, at)
  return { op.gather(v, at, { axis = 1 }), op.gather(v, at, { axis = 1, batch_dims = 1 }) }
end)
case("gather_nd", { { "x", { 3, 4, 5 } }, { "at", { 6, 2 }, int("int32", 0, 2) } },
  function(v, at) return op.gather_nd(v, at) end)
case("dim_gather", { X, { "at", { 4, 2, 5 }, int("int32", 0, 2) } }, function(v, at)
  return op.dim_gather(v, at, { dim = 1 })
end)
case("scatter", { { "x", { 6, 5 } }, { "y", { 3, 5 } }, { "at", { 3, 1 }, int("int32", 0, 5) } },
  function(v, w, at)
    return { op.scatter_nd(at, w, { shape = { 6, 5 } }), op.tensor_scatter_nd_add(v, at, w),
      op.tensor_scatter_nd_update(v, core.from_table({ { 1 }, { 0 }, { 4 } }, "int32"), w),
      op.unsorted_segment_sum(w, op.reshape(at, { 3 }), { num_segments = 6 }) }
  end)
case("dim_scatter_add", { X, { "at", { 4, 2, 5 }, int("int32", 0, 2) }, { "y", { 4, 2, 5 } } },
  function(v, at, w) return op.dim_scatter_add(v, at, w, { dim = 1 }) end)
case("one_hot", { { "at", { 4, 3 }, int("int32", 0, 5) } }, function(at)
  return { op.one_hot(at, { depth = 6 }),
    op.one_hot(at, { depth = 6, on_value = 2, off_value = -1, axis = 1 }) }
end)
case("order", { X }, function(v)
  return { op.argmax(v), op.argmin(v, { axis = 1 }), op.sort(v), op.argsort(v, { axis = 1 }),
    op.sort(v, { direction = "DESCENDING" }), op.argsort(v, { direction = "DESCENDING" }),
    op.top_k(v, { k = 2 }), op.argmax(op.reshape(v, { -1 })) }
end)
case("cumsum", { X }, function(v)
  return { op.cumsum(v, { axis = 1 }),
    op.cumsum(v, { axis = 2, exclusive = true, reverse = true }) }
end)
case("constants", { X }, function(v)
  local s = v.shape
  return { op.add(v, op.constant(2, { shape = { s[1], 1, 1 } })),
    op.add(op.zeros({ s[1], 3 }), op.ones({ s[1], 1 })), op.multiply(v, 3), op.subtract(1, v),
    op.add(v, core.from_table({ 1, 2, 3, 4, 5 }, "float32")),
    op.constant(7, { shape = { 5, 9 }, dtype = "int32" }) }
end)
case("same_result_twice", { X }, function(v)
  local y = op.exp(v)
  return { a = y, b = y, c = v }
end)

-- ---- layers ----

for _, padding in ipairs { "SAME", "SAME_UPPER", "VALID", { 1, 0, 2, 1 } } do
  local word = type(padding) == "table" and "list" or padding
  for _, format in ipairs { "NCHW", "NHWC" } do
    local last = format == "NHWC"
    local shape = last and { 2, 9, 8, 4 } or { 2, 4, 9, 8 }
    local filters = last and { 6, 3, 2, 2 } or { 6, 2, 3, 2 }
    local given = { { "x", shape }, { "w", filters }, { "b", { 6 } } }
    case(("conv2d_%s_%s"):format(word, format), given, function(v, w, bias)
      local y = op.conv2d(v, w, { padding = padding, strides = { 2, 1 }, groups = 2,
        data_format = format, dilations = { 1, 2 } })
      return { op.bias_add(y, bias, { data_format = format }), y }
    end)
    case(("pools_%s_%s"):format(word, format), { { "x", shape } }, function(v)
      local o = { ksize = 3, strides = 2, padding = padding, data_format = format }
      local y, z = op.max_pool2d(v, o), op.avg_pool2d(v, o)
      o.ceil_mode = true
      return { y, z, op.max_pool2d(v, o), op.avg_pool2d(v, o) }
    end)
  end
end
case("conv1d", { { "x", { 2, 3, 9 } }, { "w", { 4, 3, 3 } } }, function(v, w)
  return op.conv1d(v, w, { padding = "SAME" })
end)
case("conv3d", { { "x", { 2, 3, 5, 6, 4 } }, { "w", { 4, 3, 3, 2, 2 } } }, function(v, w)
  return op.conv3d(v, w, { strides = { 1, 2, 1 } })
end)
case("conv_transposed", { { "x", { 2, 4, 5, 6 } }, { "w", { 4, 3, 3, 2 } } }, function(v, w)
  return { op.conv2d_data_grad(w, v, { strides = 2, size = { 11, 12 } }),
    op.conv2d_data_grad(w, v, { strides = 2, padding = "SAME", size = { 10, 11 } }) }
end)
case("layers_of_convolution", { { "x", { 2, 3, 8, 8 } } }, function(v)
  local y = flow.layers.conv2d(v, 8, 3, { padding = "SAME", activation = flow.nn.relu, name = "c" })
  y = flow.layers.batch_normalization(y, { name = "bn", axis = 1 })
  y = flow.nn.max_pool2d(y, 2, 2, "VALID")
  return flow.layers.dense(flow.reshape(y, { y.shape[1], -1 }), 5, { name = "d" })
end)
case("batch_norms", { { "x", { 2, 4, 6, 5 } }, { "y", { 2, 4 } } }, function(v, w)
  local function f(...) return flow.layers.batch_normalization(...) end
  local random = flow.random_uniform_initializer(0.5, 1.5)
  return { f(v, { axis = 1, moving_mean_initializer = random,
    moving_variance_initializer = random, gamma_initializer = random, beta_initializer = random }),
    f(v, { moving_mean_initializer = random, moving_variance_initializer = random }),
    f(v, { axis = 1, center = false, moving_mean_initializer = random }),
    f(v, { axis = 1, scale = false }), f(w, { axis = 1, moving_variance_initializer = random }),
    op.add(op.multiply(v, 2), core.from_table({ 1, 2, 3, 4, 5 }, "float32")) }
end)
case("matmul", { { "x", { 4, 3, 5 } }, { "w", { 5, 2 } }, { "m", { 4, 5 } } }, function(v, w, m)
  local flat = op.reshape(v, { -1, 5 })
  return { op.matmul(v, op.broadcast_to(w, { v.shape[1], 5, 2 })), op.matmul(flat, w),
    op.bias_add(op.matmul(flat, w), core.from_table({ 1, 2 }, "float32")),
    op.matmul(m, w), op.matmul(flat, m, { transpose_b = true }),
    op.matmul(v, v, { transpose_a = true }), op.matmul(v, v, { transpose_b = true }) }
end)
case("norms", { { "x", { 4, 6, 5 } }, { "g", { 6, 5 } }, { "h", { 5 } }, { "c", { 6 } } },
  function(v, g, h, c)
    local both = { scale = true, shift = true }
    local function o(t)
      for key, value in pairs(both) do t[key] = value end
      return t
    end
    return { (op.row_norm(v, { g, g }, o { axis = 1 })), (op.row_norm(v, { h, h }, o { axis = 2 })),
      (op.row_norm(v, { h, h }, o { axis = 1 })), (op.row_norm(v, { axis = 1 })),
      (op.row_norm(v, { h }, { axis = 2, center = false, scale = true })),
      (op.row_norm(v, { c, c }, o { axis = 1, groups = 3 })),
      (op.row_norm(v, { axis = 1, groups = 2 })),
      (op.row_norm(v, { h }, { axis = 2, shift = true })) }
  end)
case("layers_of_norms", { { "x", { 2, 4, 6, 5 } } }, function(v)
  return { flow.layers.layer_norm(v, { name = "l" }), flow.layers.group_norm(v, 2, { name = "g" }),
    flow.layers.instance_norm(v, { name = "i" }), flow.layers.rms_norm(v, { name = "r" }) }
end)
case("attention", { { "q", { 2, 4, 5, 6 } }, { "k", { 2, 2, 7, 6 } }, { "v", { 2, 2, 7, 3 } },
  { "mask", { 2, 1, 5, 7 }, int("int8", 0, 1) }, { "add", { 5, 7 } } },
  function(q, k, v, mask, add)
    local f = op.scaled_dot_product_attention
    return { (f(q, k, v)), (f(q, k, v, { mask })), (f(q, k, v, { add }, { scale = 0.7 })),
      (f(q, k, v, { causal = true })), (f(q, q, q, { causal = true })),
      (f(q, k, v, { op.equal(mask, 3) })) }
  end)
case("rotary_embedding", { { "x", { 2, 3, 5, 8 } } }, function(v)
  local f = op.rotary_embedding
  return { f(v), f(v, { interleaved = true, offset = 3 }), f(v, { dims = 4, base = 100 }),
    f(v, { dims = 4, interleaved = true, inverse = true }) }
end)
for _, cell in ipairs { "lstm", "gru", "rnn" } do
  case("layer_" .. cell, { { "x", { 4, 6, 3 } } }, function(v)
    local o = { num_layers = 2, bidirectional = true, name = cell,
      bias_initializer = flow.random_uniform_initializer(-0.5, 0.5) }
    local y, h, c = flow.layers[cell](v, 5, o)
    return c and { y, h, c } or { y, h }
  end)
end
case("recurrent_alone", { { "x", { 4, 2, 12 } }, { "w", { 12, 3 } }, { "h", { 2, 3 } } },
  function(v, w, h) return (op.recurrent(v, w, h, { h }, { cell = "lstm", reverse = true })) end)
case("resize", { { "x", { 2, 3, 4, 5 } } }, function(v)
  local function f(o) return op.upsample_2d(v, o) end
  return { f { size = { 8, 10 } }, f { size = { 7, 3 } },
    f { size = { 8, 9 }, interpolation = "bilinear" },
    f { size = { 7, 10 }, interpolation = "bilinear", align_corners = true } }
end)
for _, dtype in ipairs { "float32", "uint8" } do
  case("image_resize_" .. dtype, { { "x", { 2, 6, 8, 3 }, int(dtype, 0, 255) } }, function(v)
    local list = {}
    for i, size in ipairs { { 3, 5 }, { 9, 8 }, { 4, 12 }, { 6, 8 } } do
      for k, how in ipairs { "auto", "nearest", "bilinear", "area" } do
        list[4 * i + k - 4] = op.image_resize(v, { size = size, interpolation = how })
      end
    end
    list[17] = op.image_resize(op.transpose(v, { perm = { 0, 3, 1, 2 } }), { size = { 3, 16 },
      data_format = "NCHW" })
    return list
  end)
end
case("crop", { { "x", { 2, 9, 8, 3 }, int("uint8", 0, 255) } }, function(v)
  local f = op.crop_mirror_normalize
  return { f(v, { mean = { 100, 110, 120 }, std = { 50, 60, 70 } }),
    f(v, { crop_h = 4, crop_w = 5, output_layout = "NHWC", std = { 2 } }) }
end)

return cases
