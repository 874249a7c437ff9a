-- Which tests a source has, and how they are run.
local tests = {}

local function exists(tree, path)
  local file = io.open(tree.folder .. "/" .. path)
  if file then file:close() end
  return file ~= nil
end

local function add_spec(list, tree, path)
  if exists(tree, path) then
    list[#list + 1] = { name = path, seconds = 300, line = "build/jfl /usr/bin/busted " .. path }
  end
end

--- The tests of a source, each as { name =, seconds =, line =, goal = }.
function tests.of(tree, path)
  local list = {}
  local room, name = path:match("^src/(.*)/([%w_]+)%.%w+$")
  if not room then room, name = path:match("^(lua/jfl/.*)/([%w_]+)%.lua$") end
  if not room then return list end
  room = room:gsub("^lua/jfl", "lua")
  add_spec(list, tree, ("spec/%s/%s_spec.lua"):format(room, name))
  if exists(tree, "spec/c/" .. name .. "_test.c") then
    local goal = "build/obj-gcc/spec/" .. name .. "_test"
    list[#list + 1] = { name = goal, seconds = 300, line = goal, goal = goal }
  end
  return list
end

--- What has to be built for them.
function tests.goals(tree, path)
  local goals = { "build/jfl" }
  for _, test in ipairs(tests.of(tree, path)) do goals[#goals + 1] = test.goal end
  return table.concat(goals, " ")
end

return tests
