-- Plots as text: of the dots of braille letters, or of plain letters where the terminal has no
-- others.
local axis = require "jfl.tools.plot_axis"
local bit = require "bit"
local text = require "jfl.base.text"

local plottext = {}

-- The bits of a braille letter's dots, row by row. A plain letter has two dots (HALVES) or one.
local BRAILLE = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } }
local HALVES, WHOLE = { { 1 }, { 2 } }, { { 1 } }
local HALF = { "'", ".", ":" }
local MARKS = { "*", "+", "o", "x", "#", "@", "%", "=" }

-- Cyan, yellow, magenta, green, red, blue: they differ well on dark and on light.
local COLOURS = { 36, 33, 35, 32, 31, 34 }

local LINES = { [true] = { tick = "┤", side = "│", corner = "└", line = "─", mark = "┬" },
  [false] = { tick = "+", side = "|", corner = "+", line = "-", mark = "+" } }

local MOST_NAMED = 12          -- curves in the legend

local function letter(bits)
  local code = 0x2800 + bits
  return string.char(0xe2, 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
end

-- The element of a list for a number; after the last the first comes again.
local function pick(list, i) return list[(i - 1) % #list + 1] end

-- ---- dots ----

local function set(canvas, x, y, owner)
  local dots = canvas.dots
  local cell = math.floor(y / #dots) * canvas.width + math.floor(x / #dots[1])
  canvas.bits[cell] = bit.bor(canvas.bits[cell] or 0, dots[y % #dots + 1][x % #dots[1] + 1])
  canvas.owner[cell] = owner
end

local function line(canvas, x0, y0, x1, y1, owner)
  local steps = math.max(math.abs(x1 - x0), math.abs(y1 - y0), 1)
  for i = 0, steps do
    set(canvas, math.floor(x0 + (x1 - x0) * i / steps + 0.5),
      math.floor(y0 + (y1 - y0) * i / steps + 0.5), owner)
  end
end

local function draw(canvas, chart)
  local function place(point)
    return math.floor(axis.at(chart.x, point[1]) * (canvas.columns - 1) + 0.5),
      math.floor((1 - axis.at(chart.y, point[2])) * (canvas.rows - 1) + 0.5)
  end
  for owner, curve in ipairs(chart) do
    for _, run in ipairs(axis.runs(curve, canvas.columns)) do
      local x0, y0 = place(run[1])
      for _, point in ipairs(run) do
        local x1, y1 = place(point)
        line(canvas, x0, y0, x1, y1, owner)
        x0, y0 = x1, y1
      end
    end
  end
end

-- ---- letters ----

-- How curves are drawn: style.paint(s, owner) colours, style.glyph(bits, owner) gives a letter.
local function style_of(chart, how)
  local many = #chart > 1
  local colours = many and how.colour
  local style = { lines = LINES[how.utf8] }
  function style.paint(s, owner)
    return colours and ("\27[%dm%s\27[0m"):format(pick(COLOURS, owner), s) or s
  end
  if many and not colours then
    style.dots, style.glyph = WHOLE, function(_, owner) return pick(MARKS, owner) end
  elseif how.utf8 then
    style.dots, style.glyph = BRAILLE, letter
  else
    style.dots, style.glyph = HALVES, function(bits) return HALF[bits] end
  end
  function style.sample(owner)
    return many and not colours and pick(MARKS, owner) or style.lines.line:rep(2)
  end
  return style
end

local function row_text(canvas, row, style)
  local parts = {}
  for column = 0, canvas.width - 1 do
    local cell = row * canvas.width + column
    local owner = canvas.owner[cell]
    parts[#parts + 1] = owner and style.paint(style.glyph(canvas.bits[cell], owner), owner) or " "
  end
  return table.concat(parts)
end

-- Labels by the row or column, out of `cells`, at which they stand.
local function labels_at(a, ticks, cells, down)
  local at = {}
  for _, tick in ipairs(ticks) do
    local share = axis.at(a, tick[1])
    local cell = math.floor((down and 1 - share or share) * (cells - 1) + 0.5)
    at[cell] = at[cell] or tick[2]
  end
  return at
end

-- The line of the x axis, and the line of its labels, which are kept apart.
local function bottom(chart, width, lines)
  local marks, labels, used = {}, "", 0
  local ticks = axis.ticks(chart.x, math.max(math.floor(width / 10), 2), chart.counted)
  local at = labels_at(chart.x, ticks, width)
  for column = 0, width - 1 do
    local label = at[column]
    local first = label and math.min(math.max(column - math.floor(#label / 2), 0), width - #label)
    local room = label and first >= used and (first > used or used == 0)
    marks[column + 1] = room and lines.mark or lines.line
    if room then
      labels = labels .. (" "):rep(first - used) .. label
      used = first + #label
    end
  end
  return table.concat(marks), labels
end

local function centred(s, width)
  local short, used = text.cut(text.line(s), width)
  return (" "):rep(math.floor((width - used) / 2)) .. short
end

local function legend(chart, width, style)
  local out, line_now, used = {}, {}, 0
  for i, curve in ipairs(chart) do
    local name = i <= MOST_NAMED and text.cut(text.line(curve.name), width - 4)
      or ("and %d more"):format(#chart - MOST_NAMED)
    local needed = text.width(name) + 5
    if used + needed > width and used > 0 then
      out[#out + 1], line_now, used = table.concat(line_now, "  "), {}, 0
    end
    local is_name = i <= MOST_NAMED
    line_now[#line_now + 1] = is_name and style.paint(style.sample(i), i) .. " " .. name or name
    used = used + needed
    if not is_name then break end
  end
  out[#out + 1] = table.concat(line_now, "  ")
  return out
end

--- Draws a chart. how: the most columns it may take, the rows of its curves, utf8, and whether
-- colours may be used.
function plottext.text(chart, how)
  local style, ticks = style_of(chart, how), axis.ticks(chart.y, math.max(how.rows / 2, 3))
  local at, margin = labels_at(chart.y, ticks, how.rows, true), 0
  for _, label in pairs(at) do margin = math.max(margin, #label) end
  local width = math.max(how.columns - margin - 2, 8)
  local indent, out = (" "):rep(margin + 2), {}
  local canvas = { width = width, height = how.rows, dots = style.dots, bits = {}, owner = {},
    columns = width * #style.dots[1], rows = how.rows * #style.dots }
  draw(canvas, chart)
  if chart.title then out[1] = indent .. centred(chart.title, width) end
  if chart.ylabel then out[#out + 1] = text.cut(text.line(chart.ylabel), how.columns) end
  for row = 0, how.rows - 1 do
    local label = at[row] or ""
    out[#out + 1] = (" "):rep(margin - #label) .. label .. " "
      .. (at[row] and style.lines.tick or style.lines.side) .. row_text(canvas, row, style)
  end
  local marks, labels = bottom(chart, width, style.lines)
  out[#out + 1] = (" "):rep(margin + 1) .. style.lines.corner .. marks
  out[#out + 1] = indent .. labels
  if chart.xlabel then out[#out + 1] = indent .. centred(chart.xlabel, width) end
  if chart.named then
    for _, s in ipairs(legend(chart, width, style)) do out[#out + 1] = indent .. s end
  end
  for i, s in ipairs(out) do out[i] = s:gsub("%s+$", "") end
  return table.concat(out, "\n") .. "\n"
end

return plottext
