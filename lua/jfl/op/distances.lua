-- How alike vectors are.
---@box nn.cosine_similarity nn.pairwise_distance
local call = require "jfl.op.call"
local core = require "jfl.core"
local tensors = require "jfl.op.tensors"

local op, define = call.op, tensors.define

local X1 = { "x1", "a blob or NdArray of floats", type = "Tensor" }
local X2 = { "x2", "the same, of a shape that broadcasts with it", type = "Tensor" }

-- x1 and x2 broadcast to one shape, and its rank.
local function alike(who, o)
  local shapes = { o.x1.shape, o.x2.shape }
  local shape = tensors.broadcast(who, shapes)
  local function whole(x)
    return tensors.same(x.shape, shape) and x or op.broadcast_to(x, { shape = shape })
  end
  return whole(o.x1), whole(o.x2), #shape
end

define("nn.cosine_similarity", "The cosine of the angle between vectors along an axis.", {
  X1, X2, { "axis", "the axis of the vectors; negative from the end", 1, type = "integer" },
  { "eps", "what lengths count as at least", 1e-8, type = "number", range = "a number above 0" },
}, function(o, who)
  local a, b, rank = alike(who, o)
  local axis = tensors.axis(who, "axis", o.axis, rank) - 1
  local least = o.eps ^ 2
  local function over(x, y) return op.reduce_sum(op.multiply(x, y), { axis = axis }) end
  local function length(x) return op.sqrt(op.maximum(over(x, x), least)) end
  return call.with_squares(o.name, function(name, x, y)
    return op.divide(over(x, y), op.multiply(length(x), length(y)), { name = name })
  end, a, b)
end)

define("nn.pairwise_distance", "The p-norm of x1 - x2 along the last axis.", {
  X1, X2, { "p", "of the norm", 2, type = "number", range = "a number above 0" },
  { "eps", "what is added to each difference", 1e-6, type = "number" },
  { "keepdims", "keep the last axis with extent 1", false, type = "boolean" },
}, function(o, who)
  local a, b, rank = alike(who, o)
  if rank == 0 then core.fail("%s: x1 must have one axis or more, got shape ()", who) end
  local y = call.with_squares(nil, function(_, x1, x2)
    local d = op.abs(op.add(op.subtract(x1, x2), o.eps))
    local power = o.p == 2 and op.square(d) or o.p == 1 and d or op.pow(d, o.p)
    local sum = op.reduce_sum(power, { axis = -1, keepdims = o.keepdims })
    return o.p == 2 and op.sqrt(sum) or o.p == 1 and sum or op.pow(sum, 1 / o.p)
  end, a, b)
  return o.name and op.identity(y, { name = o.name }) or y
end)
