-- The plans of a job: traces its body into a graph for given shapes, compiles that, keeps the plan
-- and frees it.
local apart = require "jfl.job.apart"
local args = require "jfl.base.args"
local arguments = require "jfl.job.arguments"
local config = require "jfl.job.config"
local core = require "jfl.core"
local inputs = require "jfl.job.inputs"
local original = require "jfl.base.original"
local queue = require "jfl.job.queue"
local trace = require "jfl.job.trace"
local typing = require "jfl.job.typing"
local variable = require "jfl.net.variable"
local watch = require "jfl.job.watch"

local plan = {}

-- ---- the body's results ----

-- Returns a reader of the body's results as the declared type, or nil where they are not of it. For
-- a Tuple the body returns a list or the values themselves, even if there is only one. A job that
-- declares nothing may return nothing, if it does something else.
local function reader_for(returns, may_be_none, blobs, n, ...)
  local tuple = returns.kind == "Tuple"
  if n == 0 and may_be_none then return function() end end
  local reader = n == 1 and typing.match(returns, (...), blobs)
  if reader or not (tuple or (n > 1 and returns == typing.any)) then return reader end
  return typing.match(returns, { ... }, blobs)
end

local function returned_text(n, ...)
  if n == 0 then return "nothing" end
  local texts = {}
  for i = 1, n do texts[i] = typing.structure((select(i, ...))) end
  return table.concat(texts, ", ")
end

-- What may help where the results are not of the type: they are several values, or in the other
-- view.
local function hint_of(self, n, total, text)
  local kind = self._returns.kind
  if text:find("mirrored blob", 1, true) then
    return "; a mirrored blob has a value on each device: its type is flow.typing.ListNumpy, and "
      .. "flow.cast_to_current_logical_view(blob) outside of the mirrored view makes one of them"
  end
  if total > 1 and kind:find("^List%a*Numpy$") then
    return ("; a %s has a value for each of %d devices, as the mirrored view makes them: "
      .. "flow.cast_to_current_logical_view(blob) in it gives each its part"):format(kind, total)
  end
  local several = n > 1 and kind ~= "Tuple" and not self._untyped
  return several and "; the type of several values is flow.typing.Tuple(...)" or ""
end

local function match_results(self, context, n, ...)
  local blobs = { members = context.members, total = context.total, cuts = context.cuts }
  local returns = self._returns
  local acts = self.type == "train" or context.assigns or context.watches
  local may_be_none = self._untyped and acts
  local reader = reader_for(returns, may_be_none, blobs, n, ...)
  if not reader then
    local text = returned_text(n, ...)
    core.fail("%s: the body (%s) must return %s, got %s%s", self.name, trace.where(self._body),
      self._untyped and "a blob, or a table of blobs" or ("blobs shaped as " .. returns.text),
      text, hint_of(self, n, context.total, text))
  end
  for i = 1, n do
    if select(i, ...) == nil then
      core.fail("%s: the body (%s) returned %s: value %d is nil", self.name,
        trace.where(self._body), returned_text(n, ...), i)
    end
  end
  return blobs, reader
end

-- Whether a reader must turn the plan's results into the value of a call.
local function needs_reader(self, context)
  local kind = self._returns.kind
  if context.cuts then return true end
  if kind == "Numpy" then return false end
  if kind ~= "Tuple" or self._async then return true end
  for _, part in ipairs(self._returns.parts) do
    if part.kind ~= "Numpy" then return true end
  end
  return false
end

-- ---- freeing ----

-- Frees an entry's plan, and the graph that the plan lies in, behind the runs of it that are
-- queued, for which it waits unless it is to be freed now. Gives whether it did: a plan that a call
-- is about to run stays, and one that is being made where it is to be freed now.
local function free(entry, now)
  if not core.plan_free(entry.plan, now) then return false end
  core.graph_free(entry.graph)
  return true
end

-- Nothing here needs memory, so a job never has a plan that is retired too.
local function retire(self, key, entry)
  self._plans[key], self._n_plans = nil, self._n_plans - 1
  if self._latest == entry then self._latest = false end
  entry.retired, self._retired = self._retired, entry
  return true
end

