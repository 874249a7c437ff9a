-- flow.data.load_image and save_image: what is saved is what is loaded.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local load_image, nd, save_image = flow.data.load_image, flow.ndarray, flow.data.save_image

describe("pictures as files", function()
  local path = helper.folder(before_each, after_each)

  local function write(name, bytes)
    local file = assert(io.open(path(name), "wb"))
    file:write(bytes)
    file:close()
    return path(name)
  end

  local function read(name)
    local file = assert(io.open(path(name), "rb"))
    local text = file:read("*a")
    file:close()
    return text
  end

  -- Whole numbers from 0 to 255 that change slowly, so that JPEG loses little.
  local function slope(height, width, channels)
    local a = nd.zeros({ height, width, channels }, flow.uint8)
    for y = 1, height do
      for x = 1, width do
        for c = 1, channels do a[y][x][c] = (3 * y + 2 * x + 40 * c) % 256 end
      end
    end
    return a
  end

  it("gives a PNG's pixels back, with 1 to 4 channels", function()
    for channels = 1, 4 do
      local a = slope(5, 7, channels)
      save_image(path("a.png"), a, { data_format = "NHWC" })
      local b = load_image(path("a.png"))
      assert.same({ 5, 7, channels }, b.shape)
      assert.same(a:totable(), b:totable())
    end
  end)

  it("reads the bytes of a file as it reads the file, and tells what they lack", function()
    save_image(path("a.png"), slope(5, 7, 3), { data_format = "NHWC" })
    local decode_image, o = flow.data.decode_image, { size = 4, channels = 1, dtype = "float32" }
    assert.same(load_image(path("a.png"), o):totable(), decode_image(read("a.png"), o):totable())
    assert.same({ 5, 7, 3 }, decode_image(read("a.png")).shape)
    assert.error_matches(function() decode_image("no picture") end, "decode_image: bytes: ")
    assert.error_matches(function() decode_image(read("a.png"):sub(1, 60)) end,
      "decode_image: bytes: ")
    assert.error_matches(function() decode_image(7) end, "bytes must be a string, got number 7")
  end)

  it("drops alpha, and makes grey of RGB and RGB of grey, where channels says so", function()
    local rgba = nd.array({ { { 200, 100, 50, 0 } } }, flow.uint8)
    save_image(path("a.png"), rgba, { data_format = "NHWC" })
    assert.same({ { { 200, 100, 50 } } }, load_image(path("a.png"), { channels = 3 }):totable())
    -- 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2
    assert.same({ { { 124 } } }, load_image(path("a.png"), { channels = 1 }):totable())
    save_image(path("g.png"), nd.array({ { 0.2, 1 } }))
    assert.same({ { { 51, 51, 51 }, { 255, 255, 255 } } },
      load_image(path("g.png"), { channels = 3 }):totable())
  end)

  it("gives each pixel of a picture other colours", function()
    for _, from in ipairs { 1, 3, 4 } do
      save_image(path("a.png"), nd.zeros({ 30, 20, from }, flow.uint8) + 7,
        { data_format = "NHWC" })
      for _, to in ipairs { 1, 3 } do
        local a = load_image(path("a.png"), { channels = to })
        assert.same({ 30, 20, to }, a.shape)
        assert.equal(7 * 600 * to, a:astype("float64"):sum())
      end
    end
  end)

  it("gives a JPEG's pixels back nearly", function()
    for _, channels in ipairs { 1, 3 } do
      local a = slope(24, 16, channels)
      save_image(path("a.jpg"), a, { data_format = "NHWC", quality = 95 })
      local b = load_image(path("a.jpg"))
      assert.same({ 24, 16, channels }, b.shape)
      local far = flow.math.abs(a:astype("float32") - b:astype("float32"))
      assert.is_true(far:max() < 12, "off by " .. far:max())
    end
  end)

  -- Red is 9 (row + column), counted from 0, green what it lacks to 255, blue half of red.
  it("reads what other programs write: progressive scans, inks, palettes, 16 bits", function()
    for _, file in ipairs { "jpeg/progressive", "jpeg/inks", "png/palette" } do
      local a = load_image("spec/fuzz/corpus/" .. file, { channels = 3 })
      assert.same({ 9, 12, 3 }, a.shape)
      for y = 1, 9 do
        for x = 1, 12 do
          local red = 9 * (x + y - 2)
          assert.near(red, a[y][x][1], 34, file)
          assert.near(255 - red, a[y][x][2], 34, file)
          assert.near(red / 2, a[y][x][3], 34, file)
        end
      end
    end
    local grey = load_image("spec/fuzz/corpus/png/sixteen")
    assert.same({ 9, 12, 1 }, grey.shape)
    for x = 1, 12 do assert.equal(9 * (x + 3), grey[5][x][1]) end
  end)

  -- What a PNG is made of: its signature, then chunks with what they hold.
  local function number(n)
    return string.char(math.floor(n / 2 ^ 24), math.floor(n / 2 ^ 16) % 256,
      math.floor(n / 256) % 256, n % 256)
  end
  local function chunk(kind, data)
    return number(#data) .. kind .. data .. number(core.crc32(kind .. data))
  end
  local function chunks_of(png)
    local list, at = {}, 9
    while at < #png do
      local a, b, c, d = png:byte(at, at + 3)
      local size = 12 + a * 2 ^ 24 + b * 2 ^ 16 + c * 256 + d
      list[#list + 1] = png:sub(at, at + size - 1)
      at = at + size
    end
    return list
  end

  it("leaves out chunks on which pixels do not depend, wherever they lie", function()
    local png, decode_image = helper.read("spec/fuzz/corpus/png/palette"), flow.data.decode_image
    local chunks = chunks_of(png)
    table.insert(chunks, 2, chunk("gAMA", number(45455)))
    table.insert(chunks, 4, chunk("tRNS", "\0\128"))
    local text = { chunk("tEXt", "Title\0abc"), chunk("teXt", ""), chunk("zTXt", "a\0\0bcd") }
    local want = decode_image(png:sub(1, 8) .. table.concat(chunks)):totable()
    for mask = 1, 31 do
      local parts, bits = { png:sub(1, 8) }, mask
      for i, each in ipairs(chunks) do
        parts[#parts + 1] = each
        if bits % 2 == 1 then parts[#parts + 1] = text[i % 3 + 1] end
        bits = math.floor(bits / 2)
      end
      assert.same(want, decode_image(table.concat(parts)):totable(), "mask " .. mask)
    end
  end)

  it("takes floats, other ranges and planes", function()
    local a = nd.array({ { { -1, 1 }, { 0, 5 } } })
    save_image(path("a.png"), a, { range = { -1, 1 } })
    assert.same({ { { 0 }, { 255 } }, { { 128 }, { 255 } } }, load_image(path("a.png")):totable())
    local b = load_image(path("a.png"), { dtype = flow.float32, data_format = "NCHW" })
    assert.same({ 1, 2, 2 }, b.shape)
    assert.near(128 / 255, b:get(1, 2, 1), 1e-6)
  end)

  it("puts several side by side", function()
    local a = nd.array({ { { { 1 } } }, { { { 2 } } }, { { { 3 } } } }, flow.uint8)
    save_image(path("a.png"), a, { columns = 2, padding = 1 })
    local b = load_image(path("a.png"))
    assert.same({ 5, 5, 1 }, b.shape)
    assert.same({ 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0 },
      helper.list(b))
  end)

  it("gives pictures of one pixel, row or column back, whatever holds them", function()
    for _, extents in ipairs { { 1, 1 }, { 1, 2 }, { 2, 1 }, { 1, 9 }, { 9, 1 } } do
      for channels = 1, 4 do
        local a = slope(extents[1], extents[2], channels)
        save_image(path("a.png"), a, { data_format = "NHWC" })
        assert.same(a:totable(), load_image(path("a.png")):totable())
        assert.same(flow.transpose(a, { 2, 0, 1 }):totable(),
          load_image(path("a.png"), { data_format = "NCHW" }):totable())
        if channels == 1 or channels == 3 then
          save_image(path("a.jpg"), a, { data_format = "NHWC", quality = 100 })
          local b = load_image(path("a.jpg"))
          assert.same(a.shape, b.shape)
          assert.is_true(flow.math.abs(a:astype("float32") - b:astype("float32")):max() < 12)
        end
      end
    end
  end)

  it("resamples to one pixel and from one", function()
    local a = nd.array({ { 10, 30, 50 }, { 20, 40, 60 } }, flow.uint8)
    save_image(path("a.png"), a)
    local function sized(size, fit)
      return helper.list(load_image(path("a.png"), { size = size, fit = fit, channels = 1 }))
    end
    assert.same({ 35 }, sized(1, "stretch"))
    assert.same({ 35 }, sized(1, "center"))
    assert.same({ 15, 35, 55 }, sized({ 1, 3 }, "stretch"))
    assert.same({ 30, 40 }, sized({ 2, 1 }, "stretch"))
    save_image(path("a.png"), nd.array({ { 77 } }, flow.uint8))
    for _, size in ipairs { 1, { 1, 4 }, { 3, 2 } } do
      for _, fit in ipairs { "stretch", "center" } do
        for _, value in ipairs(sized(size, fit)) do assert.equal(77, value) end
      end
    end
  end)

  it("puts any number side by side, each where its row and column are", function()
    for n = 1, 5 do
      for columns = 0, n + 1 do
        for padding = 0, 2 do
          local h, w = 2, 3
          local a = nd.arange(1, n * h * w + 1):reshape({ n, 1, h, w }):astype(flow.uint8)
          save_image(path("a.png"), a, { columns = columns > 0 and columns or nil,
            padding = padding })
          local across = math.min(n, columns > 0 and columns or math.ceil(math.sqrt(n)))
          local gap, down = n > 1 and padding or 0, math.ceil(n / across)
          local b, sum = load_image(path("a.png")), 0
          assert.same({ down * (h + gap) + gap, across * (w + gap) + gap, 1 }, b.shape)
          for i = 0, n - 1 do
            local top, left = math.floor(i / across) * (h + gap), i % across * (w + gap)
            for y = 1, h do
              for x = 1, w do
                local value = i * h * w + (y - 1) * w + x
                assert.equal(value, b:get(top + gap + y, left + gap + x, 1))
                sum = sum + value
              end
            end
          end
          assert.equal(sum, b:astype("float32"):sum())           -- and all else is black
        end
      end
    end
  end)

  it("shrinks by means and grows between neighbours", function()
    local a = nd.array({ { 10, 30, 100, 200 }, { 20, 40, 100, 200 } }, flow.uint8)
    save_image(path("a.png"), a)
    local function sized(size, fit)
      return helper.list(load_image(path("a.png"), { size = size, fit = fit, channels = 1 }))
    end
    assert.same({ 25, 150 }, sized({ 1, 2 }, "stretch"))
    assert.same({ 65, 70 }, sized({ 2, 1 }, "center"))
    assert.same({ 10, 30, 100, 200, 15, 35, 100, 200, 20, 40, 100, 200 },
      sized({ 3, 4 }, "stretch"))
  end)

  -- The numbers are those of PIL's resize((3, 1), BILINEAR), and of torchvision's resize(3) and
  -- center_crop((1, 3)); PIL rounds between the axes, which makes 1 of a difference.
  it("resizes by triangles as PIL and torchvision do", function()
    local row, rows = { 10, 200, 30, 90, 250, 0, 120, 60 }, {}
    for i = 1, 5 do rows[i] = row end
    save_image(path("a.png"), nd.array(rows, flow.uint8))
    local function sized(o)
      o.resizing, o.channels = "triangle", 1
      return helper.list(load_image(path("a.png"), o))
    end
    assert.same({ 96, 118, 84 }, sized { size = { 1, 3 }, fit = "stretch" })
    local set = flow.data.pictures({ path("a.png") }, { size = { 1, 3 }, shorter = 3,
      resizing = "triangle", channels = 1 })
    local _, _, got = flow.data.batches({ { "x", set } }, { batch_size = 1 })()
    assert.same({ 94, 101, 120 }, helper.list(got))
    helper.fails(function()
      load_image(path("a.png"), { size = 3, resizing = "cubes" })
    end, "resizing must be")
  end)

  it("refuses what is no picture, damaged or cut short, and names the file", function()
    save_image(path("a.png"), slope(40, 40, 3), { data_format = "NHWC" })
    save_image(path("a.jpg"), slope(40, 40, 3), { data_format = "NHWC" })
    for _, name in ipairs { "a.png", "a.jpg" } do
      local whole = read(name)
      for _, size in ipairs { 3, 12, 60, math.floor(#whole / 2), #whole - 40 } do
        local cut = write("cut" .. name, whole:sub(1, size))
        helper.fails(function() load_image(cut) end, cut .. ": ")
      end
    end
    helper.fails(function() load_image(write("t.jpg", "hello world")) end,
      "t.jpg: it is neither a JPEG nor a PNG")
    helper.fails(function() load_image(write("e.jpg", "")) end, "e.jpg: it is neither a JPEG")
    helper.fails(function() load_image(path("none.png")) end, "No such file")
    helper.fails(function() load_image(path()) end, "it is a directory")
  end)

  it("refuses a small file that promises a huge picture, before it takes memory", function()
    save_image(path("a.png"), slope(4, 4, 1), { data_format = "NHWC" })
    local png = read("a.png")
    local head = "IHDR\0\0\64\0\0\0\31\255" .. png:sub(25, 29)
    local bomb = write("bomb.png", png:sub(1, 12) .. head .. number(core.crc32(head))
      .. png:sub(34))
    helper.fails(function() load_image(bomb) end, "bytes cannot hold 16384 by 8191 pixels")
    save_image(path("a.jpg"), slope(8, 8, 1), { data_format = "NHWC" })
    local jpg = read("a.jpg")
    local at = assert(jpg:find("\255\192", 1, true))
    bomb = write("bomb.jpg", jpg:sub(1, at + 4) .. "\255\220\255\220" .. jpg:sub(at + 9))
    helper.fails(function() load_image(bomb) end,
      "its pixels at most 134217728, got 65500 by 65500")
    bomb = write("wide.jpg", jpg:sub(1, at + 4) .. "\31\255\31\255" .. jpg:sub(at + 9))
    helper.fails(function() load_image(bomb) end, "bytes cannot hold 8191 by 8191 pixels")
  end)

  it("names what is wrong", function()
    local a = nd.zeros({ 2, 2 })
    local function fails(text, f, ...)
      local given, n = { ... }, select("#", ...)
      helper.fails(function() f(unpack(given, 1, n)) end, text)
    end
    fails("save_image: path must end in .png, .jpg or .jpeg, got 'a.gif'", save_image, "a.gif", a)
    fails("save_image: images must be an NdArray, got number 3", save_image, "a.png", 3)
    fails("data_format must be \"NCHW\" or \"NHWC\", got string 'X'", save_image, "a.png", a,
      { data_format = "X" })
    fails("value must have 1 to 4 channels, got 7", save_image, "a.png", nd.zeros({ 7, 4, 4 }))
    fails("images must have 1 or 3 channels for a JPEG, got 2", save_image, "a.jpg",
      nd.zeros({ 2, 4, 4 }))
    fails("images must make a picture of at most 268435456 bytes, got 40001 by 60002 pixels",
      save_image, "a.png", nd.zeros({ 2, 1, 1, 1 }), { padding = 20000 })
    fails("quality must be a whole number from 1 to 100, got 101", save_image, "a.jpg", a,
      { quality = 101 })
    fails("range must be two numbers, the smaller one first", save_image, "a.png", a,
      { range = { 1, 0 } })
    fails("size must be one number or {height, width}", load_image, "a.png", { size = { 1, 2, 3 } })
    fails("fit must be \"center\" or \"stretch\", got string 'random'", load_image, "a.png",
      { size = 3, fit = "random" })
    fails("channels must be 1 (grey) or 3 (RGB), got number 2", load_image, "a.png",
      { channels = 2 })
    fails("dtype must be uint8 or float32, got string 'int32'", load_image, "a.png",
      { dtype = flow.int32 })
  end)
end)
