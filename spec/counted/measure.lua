-- What one kind of scripts/bench/growing.lua takes, counted:
--   build/counted spec/counted/measure.lua KIND N
-- prints places reached in C, words copied in C, instructions of Lua and bytes of Lua.
local ffi = require "ffi"
local flow = require "jfl"
local kinds = require "scripts.bench.growing"

ffi.cdef "void count_read(uint64_t *to);"
local STEP = 100              -- instructions of Lua between two counts

local name, n = arg[1], tonumber(arg[2])
local run
for _, kind in ipairs(kinds) do run = kind[1] == name and kind[4] or run end

local function counts(fn, ...)
  local before, after, steps = ffi.new "uint64_t[2]", ffi.new "uint64_t[2]", 0
  collectgarbage()
  collectgarbage "stop"       -- what is thrown away counts too
  local bytes = collectgarbage "count"
  ffi.C.count_read(before)
  debug.sethook(function() steps = steps + 1 end, "", STEP)
  fn(...)
  debug.sethook()
  ffi.C.count_read(after)
  return tonumber(after[0] - before[0]), tonumber(after[1] - before[1]), steps * STEP,
    (collectgarbage "count" - bytes) * 1024
end

jit.off()                     -- compiled code counts no instructions
run(1)                        -- what is done once is done here
flow.clear_default_session()
print(counts(run, n))
