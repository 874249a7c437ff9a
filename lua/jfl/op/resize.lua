-- Images at another size: interpolation, and channels that become pixels.
---@box nn.PixelShuffle nn.PixelShufflev2 nn.interpolate nn.upsample=nn.interpolate
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"
local windows = require "jfl.op.windows"

local op, define = call.op, tensors.define

local resize = {}

local TENSOR = "Tensor"
local LINEAR = { "linear", "bilinear", "trilinear" }

-- Resizes over height and width; o: interpolation, align_corners, is_last.
local function resize_2d(x, size, o, name)
  return op.upsample_2d(x, { size = size, interpolation = o.interpolation,
    align_corners = o.align_corners, data_format = o.is_last and "NHWC" or "NCHW", name = name })
end

-- Resizes over one to three axes.
local function resized(x, size, n, o)
  if n == 2 then return resize_2d(x, size, o, o.name) end
  return windows.by_planes(x, n, o.is_last, function(planes, i, k)
    local first, s = o.is_last and 2 or 3, planes.shape
    return resize_2d(planes, { size[i] or s[first], size[k] or s[first + 1] }, o)
  end, o.name)
end

-- The extents of the result: given, or the input's times factors.
local function size_of(who, o, shape, n)
  args.check((o.size == nil) ~= (o.scale_factor == nil), "%s: size or scale_factor must be given, "
    .. "got %s", who, o.size and "both" or "none")
  if o.size ~= nil then return windows.extents(who, "size", o.size, n, 1) end
  local factors = type(o.scale_factor) == "table" and o.scale_factor or { o.scale_factor }
  local size = {}
  for i = 1, n do
    local f = factors[#factors == 1 and 1 or i]
    args.must(type(f) == "number" and f > 0 and f < math.huge and #factors <= n, o.scale_factor,
      "%s: scale_factor must be a positive number or a list of %d", who, n)
    size[i] = math.floor(shape[i + (o.is_last and 1 or 2)] * f)
    if size[i] < 1 then
      core.fail("%s: scale_factor must leave at least one pixel, got %g for %d", who, f,
        shape[i + (o.is_last and 1 or 2)])
    end
  end
  return size
end

local function interpolate(who, o)
  local n = #o.input.shape - 2
  args.fits(n >= 1 and n <= 3, o.input.shape, "%s: input must have three to five axes, got shape",
    who)
  o.is_last = windows.is_last(who, o.data_format or (windows.formats(n)), n)
  args.must(o.mode == "nearest" or o.mode == LINEAR[n], o.mode,
    "%s: mode must be nearest or %s for %d spatial axes", who, LINEAR[n], n)
  o.interpolation = o.mode == "nearest" and "nearest" or "bilinear"
  return (resized(o.input, size_of(who, o, o.input.shape, n), n, o))
end

define("nn.interpolate", "Images, signals or volumes at another size.", {
  { "input", "a blob or NdArray (N, C, W), (N, C, H, W) or (N, C, D, H, W)", type = TENSOR },
  { "size", "spatial extents of the result: one number, or one for each axis", args.none,
    type = "integer|integer[]" },
  { "scale_factor", "instead of size: what the extents are multiplied by", args.none,
    type = "number|number[]" },
  { "mode", "nearest, or by the number of axes linear, bilinear or trilinear", "nearest" },
  { "align_corners", "linear modes: pixels at the ends keep their centres", false,
    type = "boolean" },
  { "data_format", "the order of axes; channels first, unless given", args.none,
    type = "string" },
}, function(o) return interpolate("nn.interpolate", o) end)

--- What layers.upsample_2d does.
function resize.upsample_2d(who, o)
  local factors = windows.extents(who, "size", o.size, 2, 1)
  args.must(o.interpolation == "nearest" or o.interpolation == "bilinear", o.interpolation,
    "%s: interpolation must be nearest or bilinear", who)
  windows.is_last(who, o.data_format, 2)
  windows.shape(who, "x", o.x, 2, o.data_format)
  return interpolate(who, { input = o.x, scale_factor = factors, mode = o.interpolation,
    align_corners = false, data_format = o.data_format, name = o.name })
end

-- (N, C h w, H, W) as (N, C, H h, W w).
local function shuffle(who, x, h, w, name)
  local s = windows.shape(who, "input", x, 2, "NCHW")
  args.check(s[2] % (h * w) == 0, "%s: input must have a multiple of %d channels, got %d", who,
    h * w, s[2])
  local c = s[2] / (h * w)
  local y = op.reshape(x, { s[1], c, h, w, s[3], s[4] })
  y = op.transpose(y, { perm = { 0, 1, 4, 2, 5, 3 } })
  return (op.reshape(y, { s[1], c, s[3] * h, s[4] * w }, { name = name }))
end

local SHUFFLE = "Makes pixels of channels: (N, C h w, H, W) becomes (N, C, H h, W w)."
local IMAGES = { "input", "a blob or NdArray (N, C, H, W)", type = TENSOR }

define("nn.PixelShuffle", SHUFFLE, {
  IMAGES, { "upscale_factor", "h and w", type = "integer", least = 1 },
}, function(o)
  return shuffle("nn.PixelShuffle", o.input, o.upscale_factor, o.upscale_factor, o.name)
end)

define("nn.PixelShufflev2", SHUFFLE, {
  IMAGES, { "h_upscale_factor", "h", type = "integer", least = 1 },
  { "w_upscale_factor", "w", type = "integer", least = 1 },
}, function(o, who)
  return shuffle(who, o.input, o.h_upscale_factor, o.w_upscale_factor, o.name)
end)

return resize
