local flow = require "jfl"
local helper = require "spec.lua.helper"
local plotimages = require "jfl.tools.plot_images"
local svg = require "jfl.tools.svg"
local nd = flow.ndarray

local PLAIN = { columns = 20, utf8 = false, colour = false }

local function text(images, options, how)
  local o = { images = images, data_format = "NCHW" }
  for name, value in pairs(options or {}) do o[name] = value end
  return plotimages.text(o, how or PLAIN)
end

local function saved(images, options)
  return helper.written(function(path)
    options.svg = path
    flow.plot_images(images, options)
  end)
end

describe("plot_images", function()
  it("draws darker and brighter letters, two rows of pixels in one", function()
    local image = nd.array({ { 0, 1, 0.55 }, { 0, 1, 0.55 }, { 1, 0, 0 }, { 1, 0, 0 } })
    assert.equal(" @+\n@\n", text(image))
    assert.equal(" @+\n@\n", text((image * 255):astype("uint8")))
  end)

  it("puts pictures side by side, as many as there is room for, with labels below", function()
    local images = nd.ones { 3, 2, 8 }
    assert.equal("@@@@@@@@ @@@@@@@@\nboot     7\n@@@@@@@@\n\n",
      text(images, { labels = { "boot", 7 } }))
    assert.equal(("@@@@@@@@\n"):rep(3), text(images, { columns = 1 }))
    assert.equal("title\n" .. ("@@@@@@@@ "):rep(2):sub(1, -2) .. "\n@@@@@@@@\n",
      text(images, { title = "title" }))
    assert.equal("@@ @@\n4  0\n",
      text(nd.ones { 2, 2, 2 }, { labels = nd.array({ 4, 0 }, "int32") }))
  end)

  it("makes wide pictures as small as the terminal", function()
    local line = text(nd.ones { 40, 80 }):match("[^\n]*")
    assert.equal(20, #line)
  end)

  it("uses greys and half letters where the terminal has them", function()
    local out = text(nd.array { { 0 }, { 1 } }, nil, { columns = 20, utf8 = true, colour = true })
    assert.equal("\27[38;5;232;48;5;255m▀\27[0m\n", out)
  end)

  it("takes the mean of colours, in either order of axes", function()
    local planes = nd.zeros { 1, 3, 2, 2 }
    planes[1][1]:fill(1)
    planes[1][2]:fill(1)
    planes[1][3]:fill(1)
    assert.equal("@@\n", text(planes))
    assert.equal("@@\n", text(planes:transpose(0, 2, 3, 1), { data_format = "NHWC" }))
  end)

  it("saves them as one file, each picture a PNG in it", function()
    local out = saved(nd.ones { 3, 4, 4 }, { labels = { "a<b", "b", "c" }, columns = 2,
      title = "three" })
    assert.equal(3, select(2, out:gsub("<image [^>]*href=\"data:image/png;base64,iVBORw0KGgo", "")))
    assert.truthy(out:find(">a&lt;b</text>", 1, true))
    assert.truthy(out:find("<title>three</title>", 1, true))
    assert.equal(2, select(2, out:gsub('<image x="8"', "")))
  end)

  it("gives each cell the pixels that are its part of the picture", function()
    -- Every second column and row is bright, and a cell has two of each, or one.
    local stripes = nd.zeros { 40, 40 }
    for y = 1, 40 do
      for x = 2, 40, 2 do stripes[y][x] = 1 end
    end
    assert.equal((("+"):rep(20) .. "\n"):rep(10), text(stripes))
    assert.equal((" @"):rep(10) .. "\n", text(stripes:reshape({ 80, 20 })[1]:reshape({ 1, 20 })))
    local halves = nd.zeros { 3, 30 }
    for y = 1, 3 do
      for x = 16, 30 do halves[y][x] = 1 end
    end
    assert.equal((" "):rep(10) .. ("@"):rep(10) .. "\n", text(halves))
  end)

  it("writes bytes as base64", function()
    assert.equal("", svg.base64(""))
    assert.equal("Zg==", svg.base64("f"))
    assert.equal("Zm8=", svg.base64("fo"))
    assert.equal("Zm9vYmFy", svg.base64("foobar"))
    assert.equal("/+8A", svg.base64("\255\239\0"))
  end)

  it("refuses what is no picture", function()
    local function fails(message, ...)
      local given = { ... }
      helper.fails(function() flow.plot_images(unpack(given)) end, message)
    end
    fails("plot_images: images must be an NdArray, got {1}", { 1 })
    fails("plot_images: images must be of a shape such as (n, c, h, w), (n, h, w) or (h, w), got "
      .. "(3)", nd.ones { 3 })
    fails("plot_images: images must be of a shape", nd.ones { 0, 2, 2 })
    fails("must have 1 to 4 channels, got 28", nd.ones { 1, 28, 28, 1 })
    fails("plot_images: data_format must be \"NCHW\" or \"NHWC\", got string 'x'", nd.ones { 2, 2 },
      { data_format = "x" })
    fails("plot_images: columns must be a whole number of at least 1, got number 0",
      nd.ones { 2, 2 }, { columns = 0 })
    fails("plot_images: labels must be a string or number, got an empty table", nd.ones { 2, 2 },
      { labels = { {} } })
    fails("plot_images: title must be UTF-8 text", nd.ones { 2, 2 }, { title = "\255" })
  end)
end)
