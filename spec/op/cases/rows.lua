--- Cases of reductions, products and what goes by rows.
return function(give)
  local case, of, big = give.case, give.of, give.big

  -- reductions
  for _, name in ipairs { "reduce_sum", "reduce_mean", "reduce_max", "reduce_min",
    "reduce_prod" } do
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
  case("matmul", { of { 2, 2, 4, 3 }, of { 2, 2, 5, 4 } },
    { transpose_a = true, transpose_b = true })
  case("matmul", { of { 70, 300 }, of { 90, 300 } }, { transpose_b = true }, { grad = false,
    tol = 1e-4 })
  case("matmul", { of { 70, 300 }, of { 300, 90 } }, nil, { grad = false, tol = 1e-4 })
  for _, act in ipairs { "relu", "tanh", "sigmoid", "gelu", "square", "none" } do
    local function fused(name, a, b, bias, y, options, more_of)
      local function with(bias_too, residual, more)
        local o = { bias = bias_too, residual = residual }
        if act ~= "none" then o.act = act end
        for k, v in pairs(options or {}) do o[k] = v end
        case(name, { of(a), of(b), unpack(more) }, o, more_of)
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
    fused("matmul_kept", { 4, 3 }, { 3, 5 }, { 5 }, { 4, 5 })
    fused("matmul_kept", { 2, 3, 4 }, { 2, 4, 5 }, { 5 }, { 2, 3, 5 })
    fused("conv2d_fused", { 2, 2, 5, 6 }, { 3, 2, 3, 3 }, { 3 }, { 2, 3, 3, 4 })
    fused("conv2d_fused", { 1, 4, 5, 5 }, { 4, 2, 3, 3 }, { 4, 1, 1 }, { 1, 4, 5, 5 },
      { padding = "SAME", groups = 2 })
    fused("conv2d_fused", { 3, 2, 3, 3 }, { 5, 2, 3, 3 }, { 5 }, { 3, 5, 1, 1 })
    fused("conv2d_fused", { 2, 16, 9, 9 }, { 32, 16, 3, 3 }, { 32 }, { 2, 32, 5, 5 },
      { padding = "SAME", strides = 2 }, { tol = 1e-4 })     -- sums of 144 products of up to 5
  end
  case("matmul_slope", { of { 4, 3 }, of { 3, 5 }, of { 4, 5 } }, { act = "gelu_tanh_slope" })
  case("matmul_slope", { of { 2, 4, 3 }, of { 2, 5, 4 }, of { 2, 3, 5 } },
    { act = "tanh", transpose_a = true, transpose_b = true })
  case("matmul_slope", { of { 30, 4 }, of { 4, 40 }, of { 30, 40 } }, { act = "gelu_tanh_slope" })
  case("matmul_summed", { of { 4, 3 }, of { 4, 5 } }, { transpose_a = true })
  case("matmul_summed", { of { 4, 3 }, of { 4, 5 } }, { transpose_a = true, of_b = true })
  case("matmul_summed", { of { 3, 4 }, of { 4, 5 } }, { of_b = true })
  case("bias_add", { of { 4, 3 }, of { 3 } })
  case("bias_add", { of { 2, 3, 2, 2 }, of { 3 } })
  case("bias_add", { of { 2, 2, 2, 3 }, of { 3 } }, { data_format = "NHWC" })

  -- enough for fast kernels to use whole vectors and several threads
  for _, axis in ipairs { 0, 1, 2, { 0, 2 }, { 0, 1 }, { 0, 1, 2 } } do
    big("reduce_sum", { of { 13, 70, 67 } }, { axis = axis })
    big("reduce_mean", { of { 13, 70, 67 } }, { axis = axis })
  end
  for _, name in ipairs { "softmax", "logsoftmax" } do big(name, { of { 300, 67 } },
    { axis = -1 }) end
  big("bias_add", { of { 41, 819 }, of { 819 } })
  big("bias_add", { of { 8, 32, 28, 28 }, of { 32 } })
end
