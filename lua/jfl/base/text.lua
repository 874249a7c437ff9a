-- UTF-8 text: whether it is, how many columns of a terminal it takes, and its beginning.
local text = {}

-- Letters that take two columns, and marks that take none, as ranges of code points.
local WIDE = { 0x1100, 0x115f, 0x2e80, 0xa4cf, 0xac00, 0xd7a3, 0xf900, 0xfaff, 0xfe30, 0xfe6f,
  0xff00, 0xff60, 0xffe0, 0xffe6, 0x1f300, 0x1faff, 0x20000, 0x3fffd }
local NONE = { 0x300, 0x36f, 0x200b, 0x200f, 0xfe00, 0xfe0f }

local function is_in(ranges, code)
  for i = 1, #ranges, 2 do
    if code >= ranges[i] and code <= ranges[i + 1] then return true end
  end
  return false
end

-- The least code point that takes so many bytes.
local LEAST = { 0, 0x80, 0x800, 0x10000 }

-- The code point at byte i and its size, or nil where the bytes there are none.
local function decode(s, i)
  local first = s:byte(i)
  local size = first < 0x80 and 1 or first >= 0xc2 and (first < 0xe0 and 2
    or first < 0xf0 and 3 or first < 0xf5 and 4) or nil
  if size == 1 then return first, 1 end
  if not size then return nil end
  local code = first % 2 ^ (7 - size)
  for k = i + 1, i + size - 1 do
    local byte = s:byte(k)
    if not byte or byte < 0x80 or byte > 0xbf then return nil end
    code = code * 64 + byte % 64
  end
  local is_surrogate = code >= 0xd800 and code <= 0xdfff
  if code < LEAST[size] or code > 0x10ffff or is_surrogate then return nil end
  return code, size
end

--- Whether s is UTF-8, as files that other programs read must be.
function text.is_utf8(s)
  local i = 1
  while i <= #s do
    local code, size = decode(s, i)
    if not code then return false end
    i = i + size
  end
  return true
end

--- As much of s as fits so many columns, and how many it takes. Bytes that are no UTF-8 count one.
function text.cut(s, columns)
  local i, used = 1, 0
  while i <= #s do
    local code, size = decode(s, i)
    local width = code and (is_in(WIDE, code) and 2 or is_in(NONE, code) and 0) or 1
    if used + width > columns then break end
    i, used = i + (size or 1), used + width
  end
  return s:sub(1, i - 1), used
end

--- The columns that s takes.
function text.width(s)
  local _, used = text.cut(s, math.huge)
  return used
end

--- s on one line: control characters, which would move a terminal's cursor, become blanks.
function text.line(s) return (s:gsub("%c", " ")) end

return text
