--- What each op is tried on; the coverage spec fails for an op that has no entry. Per case: inputs
--- ({shape, lo, hi, dtype, data}), options, tol (fast against plain kernels, float32), grad = false
--- where differences cannot be taken, only: the one dtype to try, y_of: who gives input 2.
local function of(shape, lo, hi, dtype) return { shape = shape, lo = lo, hi = hi,
  dtype = dtype } end

local cases = {}

local function case(name, inputs, options, more)
  local c = more or {}
  c.inputs, c.options = inputs, options
  cases[name] = cases[name] or {}
  table.insert(cases[name], c)
end

-- arithmetic, with every way of broadcasting
for _, name in ipairs { "add", "subtract", "multiply", "maximum", "minimum",
                        "squared_difference" } do
  case(name, { of { 2, 3 }, of({ 2, 3 }, -1, 2.7) })
  case(name, { of { 2, 3, 4 }, of({ 4 }, -1, 2.7) })
  case(name, { of { 3, 1 }, of({ 2, 1, 4 }, -1, 2.7) })
  case(name, { of { 1 }, of({ 2, 5 }, -1, 2.7) })
  case(name, { of { 2, 3, 1, 2 }, of({ 3, 4, 1 }, -1, 2.7) })
  case(name, { of { 1 }, of({ 1 }, -1, 2.7) })
end
for _, name in ipairs { "divide", "mod", "floordiv" } do
  case(name, { of({ 3, 4 }, -9, 9.7), of({ 3, 4 }, 1, 4) })
  case(name, { of({ 3, 4 }, -9, 9.7), of({ 4 }, -4, -1) })
  case(name, { of({ 3, 1 }, -9, 9.7), of({ 2, 1, 2 }, 1, 4) })
end
case("pow", { of({ 3, 4 }, 0.5, 3), of({ 3, 4 }, -2, 2) })
case("pow", { of({ 3, 4 }, 1, 3), of({ 1 }, 3, 3) })

-- functions of one tensor
for _, name in ipairs { "negative", "abs", "sign", "square", "exp", "expm1", "sin", "cos", "tanh",
  "erf",
                        "sigmoid", "softplus", "floor", "ceil", "round", "relu", "gelu", "elu",
                        "leaky_relu", "identity", "zeros_like", "ones_like" } do
  case(name, { of({ 5, 7 }, -3, 3.3) })
  case(name, { of { 1 } })
end
for _, name in ipairs { "sqrt", "rsqrt", "reciprocal", "log", "log1p" } do
  case(name, { of({ 5, 7 }, 0.3, 4) })
end
case("elu", { of { 4, 3 } }, { alpha = 0.5 })
case("leaky_relu", { of { 4, 3 } }, { alpha = 0.01 })
case("gelu_slope", { of { 4, 3 } })
case("clip_by_value", { of({ 4, 5 }, -3, 3.3) }, { min_value = -1, max_value = 2 })
case("clip_by_value", { of({ 4, 5 }, -3, 3.3) }, { max_value = 1 })
case("clip_by_value", { of({ 4, 5 }, -3, 3.3) }, { min_value = 0 })
for _, name in ipairs { "sigmoid_grad", "tanh_grad", "relu_grad" } do
  case(name, { of { 3, 4 }, of { 3, 4 } })
end

-- comparisons and choice
for _, name in ipairs { "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
                        "logical_and" } do
  case(name, { { data = { { 0, 1, 2 }, { 3, 4, 5 } } }, { data = { { 0, 2, 1 }, { 3, 0, 9 } } } })
  case(name, { { data = { { 0, 1, 2 }, { 3, 4, 5 } } }, { data = { 1 } } })
  case(name, { { data = { 2 } }, { data = { { 0, 1, 2 }, { 3, 4, 5 } } } })
