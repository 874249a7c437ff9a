-- Lists of picture files as columns of data sets, and folders of them. They are decoded ahead of
-- whoever goes through them, on threads of the core.
---@flow data.folder data.image_folder data.pictures
local args = require "jfl.base.args"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local lazy = require "jfl.data.lazy"
local warn = require "jfl.base.warn"

local pictures = {}

local ENDINGS = { jpg = true, jpeg = true, png = true }
local OTHERS = { webp = true, gif = true, bmp = true, tif = true, tiff = true, avif = true,
  heic = true, heif = true, jxl = true, jp2 = true, jfif = true, ppm = true, pgm = true,
  tga = true, svg = true }

-- ---- options ----

-- The parameters of columns of pictures.
local PARAMS = {
  { "size", "height and width, { 224, 224 }, or one number for both", type = "integer|integer[]" },
  { "fit", "center: what fits around the middle; random: a part that changes from epoch to epoch; "
    .. "stretch: all of it", "center", words = { "center", "random", "stretch" } },
  { "shorter", "with center: what the shorter side is made before size is cut out of it; 0: as "
    .. "little as can be is cut off", 0, type = "integer" },
  { "area", "with random: bounds of the part's share of the picture", { 0.08, 1 },
    type = "number[]" },
  { "aspect", "with random: bounds of its width over its height", { 3 / 4, 4 / 3 },
    type = "number[]" },
  { "flip", "whether one in two, another in every epoch, is mirrored left to right", false },
  { "resizing", "mean: each pixel is the mean of what it covers; triangle: as PIL and torchvision "
    .. "resize (bilinear, antialiased), where networks want just what they were trained with",
    "mean", words = { "mean", "triangle" } },
  { "channels", "3: RGB, 1: grey", 3 },
  { "dtype", "uint8: 0 to 255, or float32: 0 to 1", "uint8" },
  { "data_format", "NHWC or NCHW", "NHWC", words = { "NHWC", "NCHW" } },
  { "augment", "what changes from epoch to epoch: true for a random part, mirrored or not; or by "
    .. "name {area = {0.08, 1}, aspect = {3/4, 4/3}, flip = true, brightness = 0.4, contrast = "
    .. "0.4, saturation = 0.4, hue = 0.1}", args.none, type = "boolean|table" },
  { "mean", "with std: what is subtracted from float32 pictures, one number or one a channel",
    args.none, type = "number[]" },
  { "std", "what they are divided by then", args.none, type = "number[]" },
  { "bad", "what a picture is that cannot be read: an \"error\", or \"skip\": another one of the "
    .. "batch stands in its place", "error", words = { "error", "skip" } },
}

