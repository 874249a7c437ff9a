-- Lists of picture files as columns of data sets, and folders of them. They are decoded ahead of
-- whoever goes through them, on threads of the core.
---@flow data.folder data.pictures
local args = require "jfl.base.args"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local warn = require "jfl.base.warn"

local pictures = {}

local FITS = { stretch = true, center = true, random = true }
local ENDINGS = { jpg = true, jpeg = true, png = true }
local OTHERS = { webp = true, gif = true, bmp = true, tif = true, tiff = true, avif = true,
  heic = true, heif = true, jxl = true, jp2 = true, jfif = true, ppm = true, pgm = true,
  tga = true, svg = true }

-- The paths are the list's items, what is asked of each picture is in specs.
local Pictures = {}
local specs = setmetatable({}, { __mode = "k" })

function Pictures:__tostring()
  local s = specs[self]
  return ("%d pictures, %d by %d"):format(#self, s.height, s.width)
end

--- What a list of pictures asks of each; nil for any other value.
function pictures.spec(list) return specs[list] end

-- ---- options ----

--- The parameters that pictures, folder and load_image share.
local PARAMS = {
  { "size", "height and width, { 224, 224 }, or one number for both", type = "integer|integer[]" },
  { "fit", "center: what fits around the middle; random: a part that changes from epoch to epoch; "
    .. "stretch: all of it", "center", type = '"center"|"random"|"stretch"' },
  { "shorter", "with center: what the shorter side is made before size is cut out of it; 0: as "
    .. "little as can be is cut off", 0, type = "integer" },
  { "area", "with random: bounds of the part's share of the picture", { 0.08, 1 },
    type = "number[]" },
  { "aspect", "with random: bounds of its width over its height", { 3 / 4, 4 / 3 },
    type = "number[]" },
  { "flip", "whether one in two, another in every epoch, is mirrored left to right", false },
  { "channels", "3: RGB, 1: grey", 3 },
  { "dtype", "uint8: 0 to 255, or float32: 0 to 1", "uint8" },
  { "data_format", "NHWC or NCHW", "NHWC" },
}

local function check_pair(who, name, pair, most)
  args.expect(who, name, pair, "table")
  local a, b = pair[1], pair[2]
  local right = #pair == 2 and type(a) == "number" and type(b) == "number" and a > 0 and a <= b
  if right and b <= most then return end
  core.fail("%s: %s must be two numbers above 0%s, the smaller one first, got %s", who, name,
    most == 1 and " and at most 1" or "", args.describe(pair))
end

local function check_size(who, size)
  local pair = type(size) == "number" and { size, size } or args.expect(who, "size", size,
    "number or table")
  if #pair ~= 2 then
    core.fail("%s: size must be one number or {height, width}, got %s", who, args.describe(size))
  end
  for i = 1, 2 do
    args.integer(who, "size", pair[i], 1)
    if pair[i] > 65535 then core.fail("%s: size must be at most 65535, got %d", who, pair[i]) end
  end
  return pair[1], pair[2]
end

local function check_data_format(who, format)
  if format == "NHWC" or format == "NCHW" then return format end
  core.fail("%s: data_format must be NHWC or NCHW, got %s", who, args.describe(format))
end

--- What the core is to make of a picture, of the options of a call; without a size, the picture
-- keeps its own.
function pictures.read_spec(who, o)
  local spec = { fit = "whole", channels = o.channels or 0, dtype = o.dtype,
    planes = check_data_format(who, o.data_format) == "NCHW" }
  if o.size ~= nil then
    spec.height, spec.width = check_size(who, o.size)
    if not FITS[o.fit] then
      core.fail("%s: fit must be center, random or stretch, got %s", who, args.describe(o.fit))
    end
    spec.fit, spec.shorter = o.fit, args.integer(who, "shorter", o.shorter, 0)
    spec.area, spec.aspect = o.area, o.aspect
    check_pair(who, "area", o.area, 1)
    check_pair(who, "aspect", o.aspect, math.huge)
    spec.flip = args.expect(who, "flip", o.flip, "boolean")
  end
  if o.channels ~= 1 and o.channels ~= 3 and (o.channels or o.size) then
    core.fail("%s: channels must be 1 (grey) or 3 (RGB), got %s", who, args.describe(o.channels))
  end
  if o.dtype ~= "uint8" and o.dtype ~= "float32" and o.dtype ~= "float" then
    core.fail("%s: dtype must be uint8 or float32, got %s", who, args.describe(o.dtype))
  end
  return spec
end

-- ---- lists and folders ----

local function list_of(paths, spec)
  specs[paths] = spec
  return setmetatable(paths, Pictures)
end

--- Picture files as a column of a data set, for flow.data.batches. They are read when their batch
-- is due, not now.
pictures.pictures = args.define("data.pictures", "Picture files as a column of a data set.", {
  returns = "Pictures", { "paths", "their names", type = "string[]" }, unpack(PARAMS),
}, function(o)
  local who, list = "data.pictures", {}
  for i, path in ipairs(args.expect(who, "paths", o.paths, "table")) do
    list[i] = args.expect(who, ("paths[%d]"):format(i), path, "string")
  end
  if #list == 0 then core.fail("%s: paths must be a list of file names, got none", who) end
  return list_of(list, pictures.read_spec(who, o))
end)

--- Files like those of a list, as another one of pictures that asks the same of each; other lists
-- stay what they are.
function pictures.like(list, paths)
  return specs[list] and list_of(paths, specs[list]) or paths
end

local function ending_of(name) return (name:match("%.(%w+)$") or ""):lower() end

-- The names in a folder, but for hidden ones.
local function sorted_names(path)
  local names = {}
  for _, name in ipairs(core.directory(path) or {}) do
    if name:sub(1, 1) ~= "." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- Adds the pictures of a class: those in its folder, and in folders within that. Counts in
-- `others`, by their endings, pictures of kinds that cannot be read.
local function add_class(paths, labels, folder, label, others)
  for _, name in ipairs(sorted_names(folder)) do
    local path, ending = folder .. "/" .. name, ending_of(name)
    if core.is_directory(path) then
      add_class(paths, labels, path, label, others)
    elseif ENDINGS[ending] and core.is_file(path) then
      paths[#paths + 1], labels[#labels + 1] = path, label
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

-- The paths and labels of all classes, each of which must have a picture.
local function read_classes(who, root, classes)
  local paths, labels, others = {}, {}, {}
  for i, name in ipairs(classes) do
    local before, left_out = #paths, {}
    add_class(paths, labels, root .. "/" .. name, i - 1, left_out)
    if #paths == before then
      local left = counted(left_out)
      core.fail("%s: '%s/%s' must have .jpg, .jpeg or .png files, as each folder there is a class, "
        .. "got none%s", who, root, name, left and " but " .. left .. ", which are not read" or "")
    end
    for ending, count in pairs(left_out) do others[ending] = (others[ending] or 0) + count end
  end
  local left = counted(others)
  if left then warn.say("%s: '%s': pictures that are not read: %s", who, root, left) end
  return paths, labels
end

local function classes_in(who, folder)
  local classes = {}
  if not core.is_directory(folder) then
    core.fail("%s: path must be a directory, got '%s', which is none", who, folder)
  end
  for _, name in ipairs(sorted_names(folder)) do
    if core.is_directory(folder .. "/" .. name) then classes[#classes + 1] = name end
  end
  return classes
end

--- The pictures of a folder that has a sub-folder for each class, as a data set of images and
-- labels, for flow.data.batches. Classes and files come in the order of their names; a class's
-- number is its place in `classes`, counted from 0. Files that end in .jpg, .jpeg and .png count;
-- of other pictures, such as .webp, it says how many there are. Hidden files and folders are left
-- out.
pictures.folder = args.define("data.folder", "A folder of pictures, with a sub-folder a class: a "
  .. "data set with images, labels (int32, from 0) and classes, their names.", {
  returns = "PictureFolder", { "path", "of the folder", type = "string" }, unpack(PARAMS),
}, function(o)
  local who = "data.folder"
  local classes = classes_in(who, args.expect(who, "path", o.path, "string"))
  local spec = pictures.read_spec(who, o)
  if #classes == 0 then
    core.fail("%s: '%s' must have a folder for each class with .jpg, .jpeg or .png files, got no "
      .. "folders", who, o.path)
  end
  local paths, labels = read_classes(who, o.path, classes)
  local set = columns.set { { "images", list_of(paths, spec) },
    { "labels", core.from_table(labels, "int32") } }
  set.classes = classes
  return set
end)

return pictures
