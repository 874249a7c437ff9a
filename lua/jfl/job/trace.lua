-- What is known while a job's body runs: its graph, names given so far, losses.
local core = require "jfl.core"

local trace = {
  --- The context of the body that is running, or nil.
  current = nil,
}

-- What Lua's own errors mean where blobs are about: the first that fits.
local HINTS = {
  { "attempt to compare .*userdata", "a blob has no data while its job's body runs: "
    .. "flow.math.less, greater, equal compare blobs, and give a blob" },
  { "%(table expected, got userdata%)$", "a blob has no data while its job's body runs: "
    .. "its extents are in blob.shape" },
  { "expected, got userdata%)$", "a blob has no data while its job's body runs: "
    .. "functions of Lua take results of the job, and ops such as flow.math.exp take blobs" },
  { "attempt to yield across C%-call boundary", "a job's body cannot yield" },
}

--- Where a function begins: "train.lua:12".
function trace.where(body)
  local info = debug.getinfo(body, "S")
  return ("%s:%d"):format(info.short_src, info.linedefined)
end

-- Adds to an error of Lua's own what it means; one in a return statement lacks its line.
local function explained(job, body, err)
  if type(err) ~= "string" then return err end
  if err == "stack overflow" then
    core.fail("%s: stack overflow in the body: does a function call itself without end?", job.name)
  end
  for _, hint in ipairs(HINTS) do
    if err:find(hint[1]) then
      local at = err:find("^[^\n]-:%d+: ") and "" or trace.where(body) .. ": "
      return ("%s%s; %s"):format(at, err, hint[2])
    end
  end
  return err
end

--- Runs body with ops appending to graph; gives the context, then what body returned. The body
-- cannot yield, which would leave its graph open to the ops of whoever runs meanwhile.
function trace.run(job, graph, body, ...)
  local context = {
    job = job, graph = graph, config = job.config, mode = core.graph_mode(graph),
    counters = {}, prefix = "", losses = {}, variables = {}, minimized = false,
  }
  local outer, outer_graph = trace.current, core.trace(graph)
  trace.current = context
  local function close(ok, ...)
    trace.current = outer
    core.trace(outer_graph)
    if not ok then error(explained(job, body, (...)), 0) end
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
  if given ~= nil and (type(given) ~= "string" or given == "") then
    core.fail("layers.%s: name must be a string that is not empty, got %s", kind,
      type(given) == "string" and "an empty one" or ("%s %s"):format(type(given), tostring(given)))
  end
  if given == nil then
    local count = (context.counters[kind] or 0) + 1
    context.counters[kind] = count
    given = kind .. "_" .. count
  end
  return context.prefix .. given
end

return trace