--- The parameters of `list`, then those that all columns of pictures have.
function pictures.parameters(list)
  for _, param in ipairs(PARAMS) do list[#list + 1] = param end
  return list
end

local function check_size(who, size)
  local pair = type(size) == "number" and { size, size } or args.expect(who, "size", size,
    "number or table")
  args.must(#pair == 2, size, "%s: size must be one number or {height, width}", who)
  for i = 1, 2 do
    args.integer(who, "size", pair[i], 1)
    if pair[i] > 65535 then core.fail("%s: size must be at most 65535, got %d", who, pair[i]) end
  end
  return pair[1], pair[2]
end

--- What the core is to make of a picture, of the options of a call; without a size, the picture
-- keeps its own.
function pictures.read_spec(who, o)
  local spec = { fit = "whole", channels = o.channels or 0, dtype = o.dtype,
    planes = o.data_format == "NCHW" }
  if o.size ~= nil then
    spec.height, spec.width = check_size(who, o.size)
    spec.resizing, spec.fit, spec.flip = o.resizing, o.fit, o.flip
    spec.shorter = args.integer(who, "shorter", o.shorter, 0)
    spec.area, spec.aspect = o.area, o.aspect
    args.bounds(who, "area", o.area, 1)
    args.bounds(who, "aspect", o.aspect)
  end
  args.must(o.channels == 1 or o.channels == 3 or not o.channels and not o.size, o.channels,
    "%s: channels must be 1 (grey) or 3 (RGB)", who)
  args.must(o.dtype == "uint8" or o.dtype == "float32" or o.dtype == "float", o.dtype,
    "%s: dtype must be uint8 or float32", who)
  return spec
end

local AUGMENT = { area = true, aspect = true, flip = true, brightness = true, contrast = true,
  saturation = true, hue = true }

-- What augment asks for, put into the options that say the same, and into the spec.
local function read_augment(who, o, spec)
  local augment = o.augment
  if augment == nil or augment == false then return end
  if augment == true then augment = { area = o.area, flip = true } end
  args.expect(who, "augment", augment, "boolean or table")
  args.known(who .. ": augment", augment, AUGMENT, "name")
  for _, name in ipairs { "brightness", "contrast", "saturation", "hue" } do
    spec[name] = args.number(who, "augment: " .. name, augment[name] or 0,
      name == "hue" and "a number from 0 to 0.5" or "a number of at least 0")
  end
  if augment.area ~= nil or augment.aspect ~= nil then
    o.fit, o.area, o.aspect = "random", augment.area or o.area, augment.aspect or o.aspect
  end
  if augment.flip ~= nil then
    o.flip = args.expect(who, "augment: flip", augment.flip, "boolean")
  end
end

local function check_channels(who, name, list, channels)
  if type(list) == "number" then list = { list } end
  args.expect(who, name, list, "table")
  for i = 1, #list do
    local v = args.expect(who, ("%s[%d]"):format(name, i), list[i], "number")
    if v ~= v or math.abs(v) == math.huge or name == "std" and v == 0 then
      core.fail("%s: %s[%d] must be finite%s, got %s", who, name, i,
        name == "std" and " and not 0" or "", tostring(v))
    end
  end
  if #list == 1 or #list == channels then return list end
  core.fail("%s: %s must have one number, or one for each of %d channels, got %d", who, name,
    channels, #list)
end

--- What the core is to make of each picture of a column, and what its options say beside that.
function pictures.read_column(who, o)
  local more = {}
  read_augment(who, o, more)
  local spec = pictures.read_spec(who, o)
  for name, value in pairs(more) do spec[name] = value end
  args.check((o.mean == nil) == (o.std == nil), "%s: mean and std must be given together", who)
  if o.mean ~= nil then
    args.check(spec.dtype ~= "uint8", "%s: mean and std need dtype = flow.float32, got uint8", who)
    spec.mean = check_channels(who, "mean", o.mean, spec.channels)
    spec.std = check_channels(who, "std", o.std, spec.channels)
  end
  return { spec = spec, bad = o.bad, text = function(n)
    return ("%d pictures, %d by %d"):format(n, spec.height, spec.width)
  end }
end

-- ---- lists and folders ----

--- Picture files as a column of a data set, for flow.data.batches. They are read when their batch
-- is due, not now.
pictures.pictures = args.define("data.pictures", "Picture files as a column of a data set.", {
  returns = "Pictures",
  unpack(pictures.parameters { { "paths", "their names", type = "string[]" } }),
}, function(o, who) return lazy.files(who, o.paths, pictures.read_column(who, o)) end)

-- The names in a folder, but for hidden ones.
local function sorted_names(path)
  local list = {}
  for _, name in ipairs(core.directory(path) or {}) do
    if name:sub(1, 1) ~= "." then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

-- Adds the files of a class with one of the endings: those in its folder, and in folders within
-- that. Counts in `others`, by their endings, pictures of kinds that cannot be read.
local function add_class(found, folder, label, endings, others)
  for _, name in ipairs(sorted_names(folder)) do
    local path, ending = folder .. "/" .. name, (name:match("%.(%w+)$") or ""):lower()
    if core.is_directory(path) then
      add_class(found, path, label, endings, others)
    elseif endings[ending] and core.is_file(path) then
      table.insert(found.paths, path)
      table.insert(found.labels, label)
    elseif OTHERS[ending] then
      others[ending] = (others[ending] or 0) + 1
    end
  end
end

-- What was left out, as text: "2 .gif, 1 .webp"; nil: nothing.
local function counted(others)
  local list = {}
  for ending, count in pairs(others) do list[#list + 1] = ("%d .%s"):format(count, ending) end
  table.sort(list)
  return #list > 0 and table.concat(list, ", ") or nil
end

-- The paths and labels of all classes, each of which must have a file.
local function read_classes(who, root, classes, endings, listed)
  local found, others = { paths = {}, labels = {} }, {}
  for i, name in ipairs(classes) do
    local before, left_out = #found.paths, {}
    add_class(found, root .. "/" .. name, i - 1, endings, left_out)
    if #found.paths == before then
      local left = counted(left_out)
      core.fail("%s: '%s/%s' must have %s files, as each folder there is a class, got none%s", who,
        root, name, listed, left and " but " .. left .. ", which are not read" or "")
    end
    for ending, count in pairs(left_out) do others[ending] = (others[ending] or 0) + count end
  end
  local left = counted(others)
  if left then warn.say("%s: '%s': pictures that are not read: %s", who, root, left) end
  return found.paths, found.labels
end

--- A data set of the files with these endings in a folder that has a sub-folder for each class: a
-- column of that name, of which about tells, labels, which are the classes' numbers from 0, and
-- classes, their names. listed: the endings, for messages.
function pictures.classes(who, folder, name, about, endings, listed)
  local classes = {}
  args.check(core.is_directory(args.expect(who, "path", folder, "string")),
    "%s: path must be a directory, got '%s', which is none", who, folder)
  for _, each in ipairs(sorted_names(folder)) do
    if core.is_directory(folder .. "/" .. each) then classes[#classes + 1] = each end
  end
  args.check(#classes > 0, "%s: '%s' must have a folder for each class with %s files, got no "
    .. "folders", who, folder, listed)
  local paths, labels = read_classes(who, folder, classes, endings, listed)
  local set = columns.set { { name, lazy.column(paths, about) },
    { "labels", core.from_table(labels, "int32") } }
  set.classes = classes
  return set
end

local function folder(o, who)
  return pictures.classes(who, o.path, "images", pictures.read_column(who, o), ENDINGS,
    ".jpg, .jpeg or .png")
end

local OF_FOLDER = pictures.parameters { { "path", "of the folder", type = "string" } }

--- The pictures of a folder that has a sub-folder for each class, as a data set of images and
-- labels, for flow.data.batches. Classes and files come in the order of their names; a class's
-- number is its place in `classes`, counted from 0. Files that end in .jpg, .jpeg and .png count;
-- of other pictures, such as .webp, it says how many there are. Hidden files and folders are left
-- out. What augment changes follows from flow.random.seed, the epoch and the picture's number, so a
-- loop that goes on from a checkpoint gives the same; for a set without it, as for validation, call
-- this once more.
pictures.image_folder = args.define("data.image_folder", "A folder of pictures, with a sub-folder "
  .. "a class: a data set with images, labels (int32, from 0) and classes, their names.", {
  returns = "PictureFolder", unpack(OF_FOLDER),
}, folder)

pictures.folder = args.define("data.folder", "The same as flow.data.image_folder.", {
  returns = "PictureFolder", unpack(OF_FOLDER),
}, folder)

return pictures
