-- flow.plot_images: pictures side by side, in the terminal or as an SVG file.
---@flow plot_images
local args = require "jfl.base.args"
local core = require "jfl.core"
local ffi = require "ffi"
local picture = require "jfl.tools.picture"
local svg = require "jfl.tools.svg"
local terminal = require "jfl.tools.terminal"
local text = require "jfl.base.text"

local plotimages = {}

local WHO = "plot_images"
local MOST = 100                 -- pictures that are shown
local SIDE = 72                  -- pixels of a picture in a file, at least
local IN_FILE = 10               -- pictures in a row of a file
local GAP, LINE = 8, 18          -- pixels between pictures, and of a line of text
local RAMP = " .:-=+*#%@"        -- from dark to bright
local GREY = 232                 -- the first of a terminal's 24 greys

-- The array as (n, c, h, w) or, for NHWC, (n, h, w, c).
local function four_axes(array, format)
  local s = array.shape
  local planes = format == "NCHW"
  if #s == 2 then s = { 1, s[1], s[2] } end
  if #s == 3 then s = planes and { s[1], 1, s[2], s[3] } or { s[1], s[2], s[3], 1 } end
  args.fits(#s == 4 and array.size > 0, array.shape, "%s: images must be of a shape such as %s, "
    .. "(n, h, w) or (h, w), got", WHO, planes and "(n, c, h, w)" or "(n, h, w, c)")
  return core.reshape(array, s)
end

-- ---- the terminal ----

-- A function that gives the mean brightness, 0 to 1, of a box of picture i, counted from 0.
local function brightness_of(array, format)
  local _, height, width, channels = picture.extents(WHO, array.shape, format)
  local pixels = core.cast(array, "float32")
  local data, planes = ffi.cast("float *", core.pointer(pixels)), format == "NCHW"
  local size, scale = height * width * channels, array.dtype:match("float") and 1 or 1 / 255
  local seen = math.min(channels, 3)
  return function(i, x0, x1, y0, y1)
    local sum = 0
    for y = y0, y1 - 1 do
      for x = x0, x1 - 1 do
        for c = 0, seen - 1 do
          local at = planes and (c * height + y) * width + x or (y * width + x) * channels + c
          sum = sum + data[i * size + at]
        end
      end
    end
    local mean = sum * scale / ((x1 - x0) * (y1 - y0) * seen)
    return mean > 0 and math.min(mean, 1) or 0
  end, height, width, pixels
end

-- Column and row of a grid of cells as ranges of pixels.
local function range(k, cells, pixels)
  local first = math.floor(k * pixels / cells)
  return first, math.max(first + 1, math.floor((k + 1) * pixels / cells))
end

