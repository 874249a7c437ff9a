-- flow.plot: curves of numbers, in the terminal or as an SVG file.
---@flow plot
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local axis = require "jfl.tools.plot_axis"
local core = require "jfl.core"
local ffi = require "ffi"
local svg = require "jfl.tools.svg"
local terminal = require "jfl.tools.terminal"

local plot = {}

local ROWS = 16
local WIDTH, HEIGHT = 800, 450   -- pixels

-- ---- the curves ----

local function is_array(v) return core.type(v) == "array" end

-- A number in a list; an array of one element counts as one, such as a job's loss.
local function number_of(v)
  if type(v) == "number" then return v end
  return is_array(v) and v.size == 1 and v:item() or nil
end

-- The numbers of a list or a 1-D array, counted from 0, and how many.
local function numbers(what, v)
  if is_array(v) then
    args.must(#v.shape == 1, v, "plot: %s must be numbers", what)
    local a = core.cast(v, "float64")
    return ffi.cast("double *", core.pointer(a)), a.size, a
  end
  local n = #args.expect("plot", what, v, "table")
  if n == 0 then core.fail("plot: %s: there is no number", what) end
  local list = ffi.new("double[?]", n)
  for i = 1, n do
    local x = number_of(v[i])
    args.must(x, v[i], "plot: %s: item %d must be a number", what, i)
    list[i - 1] = x
  end
  return list, n
end

local function curve(what, name, v)
  local y, n, keeper = numbers(what, v)
  return { name = name, y = y, n = n, keeper = keeper }
end

-- Named curves { loss = {...}, accuracy = {...} }, in alphabetical order.
local function named(values)
  local names, list = {}, { named = true }
  for name in pairs(values) do
    args.check(type(name) == "string", "plot: values must be a list or a table of named lists, got "
      .. "both in one")
    names[#names + 1] = name
  end
  table.sort(names)
  for i, name in ipairs(names) do list[i] = curve(name, name, values[name]) end
  return list
end

local function has_names(values)
  for key in pairs(values) do
    if type(key) ~= "number" then return true end
  end
  return #values == 0
end

local function label_of(labels, i)
  return args.expect("plot", "labels", labels and labels[i] or tostring(i), "string")
end

local function rows(values, labels)
  local list = { named = true }
  for i = 1, #values do
    list[i] = curve(("values: row %d"):format(i), label_of(labels, i), values[i])
  end
  return list
end

-- Whether values is several lists rather than one of numbers.
local function is_nested(values)
  if is_array(values) then return #values.shape > 1 end
  return not number_of(values[1]) and (type(values[1]) == "table" or is_array(values[1]))
end

local function curves(values, labels)
  if not is_array(values) then
    args.expect("plot", "values", values, "table")
    args.must(not metatable(values), values, "plot: values must be numbers")
    if next(values) == nil then core.fail("plot: values must not be empty") end
    if has_names(values) then return named(values) end
  end
  if is_nested(values) then return rows(values, labels) end
  local one = curve("values", labels and label_of(labels, 1) or "", values)
  return { one, named = labels ~= nil }
end

-- ---- the chart ----

local function join(low, high, a, b)
  if not a then return low, high end
  return math.min(low, a), math.max(high, b)
end

-- The chart that both forms draw: the curves with their names, the axes x and y, the texts around
-- them.
local function chart_of(o)
  local chart = curves(o.values, o.labels)
  local left, right, low, high = 1, 1, math.huge, -math.huge
  local x, n_x, keeper
  if o.x ~= nil then
    x, n_x, keeper = numbers("x", o.x)
    left, right = axis.range(x, n_x)
    if not left then core.fail("plot: x: there is no finite number") end
  end
  for _, c in ipairs(chart) do
    if x and c.n ~= n_x then
      core.fail("plot: x must have as many numbers as the curve, %d, got %d", c.n, n_x)
    end
    c.x, c.keeper_x = x, keeper
    right = x and right or math.max(right, c.n)
    low, high = join(low, high, axis.range(c.y, c.n))
  end
  if low > high then core.fail("plot: values: there is no finite number to draw") end
  args.check(high - low ~= math.huge and right - left ~= math.huge, "plot: the numbers are too far "
    .. "apart to draw, from %g to %g", low, high)
  chart.x, chart.y, chart.counted = axis.new(left, right), axis.new(low, high), not x
  chart.title, chart.xlabel, chart.ylabel = o.title, o.xlabel, o.ylabel
  return chart
end

-- ---- where it goes ----

local function check(o)
  svg.check_texts("plot", o, { "title", "xlabel", "ylabel", "svg" })
  if o.labels ~= nil then args.expect("plot", "labels", o.labels, "table") end
  if o.width ~= nil then args.integer("plot", "width", o.width, o.svg and 120 or 16) end
  if o.height ~= nil then args.integer("plot", "height", o.height, o.svg and 80 or 2) end
end

--- The text that plot prints. how describes the terminal: columns, utf8, colour.
function plot.text(o, how)
  check(o)
  return require("jfl.tools.plot_text").text(chart_of(o), {
    columns = o.width or how.columns, rows = o.height or ROWS, utf8 = how.utf8,
    colour = how.colour,
  })
end

--- Draws curves: flow.plot(losses), flow.plot({ loss = a, accuracy = b }, { title = "epoch 1" }),
-- flow.plot(losses, { svg = "loss.svg" }).
plot.plot = args.define("plot", "Draws curves in the terminal, or saves them as a picture.", {
  { "values", "a list of numbers, an NdArray (2-D: a curve each row), a list of lists, or named "
    .. "lists {loss = {...}, accuracy = {...}}; NaN and infinities are gaps",
    keyed = true, type = "number[]|NdArray|table" },
  { "title", "above the curves", args.none, type = "string" },
  { "xlabel", "below the x axis", args.none, type = "string" },
  { "ylabel", "beside the y axis", args.none, type = "string" },
  { "x", "where the values are; 1, 2, 3, ...", args.none, type = "number[]|NdArray" },
  { "labels", "names of the rows' curves", args.none, type = "string[]" },
  { "width", "in columns, or pixels of a picture", args.none, type = "integer" },
  { "height", "of the curves in rows, or of a picture in pixels", args.none, type = "integer" },
  { "svg", "a file to save the picture as, instead of printing it", args.none, type = "string" },
}, function(o)
  if not o.svg then
    io.write(plot.text(o, terminal.look()))
    return
  end
  check(o)
  local plotsvg = require "jfl.tools.plot_svg"
  plotsvg.drawing(chart_of(o), o.width or WIDTH, o.height or HEIGHT):save("plot", o.svg)
end)

return plot
