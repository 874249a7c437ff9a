-- Checkpoints: flow.train.CheckPoint and flow.checkpoint.
---@space checkpoint=checkpoint
---@box checkpoint.get checkpoint.load checkpoint.notes checkpoint.save
local args = require "jfl.base.args"
local choice = require "jfl.checkpoint.choice"
local core = require "jfl.core"
local job = require "jfl.job.job"
local loop = require "jfl.data.loop"
local plain = require "jfl.base.plain"
local queue = require "jfl.job.queue"
local report = require "jfl.checkpoint.report"
local variables = require "jfl.checkpoint.variables"
local warn = require "jfl.base.warn"

local checkpoint = {}

local LOOP, NOTES = "loop.", "lua"
local ASYNC = "whether to return at once: variables are written as they are after the calls so "
  .. "far, while the program goes on. What is returned takes a callback, and has done() and wait()"

-- How functions of the core that take paths are called, but for those of a program in C, which
-- opens its own files.
local function directly(f, ...) return f(...) end

-- ---- saving ----

-- The user's notes and more texts by name, as lists of names and texts.
local function listed(notes, more)
  local keys, values = {}, {}
  if notes ~= nil then keys[1], values[1] = NOTES, plain.write(notes, "save: notes") end
  for name, text in pairs(more or {}) do keys[#keys + 1], values[#values + 1] = name, text end
  return keys, values
end

-- The notes and texts of a save, and the positions of all loops, as lists.
local function kept(notes, more)
  local keys, values = listed(notes, more)
  for name, text in pairs(loop.save()) do
    keys[#keys + 1], values[#values + 1] = LOOP .. name, text
  end
  return keys, values
end

--- Writes arrays by name. o: { overwrite, shard_bytes, notes, texts }, the last by name.
function checkpoint.save_arrays(path, var_dict, o)
  local names, arrays = variables.names("save: var_dict", var_dict), {}
  if #names == 0 then core.fail("save: var_dict must hold arrays by name, got an empty table") end
  local dtypes = variables.dtypes()
  for i, name in ipairs(names) do
    arrays[i] = variables.to_array("save: var_dict", name, var_dict[name], dtypes[name])
  end
  local keys, texts = listed(o.notes, o.texts)
  local function write()
    core.write_arrays(path, o.overwrite, names, arrays, o.shard_bytes, keys, texts)
  end
  local rank, size = core.world()
  if size == 1 then return write() end
  -- Rank 0 writes, and all learn how it went.
  local ok, err = true, ""
  if rank == 0 then
    ok, err = pcall(write)
  end
  err = core.hand_out(("save arrays to '%s'"):format(path), ok and "" or tostring(err))
  if err ~= "" then core.fail("%s%s", rank > 0 and "rank 0: " or "", err) end
end

local saving = queue.task("checkpoint.save", function() end)

--- Writes all variables, and notes and texts by name if there are any, where call(f, ...) calls
-- what opens the path.
function checkpoint.save_by(call, path, overwrite, notes, more)
  variables.settle()
  call(core.save, path, overwrite, kept(notes, more))
end

--- Fails unless notes are a table, or nil.
function checkpoint.check_notes(notes)
  if notes ~= nil then args.expect("save", "notes", notes, "table") end
  return notes
end

local SHARDS = { "shard_bytes", "how many bytes of numbers a file has, for several files and an "
  .. "index that says which has what, model.safetensors.index.json; the directory must not be "
  .. "there yet. Without it there is one file", args.none, keyed = true, type = "integer" }
local NOTE = { "notes", "what else a program needs that loads it, such as the names of classes: "
  .. "tables, strings, numbers and booleans", args.none, keyed = true, type = "table" }

--- Checks the option shard_bytes of a save.
function checkpoint.check_shards(o)
  if o.shard_bytes == nil then return end
  args.integer("save", "shard_bytes", o.shard_bytes, 1)
  if not o.overwrite and not o.async then return end
  core.fail("save: shard_bytes goes without overwrite and async: shards take a directory that is "
    .. "not there yet, and are written at once")
end

local save = args.define("train.CheckPoint:save", "Writes all variables to a directory.", {
  { "path", "the directory" },
  { "overwrite", "whether a checkpoint that is there is replaced", false },
  { "async", ASYNC, false },
  NOTE, SHARDS,
  returns = "Handle?",
}, function(o)
  args.expect("save", "path", o.path, "string")
  checkpoint.check_shards(o)
  local notes = checkpoint.check_notes(o.notes)
  if o.shard_bytes ~= nil then
    variables.settle()
    local keys, values = kept(notes)
    return core.save(o.path, false, keys, values, o.shard_bytes)
  end
  if o.async then
    job.compile_all(true)
    return core.save_behind(saving, o.path, o.overwrite, kept(notes))
  end
  checkpoint.save_by(directly, o.path, o.overwrite, notes)
end)

local save_some = args.define("checkpoint.save", "Writes variables to a directory.", {
  { "path", "the directory" },
  { "var_dict", "arrays by name, to write these alone and no state of the run", args.none,
    keyed = true, type = "table<string, NdArray>" },
  { "overwrite", "whether a checkpoint that is there is replaced", false },
  { "async", ASYNC, false },
  NOTE, SHARDS,
  returns = "Handle?",
}, function(o)
  if o.var_dict == nil then
    return save(o.path, { overwrite = o.overwrite, async = o.async, notes = o.notes,
      shard_bytes = o.shard_bytes })
  end
  if o.async then core.fail("save: async writes all variables, and takes no var_dict") end
  args.expect("save", "path", o.path, "string")
  args.expect("save", "var_dict", o.var_dict, "table")
  checkpoint.check_shards(o)
  checkpoint.save_arrays(o.path, o.var_dict, { overwrite = o.overwrite,
    shard_bytes = o.shard_bytes, notes = checkpoint.check_notes(o.notes) })
end)

-- ---- reading ----

--- Opens a checkpoint for fn(file, about), and closes it whatever happens there; call(f, ...), or
-- nil, calls f, as in load_by.
function checkpoint.with_open(path, fn, call)
  local file = (call or directly)(core.checkpoint_open, path)
  local ok, result = pcall(fn, file, core.checkpoint_about(file))
  core.checkpoint_close(file)
  if not ok then error(result, 0) end
  return result
end

-- The option `only` as a list of prefixes, with the set of them and of their lengths; nil: all
-- names match.
local function prefixes(who, given)
  if given == nil then return nil end
  local list = type(given) == "string" and { given } or args.expect(who, "only", given,
    "string or table")
  local found = { has = {}, lengths = {} }
  for i, prefix in ipairs(list) do
    found[i] = args.expect(who, "only", prefix, "string")
    found.has[prefix], found.lengths[#prefix] = true, true
  end
  if #found > 0 then return found end
  core.fail("%s: only must hold what names begin with, got an empty table", who)
end

-- Calls f for each of the prefixes that a name begins with.
local function each_prefix(name, only, f)
  for n in pairs(only.lengths) do
    local prefix = name:sub(1, n)
    if only.has[prefix] then f(prefix) end
  end
end

local function begins(name, only)
  local found = false
  each_prefix(name, only, function() found = true end)
  return found
end

-- Reads a tensor of a file that records neither dtype nor shape. They are taken from the variable
-- of that name or, where there is none, from what most of OneFlow's variables have.
local function read_bare(path, file, i, name, size, dtypes)
  if dtypes[name] then return core.checkpoint_read(file, i, core.variable_info(name)) end
  local dtype, width = "float32", 4
  if name:match("^System%-Train%-TrainStep%-") then dtype, width = "int64", 8 end
  if size > 0 and size % width == 0 then
    return core.checkpoint_read(file, i, dtype, { size / width })
  end
  core.fail("checkpoint.get: %s: '%s': %.0f bytes without a meta are no %s, and no job has the "
    .. "variable", path, name, size, dtype)
end

-- The names that variables have, as a set.
local function known()
  job.compile_all()
  return variables.dtypes()
end

local function read_all(path, file, about, only)
  local all, dtypes, i = {}, nil, 1
  local name, size, shape = core.checkpoint_tensor(file, i)
  while name do
    if not only or begins(name, only) then
      if not shape and not dtypes then dtypes = known() end
      all[name] = shape and core.checkpoint_read(file, i)
        or read_bare(path, file, i, name, size, dtypes)
    end
    if about.single then return all[name] end
    i = i + 1
    name, size, shape = core.checkpoint_tensor(file, i)
  end
  return all
end

local get = args.define("checkpoint.get", "Reads a checkpoint as arrays by name.", {
  { "path", "the directory, or a file of weights", type = "string" },
  { "only", "what the names to be read begin with, or a list of that", args.none,
    type = "string|string[]" },
  choice.params.rename, choice.params.transpose, choice.params.skip,
  returns = "table<string, NdArray>",
}, function(o, who)
  local only = prefixes(who, o.only)
  local chosen = choice.read(who, o, known)
  local all = checkpoint.with_open(o.path, function(file, about)
    choice.take(chosen, o.path, file)
    choice.leave_lacking(o.path, file, function(name) return only and not begins(name, only) end)
    return read_all(o.path, file, about, only)
  end)
  if not only or next(all) ~= nil then return all end
  core.fail("checkpoint.get: %s: only: no name in it begins with '%s'", o.path,
    table.concat(only, "' or '"))
end)

-- The notes that were saved, or nil.
local function notes_of(path, about)
  local text = about.notes[NOTES]
  if not text then return nil end
  local notes = plain.read(text)
  if notes == nil then core.fail("checkpoint %s: its notes make no sense", path) end
  return notes
end

--- The texts by name that a checkpoint was saved with.
function checkpoint.texts_of(path)
  return checkpoint.with_open(path, function(_, about) return about.notes end)
end

--- How many tensors an open checkpoint has.
function checkpoint.count(file) return #choice.tensors(file) end

--- How the tensors of an open checkpoint are stored that lie in few bits, by name.
function checkpoint.stored_of(file)
  local found, dtypes = {}, {}
  for _, each in ipairs(choice.tensors(file)) do dtypes[each.name] = each.dtype end
  for each, is in pairs(dtypes) do
    local input = dtypes[each .. "_input_uint8"] and "uint8"
      or dtypes[each .. "_input_int8"] and "int8"
    if core.blocks[is] then found[each] = { dtype = is }
    elseif is == "int8" and input then found[each] = { dtype = is, input = input } end
  end
  return found
end

--- The notes that a checkpoint was saved with, or nil: what a program may need before it defines
-- its jobs, such as the size of a vocabulary.
local read_notes = args.define("checkpoint.notes", "Reads the notes of a checkpoint.", {
  { "path", "the directory, or a file of weights", type = "string" },
  returns = "table?",
}, function(o)
  return checkpoint.with_open(o.path, function(_, about) return notes_of(o.path, about) end)
end)

-- ---- loading ----

-- Returns a function that moves loops to the noted positions; fails here if a note is wrong.
local function restorer(path, texts)
  local loops = {}
  for key, text in pairs(texts) do
    if key:sub(1, #LOOP) == LOOP then loops[key:sub(#LOOP + 1)] = text end
  end
  local move, name, wrong = loop.restorer(loops)
  if not move then core.fail("checkpoint %s: loop '%s': %s", path, name, wrong) end
  return move
end

-- Every prefix must mean something: a misspelled one would silently load nothing.
local function check_prefixes(file, path, only)
  local found, i = {}, 1
  local function note(prefix) found[prefix] = true end
  for _, name in ipairs(core.variables()) do each_prefix(name, only, note) end
  local name = core.checkpoint_tensor(file, i)
  while name do
    each_prefix(name, only, note)
    i = i + 1
    name = core.checkpoint_tensor(file, i)
  end
  for _, prefix in ipairs(only) do
    args.check(found[prefix], "load: %s: only: no name in it, nor of a variable here, begins with "
      .. "'%s'", path, prefix)
  end
end

-- Takes of an open checkpoint what a load wants of it.
local function choose(file, path, strict, only, chosen)
  choice.take(chosen, path, file)
  if only then check_prefixes(file, path, only) end
  if strict then return end
  local dtypes = variables.dtypes()
  choice.leave_lacking(path, file, function(name)
    return dtypes[name] or only and not begins(name, only)
  end)
end

-- o: { strict, only, resume, chosen }, as load has them.
local function load_from(file, about, path, o)
  local restore = o.resume and restorer(path, about.notes)
  choose(file, path, o.strict, o.only, o.chosen)
  local notes = notes_of(path, about)
  local found = core.load(file, o.strict, o.only)
  if restore then restore() end
  found.unfinished, found.notes = about.unfinished, notes
  return found
end

--- Reads what matches by name and gives the report, where call(f, ...) calls what opens the path.
-- o: { strict, only, resume, chosen }; with `resume`, loops over data go on where they were.
function checkpoint.load_by(call, path, o)
  local found = variables.deferred(function()
    variables.settle()
    return checkpoint.with_open(path, function(file, about)
      return load_from(file, about, path, o)
    end, call)
  end)
  if found.unfinished then
    warn.say("%s: has no snapshot_done: saving it may have been cut short", path)
  end
  report.tell(path, found, "variables that it does not have keep their values",
    "holds variables that no job here has")
  return found
end

-- Whether loops go on where they were: as asked, or where jfl --restart has started ranks again.
local function is_resumed(o)
  if o.resume == nil then return not o.only and tonumber(os.getenv "JFL_RESTARTS" or 0) > 0 end
  if o.resume and o.only then
    core.fail("load: resume = true takes the whole state of the run, so it goes with no `only`")
  end
  return o.resume
end

local load = args.define("train.CheckPoint:load", "Reads variables from a directory or file.", {
  { "path", "the directory; a .safetensors file; what PyTorch's save wrote (.pt, .pth, .bin), of "
    .. "which nothing is run; or the index of shards, such as model.safetensors.index.json" },
  { "strict", "whether names missing on either side are an error", false },
  { "only", "what the names to be loaded begin with, or a list of that; the rest keeps its value, "
    .. "and so does the state of the run", args.none, type = "string|string[]" },
  { "resume", "whether loops over data go on where they were when it was saved; without it they do "
    .. "so where jfl --restart has started the script again", args.none, type = "boolean" },
  choice.params.rename, choice.params.transpose, choice.params.skip,
  returns = "LoadReport",
}, function(o)
  args.expect("load", "path", o.path, "string")
  return checkpoint.load_by(directly, o.path, { strict = o.strict, only = prefixes("load", o.only),
    resume = is_resumed(o), chosen = choice.read("load", o, known) })
end)

local CheckPoint = {}
CheckPoint.__index = CheckPoint

CheckPoint.__tostring = function() return "CheckPoint" end

local check = args.colon(CheckPoint, "check_point")

--- Creates every variable of every job defined so far.
function CheckPoint:init()
  check(self, "init")
  variables.settle()
end

--- Writes every variable, the state of optimizers and of the run, to a directory. With { overwrite
-- = true } it replaces a checkpoint that is there. The positions of loops are written too: an item
-- that was handed out counts as done. With { notes = { classes = set.classes, mean = 0.3 } } it
-- keeps what else a prediction needs.
function CheckPoint:save(...)
  check(self, "save")
  return save(...)
end

--- Reads what matches by name and returns a report: the loaded, missing and unexpected names, and
-- the notes that were saved. Names that match nothing are told as warnings, and are errors with {
-- strict = true }. With { only = "dense1" } only names with that prefix are loaded and the state of
-- the run is not, which suits fine-tuning. Weights that other programs wrote get the names that
-- variables have here by { rename = { { "%.", "-" } } }, and axes in the order of here by
-- { transpose = "kernel$" }; floats of 16 bits are converted. With { resume = true } loops over
-- data go on where they were, as in the run that saved it; without, they stay where they are.
function CheckPoint:load(...)
  check(self, "load")
  return load(...)
end

--- flow.train.CheckPoint: what saves and loads the variables of the session.
function checkpoint.CheckPoint() return setmetatable({}, CheckPoint) end

--- flow.checkpoint.
checkpoint.checkpoint = { save = save_some, load = load, get = get, notes = read_notes }

return checkpoint
