-- flow.train.CheckPoint, and variables by name.
local args = require "jfl.args"
local async = require "jfl.async"
local core = require "jfl.core"
local job = require "jfl.job"
local wrong = require "jfl.names"

local checkpoint = {}

local SHOWN = 8

-- Every variable exists and no run is in flight.
local function settle()
  job.compile_all()
  async.sync()
end

local save = args.define("train.CheckPoint:save", "Writes all variables to a directory.", {
  { "path", "the directory" },
  { "overwrite", "whether a checkpoint that is there is replaced", false },
}, function(o)
  args.expect("save", "path", o.path, "string")
  args.expect("save", "overwrite", o.overwrite, "boolean")
  settle()
  core.save(o.path, o.overwrite)
end)

-- Says on stderr what matched nothing; optimizer and step state is not worth a word.
local function complain(path, names, state, text)
  local shown = {}
  for _, name in ipairs(names) do
    if not state[name] then shown[#shown + 1] = name end
  end
  table.sort(shown)
  local more = #shown - SHOWN
  if #shown == 0 then return end
  if more > 0 then shown = { unpack(shown, 1, SHOWN) } end
  if more > 0 then shown[SHOWN + 1] = ("and %d more"):format(more) end
  io.stderr:write(("jfl: %s: %s: %s\n"):format(path, text, table.concat(shown, ", ")))
end

local load = args.define("train.CheckPoint:load", "Reads variables from a directory.", {
  { "path", "the directory" },
  { "strict", "whether names missing on either side are an error", false },
}, function(o)
  args.expect("load", "path", o.path, "string")
  args.expect("load", "strict", o.strict, "boolean")
  settle()
  local report = core.load(o.path, o.strict)
  local state = report.state or {}
  complain(o.path, report.missing, state, "variables that it does not have keep their values")
  complain(o.path, report.unexpected, state, "holds variables that no job here has")
  return report
end)

local CheckPoint = {}
CheckPoint.__index = CheckPoint

CheckPoint.__tostring = function() return "CheckPoint" end

local function check(self, name)
  if getmetatable(self) == CheckPoint then return end
  core.fail("%s: call it with a colon: check_point:%s(...)", name, name)
end

--- Creates every variable of every job defined so far.
function CheckPoint:init()
  check(self, "init")
  settle()
end

--- Writes every variable, with optimizer and run state, to a directory; a checkpoint that is there
-- is replaced with { overwrite = true }.
function CheckPoint:save(...)
  check(self, "save")
  return save(...)
end

--- Reads what matches by name and gives a report: loaded, missing and unexpected names. Names that
-- match nothing are told on stderr, and are errors with { strict = true }.
function CheckPoint:load(...)
  check(self, "load")
  return load(...)
end

--- flow.train.
checkpoint.train = {
  --- What saves and loads the variables of the session.
  CheckPoint = function() return setmetatable({}, CheckPoint) end,
}

--- flow.checkpoint.
checkpoint.checkpoint = { save = save, load = load }

--- All variables by name, as NdArrays of their own.
function checkpoint.get_all_variables()
  settle()
  local all = {}
  for _, name in ipairs(core.variables()) do all[name] = core.variable_get(name) end
  return all
end

local function set_all(values, ignore_mismatch)
  settle()
  local known = {}
  for _, name in ipairs(core.variables()) do known[name] = true end
  for name in pairs(values) do
    if not known[name] and not ignore_mismatch then
      core.fail("load_variables: '%s' is not a variable of any job%s", tostring(name),
        wrong.suggest(tostring(name), known))
    end
  end
  for name, value in pairs(values) do
    if known[name] then core.variable_set(name, value) end
  end
end

-- Its first argument has names of its own, so it is boxed before options are looked for.
local Boxed = {}

local load_variables = args.define("load_variables", "Sets variables by name.", {
  { "values", "arrays by name" },
  { "ignore_mismatch", "whether names of no variable are skipped", true },
}, function(o) set_all(o.values.inside, o.ignore_mismatch) end)

--- Sets variables by name from NdArrays or tables. Names of no variable are skipped, and are errors
-- with { ignore_mismatch = false }.
function checkpoint.load_variables(values, ...)
  args.expect("load_variables", "values", values, "table")
  load_variables(setmetatable({ inside = values }, Boxed), ...)
end

return checkpoint
