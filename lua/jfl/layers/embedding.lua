-- flow.layers: vectors of words and other numbered things.
---@box layers.embedding
local args = require "jfl.base.args"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"

local cast, expand_dims, gather = core.op "cast", core.op "expand_dims", core.op "gather"
local multiply, not_equal = core.op "multiply", core.op "not_equal"

local embedding = {}

local narrow = initializers.random_uniform_initializer(-0.05, 0.05)

-- y, but 0 where ids are those of padding.
local function without(y, ids, padding_idx, name)
  local keep = expand_dims(cast(not_equal(ids, padding_idx), y.dtype), { axis = -1 })
  return (multiply(y, keep, { name = name }))
end

--- y = the rows of a weight (vocabulary, units) that inputs number.
embedding.embedding = args.define("layers.embedding", "A vector for each number of a vocabulary, "
  .. "which training changes: of words, users, categories.", {
  { "inputs", "the numbers, an int32 or int64 blob of any shape", type = "Blob" },
  { "vocabulary", "how many different ones there are", type = "integer" },
  { "units", "extent of the vectors, the result's last axis", type = "integer" },
  { "padding_idx", "the number that stands for nothing: its vector is 0 and stays so", args.none,
    type = "integer", least = 0 },
  { "embeddings_initializer", "of the weight; random_uniform from -0.05 to 0.05", args.none,
    type = "Initializer" },
  { "embeddings_regularizer", "of the weight, such as flow.regularizers.l2(0.01)", args.none,
    type = "Regularizer" },
  { "dtype", "of the weight; the job's default_data_type", args.none, type = "string" },
  common.params.trainable,
  { "name", "of the layer; embedding_1, embedding_2, ... in call order", args.none },
  common.params.reuse,
  returns = "Blob",
}, function(o, who)
  local layer = common.layer(who, "embedding", o, args.blob)
  local ids, padding = layer.x, o.padding_idx
  for _, name in ipairs { "vocabulary", "units" } do args.integer(who, name, o[name], 1) end
  if ids.dtype ~= "int32" and ids.dtype ~= "int64" then
    core.fail("%s: inputs must be int32 or int64, got %s", who, ids.dtype)
  end
  if padding ~= nil and padding >= o.vocabulary then
    core.fail("%s: padding_idx must be below vocabulary %d, got %d", who, o.vocabulary, padding)
  end
  layer:begin(layer.name .. "-weight")
  local dtype = args.dtype(who, "dtype",
    o.dtype or layer.context.config.default_data_type or "float32")
  local weight = layer:variable("weight", "embeddings", narrow,
    { dtype = dtype, shape = { o.vocabulary, o.units } })
  local y = gather(weight, ids, { padding_idx = padding, name = layer:op "-gather" })
  if y.dtype ~= dtype then y = cast(y, { dtype = dtype }) end      -- a weight in 16 bits
  return padding == nil and y or without(y, ids, padding, layer:op "-padding")
end)

return embedding
