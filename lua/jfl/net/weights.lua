-- The variables of a model: their names, files of them, which are trained, and a table of them.
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local checkpoint = require "jfl.checkpoint.checkpoint"
local choice = require "jfl.checkpoint.choice"
local core = require "jfl.core"
local job = require "jfl.job.job"
local lazy = require "jfl.base.lazy"
local trace = require "jfl.job.trace"
local variable = require "jfl.net.variable"
local variables = require "jfl.checkpoint.variables"

local weights = {
  --- Methods of a model, called with the one that has the variables.
  methods = {},
  --- The note of a checkpoint that says which network it is.
  NOTE = "model",
}
local methods = weights.methods

-- ---- names ----

-- Appends the variables of a model in the order in which they were made: { name, full }.
local function collect(self, prefix, live, list, seen)
  for _, part in ipairs(self._parts) do
    if type(part) == "table" then
      if not seen[part] then
        seen[part] = true
        collect(part, prefix .. part._name .. "-", live, list, seen)
      end
    elseif live[part] then
      list[#list + 1] = { name = prefix .. part:sub(#self._path + 2), full = part }
    end
  end
  return list
end

-- The variables of a model, of which there must be some.
local function all_of(self, who)
  variables.settle()
  local list = collect(self, "", variables.dtypes(), {}, {})
  if #list > 0 then return list end
  core.fail("model '%s': %s: it has no variables yet; the jobs that net:train and net:predict "
    .. "define make them", self.name, who)
end

local function listed(list)
  table.sort(list)
  return args.listed(list)
end

-- The variables of a model in the body that runs: { name, full } as above.
local function in_body(self, context, who)
  local list = collect(self, "", context.variables, {}, {})
  if #list > 0 then return list end
  core.fail("model '%s': %s: it has no variables in this body yet, which has to call it before",
    self.name, who)
end

--- The blobs of those variables of a model that the body which runs can train, in their order.
function weights.trainable_in(self, context)
  local trainable, blobs = {}, {}
  for _, v in ipairs(context.trainable) do trainable[v.name] = v.blob end
  for _, each in ipairs(in_body(self, context, "variables")) do
    blobs[#blobs + 1] = trainable[each.full]
  end
  return blobs
end

--- The variables by name within the model: as NdArrays of their own or, in a body, as its blobs.
function methods:variables()
  local all, context = {}, trace.current
  if context then
    for _, each in ipairs(in_body(self, context, "variables")) do
      all[each.name] = context.variables[each.full]
    end
    return all
  end
  for _, each in ipairs(all_of(self, "variables")) do
    all[each.name] = core.variable_get(each.full)
  end
  return all
end

-- ---- files ----

local save = args.unlisted("net:save", {
  { "self" }, { "path" }, { "overwrite", "", false }, { "shard_bytes", "", args.none },
  { "notes", "", args.none },
}, function(o)
  local who, arrays = "save", {}
  args.expect(who, "path", o.path, "string")
  checkpoint.check_shards(o)
  local list = all_of(o.self, who)
  for _, each in ipairs(list) do arrays[each.name] = core.variable_get(each.full) end
  local description = o.self._description or lazy.get("network").text(o.self, list)
  checkpoint.save_arrays(o.path, arrays, { overwrite = o.overwrite, shard_bytes = o.shard_bytes,
    notes = checkpoint.check_notes(o.notes),
    texts = { [weights.NOTE] = description } })
end)

--- Writes the model's variables to a directory, under their names within the model; with {
-- notes = t } what else a program needs that loads it, with { shard_bytes = n } in shards. Which
-- network it is stands there, too: flow.models.load makes it again of that alone. Of one whose
-- function a script gave, that is the graph of what it predicts.
function methods:save(...) return save(self, ...) end

local function check_source(who, from)
  if type(from) == "string" then return end
  args.must(type(from) == "table" and not metatable(from) and next(from) ~= nil, from,
    "%s: path must be that of a checkpoint, or a table of arrays by names such as net:variables() "
      .. "gives", who)
  for name, array in pairs(from) do
    if type(name) ~= "string" or core.type(array) ~= "array" then
      core.fail("%s: what is given by names must be an NdArray each, got %s for %s", who,
        args.describe(array), args.describe(name))
    end
  end
end

-- The tensors of a table of arrays by names, as choice.tensors gives those of a file.
local function given_tensors(arrays)
  local list = {}
  for name, array in pairs(arrays) do
    list[#list + 1] = { name = name, dtype = array.dtype, shape = array.shape, array = array }
  end
  return list
end

-- What of those tensors is the model's: by names within it or, as in a checkpoint of a whole
-- session, by full names. The names become those within the model, or false for what is not meant:
-- only what begins with `only` is.
local function found_in(self, found, list, only)
  local has, n = {}, 0
  for _, each in ipairs(found) do has[each.name] = true end
  for _, each in ipairs(list) do
    if has[each.name] then n = n + 1 end
  end
  for _, each in ipairs(found) do
    local own = each.name
    if n == 0 then own = own:sub(1, #self._path + 1) == self._path .. "-"
      and own:sub(#self._path + 2) end
    each.name = own and own:sub(1, #only) == only and own
  end
  return found, n > 0
end

-- Compares a file with the model: the tensors by full names, and the report.
local function compare(list, found, only)
  local known, set, has = {}, {}, {}
  local report = { loaded = {}, missing = {}, unexpected = {} }
  for _, each in ipairs(found) do
    if each.name then has[each.name] = each end
  end
  for _, each in ipairs(list) do
    known[each.name] = true
    if has[each.name] then
      set[each.full] = has[each.name]
      table.insert(report.loaded, each.name)
    elseif each.name:sub(1, #only) == only then
      table.insert(report.missing, each.name)
    end
  end
  for name, each in pairs(has) do
    if not known[name] and not each.lacks then table.insert(report.unexpected, name) end
  end
  table.sort(report.unexpected)
  return set, report
end

local function shown(from) return type(from) == "string" and from or "the table" end

-- Fails with all that does not fit; nothing is set then.
local function check_report(who, o, report, is_own)
  local wrong = {}
  if #report.missing > 0 then wrong[1] = "it lacks " .. listed(args.copied(report.missing)) end
  if is_own and #report.unexpected > 0 then
    wrong[#wrong + 1] = "the model has no " .. listed(args.copied(report.unexpected))
  end
  if #report.loaded == 0 then wrong[#wrong + 1] = "nothing in it is the model's" end
  if #wrong == 0 or not o.strict and #report.loaded > 0 then return end
  core.fail("%s: %s: is that another model's? %s; nothing was set%s", who, shown(o.path),
    table.concat(wrong, "; "), #report.loaded > 0
      and "; { strict = false } loads what there is" or "")
end

local function check_shapes(who, path, set)
  local wrong = {}
  for name, each in pairs(set) do
    local dtype, shape = core.variable_info(name)
    if each.shape and args.shape_text(each.shape) ~= args.shape_text(shape) then
      wrong[#wrong + 1] = ("%s must be %s %s, got %s %s"):format(name, dtype,
        args.shape_text(shape), each.dtype, args.shape_text(each.shape))
    end
  end
  if #wrong == 0 then return end
  core.fail("%s: %s: is that another model's? %s; nothing was set; { only = \"conv\" } loads what "
    .. "begins so", who, shown(path), listed(wrong))
end

local function set_arrays(set)
  local arrays = {}
  for name, each in pairs(set) do arrays[name] = each.array end
  variables.load_variables(arrays, false)
end

-- Loads what the file has for the model, in one step.
local function load_file(file, set, found, full_of)
  local new, axes, only = {}, {}, {}
  for i, each in ipairs(found) do
    new[i], axes[i] = each.name and full_of[each.name] or false, false
  end
  core.checkpoint_take(file, new, axes)
  for name in pairs(set) do only[#only + 1] = name end
  core.load(file, false, only)
end

local function load_now(o)
  local self, who = o.self, ("model '%s': load"):format(o.self.name)
  check_source(who, o.path)
  args.expect(who, "only", o.only, "string")
  local list, full_of = all_of(self, "load"), {}
  for _, each in ipairs(list) do full_of[each.name] = each.full end
  local chosen = choice.read(who, o, function() return full_of end)
  local function take(all, put)
    local found, is_own = found_in(self, all, list, o.only)
    local set, report = compare(list, found, o.only)
    check_report(who, o, report, is_own)
    check_shapes(who, o.path, set)
    put(set, found)
    return report
  end
  if type(o.path) == "table" then return take(given_tensors(o.path), set_arrays) end
  local function take_file(file)
    choice.take(chosen, o.path, file)
    return take(choice.tensors(file), function(set, found)
      load_file(file, set, found, full_of)
    end)
  end
  if o.file then return take_file(o.file) end
  return checkpoint.with_open(o.path, take_file)
end

--- Loads a model's variables from an open checkpoint; the options are those of net:load.
function weights.load_open(self, file, path, options)
  local o = { self = self, file = file, path = path, strict = true, only = "" }
  for name, value in pairs(options) do o[name] = value end
  return variables.deferred(load_now, o)
end

local load = args.unlisted("net:load", {
  { "self" }, { "path" }, { "strict", "", true }, { "only", "", "" },
  choice.params.rename, choice.params.transpose, choice.params.skip,
}, function(o) return variables.deferred(load_now, o) end)

--- Reads the model's variables from what net:save wrote, from a checkpoint of a session, from
-- weights of other programs, or from a table as net:variables() gives it, all or none. With
-- { strict = false } it takes what there is; with { only = "conv" } the variables whose names begin
-- so; { rename, transpose, skip } are those of flow.checkpoint.load, for names within the model.
-- Gives a report of the names.
function methods:load(from, ...)
  local given = ...
  if type(from) ~= "table" or metatable(from) or from.path ~= nil then
    return load(self, from, ...)
  end
  local options = { path = from }
  for key, value in pairs(given or {}) do options[key] = value end
  return load(self, options)
end

-- ---- what is trained ----

-- The names that a pattern finds, as a list of { name, full }.
local function matching(self, who, pattern)
  args.expect(who, "pattern", pattern, "string")
  local list, found, all = all_of(self, who), {}, {}
  for i, each in ipairs(list) do
    local ok, at = pcall(string.find, each.name, pattern)
    if not ok then core.fail("%s: pattern '%s': %s", who, pattern, at) end
    if at then found[#found + 1] = each end
    all[i] = each.name
  end
  if #found > 0 then return found end
  core.fail("model '%s': %s: no variable has a name that the pattern '%s' finds; there are %s",
    self.name, who, pattern, listed(all))
end

local function freeze(self, who, pattern, value)
  job.check_no_body(who)
  local found, changed = matching(self, who, pattern), {}
  for _, each in ipairs(found) do
    if variable.frozen[each.full] ~= value then changed[each.full] = true end
    variable.frozen[each.full] = value
  end
  job.leave(changed)
  return #found
end

--- Keeps the variables as they are whose names within the model a pattern of Lua finds: "^conv",
-- or "" for all. Train jobs compute no gradients for them. Returns how many they are.
function methods:freeze(pattern) return freeze(self, "freeze", pattern, true) end

--- Has variables trained again.
function methods:unfreeze(pattern) return freeze(self, "unfreeze", pattern, nil) end

-- ---- a table ----

local function grouped(n)
  local text = ("%.0f"):format(n)
  return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

--- The variables as a text, in the order in which the body makes them: name, dtype and shape,
-- number of elements, and whether it is trained; and below how many they are together.
function methods:summary()
  local rows, widths, total, trained = {}, { 0, 0, 0 }, 0, 0
  local trainable = variable.trainable
  for i, each in ipairs(all_of(self, "summary")) do
    local dtype, shape = core.variable_info(each.full)
    local n, frozen = args.count(shape), variable.frozen[each.full]
    total = total + n
    if trainable[each.full] and not frozen then trained = trained + n end
    rows[i] = { each.name, dtype .. " " .. args.shape_text(shape), grouped(n),
      frozen and "  frozen" or trainable[each.full] and "" or "  not trained" }
    for k = 1, 3 do widths[k] = math.max(widths[k], #rows[i][k]) end
  end
  local form = ("%%-%ds  %%-%ds  %%%ds%%s"):format(unpack(widths))
  for i, row in ipairs(rows) do rows[i] = form:format(unpack(row)) end
  table.insert(rows, 1, ("model '%s'"):format(self.name))
  rows[#rows + 1] = ("%s numbers, %s of them trained"):format(grouped(total), grouped(trained))
  return table.concat(rows, "\n")
end

return weights
