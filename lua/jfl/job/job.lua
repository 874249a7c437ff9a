-- Job functions: defines them, traces their bodies, keeps their plans and calls them.
local args = require "jfl.base.args"
local arguments = require "jfl.job.arguments"
local queue = require "jfl.job.queue"
local config = require "jfl.job.config"
local core = require "jfl.core"
local definition = require "jfl.job.definition"
local older_losses = require "jfl.legacy.losses"
local optimizer = require "jfl.net.optimizers"
local profile = require "jfl.tools.profile"
local trace = require "jfl.job.trace"
local typing = require "jfl.job.typing"
local variable = require "jfl.net.variable"
local warn = require "jfl.base.warn"
local watch = require "jfl.job.watch"
require "jfl.nd.array"
require "jfl.net.ops"

local job = {
  --- Functions that clear_default_session calls when it has dropped the session.
  at_clear = {},
}

local Job = { help = "global_function" }     -- what flow.help tells of a job
local methods = {}

-- Methods only, as fields are in the job itself; any other name is a mistake.
function Job:__index(key)
  if methods[key] then return methods[key] end
  core.fail("job '%s' has no '%s'; it is called, as in %s(...), and has name, type, compile(), "
    .. "graph() and plan()", rawget(self, "name"), tostring(key), rawget(self, "name"))
end

local order, by_name = {}, {}

local CLEARED = "the session that this job belonged to was cleared; define it again"

-- Replaces a job of the same name that never ran because its body or graph was wrong, so that a
-- mistake can be corrected in the same session.
local function replace(self, old)
  if not old._failed or (old._core and old.type ~= self.type) then
    core.fail("global_function: a job named '%s' is defined already; give this one another name, "
      .. "or drop all jobs and variables with flow.clear_default_session()", self.name)
  end
  for i, each in ipairs(order) do
    if each == old then order[i] = self end
  end
  self._core, old._closed = old._core, "its body failed, and a job defined later has its name"
end

