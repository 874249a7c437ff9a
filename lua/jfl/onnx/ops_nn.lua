-- ONNX's ops of networks: convolutions, pools, normalizations, softmax, attention.
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local shapes = require "jfl.onnx.ops_shape"
local values = require "jfl.onnx.values"

local op, cast, reshape, flow = call.op, values.cast, values.reshape, values.flow

local ops = {}

-- ---- windows ----

-- What a node says about its window over n axes: kernel, strides, dilations, and cells before and
-- after each axis.
local function window_of(n, x, kernel)
  local count = #kernel
  local w = { kernel = kernel, strides = n:attr("strides", values.fill(count, 1)),
    dilations = n:attr("dilations", values.fill(count, 1)), pads = {} }
  local given, auto = n:attr "pads", n:attr("auto_pad", "NOTSET")
  for i = 1, count do
    local before, after = 0, 0
    if auto == "SAME_UPPER" or auto == "SAME_LOWER" then
      local extent = x.shape[i + 2]
      local cells = math.ceil(extent / w.strides[i])
      local all = math.max(0,
        (cells - 1) * w.strides[i] + (kernel[i] - 1) * w.dilations[i] + 1 - extent)
      before, after = math.floor(all / 2), math.ceil(all / 2)
      if auto == "SAME_LOWER" then before, after = after, before end
    elseif given and auto ~= "VALID" then
      before, after = given[i], given[count + i]
    end
    w.pads[2 * i - 1], w.pads[2 * i] = before, after
  end
  return w
end

local function check_rank(n, x, most)
  local count = #x.shape - 2
  if count < 1 or count > most then
    n:fail("x must have three to %s axes, got shape %s", most == 3 and "five" or "four",
      args.shape_text(x.shape))
  end
  return count
end

function ops.Conv(n, x, w, b)
  local count = check_rank(n, x, 3)
  local s = w.shape
  local at = window_of(n, x, n:attr("kernel_shape", { unpack(s, 3) }))
  local y = op[("conv%dd"):format(count)](x, w, { strides = at.strides, padding = at.pads,
    dilations = at.dilations, groups = n:attr("group", 1) })
  return b and op.bias_add(y, b) or y
end

