-- Prints how long the entries take that a game makes in its frames, with a model of 50 MB and a
-- thousand callbacks due, in milliseconds: the median, two percentiles, and the worst:
--   jfl scripts/bench/frames.lua [frames [part of an entry's name]]
local core = require "jfl.core"
local flow = require "jfl"

local tp = flow.typing

local FRAMES, ONLY = tonumber(arg[1] or 2000), arg[2] or ""
local DUE = 1000
local WIDTH = 3500                       -- WIDTH * WIDTH * 4 bytes are 49 MB
local SLOW, FEW = 0.01, 100              -- an entry of more seconds is repeated fewer times

flow.config.background(true)
flow.config.callback_seconds(0.0005)
flow.config.when_full("busy")
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
local model_rows = define("model_rows", tp.Callback(tp.Numpy), { -1, WIDTH }, large)
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

-- Waits for runs, so that what is measured does not, and makes callbacks due.
local due = 0
local function settle()
  while core.pending() > 0 do core.wait() end
  for _ = due + 1, DUE do ask(later, x) end
  due = DUE
  while core.pending() > 0 do core.wait() end
end

io.stdout:setvbuf("line")

local n = 0
local function next_number()
  n = n + 1
  return n
end

-- { name, function, what is done before each of them }
local entries = {
  { "synchronous call", function() now(x) end },
  { "asynchronous call", function() ask(later, x) end },
  { "asynchronous call of the model", function() ask(model, big) end },
  { "poll", function() flow.poll() end },
  { "poll for 0.5 ms", function() flow.poll(0.0005) end },
  { "cancel", function() flow.cancel(model) end, function()
    ask(model, big)
    ask(model, big)
  end },
  { "definition", function() define("new" .. next_number(), tp.Numpy, FOUR, small) end },
  { "redefinition of the model",
    function() model = define("model", tp.Callback(tp.Numpy), { 1, WIDTH }, large) end,
    function() ask(model, big) end },
  { "first call of a new shape", function(o) rows(o) end,
    function() return flow.ndarray.ones({ next_number(), 16 }) end },
  { "first call of the model's new shape", function(o) ask(model_rows, o) end,
    function() return flow.ndarray.ones({ 1 + next_number() % 64, WIDTH }) end },
  { "asking for a variable's shape", function() flow.variable_info("small-bias") end },
  { "setting a small variable", function(o) flow.load_variables(o) end,
    function() return { ["small-bias"] = flow.ndarray.ones({ 8 }) } end },
  { "reading all variables, async", function() flow.get_all_variables(ASYNC)(nothing) end },
  { "saving, async", function() flow.checkpoint.save(path, OVER_ASYNC)(nothing) end },
  { "asynchronous call behind a save", function() ask(later, x) end,
    function() flow.checkpoint.save(path, OVER_ASYNC)(nothing) end },
  { "reading all variables", flow.get_all_variables },
  { "saving", function() flow.checkpoint.save(path, { overwrite = true }) end },
  { "loading", function() flow.checkpoint.load(path) end },
}

local function time_of(f, argument)
  local start = core.now()
  f(argument)
  return core.now() - start
end

local function measure(entry)
  local times, most = {}, FRAMES
  while #times < most do
    settle()
    local argument = entry[3] and entry[3]()
    times[#times + 1] = time_of(entry[2], argument)
    due = 0
    if #times == 10 and times[10] > SLOW then most = math.min(most, FEW) end
  end
  table.sort(times)
  return times
end

local function at(times, part)
  return times[math.max(1, math.ceil(#times * part))] * 1e3
end

flow.train.CheckPoint():init()
flow.checkpoint.save(path)
print(("%-38s %8s %8s %8s %8s %8s"):format("ms", "p50", "p99", "p99.9", "most", "frames"))
for _, entry in ipairs(entries) do
  if entry[1]:find(ONLY, 1, true) then
    local times = measure(entry)
    print(("%-38s %8.3f %8.3f %8.3f %8.3f %8d"):format(entry[1], at(times, 0.5), at(times, 0.99),
      at(times, 0.999), times[#times] * 1e3, #times))
    flow.sync()
  end
end
os.execute(("rm -rf '%s'"):format(path))
