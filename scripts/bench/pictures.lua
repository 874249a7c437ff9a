-- How training from JPEG files compares with training from memory: LeNet on Fashion-MNIST in
-- batches of 100, in turns of so many steps, and the median ratio of neighbouring turns.
--   jfl scripts/bench/pictures.lua [folder [turns [steps [workers]]]]
-- The files, a folder, a tar archive and records, are written into the folder once. At most 1.05 is
-- wanted of each.
local flow = require "jfl"
local core = require "jfl.core"
local packed = require "spec.lua.data.packed"

local FOLDER = arg[1] or "build/bench-pictures"
local TURNS, STEPS = tonumber(arg[2] or 15), tonumber(arg[3] or 40)
local WORKERS = tonumber(arg[4] or 2)
local BATCH, COUNT = 100, 6000

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local all = flow.data.load_mnist(BATCH, BATCH)
local images = all.images:reshape { -1, 1, 28, 28 }
local labels = all.labels:reshape { -1 }

-- Writes the first pictures in all forms.
local function write_files()
  local members, records = {}, {}
  for class = 0, 9 do os.execute(("mkdir -p %s/set/%d"):format(FOLDER, class)) end
  for i = 1, COUNT do
    local class = labels[i]
    local path = ("%s/set/%d/%05d.jpg"):format(FOLDER, class, i)
    flow.data.save_image(path, images[i])
    local file = assert(io.open(path, "rb"))
    local jpeg = file:read "*a"
    file:close()
    members[#members + 1] = { ("%05d.jpg"):format(i), jpeg }
    members[#members + 1] = { ("%05d.cls"):format(i), tostring(class) }
    records[i] = packed.record { { "encoded", packed.feature("bytes", jpeg) },
      { "label", packed.feature("int32", { class }) } }
  end
  write(FOLDER .. "/part-0", packed.ofrecord(records))
  write(FOLDER .. "/set.tar", packed.tar(members))
end

if not core.is_there(FOLDER .. "/set.tar") then write_files() end

-- ---- the job, with the pictures as arguments and as records ----

local function lenet(x, y)
  local truncated = flow.truncated_normal(0.1)
  local function conv(from, filters, name)
    return flow.layers.conv2d(from, filters, 5, { padding = "SAME", activation = flow.nn.relu,
      kernel_initializer = truncated, name = name })
  end
  x = flow.nn.max_pool2d(conv(x, 32, "conv1"), 2, 2, { padding = "SAME" })
  x = flow.nn.max_pool2d(conv(x, 64, "conv2"), 2, 2, { padding = "SAME" })
  x = flow.layers.dense(flow.reshape(x, { BATCH, -1 }), 512, { activation = flow.nn.relu,
    kernel_initializer = truncated, name = "dense1" })
  x = flow.layers.dense(x, 10, { kernel_initializer = truncated, name = "dense2" })
  local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(y, x)
  flow.optimizer.SGD(0.01):minimize(loss)
  return loss
end

local job = flow.global_function {
  name = "from_arguments", type = "train",
  inputs = { x = flow.float32 { BATCH, 1, 28, 28 }, y = flow.int32 { BATCH } },
  body = function(x, y) return lenet(x, y) end,
}
local from_records = flow.global_function {
  name = "from_records", type = "train", returns = flow.typing.Numpy,
  body = function()
    local record = flow.data.ofrecord_reader(FOLDER, { batch_size = BATCH, random_shuffle = true })
    local y = flow.data.OFRecordRawDecoder(record, "label", { shape = {}, dtype = flow.int32 })
    local x = flow.data.OFRecordImageDecoder(record, "encoded", { color_space = "GRAY" })
    x = flow.image.CropMirrorNormalize(flow.image.Resize(x, { 28, 28 }), { color_space = "GRAY",
      std = { 255 } })
    return lenet(x, y)
  end,
}

local FLOATS = { size = 28, channels = 1, dtype = flow.float32, data_format = "NCHW" }

local function with(more)
  local o = {}
  for _, t in ipairs { FLOATS, more } do
    for key, value in pairs(t) do o[key] = value end
  end
  return o
end

local function steps_of(name, set)
  local loop = flow.data.batches(set, { batch_size = BATCH, shuffle = true, epochs = 1e6,
    workers = WORKERS, name = name })
  return function()
    local _, _, x, y = loop()
    job(x, y)
  end
end

local memory = { { "x", core.rows(images, 0, COUNT) }, { "y", core.rows(labels, 0, COUNT) } }
local kinds = {
  { "memory", steps_of("memory", memory) },
  { "folder", steps_of("folder", flow.data.image_folder(FOLDER .. "/set", FLOATS)) },
  { "augment", steps_of("augment", flow.data.image_folder(FOLDER .. "/set",
    with { augment = true })) },
  { "tar", steps_of("tar", flow.data.webdataset(FOLDER .. "/set.tar",
    with { columns = { "jpg", "cls" }, buffer = 1000 })) },
  { "records", function() from_records() end },
}

-- ---- turns ----

local function median(list)
  table.sort(list)
  local middle = (#list + 1) / 2
  return (list[math.floor(middle)] + list[math.ceil(middle)]) / 2
end

local function turn(step)
  local start = core.now()
  for _ = 1, STEPS do step() end
  return (core.now() - start) / STEPS * 1000
end

local times, ratios = {}, {}
for _, kind in ipairs(kinds) do times[kind[1]], ratios[kind[1]] = {}, {} end
for i = 0, TURNS do
  local base
  for _, kind in ipairs(kinds) do
    local ms = turn(kind[2])
    base = base or ms
    if i > 0 then
      table.insert(times[kind[1]], ms)
      table.insert(ratios[kind[1]], ms / base)
    end
  end
end
local file = io.open "/proc/loadavg"
print(("load %s, %d turns of %d steps, %d threads that decode"):format(
  file and file:read "*l" or "unknown", TURNS, STEPS, WORKERS))
for _, kind in ipairs(kinds) do
  print(("%-8s %7.2f ms a step, %.3f of memory"):format(kind[1], median(times[kind[1]]),
    median(ratios[kind[1]])))
end
