-- Completion of names in the interactive session.

local function index(t, key) return t[key] end

-- Adds the names in t, and those its metatable lends it.
local function add_names(names, t)
  if type(t) == "table" then
    for key in next, t do names[key] = true end
  end
  local meta = debug.getmetatable(t)
  local lent = type(meta) == "table" and rawget(meta, "__index")
  if type(lent) == "table" and lent ~= t then add_names(names, lent) end
end

-- Adds the names of a namespace of flow, loaded or not. path: "" or "nn.".
local function add_flow_names(names, path)
  for known in pairs(require("jfl.help").paths()) do
    if known:sub(1, #path) == path then names[known:match("^[%w_]+", #path + 1) or ""] = true end
  end
end

--- The names that may follow from a word such as "flow.nn.re", each whole, in order.
return function(word)
  local head, separator, prefix = word:match("^(.*)([.:])([%w_]*)$")
  local at, names, words = _G, {}, {}
  if not head then head, separator, prefix = "", "", word end
  for part in head:gmatch("[^.:]+") do
    local ok, value = pcall(index, at, part)
    if not ok or value == nil then return words end
    at = value
  end
  add_names(names, at)
  if head == "" then names.flow = true end
  local path = (head .. "."):match("^flow%.(.*)$")
  if path then add_flow_names(names, path) end
  for name in pairs(names) do
    if type(name) == "string" and name:match("^[%a_][%w_]*$") and name:sub(1, #prefix) == prefix
      and (prefix ~= "" or name:sub(1, 1) ~= "_") then
      words[#words + 1] = head .. separator .. name
    end
  end
  table.sort(words)
  return words
end