end
case("where", { { data = { { 1, 0, 1 }, { 0, 0, 1 } }, dtype = "int8" }, of { 2, 3 }, of { 2, 3 } })
case("where", { { data = { { 1 }, { 0 } }, dtype = "int8" }, of { 2, 3 }, of { 1 } })
case("where", { { data = { 1, 0, 1 }, dtype = "int8" }, of { 1 }, of { 2, 3 } })

-- reductions
for _, name in ipairs { "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod" } do
  case(name, { of { 2, 3, 4 } })
  case(name, { of { 2, 3, 4 } }, { axis = 1 })
  case(name, { of { 2, 3, 4 } }, { axis = { 0, -1 }, keepdims = true })
  case(name, { of { 2, 3, 4 } }, { axis = { 2, 1 } })
  case(name, { of { 3, 1, 2, 2 } }, { axis = { 0, 2 } })
  case(name, { of { 3, 100 } }, { axis = 0 }, { grad = false })
  case(name, { of { 3, 100 } }, { axis = 1 }, { grad = false })
end
case("reduce_prod", { { data = { { 0, 2, 3 }, { 0, 0, 4 }, { 1, 2, 3 } } } }, { axis = 1 })
for _, name in ipairs { "reduce_any", "reduce_all" } do
  local data = { { 0, 0, 1 }, { 0, 0, 0 }, { 1, 1, 1 } }
  case(name, { { data = data } })
  case(name, { { data = data } }, { axis = 1 })
  case(name, { { data = data } }, { axis = 0, keepdims = true })
end
for _, name in ipairs { "argmax", "argmin" } do
  case(name, { of { 3, 5 } })
  case(name, { of { 3, 5, 2 } }, { axis = 1 })
  case(name, { of { 7 } }, { axis = 0 })
end
for _, name in ipairs { "softmax", "logsoftmax" } do
  case(name, { of { 3, 5 } })
  case(name, { of { 2, 3, 4 } }, { axis = 1 })
  case(name, { of { 2, 3, 4 } }, { axis = 0 })
  case(name .. "_grad", { of { 3, 5 }, of { 3, 5 } })
  case(name .. "_grad", { of { 2, 3, 4 }, of { 2, 3, 4 } }, { axis = 1 })
end

-- products
case("matmul", { of { 3, 4 }, of { 4, 5 } })
case("matmul", { of { 4, 3 }, of { 4, 5 } }, { transpose_a = true })
case("matmul", { of { 3, 4 }, of { 5, 4 } }, { transpose_b = true })
case("matmul", { of { 4, 3 }, of { 5, 4 } }, { transpose_a = true, transpose_b = true })
case("matmul", { of { 2, 3, 4 }, of { 2, 4, 5 } })
case("matmul", { of { 2, 2, 4, 3 }, of { 2, 2, 5, 4 } }, { transpose_a = true, transpose_b = true })
case("matmul", { of { 70, 300 }, of { 90, 300 } }, { transpose_b = true }, { grad = false,
  tol = 1e-4 })
case("matmul", { of { 70, 300 }, of { 300, 90 } }, nil, { grad = false, tol = 1e-4 })
for _, act in ipairs { "relu", "tanh", "sigmoid", "gelu", "square", "none" } do
  local function fused(name, a, b, bias, y, options)
    local function with(bias_too, residual, more)
      local o = { bias = bias_too, residual = residual }
      if act ~= "none" then o.act = act end
      for k, v in pairs(options or {}) do o[k] = v end
      case(name, { of(a), of(b), unpack(more) }, o)
    end
    with(true, false, { of(bias) })
    with(false, true, { of(y) })
    with(true, true, { of(bias), of(y) })
  end
  fused("matmul_fused", { 4, 3 }, { 3, 5 }, { 5 }, { 4, 5 })
  fused("matmul_fused", { 3, 4 }, { 5, 3 }, { 1, 5 }, { 4, 5 },
    { transpose_a = true, transpose_b = true })
  fused("matmul_fused", { 1, 40 }, { 70, 40 }, { 70 }, { 1, 70 }, { transpose_b = true })
  fused("matmul_fused", { 9, 40 }, { 40, 1 }, { 1 }, { 9, 1 })
  fused("matmul_fused", { 9, 1 }, { 1, 8 }, { 8 }, { 9, 8 })
  fused("matmul_fused", { 2, 3, 4 }, { 2, 4, 5 }, { 5 }, { 2, 3, 5 })
  fused("conv2d_fused", { 2, 2, 5, 6 }, { 3, 2, 3, 3 }, { 3 }, { 2, 3, 3, 4 })
  fused("conv2d_fused", { 1, 4, 5, 5 }, { 4, 2, 3, 3 }, { 4, 1, 1 }, { 1, 4, 5, 5 },
    { padding = "SAME", groups = 2 })
  fused("conv2d_fused", { 3, 2, 3, 3 }, { 5, 2, 3, 3 }, { 5 }, { 3, 5, 1, 1 })
  fused("conv2d_fused", { 2, 16, 9, 9 }, { 32, 16, 3, 3 }, { 32 }, { 2, 32, 5, 5 },
    { padding = "SAME", strides = 2 })
