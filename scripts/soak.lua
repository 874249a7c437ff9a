-- Runs a mixture of calls on three jobs for a while: synchronous, asynchronous, failing and watched
-- ones, futures, checkpoints, temporaries. Ends with 0 if no callback was lost, doubled or out of
-- order, every result was right and, where there was a minute to see it, memory, descriptors,
-- threads and files stayed flat. A soak of a minute or more does also what scripts/soak/passing.lua
-- has, and prints a curve. Usage: jfl scripts/soak.lua [seconds [seed]]
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing

local SECONDS, SEED = tonumber((...)) or 600, tonumber((select(2, ...))) or 1
local ROWS, COLUMNS, UNITS, CLASSES = 64, 256, 256, 10
local GROWTH = 1.05          -- of resident memory, from the first third's peak to the last third's

io.stdout:setvbuf("line")

local count = { started = 0, delivered = 0, failed = 0, watched = 0, expected_watches = 0,
  checked = 0, saves = 0, cancelled = 0 }
math.randomseed(SEED)
flow.random.seed(SEED)

-- ---- three jobs, which share their variables ----

local function logits_of(x)
  local hidden = flow.layers.dense(x, UNITS, { activation = flow.nn.relu, name = "hidden" })
  return flow.layers.dense(hidden, CLASSES, { name = "output" })
end

local function inputs(rows)
  return {
    { "x", tp.Numpy.Placeholder({ rows, COLUMNS }) },
    { "labels", tp.Numpy.Placeholder({ rows }, { dtype = flow.int32 }) },
  }
end

local function watched() count.watched = count.watched + 1 end

local train_job = flow.global_function {
  name = "train_job", type = "train", inputs = inputs(ROWS), returns = tp.Callback(tp.Numpy),
  body = function(x, labels)
    local logits = logits_of(x)
    flow.watch(logits, watched)
    flow.watch_diff(logits, watched)
    local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    flow.optimizer.SGD(0.001, { momentum = 0.9 }):minimize(loss)
    return loss
  end,
}

local predict_job = flow.global_function {
  name = "predict_job", inputs = { { "x", tp.Numpy.Placeholder({ -1, COLUMNS }) } },
  returns = tp.Tuple(tp.Numpy, tp.Numpy),
  body = function(x) return logits_of(x), x * 2 end,
}

local loss_job = flow.global_function {
  name = "loss_job", inputs = inputs(ROWS),
  body = function(x, labels)
    return { loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits_of(x)), x = x }
  end,
}

-- ---- what is done with them ----

local x = nd.rand({ ROWS, COLUMNS })
local good = nd.arange(ROWS, { dtype = flow.int32 }) % CLASSES
local bad = nd.full({ ROWS }, CLASSES, flow.int32)
local next_of = {}           -- job name -> number of the call whose callback is next

local function check(ok, text, ...)
  count.checked = count.checked + 1
  if not ok then error(text:format(...), 2) end
end

-- The two callbacks of a call: exactly one of them must run, after those of the job's earlier
-- calls. fails: what the message says if it is the second one.
local function callbacks(job, fails)
  local queue = next_of[job.name] or { started = 0, delivered = 0 }
  next_of[job.name] = queue
  queue.started, count.started = queue.started + 1, count.started + 1
  local number = queue.started
  local function arrived()
    queue.delivered, count.delivered = queue.delivered + 1, count.delivered + 1
    check(queue.delivered == number, "%s: call %d's callback came as number %d", job.name, number,
      queue.delivered)
  end
  return function(value)
    arrived()
    check(not fails, "%s: a call that fails for its %s succeeded", job.name, tostring(fails))
    if type(value) == "table" then
      check(value.x:get(1, 1) == x:get(1, 1), "%s: another call's value", job.name)
      value = value.loss
    end
    check(value:min() >= 0, "%s: loss %g", job.name, value:min())
  end, function(message)
    arrived()
    count.failed = count.failed + 1
    check(fails and message:find(fails, 1, true), "%s: %s", job.name, tostring(message))
  end
end

local actions = {}

function actions.train()
  count.expected_watches = count.expected_watches + 2
  train_job(x, good)(callbacks(train_job))
end

function actions.failing_train() train_job(x, bad)(callbacks(train_job, "label")) end

function actions.future()
  loss_job(x, good):async_get(callbacks(loss_job))
end

function actions.failing_future()
  loss_job(x, bad):async_get(callbacks(loss_job, "label"))
end

function actions.cancel()
  local registrar = train_job(x, good)
  local taken = flow.cancel(registrar) == 1
  if taken then count.cancelled = count.cancelled + 1
  else count.expected_watches = count.expected_watches + 2 end
  registrar(callbacks(train_job, taken and "cancelled"))
