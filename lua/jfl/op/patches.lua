-- Windows of pictures as columns of a matrix, and back.
---@box nn.fold nn.unfold
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local convolutions = require "jfl.op.convolutions"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"
local windows = require "jfl.op.windows"

local op = call.op

-- Filters of a convolution with as many groups as there are channels: each takes one cell of the
-- windows of one channel, in the order of channels, then of cells.
local function pickers(channels, kernel, dtype)
  local cells, list = kernel[1] * kernel[2], {}
  for i = 1, channels * cells do list[i] = (i - 1) % cells end
  local one = core.op "one_hot"(core.from_table(list, "int32"), { depth = cells, dtype = dtype })
  return core.reshape(one, { #list, 1, kernel[1], kernel[2] })
end

-- Reads what both functions share.
local function read(who, o)
  for name, least in pairs { kernel_size = 1, dilation = 1, padding = 0, stride = 1 } do
    o[name] = windows.extents(who, name, o[name], 2, least)
  end
  return { strides = o.stride, dilations = o.dilation, name = o.name,
    padding = { o.padding[1], o.padding[1], o.padding[2], o.padding[2] } }
end

local NUMBERS = "integer|integer[]"

local function params(...)
  local list = { ... }
  for _, param in ipairs {
    { "kernel_size", "rows and columns of a window, or one number for both", type = NUMBERS },
    { "dilation", "distance between a window's cells", 1, type = NUMBERS },
    { "padding", "zeros on each side: of rows and of columns, or one number", 0, type = NUMBERS },
    { "stride", "step of the windows", 1, type = NUMBERS },
    tensors.NAME,
  } do list[#list + 1] = param end
  list.returns = "Tensor"
  return list
end

args.define("nn.unfold", "The cells of each window as a column: (N, C, H, W) becomes (N, C * rows "
  .. "* columns, windows).", params({ "input", "a blob or NdArray (N, C, H, W)", type = "Tensor" }),
  function(o, who)
    local shape = windows.shape(who, "input", o.input, 2, "NCHW")
    local options = read(who, o)
    args.fits(shape[2] >= 1, shape, "%s: input must have one or more channels, got shape", who)
    local filters = pickers(shape[2], o.kernel_size, o.input.dtype)
    options.groups, options.name = shape[2], nil
    local y = op.conv2d(o.input, filters, options)
    local s = y.shape
    return (op.reshape(y, { s[1], s[2], s[3] * s[4] }, { name = o.name }))
  end)

-- How many windows there are along axis i of a picture.
local function count(o, i)
  local cells = o.output_size[i] + 2 * o.padding[i] - (o.kernel_size[i] - 1) * o.dilation[i] - 1
  return math.floor(cells / o.stride[i]) + 1
end

args.define("nn.fold", "What nn.unfold gives, as pictures: where windows overlap their cells add "
  .. "up.", params({ "input", "(N, C * rows * columns, windows)", type = "Tensor" },
    { "output_size", "rows and columns of the pictures, or one number", type = NUMBERS }),
  function(o, who)
    local s = o.input.shape
    o.output_size = windows.extents(who, "output_size", o.output_size, 2, 1)
    local options = read(who, o)
    local cells, rows, columns = o.kernel_size[1] * o.kernel_size[2], count(o, 1), count(o, 2)
    local fits = rows > 0 and columns > 0 and s[3] == rows * columns
    args.fits(#s == 3 and s[2] >= 1 and s[2] % cells == 0 and fits, s,
      "%s: input must have shape (N, C * %d, %d), got", who, cells,
      math.max(rows, 0) * math.max(columns, 0))
    local channels = s[2] / cells
    options.value = op.reshape(o.input, { s[1], s[2], rows, columns })
    options.filter = pickers(channels, o.kernel_size, o.input.dtype)
    options.groups, options.data_format, options.output_shape = channels, "NCHW", o.output_size
    return (convolutions.transpose(who, options, 2))
  end)
