-- ONNX's Resize and Upsample: every axis in turn, by the places that its pixels come from.
local call = require "jfl.op.call"
local core = require "jfl.core"
local values = require "jfl.onnx.values"

local op = call.op

local ops = {}

-- Where pixel i of m lies among n. r: scale, and the roi's first and last place.
local PLACES = {
  half_pixel = function(i, _, _, r) return (i + 0.5) / r.scale - 0.5 end,
  half_pixel_symmetric = function(i, n, m, r)
    local adjust = m / (r.scale * n)
    return n / 2 * (1 - adjust) + (i + 0.5) / r.scale - 0.5
  end,
  pytorch_half_pixel = function(i, _, m, r)
    return m > 1 and (i + 0.5) / r.scale - 0.5 or 0
  end,
  align_corners = function(i, n, _, r)
    local length = r.scale * n
    return length > 1 and i * (n - 1) / (length - 1) or 0
  end,
  asymmetric = function(i, _, _, r) return i / r.scale end,
  tf_half_pixel_for_nn = function(i, _, _, r) return (i + 0.5) / r.scale end,
  tf_crop_and_resize = function(i, n, m, r)
    if m == 1 then return 0.5 * (r.first + r.last) * (n - 1) end
    return r.first * (n - 1) + i * (r.last - r.first) * (n - 1) / (m - 1)
  end,
}

local ROUND = {
  round_prefer_floor = function(x) return math.ceil(x - 0.5) end,
  round_prefer_ceil = function(x) return math.floor(x + 0.5) end,
  floor = math.floor, ceil = math.ceil,
}

-- ---- shares of pixels ----

local function linear(distance) return math.max(0, 1 - math.abs(distance)) end

local function cubic(a)
  return function(distance)
    local d = math.abs(distance)
    if d <= 1 then return ((a + 2) * d - (a + 3)) * d * d + 1 end
    if d < 2 then return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a end
    return 0
  end
end

-- What each of n pixels adds to one at a place: { [pixel] = share }, which sum to one. Pixels
-- beside the end count for the last one, or are left out.
local function shares_at(place, n, f, reach, widen, leaves_out)
  local list, sum = {}, 0
  for i = math.floor(place - reach * widen), math.ceil(place + reach * widen) do
    local share = f((i - place) / widen)
    local inside = i >= 0 and i < n
    if share ~= 0 and (inside or not leaves_out) then
      local k = math.max(0, math.min(n - 1, i))
      list[k], sum = (list[k] or 0) + share, sum + share
    end
  end
  for i, share in pairs(list) do list[i] = share / sum end
  return list
end

-- ---- one axis ----

local function nearest(x, axis, m, source, o)
  local n, list, outside = x.shape[axis + 1], {}, {}
  for i = 0, m - 1 do
    local place = source(i)
    outside[i + 1] = o.extrapolates and (place < 0 or place > n - 1) and 1 or 0
    list[i + 1] = math.max(0, math.min(n - 1, o.round(place)))
  end
  return op.gather(x, values.array(list, "int64"), { axis = axis }), outside
end

