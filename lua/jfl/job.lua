-- Job functions: their definition, the tracing of their bodies, their plans and calls.
local args = require "jfl.args"
local async = require "jfl.async"
local config = require "jfl.config"
local core = require "jfl.core"
local definition = require "jfl.definition"
local optimizer = require "jfl.optimizer"
local profile = require "jfl.profile"
local trace = require "jfl.trace"
local typing = require "jfl.typing"
local watch = require "jfl.watch"
require "jfl.ndarray"
require "jfl.ops"

local job = {
  --- Functions that clear_default_session calls when it has dropped the session.
  at_clear = {},
}

local Job = {}
Job.__index = Job

local order, by_name = {}, {}

--- Defines a job: { name, type, function_config, inputs, returns, body }; in the old spelling the
-- configuration comes first. Gives the job, to be called with its inputs.
function job.global_function(...)
  local self = setmetatable(definition(...), Job)
  if by_name[self.name] then
    core.fail("global_function: a job named '%s' is defined already", self.name)
  end
  self._plans, self._n_plans, self._tick = {}, 0, 0
  order[#order + 1] = self
  by_name[self.name] = self
  return self
end

--- Whether value is a job.
function job.is_job(value) return getmetatable(value) == Job end

-- ---- tracing ----

local function where(body)
  local info = debug.getinfo(body, "S")
  return ("%s:%d"):format(info.short_src, info.linedefined)
end

-- A reader of the body's results as the type that is declared; nil where they are not of it. What
-- is returned for a Tuple is its list or, also if there is one, its values.
local function reader_for(returns, blobs, n, ...)
  local tuple = returns.kind == "Tuple"
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
  local reader = reader_for(returns, blobs, n, ...)
  if not reader then
    core.fail("%s: the body (%s) returned %s, expected %s", self.name, where(self._body),
      returned_text(n, ...),
      self.old_style and "a blob, or a table of blobs" or ("blobs shaped as " .. returns.text))
  end
  for i = 1, n do
    if select(i, ...) == nil then
      core.fail("%s: the body (%s) returned %s: value %d is nil", self.name, where(self._body),
        returned_text(n, ...), i)
    end
  end
  return blobs, reader
end

local function add_outputs(self, context, ...)
  local blobs, reader = match_results(self, select("#", ...), ...)
  optimizer.close(context)
  for _, blob in ipairs(blobs) do core.output(context.graph, blob) end
  return reader, watch.close(context, #blobs)
end

local function make_inputs(self, graph, shapes)
  local blobs = {}
  for i, input in ipairs(self._inputs) do
    blobs[i] = core.input(graph, input.name, input.type.dtype, shapes[i])
  end
  return blobs
end

-- How results are read: nil where a call gives the plan's results as they are.
local function needs_reader(self)
  local kind = self._returns.kind
  if kind == "Numpy" then return false end
  if kind ~= "Tuple" or self._async then return true end
  for _, part in ipairs(self._returns.parts) do
    if part.kind ~= "Numpy" then return true end
  end
  return false
end

local function drop_oldest(self)
  local oldest_key, oldest
  for key, entry in pairs(self._plans) do
    if not oldest or entry.used < oldest.used then oldest_key, oldest = key, entry end
  end
  async.leave(oldest.plan)
  core.plan_free(oldest.plan)
  self._plans[oldest_key] = nil
  self._n_plans = self._n_plans - 1
end

local function check_outside(self)
  if not trace.current then return end
  core.fail("%s: a job cannot be used inside the body of '%s'; share a Lua function instead",
    self.name, trace.current.job.name)
end

local function compile(self, key, shapes)
  check_outside(self)
  if self._closed then
    core.fail("%s: the session that this job belonged to was cleared", self.name)
  end
  local graph = core.graph(self.name, self.type)
  local blobs = make_inputs(self, graph, shapes)
  local reader, watches = add_outputs(self, trace.run(self, graph, self._body, unpack(blobs)))
  self._core = self._core or core.job(self.name, self.type)
  local entry = { plan = core.compile(self._core, graph), graph = graph, used = self._tick,
    read = (watches or needs_reader(self)) and reader or nil, watches = watches }
  while self._n_plans >= config.values.max_plans do drop_oldest(self) end
  self._plans[key], self._n_plans, self._latest = entry, self._n_plans + 1, entry
  return entry
end

-- ---- calls ----

local function with_rows(shape, rows)
  local copy = { rows }
  for i = 2, #shape do copy[i] = shape[i] end
  return copy
end

local function rows_of(self, input, value)
  if type(value) ~= "table" and core.type(value) ~= "array" then
    core.fail("%s: %s: expected an NdArray or a table, got %s", self.name, input.name,
      args.describe(value))
  end
  if #value == 0 then core.fail("%s: %s: the batch is empty", self.name, input.name) end
  return #value
end

local function check_bound(self, input, shape)
  local bound = input.type.shape
  local fits = #shape == #bound
  for i = 1, #shape do fits = fits and shape[i] <= bound[i] end
  if fits then return shape end
  core.fail("%s: %s: expected at most shape %s, got %s", self.name, input.name,
    args.shape_text(bound), args.shape_text(shape))
end

-- The array of a list per device, of which there is one.
local function unwrap(self, input, value)
  local text = input.type.kind == "ListNumpy" and "a list of one NdArray, as there is one device"
    or "a list of one list of one NdArray"
  local depth = input.type.kind == "ListNumpy" and 1 or 2
  for _ = 1, depth do
    if type(value) ~= "table" or #value ~= 1 then
      core.fail("%s: %s: expected %s, got %s", self.name, input.name, text,
        type(value) == "table" and ("%d items"):format(#value) or args.describe(value))
    end
    value = value[1]
  end
  if type(value) == "table" then
    value = core.from_table(value, input.type.dtype, nil, ("%s: %s"):format(self.name, input.name))
  end
  if core.type(value) == "array" then return value, check_bound(self, input, value.shape) end
  core.fail("%s: %s: expected %s, got a list of %s", self.name, input.name, text,
    args.describe(value))
end

-- The plan for the shapes of these arguments, with list arguments replaced by their arrays.
local function plan_for(self, values)
  local shapes, extents = {}, {}
  for i, input in ipairs(self._inputs) do
    local declared = input.type
    shapes[i] = declared.shape
    if declared.kind ~= "Numpy" then
      values[i], shapes[i] = unwrap(self, input, values[i])
      extents[#extents + 1] = args.shape_text(shapes[i])
    elseif declared.any then
      local rows = rows_of(self, input, values[i])
      shapes[i] = with_rows(declared.shape, rows)
      extents[#extents + 1] = rows
    end
  end
  local key = #extents == 1 and extents[1] or table.concat(extents, ",")
  local entry = self._plans[key] or compile(self, key, shapes)
  self._tick = self._tick + 1
  entry.used, self._latest = self._tick, entry
  return entry
end

-- Errors of a call; one about the batch size says how to allow any.
local function pass_on(ok, ...)
  if ok then return ... end
  local message = (...)
  if type(message) == "string" then
    local want, want_rest, got, got_rest =
      message:match("expected shape %((%d+)(.-)%), got %((%d+)(.-)%)")
    if want and want ~= got and want_rest == got_rest then
      message = message .. "; a placeholder whose first dimension is -1 takes any batch size"
    end
  end
  error(message, 0)
end

-- The value of a run; what is watched is shown first.
local function read_results(self, entry, ok, ...)
  if not ok then return pass_on(false, ...) end
  local list = { ... }
  if entry.watches then async.show(self, entry, list) end
  return entry.read(list)
end

local function run(self, entry, ...)
  if self._async then return pass_on(pcall(async.submit, self, entry, ...)) end
  if async.head then (entry.watches and async.catch_up or async.poll)() end
  if not entry.read then return pass_on(pcall(core.run, entry.plan, ...)) end
  local value = read_results(self, entry, pcall(core.run, entry.plan, ...))
  if self._returns.kind == "Tuple" then return unpack(value) end
  return value
end

local function fixed_plan(self)
  local shapes = {}
  for i, input in ipairs(self._inputs) do shapes[i] = input.type.shape end
  return compile(self, "fixed", shapes)
end

local function check_count(self, n)
  if n == #self._inputs then return end
  local names = {}
  for i, input in ipairs(self._inputs) do names[i] = input.name end
  core.fail("%s: expected %d argument%s (%s), got %d", self.name, #names, #names == 1 and "" or "s",
    table.concat(names, ", "), n)
end

--- Runs the job. Gives what `returns` says: values, a registrar, or a future.
function Job:__call(...)
  check_outside(self)
  if not self._dynamic then return run(self, self._latest or fixed_plan(self), ...) end
  local values, n = { ... }, select("#", ...)
  check_count(self, n)
  local entry = plan_for(self, values)
  return run(self, entry, unpack(values, 1, n))
end

local function check_self(self, method)
  if getmetatable(self) == Job then return self end
  core.fail("%s: call it with a colon: job:%s()", method, method)
end

--- Traces and compiles the job without running it, for a batch of batch_size (1) where any is
-- allowed. Does nothing for a job that was compiled already.
function Job:compile(batch_size)
  check_self(self, "compile")
  if not self._dynamic then return self._latest and self or (fixed_plan(self) and self) end
  local rows = batch_size and args.integer(self.name, "batch_size", batch_size, 1)
  if not rows and self._latest then return self end
  local shapes, extents = {}, {}
  for i, input in ipairs(self._inputs) do
    local any = input.type.any
    shapes[i] = any and with_rows(input.type.shape, rows or 1) or input.type.shape
    if any then extents[#extents + 1] = rows or 1 end
    if input.type.kind ~= "Numpy" then extents[#extents + 1] = args.shape_text(shapes[i]) end
  end
  local key = #extents == 1 and extents[1] or table.concat(extents, ",")
  self._latest = self._plans[key] or compile(self, key, shapes)
  return self
end

--- The traced graph as text, one node a line.
function Job:graph() return core.graph_text(check_self(self, "graph"):compile()._latest.graph) end

--- The plan as text: steps, bytes and the peak.
function Job:plan() return core.plan_text(check_self(self, "plan"):compile()._latest.plan) end

function Job:__tostring() return ("job '%s' (%s)"):format(self.name, self.type) end

local function check_no_body(what)
  if not trace.current then return end
  core.fail("%s inside the body of '%s': a body only describes its job", what,
    trace.current.job.name)
end

--- Compiles every job defined so far that was not compiled yet.
function job.compile_all()
  check_no_body("variables cannot be initialized, saved, loaded or read")
  for _, each in ipairs(order) do each:compile() end
end

--- Waits for outstanding calls, then drops all jobs and variables and all settings. Callbacks that
-- could not run, as one before them failed or called this, stay due.
function job.clear_default_session()
  check_no_body("the session cannot be cleared")
  local ok, err = pcall(async.sync)
  for _, each in ipairs(order) do each._closed, each._latest, each._plans = true, nil, {} end
  order, by_name = {}, {}
  async.leave()
  profile.across(core.reset)
  config.reset()
  for _, forget in ipairs(job.at_clear) do forget() end
  if not ok then error(err, 0) end
end

return job
