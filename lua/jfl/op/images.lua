-- Pictures in batches: sizes, parts, and the random changes that keep a network from learning its
-- training set by heart.
---@box image.CropMirrorNormalize image.Resize image.center_crop image.flip image.normalize
---@box image.random_crop image.random_erasing image.random_flip random.CoinFlip
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"
local trace = require "jfl.job.trace"

local op, define, NAME = call.op, tensors.define, tensors.NAME

local images = {}

local TENSOR = "Tensor"
local FORMAT = { "data_format", "NCHW or NHWC: the order of x's axes", "NCHW",
  words = { "NCHW", "NHWC" } }
local NHWC = { "data_format", "NHWC or NCHW: the order of axes", "NHWC",
  words = { "NHWC", "NCHW" } }
local SHARE = "a number from 0 to 1"
local TRAINING = { "training", "true or false overrides the job's type", args.none,
  type = "boolean" }

--- The number of x's axis of channels, from 1, where x is a batch of pictures.
function images.channels_of(who, x, format, name)
  if #x.shape == 4 then return format == "NCHW" and 2 or 4 end
  core.fail("%s: %s must be of shape %s, got %s", who, name or "x",
    format == "NCHW" and "(N, C, H, W)" or "(N, H, W, C)", args.shape_text(x.shape))
end

--- Whether random changes are made: in train jobs and outside of jobs, unless training says.
function images.is_active(who, training)
  if training ~= nil then return args.expect(who, "training", training, "boolean") end
  return not trace.current or trace.current.mode == "train"
end

--- A list of numbers, one a channel, as an array that broadcasts over pictures.
function images.along(list, axis, dtype)
  local shape = { 1, 1, 1, 1 }
  shape[axis] = #list
  return core.reshape(core.from_table(list, dtype), shape)
end

-- How pictures that no batch has yet, of several sizes, are brought to one; nil for tensors.
local function undecided(image, how)
  local meta = metatable(image)
  return type(meta) == "table" and meta.of and meta.of[how]
end

local along, channels_of, is_active = images.along, images.channels_of, images.is_active

-- ---- sizes and parts ----

--- The size of a result as rows and columns: { width, height } in target_size, as OneFlow has it.
function images.target(who, size)
  args.must(type(size) == "table" and #size == 2, size, "%s: target_size must be {width, height}",
    who)
  for i = 1, 2 do args.integer(who, "target_size", size[i], 1) end
  return { size[2], size[1] }
end

--- Brings pictures to one size. auto is area (means of what lies under a pixel) for an axis that
-- shrinks and bilinear for one that grows. uint8 is rounded, floats have gradients.
images.Resize = args.define("image.Resize", "Brings a batch of pictures to another size.", {
  { "image", "(N, H, W, C), or as data_format says: uint8, float32 or float64", type = TENSOR,
    stands = true },
  { "target_size", "{width, height}", args.none, type = "integer[]" },
  { "interpolation_type", "auto, nearest, bilinear or area", "auto" },
  NHWC, NAME,
  { "resize_shorter", "of records that a body reads: what the pictures' shorter sides become",
    args.none, type = "integer" },
  { "resize_x", "the width, in place of target_size", args.none, type = "integer" },
  { "resize_y", "the height", args.none, type = "integer" },
  { "keep_aspect_ratio", "whether target_size is what their shorter sides become", false },
  returns = TENSOR,
}, function(o, who)
  local resize = undecided(o.image, "resize")
  if o.resize_x ~= nil or o.resize_y ~= nil then o.target_size = { o.resize_x, o.resize_y } end
  if resize then return resize(o.image, who, o) end
  if o.resize_shorter ~= nil or o.keep_aspect_ratio then
    core.fail("%s: resize_shorter and keep_aspect_ratio are for pictures of several sizes", who)
  end
  channels_of(who, args.tensor(who, "image", o.image), o.data_format, "image")
  return (op.image_resize(o.image, { size = images.target(who, o.target_size),
    interpolation = o.interpolation_type, data_format = o.data_format, name = o.name }))
end)

--- The middle of each picture.
local function center_crop(who, x, size, format, name)
  local axis = channels_of(who, x, format) == 2 and 3 or 2
  local begin, shape = { 0, 0, 0, 0 }, { unpack(x.shape) }
  for i = 0, 1 do
    local extent = shape[axis + i]
    args.check(size[i + 1] <= extent, "%s: size must be at most %d by %d, got %d by %d", who,
      shape[axis], shape[axis + 1], size[1], size[2])
    begin[axis + i], shape[axis + i] = math.floor((extent - size[i + 1]) / 2), size[i + 1]
  end
  return (op.slice(x, { begin = begin, size = shape, name = name }))
end

local function two(who, name, value, least)
  local list = tensors.integers(who, name, value, least)
  if #list == 1 then return { list[1], list[1] } end
  if #list == 2 then return list end
  core.fail("%s: %s must be one number or two, rows and columns, got %s", who, name,
    args.describe(value))
