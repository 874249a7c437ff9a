-- Which variables an optimizer's weight decay is for: regular expressions on their names.
local args = require "jfl.base.args"
local core = require "jfl.core"

local decay = {}

-- What other languages have, as sets that all systems' expressions know.
local CLASSES = { d = "[0-9]", D = "[^0-9]", w = "[A-Za-z0-9_]", W = "[^A-Za-z0-9_]",
  s = "[ \t-\r]", S = "[^ \t-\r]" }

-- Fails because an expression cannot be read.
local function refuse(who, name, expression, what)
  core.fail("%s: %s: '%s' must be a regular expression of plain text, . * + ? ^ $ | (...) [...] "
    .. "\\d \\w \\s; it has %s", who, name, expression, what)
end

-- An expression as POSIX writes it.
local function posix(who, name, expression)
  local text = expression:gsub("\\(.?)", function(c)
    if CLASSES[c] or c:find("^%p") then return CLASSES[c] end
    refuse(who, name, expression, "a \\" .. c)
  end)
  if text:find("(?", 1, true) then refuse(who, name, expression, "a (?") end
  local matches, wrong = core.matches(text, "")
  if matches == nil then refuse(who, name, expression, wrong) end
  return text
end

-- The expressions of a list as the core takes them.
local function read(who, name, list)
  local expressions = {}
  for i, each in ipairs(args.expect(who, name, list, "table")) do
    args.expect(who, ("%s: item %d"):format(name, i), each, "string")
    expressions[i] = posix(who, name, each)
  end
  if #expressions == 0 then core.fail("%s: %s must not be empty", who, name) end
  return expressions
end

local function any_matches(expressions, name)
  for _, each in ipairs(expressions) do
    if core.matches(each, name) then return true end
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
    local expressions = read(who, "weight_decay_includes", includes)
    return function(name) return not any_matches(expressions, name) end
  end
  if not excludes then return nil end
  local expressions = read(who, "weight_decay_excludes", excludes)
  return function(name) return any_matches(expressions, name) end
end

return decay
