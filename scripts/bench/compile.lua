-- What it takes to define and compile jobs of growing size, and how that grows: an exponent of 1
-- says in proportion, 2 with the square. Time is the processor's, the least of some rounds.
--   jfl scripts/bench/compile.lua [kind...]
local flow = require "jfl"
local kinds = require "scripts.bench.growing"

local ROUNDS, ENOUGH = 3, 2      -- one round where a size takes more than ENOUGH seconds

local function seconds_of(run, n)
  flow.clear_default_session()
  collectgarbage()
  local start = os.clock()
  run(n)
  return os.clock() - start
end

local function least(run, n)
  local best = seconds_of(run, n)
  for _ = 2, ROUNDS do
    if best > ENOUGH then break end
    best = math.min(best, seconds_of(run, n))
  end
  return best
end

local function show(name, what, sizes, run)
  print(("%s: %s"):format(name, what))
  local before, n_before
  for _, n in ipairs(sizes) do
    local t = least(run, n)
    local exponent = before and math.log(t / before) / math.log(n / n_before)
    local growth = exponent and ("   grows as n^%.2f"):format(exponent) or ""
    print(("  %6d %9.3f s %8.1f us each%s"):format(n, t, t / n * 1e6, growth))
    before, n_before = t, n
  end
end

local wanted = {}
for _, name in ipairs(arg) do wanted[name] = true end
for _, k in ipairs(kinds) do
  if not next(wanted) or wanted[k[1]] then show(unpack(k)) end
end
