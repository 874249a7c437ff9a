-- How jfl's ops on pictures are written as ONNX.
local builder = require "jfl.onnx.export_builder"
local channels = require "jfl.onnx.export_channels"
local extent = require "jfl.onnx.export_extent"

local rows = {}

local RESIZE = {
  nearest = { mode = "nearest", coordinate_transformation_mode = "asymmetric",
    nearest_mode = "floor" },
  bilinear = { mode = "linear", coordinate_transformation_mode = "half_pixel" },
  corners = { mode = "linear", coordinate_transformation_mode = "align_corners" },
}

local function resize(b, n, how)
  n.is_last = channels.is_last(n)
  channels.first(b, n, n:x(1), n.out, function(x, out)
    local size, s = channels.inner(n.out.shape, n.is_last), n.inputs[1].shape
    local target = { s[1], s[n.is_last and #s or 2], size[1], size[2] }
    out("Resize", { x, "", "", b:extents(target) }, how)
  end)
end

function rows.upsample_2d(b, n)
  local a = n.attributes
  resize(b, n, RESIZE[a.align_corners and "corners" or a.interpolation])
end

-- How much of each of `n` sources is in each of m means of what lies under them.
local function area(n, m)
  local list = {}
  for i = 0, m - 1 do
    local from, to = i * n / m, (i + 1) * n / m
    for j = 0, n - 1 do
      list[#list + 1] = math.max(math.min(j + 1, to) - math.max(j, from), 0) * m / n
    end
  end
  return list
end

-- Means along the axes that shrink, as products with matrices; other axes stay.
local function shrink(b, x, size, target)
  local h, w = size[1], size[2]
  if target[1] < h then
    local rows_of = b:constant("float32", { target[1], h }, area(h, target[1]))
    x = b:op("MatMul", { b:cast(rows_of, b.dtypes[x]), x })
  end
  if target[2] < w then
    local columns = b:constant("float32", { target[2], w }, area(w, target[2]))
    x = b:op("MatMul", { x, b:transpose(b:cast(columns, b.dtypes[x]), { 1, 0 }) })
  end
  return x
end

-- x (N, C, H, W) at another size: with means where it shrinks, and then pixels between others
-- where it grows; or by one rule along both axes.
local function sized(b, n, x, size, target)
  local how, s = n.attributes.interpolation, n.inputs[1].shape
  local shrinks = how ~= "nearest" and how ~= "bilinear"
  if shrinks then x = shrink(b, x, size, target) end
  if shrinks and size[1] >= target[1] and size[2] >= target[2] then return x end
  return b:op("Resize", { x, "", "", b:extents { s[1], s[n.is_last and #s or 2], target[1],
    target[2] } }, RESIZE[shrinks and "bilinear" or how])
end

-- Pixels of uint8 are made as floats, and rounded.
function rows.image_resize(b, n)
  n.is_last = channels.is_last(n)
  local size, target = channels.inner(n.inputs[1].shape, n.is_last),
    channels.inner(n.out.shape, n.is_last)
  if extent.varies(size) then n:refuse("its rows or columns depend on the batch size") end
  channels.first(b, n, n:x(1), n.out, function(x, out)
    if n.out.dtype ~= "uint8" then return out("Identity", { sized(b, n, x, size, target) }) end
    local y = sized(b, n, b:cast(x, "float32"), size, target)
    y = b:op("Floor", { b:op("Add", { y, b:like(y, 0.5) }) })
    y = b:op("Clip", { y, b:like(y, 0), b:like(y, 255) })
    out("Cast", { y }, { to = builder.TYPES.uint8 })
  end)
end

-- The op has one number or one for each channel.
local function mean_and_std(b, list, count)
  local each = channels.numbers(list, count)
  return b:constant("float32", { count, 1, 1 }, each)
end

-- The first row or column of a part that stands at a share of what is left.
local function first_of(whole, part, share) return math.floor((whole - part) * share) end

function rows.crop_mirror_normalize(b, n)
  local a, s = n.attributes, n.inputs[1].shape
  if n.inputs[2] then n:refuse("mirror_blob is given") end
  if extent.varies { s[2], s[3], s[4] } then n:refuse("its pictures depend on the batch size") end
  local top, left = first_of(s[2], a.crop_h, a.crop_pos_y), first_of(s[3], a.crop_w, a.crop_pos_x)
  local x = b:op("Slice", { n:x(1), b:ints { top, left }, b:ints { top + a.crop_h,
    left + a.crop_w }, b:ints { 1, 2 } })
  x = b:transpose(b:cast(x, "float32"), { 0, 3, 1, 2 })
  x = b:op("Sub", { x, mean_and_std(b, a.mean, s[4]) })
  x = b:op("Div", { x, mean_and_std(b, a.std, s[4]) })
  if a.output_layout == "NHWC" then x = b:transpose(x, { 0, 2, 3, 1 }) end
  b:alias(n.out, b:cast(x, a.output_dtype))
end

return rows
