-- Learning rate schedules and their warm-ups.
---@box optimizer.CustomScheduler optimizer.warmup.constant optimizer.warmup.linear
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local given = require "jfl.job.given"
local records = require "jfl.optim.records"

local schedule = {}

local Schedule = { __tostring = function(self) return self.text end }
local Warmup = { __tostring = function(self) return "warmup." .. self.kind end }

local function warmup(kind, path, doc, option)
  return args.define(path, doc, {
    { "steps", "how long it lasts", type = "integer", least = 1 },
    { option, "what the rate is multiplied by at first", type = "number" },
    returns = "Warmup",
  }, function(o)
    return setmetatable({ kind = kind, steps = o.steps, multiplier = o[option] }, Warmup)
  end)
end

--- Warm-ups, which replace the schedule in the first steps.
schedule.warmup = {
  constant = warmup("constant", "optimizer.warmup.constant",
    "The first rate times a multiplier.", "multiplier"),
  linear = warmup("linear", "optimizer.warmup.linear",
    "From the first rate times start_multiplier to the first rate.", "start_multiplier"),
}

-- What all schedules take, in place of the attributes that their ops have for it.
local WARMUP = { "warmup", "flow.optimizer.warmup.constant or linear", args.none, type = "Warmup" }

local function add_warmup(who, options, warm)
  if warm == nil then return end
  args.must(metatable(warm) == Warmup, warm,
    "%s: warmup must be what flow.optimizer.warmup.linear(...) gives", who)
  options.warmup, options.warmup_steps = warm.kind, warm.steps
  options.warmup_multiplier = warm.multiplier
end

-- The function that makes a schedule which the core has an op for.
local function define(info)
  local params, own, warms = { returns = "Scheduler" }, {}, false
  for _, param in ipairs(info.params) do warms = warms or param.name == "warmup" end
  for _, param in ipairs(info.params) do
    if not warms or not param.name:find("^warmup") then
      own[#own + 1], params[#params + 1] = param, records.param(param)
    end
  end
  if warms then params[#params + 1] = WARMUP end
  return args.define("optimizer." .. info.schedule, info.doc, params, function(o)
    local options = records.read(info.schedule, own, o)
    add_warmup(info.schedule, options, o.warmup)
    core.schedule_rate(info.name, options, 0)          -- fails where they make no sense
    return setmetatable({ op = info.name, options = options,
      text = ("%s(%s)"):format(info.schedule, records.text(own, options)) }, Schedule)
  end)
end

--- Schedules by name: PiecewiseConstantScheduler and its like.
schedule.kinds = {}
for _, info in ipairs(core.schedules()) do schedule.kinds[info.schedule] = define(info) end

-- Fails unless what a user's function gave for a step is a rate.
local function need_rate(who, rate, step)
  if type(rate) == "number" and rate >= 0 and rate < math.huge then return rate end
  core.fail("%s: lr_scheduler must give a finite number of at least 0, got %s for step %d", who,
    args.describe(rate), step)
end

--- The rate that a schedule gives for a step, counted from 0.
function schedule.rate(value, step)
  if value.fn then return need_rate("lr", value.fn(step), step) end
  if value.blob then
    core.fail("lr: %s computes the rate within the job; return that blob to see it", value.text)
  end
  return core.schedule_rate(value.op, value.options, step)
end

--- A rate that the job computes, or gets as an input.
schedule.CustomScheduler = args.define("optimizer.CustomScheduler",
  "The rate is what a blob of the job holds.", {
    { "lbn", "a blob of one element", type = "Blob" },
    returns = "Scheduler",
  }, function(o)
    args.blob("optimizer.CustomScheduler", "lbn", o.lbn)
    return setmetatable({ blob = o.lbn, text = "CustomScheduler(" .. o.lbn.name .. ")" }, Schedule)
  end)

--- Puts a schedule into the request that core.minimize takes. The rate of a function becomes an
-- input of the job, which every call computes.
function schedule.request(who, context, value, request)
  if value.op then
    request.schedule, request.schedule_options = value.op, value.options
    return
  end
  request.rate = value.blob
  if not value.fn then return end
  if request.step then
    core.fail("%s: lr_scheduler must not be a function where train_step_lbn counts the steps", who)
  end
  local number = (context.counters.rate or 0) + 1
  context.counters.rate = number
  local blob = core.input(context.graph, "System-Train-Rate" .. number, "float64", { 1 })
  request.rate = given.add(context, blob, function(step)
    local array = core.array("float64", { 1 })
    array[1] = need_rate(who, value.fn(step()), step())
    return array
  end, request.scale_period or request.accumulate > 1)
end

--- The schedule that lr_scheduler stands for: a scheduler itself, or a number for a constant rate.
function schedule.of(who, value)
  if type(value) == "number" then
    args.number(who, "learning rate", value, "a finite number of at least 0")
    local constant = schedule.kinds.PiecewiseConstantScheduler({}, { value })
    constant.text = ("%g"):format(value)
    return constant
  end
  if metatable(value) == Schedule then return value end
  if type(value) == "function" then
    return setmetatable({ fn = value, text = "function" }, Schedule)
  end
  core.fail("%s: lr_scheduler must be a number, a function of the step or a scheduler such as "
    .. "flow.optimizer.PiecewiseConstantScheduler({}, {0.1}), got %s", who, args.describe(value))
end

return schedule
