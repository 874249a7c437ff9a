-- A strict reader of JSON (RFC 8259), for specs that look at what is written. read(text) gives
-- tables, strings, numbers, booleans, and json.null; it raises an error where the text is not
-- JSON.
local json = { null = {} }

local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\",
  ["/"] = "/" }
local WORDS = { ["true"] = true, ["false"] = false, null = json.null }

local function fail(text, at, what)
  error(("json: at byte %d must be %s, got '%s'"):format(at, what, text:sub(at, at + 9)), 0)
end

-- The position of the next byte that is not space.
local function skip(text, at) return text:match("^[ \n\r\t]*()", at) end

local function read_string(text, at)
  local parts = {}
  at = at + 1
  while true do
    local plain, next_at = text:match('^([^"\\%c]*)()', at)
    parts[#parts + 1] = plain
    local c = text:sub(next_at, next_at)
    if c == '"' then return table.concat(parts), next_at + 1 end
    local escape = text:sub(next_at + 1, next_at + 1)
    local code = text:match("^\\u(%x%x%x%x)", next_at)
    if c ~= "\\" or not (ESCAPES[escape] or code) then fail(text, next_at, "a string") end
    parts[#parts + 1] = ESCAPES[escape] or ("<%s>"):format(code)
    at = next_at + (code and 6 or 2)
  end
end

local function read_number(text, at)
  local whole, to = text:match("^(-?%d+)()", at)
  if not whole or whole:match("^-?0%d") then fail(text, at, "a value") end
  to = text:match("^%.%d+()", to) or to
  to = text:match("^[eE][+-]?%d+()", to) or to
  return tonumber(text:sub(at, to - 1)), to
end

local read_value

-- Elements up to `close`, each read by read_item(text, at, into), which gives where it ends.
local function read_list(text, at, close, read_item)
  local into = {}
  at = skip(text, at + 1)
  if text:sub(at, at) == close then return into, at + 1 end
  while true do
    at = skip(text, read_item(text, skip(text, at), into))
    local c = text:sub(at, at)
    if c == close then return into, at + 1 end
    if c ~= "," then fail(text, at, "',' or '" .. close .. "'") end
    at = at + 1
  end
end

local function read_element(text, at, into)
  into[#into + 1], at = read_value(text, at)
  return at
end

local function read_member(text, at, into)
  if text:sub(at, at) ~= '"' then fail(text, at, "a name") end
  local name
  name, at = read_string(text, at)
  at = skip(text, at)
  if text:sub(at, at) ~= ":" then fail(text, at, "':'") end
  into[name], at = read_value(text, skip(text, at + 1))
  return at
end

function read_value(text, at)
  local c = text:sub(at, at)
  if c == "{" then return read_list(text, at, "}", read_member) end
  if c == "[" then return read_list(text, at, "]", read_element) end
  if c == '"' then return read_string(text, at) end
  local word = text:match("^%l+", at)
  if word and WORDS[word] ~= nil then return WORDS[word], at + #word end
  return read_number(text, at)
end

function json.read(text)
  local value, at = read_value(text, skip(text, 1))
  at = skip(text, at)
  if at <= #text then fail(text, at, "the end") end
  return value
end

return json
