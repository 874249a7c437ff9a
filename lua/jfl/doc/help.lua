-- flow.help: signatures and meanings, from the core's op table and from what is defined in Lua.
---@flow help
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local chapters = require "jfl.doc.chapters"
local core = require "jfl.core"
local examples = require "jfl.doc.examples"
local index = require "jfl.doc.index"
local methods = require "jfl.doc.methods"
local names = require "jfl.base.names"
local original = require "jfl.base.original"
local topics = require "jfl.doc.topics"

local help = {}

local WIDTH = 78

-- Puts words after a head, in lines short enough for a terminal; further lines are indented by the
-- head's length.
local function filled(head, text)
  local lines, line = {}, head
  for word in text:gmatch("%S+") do
    if #line + 1 + #word > WIDTH then
      lines[#lines + 1] = line
      line = (" "):rep(#head)
    end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function param_line(name, default, doc)
  return filled(("  %-18s"):format(name), doc .. (default and (" (%s)"):format(default) or ""))
end

local function op_text(info)
  local parts, lines = {}, {}
  for i, name in ipairs(info.inputs) do
    local last = info.variadic and i == #info.inputs
    parts[i] = last and "{" .. name .. ", ...}" or name
  end
  for _, param in ipairs(info.params) do
    parts[#parts + 1] = param.default and param.name .. "=" .. param.default or param.name
  end
  parts[#parts + 1] = "name"
  local first = info.path:match("%S+")
  lines[1] = ("flow.%s(%s) -> %s"):format(first, table.concat(parts, ", "),
    table.concat(info.outputs, ", "))
  lines[2] = filled(" ", info.doc)
  for _, param in ipairs(info.params) do
    lines[#lines + 1] = param_line(param.name, param.default, param.doc)
  end
  lines[#lines + 1] = param_line("dtypes", nil, table.concat(info.dtypes, ", "))
  local others = info.path:match("%S+%s+(.*)")
  if others then lines[#lines + 1] = param_line("also", nil, others) end
  if not info.differentiable then lines[#lines + 1] = "  Has no gradient." end
  return table.concat(lines, "\n")
end

-- "(x, rate, {training, name})": parameters that go by name alone stand in braces.
local function signature(parts, positional)
  local named = { unpack(parts, positional + 1) }
  if #named == 0 then return "(" .. table.concat(parts, ", ") .. ")" end
  local first = { unpack(parts, 1, positional) }
  first[#first + 1] = "{" .. table.concat(named, ", ") .. "}"
  return "(" .. table.concat(first, ", ") .. ")"
end

local function defined_text(f)
  local parts, lines = {}, {}
  for i, param in ipairs(f.params or {}) do
    local default = param[3]
    local plain = type(default) ~= "table" or metatable(default)
    plain = plain and default ~= ""
    local text = default ~= nil and (plain and tostring(default) or index.lua_text(default)) or nil
    parts[i] = text and default ~= args.none and param[1] .. "=" .. text or param[1]
    lines[i] = param_line(param[1], text, param[2])
  end
  local list = f.type and "" or f.params and f.params.table_only
    and " { " .. table.concat(parts, ", ") .. " }"
    or signature(parts, f.fn and args.positional(f) or #parts)
  table.insert(lines, 1, index.written(f.path) .. list)
  table.insert(lines, 2, filled(" ", f.doc))
  if f.same_as then lines[#lines + 1] = param_line("same as", nil, index.written(f.same_as)) end
  return table.concat(lines, "\n")
end

local function matches(path, name)
  return path == name or path:match("[^.:]+$") == name
end

local function entry_text(path, e)
  local code = examples.of(path, e)
  return (e.op and op_text(e.op) or defined_text(e))
    .. (code and "\n  Example:\n    " .. code:gsub("\n", "\n    ") or "")
end

-- The texts of all that have this name. Names are compared as `spelt` leaves them.
local function find(name, spelt)
  local texts, seen = {}, {}
  for path, e in pairs(index.entries()) do
    if e and (matches(spelt(path), name) or e.op_name == name) and not seen[e.op or e] then
      seen[e.op or e] = true
      texts[#texts + 1] = entry_text(path, e)
    end
  end
  table.sort(texts)
  return #texts > 0 and table.concat(texts, "\n\n") or nil
end

-- All names, grouped by the path before them: nn -> { "relu", ... }.
local function groups()
  local all = {}
  for path in pairs(index.entries()) do
    local group, name = path:match("^(.*)[.:]([^.:]+)$")
    group, name = group or "flow", name or path
    all[group] = all[group] or {}
    all[group][name] = true
  end
  return all
end

local function title_of(group)
  return group == "flow" and group or index.written(group .. "."):sub(1, -2)
end

local function overview()
  local lines, all = {}, groups()
  for _, group in ipairs(args.keys(all)) do
    local list = table.concat(args.keys(all[group]), " ")
    lines[#lines + 1] = title_of(group) .. "\n" .. filled(" ", list)
  end
  return table.concat(lines, "\n") .. "\nflow.help(\"name\") tells more of each, and of a word "
    .. "what has to do with it:\nflow.help(\"loss\"), flow.help(\"gpu\"), flow.help(\"guide\")."
end

-- The text about a group such as "nn" or "grad_clipping", or nil.
local function group_text(name, spelt)
  local known = groups()
  for _, group in ipairs(args.keys(known)) do
    local list = known[group]
    if group ~= "flow" and matches(spelt(group), name) then
      for method in pairs(methods.of(group) or {}) do list[method] = true end
      local all = args.keys(list)
      return title_of(group) .. "\n" .. filled(" ", table.concat(all, " "))
    end
  end
end

-- The text about a function as a method, such as "Blob:softmax", or nil.
local function method_text(path)
  local of, class, name = methods.find(path)
  if not of then return nil end
  local text = entry_text(of, index.entries()[of])
  local first, rest = text:match("^flow%.[%w_.]+%(([%w_]+),? ?(.*)$")
  local own = rest:gsub("^([^\n]*\n.-)\n  " .. first .. " [^\n]*", "%1", 1)
  return ("%s:%s(%s\n%s"):format(class, name, own, param_line("same as", nil,
    ("flow.%s, with it as %s"):format(of, first)))
end

local function as_it_is(text) return text end

-- What is said of a word that is no name, or nil.
local function topic_text(word)
  local text, parts = topics.text(word), { "About " .. word:lower() .. ":" }
  if not text then return nil end
  local prose, code = text:match("^(.-)\n?(    .*)$")
  parts[2], parts[3] = filled(" ", prose or text), code
  return table.concat(parts, "\n")
end

-- The first sentence of a text.
local function sentence(doc) return doc:match("^(.-%.)%s") or doc end

local FOUND = 20                 -- names in one list of what a search found

-- Whether a text in lower case has each of these words, or what begins so where `begins`.
local function has_all(text, words, begins)
  for _, word in ipairs(words) do
    local at = begins and text:find("%f[%w]" .. word:gsub("%p", "%%%0"))
    if not at and (begins or not text:find(word, 1, true)) then return false end
  end
  return true
end

-- Lines on the names that hold a word, or all words of several, or else on those whose description
-- does; nil without any.
local function search(word)
  local in_name, in_doc, seen, words = {}, {}, {}, {}
  for each in word:gmatch("%S+") do words[#words + 1] = each end
  for path, e in pairs(index.entries()) do
    local at = e and (has_all(path:lower(), words) and in_name
      or has_all(e.doc:lower(), words, true) and in_doc)
    if at and not seen[e.doc] then
      seen[e.doc] = true
      at[#at + 1] = ("%s: %s"):format(index.written(path), sentence(e.doc))
    end
  end
  local list = #in_name > 0 and in_name or in_doc
  if #list == 0 then return nil end
  table.sort(list)
  local lines = { ("%s with '%s':"):format(list == in_name and "Names" or "Descriptions", word) }
  for i = 1, math.min(#list, FOUND) do lines[i + 1] = filled(" ", list[i]) end
  if #list > FOUND then lines[#lines + 1] = ("  ... and %d more"):format(#list - FOUND) end
  return table.concat(lines, "\n")
end

-- What is said of a name: of what has it, of the topic, and of what only the original has.
local function told(path)
  local text = find(path, as_it_is) or group_text(path, as_it_is) or method_text(path)
  local topic = topic_text(path)
  if text and topic then text = text .. "\n\n" .. topic end
  text = text or topic
  if text then return text .. chapters.pointer(path) end
  return chapters.text(path) or original.ask("about", path)
end

-- The path of a function of flow, or of a group such as flow.nn. Where several paths lead to it,
-- the alphabetically first.
local function path_of(value)
  local found
  for _, known in ipairs { index.values() } do
    for path, each in pairs(known) do
      if each == value and (not found or path < found) then found = path end
    end
  end
  return found
end

-- The path whose text describes an array or a blob. Other objects name theirs in the field `help`
-- of their metatable.
local KINDS = { array = "ndarray", blob = "math" }

-- The path whose text describes a value, or nil.
local function told_by(value)
  if type(value) == "userdata" then return KINDS[core.type(value)] end
  local meta = metatable(value)
  return path_of(value) or (type(meta) == "table" and meta.help or nil)
end

local function name_of(value)
  local kind = type(value)
  if kind == "string" then return value end
  if kind ~= "function" and kind ~= "table" and kind ~= "userdata" then
    args.expect("help", "name", value, "string or function or module")
  end
  local path = told_by(value)
  if path then return path end
  core.fail("help: %s is none of flow's functions; help(\"name\") takes a name such as \"softmax\"",
    kind == "function" and "this function" or args.describe(value))
end

--- The names of the options of a function of flow, or of a method, "Blob:softmax", given as a path;
-- nil where they are not known.
function help.options(what)
  local path = type(what) == "string" and what or type(what) == "function" and path_of(what)
  local of = path and methods.find(path)
  local e = path and index.entries()[of or path]
  if not e then return nil end
  local list = {}
  for i, param in ipairs((e.op or e).params or {}) do list[i] = param.name or param[1] end
  if of and not e.op then table.remove(list, 1) end
  if e.op then list[#list + 1] = "name" end
  return list
end

--- The text that flow.help prints: of one name ("softmax" or "nn.softmax") or group ("nn"), of a
-- function, or an overview.
function help.text(what)
  if what == nil or what == names.root() then return overview() end
  local name = name_of(what)
  local path = name:gsub("^flow%.", "")
  local word = path:lower()
  local joined = word:gsub("[%s-]+", "_")
  local text = told(path) or told(word) or find(joined, word.lower)
    or group_text(joined, word.lower) or #word > 2 and search(word)
  if not text then
    core.fail("help: there is nothing named '%s'%s", name,
      names.suggest(name, index.paths(), "flow"))
  end
  return text
end

--- Prints what a name or function does: its signature, its arguments and their defaults.
function help.help(what) print(help.text(what)) end

return help
