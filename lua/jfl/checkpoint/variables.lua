-- Reads and sets variables of the session by their names.
---@flow load_variables
---@box drop_variables get_all_variables variable_info
local args = require "jfl.base.args"
local choice = require "jfl.checkpoint.choice"
local queue = require "jfl.job.queue"
local core = require "jfl.core"
local is_model = require "jfl.base.is_model"
local job = require "jfl.job.job"
local names = require "jfl.base.names"
local report = require "jfl.checkpoint.report"

local variables = {}

--- Creates every variable that is missing and waits until no run is in flight. Errors of callbacks
-- do not keep variables from being saved or loaded.
function variables.settle()
  job.compile_all()
  queue.settle()
end

--- Calls a function that makes variables and loads values of them: random numbers, which take
-- longer than files, are drawn at its end, for those alone that it did not load.
function variables.deferred(fn, ...)
  core.variables_defer(true)
  local function close(ok, ...)
    local err = ...
    core.variables_defer(false)
    if not ok then error(err, 0) end
    return ...
  end
  return close(pcall(fn, ...))
end

--- The keys of a table in their order, which must be strings.
function variables.names(who, t)
  local list = {}
  for name in pairs(t) do
    args.must(type(name) == "string", name, "%s: keys must be names of arrays", who)
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

--- A user's value as an array. A table of numbers gets the dtype given, or float32.
function variables.to_array(who, name, value, dtype)
  if core.type(value) == "array" then return value end
  if type(value) == "number" then value = { value } end
  if type(value) == "table" then
    return core.from_table(value, dtype or "float32", nil, ("%s: '%s'"):format(who, name))
  end
  core.fail("%s: '%s' must be an NdArray or a table of numbers, got %s", who, name,
    args.describe(value))
end

--- The dtypes of all variables by name.
function variables.dtypes()
  local dtypes = {}
  for _, name in ipairs(core.variables()) do dtypes[name] = (core.variable_info(name)) end
  return dtypes
end

local reading = queue.task("get_all_variables", function(list)
  local all = {}
  for i, name in ipairs(list.names) do all[name] = list[i] end
  return all
end)

--- All variables by name, as NdArrays of their own.
variables.get_all_variables = args.define("get_all_variables",
  "All variables by name, as NdArrays of their own.", {
    { "async", "whether to return at once: the variables as they are after the calls so far are "
      .. "given to the callback that what is returned takes, or by its wait()", false },
    returns = "table<string, NdArray>|Handle",
  }, function(o)
    if o.async then
      job.compile_all(true)
      return core.read_behind(reading)
    end
    variables.settle()
    local all = {}
    for _, name in ipairs(core.variables()) do all[name] = core.variable_get(name) end
    return all
  end)

-- Shapes of one number, either of which may be given for the other, as other programs write them.
local is_number = { ["()"] = true, ["(1)"] = true }

-- Whether there is a variable of that name. Only where there is none yet, jobs are compiled that
-- were not so far.
local function exists(name)
  if core.has_variable(name) then return true end
  job.compile_all(true)
  return core.has_variable(name)
end

--- What a variable is and where it lies: a table of its dtype, its shape, the devices, such as
-- "cpu:0" or "gpu 0:0-3", and how it lies on several: "broadcast", or "split(0)" along an axis. It
-- waits for nothing where the variable is there already.
variables.variable_info = args.define("variable_info", "Tells where a variable lies.", {
  { "name", "the variable", type = "string" },
  returns = "table",
}, function(o)
  job.check_no_body("variables cannot be looked up")
  if not exists(o.name) then
    core.fail("variable_info: '%s' is not a variable of any job%s", o.name,
      report.suggest(o.name, variables.dtypes()))
  end
  local dtype, shape = core.variable_info(o.name)
  local devices, lies, axis = core.variable_distribution(o.name)
  if axis then lies = ("%s(%d)"):format(lies, axis) end
  return { dtype = dtype, shape = shape, devices = devices, distribute = lies }
end)

local function check_fits(name, array)
  local dtype, shape = core.variable_info(name)
  local want, got = args.shape_text(shape), args.shape_text(array.shape)
  if array.dtype == dtype and got == want then return array end
  if array.dtype == dtype and is_number[got] and is_number[want] then
    return core.reshape(array, shape)
  end
  local turned = #shape == 2 and args.shape_text({ shape[2], shape[1] }) == got
  core.fail("load_variables: variable '%s' must be %s %s, got %s %s%s; nothing was set", name,
    dtype, want, array.dtype, got, turned and ", whose transpose would fit" or "")
end

-- Whether a variable is the state of an optimizer or of the step, which are named after what they
-- belong to.
local function is_state(name, dtypes)
  if name:find("^System%-Train%-") then return true end
  local owner = name:match("^(.+)%-[^-]+$")
  return owner ~= nil and dtypes[owner] ~= nil
end

-- What values by name match: the report of a checkpoint's load.
local function compare(values, dtypes)
  local r = { loaded = {}, missing = {}, unexpected = {}, state = {} }
  for _, name in ipairs(variables.names("load_variables", values)) do
    table.insert(dtypes[name] and r.loaded or r.unexpected, name)
  end
  for _, name in ipairs(core.variables()) do
    if is_state(name, dtypes) then r.state[name] = true end
    if values[name] == nil then table.insert(r.missing, name) end
  end
  return r
