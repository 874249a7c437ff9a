-- Asynchronous calls: a queue of them in call order, and the callbacks, which run in whoever
-- empties it.
--[==[ guide 4: Calls
A job whose `returns` is a plain type is called synchronously: the call gives the value. With
`tp.Callback(T)` the call queues the run and gives at once a *registrar*, which takes the function
to call with the value, and another for the message should the run fail.

```lua
local square = flow.global_function {
  name = "square",
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  returns = tp.Callback(tp.Numpy),
  body = function(x) return x * x end,
}

local total = 0
for i = 1, 4 do
  square({ i })(function(value) total = total + value:item() end,
    function(message) print("failed: " .. message) end)
end
flow.sync()
print(total)                                     --> 30
```

Callbacks run on the thread that runs Lua, in the order of calls, and only inside

- a later call of a job,
- `flow.poll()`, which runs those that are due and gives their number; `flow.poll(seconds)` begins
  none after that time,
- `flow.sync()`, which waits for every call that is out,
- saving and loading of checkpoints, and the end of the script.

So nothing changes behind a script's back, and no lock is needed. At most
`flow.config.max_inflight()` calls of a job are queued; one more waits for room. A program with an
event loop of its own watches `flow.fd()`, a descriptor that becomes readable when a callback is
due, and then calls `flow.poll()`; it stays readable until nothing is due.

An error inside a callback is raised by whatever ran the callback, with the job's name; those behind
it stay due. A run that fails and has no second function raises its message at the next such point.
A failed train call changes no variable.
]==]
local args = require "jfl.base.args"
local core = require "jfl.core"
local ffi = require "ffi"
local trace = require "jfl.job.trace"

local queue = {
  --- head and tail: the oldest and the newest call whose callbacks have not run, or nil.
  head = nil,
  tail = nil,
  --- What os.exit calls after the callbacks, or nil.
  last = nil,
}

local delivering = false

--- No callback runs inside a callback, nor inside a body, where its ops would join the job.
function queue.is_busy() return delivering or trace.current ~= nil end
local is_busy = queue.is_busy

local function is_due(entry) return not entry.request or core.done(entry.request) end

local watched = false

-- Updates the descriptor, if a host asked for it, to say whether anything is due. A
-- finished run makes it readable; once its results are taken, it must no longer be. It is cleared
-- first, as another run may finish meanwhile.
local function tell_due()
  if not watched then return end
  core.due(false)
  if queue.head and is_due(queue.head) then core.due(true) end
end

--- A file descriptor that is readable as long as a callback is due.
function queue.fd()
  local fd = core.fd()
  watched = true
  tell_due()
  return fd
end

local calls = 0

-- Inserts an entry in call order: at the end, unless its callback was registered late.
local function insert(entry)
  local before, after = nil, queue.head
  if after and queue.tail.number < entry.number then before, after = queue.tail, nil end
  while after and after.number < entry.number do before, after = after, after.next or nil end
  if before then before.next = entry else queue.head = entry end
  entry.next = after or false
  if not after then queue.tail = entry end
  tell_due()
end

-- The watched values of a run: { watch, value } each.
local function views(watches, list)
  local due = {}
  for i, watch in ipairs(watches) do due[i] = { watch, watch.read { list[watch.at] } } end
  return due
end

-- Keeps the outcome of a run: the value if it succeeded, or else its message.
local function keep(entry, ok, ...)
  entry.value, entry.ok, entry.request = (...), ok, false
  if not ok then
    entry.watches = false
  elseif entry.read then
    local list = { ... }
    entry.value = entry.read(list)
    if entry.watches then entry.watches = views(entry.watches, list) end
  end
  return entry
end

-- Takes the results out of a finished run, waiting for it if need be.
local function settle(entry)
  if not entry.request then return end
  core.wait(entry.request)
  keep(entry, core.results(entry.request))
end

-- Adds a traceback that ends where the callback begins, so that the error names the line of whoever
-- ran it.
local function with_trace(err)
  local text = tostring(err)
  if text:find("attempt to yield across C-call boundary", 1, true) then
    text = text .. "; a callback cannot yield"
  end
  return (debug.traceback(text, 2):gsub("\n\t%[C%]: in function 'call'.*", ""))
end

