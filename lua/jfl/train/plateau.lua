-- What lowers the learning rate where nothing is gained any more.
local args = require "jfl.base.args"

local plateau = {}

local DEFAULTS = { patience = 3, factor = 0.1, lowest = 0 }

--- The optimizers whose rates can be set: one, or the members of a combination.
function plateau.optimizers(who, optimizer, why)
  args.check(optimizer ~= nil, "%s: optimizer is missing: %s the one that trains the job", who, why)
  local list = type(optimizer) == "table" and rawget(optimizer, "optimizers") or { optimizer }
  for _, each in ipairs(list) do
    local ok, set = pcall(function() return each.set_lr end)
    args.must(ok and type(set) == "function", optimizer,
      "%s: optimizer must be one such as flow.optimizer.Adam(0.001)", who)
  end
  return list
end

local function check(who, options)
  args.integer(who, "reduce_rate.patience", options.patience, 1)
  args.number(who, "reduce_rate.factor", options.factor, "a number above 0 and below 1")
  args.number(who, "reduce_rate.lowest", options.lowest, "a number of at least 0")
  return options
end

--- What a call asks for as reduce_rate, with its optimizers; false: nothing.
function plateau.read(who, given, optimizer)
  if given == nil or given == false then return false end
  local options = { waited = 0 }
  for name, default in pairs(DEFAULTS) do options[name] = default end
  if given ~= true then
    args.expect(who, "reduce_rate", given, "table")
    args.known(who .. ": reduce_rate", given, DEFAULTS, "option")
    for name, value in pairs(given) do options[name] = value end
  end
  options.optimizers = plateau.optimizers(who, optimizer, "reduce_rate sets the rate of")
  return check(who, options)
end

--- Counts an epoch of a training, and lowers the rates after enough of them without a better one;
-- gives the rate of the epoch.
function plateau.judge(run)
  local o = run.reduce_rate
  local rate = o.optimizers[1].lr
  o.waited = run.improved and 0 or o.waited + 1
  if o.waited < o.patience then return rate end
  o.waited = 0
  for _, optimizer in ipairs(o.optimizers) do
    local present = optimizer.lr
    optimizer:set_lr(math.min(present, math.max(present * o.factor, o.lowest)))
  end
  return rate
end

return plateau