end
case("bias_add", { of { 4, 3 }, of { 3 } })
case("bias_add", { of { 2, 3, 2, 2 }, of { 3 } })
case("bias_add", { of { 2, 2, 2, 3 }, of { 3 } }, { data_format = "NHWC" })

-- convolution: both gradient ops, with the options of each forward case
local function conv(x, f, y, options)
  case("conv2d", { of(x), of(f) }, options)
  local function with(h, w)
    local o = { size = { h, w } }
    for k, v in pairs(options) do o[k] = v end
    return o
  end
  case("conv2d_data_grad", { of(f), of(y) }, with(x[3], x[4]))
  case("conv2d_filter_grad", { of(x), of(y) }, with(f[3], f[4]))
  local both = with(f[3], f[4])
  both.bias = true
  case("conv2d_filter_grad", { of(x), of(y) }, both)
end
conv({ 2, 2, 5, 6 }, { 3, 2, 3, 3 }, { 2, 3, 3, 4 }, {})
conv({ 2, 2, 5, 6 }, { 3, 2, 3, 2 }, { 2, 3, 3, 3 }, { strides = 2, padding = "SAME" })
conv({ 2, 2, 5, 6 }, { 3, 2, 2, 3 }, { 2, 3, 3, 3 }, { strides = 2, padding = "SAME_UPPER" })
conv({ 1, 4, 5, 5 }, { 4, 2, 3, 3 }, { 1, 4, 5, 5 }, { padding = "SAME", groups = 2 })
conv({ 1, 2, 7, 6 }, { 2, 2, 3, 2 }, { 1, 2, 5, 7 },
  { dilations = { 2, 1 }, padding = { 0, 0, 0, 0, 1, 1, 2, 0 } })
conv({ 1, 1, 3, 70 }, { 2, 1, 3, 5 }, { 1, 2, 3, 70 }, { padding = "SAME" })
conv({ 1, 3, 4, 4 }, { 2, 3, 1, 1 }, { 1, 2, 2, 2 }, { strides = 2 })

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

-- dropout and losses
case("dropout", { of { 6, 10 } }, { rate = 0.4 }, { grad = false })
case("dropout", { of { 7 } }, { rate = 0 }, { grad = false })
case("dropout_grad", { of { 2, 3 }, { data = { { 1, 0, 1 }, { 0, 0, 1 } }, dtype = "int8" } },
  { rate = 0.25 })
local labels = { 2, 0, 4, 1 }
for _, dtype in ipairs { "int32", "int64" } do
  local l = { data = labels, dtype = dtype }
  case("sparse_softmax_cross_entropy_with_logits", { l, of { 4, 5 } })
  case("sparse_softmax_cross_entropy_grad", { l, of({ 4, 5 }, 0, 0.4), of { 4 } }, { scale = 0.5 })
  case("sparse_softmax_cross_entropy_grad", { l, of({ 4, 5 }, 0, 0.4) }, { scale = 0.25 })
