--- Cases of attention and of recurrent layers.
return function(give)
  local case, of = give.case, give.of
  local name = "scaled_dot_product_attention"

  -- forward, and what the gradients read
  local function attention(q, k, v, mask, options, large)
    local y, lse = of { q[1], q[2], q[3], v[4] }, of({ q[1], q[2], q[3] }, 3, 5)
    local function try(op, inputs)
      inputs[#inputs + 1] = mask
      if options and options.dropout_rate then
        inputs[#inputs + 1] = { data = { 2 ^ 52 + 5 }, dtype = "int64" }
      end
      case(op, inputs, options, large and { grad = false, only = "float32", tol = 1e-4 })
    end
    local small_q, small_k = of(q, -1, 1.1), of(k, -1, 1.1)
    try(name, { small_q, small_k, of(v) })
    if large then return end
    try(name .. "_grad", { small_q, small_k, of(v), y, lse, y })
    if mask and mask.dtype ~= "int8" then
      try(name .. "_mask_grad", { small_q, small_k, of(v), y, lse, y })
    end
  end
  attention({ 2, 2, 3, 4 }, { 2, 2, 5, 4 }, { 2, 2, 5, 3 })
  attention({ 1, 2, 5, 2 }, { 1, 2, 4, 2 }, { 1, 2, 4, 2 }, nil, { causal = true, scale = 0.3 })
  attention({ 2, 4, 2, 3 }, { 2, 2, 3, 3 }, { 2, 2, 3, 3 }, of { 2, 1, 2, 3 })
  attention({ 1, 1, 3, 2 }, { 1, 1, 3, 2 }, { 1, 1, 3, 2 }, of { 3 }, { causal = true })
  -- the second query sees nothing
  local hidden = { data = { { 1, 0, 1 }, { 0, 0, 0 } }, dtype = "int8" }
  attention({ 1, 2, 2, 2 }, { 1, 2, 3, 2 }, { 1, 2, 3, 2 }, hidden)

  attention({ 2, 2, 3, 4 }, { 2, 2, 5, 4 }, { 2, 2, 5, 3 }, nil, { dropout_rate = 0.4 })
  attention({ 1, 2, 5, 2 }, { 1, 1, 6, 2 }, { 1, 1, 6, 2 }, of { 5, 6 },
    { dropout_rate = 0.3, causal = true })

  -- enough for several tiles, of sizes that fill no vector; spec/op/attention_spec.lua has the
  -- gradients of such
  attention({ 1, 4, 150, 5 }, { 1, 2, 141, 5 }, { 1, 2, 141, 19 }, nil, { causal = true },
    "large")
  attention({ 2, 2, 70, 17 }, { 2, 2, 70, 17 }, { 2, 2, 70, 16 }, of { 2, 1, 1, 70 }, nil, "large")
  attention({ 1, 1, 66, 16 }, { 1, 1, 300, 16 }, { 1, 1, 300, 4 }, of { 66, 300 }, nil, "large")
  attention({ 1, 2, 101, 8 }, { 1, 2, 141, 8 }, { 1, 2, 141, 5 }, of { 141 },
    { dropout_rate = 0.5, causal = true }, "large")

  -- with a cache, of which each sequence has some
  local function cached(q, k, past, v_size, lengths, options, large, dtype)
    local v = { k[1], k[2], k[3], v_size }
    local past_k, past_v = { k[1], k[2], past, k[4] }, { k[1], k[2], past, v_size }
    local function kept(shape, ...)
      local array = of(shape, ...)
      array.dtype = dtype
      return array
    end
    case("cached_attention", { of(q, -1, 1.1), of(k, -1, 1.1), of(v), kept(past_k, -1, 1.2),
      kept(past_v), { data = lengths, dtype = large and "int32" or "int64" } }, options,
      { grad = false, tol = large and 1e-4 or nil, only = (large or dtype) and "float32" or nil })
  end
  cached({ 3, 2, 1, 4 }, { 3, 2, 1, 4 }, 5, 3, { 0, 4, 2 })
  cached({ 2, 4, 3, 2 }, { 2, 2, 3, 2 }, 5, 2, { 2, 1 }, { scale = 0.3 })
  cached({ 1, 2, 1, 4 }, { 1, 2, 1, 4 }, 3, 300, { 2 })     -- more columns than a block has threads
  cached({ 2, 4, 70, 5 }, { 2, 2, 70, 5 }, 210, 19, { 131, 3 }, nil, "large")
  cached({ 1, 2, 1, 16 }, { 1, 1, 1, 16 }, 300, 4, { 299 }, nil, "large")
  cached({ 2, 4, 1, 32 }, { 2, 2, 1, 32 }, 300, 80, { 130, 0 }, nil, "large")
  cached({ 2, 24, 1, 16 }, { 2, 2, 1, 16 }, 100, 16, { 99, 64 }, nil, "large")
  cached({ 3, 34, 1, 16 }, { 3, 2, 1, 16 }, 20, 16, { 0, 19, 7 }, nil, "large")
  for _, lengths in ipairs { { 2, 4 }, { 3, 3 } } do
    case("cache_append", { of { 2, 3, 4, 2 }, of({ 2, 3, 2, 2 }, 5, 7),
      { data = lengths, dtype = "int32" } }, nil, { grad = false })
  end
  for _, dtype in ipairs { "float16", "bfloat16" } do       -- of the cache
    cached({ 2, 4, 3, 2 }, { 2, 2, 3, 2 }, 5, 3, { 2, 1 }, nil, nil, dtype)
    cached({ 2, 4, 70, 5 }, { 2, 2, 70, 5 }, 210, 19, { 131, 3 }, nil, "large", dtype)
    cached({ 2, 4, 1, 32 }, { 2, 2, 1, 32 }, 300, 80, { 130, 0 }, nil, "large", dtype)
    local cache = of { 2, 3, 4, 2 }
    cache.dtype = dtype
    case("cache_append", { cache, of({ 2, 3, 2, 2 }, 5, 7),
      { data = { 2, 4 }, dtype = "int32" } }, nil, { grad = false, only = "float32" })
  end

  case("rotary_embedding", { of { 2, 3, 4 } })
  case("rotary_embedding", { of { 3, 5 } }, { dims = 4, offset = 7, base = 50, interleaved = true })
  case("rotary_embedding", { of { 2, 2, 3, 6 } }, { dims = 2, inverse = true })
  case("rotary_embedding", { of { 2, 3, 4 } }, { frequencies = { 0.7, 0.2 }, scale = 1.25,
    offset = 3 })
  give.big("rotary_embedding", { of { 3, 4, 130, 66 } })

  -- recurrent layers: gates of a unit, and how many numbers of it are kept
  for cell, n in pairs { rnn_tanh = { 1, 0 }, rnn_relu = { 1, 0 }, lstm = { 4, 4 },
    gru = { 3, 4 } } do
    local function recurrent(length, batch, units, reverse, more)
      local gates, kept = n[1] * units, n[2] * units
      local y, state = of({ length, batch, units }, -0.9, 0.9), of({ batch, units }, -0.9, 0.9)
      local weight, options = of({ gates, units }, -0.5, 0.6), { cell = cell, reverse = reverse }
      local inputs, back = { of { length, batch, gates }, weight, state }, { weight, state, y, y }
      if cell == "lstm" then inputs[4] = state end
      if cell == "gru" then inputs[4] = of { gates } end
      case("recurrent", inputs, options, more)
      if more then return end
      if kept > 0 then back[5] = of({ length, batch, kept }, 0.1, 0.9) end
      if cell == "lstm" then back[6], back[7] = y, state end
      case("recurrent_grad", back, options)
      if cell ~= "lstm" then return end
      back = { unpack(back) }
      back[8] = y
      case("recurrent_grad", back, options)
    end
    recurrent(3, 2, 2)
    recurrent(2, 1, 3, true)
    recurrent(1, 2, 2)
    -- rows and units that fill no block; spec/op/recurrent_spec.lua has the gradients of such
    recurrent(5, 11, 37, false, { grad = false, only = "float32", tol = 2e-5 })
  end
end
