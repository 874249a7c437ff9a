-- Makes chunks of typed or pasted text: statements, an expression whose value is to be shown, or
-- statements that end in one.
local locals = require "jfl.repl.locals"
local tokens = require "jfl.repl.tokens"

local chunk = {}

-- How many places are tried as the beginning of a last expression.
local TRIES = 30

local function parse(text) return loadstring(text, "=stdin") end

-- Whether a text with this error may be the beginning of a valid one. A string ends with its line
-- unless that ends in a backslash.
local function may_go_on(text, message)
  if message:find("unfinished string", 1, true) then return text:sub(-1) == "\\" end
  return message:find("'<eof>'$") ~= nil
end

-- Whether a text with this error, if any, may end in an expression: the error is behind it, or
-- before the end of the text.
local function may_end(message)
  return not message or message:find("'=' expected near '<eof>'", 1, true)
    or not message:find("'<eof>'$")
end

-- What is wrong with an expression, if no statement begins as the text does, or nil.
local function wrong_as_expression(text, message)
  local first = tokens.of(text)[1]
  local _, alone = parse(first and first.text or "")
  if not alone or not alone:find "unexpected symbol" or alone:find "'<eof>'$" then
    return nil
  end
  return (message:gsub("'<eof>' expected near", "unexpected symbol near"))
end

local function is_expression(text) return parse("return " .. text) ~= nil end

-- The positions outside of blocks and brackets at which a line or, after a semicolon, a statement
-- begins, with the tokens there.
local function beginnings(text)
  local list, depth, found = tokens.of(text), 0, {}
  for i, token in ipairs(list) do
    local before = list[i - 1]
    local begins = before and (before.text == ";"
      or text:sub(before.last + 1, token.first - 1):find("\n", 1, true))
    if begins and depth == 0 then found[#found + 1] = token end
    depth = depth + tokens.block(token) + tokens.bracket(token)
  end
  return found
end

-- The first part and the last expression of a text, or nil. In a text that is valid as a whole the
-- expression must begin with a name, as a line with anything else may continue the one before it.
local function divide(text, is_valid)
  local found = beginnings(text)
  for i = #found, math.max(1, #found - TRIES), -1 do
    local head, tail = text:sub(1, found[i].first - 1), text:sub(found[i].first)
    local may = not is_valid or found[i].kind == "name"
    if may and is_expression(tail) and parse(head) then return head, tail end
  end
end

local function load_divided(text, is_valid, results)
  local head, tail = divide(text, is_valid)
  return head and locals.load(head, tail, results)
end

-- A text may be valid and yet too large with what is added to it.
local function loaded(f, message)
  if f then return f end
  return nil, false, message
end

--- The chunk of a text; it gives what `results` makes of the value of its last expression, or what
-- it returns. Returns nil and true when more lines are needed, or nil, false and a message.
function chunk.load(text, results)
  local expression, asked = text:gsub("^%s*=", "")
  local is_value, wrong = parse("return " .. expression)
  if is_value then return loaded(locals.load("", expression, results)) end
  local valid, message = parse(text)
  local whole = may_end(message) and load_divided(text, valid ~= nil, results)
  if whole then return whole end
  if valid then return loaded(locals.load(text, nil, results)) end
  local told = asked > 0 and wrong or wrong_as_expression(text, wrong) or message
  return nil, may_go_on(text, message) or may_go_on(text, wrong), told
end

--- What stays of a text that was copied from a session: the lines after prompts. Other texts stay
-- as they are.
function chunk.without_prompts(text)
  text = text:gsub("^%s*%$ jfl[^\n]*\n", "")
  if not text:find("^%s*> ") then return text end
  local lines = {}
  for line in text:gmatch("[^\n]+") do
    lines[#lines + 1] = line:match("^%s*>>? ?(.*)$")
  end
  return table.concat(lines, "\n")
end

--- Divides pasted lines into texts that can be loaded one by one; nil where they cannot.
function chunk.divide(text)
  local pieces, piece = {}, ""
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    piece = piece .. line
    local is_whole = is_expression(piece:gsub("^%s*=", "", 1)) or parse(piece)
    if is_whole then
      if piece:find("%S") then pieces[#pieces + 1] = piece end
      piece = ""
    elseif not may_go_on(piece, select(2, parse(piece))) then
      return nil
    else
      piece = piece .. "\n"
    end
  end
  return not piece:find("%S") and pieces or nil
end

--- How many blocks and brackets of an unfinished text are open.
function chunk.depth(text)
  local depth = 0
  for _, token in ipairs(tokens.of(text)) do
    depth = math.max(0, depth + tokens.block(token) + tokens.bracket(token))
  end
  return depth
end

return chunk
