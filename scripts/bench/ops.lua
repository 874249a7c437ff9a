-- Prints what the heavy steps of a model take on one core and on all, and how near that is to what
-- the machine can do: jfl scripts/bench/ops.lua MODEL...
-- Winograd's convolutions count as direct ones, so that they may pass 100% of FMA.
-- A step's time is that of the fastest round; the peaks are measured between the rounds, since the
-- machine's speed drifts.
local core = require "jfl.core"
local flow = require "jfl"
local profile = require "jfl.tools.profile"
local models = dofile "scripts/bench/models.lua"

local ROUNDS, SECONDS = 12, 0.15
local LEAST = 0.003             -- share of a step in all time below which it is not shown

local function runs_of(step)
  local start = core.now()
  step()
  return math.max(1, math.floor(SECONDS / (core.now() - start)))
end

--- The rows of a model's steps in the plan's order and by name, with the seconds of the fastest
-- round, and the best peaks.
local function measure(model, threads)
  flow.clear_default_session()
  flow.random.seed(1)
  flow.config.threads(threads)
  local step, rows = models[model](), {}
  for _ = 1, 5 do step() end
  local runs, flop, bytes = runs_of(step), 0, 0
  for _ = 1, ROUNDS do
    local peak_flop, peak_bytes = core.machine_peak(threads)
    flop, bytes = math.max(flop, peak_flop), math.max(bytes, peak_bytes)
    core.profile_start(0)
    for _ = 1, runs do step() end
    for i, row in ipairs(core.profile_stop()) do
      row.seconds = row.seconds / row.runs
      if not rows[i] or row.seconds < rows[i].seconds then rows[i], rows[row.name] = row, row end
    end
  end
  return rows, flop, bytes
end

--- Says whether arithmetic or memory bounds a step, and the share of that peak it reaches.
-- "cached": its operands stay in the caches and arrive faster than copies in memory.
local function share(row, flop, bytes)
  local by_flop, by_bytes = row.flop / flop, row.bytes / bytes
  if by_flop >= by_bytes then return ("%.0f%% of FMA"):format(100 * by_flop / row.seconds) end
  if by_bytes > row.seconds then return "cached" end
  return ("%.0f%% of copy"):format(100 * by_bytes / row.seconds)
end

local function total(rows)
  local sum = 0
  for _, row in ipairs(rows) do sum = sum + row.seconds end
  return sum
end

local LINE = "%-40s %-8s %9s %12s %9s %12s"

local function print_model(model)
  local cores = core.get("threads")
  local one, flop_1, bytes_1 = measure(model, 1)
  local all, flop_n, bytes_n = measure(model, cores)
  local sum = total(one)
  print(LINE:format(model .. ": step", "kernel", "1 core us", "", cores .. " cores us", ""))
  for _, row in ipairs(one) do
    local many = all[row.name]
    if row.seconds >= LEAST * sum and many then
      print(LINE:format(profile.title(row):sub(1, 40), profile.family(row.kernel),
        ("%.1f"):format(row.seconds * 1e6), share(row, flop_1, bytes_1),
        ("%.1f"):format(many.seconds * 1e6), share(many, flop_n, bytes_n)))
    end
  end
  print(LINE:format("all steps", "", ("%.1f"):format(sum * 1e6), "",
    ("%.1f"):format(total(all) * 1e6), ""))
  print(("peaks: %.0f and %.0f GFLOP/s in registers; copies in memory %.0f and %.0f GB/s\n"):format(
    flop_1 / 1e9, flop_n / 1e9, bytes_1 / 1e9, bytes_n / 1e9))
end

local CORES = core.get("threads")
for _, model in ipairs(arg) do
  core.set("threads", CORES)
  print_model(model)
end
