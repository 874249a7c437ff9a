-- flow.help: signatures and meanings, from the core's op table and from what is defined in Lua.
local args = require "jfl.args"
local core = require "jfl.core"
local manual = require "jfl.manual"
local names = require "jfl.names"

local help = {}

local WIDTH = 78

-- A path as a script writes it; what objects have stands under their class, as in Job:compile.
local function written(path)
  return path:find("^%u%w*[.:]") and path or "flow." .. path
end

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
  for i, param in ipairs(f.params or {}) do
    local default = param[3]
    parts[i] = (default == nil or default == args.none) and param[1]
      or param[1] .. "=" .. tostring(default)
    lines[i] = param_line(param[1], default ~= nil and tostring(default) or nil, param[2])
  end
  local list = f.type and "" or "(" .. table.concat(parts, ", ") .. ")"
  table.insert(lines, 1, written(f.path) .. list)
  table.insert(lines, 2, "  " .. f.doc)
  return table.concat(lines, "\n")
end

local function matches(path, name)
  return path == name or path:match("[^.:]+$") == name
end

-- Functions are known once what holds them is loaded: every name of flow, and numpy's files.
local function load_all()
  local flow = require "jfl"
  for name in pairs(getmetatable(flow).names) do assert(flow[name]) end
  require "jfl.npy"
  require "jfl.ops"
end

local function find_op(name)
  for op, info in pairs(core.ops()) do
    for path in (info.path or ""):gmatch("%S+") do
      local over = args.defined[path]
      if not over and (op == name or matches(path, name)) then return op_text(info) end
    end
  end
end

local function find(name)
  load_all()
  local texts = { find_op(name) }
  for _, functions in ipairs { args.defined, manual } do
    for path, f in pairs(functions) do
      local known = functions == manual and args.defined[path]
      if matches(path, name) and not known then texts[#texts + 1] = defined_text(f) end
    end
  end
  table.sort(texts)
  return #texts > 0 and table.concat(texts, "\n\n") or nil
end

local function all_paths()
  load_all()
  local paths = {}
  for path in pairs(args.defined) do paths[path] = true end
  for path in pairs(manual) do paths[path] = true end
  for _, info in pairs(core.ops()) do
    for path in (info.path or ""):gmatch("%S+") do paths[path] = true end
  end
  return paths
end

--- A set of the paths under flow that help knows: "nn.relu".
function help.paths()
  local paths = all_paths()
  for path in pairs(paths) do
    if written(path) == path then paths[path] = nil end
  end
  return paths
end

-- Names by the path before them: nn -> { "relu", ... }.
local function groups()
  local all = {}
  for path in pairs(all_paths()) do
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
    lines[#lines + 1] = (group == "flow" and group or written(group .. "."):sub(1, -2)) .. "\n"
      .. filled(sorted(all[group]))
  end
  return table.concat(lines, "\n") .. "\nflow.help(\"name\") tells more of each."
end

-- What is in a group such as "nn" or "grad_clipping", or nil.
local function group_text(name)
  for group, list in pairs(groups()) do
    if group ~= "flow" and matches(group, name) then
      return written(group .. "."):sub(1, -2) .. "\n" .. filled(sorted(list))
    end
  end
end

--- The text that flow.help prints: of one name ("softmax" or "nn.softmax") or group ("nn"), or an
-- overview.
function help.text(name)
  if name == nil then return overview() end
  args.expect("help", "name", name, "string")
  local path = name:gsub("^flow%.", "")
  local text = find(path) or group_text(path)
  if not text then
    core.fail("help: there is nothing named '%s'%s", name, names.suggest(name, help.paths()))
  end
  return text
end

--- Prints what a name does: its signature, its arguments and their defaults.
function help.help(name) print(help.text(name)) end

return help
