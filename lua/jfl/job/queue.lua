-- Asynchronous calls: what calls give, what runs their callbacks, and the end of a program. The
-- queue of calls is kept by the core, so that no error from outside leaves it half changed.
---@flow fd
---@box poll sync
local args = require "jfl.base.args"
local core = require "jfl.core"
local exit = require "jfl.job.exit"
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

--- Waits for every run, and runs no callback.
function queue.wait()
  while core.pending() > 0 do core.wait() end
end

--- A new class of objects that a call gives in place of its value, which is not there yet. Reading
-- a name from one or computing with it is an error at the user's line, which ends with `instead`.
function queue.class(instead, call)
  local class = {}
  call = call or "a call of this job"
  function class:__index(key)
    if class[key] ~= nil then return class[key] end
    if key == "value" then return nil end       -- of a job that returns nothing
    if key == "busy" then return core.busy(self) end
    core.fail("%s: %s gives no value at once, so it has no '%s'; %s", core.request_job(self), call,
      tostring(key), instead)
  end
  local function refuse(a, b)
    core.fail("%s: %s gives no value at once to compute with; %s",
      core.request_job(core.type(a) == "request" and a or b), call, instead)
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

local Handle = queue.class("it has done(), wait(), and a callback gets the value: "
  .. "handle(function(value) ... end)", "a call with async")

Handle.__call = core.register

function Handle:__tostring() return "handle of " .. core.request_job(self) end

--- Whether it is done, well or not.
function Handle:done() return core.done(self) end

--- Waits until it is done and gives its value; what went wrong is raised.
function Handle:wait() return core.value(self) end

--- What calls that are no runs are made with, such as core.save_behind; they give handles, which
-- take callbacks as registrars do. read turns the list of results into the value.
function queue.task(name, read) return core.task(name, Handle, read) end

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
end, function(count)
  warn.say("%d calls wait for their callbacks to run: flow.poll() runs those that are due", count)
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

--- Ends a script: runs the callbacks of all calls made so far, even after one has failed. Errors
-- are printed on stderr as they come, their number is raised at the end. Calls that callbacks make
-- are refused and counted. silent: their number is not printed.
function queue.finish(silent)
  said = 0
  local ok, failed, refused = pcall(core.finish, say_some)
  if said > SHOWN then say(plural(said - SHOWN, "more outstanding call") .. " failed") end
  if not ok then
    -- Where the user stops the end of the program, nothing more of it runs, not even when the state
    -- is closed.
    local left = core.is_interruption(failed) and core.abandon() or 0
    if left > 0 then say(plural(left, "callback") .. " did not run") end
    error(failed, 0)
  end
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

-- It leaves the callback or body that called os.exit, as that does not return there.
exit.before(function()
  core.leave(trace, "current")
  local ok = finish_or_say()
  if not queue.last then return ok end
  local done, err = pcall(queue.last)
  if not done then say(err) end
  return ok and done
end)

return queue
