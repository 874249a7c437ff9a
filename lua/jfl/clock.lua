-- A clock for waits and rates: seconds that pass, which os.clock (CPU time of all threads) is not.
local has_ffi, ffi = pcall(require, "ffi")

local clock = { now = os.time }

if has_ffi then
  local MONOTONIC = 1
  ffi.cdef [[
    typedef struct jfl_timespec { long sec, nsec; } jfl_timespec;
    int clock_gettime(int which, jfl_timespec *out);
  ]]
  local time = ffi.new("jfl_timespec")

  --- Seconds since some point in the past.
  function clock.now()
    ffi.C.clock_gettime(MONOTONIC, time)
    return tonumber(time.sec) + tonumber(time.nsec) * 1e-9
  end
end

return clock
