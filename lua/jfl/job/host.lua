-- What a host program in C asks of the jobs of its script: the calls of src/script/job.c.
local args = require "jfl.base.args"
local arguments = require "jfl.job.arguments"
local checkpoint = require "jfl.checkpoint.checkpoint"
local core = require "jfl.core"
local extents = require "jfl.job.extents"
local given = require "jfl.job.given"
local job = require "jfl.job.job"

local host = { count = job.count }

local function find(name)
  local found = job.named(name)
  if found then return found end
  local set = {}
  for i = 1, job.count() do set[job.at(i).name] = true end
  core.fail("the script has no job '%s'%s", name, args.instead(name, set, "its jobs"))
end

function host.check(name) find(name) end

function host.name_of(i) return job.at(i + 1).name end

--- Whether a job trains, and how many arguments it takes.
function host.about(name)
  local self = find(name)
  return self.type == "train", #self._inputs
end

--- The name, dtype and shape of an argument.
function host.input(name, i)
  local input = find(name)._inputs[i + 1]
  return input.name, input.type.dtype, input.type.shape
end

--- The name, dtype and largest shape of an argument.
function host.bound(name, i)
  local input = find(name)._inputs[i + 1]
  return input.name, input.type.dtype, extents.bounds(input.type)
end

-- Fails for a job that takes lists with an array for each device.
local function check_whole(self)
  for _, input in ipairs(self._inputs) do
    args.check(input.type.kind == "Numpy", "%s: %s must be a list with an array for each device, "
      .. "so the job can be called from Lua alone", self.name, input.name)
  end
  return self
end

-- Results are named by what the reader of the list 1, 2, 3 ... makes of it.
local function name_results(value, path, found)
  if type(value) == "number" then
    found[value] = path
    return
  end
  for key, item in pairs(value or {}) do
    name_results(item, path == "" and tostring(key) or path .. "." .. tostring(key), found)
  end
end

local function result_names(entry)
  local numbers, found = {}, {}
  for i = 1, entry.n_results do numbers[i] = i end
  name_results(entry.reader(numbers), "", found)
  return found
end

local function entry_of(self, rows)
  return job.entry_for(self, arguments.shapes_for(check_whole(self), rows))
end

--- The plan for so many rows, how many results it gives, and their names.
function host.plan(name, rows)
  local entry = entry_of(find(name), rows)
  return entry.plan, entry.n_results
end

function host.result_name(name, i)
  local self = find(name)
  return result_names(self._latest or entry_of(self, 1))[i + 1]
end

--- What a call with arguments of these shapes runs: the plan, how many results it gives,
-- whether handlers are to be shown values of it, and the arrays that go behind the arguments. Such
-- a call counts as made.
function host.prepare(name, ...)
  local self = find(name)
  arguments.check_count(self, select("#", ...))
  local entry = job.entry_for(self, arguments.shapes_given(check_whole(self), { ... }))
  if not entry.given then return entry.plan, entry.n_results, entry.watches and true end
  local list = given.arrays(self, entry)
  given.count(self)
  return entry.plan, entry.n_results, entry.watches and true, unpack(list)
end

--- Runs the latest plan of a job whose values are shown to handlers; a list of the results.
function host.run_watched(name, ...) return core.run_watched(find(name)._latest.plan, ...) end

--- Forgets how many calls were counted, after one that was not made.
function host.recount(name) find(name)._steps = false end

function host.cancel(name) return job.cancel(find(name)) end

--- Write and read all variables, at a path of the host's, which outside(f, ...) opens for it.
function host.save(path, overwrite, outside) checkpoint.save_by(outside, path, overwrite) end
function host.load(path, strict, outside) checkpoint.load_by(outside, path, { strict = strict }) end

return host
