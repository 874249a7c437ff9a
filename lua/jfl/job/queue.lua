-- Asynchronous calls: one queue in call order; who drains it runs the callbacks.
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

In the old spelling, a job without `returns` gives a future:

```lua
local job = flow.global_function(flow.function_config(), {
  name = "old",
  inputs = { { "x", flow.FixedTensorDef({ 2 }) } },
  body = function(x) return x + 1 end,
})
print(job({ 1, 2 }):get())                       --> [2. 3.]
job({ 3, 4 }):async_get(function(value) print(value) end)
flow.sync()                                      --> [4. 5.]
```
]==]
local args = require "jfl.base.args"
local core = require "jfl.core"
local ffi = require "ffi"
local trace = require "jfl.job.trace"

local async = {
  --- The oldest and the newest call whose callbacks have not run, or nil.
  head = nil,
  tail = nil,
  --- What os.exit calls after the callbacks, or nil.
  last = nil,
}

local delivering = false

-- Inside a callback, and inside a body, where its ops would join the job, no callback is run.
local function is_busy() return delivering or trace.current ~= nil end

local function is_due(entry) return not entry.request or core.done(entry.request) end

local watched = false

-- Has the descriptor, if a host asked for it, say whether anything is due: finished runs make it
-- readable, what takes their results makes it so no longer. It is cleared first, as a run may
-- finish meanwhile.
local function tell_due()
  if not watched then return end
  core.due(false)
  if async.head and is_due(async.head) then core.due(true) end
end

--- A file descriptor that is readable as long as a callback is due.
function async.fd()
  local fd = core.fd()
  watched = true
  tell_due()
  return fd
end

local calls = 0

-- Puts an entry where its call belongs, which is last unless its callback came late.
local function insert(entry)
  local before, after = nil, async.head
  if after and async.tail.number < entry.number then before, after = async.tail, nil end
  while after and after.number < entry.number do before, after = after, after.next or nil end
  if before then before.next = entry else async.head = entry end
  entry.next = after or false
  if not after then async.tail = entry end
  tell_due()
end

-- What is to be shown of a run: { watch, value } each.
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

-- The traceback ends where the callback begins: who ran it is blamed for the error.
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

-- Runs what is due next of the oldest call, a watch handler or its callback, with which it leaves
-- the queue; gives the number of functions run. What is run is taken off first, so that an error in
-- it does not run it again.
local function deliver()
  local entry = async.head
  settle(entry)
  if entry.watches then return show_next(entry) end
  async.head = entry.next or nil
  if not async.head then async.tail = nil end
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

--- Runs the callbacks that are due, oldest first, and gives their number; with `seconds` no further
-- one is begun once that time is used up. Calls that callbacks make meanwhile are left for later:
-- one that calls its job again would be run for ever. Inside a callback or a body it does nothing.
function async.poll(seconds)
  if is_busy() then return 0 end
  local stop = seconds and core.now() + args.expect("poll", "seconds", seconds, "number")
  local count, last = 0, calls
  tell_due()
  while async.head and async.head.number <= last and is_due(async.head) do
    count = count + deliver()
    if stop and core.now() >= stop then break end
  end
  return count
end

--- Waits for every outstanding call and runs its callback. Inside a callback or a body it only
-- waits.
function async.sync()
  if is_busy() then
    while core.pending() > 0 do core.wait() end
    return
  end
  while async.head do deliver() end
end

local function say(err) io.stderr:write("jfl: ", tostring(err), "\n") end

--- What the end of the script does: runs every callback, also those behind one that fails. Errors
-- are told on stderr as they come, their number is raised at the end.
function async.finish()
  local failed = 0
  while async.head do
    local ok, err = pcall(async.sync)
    if ok then break end
    if err == "interrupted" then error(err, 0) end
    failed = failed + 1
    say(err)
  end
  if failed > 0 then error(("%d outstanding call(s) failed"):format(failed), 0) end
end

-- Waits for room in the queue of a job; callbacks that become due meanwhile are run.
local function wait_for_room()
  core.wait()
  async.poll()
