-- What flow.fit keeps: the best variables in memory or in a directory, and a state from which a
-- training goes on.
local args = require "jfl.base.args"
local checkpoint = require "jfl.checkpoint.checkpoint"
local core = require "jfl.core"
local queue = require "jfl.job.queue"

local saved = {}

local NOTE = "fit."              -- what the note of a training is called in checkpoints
local MOST = 2 ^ 53              -- of what is counted

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
    local plain = name:gsub("[%s%%]", function(c) return ("%%%02x"):format(c:byte()) end)
    if #values > 0 then add("curve." .. plain, values) end
  end
  return table.concat(lines, "\n")
end

-- The numbers of a text; nil: something in it is none.
local function numbers_of(text)
  local values = {}
  for word in text:gmatch("%S+") do
    local number = tonumber(word)
    if not number then return nil end
    values[#values + 1] = number
  end
  return values
end

local function is_count(x, most) return x >= 0 and x <= most and x % 1 == 0 end

-- What a line says, put into `state`; whether it makes sense.
local function read_line(state, name, rest)
  local values, curve = rest and numbers_of(rest), name and name:match("^curve%.(.+)$")
  if not values then return false end
  if name == "epoch" and not state.epoch then
    state.epoch = values
    return #values == 6 and is_count(values[1], MOST) and is_count(values[2], MOST)
      and is_count(values[3], MOST) and is_count(values[5], MOST) and is_count(values[6], MOST)
  end
  if not state.epoch then return false end
  if name == "best" and not state.best then
    state.best = values
    return #values == 2 and is_count(values[1], state.epoch[1])
  end
  curve = curve and curve:gsub("%%(%x%x)", function(x) return string.char(tonumber(x, 16)) end)
  if not curve or state.curves[curve] then return false end
  state.curves[curve], state.names[#state.names + 1] = values, curve
  return #values <= state.epoch[1]
end

-- What a note says, or nil and the line that makes no sense.
local function read(note)
  local state = { curves = {}, names = {} }
  for line in (note .. "\n"):gmatch("([^\n]*)\n") do
    if not read_line(state, line:match("^(%S+) (.*)$")) then return nil, line end
  end
  return state
end

--- Writes all variables, the position in the data and the history.
function saved.save(run)
  local state = { [NOTE .. run.name] = written(run) }
  checkpoint.save_by(directly, path_of(run, "last"), true, nil, state)
end

--- Goes on from what save() wrote, if there is anything. Nothing changes where that is damaged, or
-- another model's.
function saved.resume(run)
  local path = path_of(run, "last")
  if not core.is_there(path) then return end
  local note = checkpoint.texts_of(path)[NOTE .. run.name]
  args.check(note, "fit: resume: %s: is no state of a training named '%s'", path, run.name)
  local state, line = read(note)
  args.check(state, "fit: resume: %s: the state of training '%s' makes no sense: '%.99s'", path,
    run.name, line)
  local found = checkpoint.load_by(directly, path, { resume = true })
  if #found.loaded == 0 and #core.variables() > 0 then
    core.fail("fit: resume: %s: it is the state of another model: it has none of the variables of "
      .. "this one", path)
  end
  run.epoch, run.step, run.waited, run.sum, run.rows = unpack(state.epoch)
  if run.reduce_rate then run.reduce_rate.waited = state.epoch[6] end
  run.best = state.best and { epoch = state.best[1], value = state.best[2] }
  run.history, run.names = state.curves, state.names
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
