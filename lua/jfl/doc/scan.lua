-- Reads the beginning of a Lua statement and says what its end is within: a string, or the options
-- of a call.

-- The position after the token at `at`; nil if it is a string or comment that does not end. A token
-- is one character long unless it is a string, a comment or a name.
local function after(text, at)
  local level = text:match("^%-?%-?%[(=*)%[", at)
  local comment = text:sub(at, at + 1) == "--"
  if level and (comment or text:sub(at, at) == "[") then
    local _, last = text:find("]" .. level .. "]", at, true)
    return last and last + 1
  end
  if comment then return text:find("\n", at, true) end
  local quote = text:match("^[\"']", at)
  if not quote then return (text:match("^[%w_.:]+()", at)) or at + 1 end
  repeat
    at = text:find("[\\\n" .. quote .. "]", at + 1)
    local c = at and text:sub(at, at)
    if c == "\\" then at = at + 1 end
  until c ~= "\\"
  return at and at + 1
end

local CLOSES = { [")"] = true, ["}"] = true, ["]"] = true }
local OPENS = { ["("] = true, ["{"] = true, ["["] = true }

-- Notes an open bracket after `name`; a name directly before it is called.
local function open(stack, bracket, name)
  stack[#stack + 1] = { bracket = bracket, call = name:match("^[%a_][%w_.:]*$"), given = {},
    at_key = true }
end

-- Reads one token of the text; `before` is the token before it.
local function read(stack, token, before)
  local top = stack[#stack]
  if OPENS[token] then return open(stack, token, before) end
  if CLOSES[token] then
    stack[#stack] = nil
  elseif top then
    if token == "=" and before:match("^[%a_]") then top.given[before] = true end
    top.at_key = token == "," or token == ";"
  end
end

--- Describes the end of text: { quoted = whether it is in a string or comment, call = the path of
-- the function whose options it is in, or nil, given = the set of the options before it,
-- inside = the path of the function among whose arguments it is, or nil }.
return function(text)
  local stack, at, before = {}, 1, ""
  while at <= #text do
    local next_at = after(text, at)
    if not next_at then return { quoted = true } end
    local token = text:sub(at, next_at - 1)
    if token:match("%S") and token:sub(1, 2) ~= "--" then
      read(stack, token, before)
      before = token
    end
    at = next_at
  end
  local top, below = stack[#stack], stack[#stack - 1]
  local in_options = top and top.bracket == "{" and top.at_key
  local call = in_options and (top.call or below and below.bracket == "(" and below.call)
  local inside = top and top.bracket == "(" and top.call
  return { call = call or nil, given = top and top.given, inside = inside or nil }
end