end
case("sparse_softmax_cross_entropy_with_logits",
  { { data = { { { 1 }, { 0 } }, { { 2 }, { 2 } } }, dtype = "int32" }, of { 2, 2, 3 } })
case("sparse_softmax_cross_entropy_with_logits",
  { { data = { { 1, 0 }, { 2, 2 } }, dtype = "int32" }, of { 2, 2, 3 } })
case("softmax_cross_entropy_with_logits", { of({ 4, 5 }, 0, 0.5), of { 4, 5 } })
case("softmax_cross_entropy_with_logits", { of({ 2, 3, 4 }, 0, 0.5), of { 2, 3, 4 } })
case("sigmoid_cross_entropy_with_logits", { of({ 4, 5 }, 0, 1), of({ 4, 5 }, -3, 3.1) })

-- shapes and moves
case("reshape", { of { 2, 3, 4 } }, { shape = { 4, -1 } })
case("reshape", { of { 2, 3 } }, { shape = 6 })
case("flatten", { of { 2, 3, 4 } })
case("flatten", { of { 2, 3, 4 } }, { start_dim = 1 })
case("squeeze", { of { 2, 1, 3, 1 } })
case("squeeze", { of { 2, 1, 3, 1 } }, { axis = -1 })
case("expand_dims", { of { 2, 3 } }, { axis = 1 })
case("expand_dims", { of { 2, 3 } }, { axis = -1 })
case("transpose", { of { 2, 3, 4 } }, { perm = { 1, 2, 0 } })
case("transpose", { of { 2, 3, 4 } }, { perm = { 1, 0, 2 } })
case("transpose", { of { 2, 3 } })
case("broadcast_to", { of { 3, 1 } }, { shape = { 2, 3, 4 } })
case("broadcast_to", { of { 1 } }, { shape = { 2, 2 } })
case("slice", { of { 4, 5, 3 } }, { begin = { 1, -3, 0 }, size = { 2, 2, -1 } })
case("slice_grad", { of { 2, 2 } }, { begin = { 1, 0 }, shape = { 4, 3 } })
case("concat", { of { 2, 3 }, of { 1, 3 }, of { 3, 3 } })
case("concat", { of { 2, 3, 2 }, of { 2, 1, 2 } }, { axis = 1 })
case("stack", { of { 2, 3 }, of({ 2, 3 }, 0, 5) })
case("stack", { of { 2, 3 }, of({ 2, 3 }, 0, 5) }, { axis = -1 })
case("gather", { of { 4, 3 }, { data = { 3, 0, 3 }, dtype = "int32" } })
case("gather", { of { 2, 4, 2 }, { data = { { 1, 1 }, { 3, 0 } }, dtype = "int64" } }, { axis = 1 })
case("unsorted_segment_sum", { of { 4, 3 }, { data = { 2, 0, 2, 1 }, dtype = "int32" } },
  { num_segments = 4 })
case("unsorted_segment_sum", { of { 2, 3, 2 }, { data = { 1, 1, 0 }, dtype = "int64" } },
  { num_segments = 2, axis = 1 })
case("one_hot", { { data = { 2, 0, 1 } } }, { depth = 3 })
case("one_hot", { { data = { { 2, 0 }, { 1, 1 } } } },
  { depth = 4, on_value = 5, off_value = -1, axis = 0, dtype = "int32" })
for _, dtype in ipairs { "float32", "float64", "int8", "uint8", "int32", "int64" } do
  case("cast", { of({ 3, 4 }, 0, 100) }, { dtype = dtype })
end
case("constant", nil, { value = 3, shape = { 2, 3 } })
case("zeros", nil, { shape = { 2, 3 } })
case("ones", nil, { shape = { 5 } })
case("random_uniform", nil, { shape = { 2, 3 }, minval = -1 })
case("random_normal", nil, { shape = { 7 }, mean = 2, stddev = 0.5 })

