-- Fails when a function under lua/ reads a fixed number of `...` behind a call, as in
--   function(...) f(); local a = ... end
-- LuaJIT of Debian 12 compiles that wrongly: in a trace that comes back from the call, `a` may be
-- the second value (LuaJIT's issue 864, mended in July 2022). Read first, or use select(n, ...),
-- { ... } or f(...), which are right.
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

local check

local function check_inner(fn, path)
  for i = -1, -util.funcinfo(fn).gcconsts, -1 do
    local constant = util.funck(fn, i)
    if type(constant) == "proto" then check(constant, path) end
  end
end

function check(fn, path)
  local called, i = false, 0
  local instruction = util.funcbc(fn, i)
  while instruction do
    local op = opcode(instruction)
    called = called or CALLS[op]
    if called and op == "VARG" and is_fixed(instruction) then
      io.stderr:write(("%s:%d: a fixed number of `...` is read behind a call; read it before\n")
        :format(path, util.funcinfo(fn, i).currentline))
      bad = bad + 1
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
