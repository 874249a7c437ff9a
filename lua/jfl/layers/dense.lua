-- flow.layers.dense.
---@box layers.dense
local args = require "jfl.base.args"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local variable = require "jfl.net.variable"

local add, matmul, reshape, scaled = core.op "add", core.op "matmul", core.op "reshape",
  core.op "multiply"

local params = common.params

local dense = {}

-- Reshapes (a, b, c) to (a * b, c); returns that, the last extent, and a function that reshapes (a
-- * b, units) to (a, b, units).
local function flatten(layer)
  local x, shape = layer.x, layer.x.shape
  local n = #shape
  if n == 2 then return x, shape[2], function(y) return y end end
  local flat = reshape(x, { -1, shape[n] }, { name = layer:op "-reshape" })
  return flat, shape[n], function(y)
    shape[n] = y.shape[2]
    return reshape(y, shape, { name = layer:op "-reshape_back" })
  end
end

local function check_adapter(who, adapter)
  if adapter == nil then return end
  args.expect(who, "adapter", adapter, "table")
  for key in pairs(adapter) do
    if key ~= "rank" and key ~= "scale" then
      core.fail("%s: adapter: unknown option %s; options are rank, scale", who, args.describe(key))
    end
  end
  args.integer(who, "adapter.rank", adapter.rank, 1)
  if adapter.scale ~= nil then args.expect(who, "adapter.scale", adapter.scale, "number") end
end

-- y + scale x A^T B^T, where A (rank, extent) begins at random and B (units, rank) with zeros.
local function add_adapter(layer, x, y, extent)
  local o = layer.options
  local rank, scale = o.adapter.rank, o.adapter.scale or 1
  local function low(part, shape, initializer)
    return variable.of_layer(layer.who, layer.context, { name = layer.name .. "-adapter_" .. part,
      dtype = x.dtype, shape = shape, initializer = initializer, trainable = true,
      reuse = o.reuse })
  end
  local a = low("a", { rank, extent }, common.glorot)
  local b = low("b", { o.units, rank }, common.zeros)
  local change = matmul(matmul(x, a, { transpose_b = true }), b, { transpose_b = true })
  return add(y, scale == 1 and change or scaled(change, scale))
end

--- y = activation(x W^T + b) over the last axis of x. With an adapter W and b are not trained, and
-- two small matrices beside W are: y = x W^T + scale x A^T B^T + b.
dense.dense = args.define("layers.dense", "A fully connected layer over the last axis.", {
  { "inputs", "a blob of two or more axes", type = "Blob" },
  { "units", "extent of the result's last axis", type = "integer" },
  params.activation, params.use_bias, params.kernel_initializer, params.bias_initializer,
  params.kernel_regularizer, params.bias_regularizer, params.trainable,
  { "adapter", "{ rank = 8, scale = 1 }: the weight and the bias stay as they are, and "
    .. "NAME-adapter_a and NAME-adapter_b are trained, whose product of that rank is added to the "
    .. "weight; "
    .. "flow.quantization.merge adds it for good", args.none, type = "table" },
  { "name", "of the layer; dense_1, dense_2, ... in call order", args.none },
  params.model_distribute, params.reuse,
  returns = "Blob",
}, function(o, who)
  local layer = common.layer(who, "dense", o)
  local x = layer.x
  args.integer(who, "units", o.units, 1)
  args.fits(#x.shape >= 2, x.shape, "%s: inputs must have two or more axes, got shape", who)
  common.check_model_distribute(who, o.model_distribute)
  check_adapter(who, o.adapter)
  o.trainable = o.trainable and not o.adapter
  if #x.shape > 2 and o.model_distribute and o.model_distribute.kind == "split" then
    core.fail("%s: inputs must have two axes where model_distribute splits the units, got shape "
      .. "%s; flow.reshape(x, {-1, %d}) makes them so", who, args.shape_text(x.shape),
      x.shape[#x.shape])
  end
  layer:begin(layer.name .. "-weight")
  local flat, extent, restore = flatten(layer)
  local weight = layer:variable("weight", "kernel", common.glorot, { shape = { o.units, extent } })
  local y = matmul(flat, weight, { transpose_b = true, name = layer:op "-matmul" })
  if o.adapter then y = add_adapter(layer, flat, y, extent) end
  return restore(layer:activate(layer:add_bias(y, o.units)))
end)

return dense
