-- What a terminal shows at the end of a session, from the bytes that it got, as a drawing.
local session = {}

local CELL, LINE, SIZE, EDGE = 8.4, 19, 14, 16       -- pixels
local BAR = 30                                       -- of the window
local GROUND, TEXT, FRAME = "#14181d", "#d9dee5", "#2e353f"
local COLOURS = { [31] = "#ff8f8f", [32] = "#8fd19e", [33] = "#f0b27a", [34] = "#79b8ff",
  [35] = "#d6a0e0", [36] = "#78c8d6" }

-- ---- the terminal ----

local Screen = {}
Screen.__index = Screen

function Screen:put(letter)
  local row = self.rows[self.y] or {}
  self.rows[self.y] = row
  self.x = self.x + 1
  row[self.x] = { letter = letter, colour = self.colour, bold = self.bold }
end

-- Colours, columns and erased ends of lines; what else a terminal is told changes no letter.
function Screen:control(numbers, what)
  local first = tonumber(numbers:match "^%d+") or 0
  if what == "m" then
    for number in (numbers == "" and "0" or numbers):gmatch "%d+" do
      number = tonumber(number)
      if number == 0 then self.colour, self.bold = nil, nil
      elseif number == 1 then self.bold = true
      else self.colour = COLOURS[number] or self.colour
      end
    end
  elseif what == "G" then self.x = math.max(first, 1) - 1
  elseif what == "K" and self.rows[self.y] then
    for x = self.x + 1, #self.rows[self.y] do self.rows[self.y][x] = nil end
  end
end

local function read(bytes)
  local screen = setmetatable({ rows = {}, x = 0, y = 1 }, Screen)
  local at = 1
  while at <= #bytes do
    local _, last, numbers, what = bytes:find("^\27%[%??([%d;]*)(%a)", at)
    if last then screen:control(numbers, what)
    else
      _, last = bytes:find("^[%z\1-\127\194-\244][\128-\191]*", at)
      last = last or at
      local letter = bytes:sub(at, last)
      if letter == "\r" then screen.x = 0
      elseif letter == "\n" then screen.x, screen.y = 0, screen.y + 1
      elseif letter == "\b" then screen.x = math.max(screen.x - 1, 0)
      elseif letter:byte() >= 32 then screen:put(letter)
      end
    end
    at = last + 1
  end
  return screen
end

local function text_of(row)
  local letters = {}
  for x = 1, table.maxn(row) do letters[x] = row[x] and row[x].letter or " " end
  return (table.concat(letters):gsub("%s+$", ""))
end

--- The lines of cells { letter, colour, bold } of a session that `script` has recorded, from its
-- first prompt to its end, without bars of progress and empty lines.
function session.rows(bytes)
  local screen, rows, begun = read(bytes), {}, false
  for y = 1, table.maxn(screen.rows) do
    local row = screen.rows[y] or {}
    local text = text_of(row)
    begun = begun or text:find "^> %S" ~= nil
    local ends = text == ">" or text:find "^> exit" or text:find "^Script done"
    if begun and text ~= "" and not text:find "^epoch %d+/%d+: %[" and not ends then
      rows[#rows + 1] = row
    end
  end
  return rows
end

-- ---- the drawing ----

local ENTITY = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }

local function number_of(letter)
  local a, b, c = letter:byte(1, 3)
  return c and (a % 16 * 64 + b % 64) * 64 + c % 64 or a
end

-- The dots of a letter of braille, by its bits, as { column, row }.
local DOTS = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 0 }, { 1, 1 }, { 1, 2 }, { 0, 3 }, { 1, 3 } }

-- Lines of a letter that draws boxes, from the middle of its cell: left, right, up, down.
local BOXES = { [0x2500] = "lr", [0x2502] = "ud", [0x2514] = "ru", [0x2524] = "lud",
  [0x252c] = "lrd", [0x2534] = "lru", [0x251c] = "rud" }

