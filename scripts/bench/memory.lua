-- Times ops that take rows, and a memcpy that reads and writes as many bytes on as many threads:
--   jfl scripts/bench/memory.lua [THREADS [PART OF A NAME]]
-- at a size that caches hold and at one that they do not. A job's time is that of its steps in the
-- fastest run, without the call; copies are made by build/bench-copy, in turn with the runs.
local core = require "jfl.core"
local flow = require "jfl"

local tp = flow.typing
local nd = flow.ndarray

local THREADS = tonumber(arg[1]) or core.get "threads"
local WANTED = arg[2] or ""
local ROUNDS, SECONDS = 3, 0.2

-- Name, shape of x, shape of each param, what is computed. N stands for 256 or for 16384.
local rows = {
  { "x + 1", { "N", 1024 }, nil, function(x) return x + 1 end },
  { "softmax", { "N", 1024 }, nil, function(x) return flow.nn.softmax(x) end },
  { "logsoftmax", { "N", 1024 }, nil, function(x) return flow.nn.logsoftmax(x) end },
  { "layer norm", { "N", 1024 }, { 1024 },
    function(x, g, b) return flow.nn.layer_norm(x, g, b) end },
  { "rms norm", { "N", 1024 }, { 1024 }, function(x, g) return flow.nn.rms_norm(x, g) end },
  { "group norm, 8 of 64 channels", { "N/64", 64, 32, 32 }, { 64 }, function(x, g, b)
    return (core.op "row_norm"(x, { g, b }, { axis = 1, groups = 8, scale = true, shift = true }))
  end },
  { "batch norm as in prediction", { "N/64", 64, 32, 32 }, { 1, 64, 1, 1 },
    function(x, g, b) return (x - b) * g + b end },
  { "sum of each row", { "N", 1024 }, nil, function(x) return flow.math.reduce_sum(x, 1) end },
  { "mean of each column", { "N", 1024 }, nil, function(x) return flow.math.reduce_mean(x, 0) end },
  { "mean of each channel", { "N/64", 64, 32, 32 }, nil,
    function(x) return flow.nn.global_avg_pool(x) end },
}

local function shape_of(row, n)
  local shape = {}
  for i, d in ipairs(row[2]) do shape[i] = d == "N" and n or d == "N/64" and n / 64 or d end
  return shape
end

local function bytes_of(list)
  local bytes = 0
  for _, a in ipairs(list) do bytes = bytes + a.size * 4 end
  return bytes
end

--- A function that runs the row once and gives the seconds of its steps; and how many bytes the
-- row must read and write.
local function step_of(row, n)
  flow.clear_default_session()
  flow.config.threads(THREADS)
  local shape = shape_of(row, n)
  local list, arrays = { shape, row[3], row[3] }, {}
  local inputs = {}
  for i = 1, row[3] and 3 or 1 do
    arrays[i] = nd.rand(list[i])
    inputs[i] = { "x" .. i, tp.Numpy.Placeholder(list[i]) }
  end
  local job = flow.global_function {
    name = "row", inputs = inputs, returns = tp.Numpy, body = row[4],
  }
  local out = job(unpack(arrays))
  local bytes = bytes_of { arrays[1], out }
  out:free()
  return function()
    core.profile_start(0)
    job(unpack(arrays)):free()
    local seconds = 0
    for _, step in ipairs(core.profile_stop()) do seconds = seconds + step.seconds end
    return seconds
  end, bytes
end

local function fastest(step)
  local best, begin = math.huge, core.now()
  while core.now() - begin < SECONDS do best = math.min(best, step()) end
  return best
end

local function copy(bytes)
  local pipe = io.popen(("build/bench-copy %d %d"):format(THREADS, bytes))
  local seconds = tonumber(pipe:read "*l")
  pipe:close()
  assert(seconds, "make build/bench-copy builds what copies")
  return seconds
end

local LINE = "%-30s %10s %12s %12s %6s"
print(LINE:format(THREADS .. (THREADS == 1 and " thread" or " threads"), "MB moved", "us",
  "memcpy us", "ratio"))
for _, n in ipairs { 256, 16384 } do
  for _, row in ipairs(rows) do
    if row[1]:find(WANTED, 1, true) then
      local step, bytes = step_of(row, n)
      local mine, other = math.huge, math.huge
      for _ = 1, ROUNDS do
        mine, other = math.min(mine, fastest(step)), math.min(other, copy(bytes))
      end
      print(LINE:format(row[1], ("%.1f"):format(bytes / 1e6), ("%.1f"):format(mine * 1e6),
        ("%.1f"):format(other * 1e6), ("%.2f"):format(mine / other)))
      io.stdout:flush()
    end
  end
end
