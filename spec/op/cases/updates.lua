--- Cases of updates of variables, schedules.
return function(give)
  local case, of, big = give.case, give.of, give.big

  -- updates and schedules
  -- what gradients are multiplied by, the rate, the optimizer's own numbers
  local function scalars(...) return { data = { ... }, dtype = "float64" } end
  local one, half = scalars(1, 0.1), scalars(0.5, 0.1)
  local adam = scalars(0.5, 0.1, 0.9, 0.1, 0.99, 0.01, 1e-6, 0.1)
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

  -- each rule: its optimizer, options, its slots (+: not below 0), and its scalars behind the rate
  local rules = {
    { "SGD", { 0.9, 1 }, " ", 0.9 },
    { "SGDW", { 0, 0.1 }, "", 0.1 },
    { "SGDW", { 0.9, 0.1 }, " ", 0.9, 0.1 },
    { "AdamW", { 0.9, 0.99, 1e-6, 1, 0, 0.1 }, " +", 0.9, 0.1, 0.99, 0.01, 1e-6, 0.1, 0.01 },
    { "Adam", { 0.9, 0.99, 1e-6, 1, 1 }, " ++", 0.9, 0.1, 0.99, 0.01, 1e-6, 0.1, 0.01 },
    { "LazyAdam", { 0.9, 0.99, 1e-6 }, " +", 0.9, 0.1, 0.99, 0.01, 1e-6, 0.1 },
    { "NAdam", { 0.9, 0.99, 1e-6 }, " +", 0.9, 0.1, 0.99, 0.01, 1e-6, 0.2, 0.3, 1.1 },
    { "RMSProp", { 0.9, 1e-6 }, "+", 0.9, 0.1, 1e-6 },
    { "RMSProp", { 0, 0.5, 1 }, "+ ", 0, 1, 0.5 },
    { "Adagrad", { 0, 0.1 }, "+", 0.1, 0.1, 1e-6 },
    { "Adadelta", { 0.9 }, "++", 0.9, 0.1, 1e-6 },
    { "Lion", { 0.9, 0.99, 0.1 }, " ", 0.9, 0.1, 0.99, 0.01, 0.1 },
    { "LARS", { 0.9, 1e-6, 0.1, 0.2 }, " ", 0.9, 1e-6, 0.1, 0.2, 0.2 },
    { "LAMB", { 0.9, 0.99, 1e-6, 0.1 }, " +", 0.9, 0.1, 0.99, 0.01, 1e-6, 0.1, 1.2, 3 },
  }
  -- The inputs of a step of parameters of these shapes by a rule.
  local function step_of(rule, shapes, averages)
    local inputs = {}
    local function add(each) inputs[#inputs + 1] = each end
    for _, shape in ipairs(shapes) do
      add(of(shape))
      add(of(shape))
      for slot in rule[3]:gmatch "." do add(slot == "+" and positive(shape) or of(shape)) end
      if averages then add(of(shape)) end
    end
    if averages then add(scalars(0.25)) end
    add(scalars(0.5, 0.1, unpack(rule, 4)))
    return inputs
  end
  for _, rule in ipairs(rules) do
    local options = { optimizer = rule[1], options = rule[2] }
    case("update", step_of(rule, { { 3, 4 }, { 7 } }), options)
    big("update", step_of(rule, { { 3 }, { 41, 819 }, { 5 }, { 99 } }), options)
  end
  local many = {}                                          -- more than one launch on a GPU takes
  for i = 1, 150 do many[i] = { i % 9 == 0 and 0 or 1 + i % 7 } end
  case("update", step_of(rules[1], many), { optimizer = "SGD", options = rules[1][2] })
  case("update", step_of(rules[1], { { 0 } }), { optimizer = "SGD", options = rules[1][2] })
  local averaged = { optimizer = "LAMB", options = rules[14][2], averages = true }
  case("update", step_of(rules[14], { { 3, 4 }, { 7 } }, true), averaged)
  big("update", step_of(rules[14], { { 3 }, { 41, 819 }, { 99 } }, true), averaged)
  case("update", { of { 3, 4 }, of { 3, 4 }, scalars(-1, 0.1) },        -- a step that is skipped
    { optimizer = "SGD", options = { 0 } })

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
  case("optimizer_scalars", { step, rate, scalars(0, 0), scalars(0.5), scalars(-1) },
    { optimizer = "SGD" })
  local by_1, by_8 = scalars(1), scalars(8)
  local function f32(shape, lo, hi) return of(shape, lo, hi, "float32") end
  case("clip_scale", { by_1, f32 { 3, 4 }, f32 { 7 } }, { clip = 1.5 })
  case("clip_scale", { by_8, f32 { 3, 4 }, f32 { 7 } }, { clip = 0.5 })
  case("clip_scale", { by_8, f32 { 3, 4 } }, { skips = true })
  case("clip_scale", { by_8, { data = { 1, math.huge }, dtype = "float32" } }, { skips = true })
  case("clip_scale", { by_1, f32({ 3, 4 }, -0.1, 0.1), of({ 7 }, 0, 0.1, "float64") },
    { clip = 1.5 })
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
  local at = { data = { 7 } }
  case("piecewise_constant_schedule", { at }, { boundaries = { 5, 10 }, values = { 1, 0.1, 0.01 } })
  case("piecewise_scaling_schedule", { at }, { base_lr = 0.1, boundaries = { 5 }, scale = { 0.1 } })
  for _, name in ipairs { "cosine", "linear_cosine", "cosine_restarts", "polynomial" } do
    case(name .. "_schedule", { at }, { base_lr = 0.1, steps = 10 })
  end
  case("cosine_warmup_schedule", { at }, { base_lr = 0.1, steps = 10, warmup_steps = 4 })
  case("one_cycle_schedule", { at }, { max_lr = 0.1, steps = 10 })
  for _, name in ipairs { "exponential", "natural_exp", "inverse_time" } do
    case(name .. "_schedule", { at }, { base_lr = 0.1, steps = 3, decay_rate = 0.5 })
  end

  -- what a train job counts
  case("train_step_increment", { { data = { 41 } } })
  case("train_step_increment", { { data = { 41 } }, scalars(-1, 0.1), scalars(1, 0.1) })
  case("train_step_increment", { { data = { 41 } }, scalars(-1, 0.1) })
  case("average_share", { { data = { 0 } } }, { decay = 0.9 })
  case("average_share", { { data = { 3 } } }, { decay = 0.9, warms_up = true })
  local calls, now, later = { data = { 2 }, dtype = "int64" }, scalars(1), scalars(-1)
  case("step_turn", { { data = { 2 } } }, { calls = 3 })
  case("step_turn", { { data = { 2 } } }, { calls = 4 })
  case("step_turn_count", { calls, now })
  case("step_turn_count", { calls, later })
  case("carry", { of { 3, 4 }, of { 3, 4 }, now })
  case("carry", { of { 3, 4 }, of { 3, 4 }, later })
  local scale = { data = { 1024 } }
  case("loss_scale_update", { scale, calls, now, scalars(-1) })
  case("loss_scale_update", { scale, calls, now, scalars(0.5), scalars(1) },
    { increment_period = 3, multiplier = 4 })
  case("loss_scale_update", { scale, calls, later, scalars(-1) })

  -- enough for fast kernels to use whole vectors and several threads
  big("update", { of { 41, 819 }, of { 41, 819 }, half }, { optimizer = "SGD", options = { 0 } })
  big("update", { of { 3 }, of { 3 }, of { 3 }, of { 41, 819 }, of { 41, 819 }, of { 41, 819 },
    of { 99 }, of { 99 }, of { 99 }, scalars(0.5, 0.1, 0.9) }, { optimizer = "SGD" })
  big("update", { of { 3 }, of { 3 }, of { 3 }, positive { 3 }, of { 41, 819 }, of { 41, 819 },
    of { 41, 819 }, positive { 41, 819 }, adam }, { optimizer = "Adam" })
  big("matmul_update", { of { 41, 819 }, of { 67, 41 }, of { 67, 819 }, half },
    { transpose_a = true })
  big("matmul_update", { of { 41, 819 }, of { 1, 41 }, of { 1, 819 }, one }, { transpose_a = true })
  big("clip_scale", { by_8, f32 { 3 }, f32 { 41, 819 }, f32 { 99 } }, { clip = 1 }, 1e-12)
end
