local flow = require "jfl"
local axis = require "jfl.tools.plot_axis"
local helper = require "spec.lua.helper"
local plot = require "jfl.tools.plot"
local nd = flow.ndarray

local function text(values, options, how)
  local o = { values = values, width = 30, height = 4 }
  for name, value in pairs(options or {}) do o[name] = value end
  return plot.text(o, how or { columns = 80, utf8 = false, colour = false })
end

local function labels(a, most, whole)
  local list = {}
  for i, tick in ipairs(axis.ticks(a, most, whole)) do list[i] = tick[2] end
  return list
end

describe("axis", function()
  it("puts ticks at round numbers, with digits that tell them apart", function()
    assert.same({ "0.0", "0.5", "1.0", "1.5", "2.0" }, labels(axis.new(0, 2.2), 5))
    assert.same({ "-20", "0", "20" }, labels(axis.new(-21, 39), 4))
    assert.same({ "2e5", "4e5", "6e5", "8e5", "1e6" }, labels(axis.new(1, 1e6), 6))
    assert.same({ "1e-9", "2e-9", "3e-9" }, labels(axis.new(1e-9, 3e-9), 3))
    assert.same({ "1000001", "1000002" }, labels(axis.new(1000001, 1000002.5), 3, true))
    assert.same({ "1", "2" }, labels(axis.new(1, 2), 10, true))
    assert.same({ "0.9", "1.0", "1.1" }, labels(axis.new(1, 1), 3))
    assert.same({ "-1", "0", "1" }, labels(axis.new(0, 0), 3))
    assert.truthy(#labels(axis.new(1e300, 1e300 * (1 + 1e-15)), 5) > 1)
  end)

  it("goes around values that differ by less than a 1e12th", function()
    for _, scale in ipairs { 1e-200, 1, -3, 1e200 } do
      local low = math.min(scale, scale * (1 + 2e-12))
      assert.equal(low, axis.new(low, low + 2e-12 * math.abs(scale)).low)
      assert.near(low - 0.1 * math.abs(scale),
        axis.new(low, low + 5e-13 * math.abs(scale)).low, 1e-9 * math.abs(scale))
    end
  end)

  it("keeps the extremes of a million points, and the gaps of a few", function()
    local n = 1000000
    local y = nd.zeros { n }
    y[500001], y[700001] = 9, -9
    local seen, low, high = 0, 0, 0
    for _, run in ipairs(axis.runs({ y = y:pointer(), n = n }, 100)) do
      for _, point in ipairs(run) do
        seen, low, high = seen + 1, math.min(low, point[2]), math.max(high, point[2])
      end
    end
    assert.same({ -9, 9 }, { low, high })
    assert.truthy(seen <= 400)
    local gaps = nd.array({ 1, 0 / 0, 2, 3, 1 / 0 }, "float64")
    assert.same({ { { 1, 1 }, last = 0 }, { { 3, 2 }, { 4, 3 }, last = 3 } },
      axis.runs({ y = gaps:pointer(), n = 5 }, 100))
  end)
end)

describe("plot", function()
  it("draws one curve in plain letters, with its texts around it", function()
    assert.equal([[
              title
y
3 +                       ...''
  |                ...''''
2 +        ....''''
1 +...'''''
  ++-------------+------------+
   1             2            3
                x
]], text({ 1, 2, 3 }, { title = "title", xlabel = "x", ylabel = "y", width = 31 }))
  end)

  it("draws dots of braille where the locale has them", function()
    local out = text({ 1, 1, 1 }, nil, { columns = 80, utf8 = true, colour = false })
    assert.truthy(out:find("1.0 ┤" .. ("⠉"):rep(25) .. "\n", 1, true), out)
    assert.truthy(out:find("└┬", 1, true))
  end)

  it("tells several curves apart by colours, or else by letters", function()
    local curves = { loss = { 3, 2, 1 }, accuracy = nd.array { 1, 2, 3 } }
    local out = text(curves)
    assert.truthy(out:find("* accuracy  + loss\n", 1, true), out)
    assert.truthy(out:match("%*%*%*") and out:match("%+%+%+"))
    assert.falsy(out:find("\27"))
    out = text(curves, nil, { columns = 80, utf8 = true, colour = true })
    assert.truthy(out:find("\27[33m──\27[0m loss", 1, true))
  end)

  it("takes rows of arrays and lists, with labels or numbers as names", function()
    assert.truthy(text(nd.array { { 1, 2 }, { 2, 1 } }):find("* 1  + 2\n", 1, true))
    assert.truthy(text({ { 1, 2 }, nd.array { 2, 1 } }, { labels = { "a", "b" } })
      :find("* a  + b\n", 1, true))
    assert.equal(text { 1, 2 }, text { nd.array { 1 }, nd.array { 2 } })
    assert.equal(text { 1, 2, 5 }, text(nd.array({ 1, 2, 5 }, "int64")))
  end)

  it("leaves gaps where there is no number, and draws points that stand alone", function()
    assert.equal("0 +.            .           .",
      text({ 0, 0 / 0, 0, 1 / 0, 0 }, { height = 3 }):match(" (0 [^\n]*)"))
    local alone = text({ 5 })
    assert.truthy(alone:find("5.0 +", 1, true))
    assert.truthy(alone:find("\n +1\n$") or alone:find("\n +1$"), alone)    -- its place alone
    assert.equal("1.0 +.                       .",
      text({ 1, 2, 1 }, { x = { 0, 0 / 0, 2 }, height = 3 }):match("1.0 [^\n]*"))
  end)

  it("keeps to its width, whatever the texts are", function()
    local long = ("语"):rep(60) .. "\n\27[2J"
    local out = text({ [long] = { 1, 2 }, b = { 1e-7, 3 } }, { title = long, xlabel = long,
      ylabel = long })
    for line in out:gmatch("[^\n]+") do
      assert.truthy(require("jfl.base.text").width(line) <= 30, line)
      assert.falsy(line:find("\27"))
    end
    local many = {}
    for i = 1, 40 do many[i] = { i, i + 1 } end
    assert.truthy(text(many):find("and 28 more", 1, true))
  end)

  it("saves a picture, and prints nothing then", function()
    local path = os.tmpname()
    local curves = { ["a<b"] = { 1, 0 / 0, 3, 4 }, c = { 2, 2, 2, 2 } }
    flow.plot(curves, { svg = path, title = "x & \"y\"\1", x = { 0, 1, 2, 4 } })
    local file = assert(io.open(path))
    local svg = file:read("*a")
    file:close()
    os.remove(path)
    assert.truthy(svg:match('^<svg xmlns="http://www.w3.org/2000/svg" width="800" height="450"'))
    assert.truthy(svg:find(">x &amp; &quot;y&quot; </text>", 1, true))
    assert.truthy(svg:find(">a&lt;b</text>", 1, true))
    assert.equal(1, select(2, svg:gsub("<circle", "")))
    assert.equal(2, select(2, svg:gsub('fill="none" stroke%-width="1.75"', "")))
    assert.truthy(svg:match("</svg>\n$"))
  end)

  it("prints, and takes one table of named lists as such", function()
    local out, status = helper.script [[
      local flow = require "jfl"
      flow.plot({ title = { 1, 2 }, b = { 2, 1 } })
      flow.plot { values = { 1, 2 }, title = "by name" }
    ]]
    assert.equal(0, status, out)
    assert.truthy(out:find("b%s+%S+ title") and out:find("by name"), out)
  end)

  it("refuses what it cannot draw", function()
    local function fails(message, ...)
      local given = { ... }
      helper.fails(function() flow.plot(unpack(given)) end, message)
    end
    fails("plot: values must be a table, got number 3", 3)
    fails("plot: values: item 2 must be a number, got string 'x'", { 1, "x" })
    fails("plot: values must not be empty", {}, "title")
    fails("plot: values: there is no finite number to draw", { 0 / 0, 1 / 0 })
    fails("plot: loss must be a table, got number 1", { loss = 1 })
    fails("plot: loss: there is no number", { loss = {} })
    fails("plot: the numbers are too far apart", { -1e308, 1e308 })
    fails("plot: x must have as many numbers as the curve, 2, got 3", { 1, 2 }, { x = { 1, 2, 3 } })
    fails("plot: values: row 1 must be numbers, got an NdArray (2, 2)", nd.zeros { 2, 2, 2 })
    fails("plot: width must be a whole number of at least 16, got number 3", { 1 }, { width = 3 })
    fails("plot: title must be UTF-8 text", { 1 }, { title = "\255" })
    fails("plot: values must be a list or a table of named lists, got both", { 1, 2, loss = { 1 } })
    fails("plot: labels must be a string, got number 1", { 1, 2 }, { labels = { 1 } })
    fails("plot: unknown option 'tittle'", { 1 }, { tittle = "x" })
    fails("plot: cannot write /proc/nowhere/x.svg: No such file", { 1 },
      { svg = "/proc/nowhere/x.svg" })
    fails("plot: cannot write /dev/full: No space left", { 1 }, { svg = "/dev/full" })
  end)
end)
