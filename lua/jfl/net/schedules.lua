-- Learning rate schedules and their warm-ups.
local args = require "jfl.base.args"
local core = require "jfl.core"

local schedule = {}

local Schedule = { __tostring = function(self) return self.op end }
local Warmup = { __tostring = function(self) return "warmup." .. self.kind end }

local function warmup(kind, path, doc, option)
  return args.define(path, doc, {
    { "steps", "how long it lasts", type = "integer" },
    { option, "what the rate is multiplied by at first", type = "number" },
    returns = "Warmup",
  }, function(o)
    args.integer(path, "steps", o.steps, 1)
    args.expect(path, option, o[option], "number")
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

local function numbers(who, name, list)
  args.expect(who, name, list, "table")
  local copy = {}
  for i, value in ipairs(list) do copy[i] = args.expect(who, name, value, "number") end
  return copy
end

local function new(op, options, warm)
  if warm then
    options.warmup, options.warmup_steps = warm.kind, warm.steps
    options.warmup_multiplier = warm.multiplier
  end
  return setmetatable({ op = op, options = options }, Schedule)
end

--- values[1] up to step boundaries[1], then values[2] up to boundaries[2], and so on.
schedule.PiecewiseConstantScheduler = args.define("optimizer.PiecewiseConstantScheduler",
  "A rate that changes at given steps.", {
    { "boundaries", "the last step of each value but the last", type = "integer[]" },
    { "values", "the rates, one more than boundaries", type = "number[]" },
    { "warmup", "flow.optimizer.warmup.constant or linear", args.none, type = "Warmup" },
    returns = "Scheduler",
  }, function(o)
    local who = "PiecewiseConstantScheduler"
    local boundaries = numbers(who, "boundaries", o.boundaries)
    local values = numbers(who, "values", o.values)
    if #values ~= #boundaries + 1 then
      core.fail("%s: values must be %d numbers, one more than boundaries, got %d", who,
        #boundaries + 1, #values)
    end
    for i = 2, #boundaries do
      if boundaries[i] <= boundaries[i - 1] then
        core.fail("%s: boundaries must ascend, got %g after %g", who, boundaries[i],
          boundaries[i - 1])
      end
    end
    if o.warmup ~= nil and getmetatable(o.warmup) ~= Warmup then
      core.fail("%s: warmup must be what flow.optimizer.warmup.linear(...) gives, got %s", who,
        args.describe(o.warmup))
    end
    local options = { boundaries = boundaries, values = values }
    return new("piecewise_constant_schedule", options, o.warmup)
  end)

--- The schedule that lr_scheduler stands for: a scheduler itself, or a number for a constant rate.
function schedule.of(who, value)
  if type(value) == "number" then return schedule.PiecewiseConstantScheduler({}, { value }) end
  if getmetatable(value) == Schedule then return value end
  core.fail("%s: lr_scheduler must be a number or a scheduler such as "
    .. "flow.optimizer.PiecewiseConstantScheduler({}, {0.1}), got %s", who, args.describe(value))
end

return schedule