-- Frees the plan that was used least recently, among those that no call is about to run; returns
-- false where there is none. behind: without waiting for runs, so it may be freed later.
local function drop_oldest(self, behind)
  local oldest_key, oldest
  for key, entry in pairs(self._plans) do
    local older = not oldest or entry.used < oldest.used
    if older and not core.plan_pinned(entry.plan) then oldest_key, oldest = key, entry end
  end
  if not oldest then return false end
  if behind and not free(oldest, true) then return retire(self, oldest_key, oldest) end
  if not behind and not free(oldest) then return false end
  self._plans[oldest_key] = nil
  self._n_plans = self._n_plans - 1
  return true
end

--- Frees the plans of former definitions. It does so later if a callback asks for it and the call
-- that runs the callback is about to run one of them, or where they are to be freed now and one is
-- being made. The next plan frees them then.
function plan.free_retired(self, now)
  while self._retired and free(self._retired, now) do
    self._retired = self._retired.retired
  end
end

--- Makes the plans those of a former definition.
function plan.retire(self)
  for key, entry in pairs(self._plans) do retire(self, key, entry) end
  self._latest = false
end

--- The entry of a key, or nil where there is none yet. One that could not be made among the runs is
-- left out, so that it is tried again.
function plan.kept(self, key)
  local entry = self._plans[key]
  if not entry or not entry.behind then return entry end
  local state = core.plan_state(entry.plan)
  entry.behind = state == "making"
  if state ~= "failed" then return entry end
  retire(self, key, entry)
  plan.free_retired(self, true)
  return nil
end

--- Waits until the plan of an entry is made; fails where it cannot be.
function plan.await(entry)
  if entry.behind then core.plan_await(entry.plan) end
  entry.behind = false
  return entry
end

--- Frees the plans with one of these variables, { [name] = true }; the job is traced anew when it
-- is called.
function plan.leave(self, names)
  queue.wait()
  for key in pairs(self._plans) do
    local has, entry = false, plan.kept(self, key)
    for _, name in ipairs(entry and core.plan_variables(entry.plan) or {}) do
      has = has or names[name]
    end
    if has then retire(self, key, entry) end
  end
  plan.free_retired(self)
end

-- ---- compiling ----

-- Ends a body that returned these values; gives its results, a list of blobs, and their reader.
local function close(self, context, ...)
  variable.check(context)
  variable.round_inputs(context)
  context.returned = { ... }
  return match_results(self, context, select("#", ...), ...)
end

-- Makes blobs results of the graph: by others[i][j] each device's own of blob j, or by blobs alone.
local function add_outputs(context, others, n_values, blobs, reader)
  if context.mode == "train" then      -- others need not load what trains
    original.ask("minimize", context)
    require("jfl.optim.optimizers").close(context)
  end
  local n = 0
  for j, blob in ipairs(blobs) do
    core.output(context.graph, blob)
    local arrays = typing.arrays_of(blob, context.members)
    for i = 1, arrays > 1 and #others or 0 do core.output(context.graph, others[i][j]) end
    n = n + arrays
  end
  context.n_out = #blobs
  return reader, n, watch.close(context, n), n_values
end

-- Whether a call gives the values of its result one after another.
local function spreads(self, n_values)
  return self._returns.kind == "Tuple" or self._returns == typing.any and n_values > 1
end

-- The job in the core, which lives as long as the session.
local function core_job(self)
  if not self._core then self._core = core.job(self.name, self.type)
  else core.job_mode(self._core, self.type) end
  return self._core
end

local function open(job, self, graph)
  local context = trace.open(self, graph)
  context.job, context.inputs = job, {}
  context.total, context.members = select(2, core.members(graph))
  return context
end

