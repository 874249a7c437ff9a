-- The context of the body that is running: its job, graph, variables, and the names given so far.
local config = require "jfl.job.config"
local core = require "jfl.core"
local debug = require "debug"

local trace = {
  --- The context of the body that is running, or false. Set by core.within alone, which sets it
  -- back whatever happens in the body.
  current = false,
}

-- Explanations of Lua's own errors where blobs are involved: the first pattern that matches. Such
-- an error is a text and nothing else, and no metamethod is called for what causes it.
local HINTS = {
  { "attempt to compare .*userdata", "a blob has no data while its job's body runs: "
    .. "flow.math.less, greater, equal compare blobs, and give a blob" },
  { "%(table expected, got userdata%)$", "a blob has no data while its job's body runs: "
    .. "its extents are in blob.shape" },
  { "expected, got userdata%)$", "a blob has no data while its job's body runs: "
    .. "functions of Lua take results of the job, and ops such as flow.math.exp take blobs" },
  { "attempt to yield across C%-call boundary", "a job's body cannot yield" },
}

local stands_for = setmetatable({}, { __mode = "kv" })

--- Has messages name the place of a script's function where a body of the front end calls that.
function trace.stand_for(body, f)
  stands_for[body] = f
  return body
end

--- Where a function begins: "train.lua:12".
function trace.where(body)
  local info = debug.getinfo(stands_for[body] or body, "S")
  return ("%s:%d"):format(info.short_src, info.linedefined)
end

-- Adds the job's name and an explanation to one of Lua's own errors, and the body's line where the
-- error has none, as in a return statement.
local function explained(job, body, err)
  if type(err) ~= "string" then return err end
  if err == "stack overflow" then
    core.fail("%s: stack overflow in the body: does a function call itself without end?", job.name)
  end
  for _, hint in ipairs(HINTS) do
    if err:find(hint[1]) then
      local at, what = err:match("^([^\n]-:%d+: )(.*)$")
      at = at or trace.where(body) .. ": "
      return ("%s%s: %s; %s"):format(at, job.name, what or err, hint[2])
    end
  end
  return err
end

--- The context of a body that is about to run, whose ops append to graph: the placement and the
-- view that the job's config says hold from here on.
function trace.open(job, graph)
  local view = job.config.default_logical_view or job.config.default_distribute_strategy
  local context = {
    job = job, graph = graph, config = job.config, mode = core.graph_mode(graph),
    counters = {}, prefix = "", variables = {}, trainable = {}, n_optimizers = 0,
    mirrored = view ~= nil and view.mirrored,
  }
  local placement = job.config.default_placement_scope
  context.device = placement and placement.on
  core.place(context.device, graph)
  core.mirror(graph, context.mirrored)
  core.micro_batches(graph, job.config.micro_batches or 1)
  if job.config.optimizer_placement_optimization_mode == "distributed_split" then
    core.shard(graph, math.max(job.config.optimizer_placement_optimization_threshold or 1024, 1))
  end
  local mixed = job.config.enable_auto_mixed_precision
  if mixed == nil then mixed = config.values.enable_auto_mixed_precision end
  core.mixed_precision(graph, mixed == true and "bfloat16" or mixed or "float32")
  return context
end

--- Runs body in its context; returns the context, then what body returned. The body cannot yield:
-- its graph would then collect the ops of other code.
function trace.run(context, body, ...)
  local function close(ok, ...)
    if not ok then error(explained(context.job, body, (...)), 0) end
    return context, ...
  end
  return close(core.within(trace, "current", context, context.graph, body, ...))
end

--- The context of the running body; fails outside of one, where `who` has no meaning.
function trace.need(who)
  if trace.current then return trace.current end
  core.fail("%s: describes a part of a job and must be called inside a job function's body", who)
end

--- The context of the running body, which must be a train job's.
function trace.need_train(who)
  local context = trace.need(who)
  if context.mode == "train" then return context end
  core.fail("%s: job '%s' is a predict job; only a job with type = \"train\" can be trained", who,
    context.job.name)
end

--- Runs fn as a part of a body that has ended already.
function trace.within(context, fn)
  local ok, err = core.within(trace, "current", context, nil, fn)
  if not ok then error(err, 0) end
end

--- Runs fn, then leave(), which is also called where fn fails; returns what fn does.
function trace.enter(fn, leave)
  local function close(ok, ...)
    local err = ...
    leave()
    if not ok then error(err, 0) end
    return ...
  end
  return close(pcall(fn))
end

--- Runs fn, whose ops run at once and do not join the body that is running.
function trace.without_graph(fn, ...)
  local function close(ok, ...)
    if not ok then error((...), 0) end
    return ...
  end
  return close(core.within(trace, "current", trace.current, nil, fn, ...))
end

--- The full name of a part of the job: the given one, or kind_1, kind_2, ... in call order.
function trace.name(context, given, kind)
  if given ~= nil and type(given) ~= "string" then
    core.fail("layers.%s: name must be a string that is not empty, got %s %s", kind, type(given),
      tostring(given))
  end
  if given then core.name_check("layers." .. kind, "name", given) end
  if given == nil then
    local count = (context.counters[kind] or 0) + 1
    context.counters[kind] = count
    given = kind .. "_" .. count
  end
  return context.prefix .. given
end

return trace