end

function actions.get()
  local value = loss_job(x, good):get()
  check(value.loss:max() < 1e3, "loss_job: loss %g", value.loss:max())
end

function actions.failing_get()
  local ok, message = pcall(function() return loss_job(x, bad):get() end)
  check(not ok and message:find("label", 1, true), "loss_job: %s", tostring(message))
end

function actions.predict()
  local rows = math.random(1, 12)
  local logits, twice = predict_job(x:slice(1, rows))
  check(logits.shape[1] == rows and twice:get(rows, 1) == 2 * x:get(rows, 1), "predict_job: wrong")
end

function actions.wrong_shape()
  local ok, message = pcall(predict_job, nd.zeros { 3, COLUMNS + 1 })
  check(not ok and message:find("must be of shape", 1, true), "predict_job: %s", tostring(message))
end

function actions.temporaries()
  local a = nd.ones { 64, 1024 }
  for _ = 1, 8 do a = a + 1 end
  check(a:mean() == 9, "ndarray: mean %g", a:mean())
end

function actions.poll() flow.poll(0.001) end

function actions.sync() flow.sync() end

local directory = os.tmpname()
os.remove(directory)

local function checkpoint()
  flow.train.CheckPoint():save(directory, { overwrite = true })
  flow.train.CheckPoint():load(directory)
  count.saves = count.saves + 1
end

-- ---- memory ----

local function resident()
  local file = assert(io.open("/proc/self/statm"))
  local pages = select(2, file:read("*n", "*n"))
  file:close()
  return pages * 4096 / 2 ^ 20
end

local peaks = { 0, 0, 0 }

local function sample(part)
  local third = math.min(math.floor(part * 3) + 1, 3)
  peaks[third] = math.max(peaks[third], resident())
end

-- ---- the curve ----

local IS_LONG = SECONDS >= 60
local POINTS, WORLD_EACH = 30, 5000
local passing = IS_LONG and dofile "scripts/soak/passing.lua"
local curve = {}

if IS_LONG then
  print "seconds calls resident_MiB descriptors threads files"
  for name, act in pairs(passing.actions) do actions[name] = act end
end

-- A point of the curve, with nothing queued and no garbage.
local function point(seconds, calls)
  if not IS_LONG or seconds < #curve * SECONDS / POINTS then return end
  flow.sync()
  collectgarbage()
  collectgarbage()
  local at = passing.sample()
  curve[#curve + 1] = at
  print(("%7d %5d %12.1f %11d %7d %5d"):format(seconds, calls, unpack(at)))
end

-- What is largest in the last third is no more than in the first.
local function check_curve()
  local third = math.floor(#curve / 3)
  for i, what in ipairs { "resident memory", "descriptors", "threads", "files" } do
    local first, last = 0, 0
    for k = 2, third do first = math.max(first, curve[k][i]) end
    for k = #curve - third + 1, #curve do last = math.max(last, curve[k][i]) end
    print(("%s: %.1f at most in the first third, %.1f in the last"):format(what, first, last))
    assert(last <= first * (i == 1 and 1.01 or 1), what .. " grew")
  end
end

-- ---- the run ----

local names = {}
for name in pairs(actions) do names[#names + 1] = name end
table.sort(names)

local function report(started)
  local parts = {}
  for name, n in pairs(count) do parts[#parts + 1] = ("%s %d"):format(name, n) end
  table.sort(parts)
  print(("%.0f s: %s; resident MiB %.1f, %.1f, %.1f"):format(os.time() - started,
    table.concat(parts, ", "), unpack(peaks)))
end

local started, told, calls = os.time(), 0, 0
while os.time() - started < SECONDS do
  actions[names[math.random(#names)]]()
  calls = calls + 1
  if calls % 500 == 0 then sample((os.time() - started) / SECONDS) end
  if IS_LONG and calls % WORLD_EACH == 0 then passing.world() end
  point(os.time() - started, calls)
  if calls % 20000 == 0 then checkpoint() end
  if os.time() - started - told >= 60 then
    told = os.time() - started
    report(started)
  end
end
flow.sync()
sample(1)
report(started)
os.execute("rm -rf " .. directory)
if IS_LONG then
  check_curve()
  passing.finish()
end
assert(count.delivered == count.started, "callbacks were lost")
assert(count.watched == count.expected_watches, "watch handlers were lost")
assert(SECONDS < 60 or peaks[3] <= peaks[1] * GROWTH, "resident memory grew")
print("every callback came once and in order")
