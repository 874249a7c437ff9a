-- Checkpoints: flow.train.CheckPoint and flow.checkpoint.
---@space checkpoint=checkpoint
---@box checkpoint.get checkpoint.load checkpoint.save
--[==[ guide 10: Checkpoints
```lua
local train = flow.global_function {
  name = "train",
  type = "train",
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 3 }) } },
  returns = tp.Numpy,
  body = function(x)
    local loss = flow.math.square(flow.layers.dense(x, 1, { name = "dense" }))
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end,
}

local check_point = flow.train.CheckPoint()
check_point:init()                               -- every variable of every job defined so far
train(flow.ndarray.ones({ 2, 3 }))
check_point:save("./model")
local report = check_point:load("./model")
print(#report.missing, #report.unexpected)       --> 0	0
check_point:save("./model", { overwrite = true })
print(flow.get_all_variables()["dense-weight"].shape[2])        --> 3
```

A checkpoint is a directory with all variables in `model.safetensors`, optimizer state and the step
included. `save` refuses a directory that is there unless told to overwrite it. What it promises:

- It is whole. It is written beside its target and renamed at the end: a crash, a kill or a full
  disk leaves the old checkpoint or the new one.
- It lasts. Once `save` returns, the file and its directory are on the disk.
- It stays private. A file that is replaced keeps its rights, so what was `chmod 600` stays that; a
  new one gets what the umask says.
- It is where you said. A path such as `models/latest` may be a link to a directory, which is then
  saved to. If a directory is moved away in mid-save, `save` fails.
- It is yours alone. While one save to a directory goes on, a second is refused, also in another
  process.
- It goes through no trap. Nothing is written through links or files that somebody else put where
  the new file is staged; `save` fails and names them.

`flow.ndarray.save` and the pictures of `flow.plot` keep the first three promises too; of two that
write one file at once, the last one stays.

Loading trusts no file: one that is damaged or made to do harm is an error that says what is wrong
with it, takes no more memory than its own bytes account for, and changes nothing. Links inside a
directory that OneFlow wrote are not followed.

`load` matches by name and gives a report: `loaded`, `missing` (jobs have it, the checkpoint does
not: it keeps its value), `unexpected` (no job has it). Both are told as warnings, and are errors
with `{ strict = true }`; a wrong shape or dtype is always an error, and changes nothing. This is
how a network is fine-tuned: give the layers that are kept their old names, and the new ones others.

A job whose body fails is no obstacle: whatever concerns all variables leaves it out, after one
warning that names it and its error. So is a job for any batch size whose body does not take a batch
of 1, until its first call or `job:compile(batch_size)`.

A run that loads goes on exactly as one that was never stopped, bit for bit, on the same machine
and build, on any number of threads. Directories that OneFlow wrote (one for each variable) can be
loaded too.

`flow.load_variables({ ["dense-bias"] = { 0 } })` sets variables from arrays or tables.

Where jobs run on several devices, variables are whole for all of this: `get_all_variables`,
`load_variables` and checkpoints take and give whole arrays, each under its name, and a checkpoint
does not tell on how many devices it was made. Training goes on from it on the same devices bit for
bit, on another number of them up to rounding. `flow.variable_info("dense-weight").distribute` says
how a variable lies, "broadcast" or "split(0)", and `.devices` where.

Where several processes run the script (`jfl --ranks 4`, `mpirun`), all of them call `save` and
`load`, as they do everything else. Rank 0 alone writes and reads the files: the others send it the
parts that it lacks, and get from it what it reads, so they need no file system in common. What goes
wrong on one of them, a full disk or a file that is not there, is an error on all, and changes
nothing on any. So is a `save` that only some of them call. `SimpleCheckPointManager` takes names
and times from rank 0, too. What ranks set by `load_variables` is what rank 0 gives.
]==]
local args = require "jfl.base.args"
local core = require "jfl.core"
local job = require "jfl.job.job"
local loop = require "jfl.data.loop"
local variables = require "jfl.checkpoint.variables"
local warn = require "jfl.base.warn"

local checkpoint = {}

local SHOWN = 8
local LOOP = "loop."

-- How functions of the core that take paths are called, but for those of a program in C, which
-- opens its own files.
local function directly(f, ...) return f(...) end

-- ---- saving ----

