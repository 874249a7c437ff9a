-- Reading OneFlow's records in a body: what a reader and its decoders give are no blobs until they
-- have one shape. Such a blob is an input of the job, and each call gives it the next batch, which
-- threads have decoded ahead.
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local images = require "jfl.op.images"
local job = require "jfl.job.job"
local lazy = require "jfl.data.lazy"
local loop = require "jfl.data.loop"
local names = require "jfl.base.names"
local orders = require "jfl.data.orders"
local stream = require "jfl.data.stream"
local trace = require "jfl.job.trace"

local records = {}

local CHANNELS = { BGR = 3, RGB = 3, GRAY = 1 }

-- Where the records of files are, by the files' names.
local indices = {}
job.on_clear(function() indices = {} end)

-- ---- files ----

local function part_paths(who, o)
  local list = {}
  local n = args.number(who, "data_part_num", o.data_part_num, "a whole number from 1 to 100000")
  local digits = args.integer(who, "part_name_suffix_length", o.part_name_suffix_length, -1)
  local head = args.expect(who, "ofrecord_dir", o.ofrecord_dir, "string") .. "/"
    .. args.expect(who, "part_name_prefix", o.part_name_prefix, "string")
  for i = 0, n - 1 do
    list[i + 1] = head .. ("%0" .. math.max(1, math.min(digits, 20)) .. "d"):format(i)
  end
  return list
end

-- Where the records are, and how many each file has.
local function index_of(who, paths)
  local key = table.concat(paths, "\n")
  if indices[key] then return indices[key] end
  local index = { paths = paths, files = {}, offsets = {}, sizes = {}, counts = {} }
  for file, path in ipairs(paths) do
    local _, offsets, sizes = core.pack(path, "ofrecord", who)
    local n = #index.files
    index.counts[file] = #offsets
    for i = 1, #offsets do
      index.files[n + i], index.offsets[n + i], index.sizes[n + i] = file, offsets[i], sizes[i]
    end
  end
  if #index.files == 0 then core.fail("%s: %s: there are no records", who, paths[1]) end
  indices[key] = index
  return index
end

