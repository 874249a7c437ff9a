-- Fails where a function under lua/ has what the LuaJIT of Debian 12 (of March 2022) compiles
-- wrongly:
--   function(...) f(); local a = ... end          a fixed number of `...` is read behind a call:
--       in a trace that comes back from it, `a` may be the second value (LuaJIT's issue 864). Read
--       first, or use select(n, ...), { ... } or f(...).
--   for a in pairs(s) do for b in pairs(t) do     behind the inner loop's first turn, `a` may be a
--       key of t, within a hundred turns. Let one loop be over a list, such as args.keys gives.
local util = require "jit.util"
local names = require("jit.vmdef").bcnames

local CALLS = { CALL = true, CALLM = true, CALLT = true, CALLMT = true, ITERC = true, ITERN = true }
local bad = 0

local function opcode(instruction)
  local at = bit.band(instruction, 0xff) * 6
  return names:sub(at + 1, at + 6):match("%S+")
end

-- Operand B: one more than the number of values, or 0 for all.
local function is_fixed(instruction) return bit.rshift(instruction, 24) ~= 0 end

-- Where the jump at place i goes, which begins a loop over pairs: to the loop's end.
local function target(instruction, i) return i + 1 + bit.rshift(instruction, 16) - 0x8000 end

local function tell(fn, i, path, what)
  io.stderr:write(("%s:%d: %s\n"):format(path, util.funcinfo(fn, i).currentline, what))
  bad = bad + 1
end

local check

local function check_inner(fn, path)
  for i = -1, -util.funcinfo(fn).gcconsts, -1 do
    local constant = util.funck(fn, i)
    if type(constant) == "proto" then check(constant, path) end
  end
end

function check(fn, path)
  local called, ends, i = false, 0, 0
  local instruction = util.funcbc(fn, i)
  while instruction do
    local op = opcode(instruction)
    called = called or CALLS[op]
    if called and op == "VARG" and is_fixed(instruction) then
      tell(fn, i, path, "a fixed number of `...` is read behind a call; read it before")
    elseif op == "ISNEXT" then
      if i < ends then tell(fn, i, path, "a loop over pairs is within another; use a list") end
      ends = math.max(ends, target(instruction, i))
    end
    i = i + 1
    instruction = util.funcbc(fn, i)
  end
  check_inner(fn, path)
end

local files = assert(io.popen("find lua -name '*.lua' | sort"))
for path in files:lines() do check(assert(loadfile(path)), path) end
files:close()
os.exit(bad == 0 and 0 or 1)