-- Fails where devices cannot get arrays of different sizes.
local function check_apart(self, context, shapes)
  for i, input in ipairs(self._inputs) do
    local each = shapes[i].each
    if each then arguments.check_members(self, input, each, context.members) end
    if each and context.total > context.members then
      core.fail("%s: the arrays of %s must be alike in shape, as several ranks have the devices, "
        .. "got %s and %s", self.name, input.name, args.shape_text(each[1]),
        args.shape_text(each[#each]))
    end
  end
  args.check((self.config.micro_batches or 1) <= 1, "%s: micro_batches must be 1 where devices get "
    .. "arrays of different sizes, got %d", self.name, self.config.micro_batches)
end

-- Runs the body once for each device; returns the first context and what add_outputs does.
local function describe_apart(job, self, graph, shapes, first)
  local contexts, others = { first }, {}
  check_apart(self, first, shapes)
  for i = 2, first.total do contexts[i] = open(job, self, graph) end
  apart.open(contexts)
  inputs.apart(contexts, self._inputs, shapes)
  local results = apart.run(contexts, self._body)
  for i = 2, #contexts do
    others[i - 1] = close(self, contexts[i], unpack(results[i], 1, results[i].n))
  end
  apart.merge(contexts)
  return first, add_outputs(first, others, results[1].n,
    close(self, first, unpack(results[1], 1, results[1].n)))
end

local function differ(shapes)
  for _, shape in ipairs(shapes) do
    if shape.each then return true end
  end
  return false
end

-- Runs the body of a definition of the job for these shapes; returns its context and what
-- add_outputs does.
local function describe(job, self, graph, shapes)
  local context = open(job, self, graph)
  if differ(shapes) then return describe_apart(job, self, graph, shapes, context) end
  for i, input in ipairs(self._inputs) do
    context.inputs[i] = inputs.blob(context, input.name, input.type, shapes[i])
  end
  local function finish(_, ...)
    return context, add_outputs(context, {}, select("#", ...), close(self, context, ...))
  end
  return finish(trace.run(context, self._body, unpack(context.inputs)))
end

-- The plan of a graph, which is made among the runs if `behind`.
local function make(self, context, behind)
  local core_of, graph = core_job(self), context.graph
  if not behind then return core.compile(core_of, graph) end
  return core.compile_behind(core_of, graph, context.inputs, context.n_out)
end

local function build(self, graph, shapes, behind)
  local context, reader, n, watches, n_values = describe(self, self, graph, shapes)
  behind = behind and not watches and not context.given and not context.values
    and not context.when_made and context.total == 1 or false
  local entry = { plan = make(self, context, behind), graph = graph, used = self._tick,
    shapes = shapes,
    read = (watches or needs_reader(self, context)) and reader or nil, watches = watches,
    retired = false, given = context.given or false,
    members = context.members, reader = reader, n_results = n,
    spreads = not self._async and spreads(self, n_values), behind = behind }
  local late = { plan = entry.plan, watches = watches, read = n ~= 1 and reader or entry.read }
  queue.own(late, self._gives, self.config.concurrency_width)
  variable.fill(context)
  for _, fn in ipairs(context.when_made or {}) do fn() end        -- once its variables are there
  variable.share(context)
  return entry
end

--- Fails inside a body, where no job can be used.
function plan.check_outside(self)
  if not trace.current then return end
  core.fail("%s: a job cannot be used inside the body of '%s'; share a Lua function instead",
    self.name, trace.current.job.name)
end

--- Traces the body of a definition, which need not be the job's yet, into a graph of no plan;
-- returns whether that succeeds and what look(graph, context) gives, or the error.
function plan.try(self, definition, shapes, look)
  local graph = core.graph(self.name, definition.type)
  local ok, result = pcall(function()
    local context = describe(self, definition, graph, shapes)
    return look and look(graph, context)
  end)
  core.graph_free(graph)
  return ok, result
end

-- Whether so many plans that are being made wait to be freed that it is time to wait for them.
local function many_retired(self)
  local n, entry = 0, self._retired
  while entry do n, entry = n + 1, entry.retired end
  return n > config.values.max_plans
end

--- Traces the body for these shapes of the inputs and compiles the graph, among the runs if
-- `behind`; returns the entry of the plan, which the job keeps under the key.
function plan.compile(self, key, shapes, behind)
  plan.check_outside(self)
  if self._closed then core.fail("%s: %s", self.name, self._closed) end
  plan.free_retired(self, behind and not many_retired(self))
  local graph = core.graph(self.name, self.type)
  local ok, entry = pcall(build, self, graph, shapes, behind)
  if not ok then
    core.graph_free(graph)
    error(entry, 0)
  end
  while self._n_plans >= config.values.max_plans and drop_oldest(self, behind) do end
  self._plans[key], self._n_plans, self._latest = entry, self._n_plans + 1, entry
  return entry
end

return plan