-- updates and schedules
-- what gradients are multiplied by, the rate, the optimizer's own numbers
local function scalars(...) return { data = { ... }, dtype = "float64" } end
local one, half = scalars(1, 0.1), scalars(0.5, 0.1)
local adam = scalars(0.5, 0.1, 0.9, 0.1, 0.99, 0.01, 1e-6)
local function positive(shape) return of(shape, 0.1, 2) end
case("update", { of { 3, 4 }, of { 3, 4 }, one }, { optimizer = "SGD", options = { 0 } })
case("update", { of { 3, 4 }, of { 3, 4 }, of { 7 }, of { 7 }, half },
  { optimizer = "SGD", options = { 0 } })
case("update", { of { 3, 4 }, of { 3, 4 }, of { 3, 4 }, scalars(1, 0.1, 0.9) },
  { optimizer = "SGD" })
case("update", { of { 3, 4 }, of { 3, 4 }, of { 3, 4 }, of { 7 }, of { 7 }, of { 7 },
  scalars(0.5, 0.1, 0.5) }, { optimizer = "SGD", options = { 0.5 } })
case("update", { of { 3, 4 }, of { 3, 4 }, of { 3, 4 }, positive { 3, 4 }, of { 7 }, of { 7 },
  of { 7 }, positive { 7 }, adam }, { optimizer = "Adam" })
for _, dtype in ipairs { "float32", "int64" } do
  case("assign", { of({ 3, 4 }, 0, 9, dtype), of({ 3, 4 }, 0, 9, dtype) })
end
local step, rate = { data = { 41 }, dtype = "int64" }, scalars(0.1)
for _, set in ipairs { scalars(0, 0), scalars(1, 0.3) } do
  case("optimizer_scalars", { step, rate, set }, { optimizer = "SGD", options = { 0 } })
  case("optimizer_scalars", { step, rate, set, scalars(0.5) }, { optimizer = "SGD" })
  case("optimizer_scalars", { step, rate, set }, { optimizer = "Adam" })
  case("optimizer_scalars", { step, rate, set },
    { optimizer = "Adam", options = { 0.8, 0.9, 0.1, 0 } })
end
case("clip_scale", { of { 3, 4 }, of { 7 } }, { clip = 1.5 })
case("clip_scale", { of({ 3, 4 }, -0.1, 0.1), of({ 7 }, 0, 0.1, "float64") }, { clip = 1.5 })
case("matmul_update", { of { 3, 4 }, of { 3, 5 }, of { 5, 4 }, one })
case("matmul_update", { of { 3, 4 }, of { 5, 3 }, of { 5, 4 }, half }, { transpose_a = true })
case("matmul_update", { of { 3, 4 }, of { 1, 3 }, of { 4, 1 }, half },
  { transpose_a = true, transpose_b = true })
case("piecewise_constant_schedule", { { data = { 7 } } }, { boundaries = { 5, 10 }, values = { 1,
  0.1, 0.01 } })
case("train_step_increment", { { data = { 41 } } })

-- enough for fast kernels to use whole vectors and several threads
local function big(name, inputs, options, tol)
  case(name, inputs, options, { grad = false, only = "float32", tol = tol or 1e-4 })
end
for _, name in ipairs { "add", "subtract", "multiply", "divide", "maximum", "relu_grad",
  "tanh_grad" } do
  big(name, { of({ 41, 819 }, 1, 3), of({ 41, 819 }, 1, 4) })
end
for _, name in ipairs { "add", "multiply" } do
  big(name, { of { 41, 819 }, of { 819 } })
  big(name, { of { 41, 819 }, of { 1 } })
end
for _, name in ipairs { "relu", "exp", "tanh", "sigmoid", "gelu", "identity", "square" } do
  big(name, { of { 41, 819 } })
end
big("cast", { of({ 41, 819 }, 0, 127) }, { dtype = "float32" })
big("dropout", { of { 41, 819 } }, { rate = 0.3 })
for _, axis in ipairs { 0, 1, 2, { 0, 2 }, { 0, 1 }, { 0, 1, 2 } } do
  big("reduce_sum", { of { 13, 70, 67 } }, { axis = axis })
  big("reduce_mean", { of { 13, 70, 67 } }, { axis = axis })
