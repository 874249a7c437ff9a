--- For extents around each vector, tile, block and share of the CPU's fast kernels, these give what
--- the plain kernels give, and the same on one thread and on two.
local core = require "jfl.core"
local support = require "spec.op.support"

teardown(core.reset)

-- Around vectors of 4 to 64 numbers, and of several such.
local SHORT = { 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129 }
-- Around what is done at once: blocks of 256 (reduce, sort, fused), 512 (upsample), 1,024 (vector,
-- reduce, fused), 4,096 (row_norm, upsample), 16,384 (JF_PART: a thread's share), several shares.
local LONG = { 255, 256, 257, 511, 513, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 8193,
  16383, 16384, 16385, 32769, 65537 }
local BOTH = {}
for _, list in ipairs { SHORT, LONG } do
  for _, n in ipairs(list) do BOTH[#BOTH + 1] = n end
end

--- An input of a shape with numbers from lo to hi.
local function of(shape, lo, hi, dtype)
  return { shape = shape, lo = lo, hi = hi, dtype = dtype }
end

local function results(name, case, inputs, kernels, threads)
  core.set("kernels", kernels)
  core.set("threads", threads)
  core.set("seed", 7)
  local copies = {}
  for i, a in ipairs(inputs) do copies[i] = core.copy(a) end
  local list = { support.call(core.ops()[name], case, copies) }
  for _, a in ipairs(copies) do list[#list + 1] = a end     -- which an op may update
  return list
end

--- Fails where the fast kernels of an op differ from its plain one by more than tol, relative above
-- 1, or on two threads from those on one.
local function check(name, inputs, options, tol)
  local case = { inputs = inputs, options = options }
  local x = support.inputs(case, "float32")
  local plain = results(name, case, x, "reference", 1)
  local fast, shared = results(name, case, x, "fast", 1), results(name, case, x, "fast", 2)
  core.set("threads", 1)
  for i, want in ipairs(plain) do
    local bytes, ok, message = core.bytes(fast[i]), true
    if bytes ~= core.bytes(want) then
      ok, message = support.close(support.flat(fast[i]), support.flat(want), tol or 2e-6)
    end
    if ok and bytes ~= core.bytes(shared[i]) then ok, message = false, "another on two threads" end
    if not ok then
      local shapes = {}
      for k, a in ipairs(x) do shapes[k] = table.concat(a.shape, " x ") end
      error(("%s of %s, result %d: %s"):format(name, table.concat(shapes, ", "), i, message), 0)
    end
  end
end

--- A spec that calls fn(n) for each extent in a list.
local function each(what, list, fn)
  it(what, function()
    for _, n in ipairs(list) do fn(n) end
  end)
end

describe("for every extent fast kernels #cpu give what plain ones give:", function()
  each("elementwise ops", BOTH, function(n)
    for _, name in ipairs { "add", "multiply", "divide", "maximum", "less" } do
      check(name, { of({ n }, 1, 3), of({ n }, 1, 2) })
    end
    for _, name in ipairs { "tanh", "exp", "sigmoid", "gelu", "relu", "erf", "log", "rsqrt" } do
      check(name, { of({ n }, 0.1, 3) }, nil, 1e-5)
    end
    check("add", { of { 3, n }, of { n } })
    check("multiply", { of { n, 3 }, of { n, 1 } })
    check("where", { of({ n }, 0, 1, "int8"), of { n }, of { n } })
    for _, dtype in ipairs { "int8", "float64", "float16", "bfloat16", "int64" } do
      check("cast", { of({ n }, -99, 99) }, { dtype = dtype })
    end
    check("dropout", { of { n } }, { rate = 0.3 })
    check("bias_add", { of { 3, n }, of { n } })
    check("bias_add", { of { 2, 3, n }, of { 3 } })
  end)

  each("reductions", BOTH, function(n)
    for _, name in ipairs { "sum", "mean", "max", "min" } do
      local near = name == "sum" and 1e-4 or 1e-5         -- of up to 65,537 terms that cancel
      check("reduce_" .. name, { of { 3, n } }, { axis = 1 }, near)
      check("reduce_" .. name, { of { n, 3 } }, { axis = 0 }, near)
      check("reduce_" .. name, { of { n } }, {}, near)
      if n < 3000 then check("reduce_" .. name, { of { 2, n, 33 } }, { axis = 1 }, near) end
      if n < 3000 then check("reduce_" .. name, { of { 33, n } }, { axis = 0 }, near) end
    end
    check("reduce_prod", { of({ 3, n }, 0.9999, 1.0001) }, { axis = 1 }, 1e-5)
    check("reduce_any", { of({ 3, n }, 0, 0, "int8") }, { axis = 1 })
    check("argmax", { of { 3, n } }, { axis = 1 })
    check("argmin", { of { n, 3 } }, { axis = 0 })
    check("cumsum", { of { 3, n } }, { axis = 1, reverse = n % 2 == 0 }, 1e-5)
    check("cumsum", { of { n, 3 } }, { axis = 0, exclusive = n % 2 == 0 }, 1e-5)
    check("cumprod", { of({ n, 9 }, 0.9999, 1.0001) }, { axis = 0 }, 1e-5)
  end)

  each("lines", BOTH, function(n)
    for _, rows in ipairs { 1, 5 } do
      check("softmax", { of { rows, n } }, {}, 1e-5)
      check("logsoftmax", { of { rows, n } }, {}, 1e-5)
      check("softmax_grad", { of({ rows, n }, 0.1, 0.9), of { rows, n } }, {}, 1e-4)
      check("sparse_softmax_cross_entropy_with_logits", { of({ rows }, 0, n - 1, "int32"),
        of { rows, n } }, {}, 1e-5)
      local norm = { center = true, scale = true, shift = true }
      check("row_norm", { of { rows, n }, of({ n }, 0.5, 2), of({ n }, -0.5, 1) }, norm, 1e-5)
      check("row_norm_grad", { of({ rows, n }, -1, 0.7), of { rows, n }, of({ rows }, 0.3, 0.6),
        of({ rows }, 0.1, 1), of({ n }, 0.5, 2) }, norm, 1e-4)
    end
    check("softmax", { of { 2, 3, n } }, { axis = 1 }, 1e-5)
    if n < 600 then check("softmax", { of { 2, n, 17 } }, { axis = 1 }, 1e-5) end
  end)

  each("normalizations of channels", { 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200 },
    function(n)
      for _, x in ipairs { { { 3, n } }, { { 2, n, 5, 5 } }, { { 2, 3, 1, n }, 3 },
        { { n, 3, 2 }, 3 }, { { 3, 5, n }, 5 } } do
        local shape = x[1]
        local axis = x[2] == 3 and #shape == 4 and 3 or 1
        local c = { shape[axis + 1] }
        for _, relu in ipairs { false, true } do
          check("batch_norm", { of(shape), of(c, 0.5, 2), of(c, -0.5, 1) },
            { axis = axis, relu = relu }, 2e-5)
        end
        check("batch_norm_grad", { of(shape, -1, 0.7), of(shape), of(c, 0.3, 0.6), of(c, 0.1, 1),
          of(c, 0.5, 2) }, { axis = axis }, 1e-4)
      end
    end)

  each("orders", BOTH, function(n)
    check("sort", { of { 3, n } })
    check("argsort", { of({ 2, n }, -9, 9, "int32") }, { direction = "DESCENDING" })
    check("sort", { of { n, 2 } }, { axis = 0 })
    for _, k in ipairs { 1, 5, 60, math.ceil(n / 2), n } do
      if k <= n then check("top_k", { of { 2, n } }, { k = k }) end
    end
  end)

  -- two threads share one line from 65,536 elements on, and so many results each
  each("orders of a long line", { 65535, 65536, 65793, 131071, 131073 }, function(n)
    check("sort", { of { n } })
    check("argsort", { of({ n }, -99, 99, "int32") })
    check("top_k", { of { n } }, { k = n - 5 })
  end)

  each("moves", SHORT, function(n)
    for _, m in ipairs(SHORT) do
      check("transpose", { of { 2, n, m } }, { perm = { 0, 2, 1 } })
      check("transpose", { of({ n, m }, -9, 9, "int8") }, { perm = { 1, 0 } })
      check("concat", { of { 3, n }, of { 3, m } }, { axis = 1 })
    end
    check("transpose", { of { 3, n, 5, 17 } }, { perm = { 2, 0, 3, 1 } })
    for _, dtype in ipairs { "int8", "float16", "float32", "float64" } do    -- colours of pictures
      check("transpose", { of({ 2, 3, 3 * n }, -9, 9, dtype) }, { perm = { 0, 2, 1 } })
      check("transpose", { of({ 2, 3 * n, 3 }, -9, 9, dtype) }, { perm = { 0, 2, 1 } })
    end
    check("slice", { of { 5, n + 3 } }, { begin = { 1, 2 }, size = { 3, n } })
    check("broadcast_to", { of { n, 1 } }, { shape = { 3, n, 5 } })
    if n > 2 then
      check("pad", { of { 3, n } }, { paddings = { 1, 2, 2, 1 }, mode = "reflect" })
      check("pad_grad", { of { 6, n + 3 } }, { paddings = { 1, 2, 2, 1 }, mode = "constant" })
    end
  end)

  -- One image whose channels lie beside each other is cut into two, four or more bands of rows.
  each("bands of convolutions", { 8, 23, 24, 40, 61 }, function(n)
    local function small(shape) return of(shape, -0.3, 0.3) end
    for _, o in ipairs { { strides = 1, padding = "SAME" }, { strides = 2, padding = "VALID" },
        { strides = 1, padding = { 0, 0, 5, 0, 3, 4, 0, 0 }, dilations = 2 } } do
      o.data_format = "NHWC"
      check("conv2d", { small { 1, n, 40, 32 }, small { 32, 3, 3, 32 } }, o, 1e-4)
      check("conv2d", { small { 3, n, 41, 16 }, small { 48, 5, 3, 16 } }, o, 1e-4)
    end
    check("conv2d", { small { 1, 16, 2 * n, 40 }, small { 16, 16, 3, 3 } }, { padding = "SAME" },
      1e-4)
    check("conv3d", { small { 1, n, 9, 10, 16 }, small { 32, 3, 3, 3, 16 } },
      { padding = "SAME", data_format = "NDHWC" }, 1e-4)
  end)

  -- Inputs whose rows are the same along the axis outside, beside copies of their whole shape.
  each("rows that repeat", SHORT, function(n)
    local shape = { 3, math.floor(20000 / n) + 300, n }
    local function run(name, ...)
      return core.bytes((support.call(core.ops()[name], {}, { ... })))
    end
    local function whole(a)
      return (support.call(core.ops().broadcast_to, { options = { shape = shape } }, { a }))
    end
    for _, dtype in ipairs { "float32", "int8", "float64" } do
      local x, row, last = unpack(support.inputs({ inputs = { of(shape, -9, 9, dtype),
        of({ 3, 1, n }, -9, 9, dtype), of({ n }, -9, 9, dtype) } }, dtype))
      for threads = 1, 2 do
        core.set("threads", threads)
        assert.is_true(run("subtract", x, whole(row)) == run("subtract", x, row))
        assert.is_true(run("subtract", whole(last), x) == run("subtract", last, x))
        assert.is_true(run("where", whole(row), x, whole(last)) == run("where", row, x, last))
      end
      core.set("threads", 1)
    end
  end)

  each("picks", BOTH, function(n)
    check("gather", { of { 5, 3 }, of({ n }, 0, 4, "int32") })
    if n < 5000 then check("gather", { of { 7, n }, of({ 9 }, 0, 6, "int64") }) end
    check("unsorted_segment_sum", { of { n, 3 }, of({ n }, 0, 6, "int32") }, { num_segments = 7 },
      1e-4)
    if n < 5000 then
      check("unsorted_segment_sum", { of { 9, n }, of({ 9 }, 0, 3, "int32") },
        { num_segments = 5 }, 1e-5)
    end
    check("one_hot", { of({ n }, 0, 2, "int32") }, { depth = 3 })
  end)

  -- by a library, and by own loops in spec/dev/own_spec.lua
  each("products", { 1, 3, 4, 5, 15, 16, 17, 63, 65, 191, 192, 193 }, function(n)
    for _, m in ipairs { 1, 4, 17, 191, 193 } do
      for _, k in ipairs { 1, 16, 33 } do
        check("matmul", { of { m, k }, of { k, n } }, {}, 1e-4)
        check("matmul", { of { m, k }, of { n, k } }, { transpose_b = true }, 1e-4)
      end
    end
    check("matmul", { of { 1, 300 }, of { 300, n } }, {}, 1e-4)
    check("matmul", { of { n, 300 }, of { 300, 1 } }, {}, 1e-4)
    check("matmul", { of { 3, 5, n }, of { 3, n, 7 } }, {}, 1e-4)
  end)

  each("convolutions and pools", { 1, 5, 6, 7, 11, 12, 13, 16, 17, 31, 33, 65 }, function(n)
    local o = { padding = "SAME" }
    check("conv2d", { of { 2, 16, n, 9 }, of { 16, 16, 3, 3 } }, o, 2e-4)
    check("conv2d", { of { 2, n, 9, 11 }, of { n, 1, 3, 3 } }, { padding = "SAME", groups = n },
      2e-4)
    check("conv2d", { of { 2, 3, 7, n }, of { n, 3, 3, 3 } }, o, 2e-4)
    check("conv2d_filter_grad", { of { 2, 3, 7, n }, of { 2, 5, 7, n } },
      { padding = "SAME", size = 3, bias = true }, 5e-4)
    check("conv2d_data_grad", { of { 5, 3, 3, 3 }, of { 2, 5, 7, n } },
      { padding = "SAME", size = { 7, n } }, 2e-4)
    for _, ksize in ipairs { 2, 3 } do
      for _, strides in ipairs { 1, 2 } do
        local p = { ksize = ksize, strides = strides, padding = "SAME" }
        check("max_pool2d", { of { 2, 3, n, 33 } }, p)
        check("avg_pool2d", { of { 2, 3, 9, n } }, p, 1e-5)
      end
    end
    check("upsample_2d", { of { 2, 3, n, 5 } }, { size = { 2 * n, 11 },
      interpolation = "bilinear" }, 1e-5)
  end)

  each("attention", { 1, 15, 16, 17, 63, 64, 65, 127, 129 }, function(n)
    for _, m in ipairs { 1, 63, 65, 130 } do
      for _, causal in ipairs { false, true } do
        check("scaled_dot_product_attention", { of({ 1, 2, n, 8 }, -1, 1.1), of { 1, 2, m, 8 },
          of { 1, 2, m, 5 } }, { causal = causal }, 1e-4)
      end
      check("scaled_dot_product_attention", { of({ 1, 2, n, 8 }, -1, 1.1), of { 1, 2, m, 8 },
        of { 1, 2, m, 5 }, { data = { 2 ^ 52 + 5 }, dtype = "int64" } }, { dropout_rate = 0.4 },
        1e-4)
    end
    check("scaled_dot_product_attention", { of({ 1, 2, 7, n }, -1, 1.1), of { 1, 2, 9, n },
      of { 1, 2, 9, n } }, {}, 1e-4)
  end)

  each("recurrent layers", { 1, 15, 16, 17, 31, 32, 33, 65 }, function(n)
    for cell, gates in pairs { rnn_tanh = 1, lstm = 4, gru = 3 } do
      local state = of { 3, n }
      local more = cell == "lstm" and state or cell == "gru" and of { gates * n } or nil
      check("recurrent", { of { 2, 3, gates * n }, of({ gates * n, n }, -0.3, 0.3), state, more },
        { cell = cell }, 2e-5)
    end
  end)

  each("steps of optimizers", BOTH, function(n)
    local function scalars(...) return { data = { ... }, dtype = "float64" } end
    check("update", { of { n }, of { n }, scalars(0.5, 0.1) }, { optimizer = "SGD",
      options = { 0 } })
    check("update", { of { n }, of { n }, of { n }, scalars(0.5, 0.1, 0.9) },
      { optimizer = "SGD" })
    check("clip_scale", { scalars(8), of({ n }, -2, 2, "float32"), of({ 5 }, -1, 1, "float32") },
      { clip = 1 }, 1e-12)
  end)
end)
