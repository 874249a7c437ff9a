--- Kernels of GPUs for extents around each of their tiles, and for so many elements that each of
-- their loops goes round none, one, two and some more times, also from the second block on: they
-- give what the CPU's plain kernels give. The GPU is emulated and has one multiprocessor, so that
-- grids have 32 blocks, mostly of 256 threads, and what takes more goes round. A barrier that is
-- missing shows in the second round, as the emulated GPU mixes up the order of threads.
local check = require "spec.dev.compare"

-- GRID: the threads of a grid; OVER: more elements than these, and no multiple of anything.
local BEGIN = "local GRID, OVER = 8192, 8269\n"

local function fits(name, script, variables)
  it(name, function()
    local all = { JFL_EMULATED_MULTIPROCESSORS = 1 }
    for k, v in pairs(variables or {}) do all[k] = v end
    check(BEGIN .. script, all)
  end)
end

describe("a GPU of one multiprocessor", function()
  -- 8 lines of a block by lanes of warps; more than 1,024 elements take the block; and a thread
  -- for each of 4,096 lines that lie side by side
  fits("searches lines", [[
    for _, m in ipairs { 1, 2, 3, 31, 32, 33, 64, 65, 1023, 1024, 1025, 1280, 1281 } do
      compare("argmax", { { { 3, m } } }, { axis = 1 })
      compare("argmax", { { { 37, m }, "float32", -3, 3 } }, { axis = 1 })
    end
    for _, lines in ipairs { 7, 8, 9, 255, 256, 257, 600 } do
      compare("argmax", { { { lines, 33 } } }, { axis = 1 })
    end
    compare("argmax", { { { 3, OVER, 2 } } }, { axis = 0 })
    compare("argmax", { { { 3, OVER } } }, { axis = 0 })
    -- the first of equals, and not a number
    compare("argmax", { { { 70, 1281 }, "int8", -3, 3 } }, { axis = 1 })
    local list = {}
    for i = 1, 1300 do list[i] = i % 400 == 300 and 0 / 0 or i % 97 end
    compare("argmax", { { nil, "float32", data = { list, list, { unpack(list, 1, 1300) } } } },
      { axis = 1 })
    compare("argmin", { { { 70, 1100 } } }, { axis = 1 })
  ]])

  -- A thread reduces up to 128 elements, or more of lines that lie side by side; else a block does,
  -- or several blocks, each for 4,096 elements.
  fits("reduces any axes", [[
    local near = { "float32", 0.9995, 1.0005 }
    for _, m in ipairs { 0, 1, 2, 127, 128, 129, 255, 256, 257, 513, 4096, 8191, 8192, 8193 } do
      compare("reduce_prod", { { { 3, m }, unpack(near) } }, { axis = { 1 } })
    end
    compare("reduce_prod", { { { OVER, 3 }, "float64" } }, { axis = { 1 } })
    compare("reduce_prod", { { { 70, 300 }, unpack(near) } }, { axis = { 1 } })
    compare("reduce_prod", { { { 3, 40000 }, "float64", 0.9999, 1.0001 } }, { axis = { 1 } })
    compare("reduce_prod", { { { 70001 }, "float64", 0.9999, 1.0001 } })
    compare("reduce_prod", { { { 5, 260, 7 }, unpack(near) } }, { axis = { 0, 2 } })
    compare("reduce_prod", { { { 5, 26, 7, 9 }, unpack(near) } }, { axis = { 1, 3 } })
    compare("reduce_any", { { { 131, OVER }, "int8", 0, 0 } }, { axis = { 0 } })
    for _, op in ipairs { "reduce_max", "reduce_min" } do
      compare(op, { { { 40, 1000 } } }, { axis = { 1 } })
      compare(op, { { { 3, 40000 } } }, { axis = { 1 } })
    end
    for _, op in ipairs { "reduce_any", "reduce_all" } do
      local list = {}
      for i = 1, 40000 do list[i] = (op == "reduce_all" or i == 39000) and 1 or 0 end
      local other = { unpack(list, 1, 7000) }
      compare(op, { { nil, "int8", data = list } })
      compare(op, { { nil, "int8", data = other } })
      list[39001] = op == "reduce_all" and 0 or 1
      compare(op, { { nil, "int8", data = list } })
    end
  ]])

  -- Sums are programs: lines by lanes, warps and blocks, tiles of long lines, columns.
  fits("adds up lines and columns", [[
    for _, shape in ipairs { { 600, 7 }, { 300, 130 }, { 70, 513 }, { 5, 2049 }, { 3, 40001 },
      { 2, 8192 }, { 2, 100000 }, { 37, 20001 } } do
      compare("reduce_sum", { { shape } }, { axis = { 1 } })
    end
    for _, shape in ipairs { { 1, 5 }, { 9, 31 }, { 33, 33 }, { 1025, 3 }, { 5000, 40 },
      { 300, 700 }, { 130, 2100 } } do
      compare("reduce_sum", { { shape } }, { axis = { 0 } })
    end
    for _, n in ipairs { 255, 256, 257, 2048, 2049, 70001, 300007 } do
      compare("reduce_mean", { { { n } } })
    end
    compare("reduce_sum", { { { 40, 30, 50 } } }, { axis = { 0, 2 } })
    compare("reduce_sum", { { { 40, 30, 50 } } }, { axis = { 1 } })
    compare("reduce_sum", { { { 2, 9000, 5 }, "int32", -9, 9 } }, { axis = { 1 } })
  ]])

  -- 8 lines of a block by warps, more than 512 elements by a block, lines side by side by threads
  fits("normalizes lines", [[
    for _, op in ipairs { "softmax", "logsoftmax" } do
      for _, m in ipairs { 1, 2, 3, 31, 32, 33, 511, 512, 513, 767, 1025 } do
        compare(op, { { { 37, m } } })
        compare(op .. "_grad", { { { 37, m }, "float32", 0.1, 0.9 }, { { 37, m } } }, {}, 1e-5)
      end
      compare(op, { { { 600, 33 } } })
      compare(op, { { { 2, 3, OVER } } }, { axis = 1 })
      compare(op .. "_grad", { { { 600, 33 } }, { { 600, 33 } } }, {}, 1e-5)
    end
  ]])

  fits("finds the entropy of lines", [[
    for _, m in ipairs { 1, 2, 33, 513, 1025 } do
      for _, smoothing in ipairs { 0, 0.1 } do
        local o = { label_smoothing = smoothing }
        local labels = { { 300 }, "int32", 0, m - 1 }
        compare("sparse_softmax_cross_entropy_with_logits", { labels, { { 300, m } } }, o)
        compare("sparse_softmax_cross_entropy_grad", { labels, { { 300, m } },
          { { 300 }, "float32", 2.5, 3 }, { { 300 }, "float32", 0.1, 0.4 }, { { 300 } } }, o)
      end
      compare("softmax_cross_entropy_with_logits", { { { 300, m }, "float32", 0, 0.1 },
        { { 300, m } } }, {}, 1e-5)
    end
    for _, wrong in ipairs { 1, 256, 257, 500, 512, 513, 600 } do
      local labels = {}
      for i = 1, 600 do labels[i] = i >= wrong and i % 2 == wrong % 2 and -1 or 2 end
      refuse("label at position " .. wrong - 1, "sparse_softmax_cross_entropy_with_logits",
        { { nil, "int32", data = labels }, { { 600, 3 } } }, {})
    end
  ]])

  -- A block of 256 threads has a sample, whose labels give 2 n + 1 places.
  fits("aligns labels", [[
    local function aligns(samples, n, times)
      local function all(v)
        local list = {}
        for i = 1, samples do list[i] = v - (i % 5 == 4 and 1 or 0) end
        return { nil, "int32", data = list }
      end
      compare("ctc_loss", { { { times, samples, 5 }, "float32", -3, -0.5 },
        { { samples, n }, "int32", 1, 4 }, all(times), all(n) }, {}, 1e-5)
    end
    for _, samples in ipairs { 1, 255, 256, 257, 513 } do aligns(samples, 3, 7) end
    for _, n in ipairs { 1, 127, 128, 130, 256 } do aligns(2, n, 2 * n + 9) end
  ]])

  -- squares of 64, in depths of 16; of whole numbers, which no library multiplies
  fits("multiplies matrices", [[
    local function whole(...) return { { ... }, "int32", -99, 99 } end
    for _, side in ipairs { 1, 15, 16, 17, 63, 64, 65, 129 } do
      for _, k in ipairs { 1, 15, 16, 17, 33 } do
        compare("matmul", { whole(side, k), whole(k, 130 - side) }, {}, 0)
      end
      for _, a in ipairs { false, true } do
        for _, b in ipairs { false, true } do
          compare("matmul", { a and whole(3, 40, side) or whole(3, side, 40),
              b and whole(3, 66, 40) or whole(3, 40, 66) }, { transpose_a = a, transpose_b = b }, 0)
        end
      end
    end
  ]])

  -- A thread for each element, a block for each of a filter; the gradient of a bias by parts of
  -- 4,096 elements.
  fits("convolves by its own loops", [[
    local function each(x, f, y, o)
      compare("conv2d", { { x }, { f } }, o, 1e-5)
      local first = o.data_format == "NHWC" and 2 or 3
      o.size = { x[first], x[first + 1] }
      compare("conv2d_data_grad", { { f }, { y } }, o, 1e-5)
      o.size = { f[first], f[first + 1] }
      for _, bias in ipairs { false, true } do
        o.bias = bias
        compare("conv2d_filter_grad", { { x }, { y } }, o, 1e-5)
      end
    end
    each({ 2, 6, 20, 19 }, { 12, 3, 3, 3 }, { 2, 12, 20, 19 }, { padding = "SAME", groups = 2 })
    each({ 3, 8, 15, 17 }, { 8, 1, 3, 3 }, { 3, 8, 8, 9 }, { padding = "SAME", groups = 8,
      strides = 2 })
    each({ 1, 25, 16, 16 }, { 24, 25, 1, 1 }, { 1, 24, 16, 16 }, {})
    each({ 2, 13, 11, 6 }, { 36, 2, 2, 3 }, { 2, 12, 10, 36 }, { groups = 2, data_format = "NHWC" })
    for _, n in ipairs { 255, 256, 257, 8191, 8192, 8193, 8500 } do
      each({ 1, 1, 1, n }, { 1, 1, 1, 1 }, { 1, 1, 1, n }, {})
      each({ 1, 1, n, 1 }, { 31, 1, 1, 1 }, { 1, 1, n, 31 }, { data_format = "NHWC" })
    end
  ]], { JFL_EMULATED_CUDNN = "none" })

  -- chunks of 1,024 elements, 256 chunks of a line at once, lines of up to 64 by a thread
  fits("accumulates lines", [[
    for i, m in ipairs { 63, 64, 65, 1023, 1024, 1025, 2047, 2048, 2049, 40000, 300000 } do
      local o = { axis = 1, exclusive = i % 2 == 0, reverse = i % 3 == 0 }
      compare("cumsum", { { { m > 9000 and 1 or 17, m } } }, o)
      if m < 9000 then
        local x = { { 17, m }, "float64", 0.999, 1.001 }
        compare("cumprod", { x }, o)
        compare("cumprod_grad", { x, { { 17, m }, "float64" } }, o)
      end
    end
    compare("cumsum", { { { OVER, 3 } } }, { axis = 1 })
    compare("cumsum", { { { 70, OVER } } }, { axis = 0 })
    compare("cumsum", { { { 2, 1100, 33 }, "int32", -9, 9 } }, { axis = 1 })
  ]])

  -- chunks of 1,024 words, of which a block takes one and two blocks' worth are merged
  fits("puts lines in order", [[
    for _, m in ipairs { 1, 2, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049, 4097 } do
      compare("argsort", { { { 3, m }, "int32", -99, 99 } })
    end
    compare("argsort", { { { 5, 9000 }, "int32", -99, 99 } }, { direction = "DESCENDING" })
    compare("sort", { { { 40, 1100 } } })
    compare("sort", { { { 2100, 5 } } })
    compare("sort", { { { 5, 2100 } } }, { axis = 0 })
    compare("sort", { { { 9, 2, 130 } } }, { axis = 1 })
    for _, k in ipairs { 1, 255, 256, 257 } do compare("top_k", { { { 2, 20000 } } }, { k = k }) end
    compare("top_k", { { { 40, 1100 } } }, { k = 230 })
  ]])

  -- parts of 8 slices, of 32 where slices are long; tuples for each thread
  fits("scatters and picks slices", [[
    for _, n in ipairs { 1, 7, 8, 9, 17, 1025, OVER } do
      for _, places in ipairs { 3, 500 } do
        local ids = { { n }, "int32", 0, places - 1 }
        compare("unsorted_segment_sum", { { { n, 3 } }, ids }, { num_segments = places }, 1e-5)
        compare("tensor_scatter_nd_update", { { { places, 2 } },
          { { n, 1 }, "int32", 0, places - 1 }, { { n, 2 } } })
      end
    end
    for _, n in ipairs { 31, 32, 33, 65, 300 } do
      compare("unsorted_segment_sum", { { { n, 33 } }, { { n }, "int32", 0, 2 } },
        { num_segments = 4 }, 1e-5)
    end
    compare("scatter_nd", { { { OVER, 1 }, "int32", 0, 4000 }, { { OVER } } }, { shape = { 4001 } })
    compare("scatter_nd", { { { 5, 1 }, "int32", 0, 4000 }, { { 5, 9 } } }, { shape = { 4001, 9 } })
    compare("dim_scatter_add", { { { 3, 40 } }, { { 3, 2900 }, "int32", 0, 39 }, { { 3, 2900 } } },
      { dim = 1 }, 1e-5)
    compare("gather", { { { 33, 31 } }, { { 300 }, "int32", 0, 32 } })
    compare("gather", { { { 33, 5 } }, { { OVER }, "int32", 0, 32 } })
    compare("gather_nd", { { { 5, 7, 3 } }, { { OVER, 2 }, "int32", 0, 4 } })
    compare("dim_gather", { { { 3, 70 } }, { { 3, OVER }, "int32", 0, 69 } }, { dim = 1 })
    compare("one_hot", { { { OVER }, "int32", 0, 2 } }, { depth = 3 })
  ]])

  -- tiles of 32 by 32, up to 12 boxes at once
  fits("moves boxes", [[
    for _, n in ipairs { 15, 16, 17, 31, 32, 33, 63, 64, 65, 200 } do
      compare("transpose", { { { 2, n, 217 - n } } }, { perm = { 0, 2, 1 } })
    end
    compare("transpose", { { { 300, 200 }, "int8", -9, 9 } }, { perm = { 1, 0 } })
    compare("slice", { { { 3, 9001 } } }, { begin = { 1, 3 }, size = { 2, 8995 } })
    compare("broadcast_to", { { { 1, 9001 } } }, { shape = { 5, 9001 } })
    for _, n in ipairs { 11, 12, 13, 25 } do
      local many, sizes = {}, {}
      for i = 1, n do many[i], sizes[i] = { { 9, 100 + i } }, 100 + i end
      compare("concat", many, { axis = 1 })
      local whole = 100 * n + n * (n + 1) / 2
      compare("split", { { { 9, whole } } }, { sizes = sizes, axis = 1 })
    end
  ]])

  -- chunks of 16,384 elements, 128 tensors at once, 256 sums
  fits("measures gradients", [[
    local function clips(...)
      local list = { { nil, "float64", data = { 1 } } }
      for i, n in ipairs { ... } do list[i + 1] = { { n } } end
      compare("clip_scale", list, { clip = 1 }, 1e-12)
    end
    for _, n in ipairs { 1, 255, 256, 257, 16383, 16384, 16385, 40000 } do clips(n, 5) end
    for _, n in ipairs { 127, 128, 129, 257, 300 } do
      local many = {}
      for i = 1, n do many[i] = i % 3 + 1 end
      clips(unpack(many))
    end
  ]])

  -- tiles of 64 by 64 scores, heads in depths of 32, values in columns of up to 128
  fits("attends", [[
    local function attends(n, m, size, v_size, options, mask)
      local q, k, v = { { 1, 2, n, size }, "float32", -1, 1.1 }, { { 1, 2, m, size } },
        { { 1, 2, m, v_size } }
      local y, lse = { { 1, 2, n, v_size } }, { { 1, 2, n }, "float32", 3, 5 }
      compare("scaled_dot_product_attention", { q, k, v, mask }, options, 1e-4)
      compare("scaled_dot_product_attention_grad", { q, k, v, y, lse, y, mask }, options, 1e-3)
      if not mask then return end
      compare("scaled_dot_product_attention_mask_grad", { q, k, v, y, lse, y, mask }, options, 1e-3)
    end
    for _, n in ipairs { 1, 63, 64, 65, 130 } do
      attends(n, 131 - n, 31, 16)
      attends(n, 65, 33, 17, { causal = true })
    end
    for _, size in ipairs { 1, 15, 32, 64, 65, 129, 140 } do attends(5, 17, size, 141 - size) end
    attends(70, 130, 8, 8, nil, { { 70, 130 } })
    attends(70, 130, 8, 8, nil, { { 130 } })
    attends(70, 66, 8, 8, nil, { { 2, 70, 1 } })
  ]], { JFL_EMULATED_CUDNN = "none" })

  -- Threads of a block agree whether some of them have a number that is not finite.
  fits("leaves out values that a mask hides, also infinite ones", [[
    local function attends(n, m, heads, column)
      local v, mask = {}, {}
      for h = 1, heads do v[h] = {} end
      for i = 1, m do
        mask[i] = i % 9 == 6 and 0 or 1
        for h = 1, heads do
          v[h][i] = {}
          for j = 1, 8 do
            local hidden = mask[i] == 0 and (column or j) == j
            v[h][i][j] = hidden and 1 / 0 or math.sin(i + j * h)
          end
        end
      end
      compare("scaled_dot_product_attention", { { { 1, heads, n, 8 } }, { { 1, heads, m, 8 } },
        { nil, "float32", data = { v } }, { nil, "int8", data = mask } }, {}, 1e-4)
    end
    attends(70, 66, 2)
    attends(3, 7, 9, 6)
  ]], { JFL_EMULATED_CUDNN = "none" })

  -- blocks of 32 rows and 16 units, or 32 on the way back, in depths of 32
  fits("goes through recurrent layers", [[
    local gates, saved = { rnn_tanh = 1, lstm = 4, gru = 3 }, { rnn_tanh = 0, lstm = 4, gru = 4 }
    for _, size in ipairs { { 31, 15 }, { 32, 16 }, { 33, 17 }, { 65, 33 }, { 3, 65 } } do
      for cell, g in pairs(gates) do
        local batch, units = size[1], size[2]
        local state, y = { { batch, units } }, { { 2, batch, units }, "float32", -0.9, 0.9 }
        local x, w = { { 2, batch, g * units } }, { { g * units, units }, "float32", -0.3, 0.3 }
        local more = cell == "lstm" and state or cell == "gru" and { { g * units } } or nil
        compare("recurrent", { x, w, state, more }, { cell = cell }, 2e-5)
        local back = { w, state, y, y }
        if saved[cell] > 0 then
          back[5] = { { 2, batch, saved[cell] * units }, "float32", 0.1, 0.9 }
        end
        if cell == "lstm" then back[6], back[7] = y, state end
        compare("recurrent_grad", back, { cell = cell }, 2e-5)
      end
    end
  ]])

  fits("goes round with what is done for each element", [[
    local function n(...) return { { ... } } end
    compare("add", { n(OVER, 3), n(OVER, 3) })
    compare("tanh", { n(3 * OVER) })
    compare("cast", { n(OVER) }, { dtype = "int32" })
    compare("constant", {}, { value = 3, shape = { 5 * OVER } })
    compare("random_uniform", {}, { shape = { 3 * OVER } })
    compare("random_normal", {}, { shape = { 3 * OVER } })
    compare("random_randint", {}, { low = -3, high = 900, shape = { 3 * OVER } })
    compare("random_permutation", {}, { n = OVER })
    compare("dropout", { n(3 * OVER) }, { rate = 0.3 })
    compare("pad", { n(9, 1000) }, { paddings = { 1, 2, 3, 4 }, mode = "reflect" })
    compare("pad_grad", { n(9, 1007) }, { paddings = { 1, 2, 3, 4 }, mode = "reflect" })
    compare("tril", { n(91, 100) })
    compare("max_pool2d", { n(2, 5, 64, 66) }, { ksize = 2, strides = 1 })
    compare("avg_pool2d", { n(2, 5, 64, 66) }, { ksize = 3, strides = 1 })
    compare("upsample_2d", { n(1, 3, 20, 21) }, { size = { 60, 61 } })
    compare("upsample_2d_grad", { n(1, 3, 60, 61) }, { size = { 55, 56 } })
    compare("image_resize", { n(1, 20, 21, 3) }, { size = { 60, 61 } })
    compare("random_crop", { n(3, 3, 60, 61) }, { size = { 50, 51 }, flip = 0.5 })
    compare("rotary_embedding", { n(3, 100, 64) })
    local slow = {}
    for i = 1, 128 do slow[i] = 1 / i end
    compare("rotary_embedding", { n(3, 40, 256) }, { frequencies = slow, scale = 1.5 })
  ]])
end)
