-- What the graph of a job consists of, for whoever draws it or writes it for other programs.
local args = require "jfl.base.args"
local core = require "jfl.core"
local job = require "jfl.job.job"
local plan = require "jfl.job.plan"
local typing = require "jfl.job.typing"

local parts = {}

--- Fails unless a value is a job.
function parts.check(who, value)
  if job.is(value) then return value end
  core.fail("%s: job must be a job, got %s", who, args.describe(value))
end

-- The parts of a graph that was just traced.
local function look(graph, context)
  local found = core.graph_parts(graph)
  found.paths = typing.paths(context.returned)
  return found
end

--- What the body describes for inputs of these shapes, as core.graph_parts gives it, with the paths
-- of what it returns (typing.paths), which are the first of the results; those behind them are
-- watched. It is traced for that, and makes no plan.
function parts.traced(self, shapes)
  plan.check_outside(self)
  local ok, found = plan.try(self, self, shapes, look)
  if not ok then error(found, 0) end
  return found
end

--- The parts for the shapes of the job's last plan, which is made if there is none yet; or, where
-- which is "optimized", of the graph as it runs, without the paths.
function parts.of(self, which)
  local entry = self:compile()._latest
  if which == "optimized" then return core.graph_parts(entry.graph) end
  return parts.traced(self, entry.shapes)
end

return parts
