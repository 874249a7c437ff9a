-- Finds the line of a function's tail call. A tail call removes the caller's frame, so an error in
-- the function called would otherwise name no line of the user's.
local bit = require "bit"
local util = require "jit.util"

local function opcode(f, pc) return bit.band(util.funcbc(f, pc), 0xff) end

-- The first register of an instruction: in a call, the one that holds the function called.
local function register(f, pc) return bit.band(bit.rshift(util.funcbc(f, pc), 8), 0xff) end

-- Versions of LuaJIT number their instructions differently, so the numbers of the two tail calls
-- are read off sample functions, which end in them.
local function last(f) return opcode(f, util.funcinfo(f).bytecodes - 1) end

local CALLS = {
  [last(function(f) return f() end)] = true,
  [last(function(f, ...) return f(...) end)] = true,
}

--- The line of the tail call in the Lua function f; nil where there is none, or several on
-- different lines. It is the line where the function to call is loaded, since the call itself
-- carries the line on which its arguments end.
return function(f)
  local loaded, line = {}, nil
  for pc = 1, util.funcinfo(f).bytecodes - 1 do
    local slot = register(f, pc)
    if CALLS[opcode(f, pc)] then
      if line and line ~= loaded[slot] then return nil end
      line = loaded[slot]
    else
      loaded[slot] = util.funcinfo(f, pc).currentline
    end
  end
  return line
end
