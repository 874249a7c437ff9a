--- Kernels of GPUs that pick, scatter, order, accumulate and move elements, on the emulated driver,
-- for sizes that take several blocks, rounds or merges: they give what the CPU's plain kernels
-- give.
local check = require "spec.dev.compare"
local emulated = require "spec.dev.emulated"

describe("a GPU", function()
  it("picks by many indices", function()
    check [[
      compare("gather", { { { 33, 31 } }, { { 700 }, "int32", 0, 32 } })
      compare("gather", { { { 5, 4, 16 } }, { { 129 }, "int64", 0, 3 } }, { axis = 1 })
      compare("gather", { { { 3, 1025 } }, { { 3, 65 }, "int32", 0, 1024 } }, { batch_dims = 1 })
      compare("gather_nd", { { { 40, 3, 24 } }, { { 300, 1 }, "int32", 0, 2 } })
      compare("dim_gather", { { { 33, 70 } }, { { 33, 129 }, "int32", 0, 69 } }, { dim = 1 })
      compare("one_hot", { { { 5, 33 }, "int64", 0, 30 } }, { depth = 31, axis = 1 })
    ]]
  end)

  it("adds many slices at few places, in the same order every time", function()
    check [[
      compare("unsorted_segment_sum", { { { 2500, 3 } }, { { 2500 }, "int32", 0, 4 } },
        { num_segments = 7 })
      compare("unsorted_segment_sum", { { { 300, 40 } }, { { 300 }, "int64", 0, 299 } },
        { num_segments = 300 })
      compare("unsorted_segment_sum", { { { 3, 1025, 2 } }, { { 3, 1025 }, "int32", 0, 5 } },
        { num_segments = 6, batch_dims = 1, ignored = 2 })
      compare("scatter_nd", { { { 1025, 1 }, "int32", 0, 3 }, { { 1025, 33 } } },
        { shape = { 4, 33 } })
      compare("tensor_scatter_nd_add", { { { 9 }, "int32", -9, 9 }, { { 4100, 1 }, "int32", 0, 8 },
        { { 4100 }, "int32", -5, 5 } })
      compare("tensor_scatter_nd_update", { { { 31, 3 } }, { { 1500, 1 }, "int32", 0, 29 },
        { { 1500, 3 } } })
      compare("dim_scatter_add", { { { 3, 40 } }, { { 3, 900 }, "int32", 0, 4 }, { { 3, 900 } } },
        { dim = 1 })
    ]]
  end)

  it("orders lines of every length", function()
    check [[
      for _, n in ipairs { 1, 2, 31, 33, 1024, 1025, 2048, 5000 } do
        compare("sort", { { { 2, n } } })
        compare("argsort", { { { n, 2 }, "int32", -9, 9 } }, { axis = 0,
          direction = "DESCENDING" })
      end
      compare("argsort", { { { 1500 }, "int64", -2^60, 2^60 } })
      compare("sort", { { { 3000 }, "float64" } }, { direction = "DESCENDING" })
      compare("sort", { { { 700, 5 } } }, { axis = 0 })
      compare("top_k", { { { 2, 9000 } } }, { k = 3 })
      compare("top_k", { { { 1, 5000 }, "int32", 0, 3 } }, { k = 256 })
      compare("top_k", { { { 3000, 2 } } }, { k = 700, axis = 0 })
    ]]
  end)

  it("accumulates along lines of every length", function()
    check [[
      local ways = { {}, { exclusive = true }, { reverse = true },
        { exclusive = true, reverse = true } }
      for i, n in ipairs { 1, 31, 65, 1024, 1025, 5000 } do
        local way = ways[i % 4 + 1]
        way.axis = 1
        compare("cumsum", { { { 3, n } } }, way)
        compare("cumsum", { { { 2, n, 2 }, "int32", -9, 9 } }, way)
        compare("cumprod", { { { 2, n }, "float32", 0.98, 1.02 } }, way)
        compare("cumprod_grad", { { { 2, n, 2 }, "float32", 0.98, 1.02 }, { { 2, n, 2 } } }, way)
      end
      compare("cumsum", { { { 70, 4100 }, "float64" } }, { axis = 0 })
      compare("cumprod_grad", { { { 2, 1300 }, "float64", 0.99, 1.01 },
        { { 2, 1300 }, "float64" } }, { axis = 1, exclusive = true })
    ]]
  end)

  it("computes calls of 16 bits in float32, as the CPU does", function()
    check [[
      compare("sort", { { { 3, 33 }, "float16" } }, { direction = "DESCENDING" })
      compare("cumsum", { { { 2, 17 }, "bfloat16" } }, { axis = 1 })
      compare("tensor_scatter_nd_add", { { { 4, 3 }, "float16" }, { { 5, 1 }, "int32", 0, 3 },
        { { 5, 3 }, "float16" } })
      compare("pad_grad", { { { 9, 12 }, "bfloat16" } }, { paddings = { 2, 1, 3, 2 },
        mode = "reflect" })
    ]]
  end)

  it("keeps products 0 behind a 0, also where others overflow", function()
    check [[
      local x = {}
      for i = 1, 3000 do x[i] = i == 700 and 0 or i % 2 == 0 and 1e30 or -1e9 end
      for i = 1, 2 do
        local results = {}
        for _, device in ipairs { "cpu", "gpu" } do
          flow.clear_default_session()
          core.set("device", device)
          results[#results + 1] = support.flat(core.op "cumprod"(core.from_table(x, "float32")))
        end
        local ok, message = support.close(results[2], results[1], 2e-6)
        if not ok then print(message) end
        x[2900] = 1 / 0
      end
    ]]
  end)

  it("moves boxes, by tiles and by vectors", function()
    check [[
      compare("transpose", { { { 70, 33 } } }, { perm = { 1, 0 } })
      compare("transpose", { { { 3, 40, 17, 2 }, "int8", -9, 9 } }, { perm = { 0, 3, 2, 1 } })
      compare("transpose", { { { 2, 65, 5, 31 }, "float64" } }, { perm = { 3, 0, 2, 1 } })
      compare("transpose", { { { 20, 3, 64 } } }, { perm = { 1, 0, 2 } })
      compare("broadcast_to", { { { 33, 1, 8 } } }, { shape = { 2, 33, 3, 8 } })
      compare("slice", { { { 9, 40 } } }, { begin = { 2, 4 }, size = { 5, 24 } })
      compare("slice", { { { 9, 41 } } }, { begin = { 2, 3 }, size = { 5, 24 } })
      compare("strided_slice_grad", { { { 5, 24 }, "int8", -9, 9 } }, { begin = { 2, 8 },
        step = { 1, 1 }, shape = { 9, 48 } })
      compare("strided_slice_update", { { { 33, 40 } }, { { 11, 20 } } }, { begin = { 1, 39 },
        step = { 3, -2 } })
      compare("roll", { { { 7, 33, 16 } } }, { shift = 5, axis = 1 })
      compare("roll", { { { 7, 33 } } }, { shift = -40, axis = 1 })
      compare("split", { { { 6, 50 } } }, { sizes = { 1, 16, 33 }, axis = 1 })
      local many, sizes = {}, {}
      for i = 1, 30 do many[i], sizes[i] = { { 5, 3 } }, i end
      compare("stack", many, { axis = 1 })
      compare("split", { { { 4, 465 } } }, { sizes = sizes, axis = 1 })
    ]]
  end)

  it("pads, folds borders back and cuts triangles", function()
    check [[
      for _, mode in ipairs { "constant", "reflect", "replicate", "circular" } do
        local options = { paddings = { 0, 0, 0, 0, 5, 3, 1, 30 }, mode = mode, constant_value = 2 }
        compare("pad", { { { 2, 3, 6, 33 } } }, options)
        compare("pad_grad", { { { 2, 3, 14, 64 } } }, options)
        options.paddings = { 0, 0, 4, 7, 0, 0 }
        compare("pad", { { { 2, 9, 16 }, "int8", -9, 9 } }, options)
        compare("pad_grad", { { { 2, 20, 16 }, "float64" } }, options)
        options.paddings = { 1, 2, 1, 1, 2, 2 }
        compare("pad_grad", { { { 7, 5, 9 } } }, options)
      end
      compare("tril", { { { 3, 33, 65 } } }, { diagonal = 7, fill_value = -1 })
      compare("triu", { { { 65, 33 }, "int32", -9, 9 } }, { diagonal = -3 })
    ]]
  end)

  -- with products and sums joined, as a real one does
  it("brings pictures to other sizes", function()
    check([[
      for _, n in ipairs { 1, 7, 33 } do
        for _, m in ipairs { 1, 14, 50 } do
          local up = { size = { m, 2 * m }, interpolation = "bilinear", align_corners = n == 7 }
          compare("upsample_2d", { { { 2, 3, n, n + 4 } } }, up)
          compare("upsample_2d_grad", { { { 2, 3, n, n + 4 } } }, up)
          compare("image_resize", { { { 2, n, n + 4, 3 }, "uint8", 0, 255 } }, { size = { m, 20 } })
          compare("image_resize_grad", { { { 2, n, n + 4, 3 } } }, { size = { m, 20 } })
        end
      end
      compare("upsample_2d", { { { 1, 9, 9, 40 } } }, { size = { 18, 27 }, data_format = "NHWC" })
      compare("upsample_2d_grad", { { { 1, 18, 27, 40 }, "float64" } }, { size = { 9, 9 },
        data_format = "NHWC" })
    ]], { JFL_EMULATED_FMA = 1 })
  end)

  it("draws the parts of pictures that the CPU draws", function()
    check [[
      compare("random_crop", { { { 20, 3, 17, 19 } } }, { size = { 12, 13 }, padding = 2,
        flip = 0.5 })
      compare("random_crop", { { { 9, 17, 19, 3 }, "uint8", 0, 255 } }, { size = { 16, 19 },
        flip = 0.5, data_format = "NHWC" })
      compare("random_crop_grad", { { { 5, 3, 8, 8 } }, { { 5, 3 }, "int32", 0, 3 } },
        { size = { 11, 10 }, padding = 1 })
    ]]
  end)

  it("names the first index that is out of range, as the CPU does", function()
    check [[
      local function ids(dtype, ...) return core.from_table({ ... }, dtype) end
      local x, rows = core.array("float32", { 4, 3 }), core.array("float32", { 5, 3 })
      local tuples = core.from_table({ { 0, 2 }, { 1, 3 }, { -1, 0 } }, "int64")
      local calls = {
        gather = { x, ids("int32", 3, 0, 9, -1, 4) },
        gather_nd = { x, tuples },
        scatter_nd = { tuples, core.array("float32", { 3 }), { shape = { 4, 3 } } },
        tensor_scatter_nd_update = { x, core.reshape(ids("int32", 0, 1, 5, 4, -2), { 5, 1 }),
          rows },
        unsorted_segment_sum = { rows, ids("int64", 1, 2, 3, 4, 5), { num_segments = 4 } },
        dim_gather = { x, core.from_table({ { 0, 3, 2 } }, "int32"), { dim = 1 } },
        one_hot = { ids("int32", 0, -1, 7), { depth = 3 } },
      }
      for op, args in pairs(calls) do
        local said = {}
        for i, device in ipairs { "cpu", "gpu" } do
          flow.clear_default_session()
          core.set("device", device)
          said[i] = select(2, pcall(function()
            return core.to_table((core.op(op)(unpack(args))))
          end))
        end
        if said[1] ~= said[2] or not tostring(said[1]):find "position" then
          print(op, said[1], said[2])
        end
      end
    ]]
  end)

  it("trains an embedding, and leaves it alone where an index is out of range", function()
    local script = [[
      local flow = require "jfl"
      local tp = flow.typing
      local train = flow.global_function {
        name = "train", type = "train",
        inputs = { { "ids", tp.Numpy.Placeholder({ 40 }, { dtype = flow.int32 }) } },
        returns = tp.Numpy,
        body = function(ids)
          local table = flow.get_variable("table", { shape = { 5, 33 },
            initializer = flow.random_uniform_initializer(-1, 1) })
          local loss = flow.math.reduce_sum(flow.math.square(flow.gather(table, ids)))
          flow.optimizer.SGD(0.003):minimize(loss)
          return loss
        end,
      }
      local good, bad = {}, {}
      for i = 1, 40 do good[i], bad[i] = i * i % 4, i == 17 and 9 or i == 30 and -1 or 2 end
      flow.random.seed(3)
      for i, ids in ipairs { good, bad, good, good } do
        local ok, loss = pcall(train, ids)
        print(ok and ("%.4g"):format(loss:mean()) or loss:gsub("^.-:%d+: ", "")
          :gsub("see %S+:", "see line "))
      end
    ]]
    local function run(device) return (emulated.run({ JFL_DEVICE = device }, script)) end
    local out = run("gpu")
    assert.matches("index at position 16 must be from 0 to 4, got 9", out)
    assert.equal(run("cpu"), out)
  end)
end)