end

images.center_crop = define("image.center_crop", "The middle of each picture.", {
  { "x", "pictures", type = TENSOR },
  { "size", "rows and columns, or one number for both", type = "integer|integer[]" }, FORMAT,
}, function(o, who)
  return center_crop(who, o.x, two(who, "size", o.size, 1), o.data_format, o.name)
end)

--- A part of each picture, at a place of its own that every run draws anew, from a picture that
-- counts as surrounded by `padding` zeros; mirrored with probability `flip`. In jobs that do not
-- train it is the middle, not mirrored. For CIFAR's 32 by 32 pictures size 32, padding 4 and flip
-- 0.5 are usual (He et al., "Deep residual learning", 2015, section 4.2).
images.random_crop = define("image.random_crop", "A random part of a picture, in training.", {
  { "x", "pictures of any dtype", type = TENSOR },
  { "size", "rows and columns, or one number for both", type = "integer|integer[]" },
  { "padding", "zeros around each picture: rows and columns, or one number for both", 0,
    type = "integer|integer[]" },
  { "flip", "the probability of being mirrored, left to right", 0, range = SHARE },
  FORMAT, TRAINING,
}, function(o, who)
  local axis = channels_of(who, o.x, o.data_format) == 2 and 3 or 2
  local size, padding = two(who, "size", o.size, 1), two(who, "padding", o.padding, 0)
  if is_active(who, o.training) then
    return (op.random_crop(o.x, { size = size, padding = padding, name = o.name,
      flip = o.flip, data_format = o.data_format }))
  end
  local sides = {}
  for i = 1, 8 do sides[i] = 0 end
  for i = 0, 1 do
    sides[2 * (axis + i) - 1], sides[2 * (axis + i)] = padding[i + 1], padding[i + 1]
  end
  local x = padding[1] + padding[2] > 0 and op.pad(o.x, { paddings = sides }) or o.x
  return center_crop(who, x, size, o.data_format, o.name)
end)

images.random_flip = define("image.random_flip", "Mirrors pictures left to right at random, "
  .. "in training.", {
    { "x", "pictures of any dtype", type = TENSOR },
    { "probability", "of each", 0.5, range = SHARE }, FORMAT, TRAINING,
  }, function(o, who)
    local axis = channels_of(who, o.x, o.data_format) == 2 and 3 or 2
    if not is_active(who, o.training) then return o.x end
    return op.random_crop(o.x, { size = { o.x.shape[axis], o.x.shape[axis + 1] },
      flip = o.probability, data_format = o.data_format, name = o.name })
  end)

-- What flip_code says is reversed: axes counted from the one of rows.
local FLIPS = { [0] = { 0 }, [1] = { 1 }, [-1] = { 0, 1 } }

images.flip = define("image.flip", "Mirrors all pictures.", {
  { "image", "pictures of any dtype", type = TENSOR },
  { "flip_code", "1: left to right; 0: top to bottom; -1: both", 1 },
  NHWC,
}, function(o, who)
  local rows = channels_of(who, o.image, o.data_format, "image") == 2 and 2 or 1
  local begin, step, shape = { 0, 0, 0, 0 }, { 1, 1, 1, 1 }, o.image.shape
  args.must(FLIPS[o.flip_code], o.flip_code, "%s: flip_code must be 1, 0 or -1", who)
  for _, axis in ipairs(FLIPS[o.flip_code]) do
    begin[rows + axis + 1], step[rows + axis + 1] = math.max(shape[rows + axis + 1] - 1, 0), -1
  end
  return op.strided_slice(o.image, { begin = begin, step = step, size = shape, name = o.name })
end)

--- int8 numbers that are 1 with the given probability, such as mirror_blob of CropMirrorNormalize.
images.CoinFlip = define("random.CoinFlip", "Random int8 numbers, 0 or 1.", {
  { "batch_size", "how many", 1, least = 1 },
  { "probability", "of 1", 0.5, range = SHARE },
}, function(o)
  local drawn = op.random_uniform({ shape = { o.batch_size } })
  return op.cast(op.less(drawn, o.probability), { dtype = "int8", name = o.name })
end)

-- ---- colours ----

