-- The faults that can be planted on a line. A rule is { name, pattern, replacement }: the pattern
-- is for a line without comments and strings, and holds two () around what is replaced, or it is a
-- function that gives these two positions; a replacement may be a function of what stands there.
local code = require "scripts.mutants.code"

local rules = {}

local function escaped(text) return (text:gsub("%p", "%%%0")) end

-- An operator between spaces, as all are that take two operands.
local function operator(name, from, to)
  return { name, "%s()" .. escaped(from) .. "()%s", to }
end

local function word(name, from, to) return { name, "%f[%w_]()" .. from .. "()%f[^%w_]", to } end

local INTEGER = "%f[%w_.]()%d+()%f[^%w_.]"

local SHARED = {
  operator("bound", "<", "<="), operator("bound", "<=", "<"),
  operator("bound", ">", ">="), operator("bound", ">=", ">"),
  operator("sign", "+", "-"), operator("sign", "-", "+"),
  operator("factor", "*", "/"), operator("factor", "/", "*"), operator("factor", "%", "/"),
  { "more", INTEGER, function(n) return ("%d"):format(n + 1) end },
  { "fewer", INTEGER, function(n) return n ~= "0" and ("%d"):format(n - 1) or nil end },
}

-- ---- C ----

-- What begins no statement that may be removed.
local KEPT = {}
for name in ("return break continue goto case default typedef extern static const struct enum "
  .. "union else if for while do assert static_assert"):gmatch("%S+") do
  KEPT[name] = true
end

local function ends_statement(line) return not line or line:find("[;{}:)]%s*$") or
  line:find("%f[%w]else%s*$") end

-- Whether the brackets of a piece of code are all closed in it.
local function is_balanced(text)
  local rest = text:gsub("%b()", ""):gsub("%b[]", ""):gsub("%b{}", "")
  return not rest:find("[%[%](){}]")
end

local function is_declaration(text)
  return text:find("^[%a_][%w_]*%s+%**[%a_]") or text:find("^[%a_][%w_]*%s+%(%*")
end

-- A statement that is a line.
local function c_statement(line, before)
  local from, text = line:match("^%s+()([%a_*(+-].*);%s*$")
  if not from or not ends_statement(before) or not is_balanced(text) then return nil end
  if KEPT[text:match("^[%w_]*")] or is_declaration(text) then return nil end
  if text:find("^%(void%)") or text:find(";") then return nil end
  return from, from + #text
end

-- What an if, a for or an else on a line does.
local function c_body(line)
  local from = line:match("^%s*for %b() ()") or line:match("^[%s}]*if %b() ()")
    or line:match("^[%s}]*else if %b() ()") or line:match("^[%s}]*else ()")
  local text = from and line:match("^([^;{}]+);%s*$", from)
  if text and is_balanced(text) and not text:find("^if ") and not text:find("^for ") then
    return from, from + #text
  end
end

local function c_condition(line)
  local from, to = line:match("^[%s}]*if ()%b()()")
  if from then return from, to end
  return line:match("^[%s}]*else if ()%b()()")
end

local function is_zero(number) return tonumber((number:gsub("f$", ""))) == 0 end

local function doubled(number)
  if is_zero(number) then return (number:gsub("^0", "1")) end
  return "(2 * " .. number .. ")"
end

local ARM = "[%w_.>[%]-]+"            -- of a ?:, where it is one name

local function exchanged(arms)
  local yes, no = arms:match("^(.-) : (.*)$")
  if is_balanced(yes) and is_balanced(no) then return no .. " : " .. yes end
end

