-- flow.nn.dropout, which depends on the type of the job.
local args = require "jfl.base.args"
local call = require "jfl.net.call"
local core = require "jfl.core"

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
    local rate = call.dropout_rate("nn.dropout", "rate", o.rate, o.training)
    if rate == 0 then return o.x end
    local name = call.full_name("nn.dropout", o.name)
    return (dropout(o.x, { rate = rate, name = name }))
  end)
