-- Plots as SVG pictures.
local axis = require "jfl.tools.plot_axis"
local svg = require "jfl.tools.svg"
local text = require "jfl.base.text"

local plotsvg = {}

-- Okabe and Ito's colours, which the colour-blind tell apart; the darkest on white first.
local COLOURS = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000" }
-- After the last colour they are used again, with dashed lines.
local DASHES = { "", ' stroke-dasharray="7 4"', ' stroke-dasharray="2 3"' }

local MOST_NAMED = 24
local ROUND = "%.2f"

local function stroke(i)
  local colour = COLOURS[(i - 1) % #COLOURS + 1]
  local dash = DASHES[math.floor((i - 1) / #COLOURS) % #DASHES + 1]
  return ('stroke="%s"%s'):format(colour, dash), colour
end

-- The places of the curves' names: rows of { x, y, name, number } from `top` down; and where the
-- next row would be.
local function legend_of(chart, left, right, top)
  local list, x, y = {}, left, top
  if not chart.named then return list, top end
  for i, curve in ipairs(chart) do
    local name = i <= MOST_NAMED and curve.name or ("and %d more"):format(#chart - MOST_NAMED)
    local size = 30 + text.width(name) * svg.letter
    if x > left and x + size > right then x, y = left, y + 18 end
    list[i] = { x, y, name, i <= MOST_NAMED and i }
    x = x + size + 16
    if i > MOST_NAMED then break end
  end
  return list, y + 18
end

-- The edges of the area for curves, inside the labels.
local function box_of(chart, width, height, y_ticks)
  local widest = 0
  for _, tick in ipairs(y_ticks) do widest = math.max(widest, #tick[2]) end
  local box = { left = 16 + widest * svg.letter + (chart.ylabel and 20 or 0), right = width - 28,
    top = chart.title and 40 or 16, bottom = height - (chart.xlabel and 50 or 30) }
  box.names, box.top = legend_of(chart, box.left, box.right, box.top)
  return box
end

local function draw_axes(out, chart, box, y_ticks)
  for _, tick in ipairs(y_ticks) do
    local y = box.y(tick[1])
    out:add('<path d="M%.1f %.1fH%.1f" stroke="#e4e4e4"/>', box.left, y, box.right)
    out:label(box.left - 8, y + 4, "end", tick[2])
  end
  local most = math.max((box.right - box.left) / 80, 2)
  for _, tick in ipairs(axis.ticks(chart.x, most, chart.counted)) do
    local x = box.x(tick[1])
    out:add('<path d="M%.1f %.1fv5" stroke="#808080"/>', x, box.bottom)
    out:label(x, box.bottom + 18, "middle", tick[2])
  end
  out:add('<path d="M%.1f %.1fV%.1fH%.1f" stroke="#808080" fill="none"/>', box.left, box.top,
    box.bottom, box.right)
end

local function draw_text(out, chart, box, height)
  local middle = (box.left + box.right) / 2
  if chart.title then out:heading(middle, chart.title) end
  if chart.xlabel then out:label(middle, height - 12, "middle", chart.xlabel) end
  if chart.ylabel then
    local y = (box.top + box.bottom) / 2
    out:label(16, y, "middle", chart.ylabel, (' transform="rotate(-90 16 %.1f)"'):format(y))
  end
  for _, entry in ipairs(box.names) do
    local x, y, name, i = unpack(entry)
    if i then out:add('<path d="M%.1f %.1fh22" stroke-width="2.5" %s/>', x, y - 4, (stroke(i))) end
    out:label(i and x + 28 or x, y, "start", name)
  end
end

local function draw_curve(out, curve, i, box)
  local look, colour = stroke(i)
  local parts = {}
  for _, run in ipairs(axis.runs(curve, box.right - box.left)) do
    if #run == 1 then
      out:add('<circle cx="%.2f" cy="%.2f" r="2.5" fill="%s"/>', box.x(run[1][1]),
        box.y(run[1][2]), colour)
    else
      for k, point in ipairs(run) do
        parts[#parts + 1] = (k == 1 and "M" or "L") .. ROUND:format(box.x(point[1])) .. " "
          .. ROUND:format(box.y(point[2]))
      end
    end
  end
  if #parts == 0 then return end
  out:add('<path d="%s" fill="none" stroke-width="1.75" stroke-linejoin="round" %s/>',
    table.concat(parts), look)
end

--- The drawing of a chart, of the given size in pixels.
function plotsvg.drawing(chart, width, height)
  local y_axis = axis.widened(chart.y, 0.04)
  local y_ticks = axis.ticks(y_axis, math.max(height / 50, 2))
  local box = box_of(chart, width, height, y_ticks)
  function box.x(v) return box.left + axis.at(chart.x, v) * (box.right - box.left) end
  function box.y(v) return box.bottom - axis.at(y_axis, v) * (box.bottom - box.top) end
  local out = svg.new(width, height, chart.title)
  draw_axes(out, chart, box, y_ticks)
  for i, curve in ipairs(chart) do draw_curve(out, curve, i, box) end
  draw_text(out, chart, box, height)
  return out
end

return plotsvg
