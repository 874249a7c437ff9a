-- How jfl's convolutions, pools, products, norms, attention and resizing are written as ONNX.
local builder = require "jfl.onnx.export_builder"
local channels = require "jfl.onnx.export_channels"
local extent = require "jfl.onnx.export_extent"
local shapes = require "jfl.onnx.export_shapes"

local inner, numbers = channels.inner, channels.numbers

local rows = { varying = {} }

-- ---- windows ----

-- The pads of a list, before and after each axis.
local function listed(padding, count, is_last)
  local pads, first = {}, is_last and 2 or 4
  for i = 1, 2 * count do
    pads[i] = #padding == 1 and padding[1] or #padding == count and padding[math.ceil(i / 2)]
      or #padding == 2 * count and padding[i] or padding[first + i]
  end
  return pads
end

-- The pads before and after each axis, as src/op/window.c counts them. w: sizes of the input, the
-- window's cells from its first to its last, and strides.
local function pads_of(n, padding, w, is_last)
  if extent.varies(w.size) then n:refuse("its rows or columns depend on the batch size") end
  if type(padding) == "table" then return listed(padding, #w.size, is_last) end
  local pads = {}
  for i, size in ipairs(w.size) do
    local out = math.ceil(size / w.stride[i])
    local all = math.max((out - 1) * w.stride[i] + w.reach[i] - size, 0)
    if padding == "VALID" then all = 0 end
    local less = math.floor(all / 2)
    pads[2 * i - 1] = padding == "SAME_UPPER" and less or all - less
    pads[2 * i] = all - pads[2 * i - 1]
  end
  return pads
end

-- Pads in ONNX's order: all before, then all after.
local function onnx_pads(pads)
  local before, after = {}, {}
  for i = 1, #pads, 2 do before[#before + 1], after[#after + 1] = pads[i], pads[i + 1] end
  for _, value in ipairs(after) do before[#before + 1] = value end
  return before
end

-- The attributes of a convolution from an input of that size.
local function conv_attributes(n, size, filters)
  local a, count = n.attributes, #size
  local kernel, w = inner(filters.shape, n.is_last), { size = size, reach = {} }
  w.stride = numbers(a.strides, count, 1)
  local dilations = numbers(a.dilations, count, 1)
  for i, cells in ipairs(kernel) do w.reach[i] = (cells - 1) * dilations[i] + 1 end
  local pads = pads_of(n, a.padding, w, n.is_last)
  return { kernel_shape = kernel, strides = w.stride, dilations = dilations, group = a.groups,
    pads = onnx_pads(pads) }, w, pads
end

-- Filters with their channels at axis 1.
local function filters_of(b, n, i)
  if not n.is_last then return n:x(i) end
  return b:transpose(n:x(i), (channels.orders(#n.inputs[i].shape)))
end

local function conv(b, n)
  n.is_last = channels.is_last(n)
  local attributes = conv_attributes(n, inner(n.inputs[1].shape, n.is_last), n.inputs[2])
  local bias, value = n:takes_bias(n.is_last and #n.out.shape - 1 or 1)
  channels.first(b, n, n:x(1), value, function(x, out)
    out("Conv", { x, filters_of(b, n, 2), bias }, attributes)
  end)
end
rows.conv1d, rows.conv2d, rows.conv3d = conv, conv, conv

-- A convolution's gradient for its input, which transposed convolutions are.
local function conv_back(b, n)
  n.is_last = channels.is_last(n)
  local size = inner(n.out.shape, n.is_last)
  local attributes, w, pads = conv_attributes(n, size, n.inputs[1])
  local given, more = inner(n.inputs[2].shape, n.is_last), {}
  for i, e in ipairs(size) do
    local least = (given[i] - 1) * w.stride[i] + w.reach[i] - pads[2 * i - 1] - pads[2 * i]
    more[i] = e - least
  end
  attributes.output_padding = more
  local bias, value = n:takes_bias(n.is_last and #n.out.shape - 1 or 1)
  channels.first(b, n, n:x(2), value, function(x, out)
    out("ConvTranspose", { x, filters_of(b, n, 1), bias }, attributes)
  end)
end
for _, op in ipairs { "conv1d_data_grad", "conv2d_data_grad", "conv3d_data_grad" } do
  rows[op] = conv_back
end

-- Where the last window is partly outside its pads grow, so that ONNX counts as jfl does.
local function grow(pads, w)
  for i, size in ipairs(w.size) do
    local before = pads[2 * i - 1]
    local room = size + before + pads[2 * i] - w.reach[i]
    local start = (math.floor(room / w.stride[i]) + 1) * w.stride[i]
    if room % w.stride[i] ~= 0 and start < size + before then
      pads[2 * i] = start + w.reach[i] - size - before
    end
  end
end

local function pool(op_type, more)
  return function(b, n)
    local a = n.attributes
    n.is_last = channels.is_last(n)
    local w = { size = inner(n.inputs[1].shape, n.is_last) }
    w.reach = numbers(a.ksize, 2, 1)
    w.stride = numbers(#a.strides == 0 and w.reach or a.strides, 2, 1)
    local pads = pads_of(n, a.padding, w, n.is_last)
    if a.ceil_mode and type(a.padding) == "table" then grow(pads, w) end
    local attributes = { kernel_shape = w.reach, strides = w.stride, pads = onnx_pads(pads) }
    for name, value in pairs(more) do attributes[name] = value end
    channels.first(b, n, n:x(1), n.out, function(x, out) out(op_type, { x }, attributes) end)
  end
end
rows.max_pool2d = pool("MaxPool", {})
rows.avg_pool2d = pool("AveragePool", { count_include_pad = 0 })

-- ---- products ----

local function swapped(b, name, rank)
  local perm = {}
  for i = 1, rank do perm[i] = i - 1 end
  perm[rank], perm[rank - 1] = rank - 2, rank - 1
  return b:transpose(name, perm)
end

-- Of two matrices it is a Gemm, together with the bias that is added.
function rows.matmul(b, n)
  local a, left, right = n.attributes, #n.inputs[1].shape, #n.inputs[2].shape
  local x, y = n:x(1), n:x(2)
  if left == 2 and right == 2 then
    local bias, value = n:takes_bias(1)
    if bias or a.transpose_a or a.transpose_b then
      return b:out(value, "Gemm", { x, y, bias }, { transA = a.transpose_a,
        transB = a.transpose_b })
    end
  end
  if a.transpose_a then x = swapped(b, x, left) end
  if a.transpose_b then y = swapped(b, y, right) end
  b:out(n.out, "MatMul", { x, y })
end

function rows.bias_add(b, n)
  local format, rank = n.attributes.data_format or "", #n.out.shape
  local axis = #format > 2 and format:sub(-1) == "C" and rank - 1 or 1
  local bias, axes = n:x(2), {}
  for i = 1, rank - 1 - axis do axes[i] = i end
  if #axes > 0 then bias = b:op("Unsqueeze", { bias, b:ints(axes) }) end
  b:out(n.out, "Add", { n:x(1), bias })
end

-- ---- norms ----

-- y times gamma plus beta, as far as the node has them, is what the node gives.
local function scaled(b, n, y, gamma, beta)
  if gamma then y = b:op("Mul", { y, gamma }) end
  if beta then y = b:op("Add", { y, beta }) end
  b:alias(n.out, y)
end

local function params_of(n)
  local gamma = n.attributes.scale and 2 or nil
  local beta = n.attributes.shift and (gamma and 3 or 2) or nil
  return gamma, beta
end

-- Groups become images of one row each, which ONNX normalizes by channel.
local function group_norm(b, n)
  local a, shape = n.attributes, n.inputs[1].shape
  if a.axis ~= 1 or not a.center then n:refuse("its channels are not at axis 1") end
  local gamma, beta = params_of(n)
  local behind = { unpack(shape, 2) }
  if extent.varies(behind) then n:refuse("its channels depend on the batch size") end
  local x = b:reshape(n:x(1), { shape[1], a.groups, extent.product(behind) / a.groups })
  local function by_group(i) return i and n.inputs[i].shape[1] == a.groups end
  local function own(i, value)
    return by_group(i) and n:x(i) or shapes.filled(b, n.out.dtype, { a.groups }, value)
  end
  local y = b:op("InstanceNormalization", { x, own(gamma, 1), own(beta, 0) },
    { epsilon = a.epsilon })
  y = b:reshape(y, shape)
  local function param(i)
    if not i or by_group(i) then return nil end
    local target = { n.inputs[i].shape[1] }
    for k = 1, #shape - 2 do target[k + 1] = 1 end
    return b:reshape(n:x(i), target)
  end
  scaled(b, n, y, param(gamma), param(beta))
end

local function rms_norm(b, n)
  local a, x, axes = n.attributes, n:x(1), {}
  local gamma, beta = params_of(n)
  for i = a.axis, #n.inputs[1].shape - 1 do axes[#axes + 1] = i end
  local mean = b:op("ReduceMean", { b:op("Pow", { x, b:like(x, 2) }) }, { axes = axes,
    keepdims = 1 })
  local root = b:op("Sqrt", { b:op("Add", { mean, b:like(x, a.epsilon) }) })
  scaled(b, n, b:op("Mul", { x, b:op("Reciprocal", { root }) }), gamma and n:x(gamma),
    beta and n:x(beta))
end

function rows.row_norm(b, n)
  local a, shape = n.attributes, n.inputs[1].shape
  if a.groups > 0 then return group_norm(b, n) end
  if not a.center then return rms_norm(b, n) end
  local gamma, beta = params_of(n)
  local row = { unpack(shape, a.axis + 1) }
  if extent.varies(row) then n:refuse("its rows depend on the batch size") end
  local fits = gamma and #n.inputs[gamma].shape == #row
  local inputs = { n:x(1), fits and n:x(gamma) or shapes.filled(b, n.out.dtype, row, 1) }
  if fits and beta then inputs[3] = n:x(beta) end
  local attributes = { axis = a.axis, epsilon = a.epsilon }
  if fits or not (gamma or beta) then
    return b:out(n.out, "LayerNormalization", inputs, attributes)
  end
  scaled(b, n, b:op("LayerNormalization", inputs, attributes), gamma and n:x(gamma),
    beta and n:x(beta))
end

-- ---- attention ----

-- k or v (batch, groups, length, size) with each group once for every head that reads it.
local function shared(b, n, i, heads)
  local s = n.inputs[i].shape
  if s[2] == heads then return n:x(i) end
  local x = b:op("Unsqueeze", { n:x(i), b:ints { 2 } })
  x = b:op("Expand", { x, b:extents { s[1], s[2], heads / s[2], s[3], s[4] } })
  return b:reshape(x, { s[1], heads, s[3], s[4] })
end

-- Where a query may see a key, which is not behind it: as a constant of their positions.
local function causal(b, n)
  local q_len, k_len = n.inputs[1].shape[3], n.inputs[2].shape[3]
  if extent.varies { q_len, k_len } then n:refuse("its lengths depend on the batch size") end
  local list = {}
  for i = 1, q_len do
    for j = 1, k_len do list[#list + 1] = j <= i and 1 or 0 end
  end
  return b:constant("bool", { q_len, k_len }, list)
end

function rows.scaled_dot_product_attention(b, n)
  local a, heads, mask = n.attributes, n.inputs[1].shape[2], n.inputs[4]
  if a.dropout_rate ~= 0 then n:refuse("dropout_rate is not 0") end
  local q = n:x(1)
  local hides, sees = b:like(q, -math.huge), {}
  if mask and mask.dtype == "int8" then sees[1] = b:truth(mask) end
  if a.causal then sees[#sees + 1] = causal(b, n) end
  local k = swapped(b, shared(b, n, 2, heads), 4)
  local scores = b:op("MatMul", { b:op("Mul", { q, b:like(q, a.scale) }), k })
  if mask and mask.dtype ~= "int8" then scores = b:op("Add", { scores, n:x(4) }) end
  for _, seen in ipairs(sees) do
    scores = b:op("Where", { seen, scores, hides })
  end
  local weights = b:op("Softmax", { scores }, { axis = -1 })
  if #sees > 0 then      -- a query that sees nothing has no weights
    weights = b:op("Where", { b:op("IsNaN", { weights }), b:like(q, 0), weights })
  end
  b:out(n.out, "MatMul", { weights, shared(b, n, 3, heads) })
end

-- The cosines and sines of all positions, each (length, pairs).
local function angles(b, n, length, dims)
  local a, cosines, sines = n.attributes, {}, {}
  for p = 0, length - 1 do
    for i = 0, dims / 2 - 1 do
      local angle = (p + a.offset) * (a.frequencies[i + 1] or a.base ^ (-2 * i / dims))
      cosines[#cosines + 1] = a.scale * math.cos(angle)
      sines[#sines + 1] = a.scale * (a.inverse and -1 or 1) * math.sin(angle)
    end
  end
  local shape = { length, dims / 2 }
  return b:constant(n.out.dtype, shape, cosines), b:constant(n.out.dtype, shape, sines)
end

-- The first and the second number of each pair, and what is not turned or nil.
local function pairs_of(b, n, x, dims)
  local shape = n.inputs[1].shape
  local axis, size = #shape - 1, shape[#shape]
  local rest = dims < size and shapes.part(b, x, axis, dims, builder.END) or nil
  if not n.attributes.interleaved then
    return shapes.part(b, x, axis, 0, dims / 2), shapes.part(b, x, axis, dims / 2, dims), rest
  end
  local function each(first)
    return b:op("Slice", { x, b:ints { first }, b:ints { dims }, b:ints { axis }, b:ints { 2 } })
  end
  return each(0), each(1), rest
end

function rows.rotary_embedding(b, n)
  local shape, a = n.inputs[1].shape, n.attributes
  local length, axis = shape[#shape - 1], #shape - 1
  local dims = a.dims == 0 and shape[#shape] or a.dims
  if extent.is(length) then n:refuse("its length depends on the batch size") end
  local cos, sin = angles(b, n, length, dims)
  local u, v, rest = pairs_of(b, n, n:x(1), dims)
  local first = b:op("Sub", { b:op("Mul", { u, cos }), b:op("Mul", { v, sin }) })
  local second = b:op("Add", { b:op("Mul", { u, sin }), b:op("Mul", { v, cos }) })
  local pieces = { first, second, rest }
  if a.interleaved then
    local last = b:ints { -1 }
    local both = b:op("Concat", { b:op("Unsqueeze", { first, last }),
      b:op("Unsqueeze", { second, last }) }, { axis = axis + 1 })
    local target = { unpack(shape) }
    target[#target] = dims
    pieces = { b:reshape(both, target), rest }
  end
  if #pieces == 1 then return b:alias(n.out, pieces[1]) end
  b:out(n.out, "Concat", pieces, { axis = axis })
end

return rows
