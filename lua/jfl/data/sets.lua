-- flow.data: data sets in the form that jobs take.
---@space data
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local loop = require "jfl.data.loop"
local npy = require "jfl.nd.npy"

local data = { loop = loop.loop, close_loop = loop.close_loop }

local SYSTEM = "/usr/share/datasets/fashion-mnist"
local SIDE = 28
local ROWS_AT_ONCE = 1000

local IDX = {
  x_train = "train-images-idx3-ubyte", y_train = "train-labels-idx1-ubyte",
  x_test = "t10k-images-idx3-ubyte", y_test = "t10k-labels-idx1-ubyte",
}

-- The four IDX files in a directory, or nil.
local function idx_files(directory)
  local paths = {}
  for key, name in pairs(IDX) do
    local path = directory .. "/" .. name
    if not core.is_there(path) then path = path .. ".gz" end
    paths[key] = core.is_there(path) and path or nil
    if not paths[key] then return nil end
  end
  return paths
end

-- The shape that an IDX file's head tells, how many elements that is, and how long the head is: 0,
-- 0, 8 (bytes), number of axes, their extents (big endian).
local function idx_shape(path, head)
  local rank = head:byte(4) or 0
  local start = 4 + 4 * rank
  args.check(head:sub(1, 3) == "\0\0\8" and rank >= 1 and rank <= 3 and #head >= start,
    "load_mnist: %s: not an IDX file of bytes", path)
  local shape, size = {}, 1
  for i = 1, rank do
    local a, b, c, d = head:byte(4 * i + 1, 4 * i + 4)
    shape[i] = ((a * 256 + b) * 256 + c) * 256 + d
    size = size * shape[i]
  end
  if size == 0 then core.fail("load_mnist: %s: holds no elements", path) end
  return shape, size, start
end

local function read_idx(path)
  local text, err = archive.read(path)
  if not text then core.fail("load_mnist: %s", err) end
  local shape, size, start
  local bytes = archive.unpacked(path, text, 16, function(head)
    shape, size, start = idx_shape(path, head)
    return start + size
  end)
  if #bytes ~= start + size then
    core.fail("load_mnist: %s: %s must have %.0f bytes, got %d", path, args.shape_text(shape), size,
      #bytes - start)
  end
  return core.reshape(core.rows(bytes, start, size), shape)
end

local function from_npz(path)
  local text, err = archive.read(path)
  if not text then core.fail("load_mnist: %s", err) end
  local arrays = npy.members(path, text, IDX)
  for key in pairs(IDX) do
    if not arrays[key] then core.fail("load_mnist: %s: has no '%s'", path, key) end
  end
  return arrays
end

local function from_idx(paths)
  local arrays = {}
  for key, path in pairs(paths) do arrays[key] = read_idx(path) end
  return arrays
end

local function look_in(directory)
  local npz = directory .. "/mnist.npz"
  if core.is_there(npz) then return function() return from_npz(npz) end, npz end
  local paths = idx_files(directory)
  if paths then return function() return from_idx(paths) end, directory end
end

local function find(given)
  local places = {}
  for _, place in ipairs { given or false, os.getenv("JFL_DATA") or false, ".", SYSTEM } do
    places[#places + 1] = place or nil
  end
  for _, place in ipairs(places) do
    local read, path = look_in(place)
    if read then return read, path end
  end
  core.fail("load_mnist: neither mnist.npz nor the four IDX files are in %s; install the package "
    .. "dataset-fashion-mnist, or set JFL_DATA or {out_dir = ...} to where they are",
    table.concat(places, ", "))
end

-- Pixels / 255 as float32. One block of rows at a time is converted, to need little memory besides
-- the result.
local function scaled(pixels)
  local divide = core.op("divide")
  local n = #pixels
  local out = core.array("float32", pixels.shape)
  for first = 0, n - 1, ROWS_AT_ONCE do
    local count = math.min(ROWS_AT_ONCE, n - first)
    local block = divide(core.cast(core.rows(pixels, first, count), "float32"), 255)
    core.assign(core.rows(out, first, count), block)
    core.free(block)
  end
  return out
end

local function check_pair(path, what, pixels, labels)
  local shape = pixels.shape
  if #shape ~= 3 or shape[2] ~= SIDE or shape[3] ~= SIDE or labels.size ~= shape[1]
    or pixels.dtype ~= "uint8" or labels.dtype:match("^u?int") == nil then
    core.fail("load_mnist: %s: %s must be uint8 images (n, 28, 28) and n integer labels, got "
      .. "%s %s and %s %s", path, what, pixels.dtype, args.shape_text(shape), labels.dtype,
      args.shape_text(labels.shape))
  end
end

-- Images and labels as a data set, in batches of `size`, or one by one where that is nil.
local function set_of(what, pixels, labels, size, data_format)
  local n = #pixels
  if size and n % size ~= 0 then
    core.fail("load_mnist: %s_batch_size must divide %d images, got %d; with {batched = false} "
      .. "flow.data.batches makes batches of any size", what, n, size)
  end
  local shape = data_format == "NCHW" and { 1, SIDE, SIDE } or { SIDE, SIDE, 1 }
  local first = size and { n / size, size } or { n }
  for _, extent in ipairs(shape) do first[#first + 1] = extent end
  local rows = size and { n / size, size } or { n }
  return columns.set({ { "images", core.reshape(scaled(pixels), first) },
    { "labels", core.reshape(core.cast(labels, "int32"), rows) } }, size ~= nil)
end

--- Training and test images and labels of (Fashion-)MNIST. Gives two data sets with images,
-- float32 (batches, size, 1, 28, 28) in 0..1, and labels, int32 (batches, size); with batched =
-- false images (n, 1, 28, 28) and labels (n), of which flow.data.batches makes batches of any size.
data.load_mnist = args.define("data.load_mnist", "Training and test data: images and labels "
  .. "(int32), in batches.", {
  { "train_batch_size", "images a training batch", 100, type = "integer", least = 1 },
  { "test_batch_size", "images a test batch", 100, type = "integer", least = 1 },
  { "data_format", "NCHW or NHWC", "NCHW", words = { "NCHW", "NHWC" } },
  { "out_dir", "where to look first", args.none, type = "string" },
  { "batched", "whether they come in batches; false: one by one", true },
  returns = { "DataSet", "DataSet" },
}, function(o)
  local read, path = find(o.out_dir)
  print("load_mnist: using " .. path)
  local arrays = read()
  check_pair(path, "train", arrays.x_train, arrays.y_train)
  check_pair(path, "test", arrays.x_test, arrays.y_test)
  local train = set_of("train", arrays.x_train, arrays.y_train,
    o.batched and o.train_batch_size or nil, o.data_format)
  return train, set_of("test", arrays.x_test, arrays.y_test,
    o.batched and o.test_batch_size or nil, o.data_format)
end)

return data
