-- flow.nn: losses that are made of ops. Those with a Loss at the end of their names are OneFlow's
-- names, which are accepted.
---@box combined_margin_loss ctc_loss nn.BCELoss=nn.binary_cross_entropy
---@box nn.BCEWithLogitsLoss=nn.binary_cross_entropy_with_logits nn.KLDivLoss=nn.kl_div
---@box nn.L1Loss=nn.l1_loss nn.MSELoss=nn.mse_loss nn.MarginRankingLoss=nn.margin_ranking_loss
---@box nn.TripletMarginLoss=nn.triplet_margin_loss nn.binary_cross_entropy
---@box nn.binary_cross_entropy_with_logits nn.cosine_embedding_loss nn.cross_entropy nn.dice_loss
---@box nn.hinge_embedding_loss nn.hinge_loss nn.huber_loss nn.kl_div nn.l1_loss
---@box nn.margin_ranking_loss nn.mse_loss nn.nll_loss nn.sigmoid_focal_loss
---@box nn.softmax_cross_entropy_with_logits nn.sparse_cross_entropy nn.triplet_margin_loss
---@box smooth_l1_loss
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"

local op = call.op

local losses = {}

local TENSOR = "Tensor"
local REDUCTION = { "reduction", "mean, sum or none", "mean",
  words = { "mean", "sum", "none" } }
local NO_REDUCTION = { "reduction", "mean, sum or none", "none", words = REDUCTION.words }

-- Fails unless the tensors of parameters with a field `like` have the shape of the one it names.
local function check_alike(who, o, params)
  for _, param in ipairs(params) do
    local name, first = param[1], param.like
    if first and not tensors.same(o[first].shape, o[name].shape) then
      core.fail("%s: %s must be of shape %s like %s, got %s", who, name,
        args.shape_text(o[first].shape), first, args.shape_text(o[name].shape))
    end
  end
end

local REDUCERS = { mean = "reduce_mean", sum = "reduce_sum" }

-- The mean or sum of all losses, or the losses themselves, named as the call says.
local function reduced(o, y)
  local reducer = REDUCERS[o.reduction]
  if reducer then return (op[reducer](y, { name = o.name })) end
  return o.name and (op.identity(y, { name = o.name })) or y
end

-- Defines a loss: body gets the options and gives a loss for each element. Tensors with a field
-- `like` have the shape of the parameter that it names.
local function define(path, doc, params, body)
  losses[path:match "[^.]+$"] = tensors.define(path, doc, params, function(o, who)
    check_alike(who, o, params)
    return reduced(o, body(o, who))
  end)
end

local function input(name, doc, like) return { name, doc, type = TENSOR, like = like } end
local INPUT = input("input", "what the network gives")
local TARGET = input("target", "what it should give, of the same shape", "input")

-- ---- distances ----

define("nn.l1_loss", "The magnitude of input - target.", { INPUT, TARGET, REDUCTION },
  function(o)
    return (op.abs((op.subtract(o.input, o.target))))
  end)

define("nn.mse_loss", "The square of input - target.", { INPUT, TARGET, REDUCTION },
  function(o)
    return (op.squared_difference(o.input, o.target))
  end)

define("smooth_l1_loss", "d^2 / (2 beta) where the distance d of prediction and label is below "
  .. "beta, and d - beta / 2 elsewhere.", {
    input("prediction", "what the network gives"),
    input("label", "of the same shape", "prediction"),
    { "beta", "the distance where the parabola ends; 0: there is none", 1, type = "number",
      range = "a number of at least 0" },
    NO_REDUCTION,
  }, function(o)
    return (op.smooth_l1_loss(o.prediction, o.label, { beta = o.beta }))
  end)

define("nn.huber_loss", "d^2 / 2 where the distance d of input and target is below delta, and "
  .. "delta (d - delta / 2) elsewhere.", {
    INPUT, TARGET, { "delta", "the distance where the parabola ends", 1, type = "number",
      range = "a number above 0" }, REDUCTION,
  }, function(o)
    local y = op.smooth_l1_loss(o.input, o.target, { beta = o.delta })
    return o.delta == 1 and y or (op.multiply(y, o.delta))
  end)

