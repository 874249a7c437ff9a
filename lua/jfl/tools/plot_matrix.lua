-- flow.plot_matrix: a table of numbers, in the terminal or as an SVG file with coloured cells.
---@flow plot_matrix
local args = require "jfl.base.args"
local core = require "jfl.core"
local svg = require "jfl.tools.svg"
local text = require "jfl.base.text"

local plotmatrix = {}

local WHO = "plot_matrix"
local CELL, LINE = 44, 18        -- pixels of a cell, at least, and of a line of text
local MOST = 64                  -- rows and columns
local DARK = { 0x00, 0x72, 0xb2 }    -- the colour of the largest number; the smallest is white

local function rows_of(values)
  if core.type(values) == "array" then
    if #values.shape ~= 2 then
      core.fail("%s: values must have two axes, got an NdArray %s", WHO,
        args.shape_text(values.shape))
    end
    return values:totable()
  end
  args.expect(WHO, "values", values, "table")
  for i = 1, #values do
    local what, row = ("values: row %d"):format(i), values[i]
    args.check(#args.expect(WHO, what, row, "table") == #values[1], "%s: %s must have %d numbers "
      .. "as the first has, got %d", WHO, what, #values[1], #row)
    for k = 1, #row do args.expect(WHO, what, row[k], "number") end
  end
  return values
end

-- Numbers as they are shown: whole ones as they are, others with as many digits as fit.
local function shown(v) return v % 1 == 0 and ("%.0f"):format(v) or ("%.3g"):format(v) end

-- What both forms show: the texts of cells and of what stands beside them, and the extremes.
local function table_of(o)
  local rows = rows_of(o.values)
  local height, width = #rows, #rows > 0 and #rows[1] or 0
  args.check(width ~= 0 and width <= MOST and height <= MOST, "%s: values must have 1 to %d rows "
    .. "and columns, got (%d, %d)", WHO, MOST, height, width)
  local t = { height = height, width = width, values = rows, cells = {}, rows = {}, columns = {},
    low = math.huge, high = -math.huge }
  for y = 1, height do
    t.rows[y] = svg.label_of(WHO, "rows", o.rows or o.labels, y) or ""
    t.cells[y] = {}
    for x = 1, width do
      local v = rows[y][x]
      t.cells[y][x] = shown(v)
      if v - v == 0 then t.low, t.high = math.min(t.low, v), math.max(t.high, v) end
    end
  end
  for x = 1, width do
    t.columns[x] = svg.label_of(WHO, "columns", o.columns or o.labels, x) or ""
  end
  return t
end

local function widest(list)
  local most = 0
  for _, s in ipairs(list) do most = math.max(most, text.width(s)) end
  return most
end

-- ---- the terminal ----

--- The text that plot_matrix prints.
function plotmatrix.text(o)
  local t, out = table_of(o), { o.title }
  local margin = widest(t.rows)
  local function add(head, list, sizes)
    local parts = { head .. (" "):rep(margin - text.width(head)) }
    for x = 1, t.width do
      parts[x + 1] = (" "):rep(sizes[x] - text.width(list[x])) .. text.line(list[x])
    end
    out[#out + 1] = table.concat(parts, "  "):gsub("%s+$", "")
  end
  local sizes = {}
  for x = 1, t.width do
    sizes[x] = text.width(t.columns[x])
    for y = 1, t.height do sizes[x] = math.max(sizes[x], #t.cells[y][x]) end
  end
  if widest(t.columns) > 0 then add("", t.columns, sizes) end
  for y = 1, t.height do add(text.line(t.rows[y]), t.cells[y], sizes) end
  return table.concat(out, "\n") .. "\n"
end

-- ---- the file ----

-- The colour of a cell, and whether dark text can be read on it.
local function colour_of(t, v)
  if v - v ~= 0 then return "#eeeeee", true end
  local share = t.high > t.low and (v - t.low) / (t.high - t.low) or 0
  local parts = {}
  for i, dark in ipairs(DARK) do parts[i] = math.floor(255 + (dark - 255) * share + 0.5) end
  return ("#%02x%02x%02x"):format(unpack(parts)), share < 0.55
end

-- Where the cells are. Names of columns that are wider than a cell stand upright.
local function frame_of(t, o)
  local names, cell = widest(t.columns) * svg.letter, CELL
  for _, row in ipairs(t.cells) do cell = math.max(cell, widest(row) * svg.letter + 10) end
  local f = { cell = cell, upright = names + 6 > cell }
  f.left = 12 + (o.ylabel and 20 or 0) + widest(t.rows) * svg.letter + 8
  f.top = (o.title and 40 or 10) + (o.xlabel and LINE + 4 or 0)
    + (names == 0 and 0 or f.upright and names + 10 or LINE)
  f.right, f.bottom = f.left + t.width * cell, f.top + t.height * cell
  return f
end

local function draw_names(out, t, f)
  for y, name in ipairs(t.rows) do
    out:label(f.left - 8, f.top + (y - 0.5) * f.cell + 4, "end", name)
  end
  for x, name in ipairs(t.columns) do
    local at, base = f.left + (x - 0.5) * f.cell, f.top - 7
    if f.upright then
      out:label(at + 4, base, "start", name, (' transform="rotate(-90 %.1f %.1f)"'):format(at + 4,
        base))
    else
      out:label(at, base, "middle", name)
    end
  end
end

local function drawing(o)
  local t = table_of(o)
  local f = frame_of(t, o)
  local out = svg.new(f.right + 16, f.bottom + 14, o.title)
  if o.title then out:heading((f.right + 16) / 2, o.title) end
  for y = 1, t.height do
    for x = 1, t.width do
      local left, top = f.left + (x - 1) * f.cell, f.top + (y - 1) * f.cell
      local fill, light = colour_of(t, t.values[y][x])
      out:add('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" stroke="#ffffff"/>',
        left, top, f.cell, f.cell, fill)
      out:label(left + f.cell / 2, top + f.cell / 2 + 4, "middle", t.cells[y][x],
        light and "" or ' fill="#ffffff"')
    end
  end
  draw_names(out, t, f)
  local bold = ' font-weight="bold"'
  if o.xlabel then
    out:label((f.left + f.right) / 2, (o.title and 40 or 10) + 14, "middle", o.xlabel, bold)
  end
  if o.ylabel then
    local y = (f.top + f.bottom) / 2
    out:label(20, y, "middle", o.ylabel, (' transform="rotate(-90 20 %.1f)"'):format(y) .. bold)
  end
  return out
end

--- Shows a table of numbers: flow.plot_matrix(counts, { labels = names, svg = "confusion.svg" }).
plotmatrix.plot_matrix = args.define(WHO,
  "Shows a table of numbers, in the terminal or as a file whose cells are darker where they are "
    .. "larger.", {
    { "values", "an NdArray of two axes or a list of rows", type = "NdArray|number[][]" },
    { "labels", "names of both rows and columns", args.none, type = "(string|number)[]" },
    { "rows", "names of the rows", args.none, type = "(string|number)[]" },
    { "columns", "names of the columns", args.none, type = "(string|number)[]" },
    { "title", "above it", args.none, type = "string" },
    { "xlabel", "what the columns are", args.none, type = "string" },
    { "ylabel", "what the rows are", args.none, type = "string" },
    { "svg", "a file to save it as, instead of printing it", args.none, type = "string" },
  }, function(o)
    svg.check_texts(WHO, o, { "title", "xlabel", "ylabel", "svg" })
    for _, name in ipairs { "labels", "rows", "columns" } do
      if o[name] ~= nil then args.expect(WHO, name, o[name], "table") end
    end
    if o.svg then return drawing(o):save(WHO, o.svg) end
    io.write(plotmatrix.text(o))
  end)

return plotmatrix
