-- How steps fare beside other programs: each load is made here, and each model's median step is
-- measured beside it with all threads and with one.
--   jfl scripts/bench/load.lua [load...]
-- With JFL_PEER naming a Python that has PyTorch, PyTorch is measured beside the same load with one
-- thread and with all, of which the better counts. The ratios wanted are at most 1.10 and 0.60.
local CLEAN = "env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS"
local SECONDS = tonumber(os.getenv "JFL_BENCH_SECONDS" or 2)
local PEER = os.getenv "JFL_PEER"

-- Name, and what runs: kind, core (-1: any), nice. Nice values below 0 need root.
local loads = {
  { "none" },
  { "loop", { "loop", -1, 0 } },
  { "loops", { "loop", -1, 0 }, { "loop", -1, 0 } },
  { "stream", { "stream", -1, 0 } },
  { "streams", { "stream", -1, 0 }, { "stream", -1, 0 } },
  { "both", { "loop", -1, 0 }, { "stream", -1, 0 } },
  { "loop-first", { "loop", 0, -20 } },
  { "loop-last", { "loop", 1, -20 } },
  { "stream-last", { "stream", 1, -20 } },
  { "nice-loops", { "loop", 0, 19 }, { "loop", 1, 19 } },
}

local models = { "lenet", "mlp" }

local function output_of(command)
  local pipe = io.popen(command .. " 2>/dev/null")
  local text = pipe:read "*a"
  pipe:close()
  return text
end

--- Starts what a load is made of, for at most `seconds`; gives the processes, or nil where one
-- could not be made.
local function start(load, seconds)
  local running = {}
  for i = 2, #load do
    local pipe = io.popen(("exec build/bench-load %s %d %d %d 2>/dev/null"):format(
      load[i][1], load[i][2], load[i][3], seconds))
    running[#running + 1] = { pipe = pipe, id = pipe:read "*l" }
    if not running[#running].id then return nil, running end
  end
  os.execute "sleep 0.3"
  return running, running
end

local function stop(processes)
  for _, p in ipairs(processes) do
    if p.id then os.execute("kill -9 " .. p.id) end
    p.pipe:close()
  end
end

local function ours(model, threads)
  return tonumber(output_of(("%s JFL_BENCH_SECONDS=%g %s scripts/bench/steps.lua %s %s"):format(
    CLEAN, SECONDS, arg[-1], model, threads)))
end

local function peer(model, threads)
  return PEER and tonumber(output_of(("%s OPENBLAS_NUM_THREADS=1 %s scripts/bench/peer_steps.py "
    .. "%s %d contiguous eager %g"):format(CLEAN, PEER, model, threads, SECONDS)))
end

local cores = tonumber(output_of "nproc")
local row = "%-12s %-6s %9s %9s %6s %9s %6s"

local function measure(load, model)
  local all, one = ours(model, ""), ours(model, 1)
  local theirs = peer(model, cores)
  if theirs then theirs = math.min(theirs, peer(model, 1)) end
  print(row:format(load, model, ("%.3f"):format(all), ("%.3f"):format(one),
    ("%.2f"):format(all / math.min(all, one)), theirs and ("%.3f"):format(theirs) or "-",
    theirs and ("%.2f"):format(all / theirs) or "-"))
  io.stdout:flush()
end

local wanted = {}
for _, name in ipairs(arg) do wanted[name] = true end
print(row:format("load", "model", "all ms", "one ms", "ratio", "PyTorch", "ratio"))
for _, load in ipairs(loads) do
  if not next(wanted) or wanted[load[1]] then
    local running, started = start(load, 120)
    if running then
      for _, model in ipairs(models) do measure(load[1], model) end
    else
      print(load[1] .. ": could not be made; a nice value below 0 needs root")
    end
    stop(started)
  end
end
