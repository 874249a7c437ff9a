-- Pools over one and three axes, and pools that say how large their result is.
---@box nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.adaptive_max_pool1d
---@box nn.adaptive_max_pool2d nn.adaptive_max_pool3d nn.avg_pool1d nn.avg_pool3d nn.global_avg_pool
---@box nn.max_pool1d nn.max_pool3d
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"
local windows = require "jfl.op.windows"

local op, define = call.op, tensors.define

-- A pool over one or three axes: the largest of the largest is the largest, and as all planes have
-- as many valid cells in a window, the mean of the means is the mean.
local function pool_by_planes(kind, x, o)
  local function pool(planes, i, k)
    local padding = o.padding
    if type(padding) ~= "string" then
      padding = { padding[2 * i - 1] or 0, padding[2 * i] or 0, padding[2 * k - 1] or 0,
        padding[2 * k] or 0 }
    end
    return op[kind .. "_pool2d"](planes, { ksize = { o.ksize[i] or 1, o.ksize[k] or 1 },
      strides = { o.strides[i] or 1, o.strides[k] or 1 }, padding = padding,
      ceil_mode = o.ceil_mode, data_format = o.is_last and "NHWC" or "NCHW" })
  end
  return windows.by_planes(x, #o.ksize, o.is_last, pool, o.name)
end

local function define_pool(kind, n, doc)
  local path = ("nn.%s_pool%dd"):format(kind, n)
  define(path, doc, {
    { "input", "a blob or NdArray", type = "Tensor" },
    { "ksize", "the window: one number, or one for each axis", type = "integer|integer[]" },
    { "strides", "step of the window; its size, unless given", args.none,
      type = "integer|integer[]" },
    { "padding", "SAME (odd cell first), SAME_UPPER, VALID or list", "VALID",
      type = "string|integer|integer[]|integer[][]" },
    windows.format_param(n),
    { "ceil_mode", "with a padding list: count a last, partial window", false, type = "boolean" },
  }, function(o)
    o.is_last = windows.is_last(path, o.data_format, n)
    windows.shape(path, "input", o.input, n, o.data_format)
    o.ksize = windows.extents(path, "ksize", o.ksize, n, 1)
    o.strides = o.strides == nil and o.ksize or windows.extents(path, "strides", o.strides, n, 1)
    o.padding = windows.padding(path, o.padding, n, o.is_last)
    return pool_by_planes(kind, o.input, o)
  end)
end

local MAX = "The largest cell of each window; its first occurrence gets the gradient."
local AVG = "The mean of each window's cells that are inside input."
for _, n in ipairs { 1, 3 } do
  define_pool("max", n, MAX)
  define_pool("avg", n, AVG)
end

-- ---- pools of a given size ----

-- The elements, of n, of window j of m: the one before the first, and the last. They overlap where
-- m does not divide n, as those of PyTorch's adaptive pools do.
local function window(n, m, j) return math.floor((j - 1) * n / m), math.ceil(j * n / m) end

-- The matrix (n, m) whose column j averages the elements of window j.
local function averages(n, m, dtype)
  local rows = {}
  for i = 1, n do
    rows[i] = {}
    for j = 1, m do
      local first, last = window(n, m, j)
      rows[i][j] = i > first and i <= last and 1 / (last - first) or 0
    end
  end
  return core.cast(core.from_table(rows, "float64"), dtype)
end

-- x with its last axis averaged to m elements and moved in front of the other spatial axes.
local function average_last(x, m, n)
  local s = x.shape
  local extent, perm = s[#s], { 0, 1, n + 1 }
  if extent ~= m then
    local lines = 1
    for i = 1, #s - 1 do lines = lines * s[i] end
    local flat = op.reshape(x, { lines, extent })
    x = op.matmul(flat, averages(extent, m, x.dtype))
    s[#s] = m
    x = op.reshape(x, s)
  end
  for i = 2, n do perm[#perm + 1] = i end
  return n > 1 and op.transpose(x, { perm = perm }) or x
end

-- Every axis in turn is the last one and is averaged; after n turns they are in order again.
local function adapt(x, size, n, is_last)
  local to, back = { 0, n + 1 }, { 0 }
  for i = 1, n do to[#to + 1], back[#back + 1] = i, i + 1 end
  back[#back + 1] = 1
  if is_last then x = op.transpose(x, { perm = to }) end
  for i = n, 1, -1 do x = average_last(x, size[i], n) end
  return is_last and op.transpose(x, { perm = back }) or x
end

-- x with windows of one length along an axis (from 0), one behind the other, and that length. What
-- a shorter window lacks is its last element once more, which is not its first maximum.
local function spread(x, axis, m)
  local n, most, list = x.shape[axis + 1], 0, {}
  for j = 1, m do
    local first, last = window(n, m, j)
    most = math.max(most, last - first)
  end
  for j = 1, m do
    local first, last = window(n, m, j)
    for i = 1, most do list[#list + 1] = math.min(first + i, last) - 1 end
  end
  return op.gather(x, core.from_table(list, "int32"), { axis = axis }), most
end

-- The function of a pool over n axes.
local function pool_of(kind, n)
  return n == 2 and op[kind .. "_pool2d"] or args.defined[("nn.%s_pool%dd"):format(kind, n)].fn
end

local function adaptive_avg(x, size, n, o)
  return op.identity(adapt(x, size, n, o.is_last), { name = o.name })
end

-- One axis after the other, the last one first: so the first of several maxima is the one that
-- comes first in x.
local function adaptive_max(x, size, n, o)
  for i = n, 1, -1 do
    local kernel = { 1, 1, 1 }
    x, kernel[i] = spread(x, i + (o.is_last and 0 or 1), size[i])
    x = pool_of("max", n)(x, { ksize = { unpack(kernel, 1, n) }, data_format = o.data_format,
      name = i == 1 and o.name or nil })
  end
  return x
end

local function define_adaptive(kind, n, doc, pool)
  local path = ("nn.adaptive_%s_pool%dd"):format(kind, n)
  define(path, doc, {
    { "input", "a blob or NdArray", type = "Tensor" },
    { "output_size", "spatial extents of the result: one number, or one for each axis",
      type = "integer|integer[]" },
    windows.format_param(n),
  }, function(o)
    o.is_last = windows.is_last(path, o.data_format, n)
    local shape = windows.shape(path, "input", o.input, n, o.data_format)
    local size = windows.extents(path, "output_size", o.output_size, n, 1)
    local kernel, divides = {}, true
    for i = 1, n do
      local extent = shape[i + (o.is_last and 1 or 2)]
      args.fits(extent >= 1, shape, "%s: input must have one or more cells, got shape", path)
      kernel[i] = extent / size[i]
      divides = divides and kernel[i] % 1 == 0
    end
    if not divides then return (pool(o.input, size, n, o)) end
    return pool_of(kind, n)(o.input, { ksize = kernel, data_format = o.data_format,
      name = o.name })
  end)
end

for n = 1, 3 do
  define_adaptive("avg", n, "Means of windows that cover the input and give a result of that size.",
    adaptive_avg)
  define_adaptive("max", n, "The largest cells of windows that cover the input and give a result "
    .. "of that size.", adaptive_max)
end

define("nn.global_avg_pool", "The mean of each channel of each image.", {
  { "input", "a blob or NdArray (N, C, ...), or (N, ..., C)", type = "Tensor" },
  { "data_format", "NC or such as NCHW: channels first; such as NHWC: channels last", "NC",
    type = "string" },
  { "keepdims", "whether the spatial axes stay, with extent 1", false, type = "boolean" },
}, function(o, who)
  local rank = #o.input.shape
  args.fits(rank >= 3, o.input.shape, "%s: input must have three or more axes, got shape", who)
  local is_last = o.data_format ~= "NC" and windows.is_last(who, o.data_format, rank - 2)
  local s, first, channels = o.input.shape, is_last and 2 or 3, o.input.shape[is_last and rank or 2]
  local h, w, y = s[first], 1, { s[1] }
  for i = first + 1, first + rank - 3 do w = w * s[i] end
  for i = 1, o.keepdims and rank - 2 or 0 do y[i + first - 1] = 1 end
  y[is_last and #y + 1 or 2] = channels
  local x = rank == 4 and o.input
    or op.reshape(o.input, is_last and { s[1], h, w, channels } or { s[1], channels, h, w })
  x = op.avg_pool2d(x, { ksize = { h, w }, data_format = is_last and "NHWC" or "NCHW" })
  return op.reshape(x, y, { name = o.name })
end)
