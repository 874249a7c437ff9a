-- flow.arguments: what a script was told on its command line.
---@flow arguments
local args = require "jfl.base.args"
local core = require "jfl.core"
local names = require "jfl.base.names"

local arguments = {}

local MISUSED = 2                -- the status of a program that was called wrongly

-- ---- the usage ----

-- What a word of a usage says: { name, optional, value, number = "whole" or "any" or nil }. Capital
-- letters in place of a value name what is wanted, and N a whole number.
local function parameter(word)
  local inner = word:match "^%[(.*)%]$"
  local name, value = (inner or word):match "^([%a_][%w_]*)=(.+)$"
  name = name or (inner or word):match "^[%a_][%w_]*$"
  args.check(name, "arguments: usage must be words such as [epochs=3], [file=FILE] and folder, got "
    .. "'%s'", word)
  local p = { name = name, optional = inner ~= nil }
  local number = tonumber(value)
  if value == "N" or number and not value:find "[^%d]" then p.number = "whole"
  elseif value == "X" or number then p.number = "any"
  end
  if value and not value:match "^%u+$" then p.value = number or value end
  return p
end

local function parameters(usage)
  local list, known = {}, {}
  for word in usage:gmatch "%S+" do
    local p = parameter(word)
    list[#list + 1], known[p.name] = p, p
  end
  return list, known
end

-- ---- the script ----

-- The path of the script that runs: the innermost file whose own lines do.
local function script()
  local level, info = 2, debug.getinfo(2, "S")
  while info do
    if info.what == "main" and info.source:sub(1, 1) == "@" then return info.source:sub(2) end
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  return "script"
end

-- The comment at the head of a file, without its dashes, as lines.
local function head(path)
  local lines, file = {}, core.file_open(path)
  local text = file and core.file_read(file) or ""
  if file then core.file_close(file) end
  for line in text:gsub("^#![^\n]*\n", "", 1):gmatch "([^\n]*)\n" do
    if line:sub(1, 2) ~= "--" then break end
    lines[#lines + 1] = line:match "^%-%- ?(.*)$"
  end
  return lines
end

-- Ends the program; one of the processes that run it together says why.
local function leave(file, status, text)
  if core.world() == 0 then file:write(text, "\n") end
  file:flush()
  os.exit(status, true)
end

-- ---- what was given ----

-- A value for a parameter, or nil and what is wrong with it.
local function read(p, text)
  if not p.number then return text end
  local number = tonumber(text)
  if p.number == "any" and number == number and number then return number end
  if p.number == "whole" and number and number % 1 == 0 and number >= 0 then return number end
  return nil, ("%s must be a %s, got '%s'"):format(p.name,
    p.number == "whole" and "whole number of at least 0" or "number", text)
end

-- Puts a word into values; gives what is wrong with it.
local function take(list, known, word, values, given)
  local name, text = word:match "^%-*([%a_][%w_]*)=(.*)$"
  local p = known[name]
  if name and not p then
    return ("there is no argument '%s'%s"):format(name, names.suggest(name, known))
  end
  local option = not p and word:match "^%-%-?(%a.*)$"
  if option and known[option] then return ("%s is given as %s=VALUE"):format(word, option) end
  if option then return ("there is no option '%s'"):format(word) end
  for _, each in ipairs(p and {} or list) do
    if not given[each.name] then p = each break end
  end
  if not p then return ("there are at most %d arguments, got '%s' too"):format(#list, word) end
  if given[p.name] then return ("%s is given twice"):format(p.name) end
  local value, wrong = read(p, text or word)
  values[p.name], given[p.name] = value, true
  return wrong
end

arguments.arguments = args.define("arguments",
  "Reads what a script was told on its command line. Each word of the usage is an argument, given "
    .. "by its place or as name=value. [epochs=3] is 3 if it is left out, [batches=N] and "
    .. "[file=FILE] are nil then; what has no brackets must be given. 3 and N stand for whole "
    .. "numbers, 0.5 and X for any, others for texts. --help prints the comment at the head of the "
    .. "script and the usage, and ends the program; so does what does not fit, with status 2.", {
    { "usage", "the arguments, in their order", type = "string" },
    { "words", "what was given", "those of the script", type = "string[]" },
    returns = "table",
  }, function(o)
    local list, known = parameters(o.usage)
    local words = type(o.words) == "table" and o.words or rawget(_G, "arg") or {}
    local path = script()
    local usage = ("usage: %s %s"):format(path, o.usage:match "^%s*(.-)%s*$")
    local values, given = {}, {}
    local function refuse(wrong)
      leave(io.stderr, MISUSED, ("%s: %s\n%s"):format(path:match "[^/\\]*$", wrong, usage))
    end
    for _, p in ipairs(list) do values[p.name] = p.value end
    for _, word in ipairs(words) do
      if word == "--help" or word == "-h" then
        local text = head(path)
        text[#text + 1] = usage
        leave(io.stdout, 0, table.concat(text, "\n"))
      end
      local wrong = take(list, known, word, values, given)
      if wrong then refuse(wrong) end
    end
    for _, p in ipairs(list) do
      if not p.optional and not given[p.name] then refuse(p.name .. " is missing") end
    end
    return values
  end)

return arguments
