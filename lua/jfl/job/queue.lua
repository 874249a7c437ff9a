-- Asynchronous calls: what calls give, what runs their callbacks, and the end of a program. The
-- queue of calls is kept by the core, so that no error from outside leaves it half changed.
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

**Frames.** `flow.config.callback_seconds(s)` is for programs that draw: a call, `flow.poll()`,
reading or setting variables, saving and loading begin no callback of another call after `s`
seconds of them. What is left stays due, in its order. With 0, as after
`flow.config.background(true)`, only `flow.poll` and `flow.sync` run callbacks. A callback that
takes longer by itself is told of once, with its line, and handlers of a watch in a synchronous call
come after callbacks that are due before them. `flow.poll(seconds)` has a time of its own, and
`flow.sync()` none. After `flow.config.when_full("busy")` a call for which there is no room is not
made, in place of waiting: what it gives has `busy`, and its second function is told.

```lua
local square = flow.global_function {
  name = "square",
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  returns = tp.Callback(tp.Numpy),
  body = function(x) return x * x end,
}
flow.config.callback_seconds(0)
flow.config.when_full("busy")
local asked, answered = 0, 0
local function frame()
  local call = square({ 7 })
  if not call.busy then
    asked = asked + 1
    call(function() answered = answered + 1 end)
  end
  flow.poll(0.002)                               -- of the frame's 16 ms
end
for _ = 1, 100 do frame() end
flow.sync()
print(asked > 0, asked == answered)              --> true	true
```

`make bench-frames` measures the entries with a thousand callbacks due, `callback_seconds(0.0005)`,
and variables of 49 MB. In milliseconds, on two cores beside other programs that kept both busy:

| | median | 99 % | most of 300 |
|---|---:|---:|---:|
| synchronous call of a small job | 0.59 | 0.93 | 1.0 |
| asynchronous call | 0.59 | 0.79 | 13 |
| asynchronous call of the large job | 0.63 | 0.99 | 4.1 |
| poll | 0.59 | 1.2 | 2.8 |
| cancel | 0.01 | 0.09 | 0.1 |
| definition | 0.05 | 0.28 | 1.0 |
| defining the large job anew | 0.07 | 0.99 | 1.4 |
| first call of a new shape | 1.1 | 2.1 | 5.3 |
| the same of the large job | 1.8 | 10 | 16 |
| setting a small variable | 0.86 | 2.3 | 13 |
| reading all variables | 18 | 680 | 930 |
| saving | 91 | 550 | 570 |
| loading | 35 | 110 | 140 |

The last three copy or write all variables, and belong where nothing is drawn. What makes a plan, or
touches variables, besides waits for the runs that are queued; the table is of none.

**Errors.** An error inside a callback never costs another call. A call of a job, saving and loading
run the callbacks that are due, keep what goes wrong there, and do their own work; the first error
is told on stderr. `flow.poll()` and `flow.sync()` raise the oldest error that was kept, or the next
one, with the job's name; callbacks behind it stay due, so calling them again goes on. The end of
the script prints what was never raised, and then fails. A run that fails and has no second function
counts as an error of a callback. A failed train call changes no variable.

```lua
local double = flow.global_function {
  name = "double",
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  returns = tp.Callback(tp.Numpy),
  body = function(x) return x + x end,
}

double({ 1 })(function() error("oh") end)
print((pcall(flow.sync)))                        --> false
flow.sync()                                      -- it was raised, and all is well again
```

**Taking back.** `flow.cancel(job)` takes back the calls of a job that have not begun, and
`flow.cancel(registrar)` that one; it gives their number. Their second function is told with the
next callbacks. A call that has begun goes on to its end, so a step of training is made whole or not
at all.

**Ctrl-C** stops the program at its own code, or a wait, with the error "interrupted"; callbacks
that did not begin stay due, and a program that catches the error goes on as if nothing had
happened.

**The end.** When the script ends or calls `os.exit`, callbacks of the calls made so far run. Calls
that those make are not run any more: their second function is told that the program is ending, and
stderr how many there were. So a callback that calls its job again does not keep a program from its
end.
]==]
local args = require "jfl.base.args"
local core = require "jfl.core"
local ffi = require "ffi"
local trace = require "jfl.job.trace"
local warn = require "jfl.base.warn"

local queue = {
  --- What os.exit calls after the callbacks, or nil.
  last = nil,
}

--- A file descriptor that is readable as long as a callback is due.
function queue.fd() return core.fd() end

--- Runs the callbacks that are due, oldest first, and returns their number; after `seconds` it
-- starts no further one. Calls that callbacks make meanwhile are left for later, as a callback that
-- calls its job again would never end. Inside a callback or a body it does nothing. The oldest
-- error of a callback that was not raised yet is raised.
function queue.poll(seconds)
  if seconds ~= nil then args.expect("poll", "seconds", seconds, "number") end
  return core.poll(seconds)
end

