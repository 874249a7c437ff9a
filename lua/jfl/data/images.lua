-- flow.data.load_image, decode_image, save_image: pictures as files and as what is in one.
---@flow data.decode_image data.save_image
---@box data.load_image
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local core = require "jfl.core"
local ffi = require "ffi"
local picture = require "jfl.tools.picture"
local pictures = require "jfl.data.pictures"

local images = {}

local QUALITY = 90
local MOST_BYTES = 2 ^ 28        -- of a saved picture's pixels

-- What both ways of reading take beside the picture.
local PARAMS = {
  { "size", "height and width, { 224, 224 }, or one number for both; else its own", args.none,
    type = "integer|integer[]" },
  { "fit", "how it gets that size: center cuts off what is too long, stretch deforms it", "center",
    words = { "center", "stretch" } },
  { "resizing", "mean: each pixel is the mean of what it covers; triangle: as PIL and torchvision "
    .. "resize", "mean", words = { "mean", "triangle" } },
  { "channels", "3: RGB, 1: grey; else as the file has", args.none, type = "integer" },
  { "dtype", "uint8: 0 to 255, or float32: 0 to 1", "uint8" },
  { "data_format", "NHWC or NCHW: where the channels are", "NHWC", words = { "NHWC", "NCHW" } },
}

local function spec_of(who, o)
  if o.size ~= nil then
    o.channels = o.channels or 3
    o.shorter, o.area, o.aspect, o.flip = 0, { 1, 1 }, { 1, 1 }, false
  end
  return pictures.read_spec(who, o)
end

--- The JPEG or PNG in a file as an NdArray (height, width, channels), or with NCHW (channels,
-- height, width): uint8 from 0 to 255, or float32 from 0 to 1. Without a size it keeps its own;
-- without channels it has those of the file: 1, 3, and one more where a PNG has alpha.
images.load_image = args.define("data.load_image", "A picture file as an NdArray.", {
  returns = "NdArray", { "path", "of a JPEG or PNG", type = "string" }, unpack(PARAMS),
}, function(o, who)
  local spec = spec_of(who, o)
  if core.is_directory(o.path) then core.fail("%s: %s: it is a directory", who, o.path) end
  local text, why = archive.read(o.path)
  if not text then core.fail("%s: %s", who, why) end
  return core.sample(text, spec, 0, who .. ": " .. o.path)
end)

--- Decodes the bytes of a picture's file, which a program got otherwise.
images.decode_image = args.define("data.decode_image", "The bytes of a picture as an NdArray.", {
  returns = "NdArray", { "bytes", "of a JPEG or PNG", type = "string" }, unpack(PARAMS),
}, function(o, who)
  return core.sample(o.bytes, spec_of(who, o), 0, who .. ": bytes")
end)

-- ---- saving ----

-- Where the pictures of an array stand in a grid: counts, extents, and steps between values.
local function layout_of(who, array, o)
  local n, height, width, channels = picture.extents(who, array.shape, o.data_format)
  if array.size == 0 then core.fail("%s: images must not be empty", who) end
  local across = math.min(n, o.columns or math.ceil(math.sqrt(n)))
  local gap = n > 1 and o.padding or 0
  local planes = o.data_format == "NCHW"
  return { n = n, h = height, w = width, c = channels, across = across, gap = gap,
    down = math.ceil(n / across), channel = planes and height * width or 1,
    column = planes and 1 or channels, row = planes and width or width * channels }
end

-- Copies picture i of the layout to its place among the bytes of `out`, `wide` pixels wide.
local function draw(l, from, out, wide, i, low, factor)
  local top = math.floor(i / l.across) * (l.h + l.gap) + l.gap
  local left = i % l.across * (l.w + l.gap) + l.gap
  local start = i * l.h * l.w * l.c
  for y = 0, l.h - 1 do
    local at = ((top + y) * wide + left) * l.c
    for x = 0, l.w - 1 do
      for c = 0, l.c - 1 do
        local v = (from[start + y * l.row + x * l.column + c * l.channel] - low) * factor
        out[at] = v >= 255 and 255 or v > 0 and math.floor(v + 0.5) or 0
        at = at + 1
      end
    end
  end
end

-- The array as one picture: uint8 (height, width, channels).
local function grid(who, array, o)
  local l = layout_of(who, array, o)
  local high = l.down * (l.h + l.gap) + l.gap
  local wide = l.across * (l.w + l.gap) + l.gap
  args.check(high * wide * l.c <= MOST_BYTES, "%s: images must make a picture of at most %d bytes, "
    .. "got %d by %d pixels", who, MOST_BYTES, high, wide)
  local out = core.array("uint8", { high, wide, l.c })
  local values, pixels = core.cast(array, "float32"), ffi.cast("uint8_t *", core.pointer(out))
  local data = ffi.cast("float *", core.pointer(values))
  local low, factor = o.range[1], 255 / (o.range[2] - o.range[1])
  for i = 0, l.n - 1 do draw(l, data, pixels, wide, i, low, factor) end
  return out
end

local function check_range(who, o, array)
  if o.range == nil then
    o.range = { 0, array.dtype:match("float") and 1 or 255 }
    return
  end
  local r = args.expect(who, "range", o.range, "table")
  if #r == 2 and type(r[1]) == "number" and type(r[2]) == "number" and r[1] < r[2] then return end
  core.fail("%s: range must be two numbers, the smaller one first, got %s", who, args.describe(r))
end

local function jpeg_of(who, pixels, quality)
  local channels = pixels.shape[3]
  if channels ~= 1 and channels ~= 3 then
    core.fail("%s: images must have 1 or 3 channels for a JPEG, got %d; a PNG takes 1 to 4", who,
      channels)
  end
  return core.bytes(core.jpeg(pixels, quality, who))
end

--- Saves a picture, or several side by side with a border around each, as PNG or JPEG, which the
-- path's ending says. images: (n, channels, height, width) or, for NHWC, (n, height, width,
-- channels), or one picture without the first axis.
images.save_image = args.define("data.save_image", "Saves pictures side by side as a file.", {
  { "path", "of the file: it ends in .png, .jpg or .jpeg", type = "string" },
  { "images", "(n, c, h, w), (c, h, w) or (h, w); floats in 0..1, whole numbers in 0..255",
    type = "NdArray" },
  { "columns", "how many stand side by side; else as many as below each other", args.none,
    type = "integer", least = 1 },
  { "padding", "pixels around each of several", 2, type = "integer", least = 0 },
  { "range", "the values that become black and white, such as {-1, 1}", args.none,
    type = "number[]" },
  { "data_format", "NCHW or NHWC: where the channels are", "NCHW", words = { "NCHW", "NHWC" } },
  { "quality", "of a JPEG, from 1 to 100", QUALITY, range = "a whole number from 1 to 100" },
}, function(o, who)
  local ending = (o.path:match("%.(%w+)$") or ""):lower()
  if ending ~= "png" and ending ~= "jpg" and ending ~= "jpeg" then
    core.fail("%s: path must end in .png, .jpg or .jpeg, got '%s'", who, o.path)
  end
  args.must(core.type(o.images) == "array", o.images, "%s: images must be an NdArray", who)
  check_range(who, o, o.images)
  local pixels = grid(who, o.images, o)
  local text = ending == "png" and picture.encode(who, pixels, "NHWC", 1)[1]
    or jpeg_of(who, pixels, o.quality)
  archive.replace(who, o.path, function(write) write(text) end)
end)

return images