-- ---- probabilities ----

-- Fails unless the argument, if it is given, broadcasts to losses of the input's shape.
local function need_weight(who, o, name)
  if o[name] == nil then return end
  local shape, losses_shape = o[name].shape, o.input.shape
  for i = 0, #shape - 1 do
    local extent = shape[#shape - i]
    if extent ~= 1 and extent ~= losses_shape[#losses_shape - i] then
      core.fail("%s: %s must broadcast to the losses' shape %s, got shape %s", who, name,
        args.shape_text(losses_shape), args.shape_text(shape))
    end
  end
end

local function weighted(who, o, y)
  need_weight(who, o, "weight")
  return o.weight ~= nil and (op.multiply(y, o.weight)) or y
end

local function one_minus(x) return (op.subtract(1, x)) end

define("nn.binary_cross_entropy", "The cross entropy of target and input, both probabilities.", {
  input("input", "probabilities"), TARGET,
  { "weight", "a tensor that multiplies the losses, broadcast to them", args.none, type = TENSOR },
  REDUCTION,
}, function(o, who)
  local y = op.add(op.xlogy(o.target, o.input), op.xlogy(one_minus(o.target), one_minus(o.input)))
  return weighted(who, o, (op.negative(y)))
end)

define("nn.binary_cross_entropy_with_logits", "The cross entropy of target, a probability, and "
  .. "sigmoid(input).", {
  input("input", "logits"), TARGET,
  { "weight", "a tensor that multiplies the losses, broadcast to them", args.none, type = TENSOR },
  { "pos_weight", "a tensor that multiplies the part of target, broadcast to the losses",
    args.none, type = TENSOR },
  REDUCTION,
}, function(o, who)
  if o.pos_weight == nil then
    local labels = op.cast(o.target, { dtype = o.input.dtype })
    return weighted(who, o, (op.sigmoid_cross_entropy_with_logits(labels, o.input)))
  end
  need_weight(who, o, "pos_weight")
  local positive = op.multiply(o.pos_weight, o.target)
  local rest = one_minus(o.target)
  local y = op.add(op.multiply(rest, o.input),
    op.multiply(op.add(rest, positive), op.softplus(op.negative(o.input))))
  return weighted(who, o, (y))
end)

define("nn.kl_div", "target (log target - input): how far the distribution of target is from "
  .. "that of input.", {
    input("input", "logarithms of probabilities"),
    input("target", "probabilities, or with log_target their logarithms", "input"),
    { "log_target", "whether target holds logarithms", false, type = "boolean" },
    { "reduction", "mean, sum, none or batchmean: the mean of the samples' sums, the divergence",
      "mean", words = { "mean", "sum", "none", "batchmean" } },
  }, function(o, who)
    local samples = o.input.shape[1]
    local p = o.log_target and op.exp(o.target) or op.relu(o.target)
    local y = o.log_target and op.multiply(p, (op.subtract(o.target, o.input)))
      or op.subtract(op.xlogy(p, p), (op.multiply(p, o.input)))
    if o.reduction ~= "batchmean" then return y end
    args.fits((samples or 0) >= 1, o.input.shape,
      "%s: input must have one or more samples for batchmean, got shape", who)
    o.reduction = "sum"
    return (op.multiply(y, 1 / samples))
  end)

-- The element of each sample at its label: of x (..., classes), for labels (...).
local function picked(x, labels)
  local shape = labels.shape
  if #shape ~= #x.shape then labels = op.expand_dims(labels, { axis = #shape }) end
  local y = op.dim_gather(x, labels, { dim = #x.shape - 1 })
  return (op.reshape(y, { shape = shape }))
end

define("nn.sparse_cross_entropy", "Minus the logarithm of the probability at the label, for each "
  .. "sample.", {
    input("labels", "int32 or int64 (...)"), input("prediction", "probabilities (..., classes)"),
  }, function(o)
    o.reduction = "none"
    local p = picked(o.prediction, o.labels)
    return (op.negative(op.log(op.maximum(p, 1e-20))))
  end)

-- Multiplies the losses of samples by the weights of their labels, and those of one label by 0;
-- the mean is that of what is left.
local function weighted_samples(who, o, labels, mask, y)
  local weight = mask and op.cast(mask, { dtype = y.dtype })
  if o.weight ~= nil then
    local classes, shape = o.input.shape, o.weight.shape
    args.fits(#shape == 1 and shape[1] == classes[#classes], shape,
      "%s: weight must be a line of %d, one for each class, got shape", who, classes[#classes])
    local own = op.gather(o.weight, labels)
    weight = weight and op.multiply(weight, own) or own
  end
  if not weight then return y end
  y = op.multiply(y, weight)
  if o.reduction ~= "mean" then return y end
  o.reduction = "sum"
  return (op.divide(y, op.reduce_sum(weight)))
end

-- labels with 0 in place of the label that is left out, and where that is not; or labels alone.
local function without_ignored(who, o, labels)
  if o.ignore_index == nil then return labels end
  args.expect(who, "ignore_index", o.ignore_index, "number")
  local mask = op.not_equal(labels, o.ignore_index)
  return op.where(mask, labels, 0), mask
end

local CLASS_WEIGHT = { "weight", "(classes), the weight of each", args.none, type = TENSOR }
local IGNORE = { "ignore_index", "a label whose samples do not count", args.none,
  type = "integer" }

define("nn.nll_loss", "Minus the element of input at the label: the loss of networks that end in "
  .. "logsoftmax.", {
    input("input", "logarithms of probabilities (..., classes)"),
    input("target", "labels, int32 or int64 (...)"), CLASS_WEIGHT, IGNORE, REDUCTION,
  }, function(o, who)
    local labels, mask = without_ignored(who, o, o.target)
    return weighted_samples(who, o, labels, mask, (op.negative(picked(o.input, labels))))
  end)

local sparse_entropy = core.op "sparse_softmax_cross_entropy_with_logits"

define("nn.cross_entropy", "The softmax cross entropy of logits, which come first here, and "
  .. "labels.", {
    input("input", "logits (..., classes)"),
    input("target", "labels, int32 or int64 (...); or probabilities like input"),
    CLASS_WEIGHT, IGNORE,
    { "label_smoothing", "the share of the target that all classes get alike", 0,
      type = "number" },
    REDUCTION,
  }, function(o, who)
    if o.target.dtype:find "float" then
      args.check(#o.target.shape >= #o.input.shape, "%s: labels must be whole numbers of classes, "
        .. "int32 or int64, got %s; labels:astype \"int32\" makes them so", who, o.target.dtype)
      args.check(o.weight == nil and o.ignore_index == nil, "%s: target must hold labels where "
        .. "weight or ignore_index is given, got %s", who, o.target.dtype)
      return (losses.softmax_cross_entropy_with_logits(o.target, o.input,
        { label_smoothing = o.label_smoothing }))
    end
    local labels, mask = without_ignored(who, o, o.target)
    local y = sparse_entropy(labels, o.input, { label_smoothing = o.label_smoothing })
    return weighted_samples(who, o, labels, mask, y)
  end)

local dense_entropy = core.op "softmax_cross_entropy_with_logits"

losses.softmax_cross_entropy_with_logits = tensors.define("nn.softmax_cross_entropy_with_logits",
  "Minus the sum over the last axis of labels times the logarithm of softmax(logits).", {
    input("labels", "probabilities (..., classes)"), input("logits", "of the same shape"),
    { "label_smoothing", "the share of the labels that all classes get alike", 0,
      type = "number", range = "a number from 0 to 1" },
  }, function(o, who)
    local labels, s = o.labels, o.label_smoothing
    if s > 0 then
      local classes = labels.shape[#labels.shape] or 1
      labels = op.add(op.multiply(labels, 1 - s), s / classes)
    end
    return dense_entropy(labels, o.logits, { name = call.full_name(who, o.name) })
  end)

define("nn.sigmoid_focal_loss", "The cross entropy of sigmoid(inputs) and targets, times how wrong "
  .. "it is, to the power gamma (Lin et al., arXiv:1708.02002).", {
    input("inputs", "logits"), input("targets", "0 or 1, of the same shape", "inputs"),
    { "alpha", "the weight of targets 1; that of 0 is 1 - alpha; below 0: no weights", 0.25,
      type = "number" },
    { "gamma", "how much what is right counts less", 2, type = "number",
      range = "a number of at least 0" }, NO_REDUCTION,
  }, function(o)
    local t = op.cast(o.targets, { dtype = o.inputs.dtype })
    local p = op.sigmoid(o.inputs)
    local wrong = op.add(op.multiply(p, one_minus(t)), op.multiply(one_minus(p), t))
    local y = op.multiply(op.sigmoid_cross_entropy_with_logits(t, o.inputs),
      (op.pow(wrong, o.gamma)))
    if o.alpha < 0 then return y end
    local share = op.add(op.multiply(t, 2 * o.alpha - 1), 1 - o.alpha)
    return (op.multiply(share, y))
  end)

-- ---- margins ----

define("nn.margin_ranking_loss", "max(0, margin - target (input1 - input2)).", {
  input("input1", "scores"), input("input2", "scores of the same shape", "input1"),
  input("target", "1 where input1 should be larger, -1 where input2 should", "input1"),
  { "margin", "by how much", 0, type = "number" }, REDUCTION,
}, function(o)
  local ahead = op.multiply(o.target, (op.subtract(o.input1, o.input2)))
  return (op.relu(op.subtract(o.margin, ahead)))
end)

-- (sum |x|^p)^(1/p) over axis 1, or over the only one.
local function norm(x, p)
  local axis = { axis = #x.shape > 1 and 1 or -1 }
  if p == 1 then return (op.reduce_sum(op.abs(x), axis)) end
  return call.with_squares(nil, function(_, y)
    if p == 2 then return op.sqrt(op.reduce_sum(op.square(y), axis)) end
    return op.pow(op.reduce_sum(op.pow(op.abs(y), p), axis), 1 / p)
  end, x)
end

define("nn.triplet_margin_loss", "max(0, d(anchor, positive) - d(anchor, negative) + margin), "
  .. "where d is the p-norm of the difference over axis 1, plus eps.", {
    input("anchor", "(samples, numbers)"), input("positive", "like anchor", "anchor"),
    input("negative", "unlike anchor", "anchor"), { "margin", "by how much", 1, type = "number" },
    { "p", "of the norm", 2, type = "number", range = "a number above 0" },
    { "eps", "what is added to each difference", 1e-6, type = "number" },
    { "swap", "whether d(positive, negative) counts where it is smaller than d(anchor, negative)",
      false, type = "boolean" },
    REDUCTION,
  }, function(o, who)
    args.check(#o.anchor.shape > 0, "%s: anchor must have one axis or more, got shape ()", who)
    local function distance(a, b) return norm(op.add(op.subtract(a, b), o.eps), o.p) end
    local far = distance(o.anchor, o.negative)
    if o.swap then far = op.minimum(far, distance(o.positive, o.negative)) end
    return (op.relu(op.add(op.subtract(distance(o.anchor, o.positive), far), o.margin)))
  end)

-- target (1 or -1) chooses between two losses.
local function by_sign(target, positive, negative)
  return (op.where(op.greater(target, 0), positive, negative))
end

define("nn.cosine_embedding_loss", "1 - cos(input1, input2) where target is 1, and "
  .. "max(0, cos - margin) where it is -1.", {
    input("input1", "(samples, numbers)"), input("input2", "of the same shape", "input1"),
    input("target", "1 or -1 for each sample"),
    { "margin", "what may remain", 0, type = "number" }, REDUCTION,
  }, function(o, who)
    local function over(a, b) return (op.reduce_sum(op.multiply(a, b), { axis = -1 })) end
    local function size(a) return (op.add(over(a, a), 1e-12)) end
    local cosine = op.multiply(over(o.input1, o.input2),
      (op.rsqrt(op.multiply(size(o.input1), size(o.input2)))))
    if not tensors.same(cosine.shape, o.target.shape) then
      core.fail("%s: target must be %s, one for each sample, got %s", who,
        args.shape_text(cosine.shape), args.shape_text(o.target.shape))
    end
    return by_sign(o.target, one_minus(cosine), (op.relu(op.subtract(cosine, o.margin))))
  end)

define("nn.hinge_embedding_loss", "input where target is 1, and max(0, margin - input) where it is "
  .. "-1.", {
    input("input", "distances"), input("target", "1 or -1, of the same shape", "input"),
    { "margin", "how far apart others should be", 1, type = "number" }, REDUCTION,
  }, function(o)
    return by_sign(o.target, o.input, (op.relu(op.subtract(o.margin, o.input))))
  end)

define("nn.hinge_loss", "max(0, 1 - target input), as support vector machines have it.", {
  input("input", "scores"), input("target", "1 or -1, of the same shape", "input"), REDUCTION,
}, function(o)
  return (op.relu(op.subtract(1, (op.multiply(o.target, o.input)))))
end)

define("nn.dice_loss", "1 - 2 |input and target| / (|input| + |target|) of each sample's mask.", {
  input("input", "probabilities (samples, ...)"), TARGET,
  { "smooth", "what is added above and below, so that nothing is divided by 0", 1,
    type = "number", range = "a number of at least 0" },
  REDUCTION,
}, function(o, who)
  local axes = {}
  for i = 1, #o.input.shape - 1 do axes[i] = i end
  args.fits(#axes > 0, o.input.shape, "%s: input must have two axes or more, got shape", who)
  local target = op.cast(o.target, { dtype = o.input.dtype })
  local function over(x) return (op.reduce_sum(x, { axis = axes })) end
  local both = op.add(op.multiply(over(op.multiply(o.input, target)), 2), o.smooth)
  return one_minus((op.divide(both, op.add(op.add(over(o.input), over(target)), o.smooth))))
end)

define("ctc_loss", "Minus the logarithm of the probability that each sequence holds its target, "
  .. "with blanks and repetitions (Graves et al., ICML 2006).", {
    input("log_probs", "logarithms of probabilities (times, samples, classes)"),
    input("targets", "labels (samples, labels), or those of all samples in one axis"),
    input("input_lengths", "times of each sample"),
    input("target_lengths", "labels of each sample"),
    { "blank", "the class that stands for no label", 0, type = "integer" },
    { "reduction", "mean, for which each loss is divided by its target's length, sum or none",
      "mean", words = REDUCTION.words },
    { "zero_infinity", "whether losses of targets that cannot be aligned are 0", false },
  }, function(o)
    local y = op.ctc_loss(o.log_probs, o.targets, o.input_lengths, o.target_lengths,
      { blank = o.blank, zero_infinity = o.zero_infinity })
    return o.reduction == "mean" and (op.divide(y, (op.maximum(o.target_lengths, 1)))) or y
  end)

losses.combined_margin_loss = tensors.define("combined_margin_loss", "cos(m1 acos(x) + m2) - m3 at "
  .. "each sample's label, and x elsewhere: what the margins of ArcFace, CosFace and SphereFace "
  .. "make of cosines before a softmax.", {
    input("x", "cosines (samples, classes)"), input("label", "int32 or int64 (samples)"),
    { "m1", "what multiplies the angle", 1, type = "number" },
    { "m2", "what is added to the angle", 0, type = "number" },
    { "m3", "what is subtracted from the cosine", 0, type = "number" },
  }, function(o, who)
    local x = o.x
    args.fits(#x.shape == 2, x.shape, "%s: x must be (samples, classes), got", who)
    local own = op.one_hot(o.label, { depth = x.shape[2], dtype = "int8" })
    local y = x
    if o.m1 ~= 1 or o.m2 ~= 0 then
      y = op.cos(op.add(op.multiply(op.acos(x), o.m1), o.m2))
    end
    if o.m3 ~= 0 then y = op.subtract(y, o.m3) end
    return op.where(own, y, x, { name = o.name })
  end)

return losses
