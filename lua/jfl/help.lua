-- flow.help: signatures and meanings, from the core's op table and from what is defined in Lua.
local args = require "jfl.args"
local core = require "jfl.core"
local manual = require "jfl.manual"
local names = require "jfl.names"

local help = {}

local WIDTH = 78

-- Modules whose functions help knows of once they are loaded.
local MODULES = { "checkpoint", "data", "initializer", "layers", "ndarray", "npy", "ops",
  "optimizer", "progress", "random", "scope", "typing", "variable" }

local function param_line(name, default, doc)
  return ("  %-18s %s%s"):format(name, doc or "", default and (" (%s)"):format(default) or "")
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
  lines[2] = "  " .. info.doc
  for _, param in ipairs(info.params) do
    lines[#lines + 1] = param_line(param.name, param.default, param.doc)
  end
  lines[#lines + 1] = param_line("dtypes", nil, table.concat(info.dtypes, ", "))
  local others = info.path:match("%S+%s+(.*)")
  if others then lines[#lines + 1] = param_line("also", nil, others) end
  if not info.differentiable then lines[#lines + 1] = "  Has no gradient." end
  return table.concat(lines, "\n")
end

local function defined_text(f)
  local parts, lines = {}, {}
  for i, param in ipairs(f.params) do
    local default = param[3]
    parts[i] = (default == nil or default == args.none) and param[1]
      or param[1] .. "=" .. tostring(default)
    lines[i] = param_line(param[1], default ~= nil and tostring(default) or nil, param[2])
  end
  table.insert(lines, 1, ("flow.%s(%s)"):format(f.path, table.concat(parts, ", ")))
  table.insert(lines, 2, "  " .. f.doc)
  return table.concat(lines, "\n")
end

local function matches(path, name)
  return path == name or path:match("[^.:]+$") == name
end

local function load_all()
  for _, name in ipairs(MODULES) do require("jfl." .. name) end
end

-- The op that has this path or, where `also` is true, name.
local function op_of(path, also)
  for op, info in pairs(core.ops()) do
    for each in (info.path or ""):gmatch("%S+") do
      if each == path or also and (op == path or matches(each, path)) then return info end
    end
  end
end

local function find(name)
  load_all()
  local texts = {}
  for _, functions in ipairs { args.defined, manual } do
    for path, f in pairs(functions) do
      if matches(path, name) then texts[#texts + 1] = defined_text(f) end
    end
  end
  table.sort(texts)
  if #texts > 0 then return table.concat(texts, "\n\n") end
  local info = op_of(name, true)
  return info and op_text(info)
end

--- A set of the paths that help knows: "nn.relu".
function help.paths()
  load_all()
  local paths = {}
  for path in pairs(args.defined) do paths[path] = true end
  for path in pairs(manual) do paths[path] = true end
  for _, info in pairs(core.ops()) do
    for path in (info.path or ""):gmatch("%S+") do paths[path] = true end
  end
  return paths
end

-- Names by the path before them: nn -> { "relu", ... }.
local function groups()
  local all = {}
  for path in pairs(help.paths()) do
    local group, name = path:match("^(.*)[.:]([^.:]+)$")
    group, name = group or "flow", name or path
    all[group] = all[group] or {}
    all[group][name] = true
  end
  return all
end

local function sorted(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function filled(words)
  local lines, line = {}, " "
  for _, word in ipairs(words) do
    if #line + 1 + #word > WIDTH then
      lines[#lines + 1] = line
      line = " "
    end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function overview()
  local lines, all = {}, groups()
  for _, group in ipairs(sorted(all)) do
    lines[#lines + 1] = (group == "flow" and group or "flow." .. group) .. "\n"
      .. filled(sorted(all[group]))
  end
  return table.concat(lines, "\n") .. "\nflow.help(\"name\") tells more of each."
end

-- What is in a group such as "nn" or "grad_clipping", or nil.
local function group_text(name)
  for group, list in pairs(groups()) do
    if group ~= "flow" and matches(group, name) then
      return "flow." .. group .. "\n" .. filled(sorted(list))
    end
  end
end

-- The field of flow at a path, as long as it is there; a method is one of a table.
local function field(path)
  local at = package.loaded.jfl
  for part in path:gmatch("[^.:]+") do
    at = type(at) == "table" and (rawget(at, part) or at == package.loaded.jfl and at[part])
    if not at then return nil end
  end
  return at
end

-- The path of a function of flow, or of a group such as flow.nn; of several the first.
local function path_of(value)
  local found
  local function try(path)
    if (not found or path < found) and field(path) == value then found = path end
  end
  for path in pairs(help.paths()) do try(path) end
  for group in pairs(groups()) do
    if group ~= "flow" then try(group) end
  end
  return found
end

-- What tells of a value that is none of flow's functions and groups.
local KINDS = { array = "ndarray", blob = "math", job = "global_function" }

local function name_of(value)
  local kind = type(value)
  if kind == "string" then return value end
  if kind ~= "function" and kind ~= "table" and kind ~= "userdata" then
    args.expect("help", "name", value, "string or function or module")
  end
  local job = package.loaded["jfl.job"]
  local path = kind ~= "userdata" and path_of(value) or KINDS[core.type(value) or ""]
  if not path and job and job.is_job(value) then path = KINDS.job end
  if path then return path end
  core.fail("help: %s is none of flow's functions; help(\"name\") takes a name such as \"softmax\"",
    kind == "function" and "this function" or args.describe(value))
end

--- The names of the options of a function of flow, or nil where they are not known.
function help.options(value)
  local path = type(value) == "function" and path_of(value)
  if not path then return nil end
  local f, list = args.defined[path] or manual[path], {}
  local info = not f and op_of(path)
  for i, param in ipairs((f or info or {}).params or {}) do list[i] = param.name or param[1] end
  if info then list[#list + 1] = "name" end
  return list
end

--- The text that flow.help prints: of one name ("softmax" or "nn.softmax") or group ("nn"), of a
-- function, or an overview.
function help.text(what)
  if what == nil or what == package.loaded.jfl then return overview() end
  local name = name_of(what)
  local path = name:gsub("^flow%.", "")
  local text = find(path) or group_text(path)
  if not text then
    core.fail("help: there is nothing named '%s'%s", name, names.suggest(name, help.paths()))
  end
  return text
end

--- Prints what a name or function does: its signature, its arguments and their defaults.
function help.help(what) print(help.text(what)) end

return help
