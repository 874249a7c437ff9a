-- The line at which a function makes its tail call. A body usually ends with one, `return op(...)`,
-- and the frame is gone when op fails; without this its errors would name the line where the body
-- begins. Only the bytecode tells the line, which is the price of it.
local bit = require "bit"
local util = require "jit.util"

local function opcode(f, pc) return bit.band(util.funcbc(f, pc), 0xff) end

-- The first operand of an instruction, a register; of a call it holds the function called.
local function register(f, pc) return bit.band(bit.rshift(util.funcbc(f, pc), 8), 0xff) end

-- The numbers of instructions differ between versions of LuaJIT, so those of the tail calls are
-- read off samples, where they come last.
local function last(f) return opcode(f, util.funcinfo(f).bytecodes - 1) end

local CALLS = {
  [last(function(f) return f() end)] = true,
  [last(function(f, ...) return f(...) end)] = true,
}

-- A line is asked for tail calls alone: LuaJIT answers with a table.
local function find(f)
  local loaded, line = {}, nil
  for pc = 1, util.funcinfo(f).bytecodes - 1 do
    local slot = register(f, pc)
    if CALLS[opcode(f, pc)] then
      local this = loaded[slot] and util.funcinfo(f, loaded[slot]).currentline
      if line and line ~= this then return nil end
      line = this
    else
      loaded[slot] = pc
    end
  end
  return line
end

local lines = setmetatable({}, { __mode = "k" })      -- each op of a body asks for its body's

--- The line of the tail call in f, a Lua function; nil where it has none, or on several lines. The
-- line is that of loading the function called: the call itself has the line where it ends.
return function(f)
  if lines[f] == nil then lines[f] = find(f) or false end
  return lines[f] or nil
end
