-- Prints the median milliseconds of a model: jfl scripts/bench/steps.lua MODEL [threads]
local core = require "jfl.core"
local flow = require "jfl"
local models = dofile "scripts/bench/models.lua"

local MODEL, THREADS = arg[1], tonumber(arg[2])
local WARM_UP, LEAST = 10, 20
local SECONDS = tonumber(os.getenv "JFL_BENCH_SECONDS" or 3)

--- The median of at least LEAST runs over SECONDS.
local function median(f)
  for _ = 1, WARM_UP do f() end
  local times, begin = {}, core.now()
  while #times < LEAST or core.now() - begin < SECONDS do
    local start = core.now()
    f()
    times[#times + 1] = core.now() - start
  end
  table.sort(times)
  return times[math.ceil(#times / 2)]
end

if THREADS then flow.config.threads(THREADS) end
flow.random.seed(1)
local model = models[MODEL] or error(("no model is called '%s'"):format(tostring(MODEL)))
print(("%.6f"):format(median(model()) * 1e3))
