-- What each call of a job is given behind the arguments that the user declared: inputs of the plan
-- for learning rates that functions of the script compute, and for batches that a body reads.
local arguments = require "jfl.job.arguments"
local core = require "jfl.core"

local given = {}

--- Adds an input to the body that is described: each call gives it the array that make(step)
-- returns, where step() is the number of the call, from 0. skips: whether calls may make no step.
function given.add(context, blob, make, skips)
  local list = context.given or {}
  context.given = list
  list[#list + 1] = make
  list.skips = list.skips or skips or false
  return blob
end

--- The step that the next call of a job makes, counted from 0. It is counted by calls from when the
-- variable was read; reading it waits for calls in flight. Where steps may be skipped, each call
-- reads it.
function given.step(job, entry)
  local since = job._steps
  if not since or entry.given.skips or since.mark ~= core.disturbances() then
    local at = core.variable_get("System-Train-TrainStep-" .. job.name)[1]
    since = { at = tonumber(at), mark = core.disturbances() }
    job._steps = since
  end
  return since.at
end

--- The arrays of the next call, in the order of their inputs.
function given.arrays(job, entry)
  local list, number = {}, nil
  local function step()
    number = number or given.step(job, entry)
    return number
  end
  for i, make in ipairs(entry.given) do list[i] = make(step) end
  return list
end

--- Counts a call that was made; returns the rest.
function given.count(job, ...)
  if job._steps then job._steps.at = job._steps.at + 1 end
  return ...
end

--- Calls run(job, entry, arguments..., arrays...) and counts the call unless it fails.
function given.run(run, job, entry, ...)
  local n, values = select("#", ...), { ... }
  if not job._dynamic then arguments.check_count(job, n) end
  for i, array in ipairs(given.arrays(job, entry)) do values[n + i] = array end
  return given.count(job, run(job, entry, unpack(values, 1, n + #entry.given)))
end

return given
