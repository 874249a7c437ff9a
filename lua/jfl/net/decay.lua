-- Which variables an optimizer's weight decay is for: regular expressions on their names.
local args = require "jfl.base.args"
local core = require "jfl.core"

local decay = {}

-- What an expression may have beside plain characters, and what Lua's patterns write for it.
local CLASSES = { d = "%d", D = "%D", w = "[%w_]", W = "[^%w_]", s = "%s", S = "%S" }

local function refuse(who, name, expression, what)
  core.fail("%s: %s: '%s' has %s, which is not understood; names are matched by plain text, "
    .. ". * + ? ^ $ [...] \\d \\w \\s and |", who, name, expression, what)
end

-- One alternative of an expression as a pattern of Lua. A % and the character behind it stay as
-- they are, so what is plain text in Lua's patterns is so here too.
local function pattern_of(who, name, expression, text)
  local parts, i = {}, 1
  while i <= #text do
    local c, next_c = text:sub(i, i), text:sub(i + 1, i + 1)
    local set = c == "[" and text:match("^%[%^?%]?[^%]]*%]", i)
    local part, length = c, 1
    if c == "\\" then part, length = CLASSES[next_c] or "%" .. next_c, 2
    elseif c == "%" then part, length = c .. next_c, 2
    elseif set then part, length = set, #set
    elseif c:find("[%[%](){}]") then refuse(who, name, expression, ("'%s'"):format(c))
    elseif c == "-" then part = "%-" end
    if length == 2 and next_c == "" then refuse(who, name, expression, "nothing behind " .. c) end
    parts[#parts + 1], i = part, i + length
  end
  return table.concat(parts)
end

-- Gives patterns of Lua, of which one must match, for a list of expressions.
local function patterns_of(who, name, list)
  local patterns = {}
  for i, each in ipairs(args.expect(who, name, list, "table")) do
    args.expect(who, ("%s: item %d"):format(name, i), each, "string")
    for text in (each .. "|"):gmatch("([^|]*)|") do
      local pattern = pattern_of(who, name, each, text)
      if not pcall(string.find, "", pattern) then refuse(who, name, each, "a part") end
      patterns[#patterns + 1] = pattern
    end
  end
  if #patterns == 0 then core.fail("%s: %s must not be empty", who, name) end
  return patterns
end

local function any_matches(patterns, name)
  for _, pattern in ipairs(patterns) do
    if name:find(pattern) then return true end
  end
  return false
end

--- A function that says of a variable's name whether weight decay spares it, from the options of an
-- optimizer; nil where it spares none.
function decay.spares(who, o)
  local includes, excludes = o.weight_decay_includes, o.weight_decay_excludes
  if includes and excludes then
    core.fail("%s: weight_decay_includes and weight_decay_excludes exclude each other; give one",
      who)
  end
  if includes then
    local patterns = patterns_of(who, "weight_decay_includes", includes)
    return function(name) return not any_matches(patterns, name) end
  end
  if not excludes then return nil end
  local patterns = patterns_of(who, "weight_decay_excludes", excludes)
  return function(name) return any_matches(patterns, name) end
end

return decay
