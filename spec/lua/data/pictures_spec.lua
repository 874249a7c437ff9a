-- Folders and lists of pictures: what batches of them hold, on any number of threads.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

describe("folders of pictures", function()
  local path = helper.folder(before_each, after_each)

  -- Writes picture i, whose pixels are all 10 i but for a brighter left half.
  local function put(name, i, height, width)
    local a = nd.full({ height or 6, width or 8, 3 }, 10 * i, flow.uint8)
    for y = 1, a.shape[1] do
      for x = 1, a.shape[2] / 2 do a[y][x] = 10 * i + 100 end
    end
    flow.data.save_image(path(name), a, { data_format = "NHWC" })
  end

  -- Seven pictures of three classes, of several extents.
  local function folder()
    for _, class in ipairs { "b", "a", "c", "c/more", ".hidden" } do
      os.execute("mkdir -p " .. path(class))
    end
    put("a/1.png", 1)
    put("a/2.PNG", 2, 12, 16)
    put("b/3.png", 3, 7, 9)
    put("b/4.png", 4)
    put("b/5.png", 5, 6, 10)
    put("c/6.png", 6)
    put("c/more/7.png", 7)
    local file = assert(io.open(path("a/notes.txt"), "w"))
    file:write("no picture")
    file:close()
  end

  local function open(o)
    o = o or {}
    o.size = o.size or 4
    return flow.data.folder(path(), o)
  end

  it("are listed with their classes, in the order of names", function()
    folder()
    local set = open()
    assert.same({ "a", "b", "c" }, set.classes)
    assert.same({ 0, 0, 1, 1, 1, 2, 2 }, set.labels:totable())
    assert.equal("int32", set.labels.dtype)
    assert.equal(path("c/more/7.png"), set.images[7])
    assert.equal("7 pictures, 4 by 4", tostring(set.images))
  end)

  it("are those whose names end as pictures' do, in any case", function()
    os.execute("mkdir -p " .. path "a")
    for i, name in ipairs { "1.jpg", "2.JPG", "3.jpeg", "4.Jpeg", "5.png", "6.PNG" } do
      put("a/" .. name:lower(), i)
      if name ~= name:lower() then os.rename(path("a/" .. name:lower()), path("a/" .. name)) end
    end
    for _, name in ipairs { "7.gif", "8.jpgx", "9", "jpg", "png.txt" } do
      helper.write(path("a/" .. name), "no picture")
    end
    local names = {}
    for i, file in ipairs(open().images) do names[i] = file:match("[^/]*$") end
    assert.same({ "1.jpg", "2.JPG", "3.jpeg", "4.Jpeg", "5.png", "6.PNG" }, names)
  end)

  it("say which pictures are not read", function()
    folder()
    assert.equal("", helper.stderr_of(open))
    for _, name in ipairs { "a/1.webp", "c/more/2.WEBP", "b/3.gif", "b/4.bmp", "b/._4.bmp" } do
      helper.write(path(name), "a picture of another kind")
    end
    assert.equal(("jfl: data.folder: '%s': pictures that are not read: 1 .bmp, 1 .gif, 2 .webp\n")
      :format(path()), helper.stderr_of(open))
  end)

  it("have no class without pictures", function()
    folder()
    os.execute("mkdir -p " .. path "birds/large")
    helper.fails(function() open() end, ("data.folder: '%s/birds' must have .jpg, .jpeg or .png "
      .. "files, as each folder there is a class, got none"):format(path()))
    helper.write(path "birds/large/1.webp", "a picture of another kind")
    helper.fails(function() open() end, "got none but 1 .webp, which are not read")
  end)

  it("are split by their classes", function()
    for _, class in ipairs { "a", "b" } do
      os.execute("mkdir -p " .. path(class))
      for i = 1, 10 do put(("%s/%d.png"):format(class, i), i) end
    end
    local train, test = flow.data.split(open(), { 0.8, 0.2, by_class = true })
    assert.same({ "a", "b" }, test.classes)
    assert.same({ 8, 8, 2, 2 }, { train.labels:eq(0):sum(), train.labels:eq(1):sum(),
      test.labels:eq(0):sum(), test.labels:eq(1):sum() })
    assert.equal("4 pictures, 4 by 4", tostring(test.images))
    for _, _, images, labels in flow.data.batches(test, { batch_size = 4 }) do
      assert.same({ 4, 4, 4, 3 }, images.shape)
      assert.same({ 0, 0, 1, 1 }, labels:totable())
    end
  end)

  it("give batches of one size, with their labels", function()
    folder()
    local seen = {}
    for _, i, images, labels in flow.data.batches(open(), { batch_size = 3 }) do
      assert.same({ i < 3 and 3 or 1, 4, 4, 3 }, images.shape)
      assert.equal("uint8", images.dtype)
      for k = 1, #labels do
        local right, left = images:get(k, 4, 4, 1), images:get(k, 1, 1, 3)
        assert.near(100, left - right, 1)
        seen[#seen + 1] = right / 10
        assert.equal(({ 0, 0, 1, 1, 1, 2, 2 })[right / 10], labels[k])
      end
    end
    assert.same({ 1, 2, 3, 4, 5, 6, 7 }, seen)
  end)

  it("give floats and planes", function()
    folder()
    local set = open({ size = { 3, 5 }, dtype = flow.float32, data_format = "NCHW", channels = 1 })
    local _, _, images = flow.data.batches(set, { batch_size = 2 })()
    assert.same({ 2, 1, 3, 5 }, images.shape)
    assert.near(110 / 255, images:get(1, 1, 1, 1), 1e-6)
    assert.near(10 / 255, images:get(1, 1, 3, 5), 1e-6)
  end)

  -- What all batches hold, as one list of numbers.
  local function contents(o, spec)
    flow.random.seed(9)
    local all = {}
    for _, _, images, labels in flow.data.batches(open(spec), o) do
      all[#all + 1] = table.concat(helper.list(images), " ") .. ": "
        .. table.concat(labels:totable())
    end
    return all
  end

  local RANDOM = { fit = "random", flip = true, area = { 0.2, 1 } }
  local function options(workers)
    return { batch_size = 3, shuffle = true, epochs = 3, workers = workers }
  end

  it("give the same on any number of threads, and other parts in other epochs", function()
    folder()
    local want = contents(options(0), RANDOM)
    assert.equal(9, #want)
    assert.are_not.equal(want[3], want[6])
    for workers = 1, 3 do assert.same(want, contents(options(workers), RANDOM)) end
  end)

  it("continue after a checkpoint as if they had never stopped", function()
    folder()
    local want, check_point = contents(options(2), RANDOM), flow.train.CheckPoint()
    for done = 1, 8, 3 do
      flow.clear_default_session()
      flow.random.seed(9)
      local source = flow.data.batches(open(RANDOM), options(1))
      for _ = 1, done do source() end
      check_point:save(path(".model"), { overwrite = true })
      flow.clear_default_session()
      check_point:load(path(".model"), { resume = true })
      local i = done
      for _, _, images, labels in flow.data.batches(open(RANDOM), options(2)) do
        i = i + 1
        assert.equal(want[i], table.concat(helper.list(images), " ") .. ": "
          .. table.concat(labels:totable()))
      end
      assert.equal(9, i)
    end
  end)

  it("follow a seed that is set between epochs", function()
    folder()
    local function second_epoch(workers, early)
      local seen = {}
      if early then flow.random.seed(2) else flow.random.seed(9) end
      for epoch, i, images in flow.data.batches(open(RANDOM), options(workers)) do
        if epoch == 2 then seen[#seen + 1] = table.concat(helper.list(images), " ") end
        if epoch == 1 and i == 3 then flow.random.seed(2) end
      end
      return seen
    end
    assert.same(second_epoch(0, true), second_epoch(3))
  end)

  it("name the file that cannot be read, and go on with the next batch", function()
    folder()
    local file = assert(io.open(path("b/4.png"), "w"))
    file:write("no picture")
    file:close()
    for workers = 0, 2, 2 do
      local source = flow.data.batches(open(), { batch_size = 3, workers = workers })
      source()
      helper.fails(function() source() end, path("b/4.png") .. ": it is neither a JPEG nor a PNG")
      local _, i, images = source()
      assert.same({ 3, 1 }, { i, #images })
      source:close()
    end
  end)

  it("can be left in the middle, also with threads at work", function()
    folder()
    for _ = 1, 20 do
      flow.data.batches(open(RANDOM), { epochs = 50, workers = 3 })()
      flow.data.close_loop()
    end
    collectgarbage()
    for workers = 0, 3 do
      flow.data.batches(open(RANDOM), { epochs = 50, workers = workers, name = "n" .. workers })()
    end
  end)

  it("may be lists of paths, with other columns beside them", function()
    folder()
    local images = flow.data.pictures({ path("a/2.PNG"), path("c/6.png") }, 2)
    local _, _, batch, names = flow.data.batches({ { "images", images }, { "name", { "x", "y" } } },
      { batch_size = 2 })()
    assert.same({ 2, 2, 2, 3 }, batch.shape)
    assert.same({ "x", "y" }, names)
  end)

  it("name what is wrong", function()
    folder()
    local function fails(text, f) helper.fails(f, text) end
    fails("argument 2 'size' is missing", function() flow.data.folder(path()) end)
    fails("path must be a directory, got '/nowhere', which is none", function()
      flow.data.folder("/nowhere", 4)
    end)
    fails("must have a folder for each class with .jpg, .jpeg or .png files, got no folders",
      function() flow.data.folder(path("a"), 4) end)
    fails("fit must be \"center\", \"random\" or \"stretch\"",
      function() open({ fit = "crop" }) end)
    fails("size must be a whole number of at least 1, got number 0", function()
      open({ size = 0 })
    end)
    fails("size must be at most 65535", function() open({ size = 70000 }) end)
    fails("area must be two numbers above 0 and at most 1, the smaller one first, got {0, 1}",
      function() open({ area = { 0, 1 } }) end)
    fails("aspect must be two numbers above 0, the smaller one first", function()
      open({ aspect = { 2, 1 } })
    end)
    fails("flip must be a boolean", function() open({ flip = 1 }) end)
    fails("channels must be 1 (grey) or 3 (RGB), got number 4", function()
      open({ channels = 4 })
    end)
    fails("paths must be a list of file names, got none", function() flow.data.pictures({}, 4) end)
    fails("paths[2] must be a string, got number 1", function()
      flow.data.pictures({ "a", 1 }, 4)
    end)
  end)
end)
