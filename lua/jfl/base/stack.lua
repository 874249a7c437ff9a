-- Which loops of Lua are under way.
local debug = require "debug"

local stack = {}

local GENERATOR = "(for generator)"   -- what the virtual machine calls a loop's iterator

--- The iterator of the innermost `for` under way that found(iterator) is true of, or nil. A loop
-- that was left early does not say so, but its variables are no longer on the stack.
function stack.generator(found)
  local level = 2
  while debug.getinfo(level, "l") do
    local i, nearest = 1, nil
    local name, value = debug.getlocal(level, i)
    while name do
      if name == GENERATOR and found(value) then nearest = value end
      i = i + 1
      name, value = debug.getlocal(level, i)
    end
    if nearest ~= nil then return nearest end
    level = level + 1
  end
end

return stack
