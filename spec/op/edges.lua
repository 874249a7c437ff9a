--- Scalars and empty tensors: what each op is tried on besides the cases of cases.lua, which adds
--- these by case(name, inputs, options, more); of(shape, lo, hi, dtype) describes an input.
return function(case, of)
  local scalar, none, row = {}, { 0, 3 }, { 3, 0 }
  local function scalars(...) return { data = { ... }, dtype = "float64" } end

  for _, name in ipairs { "add", "subtract", "multiply", "maximum", "minimum",
    "squared_difference" } do
    case(name, { of(scalar), of(scalar, -1, 2.7) })
    case(name, { of { 2, 3 }, of(scalar, -1, 2.7) })
    case(name, { of(scalar), of({ 1 }, -1, 2.7) })
    case(name, { of(none), of { 3 } })
    case(name, { of { 2, 1 }, of { 2, 0 } })
    case(name, { of(row), of(scalar) })
  end
  for _, name in ipairs { "divide", "mod", "floordiv" } do
    case(name, { of(scalar, -9, 9.7), of(scalar, 1, 4) })
    case(name, { of(none, -9, 9.7), of(scalar, 1, 4) })
  end
  case("pow", { of(scalar, 1, 3), of(scalar, 2, 3) })
  case("pow", { of(none, 1, 3), of(none, 2, 3) })

  for _, name in ipairs { "negative", "abs", "sign", "square", "exp", "expm1", "sin", "cos", "tanh",
    "erf", "sigmoid", "softplus", "floor", "ceil", "round", "relu", "gelu", "elu", "leaky_relu",
    "identity", "zeros_like", "ones_like", "gelu_slope" } do
    case(name, { of(scalar, -3, 3.3) })
    case(name, { of(none, -3, 3.3) })
  end
  for _, name in ipairs { "sqrt", "rsqrt", "reciprocal", "log", "log1p" } do
    case(name, { of(scalar, 0.3, 4) })
    case(name, { of(row, 0.3, 4) })
  end
  for _, name in ipairs { "sigmoid_grad", "tanh_grad", "relu_grad" } do
    case(name, { of(scalar), of(scalar) })
    case(name, { of(none), of(none) })
  end
  case("clip_by_value", { of(scalar, -3, 3.3) }, { min_value = -1, max_value = 2 })
  case("clip_by_value", { of(none) }, { max_value = 1 })

  for _, name in ipairs { "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and" } do
    case(name, { of(scalar), of(scalar) })
    case(name, { of(none), of(scalar) })
  end
  case("where", { of(scalar, 1, 1, "int8"), of(scalar), of { 2, 3 } })
  case("where", { of({ 3 }, 0, 1, "int8"), of(none), of(scalar) })

  -- of nothing a sum is 0, a product 1 and a mean not a number
  for _, name in ipairs { "reduce_sum", "reduce_prod" } do
    case(name, { of(scalar) })
    case(name, { of(scalar) }, { keepdims = true })
    case(name, { of(none) })
    case(name, { of(none) }, { axis = 0 })
    case(name, { of(none) }, { axis = 1, keepdims = true })
    case(name, { of { 2, 0, 3 } }, { axis = { 0, 1 } })
  end
  case("reduce_mean", { of(scalar) })
  case("reduce_mean", { of(none) }, { axis = 1 })
  case("reduce_mean", { of(none) }, { axis = 0 }, { grad = false })
  for _, name in ipairs { "reduce_max", "reduce_min" } do
    case(name, { of(scalar) })
    case(name, { of(none) }, { axis = 1 })
    case(name, { of { 2, 0, 3 } }, { axis = { 0, 2 }, keepdims = true })
  end
  for _, name in ipairs { "reduce_any", "reduce_all" } do
    case(name, { of(scalar, 1, 1, "int8") })
    case(name, { of(none, 0, 1, "int8") }, { axis = 0 })
  end
  for _, name in ipairs { "argmax", "argmin" } do case(name, { of(none) }, { axis = 1 }) end
  for _, name in ipairs { "softmax", "logsoftmax" } do
    case(name, { of(none) })
    case(name, { of(row) })
    case(name .. "_grad", { of(none), of(none) })
  end

  -- a product over nothing is a matrix of zeros
  case("matmul", { of { 2, 0 }, of(none) })
  case("matmul", { of(none), of { 3, 2 } })
  case("matmul", { of(none), of { 0, 2 } }, { transpose_a = true })
  case("matmul", { of { 0, 2, 3 }, of { 0, 3, 4 } })
  case("matmul_slope", { of { 2, 0 }, of(none), of { 2, 3 } }, { act = "tanh" })
  case("matmul_summed", { of { 0, 2 }, of(none) }, { transpose_a = true })
  case("matmul_summed", { of { 4, 2 }, of { 4, 0 } }, { transpose_a = true })
  for _, act in ipairs { "relu", "tanh" } do
    case("matmul_kept", { of { 2, 0 }, of(none), of { 3 } }, { bias = true, act = act })
    case("matmul_fused", { of { 2, 0 }, of(none), of { 3 } }, { bias = true, act = act })
    case("matmul_fused", { of(none), of { 3, 2 }, of { 2 } }, { bias = true, act = act })
    case("conv2d_fused", { of { 0, 2, 5, 5 }, of { 4, 2, 3, 3 }, of { 4 } },
      { bias = true, act = act })
    case("conv2d_fused", { of { 2, 0, 5, 5 }, of { 4, 0, 3, 3 }, of { 4 } },
      { bias = true, act = act })
  end
  case("bias_add", { of(none), of { 3 } })
  case("bias_add", { of { 2, 0, 4 }, of { 0 } })

  local three = { padding = "SAME", size = 3 }
  case("conv2d", { of { 0, 2, 5, 5 }, of { 3, 2, 3, 3 } }, { padding = "SAME" })
  case("conv2d", { of { 2, 2, 5, 5 }, of { 0, 2, 3, 3 } }, { padding = "SAME" })
  case("conv2d", { of { 2, 0, 5, 5 }, of { 3, 0, 3, 3 } }, { padding = "SAME" })
  case("conv2d", { of { 0, 16, 5, 5 }, of { 16, 16, 3, 3 } }, { padding = "SAME" })
  case("conv2d_data_grad", { of { 3, 2, 3, 3 }, of { 0, 3, 3, 3 } }, three)
  case("conv2d_data_grad", { of { 0, 2, 3, 3 }, of { 2, 0, 3, 3 } }, three)
  case("conv2d_filter_grad", { of { 0, 2, 3, 3 }, of { 0, 3, 3, 3 } },
    { padding = "SAME", size = 3, bias = true })
  local two = { ksize = 2 }
  for _, x in ipairs { { 0, 2, 4, 4 }, { 2, 0, 4, 4 } } do
    local y = { x[1], x[2], 2, 2 }
    case("max_pool2d", { of(x) }, two)
    case("avg_pool2d", { of(x) }, two)
    case("max_pool2d_grad", { of(x), of(y), of(y) }, two, { y_of = "max_pool2d" })
    case("avg_pool2d_grad", { of(y) }, { ksize = 2, size = 4 })
  end

  case("dropout", { of(scalar) }, { rate = 0.4 }, { grad = false })
  case("dropout", { of(none) }, { rate = 0.4 }, { grad = false })
  case("dropout_grad", { of(scalar), of(scalar, 1, 1, "int8") }, { rate = 0.5 })
  case("dropout_grad", { of(none), of(none, 0, 1, "int8") }, { rate = 0.5 })
  local label = of(scalar, 1, 1, "int32")
  case("sparse_softmax_cross_entropy_with_logits", { label, of { 5 } })
  case("sparse_softmax_cross_entropy_with_logits", { of({ 0 }, 0, 1, "int64"), of { 0, 5 } })
  case("sparse_softmax_cross_entropy_grad", { label, of { 5 }, of(scalar, 2.5, 3),
    of(scalar, 0.5, 1.5), of(scalar) })
  case("sparse_softmax_cross_entropy_grad", { of({ 0 }, 0, 1, "int32"), of { 0, 5 }, of { 0 },
    of { 0 }, of { 0 } })
  case("softmax_cross_entropy_with_logits", { of({ 0, 5 }, 0, 0.5), of { 0, 5 } })
  case("sigmoid_cross_entropy_with_logits", { of(scalar, 0, 1), of(scalar, -3, 3.1) })
  case("sigmoid_cross_entropy_with_logits", { of(none, 0, 1), of(none, -3, 3.1) })

  case("reshape", { of(scalar) }, { shape = { 1, -1 } })
  case("reshape", { of { 1, 1 } }, { shape = {} })
  case("reshape", { of(none) }, { shape = { 2, -1, 5 } })
  case("flatten", { of(scalar) })
  case("flatten", { of { 2, 0, 3 } })
  case("squeeze", { of(scalar) })
  case("squeeze", { of { 1, 0 } })
  case("expand_dims", { of(scalar) }, { axis = 0 })
  case("expand_dims", { of(none) }, { axis = 1 })
  case("transpose", { of(scalar) })
  case("transpose", { of { 2, 0, 3 } }, { perm = { 2, 0, 1 } })
  case("broadcast_to", { of(scalar) }, { shape = { 2, 3 } })
  case("broadcast_to", { of(scalar) }, { shape = {} })
  case("broadcast_to", { of { 2, 1 } }, { shape = { 2, 0 } })
  case("cast", { of(scalar) }, { dtype = "float64" })
  case("cast", { of(none) }, { dtype = "int32" })
  case("slice", { of(scalar) }, { begin = {}, size = {} })
  case("slice", { of { 2, 3 } }, { begin = { 0, 1 }, size = { 2, 0 } })
  case("slice", { of(none) }, { begin = { 0, 1 }, size = { -1, 2 } })
  case("strided_slice_grad", { of(scalar) }, { begin = {}, step = {}, shape = {} })
  case("strided_slice_grad", { of { 2, 0 } }, { begin = { 0, 1 }, step = { 1, 1 },
    shape = { 2, 3 } })
  case("concat", { of(none), of { 2, 3 }, of(none) })
  case("concat", { of(row), of(row) }, { axis = 1 })
  case("stack", { of(scalar), of(scalar, 1, 2) })
  case("stack", { of(none), of(none) }, { axis = 1 })
  case("gather", { of { 4, 3 }, of(scalar, 2, 2, "int32") })
  case("gather", { of { 3 }, of(scalar, 2, 2, "int64") })
  case("gather", { of { 4, 3 }, of({ 0 }, 0, 1, "int32") })
  case("gather", { of { 0, 3 }, of({ 0, 2 }, 0, 1, "int32") })
  case("unsorted_segment_sum", { of { 3 }, of(scalar, 1, 1, "int32") }, { num_segments = 2 })
  case("unsorted_segment_sum", { of(none), of({ 0 }, 0, 1, "int32") }, { num_segments = 2 })
  case("unsorted_segment_sum", { of(none), of({ 0 }, 0, 1, "int32") }, { num_segments = 0 })
  case("one_hot", { of(scalar, 1, 1, "int32") }, { depth = 3 })
  case("one_hot", { of({ 0 }, 0, 1, "int64") }, { depth = 3 })

  for _, shape in ipairs { scalar, none } do
    case("constant", {}, { value = 3, shape = shape })
    case("zeros", {}, { shape = shape })
    case("ones", {}, { shape = shape })
    case("random_uniform", {}, { shape = shape })
    case("random_normal", {}, { shape = shape })
    case("update", { of(shape), of(shape), of { 2 }, of { 2 }, scalars(0.5, 0.1) },
      { optimizer = "SGD", options = { 0 } })
    case("update", { of(shape), of(shape), of(shape), scalars(0.5, 0.1, 0.9) },
      { optimizer = "SGD" })
    case("update", { of(shape), of(shape), of(shape), scalars(0.5, 0.1, 0.9, 1e-6, 0.1, 0.2, 0.2) },
      { optimizer = "LARS" })
    case("clip_scale", { scalars(1), of({ 3 }, -2, 2, "float32"), of(shape, -2, 2, "float32") },
      { clip = 1 })
    case("carry", { of(shape), of(shape), scalars(1) })
  end
  case("matmul_update", { of { 2, 3 }, of { 2, 0 }, of(none), scalars(1, 0.1) })
  case("matmul_update", { of(none), of { 0, 2 }, of { 2, 3 }, scalars(1, 0.1) })
end
