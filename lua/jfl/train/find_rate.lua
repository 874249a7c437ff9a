-- flow.find_rate: tries learning rates before a training.
---@flow find_rate
local args = require "jfl.base.args"
local core = require "jfl.core"
local fit = require "jfl.train.fit"
local plateau = require "jfl.train.plateau"
local queue = require "jfl.job.queue"

local find_rate = {}

local WHO = "find_rate"
local SMOOTH = 0.9               -- how much of the mean loss comes from the steps before
local TOO_MUCH = 4               -- times the least loss, from where on it ends
local BELOW = 10                 -- how far below the rate with the least loss the best one is
local MOST_EPOCHS = 1e6          -- of short data
local STDOUT = 1

-- ---- one trial ----

-- The variables as they are, and what sets them so again.
local function variables_kept()
  local kept = {}
  queue.settle()
  for _, name in ipairs(core.variables()) do kept[name] = core.variable_get(name) end
  return function()
    queue.settle()
    for _, name in ipairs(core.variables()) do       -- in one order on all ranks
      if kept[name] then core.variable_set(name, kept[name]) end
    end
  end
end

local function rate_of(trial, i)
  local share = trial.steps > 1 and (i - 1) / (trial.steps - 1) or 0
  return trial.lowest * (trial.highest / trial.lowest) ^ share
end

local function set_rate(trial, rate)
  for _, optimizer in ipairs(trial.optimizers) do optimizer:set_lr(rate) end
end

-- The job must be compiled, that its variables can be kept and its rate be set.
local function begin(trial, run)
  local loop = run.feed.loop
  run.job:compile(loop and loop.size > 1 and loop.size or nil)
  trial.restore = variables_kept()
  set_rate(trial, rate_of(trial, 1))
end

-- Notes the mean loss of the latest steps, in which a young mean is not drawn to 0.
local function note(trial, run)
  local i = #trial.rates + 1
  trial.mean = SMOOTH * trial.mean + (1 - SMOOTH) * run.loss
  local loss = trial.mean / (1 - SMOOTH ^ i)
  if loss ~= loss or trial.least > 0 and loss > TOO_MUCH * trial.least then
    return run:stop("too much")
  end
  trial.rates[i], trial.losses[i] = rate_of(trial, i), loss
  trial.least = math.min(trial.least, loss)
  if i == trial.steps then return run:stop("steps") end
  set_rate(trial, rate_of(trial, i + 1))
end

local function draw(trial)
  local x = {}
  for i, rate in ipairs(trial.rates) do x[i] = math.log(rate) / math.log(10) end
  require("jfl.tools.plot").plot({ loss = trial.losses }, { x = x,
    xlabel = "rate, as a power of 10" })
end

-- ---- the call ----

--- Makes steps of training with rates that grow from `lowest` to `highest`, each by the same factor
-- (Smith 2017), until the loss is four times its least value; then all variables are as they were.
-- It gives a tenth of the rate at which the mean loss was least, which is a good first guess, and a
-- table with the rates and those losses.
find_rate.find_rate = args.define(WHO, "Tries learning rates, and gives one that is good to begin "
  .. "with.", {
    { "job", "a model, or a job of type \"train\" that returns its loss first",
      type = "Job|Model" },
    { "data", "as for flow.fit", keyed = true, type = "table|NdArray|function" },
    { "optimizer", "the one that trains", type = "Optimizer" },
    { "lowest", "the first rate", 1e-6, range = "a number above 0" },
    { "highest", "the last rate", 1.0, type = "number", range = "a number above 0" },
    { "steps", "how many rates are tried", 100, type = "integer", least = 2 },
    { "loss", "of a model, as for flow.fit", args.none, type = "fun(...: Blob): Blob" },
    { "inputs", "of a model, as for flow.fit", args.none, type = "table" },
    { "batch_size", "samples a batch; 32, or what the job's first input says", args.none,
      type = "integer" },
    { "columns", "which columns of the data come, in this order", args.none, type = "string[]" },
    { "show", "whether the curve is drawn where a terminal shows it", true, type = "boolean" },
    returns = { "number", "{ rates: number[], losses: number[] }" },
  }, function(o)
    args.check(o.lowest < o.highest, "%s: lowest must be below highest, %g, got %g", WHO, o.highest,
      o.lowest)
    local trial = { lowest = o.lowest, highest = o.highest, steps = o.steps, mean = 0,
      least = math.huge, rates = {}, losses = {}, restore = function() end,
      optimizers = plateau.optimizers(WHO, o.optimizer, "it sets the rate of") }
    local ok, err = pcall(fit.train, { job = o.job, data = o.data, optimizer = o.optimizer,
      loss = o.loss, inputs = o.inputs, batch_size = o.batch_size, columns = o.columns,
      epochs = MOST_EPOCHS, shuffle = true, keep_best = false, show = false, name = WHO,
      is_trial = true, callbacks = { start = function(run) begin(trial, run) end,
        step = function(run) note(trial, run) end } })
    trial.restore()
    if not ok then error(err, 0) end
    local best = 1
    for i, loss in ipairs(trial.losses) do best = loss < trial.losses[best] and i or best end
    args.check(#trial.rates > 0, "%s: the loss is nan at the lowest rate, %g", WHO, trial.lowest)
    local rate = trial.rates[best] / BELOW
    if o.show and core.world() == 0 and core.columns(STDOUT) then draw(trial) end
    return rate, { rates = trial.rates, losses = trial.losses }
  end)

return find_rate
