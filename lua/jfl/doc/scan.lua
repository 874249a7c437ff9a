-- Reads the beginning of a Lua statement to tell where its end is: in a string, in whose options.

-- The first place at or after `at` behind what cannot hold brackets, or nil if it does not end. A
-- place is one character long unless a string, a comment or a name is there.
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

-- Notes that a bracket opens behind `name`, which is called if it is one.
local function open(stack, bracket, name)
  stack[#stack + 1] = { bracket = bracket, call = name:match("^[%a_][%w_.:]*$"), given = {},
    at_key = true }
end

-- One word or sign of the text; `before` is the one before it.
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

--- Tells where the end of text is: { quoted = in a string or comment, call = the path of what it
-- begins an option of, or nil, given = the set of the keys before }.
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
  return { call = call or nil, given = top and top.given }
end