--- Defines a job from a table { name, type, function_config, inputs, returns, body } and returns
-- it, to be called with its inputs. A job whose body failed is replaced by the next of its name.
function job.global_function(...)
  local self = setmetatable(definition(...), Job)
  self._plans, self._n_plans, self._tick = {}, 0, 0
  self._core, self._latest, self._closed, self._failed = false, false, false, false
  self._told = false
  local old = by_name[self.name]
  if old then replace(self, old)
  else order[#order + 1] = self end
  by_name[self.name] = self
  return self
end

-- ---- tracing ----

-- Returns a reader of the body's results as the declared type, or nil where they are not of it. For
-- a Tuple the body returns a list or the values themselves, even if there is only one. A job that
-- trains and declares nothing may return nothing.
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

local function match_results(self, n, ...)
  local blobs, returns = {}, self._returns
  local may_be_none = self._untyped and self.type == "train"
  local reader = reader_for(returns, may_be_none, blobs, n, ...)
  if not reader then
    local hint = n > 1 and returns.kind ~= "Tuple" and not self._untyped
    core.fail("%s: the body (%s) must return %s, got %s%s", self.name, trace.where(self._body),
      self._untyped and "a blob, or a table of blobs" or ("blobs shaped as " .. returns.text),
      returned_text(n, ...),
      hint and "; the type of several values is flow.typing.Tuple(...)" or "")
  end
  for i = 1, n do
    if select(i, ...) == nil then
      core.fail("%s: the body (%s) returned %s: value %d is nil", self.name,
        trace.where(self._body), returned_text(n, ...), i)
    end
  end
  return blobs, reader
end

local function add_outputs(self, context, ...)
  local blobs, reader = match_results(self, select("#", ...), ...)
  older_losses.minimize(context)
  optimizer.close(context)
  for _, blob in ipairs(blobs) do core.output(context.graph, blob) end
  return reader, watch.close(context, #blobs), context
end

local function make_inputs(self, graph, shapes)
  local blobs = {}
  for i, input in ipairs(self._inputs) do
    blobs[i] = core.input(graph, input.name, input.type.dtype, shapes[i])
  end
  return blobs
end

-- Whether a reader must turn the plan's results into the value of a call.
local function needs_reader(self)
  local kind = self._returns.kind
  if kind == "Numpy" then return false end
  if kind ~= "Tuple" or self._async then return true end
  for _, part in ipairs(self._returns.parts) do
    if part.kind ~= "Numpy" then return true end
  end
  return false
end

-- Frees the plan that was used least recently, among those that no call is about to run; returns
-- false where there is none.
local function drop_oldest(self)
  local oldest_key, oldest
  for key, entry in pairs(self._plans) do
    local older = not oldest or entry.used < oldest.used
    if older and not core.plan_pinned(entry.plan) then oldest_key, oldest = key, entry end
  end
  if not oldest or not core.plan_free(oldest.plan) then return false end
  self._plans[oldest_key] = nil
  self._n_plans = self._n_plans - 1
  return true
end

local function check_outside(self)
  if not trace.current then return end
  core.fail("%s: a job cannot be used inside the body of '%s'; share a Lua function instead",
    self.name, trace.current.job.name)
end

local function compile(self, key, shapes)
  check_outside(self)
  if self._closed then core.fail("%s: %s", self.name, self._closed) end
  self._failed = self._n_plans == 0
  local graph = core.graph(self.name, self.type)
  local blobs = make_inputs(self, graph, shapes)
  local reader, watches, context =
    add_outputs(self, trace.run(self, graph, self._body, unpack(blobs)))
  self._core = self._core or core.job(self.name, self.type)
  local entry = { plan = core.compile(self._core, graph), graph = graph, used = self._tick,
    read = (watches or needs_reader(self)) and reader or nil, watches = watches }
  queue.own(entry, self._gives, self.config.concurrency_width)
  variable.share(context)
  while self._n_plans >= config.values.max_plans and drop_oldest(self) do end
  self._plans[key], self._n_plans, self._latest = entry, self._n_plans + 1, entry
  self._failed = false
  return entry
end

-- ---- calls ----

-- The plan for the shapes of these arguments. Replaces lists with an array for each device by the
-- array.
local function plan_for(self, values)
  local shapes, key = arguments.shapes(self, values)
  local entry = self._plans[key] or compile(self, key, shapes)
  self._tick = self._tick + 1
  entry.used, self._latest = self._tick, entry
  return entry
end

local function run(self, entry, ...)
  if self._async then return core.call(entry.plan, ...) end
  if not entry.read then return core.run(entry.plan, ...) end
  local value = entry.read(entry.watches and core.run_watched(entry.plan, ...)
    or { core.run(entry.plan, ...) })
  if self._returns.kind == "Tuple" then return unpack(value) end
  return value
end

local function fixed_plan(self)
  local shapes = {}
  for i, input in ipairs(self._inputs) do shapes[i] = input.type.shape end
  return compile(self, "fixed", shapes)
end

--- Runs the job. Returns what `returns` says: values, a registrar or a future.
function Job:__call(...)
  check_outside(self)
  if not self._dynamic then return run(self, self._latest or fixed_plan(self), ...) end
  local values, n = { ... }, select("#", ...)
  arguments.check_count(self, n)
  return run(self, plan_for(self, values), unpack(values, 1, n))
end

local function check_self(self, method)
  if getmetatable(self) == Job then return self end
  core.fail("%s: call it with a colon: job:%s()", method, method)
end

--- Traces and compiles the job without running it, for batch_size rows (1) where any number is
-- allowed. Does nothing for a job that is compiled already.
function methods:compile(batch_size)
  check_self(self, "compile")
  if not self._dynamic then return self._latest and self or (fixed_plan(self) and self) end
  local rows = batch_size and args.integer(self.name, "batch_size", batch_size, 1)
  if not rows and self._latest then return self end
  local shapes, key = arguments.shapes_for(self, rows or 1)
  self._latest = self._plans[key] or compile(self, key, shapes)
  return self
end

--- The traced graph as text, one node a line.
function methods:graph()
  return core.graph_text(check_self(self, "graph"):compile()._latest.graph)
end

--- The plan as text: steps, bytes and the peak.
function methods:plan()
  return core.plan_text(check_self(self, "plan"):compile()._latest.plan)
end

function Job:__tostring() return ("job '%s' (%s)"):format(self.name, self.type) end

local function check_no_body(what)
  if not trace.current then return end
  core.fail("%s inside the body of '%s': a body only describes its job", what,
    trace.current.job.name)
end

-- Whether no body is to blame for an error, which stops whoever compiles all jobs.
local function is_passing(err) return err == "not enough memory" or core.is_interruption(err) end

-- Tells once for each definition that its job is left out.
local function leave_out(self, err)
  if self._told then return end
  self._told = true
  warn.say("job '%s' (%s) is left out, with the variables that only it uses, until %s: %s",
    self.name, trace.where(self._body), self._dynamic
      and "its first call, as its body does not take a batch of 1" or "it is corrected",
    tostring(err))
end

--- Compiles every job defined so far that was not compiled yet. One that fails is left out.
function job.compile_all()
  check_no_body("variables cannot be initialized, saved, loaded or read")
  for _, each in ipairs(order) do
    local ok, err = pcall(each.compile, each)
    if not ok and is_passing(err) then error(err, 0) end
    if not ok then leave_out(each, err) end
  end
end

--- Waits for outstanding calls, then drops all jobs, variables and settings. Callbacks stay due
-- that could not run because one before them called this function.
function job.clear_default_session()
  check_no_body("the session cannot be cleared")
  queue.drain()
  for _, each in ipairs(order) do
    each._closed, each._latest, each._plans = CLEARED, false, {}
  end
  order, by_name, variable.shared = {}, {}, {}
  profile.across(core.reset)
  config.reset()
  for _, forget in ipairs(job.at_clear) do forget() end
end

return job
