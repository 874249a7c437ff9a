-- flow.nn.dropout, which depends on the type of the job.
---@box nn.dropout
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"

local dropout = core.op("dropout")

local function check_noise(x, shape)
  local who, extents = "nn.dropout", x.shape
  args.shape(who, "noise_shape", shape)
  local fits = #shape == #extents
  for i = 1, fits and #shape or 0 do fits = fits and (shape[i] == 1 or shape[i] == extents[i]) end
  if not fits then
    core.fail("%s: noise_shape must be that of x, %s, with 1 where places share a draw, got %s",
      who, args.shape_text(extents), args.shape_text(shape))
  end
end

-- Drops all elements that a number of the noise's shape stands for.
local function drop_together(x, shape, rate, name)
  local ones = call.op.constant(1, { dtype = x.dtype, shape = shape })
  return (call.op.multiply(x, dropout(ones, { rate = rate, name = name })))
end

--- Sets random elements of x to 0 in train jobs and changes nothing elsewhere; training = true or
-- false overrides that.
return args.define("nn.dropout", "Sets elements to 0 with probability rate in train jobs and "
  .. "multiplies the others by 1 / (1 - rate).", {
    { "x", "a blob or NdArray", type = "Tensor" },
    { "rate", "probability of being dropped, from 0 to below 1", type = "number" },
    { "noise_shape", "the shape of what is drawn: x's, with 1 where all places of an axis share a "
      .. "draw, so {N, C, 1, 1} drops channels; x's shape", args.none, type = "integer[]" },
    { "training", "true or false overrides the job's type", args.none, type = "boolean" },
    { "name", "of the op", args.none },
    returns = "Tensor",
  }, function(o, who)
    local x, name = o.x, call.full_name(who, o.name)
    if o.noise_shape then check_noise(x, o.noise_shape) end
    local rate = call.dropout_rate(who, "rate", o.rate, o.training)
    if rate == 0 then return o.x end
    if o.noise_shape then return drop_together(x, o.noise_shape, rate, name) end
    return (dropout(o.x, { rate = rate, name = name }))
  end)