local C = {
  operator("equal", "==", "!="), operator("equal", "!=", "=="),
  operator("logic", "&&", "||"), operator("logic", "||", "&&"),
  operator("bits", "&", "|"), operator("bits", "|", "&"), operator("bits", "^", "|"),
  operator("bits", "<<", ">>"), operator("bits", ">>", "<<"),
  operator("update", "+=", "-="), operator("update", "-=", "+="), operator("update", "+=", "="),
  operator("update", "*=", "/="), operator("update", "|=", "&="), operator("update", "&=", "|="),
  { "scale", "%f[%w_.]()%d+%.%d*e?[+-]?%d*f?()%f[^%w_.]", doubled },
  { "scale", "%f[%w_.]()%d+e[+-]?%d+f?()%f[^%w_.]", doubled },
  { "bits", "%f[%w_]()0x%x+()%f[^%w_]", function(n) return "(" .. n .. " ^ 1)" end },
  { "more", "%f[%w_.]()%d+()[uUlL]+%f[^%w_.]", function(n) return ("%d"):format(n + 1) end },
  { "not", "[%s(]()!()%f[%w_(]", "" },
  { "negated", c_condition, function(text) return "(!" .. text .. ")" end },
  { "arms", "%? ()" .. ARM .. " : " .. ARM .. "()[;,)]", exchanged },
  { "extreme", "[%s(]()[%w_]*minf?()%(", function(n) return (n:gsub("min", "max")) end },
  { "extreme", "[%s(]()[%w_]*maxf?()%(", function(n) return (n:gsub("max", "min")) end },
  { "try", "^%s*()JF_TRY()%(", "(void)" },
  { "removed", c_statement, "" },
  { "removed", c_body, "" },
  { "removed", "^%s+()return()%s*;%s*$", "" },
  { "removed", "^%s+()break()%s*;%s*$", "" },
  { "removed", "^%s+()continue()%s*;%s*$", "" },
}

-- ---- Lua ----

local LUA_KEPT = {}
for name in ("local return if for while function end else elseif repeat until do break not and or "
  .. "goto"):gmatch("%S+") do
  LUA_KEPT[name] = true
end

-- Whether a statement that ends here may go on with the next line, or began before this one.
local function goes_on(line, after)
  if line:find("[-+*/%%^=<>~,({[.#]%s*$") or line:find("%f[%w_]and%s*$")
    or line:find("%f[%w_]or%s*$") or line:find("%f[%w_]not%s*$")
    or line:find("%f[%w_]return%s*$") then
    return true
  end
  return after and (after:find("^%s*[-+*/%%^=<>~,.:)}%]]") or after:find("^%s*and%f[^%w_]")
    or after:find("^%s*or%f[^%w_]"))
end

local function lua_statement(line, before, after)
  local from, text = line:match("^%s*()([%a_].-)%s*$")
  if not from or LUA_KEPT[text:match("^[%w_]*")] then return nil end
  if not (text:find("%)$") or text:find("^[^=~<>]+ = ")) or not is_balanced(text)
    or text:find("%f[%w_]function%f[^%w_]") then
    return nil
  end
  if goes_on(before or "", line) or goes_on(line, after) then return nil end
  return from, from + #text
end

-- What an if on a line does.
local function lua_body(line)
  local from, text, to = line:match("^%s*if .- then ()(.-)() end%s*$")
  if not from or text:find("%f[%w_]function%f[^%w_]") or text:find("%f[%w_]else")
    or text:find("%f[%w_]if%f[^%w_]") then
    return nil
  end
  return from, to
end

local function lua_condition(line)
  local from, to = line:match("^%s*if ().-() then%f[^%w_]")
  if from then return from, to end
  return line:match("^%s*elseif ().-() then%f[^%w_]")
end

local function less_one(text) return "(" .. text .. " - 1)" end

local LUA = {
  operator("equal", "==", "~="), operator("equal", "~=", "=="),
  operator("logic", "and", "or"), operator("logic", "or", "and"),
  { "scale", "%f[%w_.]()%d+%.%d+()%f[^%w_.]", doubled },
  { "scale", "%f[%w_.]()%d+e%-?%d+()%f[^%w_.]", doubled },
  { "not", "%f[%w_]()not ()", "" },
  word("flag", "true", "false"), word("flag", "false", "true"),
  { "negated", lua_condition, function(text) return "not (" .. text .. ")" end },
  { "bound", "^%s*for [%w_]+ = [^,]+, ()[^,]+() do%f[^%w_]", less_one },
  { "length", "()#[%a_][%w_.]*()%f[^%w_.[(]", less_one },
  word("extreme", "math%.max", "math.min"), word("extreme", "math%.min", "math.max"),
  word("extreme", "math%.floor", "math.ceil"), word("extreme", "math%.ceil", "math.floor"),
  { "removed", lua_statement, "" },
  { "removed", lua_body, "" },
  { "removed", "^%s+()break()%s*$", "" },
}