-- The sizes of ConvTranspose, whose pads cut, and may be asked for by the size of the result.
local function transposed_pads(n, x, kernel, w, more)
  local shape, auto = n:attr "output_shape", n:attr("auto_pad", "NOTSET")
  if not shape and auto ~= "SAME_UPPER" and auto ~= "SAME_LOWER" then return w.pads end
  local pads = {}
  for i = 1, #kernel do
    local extent = x.shape[i + 2]
    local all = w.strides[i] * (extent - 1) + more[i] + (kernel[i] - 1) * w.dilations[i] + 1
    local size = shape and shape[#shape - #kernel + i] or extent * w.strides[i]
    local cut = all - size
    local half = cut / 2
    local before = auto == "SAME_UPPER" and math.floor(half) or math.ceil(half)
    if shape and auto == "NOTSET" then before = math.floor(half) end
    if cut < 0 then before = 0 end
    pads[2 * i - 1], pads[2 * i] = before, cut - before
  end
  return pads
end

function ops.ConvTranspose(n, x, w, b)
  local count = check_rank(n, x, 3)
  local kernel = n:attr("kernel_shape", { unpack(w.shape, 3) })
  local at = window_of(n, x, kernel)
  local more = n:attr("output_padding", values.fill(count, 0))
  local pads, sides = transposed_pads(n, x, kernel, at, more), { 0, 0, 0, 0 }
  -- The op makes the whole; what output_padding adds is 0 there, and what pads cut is cut after.
  local y = flow("op.convolutions", ("nn.conv%dd_transpose"):format(count))(x, w, {
    strides = at.strides, padding = "VALID", dilations = at.dilations,
    groups = n:attr("group", 1) })
  for i = 1, count do
    sides[2 * i + 3], sides[2 * i + 4] = -pads[2 * i - 1], more[i] - pads[2 * i]
  end
  y = shapes.pad(n, y, sides, "constant", 0)
  return b and op.bias_add(y, b) or y
end

-- How many windows there are along an axis: the last one may be a part, but begins inside.
local function pool_cells(extent, w, i, ceil)
  local all = extent + w.pads[2 * i - 1] + w.pads[2 * i] - (w.kernel[i] - 1) * w.dilations[i] - 1
  local cells = (ceil and math.ceil or math.floor)(all / w.strides[i]) + 1
  if ceil and (cells - 1) * w.strides[i] >= extent + w.pads[2 * i - 1] then cells = cells - 1 end
  return cells
end

-- A pool over one, two or three axes, without windows that begin behind the input.
local function pool(kind, x, w, ceil, cells)
  local count = #cells
  local o = { ksize = w.kernel, strides = w.strides, padding = w.pads, ceil_mode = ceil }
  local y = count == 2 and op[kind .. "_pool2d"](x, o)
    or flow("op.pools", ("nn.%s_pool%dd"):format(kind, count))(x, o)
  for i = 1, ceil and count or 0 do y = values.slice(y, i + 1, 0, cells[i]) end
  return y
end

local function all_cells(x, w, ceil)
  local cells = {}
  for i = 1, #w.kernel do cells[i] = pool_cells(x.shape[i + 2], w, i, ceil) end
  return cells
end

-- What `take` makes of two cells, of all cells of each window, which may be distant: x is read with
-- steps, once for each cell of the window.
local function by_cells(n, x, w, number, ceil, take)
  local count, sides = #w.kernel, { 0, 0, 0, 0 }
  local size, y = { x.shape[1], x.shape[2] }, nil
  for i = 1, count do
    local cells = pool_cells(x.shape[i + 2], w, i, ceil)
    local reach = (cells - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1
    sides[2 * i + 3] = w.pads[2 * i - 1]
    sides[2 * i + 4] = math.max(0, reach - x.shape[i + 2] - w.pads[2 * i - 1])
    size[i + 2] = cells
  end
  local whole = shapes.pad(n, x, sides, "constant", number)
  for cell = 0, n:times(values.count(w.kernel), "cells of the window", 10000) - 1 do
    local begin, step, rest = { 0, 0 }, { 1, 1 }, cell
    for i = count, 1, -1 do
      begin[i + 2], step[i + 2] = rest % w.kernel[i] * w.dilations[i], w.strides[i]
      rest = math.floor(rest / w.kernel[i])
    end
    local part = op.strided_slice(whole, { begin = begin, step = step, size = size })
    y = y and take(y, part) or part
  end
  return y
end

local function has_distance(w)
  for _, d in ipairs(w.dilations) do
    if d ~= 1 then return true end
  end
end

function ops.MaxPool(n, x)
  local dtype = x.dtype
  check_rank(n, x, 3)
  if n:wants(2) then n:fail("its second result, the places, is not there") end
  local w, ceil = window_of(n, x, n:need "kernel_shape"), n:flag "ceil_mode"
  if dtype == "int8" or dtype == "uint8" then x = cast(x, "float32") end
  if has_distance(w) then
    return cast(by_cells(n, x, w, -math.huge, ceil, op.maximum), dtype)
  end
  return cast(pool("max", x, w, ceil, all_cells(x, w, ceil)), dtype)
end

function ops.AveragePool(n, x)
  local count = check_rank(n, x, 3)
  local w, ceil = window_of(n, x, n:need "kernel_shape"), n:flag "ceil_mode"
  local sides, inside, cells = { 0, 0, 0, 0 }, n:flag "count_include_pad", all_cells(x, w, ceil)
  if inside then
    for i = 1, 2 * count do sides[i + 4], w.pads[i] = w.pads[i], 0 end
    x = shapes.pad(n, x, sides, "constant", 0)
  end
  if has_distance(w) then
    local one = op.add(op.multiply(x, 0), 1)
    return op.divide(by_cells(n, x, w, 0, ceil, op.add), by_cells(n, one, w, 0, ceil, op.add))
  end
  return pool("avg", x, w, ceil, cells)
end

function ops.LpPool(n, x)
  check_rank(n, x, 3)
  local w, p = window_of(n, x, n:need "kernel_shape"), n:attr("p", 2)
  local powers = p == 2 and op.square(x) or op.pow(op.abs(x), p)
  local sum = by_cells(n, powers, w, 0, n:flag "ceil_mode", op.add)
  return p == 2 and op.sqrt(sum) or op.pow(sum, 1 / p)
end

local function spatial(x)
  local axes = {}
  for axis = 2, #x.shape - 1 do axes[#axes + 1] = axis end
  return { axis = axes, keepdims = true }
end

function ops.GlobalAveragePool(_, x) return op.reduce_mean(x, spatial(x)) end
function ops.GlobalMaxPool(_, x) return op.reduce_max(x, spatial(x)) end

function ops.GlobalLpPool(n, x)
  local p = n:attr("p", 2)
  return op.pow(op.reduce_sum(op.pow(op.abs(x), p), spatial(x)), 1 / p)
end

-- ---- normalizations ----

-- A line with a number for each channel, for x.
local function line(v, x)
  local shape = values.fill(#x.shape, 1)
  shape[2] = values.count(v.shape)
  return reshape(v, shape)
end

-- The statistics of the batch, and the running ones that follow from them.
local function of_batch(n, x, mean, variance)
  local axes, keep = { 0 }, n:attr("momentum", 0.9)
  for axis = 2, #x.shape - 1 do axes[#axes + 1] = axis end
  local m, v = flow("op.norms", "nn.moments")(x, axes)
  local function follow(old, new)
    return op.add(op.multiply(old, keep), op.multiply(new, 1 - keep))
  end
  return m, v, follow(mean, m), follow(variance, v)
end

function ops.BatchNormalization(n, x, scale, bias, mean, variance)
  local epsilon = n:attr("epsilon", 1e-5)
  local more = {}
  if n.updates then
    local keep = { momentum = n:attr("momentum", 0.9) }
    local y, m, v = op.batch_norm(x, scale, bias, { axis = 1, epsilon = epsilon })
    op.moving_average(mean, m, keep)
    op.moving_average(variance, v, keep)
    return y
  elseif n:flag "training_mode" then
    mean, variance, more[1], more[2] = of_batch(n, x, mean, variance)
  end
  local y = require("jfl.op.norms").fixed("onnx.load", x, { axis = 1, epsilon = epsilon,
    gamma = scale, beta = bias, mean = mean, variance = variance })
  return cast(y, x.dtype), more[1], more[2]
end

local function grouped(n, x, scale, bias, groups)
  local epsilon, s = n:attr("epsilon", 1e-5), x.shape
  local rows = reshape(x, { s[1], groups, values.count(s, 2) / groups })
  local y = reshape(op.row_norm(rows, { axis = 2, epsilon = epsilon }), s)
  if values.count(scale.shape) ~= s[2] then          -- one number for a group, before opset 21
    local each = s[2] / groups
    local function spread(v)
      return reshape(values.expand(reshape(v, { groups, 1 }), { groups, each }), { s[2] })
    end
    scale, bias = spread(scale), spread(bias)
  end
  return op.add(op.multiply(y, line(scale, x)), line(bias, x))
end

function ops.InstanceNormalization(n, x, scale, bias)
  return grouped(n, x, scale, bias, x.shape[2])
end

function ops.GroupNormalization(n, x, scale, bias)
  return grouped(n, x, scale, bias, n:need "num_groups")
end

-- What scale and bias are where they do not lie along the last axes alone.
local function scaled(y, scale, bias)
  y = scale and op.multiply(y, scale) or y
  return bias and op.add(y, bias) or y
end

local function is_like_rows(v, x, axis)
  if not v then return true end
  local s = v.shape
  if #s ~= #x.shape - axis then return false end
  for i = 1, #s do
    if s[i] ~= x.shape[axis + i] then return false end
  end
  return true
end

function ops.LayerNormalization(n, x, scale, bias)
  local axis, epsilon = n:axis(n:attr("axis", -1), #x.shape), n:attr("epsilon", 1e-5)
  local fits = is_like_rows(scale, x, axis) and is_like_rows(bias, x, axis)
  local rows = { axis = axis, epsilon = epsilon, gamma = fits and scale or nil,
    beta = fits and bias or nil }
  local y
  if axis == #x.shape - 1 and values.has_rows(x) then
    rows.axis = 1
    y = values.of_rows(require("jfl.op.norms").rows(values.rows(x), rows), x.shape)
  else
    y = require("jfl.op.norms").rows(x, rows)
  end
  if not fits then y = scaled(y, scale, bias) end
  if not n:wants(2) and not n:wants(3) then return y end
  local axes = {}
  for i = axis, #x.shape - 1 do axes[#axes + 1] = i end
  local mean, variance = flow("op.norms", "nn.moments")(x, axes, { keepdims = true })
  return y, mean, op.rsqrt(op.add(variance, epsilon))
end

function ops.RMSNormalization(n, x, scale)
  local axis, epsilon = n:axis(n:attr("axis", -1), #x.shape), n:attr("epsilon", 1e-5)
  local fits = is_like_rows(scale, x, axis)
  local y = require("jfl.op.norms").rows(x, { axis = axis, epsilon = epsilon, center = false,
    gamma = fits and scale or nil })
  return fits and y or scaled(y, scale)
end

function ops.LpNormalization(n, x)
  local axis, p = n:axis(n:attr("axis", -1), #x.shape), n:attr("p", 2)
  local o = { axis = { axis }, keepdims = true }
  local norm = p == 1 and op.reduce_sum(op.abs(x), o)
    or flow("op.functions", "math.reduce_euclidean_norm")(x, o)
  local zero = op.equal(norm, 0)
  return op.divide(x, op.where(zero, op.add(norm, 1), norm))
end

function ops.MeanVarianceNormalization(n, x)
  local axes = n:axes(n:attr("axes", { 0, 2, 3 }), #x.shape)
  local mean, variance = flow("op.norms", "nn.moments")(x, axes, { keepdims = true })
  return op.divide(op.subtract(x, mean), op.add(op.sqrt(variance), 1e-9))
end

function ops.LRN(n, x)
  return flow("op.norms", "nn.local_response_norm")(x, { size = n:need "size",
    alpha = n:attr("alpha", 1e-4), beta = n:attr("beta", 0.75), k = n:attr("bias", 1) })
end

-- ---- softmax ----

-- Before opset 13 all axes from one on count as one.
local function over_rows(own)
  return function(n, x)
    local axis = n:axis(n:attr("axis", n.opset < 13 and 1 or -1), math.max(1, #x.shape))
    if n.opset >= 13 or axis == #x.shape - 1 then return own(x, axis) end
    local s = x.shape
    local flat = reshape(x, { values.count(s, 1, axis), values.count(s, axis + 1) })
    return reshape(own(flat, 1), s)
  end
end

local function softmax(x, axis) return op.softmax(x, { axis = axis }) end
local function log_softmax(x, axis) return op.logsoftmax(x, { axis = axis }) end
ops.Softmax, ops.LogSoftmax = over_rows(softmax), over_rows(log_softmax)

ops.Hardmax = over_rows(function(x, axis)
  local hot = op.one_hot(op.argmax(x, { axis = axis }), { depth = x.shape[axis + 1], axis = axis })
  return cast(hot, x.dtype)
end)

-- ---- dropout ----

ops.Dropout = { function(n, x, ratio, training)
  local rate = n.opset < 12 and n:attr("ratio", 0.5) or n:number(ratio, "ratio") or 0.5
  local trains = training and n:number(training, "training_mode") ~= 0
  if (trains or n.dropout) and rate > 0 and not n:wants(2) then
    return flow("op.dropout", "nn.dropout")(x, rate, not n.dropout and { training = true } or {})
  end
  if trains and rate > 0 then n:fail("its second result, the mask, is not there in training") end
  return x, n:wants(2) and values.expand(values.scalar(1, "int8"), x.shape) or nil
end, static = { 2, 3 } }

-- ---- losses ----

local function nll(n, x, target, weight)
  local s, ignored = x.shape, n:attr "ignore_index"
  local index = cast(target, "int64")
  local keep = ignored and op.not_equal(index, ignored)
  if keep then index = op.where(keep, index, op.multiply(index, 0)) end
  local one = { unpack(s) }
  one[2] = 1
  local picked = reshape(op.dim_gather(x, reshape(index, one), { dim = 1 }), target.shape)
  local loss, w = op.negative(picked), nil
  if weight then w = op.gather(weight, index, { axis = 0 }) end
  if keep then
    local kept = cast(keep, x.dtype)
    w = w and op.multiply(w, kept) or kept
  end
  if w then loss = op.multiply(loss, w) end
  local how = n:attr("reduction", "mean")
  if how == "none" then return loss end
  local function total(v)
    return reshape(op.reduce_sum(v, { axis = values.steps(#v.shape) }), {})
  end
  if how == "sum" then return total(loss) end
  return op.divide(total(loss), w and total(w) or values.count(target.shape))
end

ops.NegativeLogLikelihoodLoss = nll
function ops.SoftmaxCrossEntropyLoss(n, x, target, weight)
  local logs = log_softmax(x, 1)
  return nll(n, logs, target, weight), n:wants(2) and logs or nil
end

return ops
