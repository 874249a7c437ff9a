-- flow.nn: normalizations as functions of tensors.
local args = require "jfl.base.args"
local core = require "jfl.core"

local add, multiply, reciprocal, subtract, sqrt = core.op "add", core.op "multiply",
  core.op "reciprocal", core.op "subtract", core.op "sqrt"
local reshape = core.op "reshape"

local norms = {}

local TENSOR = "Tensor"

-- A line of numbers for each index of one axis, as a tensor that broadcasts over one of that rank.
local function along(who, name, line, axis, shape)
  if #line.shape ~= 1 then return line end
  if line.shape[1] ~= shape[axis + 1] then
    core.fail("%s: %s must be (%d), one for each channel, got %s", who, name, shape[axis + 1],
      args.shape_text(line.shape))
  end
  local extents = {}
  for i = 1, #shape do extents[i] = i == axis + 1 and line.shape[1] or 1 end
  return (reshape(line, extents))
end

--- y = scale (x - mean) / sqrt(variance + variance_epsilon) + offset.
norms.batch_normalization = args.define("nn.batch_normalization", "Normalizes x by a mean and a "
  .. "variance for each channel, which are given.", {
    { "x", "a blob or NdArray", type = TENSOR },
    { "mean", "a number for each channel", type = TENSOR },
    { "variance", "a number for each channel", type = TENSOR },
    { "offset", "a number for each channel, which is added", args.none, type = TENSOR },
    { "scale", "a number for each channel, which multiplies", args.none, type = TENSOR },
    { "variance_epsilon", "added to the variance", 1e-5, type = "number" },
    { "axis", "of channels", 1, type = "integer" },
    { "name", "of the op", args.none },
    returns = TENSOR,
  }, function(o)
    local who = "nn.batch_normalization"
    local shape = o.x.shape
    local axis = o.axis < 0 and o.axis + #shape or o.axis
    args.expect(who, "variance_epsilon", o.variance_epsilon, "number")
    if axis % 1 ~= 0 or axis < 0 or axis >= #shape then
      core.fail("%s: axis must be from %d to %d, got %s; axes count from 0", who, -#shape,
        #shape - 1, tostring(o.axis))
    end
    local function broadcast(name) return along(who, name, o[name], axis, shape) end
    local factor = reciprocal((sqrt((add(o.variance, o.variance_epsilon)))))
    if o.scale then factor = multiply(o.scale, factor) end
    o.factor = factor
    local y = multiply(subtract(o.x, broadcast "mean"), broadcast "factor",
      { name = not o.offset and o.name or nil })
    return o.offset and (add(y, broadcast "offset", { name = o.name })) or y
  end)

return norms
