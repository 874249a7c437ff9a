-- flow.layers.dense.
---@box layers.dense
local args = require "jfl.base.args"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local matmul, reshape = core.op "matmul", core.op "reshape"

local params = common.params

local dense = {}

-- Reshapes (a, b, c) to (a * b, c); returns that, the last extent, and a function that reshapes (a
-- * b, units) to (a, b, units).
local function flatten(x, name)
  local shape = x.shape
  local n = #shape
  if n == 2 then return x, shape[2], function(y) return y end end
  local flat = reshape(x, { -1, shape[n] }, { name = name("-reshape") })
  return flat, shape[n], function(y)
    shape[n] = y.shape[2]
    return reshape(y, shape, { name = name("-reshape_back") })
  end
end

--- y = activation(x W^T + b) over the last axis of x.
dense.dense = args.define("layers.dense", "A fully connected layer over the last axis.", {
  { "inputs", "a blob of two or more axes", type = "Blob" },
  { "units", "extent of the result's last axis", type = "integer" },
  params.activation, params.use_bias, params.kernel_initializer, params.bias_initializer,
  params.kernel_regularizer, params.bias_regularizer, params.trainable,
  { "name", "of the layer; dense_1, dense_2, ... in call order", args.none },
  params.model_distribute, params.reuse,
  returns = "Blob",
}, function(o)
  local who = "layers.dense"
  local context = trace.need(who)
  local x = common.need_floats(who, "inputs", o.inputs)
  local units = args.integer(who, "units", o.units, 1)
  if #x.shape < 2 then
    core.fail("%s: inputs must have two or more axes, got shape %s", who, args.shape_text(x.shape))
  end
  common.check_model_distribute(who, o.model_distribute)
  if #x.shape > 2 and o.model_distribute and o.model_distribute.kind == "split" then
    core.fail("%s: inputs must have two axes where model_distribute splits the units, got shape "
      .. "%s; flow.reshape(x, {-1, %d}) makes them so", who, args.shape_text(x.shape),
      x.shape[#x.shape])
  end
  local name = trace.name(context, o.name, "dense")
  local op = common.namer(name, common.is_again(who, context, o, name .. "-weight"))
  local flat, extent, restore = flatten(x, op)
  local weight = common.variable(who, context, { name = name .. "-weight", dtype = x.dtype,
    shape = { units, extent }, initializer = o.kernel_initializer or common.glorot,
    regularizer = o.kernel_regularizer, regularizer_name = "kernel_regularizer",
    trainable = o.trainable, reuse = o.reuse, distribute = o.model_distribute,
    distribute_name = "model_distribute" })
  local y = matmul(flat, weight, { transpose_b = true, name = op("-matmul") })
  y = common.add_bias(who, context, o, y, { name = name .. "-bias", units = units,
    op = op("-bias_add") })
  return restore(common.activate(who, o.activation, y, op))
end)

return dense