end

local Registrar = {}
local Future = {}

-- Neither is the value: what is asked of it or computed with it is an error that says where it is.
local function stand_in(class, instead)
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
end

stand_in(Registrar, "a callback gets the value: job(...)(function(value) ... end)")
stand_in(Future, "job(...):get() waits for the value")

local function register(entry, callback, on_error)
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

--- Registers the callback of a call, and what is told of the failure of its run.
function Registrar:__call(callback, on_error) register(self, callback, on_error) end

function Registrar:__tostring() return ("registrar of a call of %s"):format(self.job.name) end

local function check_future(self, method)
  if getmetatable(self) == Future then return end
  core.fail("%s: call it with a colon: future:%s(...)", method, method)
end

--- Registers a callback (old spelling).
function Future:async_get(callback, on_error)
  check_future(self, "async_get")
  register(self, callback, on_error)
end

--- Waits for the call and gives its value; callbacks of earlier calls run first.
function Future:get()
  check_future(self, "get")
  self.told = true
  if is_busy() then settle(self) end
  while not self.parked and not is_busy() do deliver() end
  if not self.ok then core.fail("%s", self.value) end
  return self.value
end

function Future:__call()
  core.fail("%s: a job without `returns` gives a future: job(...):async_get(callback), or "
    .. "job(...):get(), which waits for the value", self.job.name)
end

function Future:__tostring() return ("future of a call of %s"):format(self.job.name) end

-- What is kept of a call until its callback has run, and handed out as its registrar or future. It
-- has every field from the start: others are asked for by who takes a call for its result.
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
  }, job.old_style and Future or Registrar)
end

-- The entry of a run that was done at once, nil where there was none.
local function done_entry(job, made, ok, ...)
  if ok ~= nil then return keep(new_entry(job, made, false), ok, ...) end
end

-- Whether as many calls of the job are in flight as its concurrency_width allows.
local function is_full(job)
  local width, count = job.config.concurrency_width, 0
  local entry = width and async.head
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
-- results into the value; nil: there is one result and it is the value. Before its callback runs,
-- made.watches are shown, if there are any. Gives a registrar, or a future where the job is of the
-- old spelling.
function async.submit(job, made, ...)
  if async.head then async.poll() end
  local entry = done_entry(job, made, core.run_small(made.plan, ...))
    or queued_entry(job, made, ...)
  insert(entry)
  return entry
end

--- Runs the callbacks of all calls made so far, waiting for them; inside a callback, none.
function async.catch_up()
  local last = calls
  while not is_busy() and async.head and async.head.number <= last do deliver() end
end

--- Shows what a synchronous run made, given the list of its results. What is behind a handler that
-- fails stays due.
function async.show(job, made, list)
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

--- Waits until no run of plan is in flight, or of any plan; results stay queued.
function async.leave(plan)
  local entry = async.head
  while entry do
    if not plan or entry.plan == plan then settle(entry) end
    entry = entry.next or nil
  end
end

-- The end of a script in a host that is not ours: os.exit, or the state being closed.

local function finish_or_say()
  local ok, err = pcall(async.finish)
  if not ok then say(err) end
  return ok
end

--- A state that is closed finalizes cdata first, so callbacks find every array still there.
async.at_close = ffi.gc(ffi.new("char[1]"), finish_or_say)

-- A callback or a body that ends the process does not return: what is left runs here, as it would
-- elsewhere.
local function leave_all()
  delivering, trace.current = false, nil
  core.trace(nil)
end

if os and os.exit then
  local exit, exiting, first = os.exit, false, nil
  rawset(os, "exit", function(code, ...)
    -- The first status counts, where callbacks end the process too.
    if exiting then code = first end
    exiting, first = true, code
    leave_all()
    local ok = not async.head or finish_or_say()
    if async.last then
      local done, err = pcall(async.last)
      if not done then say(err) end
      ok = ok and done
    end
    if ok then return exit(code, ...) end
    return exit(1, ...)
  end)
end

return async
