-- The class of futures, which calls give of a job that declares no `returns`.
local args = require "jfl.base.args"
local core = require "jfl.core"
local queue = require "jfl.job.queue"

local Future = queue.class("job(...):get() waits for the value")

local check = args.colon(Future, "future")

--- Registers a callback, and the function that gets the message if the run fails.
function Future:async_get(callback, on_error)
  check(self, "async_get")
  queue.register(self, callback, on_error)
end

--- Waits for the call and returns its value; callbacks of earlier calls run first.
function Future:get()
  check(self, "get")
  return queue.value(self)
end

function Future:__call()
  core.fail("%s: a job without `returns` gives a future: job(...):async_get(callback), or "
    .. "job(...):get(), which waits for the value", core.request_job(self))
end

function Future:__tostring() return ("future of a call of %s"):format(core.request_job(self)) end

return Future
