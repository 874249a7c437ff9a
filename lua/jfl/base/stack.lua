-- Which loops of Lua are under way.
local debug = require "debug"

local stack = {}

local GENERATOR = "(for generator)"   -- what the virtual machine calls a loop's iterator

-- The name of a local variable of the function two levels up. Its value is left alone: that of a
-- loop over pairs() is none of Lua's, and would crash the compiler of traces.
local function name_of(level, i) return (debug.getlocal(level + 1, i)) end

--- The iterator of the innermost `for` under way that found(iterator) is true of, or nil. A loop
-- that was left early does not say so, but its variables are no longer on the stack.
function stack.generator(found)
  local level = 2
  while debug.getinfo(level, "l") do
    local i, nearest = 1, nil
    local name = name_of(level, i)
    while name do
      if name == GENERATOR then
        local _, value = debug.getlocal(level, i)
        if found(value) then nearest = value end
      end
      i = i + 1
      name = name_of(level, i)
    end
    if nearest ~= nil then return nearest end
    level = level + 1
  end
end

return stack
