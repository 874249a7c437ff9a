--- Cases of dropout and losses.
return function(give)
  local case, of, big = give.case, give.of, give.big

  -- dropout and losses
  case("dropout", { of { 6, 10 } }, { rate = 0.4 }, { grad = false })
  case("dropout", { of { 7 } }, { rate = 0 }, { grad = false })
  case("dropout_grad", { of { 2, 3 }, { data = { { 1, 0, 1 }, { 0, 0, 1 } }, dtype = "int8" } },
    { rate = 0.25 })
  local labels = { 2, 0, 4, 1 }
  local most, inverse = of({ 4 }, 2.5, 3), of({ 4 }, 0.5, 1.5)
  for _, dtype in ipairs { "int32", "int64" } do
    local l = { data = labels, dtype = dtype }
    case("sparse_softmax_cross_entropy_with_logits", { l, of { 4, 5 } })
    case("sparse_softmax_cross_entropy_grad", { l, of { 4, 5 }, most, inverse, of { 4 } },
      { scale = 0.5 })
    case("sparse_softmax_cross_entropy_grad", { l, of { 4, 5 }, most, inverse }, { scale = 0.25 })
  end
  for _, smoothing in ipairs { 0.1, 1 } do
    local l = { data = labels, dtype = "int32" }
    local o = { label_smoothing = smoothing }
    case("sparse_softmax_cross_entropy_with_logits", { l, of { 4, 5 } }, o)
    case("sparse_softmax_cross_entropy_grad", { l, of { 4, 5 }, most, inverse, of { 4 } }, o)
  end
  case("sparse_softmax_cross_entropy_with_logits",
    { { data = { { { 1 }, { 0 } }, { { 2 }, { 2 } } }, dtype = "int32" }, of { 2, 2, 3 } })
  case("sparse_softmax_cross_entropy_with_logits",
    { { data = { { 1, 0 }, { 2, 2 } }, dtype = "int32" }, of { 2, 2, 3 } })
  case("softmax_cross_entropy_with_logits", { of({ 4, 5 }, 0, 0.5), of { 4, 5 } })
  case("softmax_cross_entropy_with_logits", { of({ 2, 3, 4 }, 0, 0.5), of { 2, 3, 4 } })
  local function ints(...) return { data = { ... }, dtype = "int32" } end
  local targets = { data = { { 1, 2, 2 }, { 3, 0, 0 } }, dtype = "int64" }
  case("ctc_loss", { of({ 6, 2, 4 }, -3, -0.5), targets, ints(6, 4), ints(3, 1) })
  case("ctc_loss", { of({ 6, 2, 4 }, -3, -0.5), ints(1, 2, 0, 0), ints(5, 3), ints(2, 2) },
    { blank = 3 })
  case("ctc_loss", { of({ 3, 2, 4 }, -3, -0.5), targets, ints(3, 2), ints(3, 0) },
    { zero_infinity = true })
  for _, beta in ipairs { 1, 0.3, 0 } do
    case("smooth_l1_loss", { of({ 4, 5 }, -2, 2), of({ 4, 5 }, -1, 1.1) },
      { beta = beta })
  end
  case("sigmoid_cross_entropy_with_logits", { of({ 4, 5 }, 0, 1), of({ 4, 5 }, -3, 3.1) })

  -- enough for fast kernels to use whole vectors and several threads
  big("dropout", { of { 41, 819 } }, { rate = 0.3 })
  local classes = {}
  for i = 1, 300 do classes[i] = i % 67 end
  local many = { data = classes, dtype = "int32" }
  big("sparse_softmax_cross_entropy_with_logits", { many, of { 300, 67 } })
  big("sparse_softmax_cross_entropy_grad", { many, of { 300, 67 }, of({ 300 }, 2.5, 3),
    of({ 300 }, 0.5, 1.5), of { 300 } })
end
