local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

-- An IDX file of bytes.
local function idx(shape, values)
  local parts = { "\0\0\8" .. string.char(#shape) }
  for _, extent in ipairs(shape) do
    parts[#parts + 1] = "\0\0" .. string.char(math.floor(extent / 256), extent % 256)
  end
  return table.concat(parts) .. values
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local PIXELS = 28 * 28

local function images(n) return ("\255"):rep(PIXELS) .. ("\51"):rep(PIXELS * (n - 1)) end

describe("data.load_mnist", function()
  local directory, said
  local real_print = print

  before_each(function()
    directory = helper.directory()
    said = {}
    _G.print = function(line) said[#said + 1] = line end
  end)

  after_each(function()
    _G.print = real_print
    helper.remove(directory)
  end)

  local function write_idx()
    write(directory .. "/train-images-idx3-ubyte", idx({ 4, 28, 28 }, images(4)))
    write(directory .. "/train-labels-idx1-ubyte", idx({ 4 }, "\1\2\3\4"))
    write(directory .. "/t10k-images-idx3-ubyte", idx({ 2, 28, 28 }, images(2)))
    write(directory .. "/t10k-labels-idx1-ubyte", idx({ 2 }, "\9\0"))
  end

  local function load(options)
    options = options or {}
    options.out_dir = directory
    local train, test = flow.data.load_mnist(2, 1, options)
    return train, test
  end

  it("reads IDX files in batches, as fractions of 255", function()
    write_idx()
    local train, test = load()
    assert.same({ 2, 2, 1, 28, 28 }, train.images.shape)
    assert.equal("float32", train.images.dtype)
    assert.equal(1, train.images:get(1, 1, 1, 28, 28))
    assert.is_true(math.abs(train.images:get(2, 2, 1, 1, 1) - 0.2) < 1e-7)
    assert.equal("int32", train.labels.dtype)
    assert.same({ { 1, 2 }, { 3, 4 } }, train.labels:totable())
    assert.same({ 2, 1, 1, 28, 28 }, test.images.shape)
    assert.same({ { 9 }, { 0 } }, test.labels:totable())
    assert.same({ "load_mnist: using " .. directory }, said)
  end)

  it("reads them gzipped", function()
    write_idx()
    assert.equal(0, os.execute("gzip " .. directory .. "/*-ubyte"))
    assert.same({ { 1, 2 }, { 3, 4 } }, load().labels:totable())
  end)

  it("prefers mnist.npz", function()
    write_idx()
    nd.save(directory .. "/mnist.npz", {
      x_train = nd.full({ 2, 28, 28 }, 255, "uint8"), y_train = nd.array({ 7, 8 }, "uint8"),
      x_test = nd.zeros({ 1, 28, 28 }, "uint8"), y_test = nd.array({ 5 }, "int64"),
    })
    local train, test = load { data_format = "NHWC" }
    assert.same({ 1, 2, 28, 28, 1 }, train.images.shape)
    assert.equal(2 * PIXELS, train.images:sum())
    assert.same({ { 7, 8 } }, train.labels:totable())
    assert.same({ { 5 } }, test.labels:totable())
    assert.same({ "load_mnist: using " .. directory .. "/mnist.npz" }, said)
  end)

  it("looks in further places where the first is a file or is not there", function()
    write_idx()
    write(directory .. "/file", "")
    local program = helper.command():gsub("^([^/]+/)", os.getenv "PWD" .. "/%1")
    for _, place in ipairs { "file", "nowhere" } do
      local pipe = io.popen(("cd '%s' && JFL_DATA= '%s' -e '%s' 2>&1"):format(directory, program,
        ("require(\"jfl\").data.load_mnist(2, 1, { out_dir = \"%s\" })"):format(place)))
      assert.equal("load_mnist: using .\n", pipe:read "*a")
      pipe:close()
    end
  end)

  it("names what is wrong", function()
    write_idx()
    helper.fails(function() flow.data.load_mnist(3, 1, { out_dir = directory }) end,
      "load_mnist: train_batch_size must divide 4 images, got 3")
    helper.fails(function() load { data_format = "CHWN" } end,
      "data_format must be \"NCHW\" or \"NHWC\"")
    helper.fails(function() load { batched = 1 } end, "batched must be a boolean, got number 1")
    helper.fails(function() flow.data.load_mnist(0) end,
      "train_batch_size must be a whole number")
    write(directory .. "/t10k-labels-idx1-ubyte", idx({ 2 }, "\9"))
    helper.fails(load, "t10k-labels-idx1-ubyte: (2) must have 2 bytes, got 1")
    write(directory .. "/t10k-labels-idx1-ubyte", "what is this?")
    helper.fails(load, "not an IDX file of bytes")
    write(directory .. "/t10k-labels-idx1-ubyte", idx({ 3 }, "\9\1\1"))
    helper.fails(load, directory .. ": test must be uint8 images (n, 28, 28) and n integer "
      .. "labels, got uint8 (2, 28, 28) and uint8 (3)")
    write(directory .. "/t10k-labels-idx1-ubyte", idx({ 0 }, ""))
    helper.fails(load, "t10k-labels-idx1-ubyte: holds no elements")
    write(directory .. "/t10k-labels-idx1-ubyte", "\0\0\8\3" .. ("\255"):rep(12))
    helper.fails(load, "must have 79228162458924105372415295488 bytes, got 0")
  end)

  it("names the file that is damaged", function()
    write_idx()
    local name = directory .. "/t10k-images-idx3-ubyte"
    assert.equal(0, os.execute("gzip " .. name))
    local text = require("jfl.data.archive").read(name .. ".gz")
    for _, broken in ipairs { text:sub(1, 3), text:sub(1, -2), text:sub(1, -9) .. "12345678" } do
      write(name .. ".gz", broken)
      helper.fails(load, name .. ".gz: inflate: ")
    end
  end)

  it("does not pass by a file that cannot be read", function()
    write_idx()
    assert.equal(0, os.execute("ln -s mnist.npz " .. directory .. "/mnist.npz"))
    helper.fails(load, directory .. "/mnist.npz: Too many levels")
  end)

  it("takes no fractions for pixels or labels", function()
    local arrays = { x_train = nd.ones { 2, 28, 28 }, y_train = nd.array({ 7, 8 }, "uint8"),
      x_test = nd.ones({ 1, 28, 28 }, "uint8"), y_test = nd.array { 5 } }
    nd.save(directory .. "/mnist.npz", arrays)
    helper.fails(load, "mnist.npz: train must be uint8 images (n, 28, 28) and n integer labels, "
      .. "got float32 (2, 28, 28) and uint8 (2)")
    arrays.x_train = nd.ones({ 2, 28, 28 }, "uint8")
    nd.save(directory .. "/mnist.npz", arrays)
    helper.fails(load, "got uint8 (1, 28, 28) and float32 (1)")
  end)
end)

describe("zip", function()
  it("goes through rows together, as far as the shortest", function()
    local seen = {}
    for i, x, y in flow.zip(nd.array { { 1, 2 }, { 3, 4 } }, { "a", "b", "c" }) do
      seen[#seen + 1] = { i, x[1], y }
    end
    assert.same({ { 1, 1, "a" }, { 2, 3, "b" } }, seen)
  end)

  it("takes one list, or more than two", function()
    local seen = {}
    for i, x in flow.zip { 5, 6 } do seen[i] = x end
    assert.same({ 5, 6 }, seen)
    for i, x, y, z in flow.zip({ 1, 2 }, { 3, 4 }, nd.array { 5, 6 }) do seen[i] = x + y + z end
    assert.same({ 9, 12 }, seen)
    assert.equal(2, flow.zip({ 1, 2 }, { 1, 2, 3 }).n)
    assert.equal("zip of 2 lists, 2 rows", tostring(flow.zip({ 1, 2 }, { 1, 2, 3 })))
  end)

  it("refuses what has no rows", function()
    helper.fails(function() flow.zip({}, 5) end,
      "zip: argument 2 must be an NdArray or a table, got number 5")
    helper.fails(function() flow.zip() end, "zip: takes at least one array or table")
    helper.fails(function() flow.zip({ images = { 1 }, labels = { 2 } }) end,
      "zip: argument 1 must be a list, got a table with names")
  end)
end)
