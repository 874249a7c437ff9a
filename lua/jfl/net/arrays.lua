-- Functions on shapes, slices and indices that are made of ops.
local args = require "jfl.base.args"
local call = require "jfl.net.call"

local op = call.op

local NAME = { "name", "of the op", args.none }

args.define("dim_gather", "The elements of input whose position along dim index gives.", {
  { "input", "a blob or NdArray", type = "Tensor" },
  { "dim", "the axis that index counts along", type = "integer" },
  { "index", "int32 or int64, of input's rank; along other axes it has no larger extents",
    type = "Tensor" },
  NAME,
  returns = "Tensor",
}, function(o)
  return (op.dim_gather(o.input, o.index, { dim = o.dim, name = o.name }))
end)

args.define("dim_scatter_add", "input, plus src at the positions along dim that index gives.", {
  { "dim", "the axis that index counts along", type = "integer" },
  { "input", "a blob or NdArray", type = "Tensor" },
  { "index", "int32 or int64, of input's rank; along other axes it has no larger extents",
    type = "Tensor" },
  { "src", "of index's shape and input's dtype", type = "Tensor" },
  NAME,
  returns = "Tensor",
}, function(o)
  return (op.dim_scatter_add(o.input, o.index, o.src, { dim = o.dim, name = o.name }))
end)