local function add_dots(out, code, x, y)
  for i, dot in ipairs(DOTS) do
    if math.floor(code / 2 ^ (i - 1)) % 2 == 1 then
      out[#out + 1] = ("M%.1f %.1fh0"):format(x + (dot[1] + 0.5) * CELL / 2,
        y + (dot[2] + 0.5) * LINE / 4)
    end
  end
end

local function add_box(out, sides, x, y)
  local middle, centre = x + CELL / 2, y + LINE / 2
  local ends = { l = { x, centre }, r = { x + CELL, centre }, u = { middle, y },
    d = { middle, y + LINE } }
  for side in sides:gmatch "." do
    out[#out + 1] = ("M%.1f %.1fL%.1f %.1f"):format(middle, centre, unpack(ends[side]))
  end
end

-- A row as parts of one kind and colour: texts, dots of curves and lines of boxes.
local function add_row(drawing, row, y)
  local run
  local function finish()
    if run and run.text:find "%S" then drawing.texts[#drawing.texts + 1] = run end
    run = nil
  end
  for i = 1, table.maxn(row) do
    local cell = row[i] or { letter = " " }
    local x, code = EDGE + (i - 1) * CELL, number_of(cell.letter)
    local colour = cell.colour or TEXT
    if code >= 0x2800 and code < 0x2900 then
      finish()
      drawing.dots[colour] = drawing.dots[colour] or {}
      add_dots(drawing.dots[colour], code - 0x2800, x, y)
    elseif BOXES[code] then
      finish()
      drawing.lines[colour] = drawing.lines[colour] or {}
      add_box(drawing.lines[colour], BOXES[code], x, y)
    elseif run and run.colour == colour and run.bold == cell.bold then
      run.text, run.n = run.text .. cell.letter, run.n + 1
    else
      finish()
      run = { text = cell.letter, colour = colour, bold = cell.bold, x = x, y = y, n = 1 }
    end
  end
  finish()
end

local function sorted(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

-- A text in as many columns as it has letters, whatever the font of who looks at it.
local function text_element(run)
  local spaces = #run.text:match "^ *"
  local text = run.text:sub(spaces + 1):gsub(" +$", "")
  local n = run.n - spaces - #run.text:match " *$"
  return ('<text x="%.1f" y="%.1f" textLength="%.1f"%s%s>%s</text>'):format(run.x + spaces * CELL,
    run.y + LINE * 0.72, n * CELL, run.colour ~= TEXT and (' fill="%s"'):format(run.colour) or "",
    run.bold and ' font-weight="bold"' or "", (text:gsub("[&<>]", ENTITY)))
end

--- The rows in a window, as SVG.
function session.svg(rows, columns)
  local drawing = { texts = {}, dots = {}, lines = {} }
  for i, row in ipairs(rows) do add_row(drawing, row, BAR + EDGE / 2 + (i - 1) * LINE) end
  local width, height = columns * CELL + 2 * EDGE, BAR + #rows * LINE + 1.5 * EDGE
  local out = { ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" '
    .. 'height="%.0f" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
    .. 'font-size="%d" xml:space="preserve" fill="%s">'):format(width, height, width, height, SIZE,
      TEXT),
    ('<rect x="0.5" y="0.5" width="%.0f" height="%.0f" rx="8" fill="%s" stroke="%s"/>'):format(
      width - 1, height - 1, GROUND, FRAME) }
  for i, colour in ipairs { "#e0655c", "#d9a94a", "#62a75c" } do
    out[#out + 1] = ('<circle cx="%d" cy="15" r="5" fill="%s"/>'):format(EDGE + 18 * i - 12, colour)
  end
  for _, run in ipairs(drawing.texts) do out[#out + 1] = text_element(run) end
  for kind, pen in pairs { dots = 2.2, lines = 1 } do
    for _, colour in ipairs(sorted(drawing[kind])) do
      out[#out + 1] = ('<path d="%s" fill="none" stroke="%s" stroke-width="%g" '
        .. 'stroke-linecap="round"/>'):format(table.concat(drawing[kind][colour]), colour, pen)
    end
  end
  out[#out + 1] = "</svg>\n"
  return table.concat(out, "\n")
end

return session
