-- Completion in the interactive session: of names, fields, methods and the options of a call.
local debug = require "debug"
local locals = require "jfl.repl.locals"
local scan = require "jfl.doc.scan"
local show = require "jfl.repl.show"

local completion = {}

local function add(names, t)
  if type(t) ~= "table" then return end
  for key, value in next, t do
    if names[key] == nil then names[key] = value end
  end
end

-- What objects offer that look their names up by a function is what the reference tells of their
-- class.
local CLASSES = { array = "NdArray", blob = "Blob" }

local function method() end

local function add_class_names(names, class)
  for path, entry in pairs(require("jfl.doc.index").entries()) do
    local of, separator, name = path:match("^(%u%w*)([.:])([%w_]+)$")
    if entry and of == class then add(names, { [name] = separator == ":" and method or "" }) end
  end
  local functions = require("jfl.doc.methods").of(class) or {}
  for name in pairs(functions) do add(names, { [name] = method }) end
end

-- The class of an object, by which the reference tells of it; nil for other values.
local function class_of(value)
  local core = type(value) == "userdata" and package.loaded["jfl.core"]
  local meta = debug.getmetatable(value)
  local class = type(value) == "table" and type(meta) == "table" and rawget(meta, "class")
  return core and CLASSES[core.type(value)] or type(class) == "string" and class or nil
end

-- Adds the names in t with their values, and those that its metatable provides or lists.
local function add_names(names, t)
  add(names, t)
  local meta = debug.getmetatable(t)
  if type(meta) ~= "table" then return end
  local listed = rawget(meta, "__names")
  add(names, type(listed) == "function" and listed() or listed)
  local lent = rawget(meta, "__index")
  if type(lent) == "table" and lent ~= t then add_names(names, lent) end
  if class_of(t) then add_class_names(names, class_of(t)) end
end

-- Adds the names of a namespace of flow, loaded or not. path: "" or "nn.".
local function add_flow_names(names, path)
  for known in pairs(require("jfl.doc.index").paths()) do
    local name = known:sub(1, #path) == path and known:match("^[%w_]+", #path + 1)
    if name and names[name] == nil then names[name] = "" end
  end
end

local function may_follow(name, value, prefix, separator)
  return type(name) == "string" and name:match("^[%a_][%w_]*$") and name:sub(1, #prefix) == prefix
    and (prefix ~= "" or name:sub(1, 1) ~= "_") and (separator ~= ":" or type(value) == "function")
end

local function sorted(words)
  table.sort(words)
  return words
end

local MANY = 200                 -- names in one list

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat "
  .. "return then true until while"):gmatch("%a+") do
  KEYWORDS[word] = ""
end

local function names_after(word)
  local head, separator, prefix = word:match("^(.*)([.:])([%w_]*)$")
  if not head then head, separator, prefix = "", "", word end
  local at, names, words = locals.value_of(head), {}, {}
  if at == nil or head == "" and separator ~= "" then return words end   -- of what a call gives
  add_names(names, at)
  if head == "" then
    for name, value in pairs(locals.all()) do names[name] = value end
    names.flow = names.flow or ""
    if prefix ~= "" then add(names, KEYWORDS) end
  end
  local path = (head .. "."):match("^flow%.(.*)$")
  if path then add_flow_names(names, path) end
  for name, value in pairs(names) do
    if may_follow(name, value, prefix, separator) then
      words[#words + 1] = head .. separator .. name
    end
  end
  return sorted(words)
end

-- What help knows the function at a path by: "net:train" is "Model:train".
local function known_as(call)
  local object, name = call:match("^(.*):([%w_]+)$")
  local class = object and class_of(locals.value_of(object))
  return class and class .. ":" .. name or locals.value_of(call)
end

-- The options of the function being called that are not given yet.
local function options(call, given, prefix)
  local known, words = known_as(call), {}
  for _, name in ipairs(known and require("jfl.doc.help").options(known) or {}) do
    if name:sub(1, #prefix) == prefix and not given[name] then words[#words + 1] = name end
  end
  return sorted(words)
end

--- The words that may replace the last one in `before`, sorted. `before` is what was typed of a
-- statement up to the cursor. At the start of a line the only word is an indentation.
function completion.words(before)
  if before:match("[^\n]*$"):match("^%s*$") then return { "  " } end
  local word = before:match("[%w_.:]*$")
  local place = scan(before:sub(1, -1 - #word))
  if place.quoted then return {} end
  if place.call and not word:find("[.:]") then
    local words = options(place.call, place.given, word)
    if #words > 0 then return words end
  end
  return names_after(word)
end

-- The longest common beginning of all words.
local function common(words)
  local first, last, n = words[1], words[#words], 0
  while n < #first and first:byte(n + 1) == last:byte(n + 1) do n = n + 1 end
  return first:sub(1, n)
end

-- The last names of the words in columns; those beyond a limit are only counted.
local function listed(words, columns)
  local names, widest = {}, 0
  for i = 1, math.min(#words, MANY) do
    names[i] = words[i]:match("[^.:]*$")
    widest = math.max(widest, #names[i] + 2)
  end
  local in_line = math.max(1, math.floor(columns / widest))
  local parts = {}
  for i, name in ipairs(names) do
    local ends = i % in_line == 0 or i == #names
    parts[i] = ends and name .. (i < #names and "\n" or "") or name .. (" "):rep(widest - #name)
  end
  if #words > MANY then parts[#parts + 1] = ("\n... (%d more)"):format(#words - MANY) end
  return table.concat(parts)
end

-- The first line that help has on a function; nil where it has none. call: its path.
local function told(call, value)
  local _, help = require "jfl", require "jfl.doc.help"
  local ok, text = pcall(help.text, known_as(call) or value)
  return ok and text:match("^[^\n]*") or nil
end

-- What the function that `before` begins to call takes, as one line; nil where that is not known.
local function signature(before)
  local call = before:find("[(,]%s*$") and scan(before).inside
  local value = call and locals.value_of(call)
  if type(value) ~= "function" then return value ~= nil and show.call(value) or nil end
  local text = told(call, value)
  if text or debug.getinfo(value, "S").what == "C" then return text end
  return call .. show.parameters(value)
end

--- What can be added to `before` since all the words continue so; where that is nothing, a list of
-- the words for a screen of that many columns. After "(" and "," it is what the function takes.
function completion.rest(before, columns)
  local known = signature(before)
  if known then return "", known end
  local words = completion.words(before)
  if #words == 0 then return "", "" end
  local word = before:match("[%w_.:]*$")
  local rest = common(words):sub(#word + 1)
  return rest, (rest ~= "" or #words == 1) and "" or listed(words, columns)
end

return completion
