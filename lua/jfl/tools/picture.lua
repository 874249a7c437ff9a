-- Encodes arrays of pictures as PNG files.
local core = require "jfl.core"
local ffi = require "ffi"

local picture = {}

-- PNG's colour types for 1 to 4 channels: grey, grey and alpha, RGB, RGBA.
local COLOUR = { 0, 4, 2, 6 }

local function u32(n)
  return string.char(math.floor(n / 2 ^ 24), math.floor(n / 2 ^ 16) % 256,
    math.floor(n / 256) % 256, n % 256)
end

local function chunk(kind, data)
  return u32(#data) .. kind .. data .. u32(core.crc32(kind .. data))
end

-- The pixels row by row, each row after a byte 0, which says that no filter was used. view: a
-- pointer to the picture, its extents and strides, and a factor for its values. Products beyond
-- 0..255 are cut; NaN is black.
local function rows(view)
  local height, width, channels = view.height, view.width, view.channels
  local data, scale = view.data, view.scale
  local out = ffi.new("uint8_t[?]", height * (width * channels + 1))
  local at = 0
  for y = 0, height - 1 do
    at = at + 1
    for x = 0, width - 1 do
      for c = 0, channels - 1 do
        local v = data[y * view.row + x * view.column + c * view.channel] * scale
        out[at] = v >= 255 and 255 or v > 0 and math.floor(v + 0.5) or 0
        at = at + 1
      end
    end
  end
  return ffi.string(out, at)
end

local function png(view)
  local head = u32(view.width) .. u32(view.height)
    .. string.char(8, COLOUR[view.channels], 0, 0, 0)
  return "\137PNG\r\n\26\n" .. chunk("IHDR", head)
    .. chunk("IDAT", core.bytes(core.deflate(rows(view), "zlib"))) .. chunk("IEND", "")
end

--- Reads count, height, width and channels from a shape. NHWC: (N, H, W, C), (H, W, C) or (H, W);
-- NCHW: (N, C, H, W), (C, H, W) or (H, W).
function picture.extents(who, shape, format)
  local n = #shape
  if n < 2 or n > 4 then
    core.fail("%s: value must be of a shape such as %s, got (%s)", who,
      format == "NHWC" and "(N, H, W, C)" or "(N, C, H, W)", table.concat(shape, ", "))
  end
  local count, first = n == 4 and shape[1] or 1, n == 4 and 2 or 1
  local height, width, channels = shape[first], shape[first + 1], shape[first + 2] or 1
  if format == "NCHW" and n > 2 then height, width, channels = width, channels, height end
  if channels <= 4 then return count, height, width, channels end
  local other = format == "NHWC" and "NCHW" or "NHWC"
  core.fail("%s: value must have 1 to 4 channels, got %d of (%s) in %s; is its data_format \"%s\"?",
    who, channels, table.concat(shape, ", "), format, other)
end

--- The first `most` pictures of an array as PNG files, in a list; then their height, width and
-- channels. Floats are in 0..1, whole numbers in 0..255; what is beyond is cut.
function picture.encode(who, array, format, most)
  local count, height, width, channels = picture.extents(who, array.shape, format)
  local size = height * width * channels
  count = math.min(count, most)
  local pixels = core.cast(#array.shape == 4 and core.rows(array, 0, count) or array, "float32")
  local data, list = ffi.cast("float *", core.pointer(pixels)), {}
  local planes = format == "NCHW"
  local view = { height = height, width = width, channels = channels,
    scale = array.dtype:find "float" and 255 or 1, channel = planes and height * width or 1,
    column = planes and 1 or channels, row = planes and width or width * channels }
  for i = 1, count do
    view.data = data + (i - 1) * size
    list[i] = png(view)
  end
  return list, height, width, channels
end

return picture
