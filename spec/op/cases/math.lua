--- Cases of elementwise ops, choice, constants and random numbers.
return function(give)
  local case, of, big = give.case, give.of, give.big

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
                          "leaky_relu", "identity", "zeros_like", "ones_like", "silu", "swish",
                          "mish", "gelu_tanh", "log_sigmoid", "softsign", "selu", "relu6",
                          "hardtanh", "hardsigmoid", "hardswish", "softshrink", "hardshrink",
                          "atan", "sinh", "cosh", "asinh", "exp2", "erfc", "trunc" } do
    case(name, { of({ 5, 7 }, -3, 3.3) })
    case(name, { of { 1 } })
  end
  for _, name in ipairs { "sqrt", "rsqrt", "reciprocal", "log", "log1p", "log2", "log10",
    "lgamma", "digamma", "trigamma", "reciprocal_no_nan" } do
    case(name, { of({ 5, 7 }, 0.3, 4) })
  end
  for _, name in ipairs { "tan", "asin", "acos", "atanh" } do
    case(name, { of({ 5, 7 }, -0.9, 0.95) })
  end
  case("acosh", { of({ 5, 7 }, 1.2, 9) })
  for _, name in ipairs { "lgamma", "digamma", "trigamma" } do
    case(name, { { data = { -0.5, -1.3, -2.7, -0.2 } } }, nil, { grad_tol = 1e-5 })
  end
  case("reciprocal_no_nan", { { data = { 0, 2, -4, 0 } } }, nil, { grad = false })
  case("atan2", { of({ 3, 4 }, -2, 3), of({ 4 }, -2, 2.7) })
  for _, name in ipairs { "xdivy", "xlogy" } do
    case(name, { of({ 3, 4 }, -2, 3), of({ 4 }, 0.5, 2.7) })
    case(name, { { data = { 0, 2, 0 } }, { data = { 0, 3, -2 } } }, nil, { grad = false })
  end
  case("elu", { of { 4, 3 } }, { alpha = 0.5 })
  case("leaky_relu", { of { 4, 3 } }, { alpha = 0.01 })
  case("elu", { of { 4, 3 } }, { alpha = -0.5 })
  for _, name in ipairs { "gelu_slope", "silu_slope", "swish_slope", "mish_slope",
    "gelu_tanh_slope", "hardswish_slope" } do
    case(name, { of({ 4, 3 }, -9, 9.5) })
  end
  case("swish", { of { 4, 3 } }, { beta = -1.5 })
  case("swish_slope", { of { 4, 3 } }, { beta = -1.5 })
  case("relu6", { of({ 4, 5 }, -9, 9.5) })
  case("hardswish", { of({ 4, 5 }, -9, 9.5) })
  case("hardsigmoid", { of({ 4, 5 }, -9, 9.5) })
  case("hardtanh", { of({ 4, 5 }, -9, 9.5) }, { min_val = -2, max_val = 4 })
  case("hardtanh_grad", { of({ 4, 5 }, -9, 9.5), of { 4, 5 } }, { min_val = -2, max_val = 4 })
  case("softshrink", { of({ 4, 5 }, -3, 3.3) }, { lambd = 1.25 })
  case("hardshrink", { of({ 4, 5 }, -3, 3.3) }, { lambd = 1.25 })
  case("clip_by_value", { of({ 4, 5 }, -3, 3.3) }, { min_value = -1, max_value = 2 })
  case("clip_by_value", { of({ 4, 5 }, -3, 3.3) }, { max_value = 1 })
  case("clip_by_value", { of({ 4, 5 }, -3, 3.3) }, { min_value = 0 })
  for _, name in ipairs { "sigmoid_grad", "tanh_grad", "relu_grad", "softsign_grad", "selu_grad",
    "relu6_grad", "hardsigmoid_grad", "shrink_grad", "leaky_relu_grad", "elu_grad" } do
    case(name, { of { 3, 4 }, of { 3, 4 } })
  end

  -- comparisons and choice
  for _, name in ipairs { "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
                          "logical_and", "logical_or", "logical_xor" } do
    case(name, { { data = { { 0, 1, 2 }, { 3, 4, 5 } } }, { data = { { 0, 2, 1 }, { 3, 0, 9 } } } })
    case(name, { { data = { { 0, 1, 2 }, { 3, 4, 5 } } }, { data = { 1 } } })
    case(name, { { data = { 2 } }, { data = { { 0, 1, 2 }, { 3, 4, 5 } } } })
  end
  for _, name in ipairs { "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",
                          "shift_right" } do
    for _, dtype in ipairs { "int8", "uint8", "int32", "int64" } do
      case(name, { { data = { { 0, 1, 2 }, { 3, 100, 5 } }, dtype = dtype },
        { data = { { 3 }, { 6 } }, dtype = dtype } })
      case(name, { { data = { 7 }, dtype = dtype }, { data = { 1, 9, 2 }, dtype = dtype } })
    end
  end
  case("bitwise_not", { { data = { 0, 1, -100 }, dtype = "int8" } })
  case("bitwise_not", { { data = { { 0, 1, 200 } }, dtype = "uint8" } })
  case("bitwise_not", { { data = { { 0, 1, -200 } }, dtype = "int64" } })
  for _, name in ipairs { "logical_not", "isnan", "isinf", "isfinite" } do
    case(name, { { data = { { 0, 1, 2 }, { 3, 0, 5 } } } })
    case(name, { { data = { 0 / 0, 1, 1 / 0, -1 / 0, 0 }, dtype = "float32" } })
    case(name, { { data = { 0 / 0, 1, 1 / 0, -1 / 0, 0 }, dtype = "float64" } })
  end
  case("where",
    { { data = { { 1, 0, 1 }, { 0, 0, 1 } }, dtype = "int8" }, of { 2, 3 }, of { 2, 3 } })
  case("where", { { data = { { 1 }, { 0 } }, dtype = "int8" }, of { 2, 3 }, of { 1 } })
  case("where", { { data = { 1, 0, 1 }, dtype = "int8" }, of { 1 }, of { 2, 3 } })

  -- differences would see the gradient that it stops
  case("stop_gradient", { of { 2, 3 } }, nil, { grad = false })

  -- constants and casts
  for _, dtype in ipairs { "float32", "float64", "int8", "uint8", "int32", "int64" } do
    case("cast", { of({ 3, 4 }, 0, 100) }, { dtype = dtype })
  end
  case("constant", nil, { value = 3, shape = { 2, 3 } })
  case("zeros", nil, { shape = { 2, 3 } })
  case("ones", nil, { shape = { 5 } })
  case("random_randint", nil, { low = -3, high = 9, shape = { 5 } })
  case("random_permutation", nil, { n = 9 })
  for _, name in ipairs { "tril", "triu", "fused_scale_tril" } do
    case(name, { of { 3, 4 } })
    case(name, { of { 2, 4, 3 } }, { diagonal = 1, fill_value = 2 })
    case(name, { of { 4, 3 } }, { diagonal = -2 })
  end
  case("fused_scale_tril", { of { 2, 4, 3 } }, { scale = 3, fill_value = 5 })
  case("random_uniform", nil, { shape = { 2, 3 }, minval = -1 })
  case("random_normal", nil, { shape = { 7 }, mean = 2, stddev = 0.5 })

  -- enough for fast kernels to use whole vectors and several threads
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
end
