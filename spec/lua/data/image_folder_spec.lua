-- Pictures by class that change from epoch to epoch, and those that cannot be read.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("changes of pictures", function()
  local directory

  before_each(function()
    flow.clear_default_session()
    flow.random.seed(11)
    directory = helper.directory()
    os.execute("mkdir -p " .. directory .. "/a " .. directory .. "/b")
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local function path(name) return directory .. "/" .. name end

  -- A picture of 8 by 8 random pixels; gives them as floats (1, 3, 8, 8).
  local function put(name)
    local pixels = nd.rand({ 3, 8, 8 })
    flow.data.save_image(path(name), pixels)
    return flow.data.load_image(path(name), { dtype = flow.float32, data_format = "NCHW" })
      :reshape { 1, 3, 8, 8 }
  end

  local function open(o)
    o.size, o.dtype, o.data_format = 8, o.dtype or flow.float32, "NCHW"
    return flow.data.image_folder(directory, o)
  end

  local function first_of(o, options)
    local _, _, images = flow.data.batches(open(o), options or { batch_size = 2 })()
    return images
  end

  local function same(a, b)
    local x, y = helper.list(a), helper.list(b)
    for i = 1, #x do assert.near(x[i], y[i], 2e-5) end
  end

  -- One in the other: what adjust_NAME makes with a factor that is found by search.
  local function is_adjusted(name, before, after, low, high)
    local change, best, found = flow.image["adjust_" .. name], math.huge, low
    for _, part in ipairs { 1, 0.1, 0.01, 0.001 } do
      local first, width = found, (high - low) * part
      if part < 1 then first = found - width / 2 end
      for i = 0, 20 do
        local factor = math.max(low, math.min(high, first + width * i / 20))
        local off = (change(before, factor) - after):abs():max()
        if off < best then best, found = off, factor end
      end
    end
    assert.is_true(best < 2e-3, ("%s is off by %g"):format(name, best))
    return found
  end

  it("of colours are those of flow.image", function()
    local x = put "a/1.png"
    put "b/1.png"
    for name, bounds in pairs { brightness = { 0.5, 1.5 }, contrast = { 0.5, 1.5 },
      saturation = { 0.5, 1.5 }, hue = { -0.5, 0.5 } } do
      flow.clear_default_session()
      flow.random.seed(12)
      local images = first_of({ augment = { [name] = 0.5 } }, { batch_size = 1 })
      local factor = is_adjusted(name, x, images, bounds[1], bounds[2])
      assert.is_true(math.abs(factor - (name == "hue" and 0 or 1)) > 0.01)
    end
  end)

  it("are the same on any number of threads, and others in another epoch", function()
    for i = 1, 5 do put(("a/%d.png"):format(i)) end
    put "b/1.png"
    local results = {}
    for workers = 0, 3 do
      flow.clear_default_session()
      flow.random.seed(13)
      local list = {}
      for _, _, images in flow.data.batches(open { augment = { area = { 0.2, 1 }, flip = true,
        brightness = 0.3, contrast = 0.3, saturation = 0.3, hue = 0.1 } }, { batch_size = 6,
        epochs = 2, workers = workers }) do
        list[#list + 1] = images:copy()
      end
      results[workers] = list
      same(results[0][1], list[1])
      same(results[0][2], list[2])
    end
    assert.is_true((results[0][1] - results[0][2]):abs():max() > 0.05)
  end)

  it("go on in the middle of an epoch as they would have", function()
    for i = 1, 5 do put(("a/%d.png"):format(i)) end
    put "b/1.png"
    local o = { batch_size = 2, epochs = 2, shuffle = true }
    local spec = { augment = { area = { 0.2, 1 }, flip = true, hue = 0.2 } }
    local all, labels = {}, {}
    for _, _, images, classes in flow.data.batches(open(spec), o) do
      all[#all + 1], labels[#labels + 1] = images:copy(), classes:totable()
      if #all == 4 then flow.checkpoint.save(path "saved") end
    end
    flow.clear_default_session()
    flow.random.seed(99)
    flow.checkpoint.load(path "saved", { resume = true })
    os.execute("rm -r " .. path "saved")
    helper.stderr_of(function()
      local at = 4
      for _, _, images, classes in flow.data.batches(open(spec), o) do
        at = at + 1
        same(all[at], images)
        assert.same(labels[at], classes:totable())
      end
      assert.equal(6, at)
    end)
  end)

  it("bring floats to the range of a network", function()
    local x, y = put "a/1.png", put "b/1.png"
    local images = first_of { mean = { 0.5, 0.25, 0 }, std = { 0.5, 0.25, 2 } }
    local wanted = flow.image.normalize(nd.concat({ x, y }, 0), { 0.5, 0.25, 2 },
      { 0.5, 0.25, 0 }, { data_format = "NCHW" })
    same(wanted, images)
    images = first_of { mean = 0.5, std = 0.5, channels = 1 }
    assert.same({ 2, 1, 8, 8 }, images.shape)
  end)

  it("of bytes are rounded", function()
    local x = put "a/1.png"
    put "b/1.png"
    local bytes = first_of({ augment = { brightness = 0.5 }, dtype = flow.uint8 },
      { batch_size = 1 })
    assert.equal("uint8", bytes.dtype)
    is_adjusted("brightness", x, bytes:astype("float32") / 255, 0.5, 1.5)
  end)

  describe("that cannot be read", function()
    before_each(function()
      for i = 1, 4 do put(("a/%d.png"):format(i)) end
      put "b/1.png"
      helper.write(path "a/3.png", "no picture")
    end)

    it("are errors with their path", function()
      helper.fails(function() first_of({}, { batch_size = 5 }) end,
        path "a/3.png" .. ": it is neither a JPEG nor a PNG")
    end)

    it("have another of the batch in their place, with its label, and are told of once", function()
      local seen = {}
      local said = helper.stderr_of(function()
        for _, _, images, labels in flow.data.batches(open { bad = "skip" }, { batch_size = 5,
          epochs = 2 }) do
          assert.same({ 5, 3, 8, 8 }, images.shape)
          assert.same({ 0, 0, 0, 0, 1 }, labels:totable())
          same(images[4], images[3])
          seen[#seen + 1] = true
        end
      end)
      assert.equal(2, #seen)
      local _, count = said:gsub("left out: [^\n]*/a/3%.png: it is neither", "")
      assert.equal(1, count)
      helper.write(path "b/1.png", "no picture")
      helper.stderr_of(function()
        local _, _, _, labels = flow.data.batches(open { bad = "skip" }, { batch_size = 5 })()
        assert.same({ 0, 0, 0, 0, 0 }, labels:totable())
      end)
    end)

    it("are an error where a batch has no other", function()
      for i = 1, 4 do helper.write(path(("a/%d.png"):format(i)), "no picture") end
      helper.stderr_of(function()
        helper.fails(function() first_of({ bad = "skip" }, { batch_size = 2 }) end,
          "none of the batch's 2 samples can be read")
      end)
    end)
  end)

  it("are refused where they make no sense", function()
    put "a/1.png"
    put "b/1.png"
    for why, o in pairs {
      ["augment: unknown name 'brightnes'; names are"] = { augment = { brightnes = 1 } },
      ["augment: hue must be a number from 0 to 0.5"] = { augment = { hue = 1 } },
      ["augment: contrast must be a number of at least 0"] = { augment = { contrast = -1 } },
      ["area must be two numbers above 0"] = { augment = { area = { 1, 0.5 } } },
      ["mean and std must be given together"] = { mean = { 1 } },
      ["mean must have one number, or one for each of 3"] = { mean = { 1, 2 }, std = { 1 } },
      ["std[1] must be finite and not 0"] = { mean = 0, std = 0 },
      ["bad must be \"error\" or \"skip\""] = { bad = "ignore" },
    } do
      helper.fails(function() open(o) end, why)
    end
    helper.fails(function() open { mean = 0, std = 1, dtype = flow.uint8 } end,
      "mean and std need dtype = flow.float32, got uint8")
  end)
end)