-- A line of a picture: a letter stands for two rows of cells, one above the other.
local function line_of(grid, i, row, fine)
  local parts = {}
  for column = 0, grid.columns - 1 do
    local x0, x1 = range(column, grid.columns, grid.width)
    local y0, y1 = range(2 * row, grid.rows, grid.height)
    local z0, z1 = range(math.min(2 * row + 1, grid.rows - 1), grid.rows, grid.height)
    local upper = grid.brightness(i, x0, x1, y0, y1)
    local lower = grid.brightness(i, x0, x1, z0, z1)
    if fine then
      parts[#parts + 1] = ("\27[38;5;%d;48;5;%dm▀"):format(GREY + math.floor(upper * 23 + 0.5),
        GREY + math.floor(lower * 23 + 0.5))
    else
      local step = math.floor((upper + lower) / 2 * (#RAMP - 1) + 0.5)
      parts[#parts + 1] = RAMP:sub(step + 1, step + 1)
    end
  end
  return table.concat(parts) .. (fine and "\27[0m" or "")
end

local function add_labels(out, list, first, last, width)
  local labels = {}
  for i = first, last do
    local short, used = text.cut(text.line(svg.label_of(WHO, "labels", list, i + 1) or ""),
      width)
    labels[#labels + 1] = short .. (" "):rep(width - used)
  end
  out[#out + 1] = table.concat(labels, " ")
end

--- The text that plot_images prints. how describes the terminal: columns, utf8, colour.
function plotimages.text(o, how)
  local array = four_axes(o.images, o.data_format)
  local grid, n = {}, math.min(array.shape[1], MOST)
  grid.brightness, grid.height, grid.width, grid.keeper = brightness_of(array, o.data_format)
  grid.columns = math.min(grid.width, how.columns)
  grid.rows = math.max(1, math.floor(grid.height * grid.columns / grid.width + 0.5))
  local per = math.max(1, math.floor((how.columns + 1) / (grid.columns + 1)))
  per = math.min(per, o.columns or per)
  local out = { o.title }
  for first = 0, n - 1, per do
    local last = math.min(first + per, n) - 1
    for row = 0, math.ceil(grid.rows / 2) - 1 do
      local parts = {}
      for i = first, last do
        parts[#parts + 1] = line_of(grid, i, row, how.utf8 and how.colour)
      end
      out[#out + 1] = table.concat(parts, " ")
    end
    if o.labels ~= nil then add_labels(out, o.labels, first, last, grid.columns) end
  end
  for i, s in ipairs(out) do out[i] = s:gsub("%s+$", "") end
  return table.concat(out, "\n") .. "\n"
end

-- ---- the file ----

local function drawing(o)
  local array = four_axes(o.images, o.data_format)
  local list, height, width = picture.encode(WHO, array, o.data_format, MOST)
  local scale = math.max(1, math.ceil(SIDE / math.max(height, width)))
  local w, h = width * scale, height * scale
  local per = math.min(#list, o.columns or IN_FILE)
  local top = o.title and 40 or GAP
  local step = h + GAP + (o.labels ~= nil and LINE or 0)
  local out = svg.new(GAP + per * (w + GAP), top + math.ceil(#list / per) * step, o.title)
  if o.title then out:heading((GAP + per * (w + GAP)) / 2, o.title) end
  for i, png in ipairs(list) do
    local x, y = GAP + (i - 1) % per * (w + GAP), top + math.floor((i - 1) / per) * step
    out:add('<image x="%d" y="%d" width="%d" height="%d" style="image-rendering:pixelated" '
      .. 'href="data:image/png;base64,%s"/>', x, y, w, h, svg.base64(png))
    local label = svg.label_of(WHO, "labels", o.labels, i)
    if label then
      local short = text.cut(label, math.floor(w / svg.letter))
      out:label(x + w / 2, y + h + LINE - 4, "middle", short)
    end
  end
  return out
end

--- Shows pictures side by side: flow.plot_images(images, { labels = names, svg = "clothes.svg" }).
plotimages.plot_images = args.define(WHO,
  "Shows pictures side by side, in the terminal or as a file; at most " .. MOST .. ".", {
    { "images", "(n, c, h, w), (n, h, w) or one picture (h, w); floats in 0..1, whole numbers in "
      .. "0..255", type = "NdArray" },
    { "labels", "what stands below each: a list of texts or numbers, or an NdArray", args.none,
      type = "(string|number)[]|NdArray" },
    { "title", "above them", args.none, type = "string" },
    { "columns", "how many stand side by side, where there is room", args.none,
      type = "integer", least = 1 },
    { "data_format", "NCHW or NHWC: where the channels are", "NCHW", words = { "NCHW", "NHWC" } },
    { "svg", "a file to save them as, instead of printing them", args.none, type = "string" },
  }, function(o)
    args.must(core.type(o.images) == "array", o.images, "%s: images must be an NdArray", WHO)
    svg.check_texts(WHO, o, { "title", "svg" })
    if o.labels ~= nil and core.type(o.labels) ~= "array" then
      args.expect(WHO, "labels", o.labels, "table")
    end
    if o.svg then return drawing(o):save(WHO, o.svg) end
    io.write(plotimages.text(o, terminal.look()))
  end)

return plotimages
