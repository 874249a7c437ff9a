-- flow.train: CheckPoint, and a manager of checkpoints with dates in their names.
---@space train
local args = require "jfl.base.args"
local averages = require "jfl.optim.averages"
local checkpoint = require "jfl.checkpoint.checkpoint"
local core = require "jfl.core"

local train = { CheckPoint = checkpoint.CheckPoint }

local FORMAT = "%Y%m%d_%H%M%S"
local PATTERN = "^(%d%d%d%d)(%d%d)(%d%d)_(%d%d)(%d%d)(%d%d)_(%d%d%d%d%d%d)$"
local MODEL, DONE, STAGED = "model.safetensors", "snapshot_done", ".saving"

local Manager = {}
Manager.__index = Manager

function Manager:__tostring()
  return ("SimpleCheckPointManager of %s/%s*"):format(self.root_path, self.prefix)
end

local check = args.colon(Manager, "manager")

local function path_of(self, name) return self.root_path .. "/" .. name end

-- The names in the root directory that are the manager's, oldest first.
local function names_of(self)
  local names = {}
  for _, name in ipairs(core.directory(self.root_path) or {}) do
    local own = name:sub(1, #self.prefix) == self.prefix
    if own and name:sub(#self.prefix + 1):match(PATTERN) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function holds(self, name, file) return core.is_file(path_of(self, name) .. "/" .. file) end

-- Rank 0's text, on every rank: it alone has the files, which others need not see.
local function of_rank_0(self, doing, text)
  return core.hand_out(("%s in '%s'"):format(doing, self.root_path), text)
end

local function complete_names(self)
  local complete = {}
  for _, name in ipairs(names_of(self)) do
    if holds(self, name, MODEL) or holds(self, name, DONE) then complete[#complete + 1] = name end
  end
  return complete
end

--- The names of the complete checkpoints, oldest first.
function Manager:list_checkpoints()
  check(self, "list_checkpoints")
  local all = of_rank_0(self, "list checkpoints", table.concat(complete_names(self), "\n"))
  local names = {}
  for name in all:gmatch("[^\n]+") do names[#names + 1] = name end
  return names
end

--- The name of the newest complete checkpoint, or nil.
function Manager:latest_checkpoint()
  local names = check(self, "latest_checkpoint"):list_checkpoints()
  return names[#names]
end

--- Loads the newest checkpoint, with the positions of loops, and gives the report of that and its
-- name; where there is none, creates every variable and saves the first one.
function Manager:initialize_or_restore()
  local latest = check(self, "initialize_or_restore"):latest_checkpoint()
  if latest then return self.check_point:load(path_of(self, latest), { resume = true }), latest end
  self.check_point:init()
  return nil, self:save()
end

local function named(seconds, microseconds)
  return os.date(FORMAT, seconds) .. ("_%06d"):format(microseconds)
end

-- The date a microsecond after the one in a name.
local function following(date)
  local year, month, day, hour, min, sec, micro = date:match(PATTERN)
  local seconds = os.time {
    year = year, month = month, day = day, hour = hour, min = min, sec = sec,
  }
  micro = tonumber(micro) + 1
  if not seconds then return "" end
  return named(seconds + math.floor(micro / 1000000), micro % 1000000)
end

-- A name later than all that are listed, even when the clock was set back or stands still.
local function next_name(self)
  local names = complete_names(self)
  local date, newest = named(core.clock()), (names[#names] or ""):sub(#self.prefix + 1)
  if newest >= date then date = following(newest) end
  if newest < date then return self.prefix .. date end
  core.fail("save: %s: no date comes after this name's", path_of(self, names[#names]))
end

-- Removes all but the newest of jfl's own checkpoints. One that holds other files too cannot be
-- removed; that is no reason to fail, as the new checkpoint is there.
local function prune(self)
  local own = {}
  for _, name in ipairs(names_of(self)) do
    if not holds(self, name, DONE) then own[#own + 1] = name end
  end
  for i = 1, #own - self.keep do pcall(core.checkpoint_remove, path_of(self, own[i])) end
end

--- Saves a checkpoint under a new name, which it returns, and then removes the oldest ones beyond
-- the number to keep. It takes { notes = ... } as that of a CheckPoint does.
function Manager:save(options)
  check(self, "save")
  if options ~= nil then args.expect("save", "options", options, "table") end
  local name = of_rank_0(self, "save", core.world() == 0 and next_name(self) or "")
  self.check_point:save(path_of(self, name), options or {})
  if core.world() > 0 then return name end
  -- Removes what interrupted saves have left. What another process is writing at the moment stays.
  for _, old in ipairs(core.directory(self.root_path) or {}) do
    local own = old:sub(1, #self.prefix) == self.prefix and old:sub(-#STAGED) == STAGED
    if own and old:sub(#self.prefix + 1, -#STAGED - 1):match(PATTERN) then
      pcall(core.checkpoint_remove, path_of(self, old))
    end
  end
  if self.keep then prune(self) end
  return name
end

--- Keeps checkpoints under a directory, each named by the prefix and the time of its save.
train.SimpleCheckPointManager = args.define("train.SimpleCheckPointManager",
  "Saves checkpoints under names made of the time, and finds the newest.", {
    { "root_path", "the directory that holds them", type = "string" },
    { "prefix", "what their names begin with", "snapshot_" },
    { "keep", "how many of the newest save() leaves; all without it", args.none,
      type = "integer", least = 1 },
    returns = "SimpleCheckPointManager",
  }, function(o, who)
    args.must(not args.expect(who, "prefix", o.prefix, "string"):find("[/%z]"), o.prefix,
      "%s: prefix must be a part of a name", who)
    local root = o.root_path ~= "/" and o.root_path:gsub("(.)/+$", "%1") or o.root_path
    if root == "" then core.fail("%s: root_path must not be empty", who) end
    return setmetatable({ root_path = root, prefix = o.prefix, keep = o.keep or false,
      check_point = checkpoint.CheckPoint() }, Manager)
  end)

train.ExponentialMovingAverage = averages.ExponentialMovingAverage

return train
