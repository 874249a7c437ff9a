-- Drawings as SVG files, which browsers and editors show.
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local bit = require "bit"
local core = require "jfl.core"
local text = require "jfl.base.text"

local svg = {}

svg.letter = 6.6               -- pixels of a letter of 12, about

local ENTITY = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
local function escaped(s) return (text.line(s):gsub('[&<>"]', ENTITY)) end

--- Fails unless each option of those named is UTF-8 text, where it is given at all.
function svg.check_texts(who, o, names)
  for _, name in ipairs(names) do
    local s = o[name]
    if s ~= nil and not text.is_utf8(args.expect(who, name, s, "string")) then
      core.fail("%s: %s must be UTF-8 text", who, name)
    end
  end
end

--- The label of item i in a list of strings or numbers, or nil where there is none.
function svg.label_of(who, what, list, i)
  if list == nil then return nil end
  local s = core.type(list) == "array" and list:get(i) or list[i]
  if s ~= nil and not text.is_utf8(tostring(args.expect(who, what, s, "string or number"))) then
    core.fail("%s: %s must be UTF-8 text", who, what)
  end
  return s and tostring(s)
end

local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

--- Bytes as base64, in which SVG holds pictures.
function svg.base64(bytes)
  local out = {}
  for i = 1, #bytes, 3 do
    local a, b, c = bytes:byte(i, i + 2)
    local n = a * 65536 + (b or 0) * 256 + (c or 0)
    for k = 0, 3 do
      local six = bit.band(bit.rshift(n, 18 - 6 * k), 63)
      out[#out + 1] = k > (c and 3 or b and 2 or 1) and "=" or LETTERS:sub(six + 1, six + 1)
    end
  end
  return table.concat(out)
end

local Drawing = {}
Drawing.__index = Drawing

--- Adds elements, formatted.
function Drawing:add(fmt, ...) self[#self + 1] = fmt:format(...) end

--- Adds a text. anchor: "start", "middle" or "end"; more: further attributes.
function Drawing:label(x, y, anchor, s, more)
  self:add('<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>', x, y, anchor, more or "",
    escaped(s))
end

--- Adds the title of the whole, above it.
function Drawing:heading(middle, s)
  self:label(middle, 24, "middle", s, ' font-size="15" font-weight="bold"')
end

--- The text of the file.
function Drawing:text() return table.concat(self, "\n") .. "\n</svg>\n" end

--- Writes it to a file, for the function `who`.
function Drawing:save(who, path)
  local whole = self:text()
  archive.replace(who, path, function(write) write(whole) end)
end

--- A white drawing of so many pixels. title: what readers of the screen are told, or nil.
function svg.new(width, height, title)
  local drawing = setmetatable({}, Drawing)
  drawing:add('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
    .. 'role="img" font-family="sans-serif" font-size="12" fill="#333333">', width, height, width,
    height)
  if title then drawing:add("<title>%s</title>", escaped(title)) end
  drawing:add('<rect width="%d" height="%d" fill="#ffffff"/>', width, height)
  return drawing
end

return svg
