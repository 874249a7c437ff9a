-- flow.nn: normalizations as functions of tensors.
---@box nn.GroupNorm nn.InstanceNorm1d nn.InstanceNorm2d nn.InstanceNorm3d nn.batch_normalization
---@box nn.layer_norm nn.local_response_norm nn.moments nn.rms_norm
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local tensors = require "jfl.op.tensors"
local trace = require "jfl.job.trace"
local variable = require "jfl.net.variable"

local op, define = call.op, tensors.define

local norms = {}

local TENSOR = "Tensor"

--- An axis of a tensor of that rank, counted from 0.
function norms.axis(who, name, axis, rank) return tensors.axis(who, name, axis, rank) - 1 end

-- ---- statistics that are given ----

-- A line of numbers for each index of one axis, as a tensor that broadcasts over one of that shape.
local function along(who, name, line, axis, shape)
  if #line.shape ~= 1 then return line end
  args.fits(line.shape[1] == shape[axis + 1], line.shape,
    "%s: %s must be (%d), one for each channel, got", who, name, shape[axis + 1])
  local extents = {}
  for i = 1, #shape do extents[i] = i == axis + 1 and line.shape[1] or 1 end
  return (op.reshape(line, extents))
end

--- y = scale (x - mean) / sqrt(variance + variance_epsilon) + offset.
norms.batch_normalization = define("nn.batch_normalization", "Normalizes x by a mean and a "
  .. "variance for each channel, which are given.", {
    { "x", "a blob or NdArray", type = TENSOR },
    { "mean", "a number for each channel", type = TENSOR },
    { "variance", "a number for each channel", type = TENSOR },
    { "offset", "a number for each channel, which is added", args.none, type = TENSOR },
    { "scale", "a number for each channel, which multiplies", args.none, type = TENSOR },
    { "variance_epsilon", "added to the variance", 1e-5, type = "number",
      range = "a number of at least 0" },
    { "axis", "of channels", 1, type = "integer" },
  }, function(o, who)
    local shape = o.x.shape
    local axis = norms.axis(who, "axis", o.axis, #shape)
    local function broadcast(name, line) return along(who, name, line, axis, shape) end
    broadcast("variance", o.variance)
    local factor = op.rsqrt(o.variance + o.variance_epsilon)
    if o.scale then
      broadcast("scale", o.scale)
      factor = op.multiply(o.scale, factor)
    end
    local y = op.multiply(op.subtract(o.x, broadcast("mean", o.mean)), broadcast("scale", factor),
      { name = not o.offset and o.name or nil })
    return o.offset and (op.add(y, broadcast("offset", o.offset), { name = o.name })) or y
  end)

--- Normalizes in jobs where mean and variance are variables, as layers do: y = x f + o, so that f
-- can become part of the filters of a convolution that makes x.
function norms.fixed(who, x, r)
  local function broadcast(line) return along(who, "inputs", line, r.axis, x.shape) end
  local f = op.rsqrt(r.variance + r.epsilon)
  if r.gamma then f = op.multiply(r.gamma, f) end
  local o = op.negative((op.multiply(r.mean, f)))
  if r.beta then o = r.beta + o end
  return (op.add(op.multiply(x, broadcast(f)), broadcast(o), { name = r.name }))
end

--- The mean and the biased variance over some axes.
norms.moments = args.define("nn.moments", "The mean and the biased variance over some axes.", {
  { "x", "a blob or NdArray", type = TENSOR },
  { "axes", "one axis or a list", type = "integer|integer[]" },
  { "keepdims", "whether the axes stay, of extent 1", false, type = "boolean" },
  { "name", "of the op that gives the variance", args.none },
  returns = { TENSOR, TENSOR },
}, function(o, who)
  local axes = {}
  for i, axis in ipairs(type(o.axes) == "table" and o.axes or { o.axes }) do
    axes[i] = norms.axis(who, "axes", axis, #o.x.shape)
  end
  local center
  local variance = call.with_squares(o.name, function(name, x)
    center = op.reduce_mean(x, { axis = axes, keepdims = true })
    local square = op.square((op.subtract(x, center)))
    return op.reduce_mean(square, { axis = axes, keepdims = o.keepdims, name = name })
  end, o.x)
  if o.keepdims and center.dtype == o.x.dtype then return center, variance end
  return op.reduce_mean(o.x, { axis = axes, keepdims = o.keepdims }), variance
end)

-- ---- rows ----

--- Normalizes rows of x; r: axis, groups, epsilon, center, gamma, beta, name.
function norms.rows(x, r)
  local options = { axis = r.axis, groups = r.groups or 0, epsilon = r.epsilon, name = r.name,
    center = r.center, scale = r.gamma ~= nil, shift = r.beta ~= nil }
  local params = { r.gamma or r.beta, r.gamma and r.beta }
  if #params == 0 then return (op.row_norm(x, options)) end
  return (op.row_norm(x, params, options))
end

-- The params that are given, which must be like the last axes of x.
local function check_params(who, o, x, names)
  for _, name in ipairs(names) do
    local p = o[name]
    if p ~= nil then
      for i = 1, #p.shape do
        if #p.shape > #x.shape or p.shape[i] ~= x.shape[#x.shape - #p.shape + i] then
          core.fail("%s: %s must be like the last axes of inputs %s, got %s", who, name,
            args.shape_text(x.shape), args.shape_text(p.shape))
        end
      end
    end
  end
end

local PARAMS_AXIS = { "begin_params_axis", "the first axis of gamma and beta, which their shapes "
  .. "say too", -1, type = "integer" }

--- Layer normalization with given gamma and beta.
norms.layer_norm = define("nn.layer_norm", "Normalizes each row, which is all axes from "
  .. "begin_norm_axis on, by its mean and variance; then gamma multiplies and beta is added.", {
    { "inputs", "a blob or NdArray", type = TENSOR },
    { "gamma", "like the last axes of inputs", args.none, type = TENSOR },
    { "beta", "likewise", args.none, type = TENSOR },
    { "begin_norm_axis", "the first axis of a row; -1 for the last axis alone", 1,
      type = "integer" },
    PARAMS_AXIS,
    { "epsilon", "added to the variance", 1e-5, type = "number",
      range = "a number of at least 0" },
  }, function(o, who)
    local x = o.inputs
    check_params(who, o, x, { "gamma", "beta" })
    norms.axis(who, "begin_params_axis", o.begin_params_axis, #x.shape)
    return norms.rows(x, { axis = norms.axis(who, "begin_norm_axis", o.begin_norm_axis, #x.shape),
      epsilon = o.epsilon, gamma = o.gamma, beta = o.beta, name = o.name })
  end)

--- y = gamma x / sqrt(mean of x^2 + epsilon).
norms.rms_norm = define("nn.rms_norm", "Divides each row, which is all axes from "
  .. "begin_norm_axis on, by the root of the mean of its squares; then gamma multiplies.", {
    { "inputs", "a blob or NdArray", type = TENSOR },
    { "gamma", "like the last axes of inputs", args.none, type = TENSOR },
    { "begin_norm_axis", "the first axis of a row", -1, type = "integer" },
    { "epsilon", "added to the mean of the squares", 1e-6, type = "number",
      range = "a number of at least 0" },
  }, function(o, who)
    local x = o.inputs
    check_params(who, o, x, { "gamma" })
    return norms.rows(x, { axis = norms.axis(who, "begin_norm_axis", o.begin_norm_axis, #x.shape),
      epsilon = o.epsilon, center = false, gamma = o.gamma, name = o.name })
  end)

-- ---- groups of channels, with variables as the original names them ----

-- A param with a number for each of n groups or channels.
local function grouped_param(who, context, name, x, n, default)
  return variable.of_layer(who, context, { name = name, shape = { n }, dtype = x.dtype,
    initializer = default, trainable = true })
end

-- Normalizes groups of the channels, axis 1 of x; with affine there is a gamma and a beta a group.
local function grouped(who, kind, o, groups)
  local rows = { axis = 1, groups = groups, epsilon = o.eps, name = o.name }
  if o.affine then
    local context = trace.need(who)
    local name = trace.name(context, o.name, kind)
    rows.gamma = grouped_param(who, context, name .. "_gamma", o.x, groups,
      initializers.ones_initializer())
    rows.beta = grouped_param(who, context, name .. "_beta", o.x, groups, common.zeros)
  end
  return norms.rows(o.x, rows)
end

local function need_channels(who, x, least)
  if #x.shape >= least then return x.shape[2] end
  core.fail("%s: x must have %d or more axes, got shape %s", who, least, args.shape_text(x.shape))
end

local EPS = { "eps", "added to the variance", 1e-5, type = "number",
  range = "a number of at least 0" }
local GROUP_NAME = { "name", "of the op and of the variables <name>_gamma and <name>_beta",
  args.none }

--- Group normalization as in the original: gamma and beta have a number for each group.
norms.GroupNorm = args.define("nn.GroupNorm", "Normalizes groups of channels by their mean and "
  .. "variance; gamma and beta have a number a group. layers.group_norm has one a channel.", {
    { "x", "(N, C, ...)", type = TENSOR },
    { "num_groups", "how many groups the channels make", 32, type = "integer", least = 1 },
    EPS,
    { "affine", "whether there are gamma and beta", true, type = "boolean" },
    GROUP_NAME,
    returns = TENSOR,
  }, function(o, who)
    local channels = need_channels(who, o.x, 2)
    args.check(channels % o.num_groups == 0, "%s: num_groups must divide the %d channels, got %d",
      who, channels, o.num_groups)
    return grouped(who, "group_norm", o, o.num_groups)
  end)

for axes = 1, 3 do
  local name = ("InstanceNorm%dd"):format(axes)
  --- Instance normalization: a group for each channel.
  norms[name] = args.define("nn." .. name, "Normalizes each channel of each sample by its mean and "
    .. "variance.", {
      { "x", "(N, C" .. (", L"):rep(axes) .. ")", type = TENSOR },
      EPS,
      { "affine", "whether there are gamma and beta, a number for each channel", true,
        type = "boolean" },
      GROUP_NAME,
      returns = TENSOR,
    }, function(o, who)
      local channels = need_channels(who, o.x, 2 + axes)
      args.fits(#o.x.shape == 2 + axes, o.x.shape, "%s: x must have %d axes, got shape",
        who, 2 + axes)
      return grouped(who, "instance_norm" .. axes .. "d", o, channels)
    end)
end

define("nn.local_response_norm", "x / (k + alpha * mean(x^2))^beta, the mean over `size` "
  .. "channels around each, with zeros beyond the first and last (Krizhevsky et al., \"ImageNet "
  .. "classification with deep convolutional neural networks\", 2012, section 3.3).", {
    { "x", "(N, C, ...)", type = TENSOR },
    { "size", "how many channels", type = "integer", least = 1 },
    { "alpha", "share of the mean", 1e-4, type = "number" },
    { "beta", "the exponent", 0.75, type = "number" },
    { "k", "what is added", 1, type = "number" },
  }, function(o, who)
    local channels, shape = need_channels(who, o.x, 3), o.x.shape
    local size = o.size
    local pads = { 0, 0, math.floor(size / 2), math.floor((size - 1) / 2) }
    for i = 5, 2 * #shape do pads[i] = 0 end
    local squares, sum = op.pad(op.square(o.x), { paddings = pads }), nil
    local begin = {}
    for i = 1, #shape do begin[i] = 0 end
    for i = 0, size - 1 do
      begin[2] = i
      local part = op.slice(squares, { begin = { unpack(begin) }, size = { shape[1], channels,
        unpack(shape, 3) } })
      sum = sum and op.add(sum, part) or part
    end
    local divisor = op.pow(op.add(op.multiply(sum, o.alpha / size), o.k), o.beta)
    return op.divide(o.x, divisor, { name = o.name })
  end)

return norms
