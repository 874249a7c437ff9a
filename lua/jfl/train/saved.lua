-- What flow.fit keeps: the best variables in memory or in a directory, and a state from which a
-- training goes on.
local checkpoint = require "jfl.checkpoint.checkpoint"
local core = require "jfl.core"
local queue = require "jfl.job.queue"

local saved = {}

local NOTE = "fit."              -- what the note of a training is called in checkpoints

local function directly(f, ...) return f(...) end

local function path_of(run, name) return run.directory .. "/" .. name end

-- ---- the best variables ----

--- Keeps the variables as they are.
function saved.keep(run)
  if run.directory then
    return checkpoint.save_by(directly, path_of(run, "best"), true)
  end
  queue.settle()
  run.kept = {}
  for _, name in ipairs(core.variables()) do run.kept[name] = core.variable_get(name) end
end

--- Sets the variables that were kept last.
function saved.restore(run)
  if run.directory then
    return checkpoint.checkpoint.load(path_of(run, "best"), { only = "" })
  end
  for _, name in ipairs(core.variables()) do       -- in one order on all ranks
    if run.kept[name] then core.variable_set(name, run.kept[name]) end
  end
end

-- ---- a state to go on from ----

-- The history and what decides about its end, a line for each.
local function written(run)
  local lines = {}
  local function add(name, values) lines[#lines + 1] = name .. " " .. table.concat(values, " ") end
  local function text(x) return ("%.17g"):format(x) end
  add("epoch", { run.epoch, run.step, run.waited, text(run.sum), run.rows,
    run.reduce_rate and run.reduce_rate.waited or 0 })
  if run.best then add("best", { run.best.epoch, text(run.best.value) }) end
  for _, name in ipairs(run.names) do
    local values = {}
    for i, value in ipairs(run.history[name]) do
      values[i] = type(value) == "number" and text(value) or nil
    end
    if #values > 0 then add("curve." .. name, values) end
  end
  return table.concat(lines, "\n")
end

local function read(run, note)
  for name, rest in note:gmatch("(%S+) ([^\n]*)") do
    local values, curve = {}, name:match("^curve%.(.*)$")
    for word in rest:gmatch("%S+") do values[#values + 1] = tonumber(word) end
    if name == "epoch" then
      run.epoch, run.step, run.waited, run.sum, run.rows = unpack(values)
      if run.reduce_rate then run.reduce_rate.waited = values[6] or 0 end
    elseif name == "best" then
      run.best = { epoch = values[1], value = values[2] }
    elseif curve then
      run.history[curve], run.names[#run.names + 1] = values, curve
    end
  end
end

--- Writes all variables, the position in the data and the history.
function saved.save(run)
  local state = { [NOTE .. run.name] = written(run) }
  checkpoint.save_by(directly, path_of(run, "last"), true, nil, state)
end

--- Goes on from what save() wrote, if there is anything.
function saved.resume(run)
  local path = path_of(run, "last")
  if not core.is_there(path) then return end
  local note = checkpoint.texts_of(path)[NOTE .. run.name]
  if not note then
    core.fail("fit: resume: %s: is no state of a training named '%s'", path, run.name)
  end
  checkpoint.load_by(directly, path, { resume = true })
  read(run, note)
end

--- Leaves a state behind where the user stops a training, and gives what is to be said of it.
function saved.leave(run)
  local where = ("fit: stopped in epoch %d after %d steps"):format(run.epoch, run.step)
  if not run.directory then
    return where .. "; the option directory = \"...\" has it save a state from which "
      .. "resume = true goes on"
  end
  if run.within then run.feed:undo() end
  local ok, err = pcall(saved.save, run)
  if not ok then return ("%s; saving its state failed: %s"):format(where, tostring(err)) end
  return ("%s; %s is its state, from which resume = true goes on"):format(where,
    path_of(run, "last"))
end

return saved