local function run_user(entry, what, fn, value)
  local outer = delivering
  delivering = true
  local ok, err = core.call(with_trace, fn, value)
  delivering = outer
  if not ok then core.fail("%s: error in %s: %s", entry.job.name, what, err) end
  return 1
end

-- Runs the next watch handler of a call that succeeded.
local function show_next(entry)
  local watch, value = unpack(table.remove(entry.watches, 1))
  if #entry.watches == 0 then entry.watches = false end
  return run_user(entry, watch.label, watch.handler, value)
end

-- Runs the next function of the oldest call, a watch handler or the callback; with the callback the
-- call leaves the queue. Returns the number of functions run. Each is taken off the queue first, so
-- that an error in it does not run it again.
local function deliver()
  local entry = queue.head
  settle(entry)
  if entry.watches then return show_next(entry) end
  queue.head = entry.next or nil
  if not queue.head then queue.tail = nil end
  entry.next, entry.parked = false, true
  tell_due()
  if entry.ok then
    return entry.callback and run_user(entry, "a callback", entry.callback, entry.value) or 0
  end
  if entry.on_error then
    return run_user(entry, "a callback", entry.on_error, entry.value)
  end
  if not entry.told then
    entry.told = true
    core.fail("%s", entry.value)
  end
  return 0
end

--- Runs the callbacks that are due, oldest first, and returns their number; after `seconds` it
-- starts no further one. Calls that callbacks make meanwhile are left for later, as a callback that
-- calls its job again would never end. Inside a callback or a body it does nothing.
function queue.poll(seconds)
  if is_busy() then return 0 end
  local stop = seconds and core.now() + args.expect("poll", "seconds", seconds, "number")
  local count, last = 0, calls
  tell_due()
  while queue.head and queue.head.number <= last and is_due(queue.head) do
    count = count + deliver()
    if stop and core.now() >= stop then break end
  end
  return count
end

--- Waits for every outstanding call and runs its callback. Inside a callback or a body it only
-- waits.
function queue.sync()
  if is_busy() then
    while core.pending() > 0 do core.wait() end
    return
  end
  while queue.head do deliver() end
end

local function say(err) io.stderr:write("jfl: ", tostring(err), "\n") end

--- Ends a script: runs every callback, even after one has failed. Errors are printed on stderr as
-- they come, their number is raised at the end.
function queue.finish()
  local failed = 0
  while queue.head do
    local ok, err = pcall(queue.sync)
    if ok then break end
    if err == "interrupted" then error(err, 0) end
    failed = failed + 1
    say(err)
  end
  if failed > 0 then error(("%d outstanding call(s) failed"):format(failed), 0) end
end

-- Waits until a job's queue has room; callbacks that become due meanwhile are run.
local function wait_for_room()
  core.wait()
  queue.poll()
end

--- A new class of objects that a call gives in place of its value, which is not there yet. Reading
-- a name from one or computing with it is an error at the user's line, which ends with `instead`.
function queue.class(instead)
  local class = {}
  function class:__index(key)
    if class[key] ~= nil then return class[key] end
    if key == "value" then return nil end       -- of a job that returns nothing
    core.fail("%s: a call of this job gives no value at once, so it has no '%s'; %s",
      rawget(self, "job").name, tostring(key), instead)
  end
  local function refuse(a, b)
    core.fail("%s: a call of this job gives no value at once to compute with; %s",
      (getmetatable(a) == class and a or b).job.name, instead)
  end
  for event in ("add sub mul div mod pow unm concat lt le"):gmatch("%a+") do
    class["__" .. event] = refuse
  end
  return class
end

--- Registers the callback of a call, and the function that gets the message if its run fails.
function queue.register(entry, callback, on_error)
  local name = entry.job.name
  args.expect(name, "callback", callback, "function")
  if on_error ~= nil then args.expect(name, "on_error", on_error, "function") end
  if entry.callback then core.fail("%s: this call has a callback already", name) end
  entry.callback, entry.on_error = callback, on_error or false
  if entry.parked and (entry.ok or on_error) then
    entry.parked = false
    insert(entry)
  end
end

--- Waits for a call and returns its value; callbacks of earlier calls run first.
function queue.value(entry)
  entry.told = true
  if is_busy() then settle(entry) end
  while not entry.parked and not is_busy() do deliver() end
  if not entry.ok then core.fail("%s", entry.value) end
  return entry.value
end

