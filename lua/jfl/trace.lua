-- What is known while a job's body runs: its graph, names given so far, losses.
local core = require "jfl.core"

local trace = {
  --- The context of the body that is running, or nil.
  current = nil,
}

-- What Lua says of a blob where it takes something else, and what to use.
local HINTS = {
  ["attempt to compare .*userdata"] = "flow.math.less, flow.math.greater and the like compare them",
  ["%(number expected, got userdata%)$"] = "flow.math has functions of them, such as flow.math.exp",
  ["%(table expected, got userdata%)$"] = "their extents are in blob.shape",
}

--- Where a function begins: "train.lua:12".
function trace.where(body)
  local info = debug.getinfo(body, "S")
  return ("%s:%d"):format(info.short_src, info.linedefined)
end

-- Adds to an error of Lua's own that a blob caused; one in a return statement lacks the line.
local function explain(body, err)
  if type(err) ~= "string" then return err end
  for pattern, hint in pairs(HINTS) do
    if err:find(pattern) then
      local at = err:find("^[^\n]-:%d+: ") and "" or trace.where(body) .. ": "
      return ("%s%s; blobs have no data while their job's body runs: %s"):format(at, err, hint)
    end
  end
  return err
end

--- Runs body with ops appending to graph; gives the context, then what body returned. The body
-- cannot yield, which would leave its graph open to the ops of whoever runs meanwhile.
function trace.run(job, graph, body, ...)
  local context = {
    job = job, graph = graph, config = job.config, mode = core.graph_mode(graph),
    counters = {}, prefix = "", losses = {}, variables = {}, modules = {}, minimized = false,
  }
  local outer, outer_graph = trace.current, core.trace(graph)
  trace.current = context
  local function close(ok, ...)
    trace.current = outer
    core.trace(outer_graph)
    if not ok then error(explain(body, (...)), 0) end
    return context, ...
  end
  return close(core.call(nil, body, ...))
end

--- The context; fails outside a body, where `who` has no meaning.
function trace.need(who)
  if trace.current then return trace.current end
  core.fail("%s: describes a part of a job and must be called inside a job function's body", who)
end

--- The full name of a part of the job: the given one, or kind_1, kind_2, ... in call order.
function trace.name(context, given, kind)
  if given == nil then
    local count = (context.counters[kind] or 0) + 1
    context.counters[kind] = count
    given = kind .. "_" .. count
  end
  return context.prefix .. given
end

return trace
