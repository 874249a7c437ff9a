-- Colours code for the site: HTML in which words of a language, comments, strings and numbers have
-- classes.
local highlight = {}

local ENTITY = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

--- The text with the characters that mean something in HTML written as entities.
function highlight.escaped(text) return (text:gsub('[&<>"]', ENTITY)) end

local function words(text)
  local set = {}
  for word in text:gmatch("%S+") do set[word] = true end
  return set
end

-- Patterns are tried in their order at each place; a name that is a word of the language is "key".
local LUA = {
  words = words("and break do else elseif end false for function goto if in local nil not or "
    .. "repeat return then true until while"),
  { "comment", "^%-%-%[(=*)%[.-%]%1%]" }, { "result", "^%-%->[^\n]*" },
  { "comment", "^%-%-[^\n]*" }, { "string", "^%[(=*)%[.-%]%1%]" },
  { "number", "^0[xX]%x+" }, { "number", "^%d+%.?%d*[eE][+-]?%d+" }, { "number", "^%d+%.?%d*" },
  { "name", "^flow[%w_.]*[%w_]" }, { "name", "^[%a_][%w_]*" },
}

local C = {
  words = words("break case char const continue default do double else enum extern float for goto "
    .. "if int int32_t int64_t long return short signed sizeof size_t static struct switch typedef "
    .. "uint32_t union unsigned void volatile while NULL"),
  { "comment", "^/%*.-%*/" }, { "comment", "^//[^\n]*" }, { "key", "^#%s*%l+" },
  { "number", "^0[xX]%x+" }, { "number", "^%d+%.?%d*f?" }, { "name", "^[%a_][%w_]*" },
}

local PYTHON = {
  words = words("and as assert break class continue def del elif else except finally for from if "
    .. "import in is lambda not or pass raise return try while with yield None True False"),
  { "comment", "^#[^\n]*" }, { "number", "^%d+%.?%d*[eE][+-]?%d+" }, { "number", "^%d+%.?%d*" },
  { "name", "^[%a_][%w_]*" },
}

local LANGUAGES = { lua = LUA, c = C, python = PYTHON }

-- The end of a string that begins at `at` with a quote, on the same line.
local function string_end(code, at)
  local quote, i = code:sub(at, at), at + 1
  while i <= #code do
    local c = code:sub(i, i)
    if c == "\n" then return nil end
    if c == quote then return i end
    i = i + (c == "\\" and 2 or 1)
  end
end

local function token(language, code, at)
  if code:find("^[\"']", at) then return "string", string_end(code, at) end
  for _, row in ipairs(language) do
    local _, last = code:find(row[2], at)
    if last then
      local kind = row[1]
      if language.words[code:sub(at, last)] then kind = "key" end
      return kind, last
    end
  end
end

--- The HTML of code in a language. link: gives the address that a name of the API leads to, or nil.
function highlight.html(language_name, code, link)
  local language = LANGUAGES[language_name]
  if not language then return highlight.escaped(code) end
  local out, at = {}, 1
  while at <= #code do
    local kind, last = token(language, code, at)
    local text = highlight.escaped(code:sub(at, last or at))
    local address = kind == "name" and link(code:sub(at, last))
    if address then
      text = ('<a href="%s">%s</a>'):format(address, text)
    elseif last and kind ~= "name" then
      text = ('<span class="%s">%s</span>'):format(kind, text)
    end
    out[#out + 1] = text
    at = (last or at) + 1
  end
  return table.concat(out)
end

return highlight
