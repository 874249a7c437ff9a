-- flow.fit: the loop that trains a job, with all that such loops have: validation, the best
-- variables kept, an end when nothing is gained any more, curves, and a saved state where the user
-- stops it.
---@flow fit
local args = require "jfl.base.args"
local asked = require "jfl.train.asked"
local core = require "jfl.core"
local counter = require "jfl.train.counter"
local feed = require "jfl.train.feed"
local saved = require "jfl.train.saved"
local plateau = require "jfl.train.plateau"
local progress = require "jfl.tools.progress"
local steps = require "jfl.train.steps"
local warn = require "jfl.base.warn"

local fit = {}

local STDOUT = 1

local Run = {}
Run.__index = Run

-- ---- what is noted ----

-- Puts a number at the end of a curve of the history.
local function note(run, name, value)
  if not run.history[name] then
    run.history[name], run.names[#run.names + 1] = {}, name
  end
  run.history[name][run.epoch] = value
end

-- The number by which an epoch is judged, the same on all ranks.
local function judged(run)
  local curve = run.history[run.monitor]
  if not curve then
    core.fail("fit: monitor: there is no '%s'; there are %s", run.monitor,
      table.concat(run.names, ", "))
  end
  local value = curve[run.epoch]
  if select(2, core.world()) == 1 then return value end
  return tonumber(core.hand_out("fit: the value of " .. run.monitor, ("%.17g"):format(value)))
end

local function is_better(run, value)
  local best = run.best and run.best.value
  if value ~= value then return false end
  if not best then return true end
  if run.higher then return value > best else return value < best end
end

-- Says how an epoch went.
local function tell(run)
  local parts = {}
  for _, name in ipairs(run.names) do
    local value = run.history[name][run.epoch]
    if type(value) == "number" then parts[#parts + 1] = ("%s %.4g"):format(name, value) end
  end
  print(("epoch %d/%d: %s%s"):format(run.epoch, run.epochs, table.concat(parts, ", "),
    run.improved and run.epoch > 1 and " (best)" or ""))
end

local function call_back(run, event)
  for _, callback in ipairs(run.callbacks) do
    if callback[event] then callback[event](run) end
  end
end

-- ---- an epoch ----

local function validate(run)
  local counters = {}
  for i, m in ipairs(run.metrics) do
    counters[i] = counter.new("fit", m.name, m.metric)
  end
  local loss = steps.validate(run, counters)
  if loss then note(run, "val_loss", loss) end
  for _, each in ipairs(counters) do note(run, each.name, each:value()) end
end

-- Judges the epoch that has ended: keeps the variables if it was the best, and stops where nothing
-- was gained for too long.
local function judge(run)
  local value = judged(run)
  run.value, run.improved = value, is_better(run, value)
  if run.improved then
    run.best, run.waited = { epoch = run.epoch, value = value }, 0
    if run.keep_best then saved.keep(run) end
  else
    run.waited = run.waited + 1
  end
  if run.reduce_rate then note(run, "rate", plateau.judge(run)) end
  if value ~= value then
    warn.say("fit: %s is nan in epoch %d, so it stops; after flow.config.check_finite(true) the "
      .. "step where that begins fails with its line", run.monitor, run.epoch)
    run:stop("nan")
  elseif run.patience and run.waited >= run.patience then
    run:stop("patience")
  end
end

local function end_epoch(run)
  note(run, "loss", run.sum / run.rows)
  if run.validation then validate(run) end
  judge(run)
  if run.show then tell(run) end
  run.sum, run.rows = 0, 0
  call_back(run, "epoch")
  if run.directory then saved.save(run) end
end

local function begin_epoch(run)
  run.epoch = run.feed.epoch
  local left = run.feed:left()
  run.bar = run.show and progress.progress(function() return true end,
    { desc = ("epoch %d/%d"):format(run.epoch, run.epochs), total = left })
end

-- Trains for all epochs, or until something stops it.
local function train(run)
  call_back(run, "start")
  while not run.stopped and run.feed:begin() do
    begin_epoch(run)
    steps.train(run)
    if run.rows > 0 and not (run.stopped and run.feed:left() > 0) then end_epoch(run) end
  end
  run.feed:close()
  if run.keep_best and run.best then saved.restore(run) end
  call_back(run, "finish")
end

-- ---- the end ----

--- Ends the training: an epoch that is not at its end counts no more.
function Run:stop(reason)
  self.stopped = self.stopped or reason or "stop"
end

--- Waits for the end of a training in the background.
function Run:wait()
  while not self.done do core.sync() end
  return self
end

--- Draws the history's curves, as flow.plot does with the same options.
function Run:plot(options)
  local curves = {}
  for name, curve in pairs(self.history) do
    curves[name] = type(curve[1]) == "number" and name ~= "rate" and curve or nil
  end
  require("jfl.tools.plot").plot(curves, options or { xlabel = "epoch" })
  return self
end

function Run:__tostring()
  local best = self.best
  return ("fit of %s: epoch %d of %d%s%s"):format(self.job.name, self.epoch, self.epochs,
    best and (", best %s %.4g in epoch %d"):format(self.monitor, best.value, best.epoch) or "",
    self.stopped and ", stopped by " .. self.stopped or "")
end

-- Trains, and where that fails or is stopped from outside leaves a state from which it can go on.
local function run_through(run)
  local ok, err = pcall(train, run)
  run.done = true
  if not ok then
    steps.abandon(run)
    local left = not run.is_trial and core.is_interruption(err) and saved.leave(run)
    run.feed:close()
    if left then warn.say("%s", left) end
    error(err, 0)
  end
  local curves = run.curves
  if curves == nil then curves = core.columns(STDOUT) ~= nil end
  if run.show and curves and run.epoch > 1 then run:plot() end
end

-- ---- the call ----

-- What is known of a training before its data are looked at.
local function new_run(o)
  local run = setmetatable({ job = o.job, name = o.name, epochs = o.epochs, epoch = 0, step = 0,
    sum = 0, rows = 0, waited = 0, pending = 0, ahead = 1, history = {}, names = {}, done = false,
    stopped = false, best = false, validation = o.validation or false, predict = o.predict,
    patience = o.patience or false, keep_best = o.keep_best, directory = o.directory or false,
    show = o.show and core.world() == 0, curves = o.curves, is_trial = o.is_trial or false,
    on_step = {} }, Run)
  run.metrics = asked.metrics("fit", o.metrics or {})
  run.callbacks = asked.callbacks("fit", o.callbacks or {})
  for _, callback in ipairs(run.callbacks) do
    if callback.step then run.on_step[#run.on_step + 1] = callback.step end
  end
  if #run.metrics > 0 and not run.validation then
    core.fail("fit: metrics are of the predictions for validation, which is not given")
  end
  run.reduce_rate = plateau.read("fit", o.reduce_rate, o.optimizer)
  return run
end

local function open_data(run, o)
  run.validation_options = { epochs = 1, batch_size = o.batch_size, shuffle = false,
    columns = o.columns, name = o.name .. ", validation" }
  if o.resume then saved.resume(run) end
  run.feed = feed.new("fit", o.data, o.job, o)
  run.positions = o.positions or feed.taken(run.feed.titles, o.job)
  if not run.validation then return end
  run.predict_positions = o.positions or feed.taken(run.feed.titles, o.predict)
  run.predict_gives_loss = #run.predict_positions >= #run.positions and #run.positions > 1
end

-- Begins a training whose loop is a coroutine.
local function begin_late(run)
  run.ahead, run.show = 2, false
  run.thread = coroutine.create(function() run_through(run) end)
  local ok, err = coroutine.resume(run.thread)
  if not ok then error(err, 0) end
  return run
end

--- Trains as the options say, of which is_trial is one: of a training that leaves nothing behind.
function fit.train(o)
  asked.check(o)
  asked.jobs("fit", o)
  local run = new_run(o)
  open_data(run, o)
  asked.monitor(run, o)
  if o.background then return begin_late(run) end
  run_through(run)
  return run
end

--- Trains a model or a job with a data set: for each epoch it calls the job with every batch, then
-- has `predict` give predictions for the validation's batches and counts `metrics` of them and of
-- their last values, the labels. Of a model it makes both jobs, of `loss` and `optimizer`. A data
-- set is what flow.data gives, a list of NdArrays, or pairs { "name", array }, whose samples are
-- put together to batches of batch_size; a data set whose items are batches already, as load_mnist
-- gives it; flow.zip(a, b); or a function of the epoch that gives such an iterator. Values go to
-- the inputs of their names, or in their order. It returns a run with `history`, a list of numbers
-- for each of loss, val_loss and the metrics, and `best`, the epoch and the value of the best. With
-- `directory` it saves a state after each epoch, and when Ctrl-C stops it.
fit.fit = args.define("fit", "Trains a model or a job, epoch by epoch.", {
  { "job", "a model, or a job of type \"train\" that returns its loss first",
    type = "Job|Model" },
  { "data", "a data set, a list of NdArrays, flow.zip(...), or a function of the epoch",
    keyed = true, type = "table|NdArray|function" },
  { "epochs", "how often it goes through the data", 1, type = "integer", least = 1 },
  { "batch_size", "samples a batch; 32, or what the job's first input says", args.none,
    type = "integer", least = 1 },
  { "shuffle", "whether every epoch has an order of its own", true, type = "boolean" },
  { "loss", "of a model: a function of what it gives and of the values that it does not take",
    args.none, type = "fun(...: Blob): Blob" },
  { "optimizer", "of a model: what trains it; of a job: its own, for reduce_rate", args.none,
    type = "Optimizer" },
  { "inputs", "of a model: the types of a batch's values; those of the data, where these tell",
    args.none, type = "table" },
  { "validation", "data of the same form, to judge each epoch by", args.none,
    type = "table|NdArray|function" },
  { "predict", "of a job: the one for validation, which gives predictions, or takes labels too and "
    .. "gives the loss, then the predictions", args.none, type = "Job" },
  { "metrics", "what is counted of predictions: names of flow.metrics, or functions by name "
    .. "{ mine = function(predictions, labels) return number end }", args.none, type = "table" },
  { "monitor", "what the best epoch is judged by; val_loss, the first metric or loss", args.none,
    type = "string" },
  { "better", "whether \"higher\" or \"lower\" is better; the metric knows", args.none,
    type = "string" },
  { "patience", "after how many epochs without a better one it stops", args.none,
    type = "integer", least = 1 },
  { "reduce_rate", "{ patience = 3, factor = 0.1, lowest = 0 }: the learning rate is multiplied by "
    .. "factor after each `patience` epochs without a better one; true: by these numbers",
    args.none, type = "table|boolean" },
  { "keep_best", "whether the variables of the best epoch are set at the end", false },
  { "callbacks", "a function that is called after each epoch, or { start, step, epoch, finish }, "
    .. "or a list of those; each gets the run", args.none, type = "function|table" },
  { "directory", "where states are kept: last, and with keep_best best", args.none,
    type = "string" },
  { "resume", "whether it goes on from the directory's state, if there is one", false },
  { "background", "whether it returns at once and goes on as callbacks run", false },
  { "show", "whether progress, a line for each epoch and curves are printed", true },
  { "curves", "whether curves are drawn at the end; where a terminal shows them", args.none,
    type = "boolean" },
  { "columns", "which columns of the data come, in this order", args.none, type = "string[]" },
  { "name", "what checkpoints keep the position in the data under", "fit" },
  returns = "FitRun",
}, fit.train)

return fit