-- How each epoch orders the records; nil: as they are.
local function draw_of(o, counts)
  local shuffles, moves = o.random_shuffle, o.shuffle_after_epoch
  if not shuffles and not moves then return nil end
  local files = {}
  for i = 1, #counts do files[i] = i end
  return function(seed, epoch)
    local order = moves and epoch > 0 and loop.shuffled(#counts, seed) or files
    return orders.buffered(counts, order, shuffles and o.shuffle_buffer_size or 1, seed + 1)
  end
end

-- ---- what is no blob yet ----

-- The metatable of each kind says what an error calls it.
local function kind(text)
  return { __tostring = function() return text end, of = {} }
end

local Records = kind "records, of which flow.data.OFRecordRawDecoder and others make blobs"
local Bytes = kind "the bytes of records, of which flow.image.decode makes pictures"
local Pictures = kind "pictures of several sizes, of which flow.image.Resize makes a blob"
Pictures.__index = Pictures.of

local function need(who, value, class, what)
  if metatable(value) == class then return value end
  core.fail("%s: input_blob must be %s, got %s", who, what, args.describe(value))
end

local function need_records(who, value)
  return need(who, value, Records, "what flow.data.ofrecord_reader gives")
end

-- The blob of a feature that a spec makes numbers.
local function blob_of(from, spec, dtype, shape, is_heavy)
  local reader = from.reader
  reader.n = reader.n + 1
  local column = lazy.column({}, { spec = spec, index = from.index, counted = true, bad = "error" })
  return stream.input(reader, ("%s-%d-%s"):format(from.name, reader.n, spec.feature), column, dtype,
    shape, is_heavy)
end

local function open(who, o)
  local context = trace.need(who)
  args.integer(who, "batch_size", o.batch_size, 1)
  args.integer(who, "shuffle_buffer_size", o.shuffle_buffer_size, 1)
  local name = trace.name(context, o.name, "ofrecord_reader")
  local index = index_of(who, part_paths(who, o))
  local of = stream.open(who, context.job.name .. "." .. name, #index.files,
    { batch_size = o.batch_size, draw = draw_of(o, index.counts) })
  local reader = stream.reader(who, of)
  reader.n = 0
  return setmetatable({ reader = reader, index = index, name = name }, Records)
end

-- ---- readers ----

local NAME = { "name", "", args.none }
local FILES = { { "batch_size", "", 1 }, { "data_part_num", "", 1 },
  { "part_name_prefix", "", "part-" }, { "part_name_suffix_length", "", -1 } }
local ORDER = { { "random_shuffle", "", false }, { "shuffle_buffer_size", "", 1024 },
  { "shuffle_after_epoch", "", false } }

-- What a reader takes: the folder, other lists of parameters, and a name.
local function reader_params(...)
  local list = { { "ofrecord_dir" } }
  for _, params in ipairs { ... } do
    for _, param in ipairs(params) do list[#list + 1] = param end
  end
  list[#list + 1] = NAME
  return list
end

records.ofrecord_reader = args.unlisted("data.ofrecord_reader", reader_params(FILES, ORDER),
  function(o) return open("data.ofrecord_reader", o) end)

records.ofrecord_loader = args.unlisted("data.ofrecord_loader", reader_params(FILES, {
  { "shuffle", "", false }, { "shuffle_buffer_size", "", 1024 },
}), function(o)
  o.random_shuffle, o.shuffle_after_epoch = o.shuffle, false
  return open("data.ofrecord_loader", o)
end)

-- ---- decoders ----

local function feature_of(who, value)
  args.expect(who, "blob_name", value, "string")
  if value ~= "" and not value:find("%z") then return value end
  core.fail("%s: blob_name must be the name of a feature, got '%s'", who, value)
end

records.OFRecordRawDecoder = args.unlisted("data.OFRecordRawDecoder", {
  { "input_blob" }, { "blob_name" }, { "shape" }, { "dtype" }, { "dim1_varying_length", "", false },
  { "auto_zero_padding", "", false }, NAME,
}, function(o, who)
  local from = need_records(who, o.input_blob)
  local shape = args.shape(who, "shape", o.shape)
  local dtype = args.dtype(who, "dtype", o.dtype)
  if dtype:match("float16$") then
    core.fail("%s: dtype must be float32, float64, int8, uint8, int32 or int64, got %s", who, dtype)
  end
  return blob_of(from, { kind = "numbers", feature = feature_of(who, o.blob_name), dtype = dtype,
    shape = shape, pads = o.dim1_varying_length or o.auto_zero_padding }, dtype, shape)
end)

local function channels_of(who, color_space)
  if CHANNELS[color_space] then return CHANNELS[color_space] end
  core.fail("%s: color_space must be BGR, RGB or GRAY, got %s", who, args.describe(color_space))
end

-- Pictures that a feature has, as they are or each a random part of them.
local function pictures_of(who, from, feature, o, is_random)
  local spec = { kind = "picture", feature = feature, channels = channels_of(who, o.color_space),
    bgr = o.color_space == "BGR", dtype = "uint8", fit = "stretch" }
  if is_random then
    spec.fit, spec.area, spec.aspect = "random", o.random_area, o.random_aspect_ratio
    args.bounds(who, "random_area", o.random_area)
    args.bounds(who, "random_aspect_ratio", o.random_aspect_ratio)
  end
  return setmetatable({ reader = from.reader, index = from.index, name = from.name, spec = spec },
    Pictures)
end

records.OFRecordImageDecoder = args.unlisted("data.OFRecordImageDecoder", {
  { "input_blob" }, { "blob_name" }, { "color_space", "", "BGR" }, NAME,
}, function(o, who)
  return pictures_of(who, need_records(who, o.input_blob), feature_of(who, o.blob_name), o)
end)

local RANDOM = { { "num_attempts", "", 10 }, { "seed", "", args.none },
  { "random_area", "", { 0.08, 1 } }, { "random_aspect_ratio", "", { 0.75, 4 / 3 } } }

records.OFRecordImageDecoderRandomCrop = args.unlisted("data.OFRecordImageDecoderRandomCrop", {
  { "input_blob" }, { "blob_name" }, { "color_space", "", "BGR" }, RANDOM[1], RANDOM[2], RANDOM[3],
  RANDOM[4], NAME,
}, function(o, who)
  return pictures_of(who, need_records(who, o.input_blob), feature_of(who, o.blob_name), o, true)
end)

records.OFRecordBytesDecoder = args.unlisted("data.OFRecordBytesDecoder", {
  { "input_blob" }, { "blob_name" }, NAME,
}, function(o, who)
  local from = need_records(who, o.input_blob)
  return setmetatable({ reader = from.reader, index = from.index, name = from.name,
    feature = feature_of(who, o.blob_name) }, Bytes)
end)

local function need_bytes(who, value)
  return need(who, value, Bytes, "what flow.data.OFRecordBytesDecoder gives")
end

records.decode = args.unlisted("image.decode", {
  { "images_bytes_buffer" }, { "dtype", "", "uint8" }, { "color_space", "", "BGR" }, NAME,
}, function(o, who)
  local from = need_bytes(who, o.images_bytes_buffer)
  args.must(o.dtype == "uint8", o.dtype, "%s: dtype must be uint8", who)
  return pictures_of(who, from, from.feature, o)
end)

records.image_decoder_random_crop_resize = args.unlisted("data.image_decoder_random_crop_resize", {
  { "input_blob" }, { "target_width" }, { "target_height" }, RANDOM[1], RANDOM[2], RANDOM[3],
  RANDOM[4], { "num_workers", "", args.none }, { "warmup_size", "", args.none },
  { "max_num_pixels", "", args.none }, NAME,
}, function(o, who)
  local from = need_bytes(who, o.input_blob)
  o.color_space = "RGB"
  return pictures_of(who, from, from.feature, o, true):resize(who,
    { target_size = { o.target_width, o.target_height } })
end)

-- ---- sizes ----

local function dense(self, spec, height, width)
  for name, value in pairs(self.spec) do
    if spec[name] == nil then spec[name] = value end
  end
  spec.height, spec.width = height, width
  return blob_of(self, spec, "uint8", { height, width, spec.channels }, true)
end

-- Brings pictures to one size, {width, height} in target_size, or their shorter sides to one.
function Pictures.of:resize(who, o)
  local size = o.target_size
  args.must(o.interpolation_type == nil or o.interpolation_type == "auto", o.interpolation_type,
    "%s: interpolation_type must be auto for decoded pictures", who)
  if o.resize_shorter ~= nil or o.keep_aspect_ratio then
    args.check(self.spec.fit ~= "random", "%s: random parts of pictures must get a size of their "
      .. "own: {target_size = {224, 224}}", who)
    local shorter = o.resize_shorter
    if shorter == nil then shorter = type(size) == "table" and size[1] or size end
    return setmetatable({ reader = self.reader, index = self.index, name = self.name,
      spec = self.spec, shorter = args.integer(who, "resize_shorter", shorter, 1) }, Pictures)
  end
  return dense(self, {}, unpack(images.target(who, size)))
end

-- The middle of pictures whose shorter sides are alike.
function Pictures.of:crop(who, o)
  args.check(self.shorter, "%s: pictures of several sizes must be brought to one first: "
    .. "flow.image.Resize(pictures, {resize_shorter = 256})", who)
  args.check(o.crop_pos_x == 0.5 and o.crop_pos_y == 0.5, "%s: crop_pos_x and crop_pos_y must be "
    .. "0.5 for decoded pictures, got %g and %g", who, o.crop_pos_x, o.crop_pos_y)
  local h = args.integer(who, "crop_h", o.crop_h, 1)
  local w = args.integer(who, "crop_w", o.crop_w, 1)
  args.check(math.max(h, w) <= self.shorter, "%s: crop_h and crop_w must be at most %d, as the "
    .. "pictures' shorter sides are, got %d and %d", who, self.shorter, h, w)
  return dense(self, { fit = "center", shorter = self.shorter }, h, w)
end

-- ---- both at once ----

records.ofrecord_image_classification_reader =
  args.unlisted("data.ofrecord_image_classification_reader", reader_params({
    { "image_feature_name" }, { "label_feature_name" } }, FILES, ORDER, {
    { "color_space", "", "BGR" }, { "decode_buffer_size_per_thread", "", 32 },
    { "num_decode_threads_per_machine", "", args.none } }), function(o, who)
    local from = open(who, o)
    local decoded = pictures_of(who, from, feature_of(who, o.image_feature_name), o)
    return decoded, records.OFRecordRawDecoder(from, o.label_feature_name,
      { shape = {}, dtype = "int32" })
  end)

-- ---- decode_ofrecord: a list of what to read ----

local Codec = { __tostring = function(self) return "a codec: " .. self.kind end }

records.RawCodec = args.unlisted("data.RawCodec", { { "auto_zero_padding", "", false } },
  function(o) return setmetatable({ kind = "raw", pads = o.auto_zero_padding }, Codec) end)

records.ImageResizePreprocessor = args.unlisted("data.ImageResizePreprocessor",
  { { "width" }, { "height" } }, function(o, who)
    return { kind = "resize", width = args.integer(who, "width", o.width, 1),
      height = args.integer(who, "height", o.height, 1) }
  end)

records.ImagePreprocessor = args.unlisted("data.ImagePreprocessor", { { "preprocessor" } },
  function(o)
    if o.preprocessor ~= "bgr2rgb" then
      core.fail("data.ImagePreprocessor: preprocessor must be bgr2rgb, got %s; "
        .. "flow.image.random_flip mirrors", args.describe(o.preprocessor))
    end
    return { kind = "bgr2rgb" }
  end)

records.ImageCodec = args.unlisted("data.ImageCodec", { { "image_preprocessors", "", {} } },
  function(o)
    local self = { kind = "image" }
    for _, each in ipairs(args.expect("data.ImageCodec", "image_preprocessors",
      o.image_preprocessors, "table")) do
      args.must(type(each) == "table" and each.kind, each,
        "data.ImageCodec: image_preprocessors must be what flow.data.ImagePreprocessor and its "
          .. "like give")
      self[each.kind] = each
    end
    return setmetatable(self, Codec)
  end)

records.NormByChannelPreprocessor = args.unlisted("data.NormByChannelPreprocessor", {
  { "mean_values" }, { "std_values", "", { 1, 1, 1 } }, { "data_format", "", "channels_last" },
}, function(o)
  args.must(o.data_format == "channels_last" or o.data_format == "channels_first", o.data_format,
    "data.NormByChannelPreprocessor: data_format must be channels_last or channels_first")
  return { kind = "norm", mean = o.mean_values, std = o.std_values,
    format = o.data_format == "channels_last" and "NHWC" or "NCHW" }
end)

records.BlobConf = args.unlisted("data.BlobConf", {
  { "name" }, { "shape" }, { "dtype" }, { "codec" }, { "preprocessors", "", {} },
}, function(o, who)
  args.must(metatable(o.codec) == Codec, o.codec,
    "%s: codec must be flow.data.ImageCodec(...) or flow.data.RawCodec()", who)
  args.shape(who, "shape", o.shape)
  feature_of(who, o.name)
  return o
end)

local function decode_blob(who, from, conf)
  local flow = names.root()
  local blob
  if conf.codec.kind == "raw" then
    blob = records.OFRecordRawDecoder(from, conf.name, { shape = conf.shape, dtype = conf.dtype,
      auto_zero_padding = conf.codec.pads })
  else
    local size = conf.codec.resize
    args.check(size, "%s: '%s': ImageCodec must have an ImageResizePreprocessor, as blobs have one "
      .. "shape", who, conf.name)
    local space = conf.codec.bgr2rgb and "RGB" or "BGR"
    blob = pictures_of(who, from, conf.name, { color_space = space }):resize(who,
      { target_size = { size.width, size.height } })
    blob = flow.cast(blob, args.dtype(who, "dtype", conf.dtype))
  end
  for _, each in ipairs(conf.preprocessors) do
    blob = flow.image.normalize(blob, each.std, each.mean, { data_format = each.format })
  end
  return blob
end

records.decode_ofrecord = args.unlisted("data.decode_ofrecord", reader_params({ { "blobs" } },
  FILES, { { "shuffle", "", false }, { "buffer_size", "", 1024 } }), function(o, who)
  o.random_shuffle, o.shuffle_after_epoch = o.shuffle, false
  o.shuffle_buffer_size = o.buffer_size
  local from, list = open(who, o), {}
  for i, conf in ipairs(args.expect(who, "blobs", o.blobs, "table")) do
    list[i] = decode_blob(who, from, conf)
  end
  return unpack(list)
end)

return records
