--- Cases of ops that move elements.
return function(give)
  local case, of = give.case, give.of

  -- shapes and moves
  case("reshape", { of { 2, 3, 4 } }, { shape = { 4, -1 } })
  case("reshape", { of { 2, 3 } }, { shape = 6 })
  case("flatten", { of { 2, 3, 4 } })
  case("flatten", { of { 2, 3, 4 } }, { start_dim = 1 })
  case("parallel_cast", { of { 2, 3 } }, { distribute = "split(1)" })
  case("squeeze", { of { 2, 1, 3, 1 } })
  case("squeeze", { of { 2, 1, 3, 1 } }, { axis = -1 })
  case("expand_dims", { of { 2, 3 } }, { axis = 1 })
  case("expand_dims", { of { 2, 3 } }, { axis = -1 })
  case("transpose", { of { 2, 3, 4 } }, { perm = { 1, 2, 0 } })
  case("transpose", { of { 2, 3, 4 } }, { perm = { 1, 0, 2 } })
  case("transpose", { of { 2, 3 } })
  case("broadcast_to", { of { 3, 1 } }, { shape = { 2, 3, 4 } })
  case("broadcast_to", { of { 1 } }, { shape = { 2, 2 } })
  case("slice", { of { 4, 5, 3 } }, { begin = { 1, -3, 0 }, size = { 2, 2, -1 } })
  case("strided_slice_grad", { of { 2, 2 } }, { begin = { 1, 0 }, step = { 1, 1 },
    shape = { 4, 3 } })
  case("concat", { of { 2, 3 }, of { 1, 3 }, of { 3, 3 } })
  case("concat", { of { 2, 3, 2 }, of { 2, 1, 2 } }, { axis = 1 })
  case("stack", { of { 2, 3 }, of({ 2, 3 }, 0, 5) })
  case("stack", { of { 2, 3 }, of({ 2, 3 }, 0, 5) }, { axis = -1 })
  case("gather", { of { 4, 3 }, { data = { 3, 0, 3 }, dtype = "int32" } })
  case("gather", { of { 2, 4, 2 }, { data = { { 1, 1 }, { 3, 0 } }, dtype = "int64" } },
    { axis = 1 })
  case("unsorted_segment_sum", { of { 4, 3 }, { data = { 2, 0, 2, 1 }, dtype = "int32" } },
    { num_segments = 4 })
  case("unsorted_segment_sum", { of { 2, 3, 2 }, { data = { 1, 1, 0 }, dtype = "int64" } },
    { num_segments = 2, axis = 1 })
  case("one_hot", { { data = { 2, 0, 1 } } }, { depth = 3 })
  case("one_hot", { { data = { { 2, 0 }, { 1, 1 } } } },
    { depth = 4, on_value = 5, off_value = -1, axis = 0, dtype = "int32" })
  case("split", { of { 5, 3 } }, { sizes = 2 })
  case("split", { of { 2, 6 } }, { sizes = { 1, 3, 2 }, axis = -1 })
  case("split", { of { 3, 2, 2 } }, { sizes = { 0, 2 }, axis = 1 })
  case("split", { of { 0, 2 } }, { sizes = 4 })

  -- choice by indices
  local function ids(data, dtype) return { data = data, dtype = dtype or "int32" } end
  case("gather", { of { 2, 4, 3 }, ids { { 3, 0, 3 }, { 1, 1, 2 } } }, { batch_dims = 1 })
  case("gather", { of { 2, 2, 4, 3 }, ids { { 3, 0 }, { 1, 1 } } }, { batch_dims = 1, axis = 2 })
  case("gather", { of { 2, 3 }, ids { 2, 0 } }, { batch_dims = 1 })
  case("gather", { of { 4, 3 }, ids({ { 2, 0 }, { 2, 2 } }, "int64") }, { padding_idx = 2 },
    { grad = false })
  case("unsorted_segment_sum", { of { 2, 3, 2 }, ids { { 1, 1, 0 }, { 3, 0, 3 } } },
    { num_segments = 4, batch_dims = 1 })
  case("unsorted_segment_sum", { of { 2, 2, 3 }, ids { { 1, 1, 0 }, { 3, 0, 3 } } },
    { num_segments = 4, batch_dims = 1, axis = 2 })
  case("unsorted_segment_sum", { of { 2, 3 }, ids { 1, 0 } }, { num_segments = 2, batch_dims = 1 })
  case("unsorted_segment_sum", { of { 4, 3 }, ids { 2, 0, 2, 1 } },
    { num_segments = 3, ignored = 2 })
  case("gather_nd", { of { 3, 4, 2 }, ids { { 2, 1 }, { 0, 3 }, { 2, 1 } } })
  case("gather_nd", { of { 3, 4 }, ids({ { { 2, 1 } }, { { 0, 3 } } }, "int64") })
  case("gather_nd", { of { 3, 4 }, ids { { 2 }, { 0 } } })
  case("gather_nd", { of { 3 }, of({ 2, 0 }, 0, 1, "int32") })
  case("gather_nd", { of { 3, 4 }, of({ 0, 2 }, 0, 1, "int32") })
  case("scatter_nd", { ids { { 2, 1 }, { 0, 3 }, { 2, 1 } }, of { 3, 2 } }, { shape = { 3, 4, 2 } })
  case("scatter_nd", { ids({ { 1 }, { 1 } }, "int64"), of { 2 } }, { shape = { 3 } })
  case("scatter_nd", { of({ 0, 1 }, 0, 1, "int32"), of { 0, 4 } }, { shape = { 3, 4 } })
  for _, name in ipairs { "tensor_scatter_nd_update", "tensor_scatter_nd_add" } do
    case(name, { of { 3, 4 }, ids { { 2, 1 }, { 0, 3 } }, of({ 2 }, 5, 7) })
    case(name, { of { 3, 4 }, ids({ { 2 }, { 0 } }, "int64"), of({ 2, 4 }, 5, 7) })
    case(name, { of { 3, 4 }, of({ 0, 1 }, 0, 1, "int32"), of { 0, 4 } })
    case(name, { of { 3 }, ids { { 2 }, { 2 } }, of({ 2 }, 5, 7) },
      nil, { grad = name == "tensor_scatter_nd_add" })
  end
  case("dim_gather", { of { 3, 4 }, ids { { 2, 0, 1, 1 }, { 0, 0, 2, 1 } } }, { dim = 0 })
  local some = { { { 2, 0 }, { 2, 2 }, { 1, 0 }, { 0, 1 } } }
  case("dim_gather", { of { 2, 3, 2 }, ids(some, "int64") }, { dim = 1 })
  case("dim_gather", { of { 3, 4 }, of({ 0, 4 }, 0, 1, "int32") }, { dim = -2 })
  case("dim_scatter_add", { of { 3, 4 }, ids { { 2, 0, 1, 1 }, { 0, 0, 2, 1 } },
    of({ 2, 4 }, 3, 5) }, { dim = 0 })
  case("dim_scatter_add", { of { 2, 3 }, ids({ { 2, 2, 2, 0 } }, "int64"), of({ 1, 4 }, 3, 5) },
    { dim = 1 })
  case("dim_scatter_add", { of { 2, 3 }, of({ 0, 3 }, 0, 1, "int32"), of { 0, 3 } }, { dim = 1 })

  -- large enough for several parts and threads
  local big = give.big
  local function scattered(n, most, dtype)
    local list = {}
    for i = 1, n do list[i] = (i * 7919) % most end
    return ids(list, dtype)
  end
  for _, run in ipairs { 1, 2, 7, 130 } do
    big("gather", { of { 300, run }, scattered(1500, 300) })
    big("gather", { of { 3, 70, run }, scattered(900, 70, "int64") }, { axis = 1 })
    big("unsorted_segment_sum", { of { 1500, run }, scattered(1500, 300) }, { num_segments = 300 })
    big("unsorted_segment_sum", { of { 5, 900, run }, scattered(900, 70, "int64") },
      { num_segments = 70, axis = 1, ignored = 3 })
    case("gather", { of { 300, run }, scattered(1500, 300) }, nil,
      { grad = false, only = "float64" })
  end
  big("dim_gather", { of { 40, 70 }, of({ 40, 900 }, 0, 69, "int32") }, { dim = 1 })
  big("dim_gather", { of { 40, 90 }, of({ 700, 90 }, 0, 39, "int64") }, { dim = 0 })
  big("dim_scatter_add", { of { 40, 90 }, of({ 700, 90 }, 0, 39, "int64"), of { 700, 90 } },
    { dim = 0 })
  big("dim_scatter_add", { of { 60, 70 }, of({ 60, 900 }, 0, 69, "int32"), of { 60, 900 } },
    { dim = 1 })
  big("gather_nd", { of { 30, 40, 9 }, of({ 3000, 2 }, 0, 29, "int32") })
  big("concat", { of { 70, 130 }, of { 70, 1 }, of { 70, 700 } }, { axis = 1 })
  big("concat", { of { 3, 9000 }, of { 2, 9000 }, of { 9, 9000 } })
  big("concat", { of { 900, 2, 3 }, of { 900, 1, 3 } }, { axis = 1 })
  for _, dtype in ipairs { "float32", "float64", "int8" } do
    case("stack", { of { 90, 130 }, of { 90, 130 } }, { axis = 2 }, { grad = false, only = dtype })
  end
  case("split", { of { 700, 150 } }, { sizes = { 1, 129, 20 }, axis = 1 }, { grad = false })
  case("split", { of { 9000, 3 } }, { sizes = { 1, 2 }, axis = 1 }, { grad = false })
  case("split", { of { 9000, 2 } }, { sizes = 1, axis = 1 }, { grad = false })
  case("split", { of { 70, 900 } }, { sizes = 32 }, { grad = false })
  big("slice", { of { 90, 900 } }, { begin = { 3, 5 }, size = { 80, 700 } })
  big("slice", { of { 90, 900 } }, { begin = { 3, 0 }, size = { 80, 900 } })
  big("strided_slice_grad", { of { 80, 700 } }, { begin = { 3, 5 }, step = { 1, 1 },
    shape = { 90, 900 } })
  for _, step in ipairs { 2, -1, -3 } do
    for _, shape in ipairs { { 90, 900 }, { 2, 70000 } } do
      local begin = { 0, step > 0 and 1 or shape[2] - 1 }
      local size = { shape[1], math.floor((shape[2] - 2) / math.abs(step)) }
      local o = { begin = begin, step = { 1, step }, size = size }
      case("strided_slice", { of(shape) }, o, { grad = false })
      big("strided_slice_grad", { of(size) }, { begin = begin, step = o.step, shape = shape })
      big("strided_slice_update", { of(shape), of(size, 5, 9) }, { begin = begin, step = o.step })
    end
  end

  for _, mode in ipairs { "constant", "reflect", "replicate", "circular" } do
    local sides = { 0, 0, 3, 2, 5, 1 }
    big("pad", { of { 12, 40, 90 } }, { paddings = sides, mode = mode })
    if mode ~= "constant" then
      big("pad_grad", { of { 12, 40, 90 } }, { paddings = sides, mode = mode })
    end
  end
  for _, shape in ipairs { { 90, 700 }, { 5, 40, 150 }, { 3, 9000, 2 } } do
    for axis = 0, #shape - 1 do
      for _, o in ipairs { {}, { exclusive = true }, { reverse = true } } do
        o.axis = axis
        big("cumsum", { of(shape) }, o)
        big("cumprod_grad", { of(shape, 0.9, 1.1), of(shape) }, o)
        case("cumprod", { of(shape, 0.9, 1.1) }, o, { grad = false, only = "float32", tol = 1e-4 })
      end
    end
  end
  -- many of the same, so that the order of equal ones shows
  local function few(shape)
    local n = 1
    for _, d in ipairs(shape) do n = n * d end
    local list = {}
    for i = 1, n do list[i] = (i * i * 31 % 1009) % (i % 2 == 0 and 23 or 1009) - 300 end
    local core = require "jfl.core"
    return { data = core.to_table(core.reshape(core.from_table(list, "float64"), shape)) }
  end
  for _, dtype in ipairs { "float32", "int32" } do
    for _, shape in ipairs { { 40, 900 }, { 1, 5000 }, { 900, 12 } } do
      local x = few(shape)
      for _, direction in ipairs { "ASCENDING", "DESCENDING" } do
        for axis = 0, 1 do
          case("argsort", { x }, { axis = axis, direction = direction },
            { grad = false, only = dtype })
        end
        case("sort", { x }, { direction = direction }, { grad = false, only = dtype })
      end
      case("top_k", { x }, { axis = 1, k = math.min(shape[2], 10) }, { grad = false, only = dtype })
      case("top_k", { x }, { axis = 0, k = shape[1] }, { grad = false, only = dtype })
      case("top_k", { few { 3, 5000 } }, { k = 300 }, { grad = false, only = dtype })
    end
    case("argsort", { few { 140001 } }, nil, { grad = false, only = dtype })
    case("argsort", { few { 1, 4999 } }, { axis = 1 }, { grad = false, only = dtype })
  end

  -- slices in steps
  local steps = {
    { { 4, 5, 3 }, { 1, -1, 0 }, { 2, -2, 1 }, { 2, 3, 2 } },
    { { 5, 6 }, { -1, 0 }, { -1, 1 }, { 5, 6 } },
    { { 7 }, { 5 }, { -3 }, { 2 } },
    { { 3, 4 }, { 2, 3 }, { 4, -1 }, { 1, 0 } },
    { { 2, 0 }, { 0, 0 }, { 1, -1 }, { 2, 0 } },
    { {}, {}, {}, {} },
  }
  for _, s in ipairs(steps) do
    local shape, begin, step, size = unpack(s)
    case("strided_slice", { of(shape) }, { begin = begin, step = step, size = size })
    case("strided_slice_grad", { of(size) }, { begin = begin, step = step, shape = shape })
    case("strided_slice_update", { of(shape), of(size, 5, 9) }, { begin = begin, step = step })
  end
  case("strided_slice", { of { 7, 5 } }, { begin = { 6, 1 }, step = { -2, 3 }, size = { -1, -1 } })

  case("roll", { of { 5, 3 } }, { shift = 2 })
  case("roll", { of { 2, 4, 3 } }, { shift = -7, axis = 1 })
  case("roll", { of { 2, 3 } }, { shift = 6, axis = -1 })
  case("roll", { of { 0, 3 } }, { shift = 1 })
  big("roll", { of { 90, 900 } }, { shift = 100, axis = 1 })

  -- borders
  case("pad", { of { 2, 3 } }, { paddings = { 1, 2, 0, 3 }, constant_value = 7 })
  case("pad", { of { 3 } }, { paddings = { 0, 0 } })
  case("pad", { of {} }, { paddings = {} })
  case("pad", { of { 0, 3 } }, { paddings = { 1, 0, 0, 1 }, constant_value = 4 })
  case("pad", { of { 2, 0 } }, { paddings = { 0, 0, 2, 1 } })
  for _, mode in ipairs { "reflect", "replicate", "circular" } do
    for _, c in ipairs { { { 2, 4, 3 }, { 0, 0, 3, 2, 1, 2 }, { 2, 9, 6 } },
      { { 3, 2, 4 }, { 2, 1, 1, 1, 0, 0 }, { 6, 4, 4 } }, { { 5 }, { 4, 0 }, { 9 } } } do
      case("pad", { of(c[1]) }, { paddings = c[2], mode = mode })
      case("pad_grad", { of(c[3]) }, { paddings = c[2], mode = mode })
    end
  end
  case("pad", { of { 2, 3 } }, { paddings = { 5, 7, 9, 0 }, mode = "replicate" })
  case("pad_grad", { of { 14, 12 } }, { paddings = { 5, 7, 9, 0 }, mode = "replicate" })
  case("pad_grad", { of { 5, 6 } }, { paddings = { 1, 2, 0, 3 } })

  -- order; equal elements, infinities and what is no number
  local odd = { { 2, 1 / 0, 2, -1 / 0, 0, 1 }, { 0 / 0, 3, 0 / 0, 3, -0.0, 0 } }
  for _, direction in ipairs { "ASCENDING", "DESCENDING" } do
    for _, name in ipairs { "sort", "argsort" } do
      local function ordered(input, options, more)
        options.direction = direction
        case(name, { input }, options, more)
      end
      ordered(of { 3, 5 }, {})
      ordered(of { 3, 5, 2 }, { axis = 1 })
      ordered(of { 7, 2 }, { axis = 0 })
      ordered(of { 0, 3 }, {})
      ordered(of { 3, 0 }, {})
      ordered(of { 1 }, {})
      ordered({ data = { { 3, 1, 3, 2, 1, 3, 0 } } }, {}, { grad = false })
      for _, dtype in ipairs { "float32", "float64" } do
        ordered({ data = odd }, {}, { grad = false, only = dtype })
      end
    end
  end
  -- Of the boxes the first two overlap by a third, the third has its corners the other way round.
  local boxes = { { { 0, 0, 2, 2 }, { 0, 1, 2, 3 }, { 5, 9, 3, 4 }, { 3, 4, 3, 9 } } }
  for _, most in ipairs { 0, 3, 4 } do
    for _, limit in ipairs { 0.3, 0.4 } do
      case("non_max_suppression", { { data = boxes, dtype = "float32" }, { data = { {
        { 1, 3, 2, 2 }, { 5, 5, -1, 9 } } }, dtype = "float32" } },
        { max_output = most, iou_threshold = limit, score_threshold = 1 }, { grad = false })
    end
  end
  big("non_max_suppression", { of({ 2, 700, 4 }, 0, 1), of({ 2, 3, 700 }, 0, 1) },
    { max_output = 300, iou_threshold = 0.2 })
  case("top_k", { of { 3, 5 } })
  case("top_k", { of { 3, 5, 4 } }, { axis = 1, k = 3 })
  case("top_k", { of { 3, 5 } }, { k = 5, sorted = false })
  case("top_k", { of { 3, 5 } }, { k = 0 })
  case("top_k", { { data = { { 3, 1, 3, 2, 1, 3, 0 } } } }, { k = 4 })
  case("top_k", { { data = odd } }, { k = 5 }, { only = "float32" })
  case("top_k", { of { 0, 3 } }, { k = 2 })
  for _, name in ipairs { "cumsum", "cumprod" } do
    for _, more in ipairs { {}, { exclusive = true }, { reverse = true },
      { exclusive = true, reverse = true } } do
      for axis = 0, 2 do
        case(name, { of { 2, 3, 4 } }, { axis = axis, exclusive = more.exclusive,
          reverse = more.reverse })
      end
      case(name, { { data = { { 0, 2, 3 }, { 0, 0, 4 }, { 1, 0, 3 } } } }, { axis = 1,
        exclusive = more.exclusive, reverse = more.reverse })
    end
    case(name, { of { 0, 3 } }, { axis = 0 })
    case(name, { of { 3, 0 } }, { axis = 1, reverse = true })
  end
  case("cumprod_grad", { of { 3, 4 }, of({ 3, 4 }, -1, 1.5) }, { axis = 1, reverse = true })
  case("cumprod_grad", { of { 0, 4 }, of { 0, 4 } }, { axis = 1 })

  local data = require("jfl.core").from_table
  case("array", {}, { value = data({ { 1, 2, 3 }, { 4, 5, 6 } }, "float32") })
  case("array", {}, { value = data({ 7, 7, 7 }, "int32") })
end
