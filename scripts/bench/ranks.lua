-- Prints the median milliseconds of a model's training step on the ranks it is started on, which
-- share the batch; each computes on one thread:
--   jfl --ranks 2 scripts/bench/ranks.lua MODEL STEPS
-- Without a model: such steps on two ranks beside those of one process with two threads, and of
-- PyTorch on two processes (DistributedDataParallel over gloo), measured in turn:
--   jfl scripts/bench/ranks.lua
-- JFL_PEER is a Python that has PyTorch.
local core = require "jfl.core"

local MODELS = { { "mlp", 300 }, { "lenet", 40 }, { "gpt2", 5 } }
local ROUNDS, WARM_UP = 3, 5
local CLEAN = "env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS"
local PYTHON = os.getenv "JFL_PEER" or "build/peer/bin/python3"

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

--- All ranks must make the same number of steps.
local function time(name, steps)
  local flow = require "jfl"
  flow.config.threads(1)
  flow.random.seed(1)
  local step, times = dofile("scripts/bench/models.lua")[name](), {}
  for _ = 1, WARM_UP do step() end
  for i = 1, steps do
    local start = core.now()
    step()
    times[i] = core.now() - start
  end
  print(("%.6f"):format(median(times) * 1e3))
end

--- The number that a command prints; not-a-number where it prints none.
local function number_of(command)
  local pipe = io.popen(CLEAN .. " " .. command .. " 2>/dev/null")
  local text = pipe:read "*a"
  pipe:close()
  return tonumber(text) or 0 / 0
end

local function compare(name, steps)
  local jfl, times = arg[-1], { {}, {}, {} }
  local commands = {
    ("%s scripts/bench/steps.lua %s 2"):format(jfl, name),
    ("%s --ranks 2 scripts/bench/ranks.lua %s %d"):format(jfl, name, steps),
    ("%s scripts/bench/peer_ranks.py %s 2 %d"):format(PYTHON, name, steps),
  }
  for _ = 1, ROUNDS do
    for i, command in ipairs(commands) do table.insert(times[i], number_of(command)) end
  end
  local one, two, peer = median(times[1]), median(times[2]), median(times[3])
  print(("%-6s %10.2f %10.2f %10.2f %8.2f %8.2f"):format(name, one, two, peer, two / one,
    peer / two))
end

if arg[1] then
  time(arg[1], tonumber(arg[2]))
else
  print "ms a step: one process with two threads, two ranks, PyTorch on two processes; ratios"
  for _, m in ipairs(MODELS) do compare(m[1], m[2]) end
end
