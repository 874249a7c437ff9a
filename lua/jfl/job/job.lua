-- Job functions: defines them, also anew, and calls them.
---@flow clear_default_session
---@box cancel global_function
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local arguments = require "jfl.job.arguments"
local debug = require "debug"
local queue = require "jfl.job.queue"
local config = require "jfl.job.config"
local core = require "jfl.core"
local definition = require "jfl.job.definition"
local given = require "jfl.job.given"
local inputs = require "jfl.job.inputs"
local plan = require "jfl.job.plan"
local profile = require "jfl.tools.profile"
local trace = require "jfl.job.trace"
local variable = require "jfl.net.variable"
local warn = require "jfl.base.warn"

local job = {}

local forgetting = {}

--- Has clear_default_session call forget() when it has dropped the session.
function job.on_clear(forget) forgetting[#forgetting + 1] = forget end

-- What flow.help tells of a job, and where the reference lists its methods.
local Job = { help = "global_function", class = "Job" }
local methods = {}

-- Methods only, as fields are in the job itself; any other name is a mistake.
function Job:__index(key)
  if methods[key] then return methods[key] end
  core.fail("job '%s' has no '%s'; it is called, as in %s(...), and has name, type, compile(), "
    .. "summary(), graph() and plan()", rawget(self, "name"), tostring(key), rawget(self, "name"))
end

local by_name, n_jobs = {}, 0
local unused = {}                -- by name, what the core has for good of jobs that were forgotten

-- All jobs, as they were defined first.
local function in_order()
  local list = {}
  for _, each in pairs(by_name) do list[#list + 1] = each end
  table.sort(list, function(a, b) return a._number < b._number end)
  return list
end

--- The job of that name, or nil; the i-th job, from 1; and how many there are.
function job.named(name) return by_name[name] end
function job.at(i) return in_order()[i] end
function job.count() return #in_order() end

local CLEARED = "the session that this job belonged to was cleared; define it again"

--- The user's function that defines something, and the line there.
function job.definer()
  local level, info = 3
  repeat
    level = level + 1
    info = debug.getinfo(level - 1, "Slf")
  until not info or (info.currentline > 0 and info.source:sub(1, 5) ~= "=jfl/")
  return info or { source = "", currentline = 0 }
end

-- A script that is read again makes other functions from the same file. If two files, or two lines
-- of one function, give a name, they may mean two jobs that have nothing in common.
local function tell_of_another(self, by)
  local old = self._by
  local same = old.func == by.func and old.currentline ~= by.currentline
  local files = old.source ~= by.source and old.source:find("^@") and by.source:find("^@")
  if not same and not files then return end
  warn.say("job '%s' (%s:%d) is defined anew (%s:%d): if these are two jobs, give one another name",
    self.name, old.short_src, old.currentline, by.short_src, by.currentline)
end

--- Has nothing said where the job of that name, if there is one, is defined anew: by who made it.
function job.is_mine(name)
  local old = by_name[name]
  if old then old._by = { source = "", short_src = "", currentline = 0 } end
end

-- Whether no body is to blame for an error, which stops whoever compiles jobs.
local function is_passing(err) return err == "not enough memory" or core.is_interruption(err) end

-- The shapes of a call of a definition that is like the last one of the job: nil where nothing says
-- what they may be.
local function shapes_like(self, fields)
  local shapes = self._latest.shapes
  if fields._dynamic and not (self._dynamic and #shapes == #fields._inputs) then return nil end
  return (arguments.shapes_like(fields, shapes))
end

-- Fails where a job runs and its new body would not, as where variables no longer fit: so what is
-- read again with a mistake leaves a program running.
local function check_body(self, fields)
  local shapes = self._latest and shapes_like(self, fields)
  if not shapes then return end
  local ok, err = plan.try(self, fields, shapes)
  if ok then return end
  if is_passing(err) or type(err) ~= "string" then error(err, 0) end
  error(("%s; job '%s' goes on as it was defined before"):format(err, self.name), 0)
end

-- Gives a job another definition. The object, the variables and the count of runs stay; calls that
-- were made before end as they began.
local function redefine(self, fields)
  if trace.current then
    core.fail("%s: a job cannot be defined anew inside the body of '%s'", self.name,
      trace.current.job.name)
  end
  check_body(self, fields)
  tell_of_another(self, fields._by)
  plan.retire(self)
  for key, value in pairs(fields) do self[key] = value end
  self._told = false
  plan.free_retired(self, true)
  return self
end

--- Defines a job from a table { name, type, function_config, inputs, returns, body } and returns
-- it, to be called with its inputs. A name that a job has already gives that job the new
-- definition: whoever holds it calls the new one from then on.
function job.global_function(...)
  local self = definition(...)
  self._by = job.definer()
  local old = by_name[self.name]
  if old then return redefine(old, self) end
  self._plans, self._n_plans, self._tick = {}, 0, 0
  self._core, self._latest, self._retired, self._closed = unused[self.name] or false, false, false,
    false
  unused[self.name] = nil
  self._told, self._number, n_jobs = false, n_jobs, n_jobs + 1
  self._steps = false
  by_name[self.name] = setmetatable(self, Job)
  return self
end

-- ---- calls ----

-- Whether a call of the job leaves it to the worker to make its plan.
local function goes_behind(self) return self._async and config.values.when_new ~= "wait" end

-- The plan for the shapes of these arguments, and all their arrays. Lists with an array for each
-- device are laid out.
local function plan_for(self, values)
  local shapes, key = arguments.shapes(self, values)
  local entry = plan.kept(self, key) or plan.compile(self, key, shapes, goes_behind(self))
  self._tick = self._tick + 1
  entry.used, self._latest = self._tick, entry
  return entry, arguments.flatten(self, values, entry.members)
end

local function run_plan(self, entry, ...)
  if self._async then return core.call(entry.plan, ...) end
  if not entry.read then return core.run(entry.plan, ...) end
  local value = entry.read(entry.watches and core.run_watched(entry.plan, ...)
    or { core.run(entry.plan, ...) })
  if entry.spreads then return unpack(value) end
  return value
end

local function submit_plan(_, entry, ...) return core.call(entry.plan, ...) end

-- Has by(self, entry, ...) run a plan with what it takes beside the arguments.
local function run(by, self, entry, ...)
  if entry.given then return given.run(by, self, entry, ...) end
  return by(self, entry, ...)
end

--- The plan of a job for arguments of these shapes, as arguments.shapes_given and shapes_for give
-- them with a key; the entry that keeps it.
function job.entry_for(self, shapes, key)
  plan.check_outside(self)
  if not self._dynamic then key = "fixed" end
  local entry = plan.kept(self, key) or plan.compile(self, key, shapes)
  self._tick = self._tick + 1
  entry.used, self._latest = self._tick, entry
  return entry
end

local function fixed_plan(self, behind)
  local shapes = {}
  for i, input in ipairs(self._inputs) do shapes[i] = input.type.shape end
  return plan.kept(self, "fixed") or plan.compile(self, "fixed", shapes, behind)
end

local function call(by, self, ...)
  local first = ...
  plan.check_outside(self)
  if type(first) == "table" and select("#", ...) == 1 and args.is_options(first) then
    return call(by, self, unpack(inputs.by_name(self, first), 1, #self._inputs))
  end
  if not self._dynamic then
    local entry = self._latest
    if not entry or entry.behind then entry = fixed_plan(self, goes_behind(self)) end
    return run(by, self, entry, ...)
  end
  local values, n = { ... }, select("#", ...)
  arguments.check_count(self, n)
  local entry, flat, count = plan_for(self, values)
  return run(by, self, entry, unpack(flat, 1, count))
end

--- Runs the job. Returns what `returns` says: values, a registrar or a future. Arguments may be
-- given by name, in one table.
function Job:__call(...) return call(run_plan, self, ...) end

--- Has the job run without waiting for it, whatever `returns` says; gives what the core's
-- register() and value() take.
function job.submit(self, ...) return call(submit_plan, self, ...) end

local check_self = args.colon(Job, "job")

-- Has the job a plan for so many rows, or where that is nil a plan; gives its entry.
local function need_plan(self, rows, behind)
  if not self._dynamic then return self._latest or fixed_plan(self, behind) end
  if not rows and self._latest then return self._latest end
  local shapes, key = arguments.shapes_for(self, rows or 1)
  self._latest = plan.kept(self, key) or plan.compile(self, key, shapes, behind)
  return self._latest
end

--- Traces and compiles the job without running it, for batch_size rows (1) where any number is
-- allowed; other extents that vary are at their bounds. Does nothing for a job that is compiled
-- already.
function methods:compile(batch_size)
  check_self(self, "compile")
  plan.await(need_plan(self,
    batch_size and args.integer(self.name, "batch_size", batch_size, 1)))
  return self
end

--- The graph as text, one node a line: as the body describes it, or with "optimized" as it runs,
-- after all passes.
function methods:graph(which)
  check_self(self, "graph")
  if which ~= nil then
    args.one_of(self.name .. ": graph", "which", which, { "traced", "optimized" })
  end
  return core.graph_text(self:compile()._latest.graph, which ~= "optimized")
end

--- What the body describes as a table: a line for each op, with its result and how many numbers its
-- variables have.
function methods:summary()
  return require "jfl.job.summary"(self, check_self(self, "summary"):compile()._latest.graph)
end

--- The plan as text: steps, bytes and the peak.
function methods:plan()
  return core.plan_text(check_self(self, "plan"):compile()._latest.plan)
end

function Job:__tostring() return ("job '%s' (%s)"):format(self.name, self.type) end

--- Takes back calls that have not begun: all of a job, or the one that gave a registrar or future.
-- What they were given for the case of failure is told at the next `flow.poll` or `flow.sync`, and
-- so on; without it nothing is raised. Calls that have begun go on to their end, so a step of
-- training is made whole or not at all. Returns how many were taken back.
function job.cancel(what)
  if metatable(what) == Job then return what._core and core.cancel(what._core) or 0 end
  if core.type(what) == "request" then return core.cancel(what) end
  core.fail("cancel: call must be a job, or what a call of one gave, got %s", args.describe(what))
end

--- Fails inside a body.
function job.check_no_body(what)
  if not trace.current then return end
  core.fail("%s inside the body of '%s': a body only describes its job", what,
    trace.current.job.name)
end

-- Tells once for each definition that its job is left out.
local function leave_out(self, err)
  if self._told then return end
  self._told = true
  warn.say("job '%s' (%s) is left out, with the variables that only it uses, until %s: %s",
    self.name, trace.where(self._body), self._dynamic
      and "its first call, as compiling it for a batch of 1 failed" or "it is corrected",
    tostring(err))
end

--- Compiles every job defined so far that was not compiled yet. One that fails is left out.
-- is_queued: for what takes its turn among the runs, so plans may be made there too.
function job.compile_all(is_queued)
  job.check_no_body("variables cannot be initialized, saved, loaded or read")
  local behind = is_queued and config.values.when_new ~= "wait"
  for _, each in ipairs(in_order()) do
    local ok, err = pcall(behind and need_plan or each.compile, each, nil, behind)
    if not ok and is_passing(err) then error(err, 0) end
    if not ok then leave_out(each, err) end
  end
end

--- Frees the plans of all jobs that have one of these variables, { [name] = true }; those jobs are
-- traced when they are called next.
function job.leave(names)
  for _, each in ipairs(in_order()) do plan.leave(each, names) end
end

--- Whether a value is a job.
function job.is(value) return metatable(value) == Job end

--- The names of the variables that a job uses, with the state of its optimizers.
function job.variables_of(self)
  local found, list = {}, {}
  for _, entry in pairs(self._plans) do
    for _, name in ipairs(core.plan_variables(entry.plan)) do found[name] = true end
  end
  for name in pairs(found) do list[#list + 1] = name end
  return list
end

--- Drops variables, { [name] = true }, after the plans that have them.
function job.drop_variables(names)
  job.leave(names)
  for name in pairs(names) do
    core.variable_drop(name)
    variable.shared[name] = nil
  end
end

--- Ends a job, whose name is free then.
function job.forget(self)
  queue.settle()
  plan.retire(self)
  plan.free_retired(self)
  by_name[self.name], unused[self.name] = nil, self._core or nil
  self._closed = "the job has ended"
end

--- Waits for outstanding calls, then drops all jobs, variables and settings. Callbacks stay due
-- that could not run because one before them called this function.
function job.clear_default_session()
  job.check_no_body("the session cannot be cleared")
  queue.settle()
  for _, each in ipairs(in_order()) do
    each._closed, each._latest, each._plans, each._retired = CLEARED, false, {}, false
  end
  by_name, unused, variable.stored = {}, {}, {}
  variable.shared, variable.frozen, variable.trainable = {}, {}, {}
  profile.across(core.reset)
  config.reset()
  for _, forget in ipairs(forgetting) do forget() end
end

return job
