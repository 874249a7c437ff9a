-- Prints how long the entries take that a game makes in its frames, with a model of 50 MB and a
-- thousand callbacks due, in milliseconds: the median, two percentiles and the worst, by the clock,
-- and of the time that the thread which runs Lua computed itself, so without other programs' part.
-- Behind them stands how often the entry took longer than a millisecond and the thread slept in it:
-- there it waited for something, and not only for a processor that another program had:
--   jfl scripts/bench/frames.lua [frames [seconds [part of an entry's name]]]
-- Each entry is repeated in so many frames, and for so many seconds if that is longer, in a process
-- of its own, so that nothing depends on what the entries before it left behind. A frame gives
-- callbacks a quarter of a millisecond, which is in the times of the entries that run them.
--   jfl scripts/bench/frames.lua hour [frames]
-- plays so many frames in one process, one after another; without a number as many as an hour has
-- at 60 a second. A thousand callbacks of some microseconds are due in each, and each entry occurs
-- in some. It prints the same numbers, and the process's memory, descriptors and threads before and
-- after.
local core = require "jfl.core"
local ffi = require "ffi"
local flow = require "jfl"
local jobs = require "jfl.job.job"
local plan = require "jfl.job.plan"

local tp = flow.typing

local HOUR = arg[1] == "hour"
local FRAMES = tonumber(not HOUR and arg[1] or 2000)
local SECONDS, ONLY = tonumber(arg[2] or 0), arg[3] or ""
local DUE, CALLBACK_SECONDS = 1000, 0.00025
local WIDTH = 3500                       -- WIDTH * WIDTH * 4 bytes are 49 MB
local SLOW, FEW = 0.01, 100              -- an entry of more seconds is repeated fewer times
local WARM_UP = 10

flow.config.background(true)
flow.config.when_full("busy")
flow.config.when_new("queue")
flow.config.max_inflight(2 * DUE)
flow.config.max_plans(4)

local function define(name, returns, shape, body)
  return flow.global_function { name = name, returns = returns,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } }, body = body }
end

local function small(x) return flow.layers.dense(x, 8, { name = "small" }) end
local function large(x) return flow.layers.dense(x, WIDTH, { name = "large" }) end

local FOUR = { 4, 16 }
local now = define("now", tp.Numpy, FOUR, small)
local later = define("later", tp.Callback(tp.Numpy), FOUR, small)
local rows = define("rows", tp.Numpy, { -1, 16 }, small)
local model = define("model", tp.Callback(tp.Numpy), { 1, WIDTH }, large)
local later_rows = define("later_rows", tp.Callback(tp.Numpy), { -1, 16 }, small)
local model_rows = define("model_rows", tp.Callback(tp.Numpy), { -1, WIDTH }, large)
local set = define("set", tp.Callback(tp.Numpy), { 8 }, function(value)
  local bias = flow.get_variable("small-bias", { shape = { 8 },
    initializer = flow.zeros_initializer() })
  return flow.assign(bias, value)
end)
local x, big = flow.ndarray.ones(FOUR), flow.ndarray.ones({ 1, WIDTH })
local path = os.tmpname()
os.remove(path)

local ASYNC, OVER_ASYNC = { async = true }, { async = true, overwrite = true }

local function nothing() end

local function ask(job, value)
  local call = job(value)
  if not call.busy then call(nothing) end
  return call
end

-- Makes calls by fn and waits for their runs, so that what is measured does not: their callbacks
-- are due then, and none has run.
local function make_due(fn)
  flow.config.callback_seconds(0)
  fn()
  while core.pending() > 0 do core.wait() end
  flow.config.callback_seconds(CALLBACK_SECONDS)
end

local function settle()
  flow.sync()
  make_due(function()
    for _ = 1, DUE do ask(later, x) end
  end)
end

io.stdout:setvbuf("line")

local n = 0
local function next_number()
  n = n + 1
  return n
end

local latest                 -- the job defined last; thousands would be a heap that no game has

-- What stays on the thread that runs Lua when a plan is made among the runs.
local function trace_rows() assert(plan.try(later_rows, later_rows, { { 7, 16 } })) end

-- Takes about 0.3 ms, and more only by what else the machine does.
local function compute()
  local sum = 0
  for i = 1, 400000 do sum = sum + i end
  return sum
end

-- { name, function, what is done before each of them; every: how many frames apart in an hour }
local entries = {
  { "a loop of Lua, to compare with", compute },
  { "synchronous call", function() now(x) end, every = 11 },
  { "asynchronous call", function() ask(later, x) end, every = 1 },
  { "asynchronous call of the model", function() ask(model, big) end, every = 13 },
  { "poll", function() flow.poll() end },
  { "poll for 0.25 ms", function() flow.poll(CALLBACK_SECONDS) end, every = 1 },
  { "cancel", function() flow.cancel(model) end, function()
    ask(model, big)
    ask(model, big)
  end, every = 31 },
  { "definition", function() latest = define("new" .. next_number(), tp.Numpy, FOUR, small) end,
    function() if latest then jobs.forget(latest) end end, every = 61 },
  { "redefinition of the model",
    function() model = define("model", tp.Callback(tp.Numpy), { 1, WIDTH }, large) end,
    function() ask(model, big) end, every = 301 },
  { "first call of a new shape", function(o) ask(later_rows, o) end,
    function() return flow.ndarray.ones({ next_number(), 16 }) end, every = 59 },
  { "of it: tracing the body", trace_rows },
  { "synchronous call of a new shape", function(o) rows(o) end,
    function() return flow.ndarray.ones({ next_number(), 16 }) end },
  { "first call of the model's new shape", function(o) ask(model_rows, o) end,
    function() return flow.ndarray.ones({ 1 + next_number() % 64, WIDTH }) end, every = 151 },
  { "asking for a variable's shape", function() flow.variable_info("small-bias") end, every = 37 },
  { "setting a small variable", function(o) flow.load_variables(o) end,
    function() return { ["small-bias"] = flow.ndarray.ones({ 8 }) } end, every = 43 },
  { "setting it, async", function(o) flow.load_variables(o, ASYNC)(nothing) end,
    function() return { ["small-bias"] = flow.ndarray.ones({ 8 }) } end, every = 41 },
  { "setting it by an asynchronous job", function(o) ask(set, o) end,
    function() return flow.ndarray.ones({ 8 }) end, every = 47 },
  { "reading all variables, async", function() flow.get_all_variables(ASYNC)(nothing) end,
    every = 601 },
  { "saving, async", function() flow.checkpoint.save(path, OVER_ASYNC)(nothing) end, every = 599 },
  { "asynchronous call behind a save", function() ask(later, x) end,
    function() flow.checkpoint.save(path, OVER_ASYNC)(nothing) end, every = 1201 },
  { "reading all variables", flow.get_all_variables },
  { "saving", function() flow.checkpoint.save(path, { overwrite = true }) end },
  { "loading", function() flow.checkpoint.load(path) end, every = 607 },
}

ffi.cdef [[
struct jfl_bench_time { long seconds, nanoseconds; };
int clock_gettime(int, struct jfl_bench_time *);
struct jfl_bench_usage { long times_and_sizes[16], slept, preempted; };
int getrusage(int, struct jfl_bench_usage *);
]]
local THREAD = 3                         -- CLOCK_THREAD_CPUTIME_ID
local THREAD_USAGE = 1                   -- RUSAGE_THREAD
local LATE = 0.001
local clock, usage = ffi.new "struct jfl_bench_time", ffi.new "struct jfl_bench_usage"

-- The seconds of a processor that this thread has had.
local function used()
  ffi.C.clock_gettime(THREAD, clock)
  return tonumber(clock.seconds) + tonumber(clock.nanoseconds) * 1e-9
end

-- How often this thread gave its processor up by itself.
local function sleeps()
  ffi.C.getrusage(THREAD_USAGE, usage)
  return tonumber(usage.slept)
end

-- How long the entry takes, how much of that this thread computed, and whether it was late and the
-- thread slept: 1 or 0.
local function time_of(entry)
  local argument = entry[3] and entry[3]()
  local slept, before, start = sleeps(), used(), core.now()
  entry[2](argument)
  local took, own = core.now() - start, used() - before
  return took, own, took > LATE and sleeps() > slept and 1 or 0
end

-- The times of one frame.
local function frame(entry)
  settle()
  return time_of(entry)
end

-- The times of an entry, the processor's, and how often it waited, after frames that load modules
-- and are compiled.
local function measure(entry)
  for _ = 1, WARM_UP do frame(entry) end
  local all, own, waited, most, ends = {}, {}, 0, FRAMES, core.now() + SECONDS
  while #all < most or core.now() < ends do
    local late
    all[#all + 1], own[#own + 1], late = frame(entry)
    waited = waited + late
    if #all == 10 and all[10] > SLOW then most = math.min(most, FEW) end
  end
  return all, own, waited
end

local function columns(times)
  table.sort(times)
  local function at(part) return times[math.max(1, math.ceil(#times * part))] * 1e3 end
  return (" %8.3f %8.3f %8.3f %8.3f"):format(at(0.5), at(0.99), at(0.999), times[#times] * 1e3)
end

local HEAD = (" %8s %8s %8s %8s"):format("p50", "p99", "p99.9", "most")

local function print_row(entry, all, own, waited)
  print(("%-35s %s  %s  %6d %6d"):format(entry[1], columns(all), columns(own), #all, waited))
end

-- Calls fn with variables and a checkpoint of them, which is removed behind it.
local function with_checkpoint(fn)
  flow.train.CheckPoint():init()
  flow.checkpoint.save(path)
  fn()
  flow.sync()
  os.execute(("rm -rf '%s'"):format(path))
end

local function show(entry)
  with_checkpoint(function() print_row(entry, measure(entry)) end)
end

-- ---- an hour of frames ----

local waiting = 0            -- callbacks that are due or will be

-- Takes some microseconds, as a game's callbacks do.
local function answer()
  local sum = 0
  for i = 1, 10000 do sum = sum + i end
  waiting = waiting - 1
  return sum
end

-- Makes up for the callbacks that have run; those of other entries come among them.
local function fill_up()
  make_due(function()
    while waiting < DUE do
      later(x)(answer)
      waiting = waiting + 1
    end
  end)
end

-- The process's memory in MB, its open descriptors and its threads, as text.
local function held()
  collectgarbage()
  collectgarbage()
  local status = assert(io.open("/proc/self/status")):read("*a")
  local list = assert(io.popen("ls /proc/$PPID/fd | wc -l"))
  local descriptors = list:read("*n")
  list:close()
  return ("%.1f, %d, %d"):format(status:match("VmRSS:%s*(%d+)") / 1024, descriptors,
    status:match("Threads:%s*(%d+)"))
end

-- Room for the times of an entry that occurs in so many frames. In tables of Lua they would be a
-- heap that no game has.
local function new_times(frames, every)
  local most = math.ceil(frames / every) + 1
  return { n = 0, waited = 0, all = ffi.new("double[?]", most), own = ffi.new("double[?]", most) }
end

-- Plays a frame: the entries whose turn it is. Keeps their times if it is given room for them.
local function play(number, times)
  fill_up()
  for i, entry in ipairs(entries) do
    if entry.every and (number + i) % entry.every == 0 then
      local all, own, waited = time_of(entry)
      local kept = times and times[i]
      if kept then
        kept.all[kept.n], kept.own[kept.n], kept.n = all, own, kept.n + 1
        kept.waited = kept.waited + waited
      end
    end
  end
end

local function numbers(array, count)
  local list = {}
  for i = 1, count do list[i] = array[i - 1] end
  return list
end

local function hour(frames)
  for i = 1, 1300 do play(i) end               -- each entry is in these, which compile and load
  local times = {}
  for i, entry in ipairs(entries) do
    times[i] = entry.every and new_times(frames, entry.every)
  end
  local before, start = held(), core.now()
  for i = 1, frames do play(i, times) end
  local seconds, after = core.now() - start, held()
  for i, entry in ipairs(entries) do
    local kept = times[i]
    if kept and kept.n > 0 then
      print_row(entry, numbers(kept.all, kept.n), numbers(kept.own, kept.n), kept.waited)
    end
  end
  print(("%d frames in %.0f s; MB, descriptors, threads: %s; then %s"):format(frames, seconds,
    before, after))
end

if arg[4] then return show(entries[tonumber(arg[4])]) end
print(("%-35s   %-36s   %s"):format("ms", "by the clock", "the thread's own"))
print(("%-35s %s  %s   frames waited"):format("", HEAD, HEAD))
if HOUR then
  return with_checkpoint(function() hour(tonumber(arg[2] or 216000)) end)
end
for i, entry in ipairs(entries) do
  if entry[1]:find(ONLY, 1, true) then
    os.execute(("'%s' '%s' %d %d '' %d"):format(arg[-1], arg[0], FRAMES, SECONDS, i))
  end
end