--- (pixels - mean) / std of a part of uint8 pictures, (N, H, W, C), as float32: what makes decoded
-- pictures the input of a network, in one step.
images.CropMirrorNormalize = define("image.CropMirrorNormalize", "(pixels - mean) / std of a "
  .. "part of uint8 pictures, as float32.", {
    { "input_blob", "uint8 (N, H, W, C)", type = TENSOR, stands = true },
    { "mirror_blob", "int8 (N): pictures where it is not 0 are mirrored left to right", args.none,
      type = TENSOR },
    { "color_space", "BGR or RGB: 3 channels, GRAY: 1", "BGR" },
    { "output_layout", "NCHW or NHWC: the order of the result's axes", "NCHW" },
    { "crop_h", "rows of the part that is taken; 0: all", 0, type = "integer" },
    { "crop_w", "its columns; 0: all", 0, type = "integer" },
    { "crop_pos_y", "where it is, from 0 (top) to 1 (bottom)", 0.5 },
    { "crop_pos_x", "where it is, from 0 (left) to 1 (right)", 0.5 },
    { "mean", "numbers that are subtracted: one, or one a channel", { 0 }, type = "number[]" },
    { "std", "numbers that are divided by: one, or one a channel", { 1 }, type = "number[]" },
    { "output_dtype", "of the result: float32", "float32" },
  }, function(o, who)
    local x, mirror = o.input_blob, o.mirror_blob
    local crop = undecided(x, "crop")
    if crop then
      x = crop(x, who, o)
      o.crop_h, o.crop_w = 0, 0
    end
    args.tensor(who, "input_blob", x)
    o.input_blob, o.mirror_blob = nil, nil
    if mirror == nil then return (op.crop_mirror_normalize(x, o)) end
    return op.crop_mirror_normalize(x, { mirror }, o)
  end)

local function channel_numbers(who, name, value, n)
  local list = type(value) == "number" and { value } or args.expect(who, name, value, "table")
  for i = 1, #list do args.expect(who, ("%s[%d]"):format(name, i), list[i], "number") end
  if #list == 1 or #list == n then return list end
  core.fail("%s: %s must have one number, or one for each of %d channels, got %d", who, name, n,
    #list)
end

--- (x - mean) / std, channel by channel. Pictures that are no floats become float32 first.
images.normalize = define("image.normalize", "(image - mean) / std, channel by channel.", {
  { "image", "pictures", type = TENSOR },
  { "std", "a number, or one a channel", type = "number|number[]" },
  { "mean", "a number, or one a channel", type = "number|number[]" },
  NHWC,
}, function(o, who)
  local x = o.image
  local axis = channels_of(who, x, o.data_format, "image")
  if not x.dtype:match("float") then x = op.cast(x, { dtype = "float32" }) end
  local n = x.shape[axis]
  local mean = along(channel_numbers(who, "mean", o.mean, n), axis, x.dtype)
  local std = along(channel_numbers(who, "std", o.std, n), axis, x.dtype)
  return op.divide(op.subtract(x, mean), std, { name = o.name })
end)

-- 1 where the numbers 0 .. n - 1 along an axis are from `low` up to below `low + size`, else 0.
local function inside(n, axis, low, size, dtype)
  local list = {}
  for i = 1, n do list[i] = i - 1 end
  local at = along(list, axis, dtype)
  local from, to = op.greater_equal(at, low), op.less(at, op.add(low, size))
  return op.multiply(op.cast(from, { dtype = dtype }), op.cast(to, { dtype = dtype }))
end

--- Fills a random rectangle of a picture with a number (Zhong et al., "Random erasing data
-- augmentation", 2017): of a share of its area, of an aspect, at a place, which each picture draws
-- for itself; what lies beyond the picture is cut off. Nothing in jobs that do not train.
images.random_erasing = args.define("image.random_erasing", "Erases rectangles at random, in "
  .. "training.", {
    { "x", "float pictures", type = TENSOR },
    { "probability", "of each picture to lose a rectangle", 0.5, range = SHARE },
    { "scale", "bounds of the rectangle's share of the area", { 0.02, 0.33 }, type = "number[]" },
    { "ratio", "bounds of its height over its width", { 0.3, 3.3 }, type = "number[]" },
    { "value", "what it is filled with", 0, type = "number" }, FORMAT, TRAINING,
    returns = TENSOR,
  }, function(o, who)
    local x = o.x
    local rows = channels_of(who, x, o.data_format) == 2 and 3 or 2
    args.bounds(who, "scale", o.scale)
    args.bounds(who, "ratio", o.ratio)
    args.check(x.dtype:match("float"), "%s: x must be floats, got %s", who, x.dtype)
    if not is_active(who, o.training) then return x end
    local n, h, w, dtype = x.shape[1], x.shape[rows], x.shape[rows + 1], x.dtype
    local function draw(low, high)
      return op.random_uniform({ shape = { n, 1, 1, 1 }, minval = low, maxval = high,
        dtype = dtype })
    end
    local area = op.multiply(draw(o.scale[1], o.scale[2]), h * w)
    local ratio = op.exp(draw(math.log(o.ratio[1]), math.log(o.ratio[2])))
    local high, wide = op.sqrt(op.multiply(area, ratio)), op.sqrt(op.divide(area, ratio))
    local chosen = op.cast(op.less(draw(0, 1), o.probability), { dtype = dtype })
    local mask = op.multiply(inside(h, rows, op.multiply(draw(0, 1), h), high, dtype),
      inside(w, rows + 1, op.multiply(draw(0, 1), w), wide, dtype))
    mask = op.multiply(mask, chosen)
    local kept = op.multiply(x, op.subtract(1, mask))
    return (o.value == 0 and kept or op.add(kept, op.multiply(mask, o.value)))
  end)

return images
