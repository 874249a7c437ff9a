-- Functions that are made of ops, and layers, by the modules that define them. Each module is
-- loaded when one of its functions is called for the first time. A function with the path of an op
-- takes its place.
local args = require "jfl.base.args"

local paths = {
  ["jfl.net.advanced"] = {
    "advanced.distribute_add", "advanced.distribute_clone", "advanced.distribute_concat",
    "advanced.distribute_map", "advanced.distribute_split",
  },
  ["jfl.net.arrays"] = {
    "broadcast_like", "constant_like", "constant_scalar", "count_not_finite", "dim_gather",
    "dim_scatter_add", "elem_cnt", "experimental.square_sum", "identity_n", "linspace",
    "masked_fill", "math.broadcast_to_compatible_with", "math.in_top_k",
    "math.reduced_shape_elem_cnt", "math.unsorted_batch_segment_sum",
    "math.unsorted_segment_sum_like", "meshgrid", "moveaxis", "multi_count_not_finite",
    "nn.embedding", "range", "repeat_interleave", "reshape_like", "swapaxes", "tile",
  },
  ["jfl.net.layers.attention"] = { "layers.multi_head_attention" },
  ["jfl.net.layers.conv"] = {
    "layers.conv1d", "layers.conv1d_transpose", "layers.conv2d", "layers.conv2d_transpose",
    "layers.conv3d", "layers.conv3d_transpose", "layers.upsample_2d",
  },
  ["jfl.net.layers.dense"] = { "layers.dense" },
  ["jfl.net.layers.embedding"] = { "layers.embedding" },
  ["jfl.net.layers.norm"] = {
    "layers.batch_normalization", "layers.batch_normalization_add_relu",
    "layers.batch_normalization_relu", "layers.group_norm", "layers.instance_norm",
    "layers.layer_norm", "layers.layer_norm_grad", "layers.layer_norm_param_grad", "layers.prelu",
    "layers.rms_norm",
  },
  ["jfl.net.layers.recurrent"] = { "layers.gru", "layers.lstm", "layers.rnn" },
  ["jfl.net.convolutions"] = {
    "nn.compat_conv2d", "nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose",
    "nn.torch_conv2d_transpose",
  },
  ["jfl.net.pools"] = {
    "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d",
    "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d",
    "nn.avg_pool1d", "nn.avg_pool3d", "nn.global_avg_pool", "nn.max_pool1d", "nn.max_pool3d",
  },
  ["jfl.net.images"] = {
    "image.CropMirrorNormalize", "image.Resize", "image.center_crop",
    "image.flip", "image.normalize", "image.random_crop", "image.random_erasing",
    "image.random_flip", "random.CoinFlip",
  },
  ["jfl.net.colours"] = {
    "image.adjust_brightness", "image.adjust_contrast", "image.adjust_hue",
    "image.adjust_saturation", "image.color_jitter",
  },
  ["jfl.net.resize"] = {
    "nn.PixelShuffle", "nn.PixelShufflev2", "nn.interpolate", "nn.upsample = nn.interpolate",
  },
  ["jfl.net.patches"] = { "nn.fold", "nn.unfold" },
  ["jfl.net.activations"] = {
    "nn.celu", "nn.glu", "nn.gumbel_softmax", "nn.tanhshrink", "nn.threshold",
  },
  ["jfl.net.distribute"] = {
    "distribute.auto", "distribute.broadcast", "distribute.split", "parallel_cast",
  },
  ["jfl.net.views"] = {
    "cast_to_current_logical_view", "scope.consistent_view", "scope.consistent_view_enabled",
    "scope.mirrored_view", "scope.mirrored_view_enabled",
  },
  ["jfl.net.distances"] = { "nn.cosine_similarity", "nn.pairwise_distance" },
  ["jfl.net.padding"] = {
    "constant_pad2d", "reflection_pad2d", "replication_pad2d", "same_padding",
  },
  ["jfl.net.products"] = { "einsum", "linalg.matmul = matmul", "matmul" },
  ["jfl.net.quantization"] = {
    "quantization.fake_quantization", "quantization.min_max_observer",
    "quantization.moving_average_min_maxObserver",
    "quantization.moving_average_min_max_observer = quantization.moving_average_min_maxObserver",
  },
  ["jfl.net.slices"] = {
    "chunk", "diagonal", "experimental.logical_slice", "experimental.logical_slice_assign",
    "flip = reverse", "reverse", "roll", "slice_update",
    "slice_v2", "unbind", "unstack = unbind",
  },
  ["jfl.net.functions"] = {
    "math.add_n", "math.fused_bias_add_gelu", "math.gelu", "nn.gelu = math.gelu",
    "math.l2_normalize", "nn.l2_normalize = math.l2_normalize", "math.polyval",
    "math.reduce_euclidean_norm", "math.reduce_l1", "math.reduce_logsumexp", "math.reduce_std",
    "math.reduce_variance", "math.two_stage_reduce_max", "math.two_stage_reduce_min",
    "nn.random_mask_like", "random.bernoulli",
    "random.generate_random_batch_permutation_indices", "random.shuffle",
  },
  ["jfl.net.losses"] = {
    "combined_margin_loss", "ctc_loss", "nn.BCELoss", "nn.BCEWithLogitsLoss", "nn.KLDivLoss",
    "nn.L1Loss",
    "nn.MSELoss", "nn.MarginRankingLoss", "nn.TripletMarginLoss", "nn.cosine_embedding_loss",
    "nn.cross_entropy", "nn.dice_loss", "nn.hinge_embedding_loss", "nn.hinge_loss",
    "nn.huber_loss", "nn.nll_loss", "nn.sigmoid_focal_loss", "nn.softmax_cross_entropy_with_logits",
    "nn.sparse_cross_entropy", "smooth_l1_loss",
  },
  ["jfl.net.dropout"] = { "nn.dropout" },
  ["jfl.net.attention"] = {
    "nn.scaled_dot_product_attention",
  },
  ["jfl.net.norms"] = {
    "nn.GroupNorm", "nn.InstanceNorm1d", "nn.InstanceNorm2d", "nn.InstanceNorm3d",
    "nn.batch_normalization", "nn.layer_norm", "nn.local_response_norm", "nn.moments",
    "nn.rms_norm",
  },
}

local composed = {
  --- The functions by namespace and name, such as spaces.nn.dropout. Those of flow itself are in
  -- the one named "".
  spaces = {},
}

local made = {}                  -- the functions by path

-- The function of a path in a module.
local function function_of(module, path)
  local f
  return function(...)
    if not f then
      require(module)
      f = args.defined[path].fn
    end
    return f(...)
  end
end

for module, list in pairs(paths) do
  for _, entry in ipairs(list) do
    local path, other = entry:match("^([%w_.]+) ?=? ?([%w_.]*)$")
    local space, name = path:match("^(.-)%.?([^.]+)$")
    if other == "" then other = path end
    made[other] = made[other] or function_of(module, other)
    composed.spaces[space] = composed.spaces[space] or {}
    composed.spaces[space][name] = made[other]
  end
end

return composed
