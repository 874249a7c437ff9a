-- Activations that are made of ops.
---@box nn.celu nn.glu nn.gumbel_softmax nn.tanhshrink nn.threshold
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"

local op, define = call.op, tensors.define

local X = { "x", "a blob or NdArray of floats", type = "Tensor" }
local AXIS = { "axis", "an axis; negative from the end", -1, type = "integer" }

define("nn.glu", "The first half of x along an axis, times the sigmoid of the second half (Dauphin "
  .. "et al., \"Language modeling with gated convolutional networks\", 2016).", { X, AXIS },
  function(o, who)
    local shape = o.x.shape
    local axis = tensors.axis(who, "axis", o.axis, #shape)
    if shape[axis] % 2 ~= 0 then
      core.fail("%s: x must have an even extent along axis %d, got %d", who, axis - 1, shape[axis])
    end
    if shape[axis] == 0 then return op.identity(o.x, { name = o.name }) end
    local half = shape[axis] / 2
    local value, gate = op.split(o.x, { sizes = { half, half }, axis = axis - 1 })
    return op.multiply(value, op.sigmoid(gate), { name = o.name })
  end)

define("nn.celu", "x where it is above 0, else alpha (exp(x / alpha) - 1) (Barron, \"Continuously "
  .. "differentiable exponential linear units\", 2017).", {
    X, { "alpha", "how far below 0 it goes", 1, type = "number", range = "a number above 0" },
  }, function(o)
    return op.multiply(op.elu(op.multiply(o.x, 1 / o.alpha)), o.alpha, { name = o.name })
  end)

define("nn.tanhshrink", "x - tanh(x).", { X }, function(o)
  return op.subtract(o.x, op.tanh(o.x), { name = o.name })
end)

define("nn.threshold", "x where it is above a threshold, else a value.", {
  X, { "threshold", "what x must be above", type = "number" },
  { "value", "what stands elsewhere", type = "number" },
}, function(o)
  return op.where(op.greater(o.x, o.threshold), o.x, o.value, { name = o.name })
end)

-- The noise is -log(-log(u)); u is kept away from 0 and 1, where that is infinite.
define("nn.gumbel_softmax", "Softmax of logits with Gumbel noise, other at each call: one random "
  .. "choice with gradients (Jang et al., \"Categorical reparameterization with Gumbel-Softmax\", "
  .. "2016).", {
    X, { "tau", "the temperature: near 0 a choice is nearly whole", 1, type = "number",
      range = "a number above 0" },
    { "hard", "whether the result is the whole choice, with the gradient of the soft one",
      false, type = "boolean" },
    AXIS,
  }, function(o, who)
    local axis = tensors.axis(who, "axis", o.axis, #o.x.shape) - 1
    local u = op.random_uniform({ shape = o.x.shape, minval = 1e-7, maxval = 1 - 1e-7,
      dtype = o.x.dtype })
    local noise = op.negative(op.log(op.negative(op.log(u))))
    local soft = op.softmax(op.multiply(op.add(o.x, noise), 1 / o.tau), { axis = axis })
    if not o.hard then return op.identity(soft, { name = o.name }) end
    local whole = op.one_hot(op.argmax(soft, { axis = axis }), { depth = o.x.shape[axis + 1],
      axis = axis, dtype = o.x.dtype })
    return op.add(op.stop_gradient(op.subtract(whole, soft)), soft, { name = o.name })
  end)
