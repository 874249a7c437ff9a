--- Every check of an op says which op and argument it was, what was expected and what was found.
local core = require "jfl.core"
local support = require "spec.op.support"

local says = support.says(it)

local function zeros(shape, dtype) return core.array(dtype or "float32", shape) end
local x23, i2 = zeros { 2, 3 }, zeros({ 2 }, "int32")
local image = zeros { 1, 4, 5, 5 }

describe("a mistake is named:", function()
  says("add", "shapes (2, 3) and (2) do not broadcast: extents from the right must be equal or 1",
    x23, zeros { 2 })
  says("add", "y must be float32 like x, got float64; cast converts", x23,
    zeros({ 2, 3 }, "float64"))
  says("exp", "x must be one of float32, float64, float16, bfloat16, got int32; cast converts",
    zeros({ 2 }, "int32"))
  says("relu_grad", "dy must be of shape (2, 3) like y, got (3, 2)", x23, zeros { 3, 2 })
  says("where", "y must be float32 like x, got float64; cast converts", zeros({ 2, 3 }, "int8"),
    x23, zeros({ 2, 3 }, "float64"))
  says("where", "shapes (2) and (2, 3) do not broadcast: extents from the right must be equal or 1",
    zeros({ 2 }, "int8"), x23, x23)
  says("clip_by_value", "min_value must be at most max_value 1, got 2", x23, 2, 1)

  says("reduce_sum", "axis must be from -2 to 1, got 2; axes count from 0", x23,
    { axis = 2 })
  says("reduce_sum", "axis 1 is given twice", x23, { axis = { 1, -1 } })
  says("reduce_mean", "input_tensor must be one of float32, float64, float16, bfloat16, got "
    .. "int32; cast converts", i2)
  says("argmax", "axis must be from -2 to 1, got -3; axes count from 0", x23, -3)
  says("softmax", "axis must be from -2 to 1, got 7; axes count from 0", x23,
    { axis = 7 })

  local q, past = zeros { 2, 4, 1, 3 }, zeros { 2, 4, 5, 3 }
  local lengths = zeros({ 2 }, "int32")
  local function cached(place, other, message)
    local given = { q, q, q, past, past, lengths }
    given[place] = other
    says("cached_attention", message, unpack(given))
  end
  for i, name in ipairs { "q", "k", "v", "past_k", "past_v" } do
    cached(i, zeros { 2, 4, 3 }, name
      .. " must have four axes (batch, heads, length, size), got (2, 4, 3)")
    if i > 1 then
      local shape = { unpack((i > 3 and past or q).shape) }
      cached(i, zeros(shape, "float64"),
        name .. " must be float32 like q, got float64; cast converts")
      shape[1] = 3
      cached(i, zeros(shape), ("%s must be (2, 4, %d, 3), got (3, 4, %d, 3)"):format(name,
        shape[3], shape[3]))
    end
  end
  cached(6, zeros({ 3 }, "int32"), "length must have one number for each sequence, (2), got (3)")
  cached(6, zeros { 2 }, "length must be int32 or int64, got float32")
  local function appended(place, other, message)
    local given = { past, q, lengths }
    given[place] = other
    says("cache_append", message, unpack(given))
  end
  for i, name in ipairs { "cache", "value" } do
    appended(i, zeros { 2, 4, 3 }, name
      .. " must have four axes (batch, heads, length, size), got (2, 4, 3)")
  end
  appended(2, zeros({ 2, 4, 1, 3 }, "float64"),
    "value must be float32 like cache, got float64; cast converts")
  appended(2, zeros { 2, 4, 6, 3 }, "value must be of length 5 or less, as the cache is, got 6")
  appended(2, zeros { 2, 3, 1, 3 }, "value must be (2, 4, 1, 3), got (2, 3, 1, 3)")
  appended(3, zeros({ 3 }, "int32"), "length must have one number for each sequence, (2), got (3)")

  says("batch_norm", "x must have two or more axes, got (3)", zeros { 3 }, zeros { 3 }, zeros { 3 })
  says("batch_norm", "gamma must be (4), one for each channel, got (3)", image, zeros { 3 },
    zeros { 4 })
  says("batch_norm", "beta must be float32 like x, got float64; cast converts", x23, zeros { 3 },
    zeros({ 3 }, "float64"))
  says("batch_norm", "epsilon must be a number of at least 0, got -1", x23, zeros { 3 },
    zeros { 3 }, { epsilon = -1 })
  says("batch_norm", "takes 4 inputs, got 3", x23, zeros { 3 }, zeros { 3 }, { add = true })
  says("batch_norm_grad", "add must not be set without relu: the gradient of the addend is dy", x23,
    x23, zeros { 3 }, zeros { 3 }, zeros { 3 }, { add = true })
  says("moving_average", "momentum must be from 0 to 1, got 2", zeros { 3 }, zeros { 3 }, 2)
  says("row_norm", "groups must divide the 4 channels, got 3", image, { axis = 1, groups = 3 })
  says("row_norm", "params must be like the last axes of x (2, 3), got (2)", x23, { zeros { 2 } },
    { scale = true })
  says("row_norm", "params must be (4) or (2), one for each channel or group, got (3)", image,
    { zeros { 3 } }, { axis = 1, groups = 2, scale = true })
  says("row_norm_grad", "mean must be (2), one for each row, got (3)", x23, x23, zeros { 3 },
    zeros { 2 })

  says("matmul", "a (2, 3) has 3 columns, but b (2, 3) has 2 rows", x23, x23)
  says("matmul", "a (2, 3) transposed has 2 columns, but b (2, 3) transposed has 3 rows", x23, x23,
    { transpose_a = true, transpose_b = true })
  says("matmul", "a (2, 3) and b (3) must have the same number of dimensions, two or more, and "
    .. "agree in all but the last two; flow.expand_dims(b, 1) makes a column of a list", x23,
    zeros { 3 })
  says("matmul", "a (2, 3, 4) and b (3, 4, 5) must have the same number of dimensions, two or "
    .. "more, and "
    .. "agree in all but the last two", zeros { 2, 3, 4 }, zeros { 3, 4, 5 })
  says("matmul", "b must be float32 like a, got float64; cast converts", x23, zeros({ 3, 2 },
    "float64"))
  says("bias_add", "bias must be (3) for value (2, 3), got (2)", x23, zeros { 2 })
  says("bias_add", "value must have two or more dimensions, got (3)", zeros { 3 }, zeros { 3 })
  says("bias_add", "bias must be float32 like value, got int32; cast converts", x23,
    zeros({ 3 }, "int32"))

  says("conv2d", "input must have 3 channels for filters (8, 3, 3, 3), got 4", image,
    zeros { 8, 3, 3, 3 })
  says("conv2d", "input must be of four dimensions, got (2, 3)", x23, zeros { 8, 3, 3, 3 })
  says("conv2d", "filters must be of four dimensions, got (2, 3)", image, x23)
  says("conv2d", "input must have 3 channels for filters (8, 3, 3, 3), got 5", image,
    zeros { 8, 3, 3, 3 }, { data_format = "NHWC" })
  says("conv2d", "data_format must be one of NCHW NHWC, got 'NCW'", image, zeros { 8, 4, 3, 3 },
    { data_format = "NCW" })
  says("upsample_2d", "x must be (N, C, H, W), got (2, 3)", x23, 2)
  says("upsample_2d", "size must be one or two numbers, got 3", image, { size = { 1, 2, 3 } })
  says("upsample_2d", "size must be at most 1073741824, got 2147483648", image, 2 ^ 31)
  says("upsample_2d", "align_corners must be false unless interpolation is bilinear", image, 2,
    { align_corners = true })
  says("conv1d", "input must be of three dimensions, got (1, 4, 5, 5)", image, zeros { 8, 4, 3 })
  says("conv3d", "filters must be of five dimensions, got (8, 4, 3)", zeros { 1, 4, 5, 5, 5 },
    zeros { 8, 4, 3 })
  says("conv1d", "padding must be a word or a list of 1, 2 (before, after) or 6 numbers, got 4",
    zeros { 1, 4, 5 }, zeros { 8, 4, 3 }, { padding = { 1, 1, 1, 1 } })
  says("conv3d", "strides must be one or three numbers, got 2", zeros { 1, 4, 5, 5, 5 },
    zeros { 8, 4, 3, 3, 3 }, { strides = { 1, 1 } })
  says("conv3d", "a window 7 deep does not fit an input 5 deep with padding 0 and 0",
    zeros { 1, 4, 5, 5, 5 }, zeros { 8, 4, 7, 3, 3 })
  says("conv2d", "padding must be SAME, SAME_LOWER, SAME_UPPER, VALID or a list, got 'FULL'", image,
    zeros { 8, 4, 3, 3 }, { padding = "FULL" })
  says("conv2d", "padding must be a word or a list of 1, 2, 4 (top, bottom, left, right) or 8 "
    .. "numbers, got 3",
    image, zeros { 8, 4, 3, 3 }, { padding = { 1, 2, 3 } })
  says("conv2d", "padding must not be negative, got -1", image, zeros { 8, 4, 3, 3 },
    { padding = -1 })
  says("conv2d", "padding of images and channels must be 0, got 1", image, zeros { 8, 4, 3, 3 },
    { padding = { { 0, 0 }, { 1, 0 }, { 0, 0 }, { 0, 0 } } })
  says("conv2d", "strides must be one or two numbers, got 3", image, zeros { 8, 4, 3, 3 },
    { strides = { 1, 1, 1 } })
  says("conv2d", "strides must be at least 1, got 0", image, zeros { 8, 4, 3, 3 }, { strides = 0 })
  says("conv2d", "dilations must be at least 1, got -1", image, zeros { 8, 4, 3, 3 },
    { dilations = -1 })
  says("conv2d", "groups must be at least 1, got 0", image, zeros { 8, 4, 3, 3 }, { groups = 0 })
  says("conv2d", "groups must divide the 3 filters, got 2", image, zeros { 3, 2, 3, 3 },
    { groups = 2 })
  says("conv2d", "a window 7 high does not fit an input 5 high with padding 0 and 0", image,
    zeros { 8, 4, 7, 3 })
  says("conv2d", "a window 7 high does not fit an input 5 high with padding 1 and 0", image,
    zeros { 8, 4, 7, 3 }, { padding = { 1, 0, 0, 0 } })
  says("conv2d", "a window 9 wide does not fit an input 5 wide with padding 1 and 2", image,
    zeros { 8, 4, 3, 9 }, { padding = { 0, 0, 1, 2 } })
  says("conv2d", "filters must be float32 like input, got float64; cast converts", image,
    zeros({ 8, 4, 3, 3 }, "float64"))
  says("conv2d_data_grad", "dy must be (1, 8, 3, 3), got (1, 8, 5, 5)", zeros { 8, 4, 3, 3 },
    zeros { 1, 8, 5, 5 }, { size = 5 })
  says("conv2d_data_grad", "dy must have a channel for each of 8 filters in 1 groups, got 7",
    zeros { 8, 4, 3, 3 },
    zeros { 1, 7, 3, 3 }, { size = 5 })
  says("conv2d_filter_grad", "dy must be (1, 8, 3, 3), got (1, 8, 5, 5)", image, zeros { 1, 8,
    5, 5 },
    { size = 3 })
  says("conv2d_filter_grad", "dy must agree with the input in batch size and groups", image,
    zeros { 2, 8, 3, 3 }, { size = 3 })

  says("conv2d", "a window of 3 cells that are 9007199254740992 apart is too large", image,
    zeros { 8, 4, 3, 3 }, { dilations = 2 ^ 53 })
  says("conv2d", "groups must divide the 8 filters, got 9007199254740992", image,
    zeros { 8, 4, 3, 3 },
    { groups = 2 ^ 53 })

  says("max_pool2d", "input must be (N, C, H, W), got (2, 3)", x23, 2)
  says("max_pool2d", "ksize is missing: the window: one number, or height and width",
    image)
  says("max_pool2d", "ksize must be at least 1, got 0", image, 0)
  says("max_pool2d", "padding must be below the window's 2, got 2", image, 2, 2, 2)
  says("max_pool2d", "input must be (N, H, W, C), got (2, 3)", x23, 2, 2, "SAME", "NHWC")
  says("max_pool2d_grad", "dy must be float32 (1, 4, 2, 2), got float32 (1, 4, 3, 3)", image,
    zeros { 1, 4, 2, 2 }, zeros { 1, 4, 3, 3 }, { ksize = 2 })
  says("avg_pool2d_grad", "dy must be 2 high and 2 wide, got (1, 4, 3, 3)", zeros { 1, 4, 3, 3 },
    { ksize = 2, size = 5 })

  says("dropout", "rate must be in [0, 1), got 1", x23, 1)
  says("dropout_grad", "mask must be int8 (2, 3), got float32 (2, 3)", x23, x23, 0.5)
  local ce = "sparse_softmax_cross_entropy_with_logits"
  says(ce, "labels must have the shape of logits (2, 3) without its last axis, got (3)",
    zeros({ 3 }, "int32"), x23)
  says(ce, "labels must be int32 or int64, got float32", zeros { 2 }, x23)
  says(ce, "label at position 1 must be from 0 to 2, got 3; all count from 0",
    core.from_table({ 0, 3 }, "int32"), x23)
  says(ce, "label at position 0 must be from 0 to 2, got -1; all count from 0",
    core.from_table({ -1, 2 }, "int64"), x23)
  says("sparse_softmax_cross_entropy_grad", "dy must be float32 (2), got float32 (3)", i2, x23,
    zeros { 2 }, zeros { 2 }, { zeros { 3 } })
  says("softmax_cross_entropy_with_logits", "logits must be of shape (2, 3) like labels, got "
    .. "(3, 2)", x23,
    zeros { 3, 2 })
  says("sigmoid_cross_entropy_with_logits", "logits must be of shape (2, 3) like labels, got "
    .. "(3, 2)", x23,
    zeros { 3, 2 })

  says("reshape", "(2, 3) has 6 elements, which do not fit (4, -1)", x23, { 4, -1 })
  says("reshape", "(2, 3) has 6 elements, which do not fit (5)", x23, { 5 })
  says("reshape", "shape must have one extent of -1 at most", x23, { -1, -1 })
  says("reshape", "extent 0 cannot be one of 6 elements", x23, { 0, 3 })
  says("reshape", "a shape has at most 8 dimensions, got 9", x23, { 1, 1, 1, 1, 1, 1, 1, 6, 1 })
  says("reshape", "(16, 16) has 256 elements, which do not fit (256, 256, 256, 256, 256, 256, "
    .. "256, 256)",
    zeros { 16, 16 }, { 256, 256, 256, 256, 256, 256, 256, 256 })
  says("flatten", "start_dim must be at most end_dim 0, got 1", x23, 1, 0)
  says("squeeze", "axis 1 of (2, 3) is not of extent 1", x23, { 1 })
  says("expand_dims", "axis must be from -3 to 2, got 3; axes count from 0", x23, 3)
  says("expand_dims", "input must have fewer than 8 dimensions, the most there can be",
    zeros { 1, 1, 1, 1, 1, 1, 1, 1 }, 0)
  says("transpose", "perm must name the 2 axes of a, got 3", x23, { 0, 1, 2 })
  says("transpose", "perm must name each axis once, got axis 0 twice", x23, { 0, 0 })
  says("broadcast_to", "(2, 3) cannot become (3, 3): extents from the right must be equal or 1",
    x23,
    { 3, 3 })
  says("slice", "begin must have 2 numbers, one for each axis, got 1", x23,
    { 0 }, { 1, 1 })
  says("slice", "begin 3 is out of range for axis 1 of extent 3", x23, { 0, 3 }, { 1, 1 })
  says("slice", "size must be from 0 to 1 on axis 0 of extent 2, from 1 in steps of 1, got 3",
    x23, { 1, 0 }, { 3, 1 })
  says("strided_slice_grad", "shape must have 2 numbers, one for each axis, got 1", x23, { 0, 0 },
    { 1, 1 }, { 1 })
  says("concat", "input 2 must be float32 (2, 3) like input 1, got float32 (2, 4); only the "
    .. "extents along axis may differ", { x23, zeros { 2, 4 } }, 0)
  says("stack", "input 2 must be float32 (2, 3) like input 1, got int32 (2, 3); cast converts",
    { x23, zeros({ 2, 3 },
    "int32") })
  says("gather", "index at position 0 must be from 0 to 1, got 2; all count from 0",
    x23, core.from_table({ 2 }, "int32"))
  says("gather", "indices must be int32 or int64, got float32", x23, x23)
  says("gather", "the result would have 9 dimensions, at most 8 are possible",
    zeros { 1, 1, 1, 1, 1, 1, 1, 1 }, zeros({ 1, 1 }, "int32"))
  says("unsorted_segment_sum", "num_segments must be at least 0, got -1", x23, i2, -1)
  says("unsorted_segment_sum", "data must have the extents of segment_ids (3) from axis 0 on, "
    .. "got (2, 3)", x23,
    zeros({ 3 }, "int32"), 4)
  says("one_hot", "depth must be at least 1, got 0", i2, 0)
  says("one_hot", "index at position 1 must be from 0 to 3, got 5; all count from 0",
    core.from_table({ 0, 5 }, "int32"), 4)
  says("one_hot", "on_value and off_value must fit uint8, got 300 and 0", i2, 4, 300, 0, -1,
    "uint8")
  says("constant", "value must fit int32, got 1.5", 1.5, "int32", { 2 })
  says("zeros", "out of memory: float64 array of shape (140737488355328) takes 1125899906842624 "
    .. "bytes",
    2 ^ 47, "float64")
  says("constant", "value must fit uint8, got 300", 300, "uint8", { 2 })

  local sgd, rates = { optimizer = "SGD", options = { 0 } }, zeros({ 2 }, "float64")
  says("update", "grad of parameter 0 must be float32 (2, 3), got float32 (3, 2)",
    { x23, zeros { 3, 2 }, rates }, sgd)
  says("update", "parameter 1 must be float32 like parameter 0, got float64",
    { x23, x23, rates, rates, rates }, sgd)
  says("update", "scalars must be float64 (2), got float32 (2)", { x23, x23, zeros { 2 } }, sgd)
  says("update", "momentum of parameter 0 must be float32 (2, 3), got float64 (2, 3)",
    { x23, x23, zeros({ 2, 3 }, "float64"), zeros({ 3 }, "float64") }, { optimizer = "SGD" })
  says("update", "inputs must be 3 tensors of each parameter of SGD, then scalars, got 3 in all",
    { x23, x23, rates }, { optimizer = "SGD" })
  says("update", "optimizer must be one of the optimizers, got 'SDG'", { x23, x23, rates },
    { optimizer = "SDG" })
  says("update", "options must be the 2 numbers of SGD, got 3", { x23, x23, rates },
    { optimizer = "SGD", options = { 0, 0, 0 } })
  says("assign", "value must be float32 (2, 3) like variable, got float64 (2)", x23, rates)
  local count, one_rate = zeros({ 1 }, "int64"), zeros({ 1 }, "float64")
  says("optimizer_scalars", "step must be int64 (1), got float64 (1)", one_rate, one_rate, rates,
    { optimizer = "SGD" })
  says("optimizer_scalars", "lr must be float64 (1), got float64 (2)", count, rates, rates,
    { optimizer = "SGD" })
  says("optimizer_scalars", "set must be float64 (2), got float64 (1)", count, one_rate, one_rate,
    { optimizer = "SGD" })
  local schedule, step = "piecewise_constant_schedule", zeros({ 1 }, "int64")
  says(schedule, "values must be 3 numbers, one more than boundaries, got 1", step, { 1, 2 },
    { 0.1 })
  says(schedule, "boundaries must ascend, got 2 after 2", step, { 2, 2 }, { 1, 2, 3 })
  says(schedule, "step must be (1), got (2)", zeros({ 2 }, "int64"), { 2 }, { 1, 2 })
  says(schedule, "warmup_steps must be at least 1, got 0", step, { 2 }, { 1, 2 },
    { warmup = "linear" })
  says(schedule, "warmup_multiplier must be in [0, 1), got 2", step, { 2 }, { 1, 2 },
    { warmup = "constant", warmup_steps = 5, warmup_multiplier = 2 })
  says("train_step_increment", "step must be int64 (1), got int64 (2)", zeros({ 2 }, "int64"))
  says("train_step_increment", "scalars must be float64 of one number or more, got float64 (0)",
    zeros({ 1 }, "int64"), { zeros({ 0 }, "float64") })
end)