-- x times the matrix of all shares along an axis.
local function mixed(x, axis, m, source, o)
  local s = x.shape
  local n, rows, outside = s[axis + 1], {}, {}
  local widen = o.antialias and math.max(1, 1 / o.scale) or 1
  for i = 1, n do
    rows[i] = {}
    for j = 1, m do rows[i][j] = 0 end
  end
  for j = 1, m do
    local place = source(j - 1)
    outside[j] = o.extrapolates and (place < 0 or place > n - 1) and 1 or 0
    for i, share in pairs(shares_at(place, n, o.share, o.reach, widen, o.excludes)) do
      rows[i + 1][j] = share
    end
  end
  local perm, back = {}, {}
  for i = 1, #s do
    if i ~= axis + 1 then perm[#perm + 1] = i - 1 end
  end
  perm[#s] = axis
  for i, from in ipairs(perm) do back[from + 1] = i - 1 end
  local line = values.reshape(values.transpose(x, perm), { values.count(s) / n, n })
  local y = op.matmul(line, core.cast(core.from_table(rows, "float64"), x.dtype))
  local shape = {}
  for i, from in ipairs(perm) do shape[i] = s[from + 1] end
  shape[#s] = m
  return values.transpose(values.reshape(y, shape), back), outside
end

-- Puts a number where the pixels of an axis come from outside.
local function extrapolated(y, axis, outside, number)
  local shape, any = {}, false
  for i = 1, #y.shape do shape[i] = i == axis + 1 and #outside or 1 end
  for _, v in ipairs(outside) do any = any or v ~= 0 end
  if not any then return y end
  return op.where(values.array(outside, "int8", shape), values.scalar(number, y.dtype), y)
end

-- ---- all axes ----

-- The new extents, and by what each is multiplied.
local function sizes_of(n, x, axes, scales, sizes)
  local out = {}
  for i, axis in ipairs(axes) do
    local extent = x.shape[axis + 1]
    if sizes then
      out[i] = { size = sizes[i], scale = sizes[i] / extent }
    else
      out[i] = { size = math.floor(extent * scales[i]), scale = scales[i] }
    end
    n:check(out[i].size and out[i].size >= 1 and out[i].size <= 2 ^ 24,
      "axis %d must get an extent of at least 1", axis)
  end
  local policy = n:attr("keep_aspect_ratio_policy", "stretch")
  if not sizes or policy == "stretch" then return out end
  local pick = policy == "not_larger" and math.min or math.max
  local scale = out[1].scale
  for _, each in ipairs(out) do scale = pick(scale, each.scale) end
  for i, axis in ipairs(axes) do
    out[i] = { size = math.floor(x.shape[axis + 1] * scale + 0.5), scale = scale }
  end
  return out
end

-- jfl's own op for pictures, where it computes the same; nil else.
local function own_op(n, x, axes, to, mode, places)
  local last = axes[#axes] == 3 and #x.shape == 4
  for i, axis in ipairs(axes) do
    if axis < 2 and to[i].size ~= x.shape[axis + 1] then return nil end
    if to[i].scale * x.shape[axis + 1] ~= to[i].size then return nil end
    if to[i].size == 1 and places == "pytorch_half_pixel" then return nil end
  end
  local rounds = n:attr("nearest_mode", "round_prefer_floor")
  local plain = mode == "nearest" and places == "asymmetric" and rounds == "floor"
  local mixes = mode == "linear" and (places == "half_pixel" or places == "pytorch_half_pixel"
    or places == "align_corners") and not n:flag "antialias"
  if not last or #axes < 2 or axes[#axes - 1] ~= 2 or not (plain or mixes) then return nil end
  return op.upsample_2d(x, { size = { to[#axes - 1].size, to[#axes].size },
    interpolation = plain and "nearest" or "bilinear",
    align_corners = places == "align_corners" })
end

-- Fails where the new size of an axis, or what of the old one is mixed for it, is too much.
local function check_work(n, extent, to, o, mode)
  local widen = o.antialias and math.max(1, 1 / to.scale) or 1
  local each = mode == "nearest" and 1 or math.max(extent, 2 * o.reach * widen + 1)
  n:times(to.size * each, "the pixels that are mixed along an axis")
end

-- A place that loops can go on from, however far from the image. What is no number counts as far:
-- LuaJIT's compiled loops run on from such a bound, which interpreted ones do not.
local function near(place)
  if place ~= place then return 2 ^ 31 end
  return math.max(-2 ^ 31, math.min(2 ^ 31, place))
end

local function resize(n, x, axes, to, roi)
  local mode = n:attr("mode", "nearest")
  local places = n:attr("coordinate_transformation_mode", n.opset < 11 and "asymmetric"
    or "half_pixel")
  local y = not roi and own_op(n, x, axes, to, mode, places)
  if y then return y end
  local place = PLACES[places] or n:fail("jfl has no coordinates '%s'", core.printable(places))
  local o = { antialias = n:flag "antialias", excludes = n:flag "exclude_outside",
    extrapolates = places == "tf_crop_and_resize" }
  local rounding = n:attr("nearest_mode", n.opset < 11 and "floor" or "round_prefer_floor")
  o.round = ROUND[rounding] or n:fail("jfl has no nearest_mode '%s'", core.printable(rounding))
  o.share, o.reach = linear, 1
  if mode == "cubic" then o.share, o.reach = cubic(n:attr("cubic_coeff_a", -0.75)), 2 end
  for i, axis in ipairs(axes) do
    local extent, size = x.shape[axis + 1], to[i].size
    local r = { scale = to[i].scale, first = roi and roi[i] or 0,
      last = roi and roi[#axes + i] or 1 }
    if size ~= extent or r.first ~= 0 or r.last ~= 1 or places == "asymmetric" then
      o.scale = r.scale
      check_work(n, extent, to[i], o, mode)
      local change = mode == "nearest" and nearest or mixed
      local outside
      x, outside = change(x, axis, size, function(k)
        return near(place(k, extent, size, r))
      end, o)
      if o.extrapolates then
        x = extrapolated(x, axis, outside, n:attr("extrapolation_value", 0))
      end
    end
  end
  return x
end

local function given(list) return list and #list > 0 and list or nil end

ops.Resize = { function(n, x, roi, scales, sizes)
  if n.opset < 11 then roi, scales, sizes = nil, roi, nil end
  local axes = n:attr "axes" and { unpack(n:attr "axes") } or values.steps(#x.shape)
  for i, axis in ipairs(axes) do axes[i] = n:axis(axis, #x.shape) end
  scales, sizes = given(n:list(scales, "scales")), given(n:list(sizes, "sizes"))
  if not scales and not sizes then n:fail("scales or sizes must be given, got none") end
  local crops = n:attr("coordinate_transformation_mode") == "tf_crop_and_resize"
  return resize(n, x, axes, sizes_of(n, x, axes, scales, sizes),
    crops and given(n:list(roi, "roi")) or nil)
end, static = { 2, 3, 4 } }

ops.Upsample = { function(n, x, scales)
  local list = n.opset < 9 and n:need "scales" or n:list(scales, "scales")
  local axes = values.steps(#x.shape)
  return resize(n, x, axes, sizes_of(n, x, axes, list))
end, static = { 2 } }

return ops
