-- flow.train.ExponentialMovingAverage: averages of variables, which optimizers keep, to evaluate
-- with.
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local averages = {}

local Average = { __tostring = function(self)
  return ("train.ExponentialMovingAverage(%g)"):format(self.decay)
end }
Average.__index = Average

local check_self = args.colon(Average, "average")

averages.ExponentialMovingAverage = args.define("train.ExponentialMovingAverage",
  "Averages of variables: each step of an optimizer makes them decay average + (1 - decay) "
  .. "variable, and the first one makes them the variables.", {
    { "decay", "how much an average keeps of itself, below 1", type = "number",
      range = "a number above 0 and below 1" },
    { "warms_up", "step n has the lesser of decay and (1 + n) / (10 + n)", false,
      type = "boolean" },
    returns = "MovingAverage",
  }, function(o)
    return setmetatable({ decay = o.decay, warms_up = o.warms_up, covered = {} }, Average)
  end)

--- Notes that an optimizer keeps an average of that variable.
function Average:cover(name) self.covered[name] = true end

--- The name of the variable that holds the average of another.
function Average:average_name(name)
  check_self(self, "average_name")
  return args.expect("average_name", "name", name, "string") .. "-ema"
end

--- Runs body, a part of a job's body, in which each variable that has an average is the average,
-- and gives what it returns. Where no job of this program was traced that trains with these
-- averages, all trainable variables are taken to have one.
function Average:use(body)
  check_self(self, "use")
  local who = "train.ExponentialMovingAverage"
  local context = trace.need(who)
  args.expect(who, "body", body, "function")
  local before = context.averages
  context.averages = self
  return trace.enter(body, function() context.averages = before end)
end

--- The name under which a body asks for a variable, and whether it is an average.
function averages.name_of(context, name, trainable)
  local average = context.averages
  if not average then return name, false end
  local any = next(average.covered) ~= nil
  local is = any and average.covered[name] or not any and trainable
  return is and average:average_name(name) or name, is
end

--- What an optimizer was given as its moving average.
function averages.of(who, value)
  if value == nil or metatable(value) == Average then return value end
  core.fail("%s: moving_average must be what flow.train.ExponentialMovingAverage(0.999) gives, got "
    .. "%s", who, args.describe(value))
end

return averages
