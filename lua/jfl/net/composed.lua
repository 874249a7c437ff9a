-- Functions that are made of ops, by the modules that define them. Each is loaded when its path,
-- such as flow.slice_v2, is read for the first time; one with the path of an op takes its place.
local args = require "jfl.base.args"

local paths = {
  ["jfl.net.arrays"] = {
    "broadcast_like", "constant_like", "constant_scalar", "count_not_finite", "dim_gather",
    "dim_scatter_add", "elem_cnt", "experimental.square_sum", "identity_n", "linspace",
    "masked_fill", "math.broadcast_to_compatible_with", "math.in_top_k",
    "math.reduced_shape_elem_cnt", "math.unsorted_batch_segment_sum",
    "math.unsorted_segment_sum_like", "meshgrid", "moveaxis", "multi_count_not_finite",
    "nn.embedding", "range", "repeat_interleave", "reshape_like", "swapaxes", "tile",
  },
  ["jfl.net.padding"] = {
    "constant_pad2d", "reflection_pad2d", "replication_pad2d", "same_padding",
  },
  ["jfl.net.products"] = { "einsum", "linalg.matmul = matmul", "matmul" },
  ["jfl.net.slices"] = {
    "diagonal", "experimental.logical_slice", "flip = reverse", "reverse", "roll", "slice_update",
    "slice_v2",
  },
  ["jfl.net.norms"] = {
    "nn.GroupNorm", "nn.InstanceNorm1d", "nn.InstanceNorm2d", "nn.InstanceNorm3d",
    "nn.batch_normalization", "nn.layer_norm", "nn.moments", "nn.rms_norm",
  },
}

local composed = {
  --- The name of the module that defines a path.
  module_of = {},
}

local same_as = {}               -- what a path is another name of

for module, list in pairs(paths) do
  for _, entry in ipairs(list) do
    local path, other = entry:match("^([%w_.]+) ?=? ?([%w_.]*)$")
    composed.module_of[path] = module
    same_as[path] = other ~= "" and other or path
  end
end

--- The function that a path stands for.
function composed.load(path)
  require(composed.module_of[path])
  return args.defined[same_as[path]].fn
end

return setmetatable(composed, { __index = function(_, path)
  return composed.module_of[path] and composed.load(path)
end })
