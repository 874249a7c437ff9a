--- What functions of the network refuse and no other spec tries, with what they say.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray
local tp = flow.typing

--- Runs fn on a blob of this shape in the body of a job.
local function in_body(shape, fn)
  flow.clear_default_session()
  local job = flow.global_function { name = "job", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } },
    body = function(x)
      local loss = fn(x)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end }
  return job(nd.ones(shape))
end

local ARRAYS = {
  { "nn.triplet_margin_loss: anchor must have one axis or more, got shape ()", function()
    flow.nn.triplet_margin_loss(nd.ones {}, nd.ones {}, nd.ones {})
  end },
  { "nn.kl_div: input must have one or more samples for batchmean, got shape (0, 2)", function()
    flow.nn.kl_div(nd.zeros { 0, 2 }, nd.zeros { 0, 2 }, { reduction = "batchmean" })
  end },
  { "image.random_erasing: x must be floats, got uint8", function()
    flow.image.random_erasing(nd.zeros({ 1, 3, 4, 4 }, "uint8"), { training = true })
  end },
  { "unbind: x must have one or more places along axis 1, got none", function()
    flow.unbind(nd.zeros { 2, 0 }, 1)
  end },
  { "chunk: x must have one or more places along axis 0, got none", function()
    flow.chunk(nd.zeros { 0, 2 }, 3)
  end },
  { "data_format must be \"NCHW\" or \"NHWC\", got string 'CHW'", function()
    flow.constant_pad2d(nd.zeros { 1, 1, 2, 2 }, 1, { data_format = "CHW" })
  end },
  { "must have a letter for each axis of its inputs", function()
    flow.einsum("ab,bc->ac", { nd.zeros { 2 }, nd.zeros { 2, 3 } })
  end },
  { "constant_initializer: value must be a number, got string 'x'", function()
    flow.constant_initializer("x")
  end },
  { "random_normal_initializer: mean must be a finite number, got string 'x'", function()
    flow.random_normal_initializer("x", 1)
  end },
  { "random_uniform_initializer: maxval must be a finite number, got inf", function()
    flow.random_uniform_initializer(0, 1 / 0)
  end },
  { "smooth_l1_loss: beta must be a number of at least 0, got string 'x'", function()
    flow.smooth_l1_loss(nd.zeros { 2 }, nd.zeros { 2 }, { beta = "x" })
  end },
  { "smooth_l1_loss: beta must be a number of at least 0, got -1", function()
    flow.smooth_l1_loss(nd.zeros { 2 }, nd.zeros { 2 }, { beta = -1 })
  end },
  { "nn.huber_loss: delta must be a number above 0, got inf", function()
    flow.nn.huber_loss(nd.zeros { 2 }, nd.zeros { 2 }, { delta = 1 / 0 })
  end },
  { "train.ExponentialMovingAverage: decay must be a number above 0 and below 1, got 1", function()
    flow.train.ExponentialMovingAverage(1)
  end },
  { "data.csv: path must be a string, got number 3", function() flow.data.csv(3) end },
  { "math.add_n: inputs must be a list of blobs or NdArrays, got an empty table", function()
    flow.math.add_n({})
  end },
  { "math.polyval: coeffs must be a list of numbers, got number 3", function()
    flow.math.polyval(3, nd.zeros { 2 })
  end },
  { "nn.GroupNorm: x must be a blob or an NdArray, got number 3", function()
    flow.nn.GroupNorm(3, 2)
  end },
  { "must be true with the formula cambricon, got false", function()
    flow.quantization.min_max_observer(nd.zeros { 2, 2 },
      { per_layer_quantization = false, quantization_formula = "cambricon" })
  end },
  { "input must have two or more axes where per_layer_quantization is false, got shape (3)",
    function()
      flow.quantization.min_max_observer(nd.zeros { 3 }, { per_layer_quantization = false })
    end },
  { "quantization.min_max_observer: quantization_bit must be a whole number from 2 to 16, got 17",
    function()
      flow.quantization.min_max_observer(nd.zeros { 2 }, { quantization_bit = 16 })
      flow.quantization.min_max_observer(nd.zeros { 2 }, { quantization_bit = 17 })
    end },
  { "softmax_cross_entropy_with_logits: label_smoothing must be a number from 0 to 1, got 1.01",
    function()
      local x = nd.ones { 2, 3 }
      flow.nn.softmax_cross_entropy_with_logits(x, x, { label_smoothing = 1 })
      flow.nn.softmax_cross_entropy_with_logits(x, x, { label_smoothing = 1.01 })
    end },
  { "linspace: num must be below 2^31, got 2.14748e+09", function()
    flow.linspace(0, 1, 2 ^ 31)
  end },
  { "nn.pairwise_distance: x1 must have one axis or more, got shape ()", function()
    flow.nn.pairwise_distance(nd.ones {}, nd.ones {})
  end },
  { "random.shuffle: value must have one axis or more, got shape ()", function()
    flow.random.shuffle(nd.ones {})
  end },
  { "resize_shorter and keep_aspect_ratio are for pictures of several sizes", function()
    flow.image.Resize(nd.ones { 1, 4, 4, 3 }, { resize_shorter = 2 })
  end },
  { "image.Resize: resize_shorter and keep_aspect_ratio are for", function()
    flow.image.Resize(nd.ones { 1, 4, 4, 3 }, { target_size = { 2, 2 }, keep_aspect_ratio = true })
  end },
  { "image.center_crop: size must be one number or two, rows and columns, got {1, 2, 3}", function()
    flow.image.center_crop(nd.ones { 1, 4, 4, 3 }, { 1, 2 })
    flow.image.center_crop(nd.ones { 1, 4, 4, 3 }, { 1, 2, 3 })
  end },
  { "same_padding: strides must be a number or a list of two, got {1, 2, 3}", function()
    flow.same_padding(nd.ones { 1, 1, 4, 4 }, "SAME_UPPER", "NCHW", { 2, 2 }, { 1, 2, 3 }, 1)
  end },
  { "Tuple: takes at least one type, got none", function() tp.Tuple() end },
  { "Dict: takes the type of the values alone", function() tp.Dict(tp.Numpy, tp.Numpy) end },
  { "typing.Numpy has no 'Shape'; it is the type of a result", function()
    return tp.Numpy.Shape
  end },
  { "function_config: train is a group of options, which are set one by one", function()
    flow.function_config().train = 3
  end },
  { "advanced.distribute_concat: xs must be a list of blobs, got an empty table", function()
    flow.advanced.distribute_concat({})
  end },
  { "model 'unused': save: it has no variables yet", function()
    flow.model("unused", function(x) return x end):save("/nowhere")
  end },
  { "data.batches: source must be a data set as load_mnist gives it, or a list of NdArrays, got an "
    .. "empty table", function() flow.data.batches({}, { batch_size = 2 }) end },
  { "data.save_sound: sound must be an NdArray of shape (samples) or (channels, samples), got an "
    .. "NdArray (1, 2, 3)", function() flow.data.save_sound("a", nd.ones { 1, 2, 3 }, 8000) end },
  { "data.save_sound: sound must be an NdArray of shape (samples) or (channels, samples), got an "
    .. "NdArray (0)", function() flow.data.save_sound("a", nd.ones { 0 }, 8000) end },
  { "data.save_sound: sound must have at most 64 channels and 2^28 samples, got (65, 3)", function()
    helper.written(function(path) flow.data.save_sound(path, nd.ones { 64, 3 }, 8000) end)
    flow.data.save_sound("a", nd.ones { 65, 3 }, 8000)
  end },
  { "data.webdataset: shards must be names of tar files, got none", function()
    flow.data.webdataset({}, {})
  end },
  { "data.webdataset: shards: {5..3} must go up, by less than 100000", function()
    flow.data.webdataset("x-{5..3}.tar", {})
  end },
  { "data.webdataset: shards: {1..100001} must go up, by less than 100000", function()
    flow.data.webdataset("x-{1..100001}.tar", {})
  end },
  { "x-1.tar: No such file", function() flow.data.webdataset("/x-{1..100000}.tar", {}) end },
  { "data.webdataset: shards must be at most 100000", function()
    flow.data.webdataset({ "x-{1..100000}.tar", "y-{1..2}.tar" }, {})
  end },
  { "data.webdataset: columns must be endings, got none", function()
    flow.data.webdataset("x.tar", { columns = {} })
  end },
  { "images must not be empty", function()
    flow.data.save_image("a.png", nd.ones { 0, 2, 2, 3 })
  end },
  { "plot: title must be UTF-8 text", function()
    helper.written(function(path) flow.plot({ 1, 2 }, { svg = path, title = "\255" }) end)
  end },
}

