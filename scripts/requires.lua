-- Fails when modules of the front end need each other in a circle, or one below jfl.legacy needs
-- that. A module needs another where its code names it in a string, at the top or inside a
-- function: require "jfl.nd.array".

local needs = {}                 -- by module, a list of others

local function modules()
  local list = io.popen("find lua/jfl -name '*.lua' | LC_ALL=C sort")
  local found = {}
  for path in list:lines() do
    local name = "jfl." .. path:match("^lua/jfl/(.*)%.lua$"):gsub("/", ".")
    found[#found + 1] = { name = name == "jfl.init" and "jfl" or name, path = path }
  end
  list:close()
  return found
end

local function code_of(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return (text:gsub("%-%-%[(=*)%[.-%]%1%]", ""):gsub("%-%-[^\n]*", ""))
end

local function read(module)
  local list = {}
  needs[module.name] = list
  for _, pattern in ipairs { '"(jfl[%w_.]*)[%w_:]*"', "'(jfl[%w_.]*)[%w_:]*'" } do
    for name in code_of(module.path):gmatch(pattern) do list[#list + 1] = name end
  end
end

local state, trail = {}, {}

-- Follows what a module needs; returns the first circle found as text, or nil.
local function circle(name)
  if state[name] == "done" or not needs[name] then return nil end
  trail[#trail + 1] = name
  if state[name] == "open" then
    local first = 1
    while trail[first] ~= name do first = first + 1 end
    return table.concat(trail, " -> ", first)
  end
  state[name] = "open"
  for _, other in ipairs(needs[name]) do
    local found = circle(other)
    if found then return found end
  end
  state[name] = "done"
  trail[#trail] = nil
end

local list = modules()
for _, module in ipairs(list) do read(module) end

-- What is there for scripts of the original alone is attached from above: nothing below names it.
for _, module in ipairs(list) do
  for _, other in ipairs(needs[module.name]) do
    local from_above = module.name == "jfl" or module.name:find("^jfl%.legacy%.")
    if other:find("^jfl%.legacy%.") and not from_above then
      io.stderr:write(module.name, " needs ", other, ", which only jfl may\n")
      os.exit(1)
    end
  end
end

for _, module in ipairs(list) do
  local found = circle(module.name)
  if found then
    io.stderr:write("modules need each other: ", found, "\n")
    os.exit(1)
  end
end