rules.c, rules.lua = C, LUA

-- ---- candidates ----

-- Removed statements that matter to threads or to memory have names of their own.
local KINDS = {
  { "sync", { "sync", "barrier", "fence", "_lock", "_unlock", "signal", "broadcast", "wait" } },
  { "freed", { "free", "unref", "close", "destroy", "release" } },
  { "guard", { "^return", "^goto", "^continue", "^break", "^error", "_fail%(" } },
}

local function kind_of(removed)
  for _, row in ipairs(KINDS) do
    for _, pattern in ipairs(row[2]) do
      if removed:lower():find(pattern) then return row[1] end
    end
  end
  return "removed"
end

-- The places where a rule applies, as pairs of positions.
local function places(rule, line, before, after)
  if type(rule[2]) == "function" then
    local from, to = rule[2](line, before, after)
    return from and { { from, to } } or {}
  end
  local found, at = {}, 1
  while at <= #line do
    local first, last, from, to = line:find(rule[2], at)
    if not first then break end
    found[#found + 1] = { from, to }
    at = rule[2]:sub(1, 1) == "^" and #line + 1 or math.max(math.min(to, last), first + 1)
  end
  return found
end

-- Lines in which a fault is no fault: what is asserted, hints, room for texts, lone versions.
local function is_left_out(line)
  return line:find("^%s*assert%(") or line:find("^%s*_?[Ss]tatic_assert")
    or line:find("__attribute__") or line:find("^%s*template%s*<")
    or line:find("^%s*[%a_][%w_ *]*%[[^=%]]*%];%s*$")
end

local function add(list, counts, line, rule, from, to)
  local text = line.text
  local old = text:sub(from, to - 1)
  local new = rule[3]
  if type(new) == "function" then new = new(old) end
  if not new then return end
  local name = rule[1] == "removed" and kind_of(old) or rule[1]
  counts[name] = (counts[name] or 0) + 1
  if counts[name] > 1 then name = name .. "." .. counts[name] end
  list[#list + 1] = { rule = name, text = text:sub(1, from - 1) .. new .. text:sub(to) }
end

-- The code of the nearest line that has some, in steps of 1 or -1.
local function neighbour(lines, i, step)
  repeat i = i + step until not lines[i] or lines[i].code:find("%S")
  return lines[i] and lines[i].code
end

--- The faults that can be planted on line i of code.lines, each as { rule =, text = }: the text of
-- the line with it. Rules that apply more than once have numbers: "bound", "bound.2".
function rules.faults(lines, i, language)
  local line, list, counts = lines[i], {}, {}
  if not line.code:find("%S") or (language == "c" and is_left_out(line.code)) then return list end
  local before, after = neighbour(lines, i, -1), neighbour(lines, i, 1)
  local padded = line.code .. " "
  for _, set in ipairs { SHARED, language == "lua" and LUA or C } do
    for _, rule in ipairs(set) do
      for _, place in ipairs(places(rule, padded, before, after)) do
        add(list, counts, line, rule, place[1], place[2])
      end
    end
  end
  return list
end

--- The lines of a source that can have faults, each as { line =, text =, faults = }.
function rules.of(text, language)
  local lines, found = code.lines(text, language), {}
  for i, line in ipairs(lines) do
    local faults = rules.faults(lines, i, language)
    if #faults > 0 then found[#found + 1] = { line = i, text = line.text, faults = faults } end
  end
  return found
end

return rules
