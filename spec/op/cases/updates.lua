--- Cases of updates of variables, schedules.
return function(give)
  local case, of, big = give.case, give.of, give.big

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
  local ids = { data = { 2, 0, 2, 1 }, dtype = "int32" }
  case("segment_update", { of { 4, 3 }, of { 4, 3 }, ids, one }, { num_segments = 4 })
  case("segment_update", { of { 2, 3 }, of { 2, 4 }, ids, half }, { num_segments = 3, axis = 1,
    ignored = 2 })
  case("segment_update", { of { 0, 3 }, of { 0, 3 }, of({ 0 }, 0, 1, "int32"), one },
    { num_segments = 0 })
  case("piecewise_constant_schedule", { { data = { 7 } } }, { boundaries = { 5, 10 }, values = { 1,
    0.1, 0.01 } })
  case("train_step_increment", { { data = { 41 } } })

  -- enough for fast kernels to use whole vectors and several threads
  big("update", { of { 41, 819 }, of { 41, 819 }, half }, { optimizer = "SGD", options = { 0 } })
  big("update", { of { 3 }, of { 3 }, of { 3 }, of { 41, 819 }, of { 41, 819 }, of { 41, 819 },
    of { 99 }, of { 99 }, of { 99 }, scalars(0.5, 0.1, 0.9) }, { optimizer = "SGD" })
  big("update", { of { 3 }, of { 3 }, of { 3 }, positive { 3 }, of { 41, 819 }, of { 41, 819 },
    of { 41, 819 }, positive { 41, 819 }, adam }, { optimizer = "Adam" })
  big("matmul_update", { of { 41, 819 }, of { 67, 41 }, of { 67, 819 }, half },
    { transpose_a = true })
  big("matmul_update", { of { 41, 819 }, of { 1, 41 }, of { 1, 819 }, one }, { transpose_a = true })
  big("clip_scale", { of { 3 }, of { 41, 819 }, of { 99 } }, { clip = 1 }, 1e-12)
end