-- The positions of all loops, as a list of names and a list of texts.
local function notes()
  local keys, values = {}, {}
  for name, text in pairs(loop.save()) do
    keys[#keys + 1], values[#values + 1] = LOOP .. name, text
  end
  return keys, values
end

local function save_arrays(path, var_dict, overwrite)
  local names, arrays = variables.names("save: var_dict", var_dict), {}
  if #names == 0 then core.fail("save: var_dict must hold arrays by name, got an empty table") end
  local dtypes = variables.dtypes()
  for i, name in ipairs(names) do
    arrays[i] = variables.to_array("save: var_dict", name, var_dict[name], dtypes[name])
  end
  local rank, size = core.world()
  if size == 1 then return core.write_arrays(path, overwrite, names, arrays) end
  -- Rank 0 writes, and all learn how it went.
  local ok, err = true, ""
  if rank == 0 then ok, err = pcall(core.write_arrays, path, overwrite, names, arrays) end
  err = core.hand_out(("save arrays to '%s'"):format(path), ok and "" or tostring(err))
  if err ~= "" then core.fail("%s%s", rank > 0 and "rank 0: " or "", err) end
end

--- Writes all variables, where call(f, ...) calls what opens the path.
function checkpoint.save_by(call, path, overwrite)
  variables.settle()
  call(core.save, path, overwrite, notes())
end

local save = args.define("train.CheckPoint:save", "Writes all variables to a directory.", {
  { "path", "the directory" },
  { "overwrite", "whether a checkpoint that is there is replaced", false },
}, function(o)
  args.expect("save", "path", o.path, "string")
  args.expect("save", "overwrite", o.overwrite, "boolean")
  checkpoint.save_by(directly, o.path, o.overwrite)
end)

local save_some = args.define("checkpoint.save", "Writes variables to a directory.", {
  { "path", "the directory" },
  { "var_dict", "arrays by name, to write these alone and no state of the run", args.none,
    keyed = true, type = "table<string, NdArray>" },
  { "overwrite", "whether a checkpoint that is there is replaced", false },
}, function(o)
  if o.var_dict == nil then return save(o.path, o.overwrite) end
  args.expect("save", "path", o.path, "string")
  args.expect("save", "var_dict", o.var_dict, "table")
  args.expect("save", "overwrite", o.overwrite, "boolean")
  save_arrays(o.path, o.var_dict, o.overwrite)
end)

-- ---- reading ----

-- Opens a checkpoint for fn(file, about), and closes it whatever happens there.
local function with_open(path, fn, call)
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

local function read_all(path, file, about, only)
  local all, dtypes, i = {}, nil, 1
  local name, size, shape = core.checkpoint_tensor(file, i)
  while name do
    if not only or begins(name, only) then
      if not shape and not dtypes then
        job.compile_all()
        dtypes = variables.dtypes()
      end
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
  { "path", "the directory, or a .safetensors file" },
  { "only", "what the names to be read begin with, or a list of that", args.none,
    type = "string|string[]" },
  returns = "table<string, NdArray>",
}, function(o)
  args.expect("checkpoint.get", "path", o.path, "string")
  local only = prefixes("checkpoint.get", o.only)
  local all = with_open(o.path, function(file, about)
    return read_all(o.path, file, about, only)
  end)
  if not only or next(all) ~= nil then return all end
  core.fail("checkpoint.get: %s: only: no name in it begins with '%s'", o.path,
    table.concat(only, "' or '"))
end)

-- ---- loading ----

-- Tells what matched nothing, but for state of optimizers and of the step.
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
  warn.say("%s: %s: %s", path, text, table.concat(shown, ", "))
end

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
    if not found[prefix] then
      core.fail("load: %s: only: no name in it, nor of a variable here, begins with '%s'", path,
        prefix)
    end
  end
end

local function load_from(file, about, path, strict, only)
  local restore = not only and restorer(path, about.notes)
  if only then check_prefixes(file, path, only) end
  local report = core.load(file, strict, only)
  if restore then restore() end
  report.unfinished = about.unfinished
  return report
end

--- Reads what matches by name and gives the report, where call(f, ...) calls what opens the path.
function checkpoint.load_by(call, path, strict, only)
  variables.settle()
  local report = with_open(path, function(file, about)
    return load_from(file, about, path, strict, only)
  end, call)
  if report.unfinished then
    warn.say("%s: has no snapshot_done: saving it may have been cut short", path)
  end
  local state = report.state
  complain(path, report.missing, state, "variables that it does not have keep their values")
  complain(path, report.unexpected, state, "holds variables that no job here has")
  return report
end

local load = args.define("train.CheckPoint:load", "Reads variables from a directory.", {
  { "path", "the directory, or a .safetensors file" },
  { "strict", "whether names missing on either side are an error", false },
  { "only", "what the names to be loaded begin with, or a list of that; the rest keeps its value, "
    .. "and so does the state of the run", args.none, type = "string|string[]" },
  returns = "LoadReport",
}, function(o)
  args.expect("load", "path", o.path, "string")
  args.expect("load", "strict", o.strict, "boolean")
  return checkpoint.load_by(directly, o.path, o.strict, prefixes("load", o.only))
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
  variables.settle()
end

--- Writes every variable, the state of optimizers and of the run, to a directory. With { overwrite
-- = true } it replaces a checkpoint that is there. The positions of loops are written too: an item
-- that was handed out counts as done.
function CheckPoint:save(...)
  check(self, "save")
  return save(...)
end

--- Reads what matches by name and returns a report: the loaded, missing and unexpected names. Names
-- that match nothing are told as warnings, and are errors with { strict = true }. With { only =
-- "dense1" } only names with that prefix are loaded and the state of the run is not, which suits
-- fine-tuning.
function CheckPoint:load(...)
  check(self, "load")
  return load(...)
end

--- flow.train.CheckPoint: what saves and loads the variables of the session.
function checkpoint.CheckPoint() return setmetatable({}, CheckPoint) end

--- flow.checkpoint.
checkpoint.checkpoint = { save = save_some, load = load, get = get }

return checkpoint
