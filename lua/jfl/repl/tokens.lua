-- Splits Lua text into tokens, and finds where expressions and blocks end.
local tokens = {}

local KEYWORDS = {}
for word in ("and break do else elseif end false for function if in local nil not or repeat return "
  .. "then true until while"):gmatch("%a+") do
  KEYWORDS[word] = true
end

-- The position after a long string or comment whose opening bracket is at `at`; nil where there is
-- no such bracket, and false where it does not end.
local function after_long(text, at)
  local level = text:match("^%[(=*)%[", at)
  if not level then return nil end
  local _, last = text:find("]" .. level .. "]", at, true)
  return last and last + 1 or false
end

-- The position after a string that opens at `at`, or false where it does not end.
local function after_quoted(text, at)
  local quote = text:sub(at, at)
  repeat
    at = text:find("[\\\n" .. quote .. "]", at + 1)
    local c = at and text:sub(at, at)
    if c == "\\" then at = at + 1 end
  until c ~= "\\"
  return at and text:sub(at, at) == quote and at + 1 or false
end

local function after_comment(text, at)
  local long = after_long(text, at + 2)
  if long ~= nil then return long end
  return text:find("\n", at, true) or #text + 1
end

local function after_number(text, at)
  local sign = text:find("^0[xX]", at) and "[pP]" or "[eE]"
  repeat
    at = text:match("^[%w_.]+()", at) or at
    local more = text:find("^[+-]", at) and text:find("^" .. sign, at - 1)
    if more then at = at + 1 end
  until not more
  return at
end

-- The kind of the token at `at` and the position after it, or false where it does not end.
local function read(text, at)
  local name = text:match("^[%a_\128-\255][%w_\128-\255]*", at)
  if name then return KEYWORDS[name] and "keyword" or "name", at + #name end
  if text:find("^%.?%d", at) then return "number", after_number(text, at) end
  if text:find("^%-%-", at) then return "comment", after_comment(text, at) end
  if text:find("^[\"']", at) then return "string", after_quoted(text, at) end
  local long = after_long(text, at)
  if long ~= nil then return "string", long end
  if text:find("^%.%.%.", at) then return "symbol", at + 3 end
  local double = text:find("^[=~<>]=", at) or text:find("^%.%.", at) or text:find("^::", at)
  return "symbol", at + (double and 2 or 1)
end

--- The tokens of a text but for comments, each as { kind =, text =, first =, last = }: the kind is
-- "name", "keyword", "number", "string" or "symbol", the last two are positions. A string or a long
-- comment that does not end is left out with what follows.
function tokens.of(text)
  local list, at = {}, 1
  while true do
    at = text:find("%S", at)
    if not at then return list end
    local kind, after = read(text, at)
    if not after then return list end
    if kind ~= "comment" then
      list[#list + 1] = { kind = kind, text = text:sub(at, after - 1), first = at,
        last = after - 1 }
    end
    at = after
  end
end

local BLOCK = { ["function"] = 1, ["do"] = 1, ["if"] = 1, ["repeat"] = 1, ["end"] = -1,
  ["until"] = -1 }
local BRACKET = { ["("] = 1, ["{"] = 1, ["["] = 1, [")"] = -1, ["}"] = -1, ["]"] = -1 }

--- By how much a token changes the number of blocks that are open.
function tokens.block(token) return token.kind == "keyword" and BLOCK[token.text] or 0 end

--- By how much a token changes the depth of brackets.
function tokens.bracket(token) return token.kind == "symbol" and BRACKET[token.text] or 0 end

-- The index after the block or bracket that token i opens; change tells what opens and closes it.
local function after_closing(list, i, change)
  local depth = 0
  while list[i] do
    depth, i = depth + change(list[i]), i + 1
    if depth == 0 then break end
  end
  return i
end

local UNARY = { ["-"] = true, ["#"] = true, ["not"] = true }
local BINARY = { [","] = true }
for sign in ("+ - * / % ^ .. == ~= < > <= >= and or"):gmatch("%S+") do BINARY[sign] = true end

-- The index after an operand without what may follow it, and whether it may be called or indexed.
local function after_operand(list, i)
  local token = list[i]
  if token.text == "function" then return after_closing(list, i, tokens.block), false end
  if tokens.bracket(token) > 0 then
    return after_closing(list, i, tokens.bracket), token.text == "("
  end
  return i + 1, token.kind == "name"
end

-- The index after a field, an index or a call that follows an operand; nil where there is none.
local function after_suffix(list, i)
  local token = list[i]
  if token.kind == "string" then return i + 1 end
  if token.text == "." or token.text == ":" then return i + 2 end
  return tokens.bracket(token) > 0 and after_closing(list, i, tokens.bracket) or nil
end

--- The index of the token after the list of expressions that begins with token i.
function tokens.after_expressions(list, i)
  local callable
  while list[i] do
    while list[i] and list[i].kind ~= "string" and UNARY[list[i].text] do i = i + 1 end
    if not list[i] then return i end
    i, callable = after_operand(list, i)
    while callable and list[i] do
      local after = after_suffix(list, i)
      if not after then break end
      i = after
    end
    if not list[i] or list[i].kind == "string" or not BINARY[list[i].text] then return i end
    i = i + 1
  end
  return i
end

--- The index of the token after the function whose keyword is token i.
function tokens.after_function(list, i) return after_closing(list, i, tokens.block) end

return tokens
