-- flow.nn.dropout, which depends on the type of the job.
local args = require "jfl.base.args"
local call = require "jfl.net.call"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local dropout = core.op("dropout")

--- Sets random elements of x to 0 in train jobs and changes nothing elsewhere; training = true or
-- false overrides that.
return args.define("nn.dropout", "Sets elements to 0 with probability rate in train jobs and "
  .. "multiplies the others by 1 / (1 - rate).", {
    { "x", "a blob or NdArray", type = "Tensor" },
    { "rate", "probability of being dropped, from 0 to below 1", type = "number" },
    { "training", "true or false overrides the job's type", args.none, type = "boolean" },
    { "name", "of the op", args.none },
    returns = "Tensor",
  }, function(o)
    args.expect("nn.dropout", "rate", o.rate, "number")
    if not (o.rate >= 0 and o.rate < 1) then
      core.fail("nn.dropout: rate must be a number from 0 to below 1, got %g", o.rate)
    end
    local context = trace.current
    local active = o.training
    if active ~= nil then args.expect("nn.dropout", "training", active, "boolean") end
    if active == nil then active = context and context.mode == "train" end
    if not active or o.rate == 0 then return o.x end
    local name = call.full_name("nn.dropout", o.name)
    return (dropout(o.x, { rate = o.rate, name = name }))
  end)