-- Losses of two or three tensors of one shape, by the names of these; n: how many they need.
local LOSSES = {
  { flow.smooth_l1_loss, "smooth_l1_loss", "prediction", "label" },
  { flow.nn.sigmoid_focal_loss, "nn.sigmoid_focal_loss", "inputs", "targets" },
  { flow.nn.cosine_embedding_loss, "nn.cosine_embedding_loss", "input1", "input2", n = 3 },
  { flow.nn.margin_ranking_loss, "nn.margin_ranking_loss", "input1", "input2", "target" },
  { flow.nn.triplet_margin_loss, "nn.triplet_margin_loss", "anchor", "positive", "negative" },
}
for name in ("l1_loss mse_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits "
  .. "kl_div hinge_loss hinge_embedding_loss dice_loss"):gmatch "%S+" do
  LOSSES[#LOSSES + 1] = { flow.nn[name], "nn." .. name, "input", "target" }
end

local BODIES = {
  { "layers.multi_head_attention: num_kv_heads must divide num_heads 4, got 3", { 2, 3, 8 },
    function(x) return flow.layers.multi_head_attention(x, 4, { num_kv_heads = 3 }) end },
  { "num_heads must divide the size 8 of inputs unless head_size is given, got 3", { 2, 3, 8 },
    function(x) return flow.layers.multi_head_attention(x, 3) end },
  { "layers.batch_normalization: inputs must have two or more axes, got shape (3)", { 3 },
    function(x) return flow.layers.batch_normalization(x) end },
  { "layers.prelu: inputs must have two or more axes, got shape (3)", { 3 },
    function(x) return flow.layers.prelu(x) end },
  { "nn.InstanceNorm2d: x must have 4 axes, got shape (2, 3, 4, 4, 4)", { 2, 3, 4, 4, 4 },
    function(x) return flow.nn.InstanceNorm2d(x) end },
  { "layers.lstm: dropout must be a number from 0 to below 1, got 1", { 2, 3, 4 },
    function(x) return (flow.layers.lstm(x, 5, { dropout = 1 })) end },
  { "layers.gru: h0 must have shape (2, 2, 5) (layers * directions, batch, units), got (1, 2, 5)",
    { 2, 3, 4 }, function(x)
      return (flow.layers.gru(x, 5, { bidirectional = true, h0 = flow.zeros { 1, 2, 5 } }))
    end },
  { "advanced.distribute_concat: axis must be from 0 to 0, got 1", { 2 }, function(x)
    return flow.advanced.distribute_concat({ x }, { axis = 1 })
  end },
  { "blob 'x' is no function, and cannot be iterated", { 2 }, function(x) return x() end },
  { "axis 0 of (2) must have a whole number as its index, got number 1.5", { 2 },
    function(x) return x[{ 1.5 }] end },
  { "must have a number, or a list such as {2, 5} or {}, got string 'a'", { 2 },
    function(x) return x[{ "a" }] end },
  { "must have a whole number other than 0 as its step, got number 0", { 2 },
    function(x) return x[{ { 1, 2, 0 } }] end },
  { "must have a whole number other than 0 as its step, got number 0.5", { 2 },
    function(x) return x[{ { 1, 2, 0.5 } }] end },
  { "the list must have an entry for each of the axes of (2) at most, got 2", { 2 },
    function(x) return x[{ 1, 1 }] end },
  { "placement: ids must not be empty", { 2 }, function(x)
    flow.scope.placement("cpu", {}, function() end)
    return x
  end },
  { "layers.lstm: num_layers must be a whole number from 1 to 1000, got 1000000", { 2, 3, 4 },
    function(x) return (flow.layers.lstm(x, 5, { num_layers = 1e6 })) end },
  { "momentum must be a number from 0 to 1, got 1.5", { 2, 2 }, function(x)
    return (flow.quantization.moving_average_min_maxObserver(x, { momentum = 1.5 }))
  end },
}

describe("functions refuse what they cannot take:", function()
  for _, case in ipairs(ARRAYS) do
    it(case[1], function() helper.fails(case[2], case[1]) end)
  end
  for _, case in ipairs(BODIES) do
    it(case[1], function()
      helper.fails(function() in_body(case[2], case[3]) end, case[1])
    end)
  end

  for _, loss in ipairs(LOSSES) do
    it("shapes that differ, for " .. loss[2], function()
      for i = 4, #loss do
        local given = { nd.zeros { 2, 3 }, nd.zeros { 2, 3 }, nd.zeros { 2, 3 } }
        given[i - 2] = nd.zeros { 2, 2 }
        helper.fails(function() loss[1](unpack(given, 1, loss.n or #loss - 2)) end,
          ("%s: %s must be of shape (2, 3) like %s, got (2, 2)"):format(loss[2], loss[i], loss[3]))
      end
      local wrong = { 3, nd.zeros { 2 }, nd.zeros { 2 } }
      helper.fails(function() loss[1](unpack(wrong, 1, loss.n or #loss - 2)) end,
        ("%s: %s must be a blob or an NdArray, got number 3"):format(loss[2], loss[3]))
    end)
  end
end)
