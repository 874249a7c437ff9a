-- Tells code from what is none: comments, strings, and lines for the preprocessor.
local code = {}

local LANGUAGES = { c = "c", h = "c", cu = "c", cuh = "c", lua = "lua" }

--- "c" for sources in C and CUDA, "lua", or nil.
function code.language(path) return LANGUAGES[path:match("%.(%w+)$")] end

-- What begins where, and the pattern of the whole; tried in this order.
local C = { starts = "[/\"'#]", { "comment", "^/%*.-%*/" }, { "comment", "^//[^\n]*" } }
local LUA = { starts = "[-\"'%[]", { "comment", "^%-%-%[(=*)%[.-%]%1%]" },
  { "comment", "^%-%-[^\n]*" }, { "string", "^%[(=*)%[.-%]%1%]" } }

-- The last character of a string that begins with a quote, or of its line.
local function string_end(text, at)
  local quote, i = text:sub(at, at), at + 1
  while true do
    i = text:find("[\\\n" .. quote .. "]", i)
    if not i then return #text end
    local c = text:sub(i, i)
    if c ~= "\\" then return c == quote and i or i - 1 end
    i = i + 2
  end
end

-- The end of a line for the preprocessor, with those that go on from it.
local function directive_end(text, at)
  local i = text:find("\n", at, true)
  while i and text:sub(i - 1, i - 1) == "\\" do i = text:find("\n", i + 1, true) end
  return i and i - 1 or #text
end

-- The kind and the end of what begins at `at` and is no code, or nil.
local function other(rows, text, at)
  local c = text:sub(at, at)
  if c == "#" then
    local i = at - 1
    while text:find("^[ \t]", i) do i = i - 1 end
    if i > 0 and text:sub(i, i) ~= "\n" then return nil end
    return "comment", directive_end(text, at)
  end
  if c == '"' or c == "'" then return "string", string_end(text, at) end
  for _, row in ipairs(rows) do
    local _, last = text:find(row[2], at)
    if last then return row[1], last end
  end
end

-- Comments become spaces, and what a string holds letters, so that it stays an operand.
local function hidden(kind, text)
  if kind == "comment" then return (text:gsub("[^\n]", " ")) end
  if #text < 2 then return text end
  return text:sub(1, 1) .. text:sub(2, -2):gsub("[^\n]", "s") .. text:sub(-1)
end

--- The lines of a source, each as { text =, code = }: the code has as many bytes as the text.
function code.lines(text, language)
  local rows = language == "lua" and LUA or C
  local parts, at, from = {}, 1, 1
  while true do
    at = text:find(rows.starts, at)
    if not at then break end
    local kind, last = other(rows, text, at)
    if kind then
      parts[#parts + 1] = text:sub(from, at - 1) .. hidden(kind, text:sub(at, last))
      from = last + 1
    end
    at = (last or at) + 1
  end
  local masked = table.concat(parts) .. text:sub(from)
  local lines, next_code = {}, masked:gmatch("([^\n]*)\n?")
  for line in text:gmatch("([^\n]*)\n?") do
    lines[#lines + 1] = { text = line, code = next_code() }
  end
  lines[#lines] = nil                     -- the empty match at the end
  return lines
end

return code