local Registrar = queue.class("a callback gets the value: job(...)(function(value) ... end)")

function Registrar:__call(callback, on_error) queue.register(self, callback, on_error) end

function Registrar:__tostring() return ("registrar of a call of %s"):format(self.job.name) end

-- The entry of a call, kept until its callback has run. It is also the registrar or future that the
-- user gets, so it has every field from the start: reading any other is taken for a mistake.
--   request   of a run that is not known to be done
--   ok, value of one that is: whether it succeeded, and its value or message
--   watches   what is watched, and once it is done what is still to be shown; false: nothing
--   parked    it is not in the queue (any more); told: its failure was raised
local function new_entry(job, made, request)
  calls = calls + 1
  return setmetatable({
    number = calls, job = job, plan = made.plan, read = made.read or false, request = request,
    ok = false, value = false, callback = false, on_error = false, next = false, parked = false,
    told = false, watches = made.watches or false,
  }, job._gives or Registrar)
end

-- The entry of a run that is done already; nil where there was none.
local function done_entry(job, made, ok, ...)
  if ok ~= nil then return keep(new_entry(job, made, false), ok, ...) end
end

-- Whether as many calls of the job are in flight as its concurrency_width allows.
local function is_full(job)
  local width, count = job.config.concurrency_width, 0
  local entry = width and queue.head
  while entry do
    if entry.job == job and not is_due(entry) then count = count + 1 end
    entry = entry.next or nil
  end
  return width and count >= width
end

local function queued_entry(job, made, ...)
  local request = not is_full(job) and core.submit(made.plan, ...)
  while not request do
    wait_for_room()
    request = not is_full(job) and core.submit(made.plan, ...)
  end
  return new_entry(job, made, request)
end

--- Queues a run of made.plan, or runs it at once where that is quicker. made.read turns the list of
-- results into the value; without it there is one result, which is the value. Handlers of
-- made.watches, if there are any, run before the callback. Returns a registrar, or a future if the
-- job gives those.
function queue.submit(job, made, ...)
  if queue.head then queue.poll() end
  local entry = done_entry(job, made, core.run_small(made.plan, ...))
    or queued_entry(job, made, ...)
  insert(entry)
  return entry
end

--- Runs the callbacks of all calls made so far, waiting for them; does nothing inside a callback.
function queue.catch_up()
  local last = calls
  while not is_busy() and queue.head and queue.head.number <= last do deliver() end
end

--- Calls the handlers of what is watched in a synchronous run, given the list of its results. If
-- one fails, those after it stay due.
function queue.show(job, made, list)
  local entry = new_entry(job, made, false)
  entry.ok, entry.watches = true, views(made.watches, list)
  while entry.watches do
    local ok, err = pcall(show_next, entry)
    if not ok then
      if entry.watches then insert(entry) end
      error(err, 0)
    end
  end
end

--- Waits until no run of plan is in flight, or of any plan; their results stay in the queue.
function queue.leave(plan)
  local entry = queue.head
  while entry do
    if not plan or entry.plan == plan then settle(entry) end
    entry = entry.next or nil
  end
end

-- The end of a script in a host program other than jfl: os.exit, or the state being closed.

local function finish_or_say()
  local ok, err = pcall(queue.finish)
  if not ok then say(err) end
  return ok
end

--- Finishes when the state is closed. LuaJIT finalizes cdata before userdata, so callbacks still
-- find every array.
queue.at_close = ffi.gc(ffi.new("char[1]"), finish_or_say)

-- Leaves the callback or body that called os.exit, which does not return to it, so that outstanding
-- callbacks can run.
local function leave_all()
  delivering, trace.current = false, nil
  core.trace(nil)
end

-- os.exit closes no state and runs no finalizer, and a script may call it anywhere: so it is
-- replaced by one that first does what the end of the script does.
if os and os.exit then
  local exit, exiting, first = os.exit, false, nil
  rawset(os, "exit", function(code, ...)
    -- Callbacks may call os.exit again; the first status counts.
    if exiting then code = first end
    exiting, first = true, code
    leave_all()
    local ok = not queue.head or finish_or_say()
    if queue.last then
      local done, err = pcall(queue.last)
      if not done then say(err) end
      ok = ok and done
    end
    if ok then return exit(code, ...) end
    return exit(1, ...)
  end)
end

return queue
