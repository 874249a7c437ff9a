-- Calls functions with values that they should refuse: each value in each position and as each
-- option, behind arguments of several kinds. A text for boxes and for the front end of one, which
-- get as `...` the functions by path, each with the names of its parameters, the values and, in the
-- front end, further functions. Gives how many calls it made.
local listed, values, further = ...
local flow = require "jfl"

local POSITIONS = 5
local calls = 0

local function find(path)
  local value = flow
  for name in path:gmatch("[^.]+") do value = value[name] end
  return value
end

local function try(...)
  calls = calls + 1
  pcall(...)
end

-- Arguments that get a call past the checks of some function.
local function leading(kind)
  if kind == 1 then return nil end
  if kind == 2 then return flow.ndarray.ones({ 2, 2 }) end
  return { a = flow.ndarray.ones({ 2, 2 }) }
end

local function call_with(f, names, value)
  for kind = 1, 3 do
    local before = leading(kind)
    for i = 1, math.min(POSITIONS, #names) do
      local given = {}
      for k = 1, i - 1 do given[k] = before end
      given[i] = value
      try(f, unpack(given, 1, i))
    end
    for _, name in ipairs(names) do try(f, before, { [name] = value }) end
  end
  for _, name in ipairs(names) do
    try(f, { [name] = value })
    try(f, { [name] = { value } })
  end
end

for path, names in pairs(listed) do
  local f = find(path)
  for _, value in ipairs(values) do
    if type(f) ~= "string" and type(f) ~= "number" then call_with(f, names, value) end
  end
end
for _, f in ipairs(further or {}) do
  for _, value in ipairs(values) do
    try(f, value)
    try(f, value, value, value, value)
    try(f, value, false, {}, {})
    try(f, { value }, value)
  end
end
return calls
