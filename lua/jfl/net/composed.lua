-- Functions that are made of ops, by the modules that define them. Each is loaded when its path,
-- such as flow.slice_v2, is read for the first time; one with the path of an op takes its place.
local args = require "jfl.base.args"

local paths = {
  ["jfl.net.arrays"] = {
    "dim_gather", "dim_scatter_add",
  },
  ["jfl.net.losses"] = {
    "combined_margin_loss", "nn.BCELoss", "nn.BCEWithLogitsLoss", "nn.KLDivLoss", "nn.L1Loss",
    "nn.MSELoss", "nn.MarginRankingLoss", "nn.TripletMarginLoss", "nn.cosine_embedding_loss",
    "nn.cross_entropy", "nn.dice_loss", "nn.hinge_embedding_loss", "nn.hinge_loss",
    "nn.huber_loss", "nn.nll_loss", "nn.sigmoid_focal_loss", "nn.softmax_cross_entropy_with_logits",
    "nn.sparse_cross_entropy", "smooth_l1_loss",
  },
  ["jfl.net.norms"] = {
    "nn.batch_normalization",
  },
}

local composed = {
  --- The name of the module that defines a path.
  module_of = {},
}

for module, list in pairs(paths) do
  for _, path in ipairs(list) do composed.module_of[path] = module end
end

--- The function that a path stands for.
function composed.load(path)
  require(composed.module_of[path])
  return args.defined[path].fn
end

return setmetatable(composed, { __index = function(_, path)
  return composed.module_of[path] and composed.load(path)
end })