--- Waits for every outstanding call and runs its callback. Inside a callback or a body it only
-- waits. The oldest error of a callback that was not raised yet is raised.
function queue.sync() core.sync() end

--- Waits for every run, for what needs variables as they are after all calls, and runs callbacks as
-- long as flow.config.callback_seconds says. Errors of callbacks must not keep the caller from its
-- work: they are kept for what raises them.
queue.settle = core.settle

--- A new class of objects that a call gives in place of its value, which is not there yet. Reading
-- a name from one or computing with it is an error at the user's line, which ends with `instead`.
function queue.class(instead)
  local class = {}
  function class:__index(key)
    if class[key] ~= nil then return class[key] end
    if key == "value" then return nil end       -- of a job that returns nothing
    if key == "busy" then return core.busy(self) end
    core.fail("%s: a call of this job gives no value at once, so it has no '%s'; %s",
      core.request_job(self), tostring(key), instead)
  end
  local function refuse(a, b)
    core.fail("%s: a call of this job gives no value at once to compute with; %s",
      core.request_job(core.type(a) == "request" and a or b), instead)
  end
  for event in ("add sub mul div mod pow unm concat lt le"):gmatch("%a+") do
    class["__" .. event] = refuse
  end
  return class
end

--- Registers the callback of a call, and the function that gets the message if its run fails.
queue.register = core.register

--- Waits for a call and returns its value; callbacks of earlier calls run first.
queue.value = core.value

local Registrar = queue.class("a callback gets the value: job(...)(function(value) ... end)")

Registrar.__call = core.register

function Registrar:__tostring()
  return ("registrar of a call of %s"):format(core.request_job(self))
end

--- Tells the core how calls of a job's plan are delivered. made.read turns the list of results into
-- the value; without it there is one result, which is the value. Handlers of made.watches, if there
-- are any, run before the callback. gives: the class of what calls give, or nil for a registrar.
function queue.own(made, gives, width)
  core.own(made.plan, gives or Registrar, made.read or false, made.watches or false, width)
end

local late = {}          -- lines of functions that were told of

core.front_end(function(err)
  warn.say("%s (flow.poll, flow.sync or the end of the program raises it)", err:match("^[^\n]*"))
end, function(call, callback, on_error)
  local name = core.request_job(call)
  args.expect(name, "callback", callback, "function")
  args.expect(name, "on_error", on_error, "function")
end, function(call, callback, took, limit)
  local where = trace.where(callback)
  if late[where] then return end
  late[where] = true
  warn.say("%s: the callback at %s took %.3g ms; flow.config.callback_seconds is %.3g ms",
    core.request_job(call), where, took * 1e3, limit * 1e3)
end)

-- ---- the end of a program ----

local function say(err)
  local text = tostring(err)
  if not core.warn(core.printable(text)) then io.stderr:write("jfl: " .. text .. "\n") end
end

local SHOWN = 20         -- errors of callbacks that are printed at the end

local function plural(n, what) return ("%d %s%s"):format(n, what, n == 1 and "" or "s") end

local said = 0           -- errors so far; a function made at the end would need memory for itself

local function say_some(err)
  said = said + 1
  if said <= SHOWN then say(err) end
end

-- Where the user stops the end of the program, nothing more of it runs, not even when the state is
-- closed.
local function stop(err)
  local left = core.is_interruption(err) and core.abandon() or 0
  if left > 0 then say(plural(left, "callback") .. " did not run") end
  error(err, 0)
end

--- Ends a script: runs the callbacks of all calls made so far, even after one has failed. Errors
-- are printed on stderr as they come, their number is raised at the end. Calls that callbacks make
-- are refused and counted. silent: their number is not printed.
function queue.finish(silent)
  said = 0
  local ok, failed, refused = pcall(core.finish, say_some)
  if said > SHOWN then say(plural(said - SHOWN, "more outstanding call") .. " failed") end
  if not ok then stop(failed) end
  if refused > 0 and not silent then
    warn.say("%s made while the program was ending %s not run", plural(refused, "call"),
      refused == 1 and "was" or "were")
  end
  if failed > 0 then error(("%d outstanding call(s) failed"):format(failed), 0) end
end

local function finish_or_say(silent)
  local ok, err = pcall(queue.finish, silent)
  if not ok then say(err) end
  return ok
end

--- Finishes when the state is closed. LuaJIT finalizes cdata before userdata, so callbacks still
-- find every array.
queue.at_close = ffi.gc(ffi.new("char[1]"), function() finish_or_say(true) end)

-- os.exit closes no state and runs no finalizer, and a script may call it anywhere: so it is
-- replaced by one that first does what the end of the script does. It leaves the callback or body
-- that called it, as it does not return there.
if os and os.exit then
  local exit, exiting, first = os.exit, false, nil
  rawset(os, "exit", function(code, ...)
    -- Callbacks may call os.exit again; the first status counts.
    if exiting then code = first end
    exiting, first = true, code
    core.leave(trace, "current")
    local ok = finish_or_say()
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