end
for _, name in ipairs { "softmax", "logsoftmax" } do big(name, { of { 300, 67 } },
  { axis = -1 }) end
local classes = {}
for i = 1, 300 do classes[i] = i % 67 end
local many = { data = classes, dtype = "int32" }
big("sparse_softmax_cross_entropy_with_logits", { many, of { 300, 67 } })
big("sparse_softmax_cross_entropy_grad", { many, of({ 300, 67 }, 0, 0.1), of { 300 } })
big("bias_add", { of { 41, 819 }, of { 819 } })
big("bias_add", { of { 8, 32, 28, 28 }, of { 32 } })
big("max_pool2d", { of { 8, 32, 28, 28 } }, { ksize = 2, strides = 2, padding = "SAME" })
big("avg_pool2d", { of { 8, 32, 27, 29 } }, { ksize = 3, strides = 2, padding = "SAME" })
big("max_pool2d", { of { 8, 27, 29, 32 } }, { ksize = 3, strides = 2, padding = "SAME",
  data_format = "NHWC" })
case("max_pool2d_grad", { of { 8, 32, 28, 28 }, of { 8, 32, 14, 14 }, of { 8, 32, 14, 14 } },
  { ksize = 2, strides = 2, padding = "SAME" }, { y_of = "max_pool2d", only = "float32" })
big("update", { of { 41, 819 }, of { 41, 819 }, half }, { optimizer = "SGD", options = { 0 } })
big("update", { of { 3 }, of { 3 }, of { 3 }, of { 41, 819 }, of { 41, 819 }, of { 41, 819 },
  of { 99 }, of { 99 }, of { 99 }, scalars(0.5, 0.1, 0.9) }, { optimizer = "SGD" })
big("update", { of { 3 }, of { 3 }, of { 3 }, positive { 3 }, of { 41, 819 }, of { 41, 819 },
  of { 41, 819 }, positive { 41, 819 }, adam }, { optimizer = "Adam" })
big("matmul_update", { of { 41, 819 }, of { 67, 41 }, of { 67, 819 }, half },
  { transpose_a = true })
big("matmul_update", { of { 41, 819 }, of { 1, 41 }, of { 1, 819 }, one }, { transpose_a = true })
big("clip_scale", { of { 3 }, of { 41, 819 }, of { 99 } }, { clip = 1 }, 1e-12)
local lenet = { padding = "SAME" }
big("conv2d", { of { 8, 1, 28, 28 }, of { 32, 1, 5, 5 } }, lenet)
big("conv2d", { of { 4, 32, 14, 14 }, of { 64, 32, 5, 5 } }, lenet, 1e-3)
big("conv2d_data_grad", { of { 64, 32, 5, 5 }, of { 4, 64, 14, 14 } },
  { padding = "SAME", size = 14 }, 1e-3)
big("conv2d_filter_grad", { of { 4, 32, 14, 14 }, of { 4, 64, 14, 14 } },
  { padding = "SAME", size = 5 }, 1e-3)
big("conv2d_filter_grad", { of { 4, 32, 14, 14 }, of { 4, 64, 14, 14 } },
  { padding = "SAME", size = 5, bias = true }, 1e-3)

case("split", { of { 5, 3 } }, { sizes = 2 })
case("split", { of { 2, 6 } }, { sizes = { 1, 3, 2 }, axis = -1 })
case("split", { of { 3, 2, 2 } }, { sizes = { 0, 2 }, axis = 1 })
case("split", { of { 0, 2 } }, { sizes = 4 })
local data = require("jfl.core").from_table
case("array", {}, { value = data({ { 1, 2, 3 }, { 4, 5, 6 } }, "float32") })
case("array", {}, { value = data({ 7, 7, 7 }, "int32") })

require "spec.op.edges"(case, of)

return cases
