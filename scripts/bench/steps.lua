-- Prints the median milliseconds of a model:
--   jfl scripts/bench/steps.lua MODEL [threads [float32|bfloat16]]
-- With bfloat16, jobs are in mixed precision.
local core = require "jfl.core"
local flow = require "jfl"
local models = dofile "scripts/bench/models.lua"

local MODEL, THREADS, DTYPE = arg[1], tonumber(arg[2]), arg[3] or "float32"
local WARM_UP, LEAST = 10, 20          -- steps; of slow models fewer
local SLOW = 0.3                       -- seconds
local SECONDS = tonumber(os.getenv "JFL_BENCH_SECONDS" or 3)

local function time_of(f)
  local start = core.now()
  f()
  return core.now() - start
end

--- The median of at least LEAST runs over SECONDS.
local function median(f)
  f()
  local slow = time_of(f) > SLOW
  for _ = 1, slow and 0 or WARM_UP do f() end
  local times, begin = {}, core.now()
  while #times < (slow and 3 or LEAST) or core.now() - begin < SECONDS do
    times[#times + 1] = time_of(f)
  end
  table.sort(times)
  return times[math.ceil(#times / 2)]
end

if THREADS then flow.config.threads(THREADS) end
flow.config.enable_auto_mixed_precision(DTYPE == "bfloat16")
flow.random.seed(1)
local model = models[MODEL] or error(("no model is called '%s'"):format(tostring(MODEL)))
print(("%.6f"):format(median(model()) * 1e3))
