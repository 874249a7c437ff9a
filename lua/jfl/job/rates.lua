-- Learning rates that functions of the script give for each call: inputs of the plan behind those
-- that the user declared.
local arguments = require "jfl.job.arguments"
local core = require "jfl.core"

local rates = {}

--- The step that the next call of a job makes, counted from 0. It is counted by calls from when the
-- variable was read; reading it waits for calls in flight. Where steps may be skipped, each call
-- reads it.
function rates.step(job, entry)
  local since = job._steps
  if not since or entry.rates.skips or since.mark ~= core.disturbances() then
    local at = core.variable_get("System-Train-TrainStep-" .. job.name)[1]
    since = { at = tonumber(at), mark = core.disturbances() }
    job._steps = since
  end
  return since.at
end

--- The rates of the next step, each in an array of one element.
function rates.arrays(job, entry)
  local step, list = rates.step(job, entry), {}
  for i, rate in ipairs(entry.rates) do
    list[i] = core.array("float64", { 1 })
    list[i][1] = rate(step)
  end
  return list
end

--- Counts a call that was made; returns the rest.
function rates.count(job, ...)
  job._steps.at = job._steps.at + 1
  return ...
end

--- Calls run(job, entry, arguments..., rates...) and counts the call unless it fails.
function rates.run(run, job, entry, ...)
  local n, values = select("#", ...), { ... }
  if not job._dynamic then arguments.check_count(job, n) end
  for i, array in ipairs(rates.arrays(job, entry)) do values[n + i] = array end
  return rates.count(job, run(job, entry, unpack(values, 1, n + #entry.rates)))
end

return rates
