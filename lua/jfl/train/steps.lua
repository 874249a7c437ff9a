-- The steps of flow.fit. In the background a job is called without waiting; the loop, a coroutine,
-- goes on when results arrive, as the host polls.
local core = require "jfl.core"
local feed = require "jfl.train.feed"
local job = require "jfl.job.job"

local steps = {}

local STDERR = 2

-- ---- calls ----

-- What a call gave, one by one: a Tuple is a list of values where it arrives late.
local function results(called, value, ...)
  if called._returns.kind == "Tuple" and type(value) == "table" then return unpack(value) end
  return value, ...
end

local function go_on(run)
  local ok, err = coroutine.resume(run.thread)
  if not ok then error(err, 0) end
end

local function arrived(run)
  run.pending = run.pending - 1
  if run.asleep and not run.done then go_on(run) end
end

-- Sleeps until no more than `most` calls are under way; fails if one has.
local function rest(run, most)
  while run.pending > most and not run.failed do
    run.asleep = true
    coroutine.yield()
    run.asleep = false
  end
  if run.failed then error(run.failed, 0) end
end

local function send_late(run, called, deliver, ...)
  run.pending = run.pending + 1
  core.register(job.submit(called, ...), function(...)
    deliver(results(called, ...))
    arrived(run)
  end, function(message)
    run.failed = run.failed or message
    arrived(run)
  end)
  rest(run, run.ahead - 1)
end

-- Calls a job and gives its results to deliver(): now, or in the background later.
local function send(run, called, deliver, ...)
  if run.thread then return send_late(run, called, deliver, ...) end
  if called._async then return deliver(results(called, core.value(called(...)))) end
  return deliver(called(...))
end

-- Gives send() those of a batch's values that the job takes, at these positions.
local function send_picked(run, called, positions, deliver, ...)
  local n, in_order = #positions, true
  for i = 1, n do in_order = in_order and positions[i] == i end
  if in_order and select("#", ...) == n then return send(run, called, deliver, ...) end
  local all, some = { ... }, {}
  for i, position in ipairs(positions) do some[i] = all[position] end
  return send(run, called, deliver, unpack(some, 1, n))
end

-- ---- numbers ----

-- A loss as a number: the mean of an array, or of what a table of results has as its loss, or of
-- the parts that several devices give.
local function number_of(run, loss)
  if type(loss) == "number" then return loss end
  if core.type(loss) == "array" then return loss:mean() end
  if type(loss) == "table" and loss.loss then return number_of(run, loss.loss) end
  if type(loss) == "table" and #loss > 0 then
    local sum = 0
    for _, part in ipairs(loss) do sum = sum + number_of(run, part) end
    return sum / #loss
  end
  core.fail("fit: job '%s' must return its loss first, got %s", run.job.name,
    loss == nil and "nothing" or tostring(loss))
end

local function rows_of(value)
  return core.type(value) == "array" and #value.shape > 0 and #value or 1
end

-- ---- training ----

local function learned(run, rows, loss)
  run.loss = number_of(run, loss)
  run.within = false
  run.sum, run.rows, run.step = run.sum + rows * run.loss, run.rows + rows, run.step + 1
  if run.bar then
    run.bar.loss = run.sum / run.rows
    run.bar()
  end
  for _, callback in ipairs(run.on_step) do callback(run) end
end

local function step(run, first, ...)
  if first == nil then return false end
  local rows = rows_of(first)
  run.within = true              -- a batch was taken and its step is not done
  send_picked(run, run.job, run.positions, function(loss) learned(run, rows, loss) end, first, ...)
  return true
end

--- Trains with the batches that are left of an epoch.
function steps.train(run)
  if run.bar then run.bar() end
  while not run.stopped and step(run, run.feed:next()) do end
  rest(run, 0)
  if run.bar and core.columns(STDERR) then run.bar:close() end
end

--- Has what arrives later go nowhere.
function steps.abandon(run)
  run.asleep, run.pending = false, math.huge
end

-- ---- validation ----

local function validate_batch(run, counters, sum, first, ...)
  if first == nil then return false end
  local n, rows = select("#", ...), rows_of(first)
  local labels = n == 0 and first or (select(n, ...))
  send_picked(run, run.predict, run.predict_positions, function(a, b)
    local said = a
    if run.predict_gives_loss then
      sum.loss, sum.rows, said = sum.loss + rows * number_of(run, a), sum.rows + rows, b
    end
    for _, counter in ipairs(counters) do counter:add(said, labels) end
  end, first, ...)
  return true
end

--- Has the counters count the predictions for the validation's batches, whose last values are the
-- labels; gives the mean loss where the job tells it.
function steps.validate(run, counters)
  local source = feed.new("fit: validation", run.validation, run.predict, run.validation_options)
  local sum = { loss = 0, rows = 0 }
  source:begin()
  while validate_batch(run, counters, sum, source:next()) do end
  rest(run, 0)
  source:close()
  return sum.rows > 0 and sum.loss / sum.rows or nil
end

return steps