end

-- What is chosen of values by name, as arrays where the axes are to be in another order.
local function choose(chosen, values)
  local list, taken, from = {}, {}, {}
  for i, name in ipairs(variables.names("load_variables", values)) do
    local value = values[name]
    list[i] = { name = name, shape = core.type(value) == "array" and value.shape or nil }
  end
  local new, axes = choice.of(chosen, "load_variables", list)
  for i, each in ipairs(list) do
    local name = new[i]
    if name and taken[name] ~= nil then
      core.fail("load_variables: '%s' and '%s' must get names of their own, got '%s' for both",
        from[name], each.name, name)
    end
    if name then
      local value = values[each.name]
      taken[name] = axes[i] and value:transpose(axes[i]) or value
      from[name] = each.name
    end
  end
  return taken
end

-- What is to be set, by name, and the report of that. Every value is checked before any is set.
local function check_all(values, ignore_mismatch)
  local dtypes, arrays = variables.dtypes(), {}
  local found = compare(values, dtypes)
  local name = found.unexpected[1]
  if name and not ignore_mismatch then
    core.fail("load_variables: '%s' is not a variable of any job; nothing was set%s", name,
      report.suggest(name, dtypes))
  end
  for i, each in ipairs(found.loaded) do
    local array = variables.to_array("load_variables", each, values[each], dtypes[each])
    arrays[i] = check_fits(each, array)
  end
  return arrays, found
end

local setting = queue.task("load_variables", function() end)

--- Sets variables by name from NdArrays or tables, all or none, and returns a report as loading a
-- checkpoint does: the loaded, missing and unexpected names. Names that no variable has are skipped
-- and told as a warning, with the variables that keep their values; with { ignore_mismatch = false
-- } they are errors.
variables.load_variables = args.define("load_variables", "Sets variables by name.", {
  { "values", "arrays by name", keyed = true, type = "table<string, NdArray|table>" },
  { "ignore_mismatch", "whether names of no variable are skipped", true, type = "boolean" },
  { "async", "whether to return at once: calls so far see the variables as they were, later ones "
    .. "what is set. What is returned takes a callback, and has done() and wait(), which give the "
    .. "report", false },
  choice.params.rename, choice.params.transpose, choice.params.skip,
  returns = "LoadReport|Handle",
}, function(o)
  args.expect("load_variables", "values", o.values, "table")
  if o.async then job.compile_all(true) else variables.settle() end
  local chosen = choice.read("load_variables", o, variables.dtypes)
  local arrays, found = check_all(chosen and choose(chosen, o.values) or o.values,
    o.ignore_mismatch)
  local handle = o.async and core.set_behind(setting, found.loaded, arrays, found)
  -- In one order on all ranks, which set a variable together.
  for i, each in ipairs(handle and {} or found.loaded) do core.variable_set(each, arrays[i]) end
  if #found.unexpected > 0 then
    report.tell("load_variables", found, "variables that got no value keep theirs",
      "no job here has these variables")
  end
  return handle or found
end)

-- Adds the variables that are named so, or begin so, as the parts of a layer and the state of
-- optimizers do, to a set. In a name * stands for any letters.
local function add_named(set, name)
  local pattern = names.pattern(name)
  local found = name == "*"
  for _, each in ipairs(core.variables()) do
    if each:find(pattern .. "$") or each:find(pattern .. "%-") then
      set[each], found = true, true
    end
  end
  if found then return end
  core.fail("drop_variables: there is no variable '%s' nor any that begins with '%s-'%s", name,
    name, report.suggest(name, variables.dtypes()))
end

-- The namespace of a model, or nil where it is none.
local function namespace_of(what) return is_model(what) and what.name or nil end

--- Drops variables, with the state that optimizers keep for them, and returns how many: for a layer
-- that gets another size, or to begin anew. They are given by name, as the name of a layer, as a
-- pattern such as "block1-*" or "*", as a model, or as a job, which stands for all that it uses.
-- Jobs that use them are traced when they are called next and make them from their initializers.
variables.drop_variables = args.define("drop_variables", "Drops variables by name.", {
  { "names", "a variable, a layer, a pattern such as \"block*\", a model, a job, or a list of "
    .. "those", type = "string|Model|Job|(string|Model|Job)[]" },
  returns = "integer",
}, function(o)
  job.check_no_body("variables cannot be dropped")
  local is_one = type(o.names) == "string" or job.is(o.names) or namespace_of(o.names)
  local list = is_one and { o.names }
    or args.expect("drop_variables", "names", o.names, "string or table")
  local all, count = {}, 0
  for _, what in ipairs(list) do
    if job.is(what) then
      for _, name in ipairs(job.variables_of(what)) do all[name] = true end
    else
      add_named(all, namespace_of(what) or args.expect("drop_variables", "names", what, "string"))
    end
  end
  job.drop_variables(all)
  for _ in pairs(all) do count = count + 1 end
  return count
end)

return variables
