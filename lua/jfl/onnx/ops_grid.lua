-- ONNX's ops that read a tensor at places that are computed: GridSample, and the places AffineGrid.
local call = require "jfl.op.call"
local values = require "jfl.onnx.values"

local op = call.op

local ops = {}

local MODES = { linear = "linear", bilinear = "linear", nearest = "nearest", cubic = "cubic",
  bicubic = "cubic" }
local BORDERS = { zeros = true, border = true, reflection = true }
local CUBIC = -0.75              -- Keys' parameter, which ONNX fixes

-- ---- one axis ----

local function clip(v, low, high) return op.minimum(op.maximum(v, low), high) end

-- What lies outside 0..extent - 1, brought inside as the border says.
local function inside(v, extent, border, aligned)
  if border == "zeros" then return v end
  if border == "reflection" and extent > 1 then
    local low, span = aligned and 0 or -0.5, aligned and extent - 1 or extent
    local t = op.abs(op.subtract(v, low))
    t = op.subtract(t, op.multiply(op.floor(op.multiply(t, 0.5 / span)), 2 * span))
    v = op.add(op.minimum(t, op.add(op.negative(t), 2 * span)), low)
  end
  return clip(v, 0, extent - 1)
end

-- The pixels along an axis that places (as -1 to 1) take numbers from: a list of { their numbers,
-- what each adds }, the second nil for all of it.
local function pixels(mode, g, extent, border, aligned)
  local v = aligned and op.multiply(op.add(g, 1), (extent - 1) / 2)
    or op.multiply(op.subtract(op.multiply(op.add(g, 1), extent), 1), 0.5)
  local list = {}
  if mode ~= "cubic" then v = inside(v, extent, border, aligned) end
  if mode == "nearest" then return { { inside(op.round(v), extent, border, aligned) } } end
  local first = op.floor(v)
  local t = op.subtract(v, first)
  local function share(offset)
    if mode == "linear" then return offset == 0 and op.add(op.negative(t), 1) or t end
    local d, a = op.abs(op.subtract(t, offset)), CUBIC
    if offset == 0 or offset == 1 then
      return op.add(op.multiply(op.multiply(d, d), op.subtract(op.multiply(d, a + 2), a + 3)), 1)
    end
    local inner = op.add(op.multiply(op.subtract(op.multiply(d, a), 5 * a), d), 8 * a)
    return op.subtract(op.multiply(inner, d), 4 * a)
  end
  for offset = mode == "cubic" and -1 or 0, mode == "cubic" and 2 or 1 do
    list[#list + 1] = { inside(op.add(first, offset), extent, border, aligned), share(offset) }
  end
  return list
end

-- Leaves out what lies outside, of a list of pixels.
local function mask(list, extent)
  for _, each in ipairs(list) do
    local at = each[1]
    local is_in = values.cast(op.logical_and(op.greater_equal(at, 0),
      op.less_equal(at, extent - 1)), at.dtype)
    each[1], each[2] = clip(at, 0, extent - 1), each[2] and op.multiply(each[2], is_in) or is_in
  end
  return list
end

-- ---- all axes ----

-- Calls fn(number, share) for each choice of a pixel of every axis: its number in a batch's item,
-- and what it adds.
local function each_choice(axes, strides, fn, at, share, k)
  k = k or 1
  if k > #axes then return fn(at, share) end
  for _, each in ipairs(axes[k]) do
    local place = op.multiply(each[1], strides[k])
    each_choice(axes, strides, fn, at and op.add(at, place) or place,
      share and each[2] and op.multiply(share, each[2]) or share or each[2], k + 1)
  end
end

function ops.GridSample(n, x, grid)
  local s, out = x.shape, grid.shape
  local d, points = #s - 2, values.count(out, 2, #out - 1)
  local mode, border = MODES[n:attr("mode", "linear")], n:attr("padding_mode", "zeros")
  local aligned = n:flag "align_corners"
  n:check(#out == #s and d >= 1 and out[#out] == d and out[1] == s[1],
    "the grid must have %d numbers for each place and as many items as x", d)
  if not mode or not BORDERS[border] then
    n:fail("mode and padding_mode must be known, got %s and %s", n:attr "mode", border)
  end
  if mode == "cubic" and d ~= 2 then n:fail("cubic takes pictures, got %d axes", d) end
  local dtype = grid.dtype == "float64" and "float64" or "float32"
  local axes, strides, stride, perm = {}, {}, 1, { 0 }
  for k = d, 1, -1 do
    local g = values.cast(values.reshape(values.slice(grid, #out - 1, d - k, 1),
      { s[1], points }), dtype)
    axes[k], strides[k] = pixels(mode, g, s[k + 2], border, aligned), stride
    if border == "zeros" then mask(axes[k], s[k + 2]) end
    stride = stride * s[k + 2]
  end
  for k = 1, d do perm[k + 1] = k + 1 end
  perm[d + 2] = 1
  local rows = values.reshape(values.transpose(x, perm), { s[1] * stride, s[2] })
  local starts, sum = {}, nil
  for i = 1, s[1] do starts[i] = (i - 1) * stride end
  starts = values.array(starts, "int64", { s[1], 1 })
  each_choice(axes, strides, function(at, share)
    local y = op.gather(rows, op.add(values.cast(at, "int64"), starts), { axis = 0 })
    if share then
      y = op.multiply(y, values.reshape(values.cast(share, x.dtype), { s[1], points, 1 }))
    end
    sum = sum and op.add(sum, y) or y
  end)
  local shape = { s[1], s[2] }
  for k = 2, #out - 1 do shape[k + 1] = out[k] end
  return values.reshape(values.transpose(sum, { 0, 2, 1 }), shape)
end

ops.AffineGrid = { function(n, theta, size)
  local list, aligned = n:list(size, "the size"), n:flag "align_corners"
  local d = #list - 2
  if (d ~= 2 and d ~= 3) or #theta.shape ~= 3 or theta.shape[3] ~= d + 1 then
    n:fail("theta must be (batch, %d, %d), and the size have %d numbers", d, d + 1, d + 2)
  end
  local points = n:times(values.count(list, 3), "places")
  local flat = {}
  for i = 0, points - 1 do
    local rest = i
    for k = d, 1, -1 do
      local extent = list[k + 2]
      local at = rest % extent
      rest = (rest - at) / extent
      flat[#flat + 1] = aligned and (extent > 1 and 2 * at / (extent - 1) - 1 or -1)
        or (2 * at + 1) / extent - 1
    end
    flat[#flat + 1] = 1
  end
  local base = values.array(flat, theta.dtype, { 1, points, d + 1 })
  local grid = values.flow("op.products", "matmul")(
    values.expand(base, { list[1], points, d + 1 }), theta, { transpose_b = true })
  local shape = { list[1] }
  for k = 1, d do shape[k + 1] = list[k + 2] end
  shape[d + 2] = d
  return values.reshape(grid, shape)
end, static = { 2 } }

return ops
