-- What a restricted script may use of flow, and of the objects that it gets. What is not named here
-- is not there: names with processes, devices, other threads or the host's settings behind them.
-- Those with files behind them are there where a script with folders has use for them; which files
-- they open is decided where these are opened (src/system/reach.c).
local allowed = {}

-- Names by namespace; "" is flow itself.
local names = {
  [""] = [[
    argmax argmin argsort assign bfloat16 broadcast_like broadcast_to cancel cast chunk clamp
    clip clip_by_value combined_margin_loss concat constant
    constant_initializer constant_like constant_pad2d constant_scalar count_not_finite ctc_loss
    cumprod cumsum diagonal dim_gather dim_scatter_add double drop_variables einsum elem_cnt
    expand_dims flatten flip float float16 float32 float64 function_config gather gather_nd
    get_all_variables get_variable global_function glorot_normal_initializer
    glorot_uniform_initializer has identity identity_n int32 int64 int8 kaiming_initializer linspace
    masked_fill matmul meshgrid moveaxis multi_count_not_finite one_hot ones ones_initializer
    ones_like orthogonal_initializer pad poll random_normal_initializer random_uniform_initializer
    range reflection_pad2d repeat_interleave replication_pad2d reshape reshape_like reverse roll
    same_padding scatter_nd slice slice_update slice_v2 smooth_l1_loss sort split squeeze stack
    stop_gradient swapaxes sync tensor_scatter_nd_add tensor_scatter_nd_update tile transpose tril
    triu truncated_normal truncated_normal_initializer uint8 unbind unstack variable_info
    variance_scaling_initializer version watch watch_diff where xavier_normal_initializer
    xavier_uniform_initializer zeros zeros_initializer zeros_like zip
  ]],
  checkpoint = "get load save",
  config = "check_finite",
  data = "csv load_image",
  image = [[
    CropMirrorNormalize Resize adjust_brightness adjust_contrast adjust_hue adjust_saturation
    center_crop color_jitter flip normalize random_crop random_erasing random_flip
  ]],
  layers = [[
    batch_normalization batch_normalization_add_relu batch_normalization_relu conv1d
    conv1d_transpose conv2d conv2d_transpose conv3d conv3d_transpose dense embedding group_norm gru
    instance_norm layer_norm layer_norm_grad layer_norm_param_grad lstm multi_head_attention prelu
    rms_norm rnn upsample_2d
  ]],
  linalg = "matmul",
  math = [[
    abs acos acosh add add_n argmax argmin asin asinh atan atan2 atanh broadcast_to_compatible_with
    ceil clamp clip clip_by_value cos cosh cumprod cumsum digamma divide equal erf erfc exp exp2
    expm1 floor floordiv fused_bias_add_gelu fused_scale_tril gelu greater greater_equal in_top_k
    isfinite isinf isnan l2_normalize less less_equal lgamma log log10 log1p log2 log_sigmoid
    logical_and logical_not logical_or logical_xor maximum minimum mod multiply negative not_equal
    polyval pow reciprocal reciprocal_no_nan reduce_all reduce_any reduce_euclidean_norm reduce_l1
    reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum
    reduce_variance reduced_shape_elem_cnt relu rint round rsqrt sigmoid sign sin sinh softplus sqrt
    square squared_difference subtract tan tanh top_k tril triu trunc two_stage_reduce_max
    two_stage_reduce_min unsorted_batch_segment_sum unsorted_segment_sum unsorted_segment_sum_like
    xdivy xlogy
  ]],
  ndarray = [[
    all any arange argmax argmin array astype concat copy empty eq fill free full ge get gt item le
    load lt matmul max mean min ne ones rand randn reshape save set slice stack std sum take totable
    transpose zeros
  ]],
  nn = [[
    BCELoss BCEWithLogitsLoss GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss
    L1Loss MSELoss MarginRankingLoss PixelShuffle PixelShufflev2 TripletMarginLoss
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d batch_normalization
    bias_add celu compat_conv2d conv1d conv1d_transpose conv2d conv2d_transpose conv3d
    conv3d_transpose cosine_embedding_loss cosine_similarity cross_entropy dice_loss dropout elu
    embedding fold gelu gelu_tanh global_avg_pool glu gumbel_softmax hardshrink hardsigmoid
    hardswish hardtanh hinge_embedding_loss hinge_loss huber_loss interpolate l2_normalize
    layer_norm leaky_relu local_response_norm log_sigmoid logsoftmax max_pool1d max_pool2d
    max_pool3d mish moments nll_loss pairwise_distance random_mask_like relu relu6 rms_norm
    rotary_embedding scaled_dot_product_attention selu sigmoid_cross_entropy_with_logits
    sigmoid_focal_loss silu softmax softmax_cross_entropy_with_logits softshrink softsign
    sparse_cross_entropy sparse_softmax_cross_entropy_with_logits swish tanhshrink threshold
    torch_conv2d_transpose unfold upsample
  ]],
  optimizer = [[
    Adadelta Adagrad Adam AdamW CombinedOptimizer CosineRestartsScheduler CosineScheduler
    CosineWarmupScheduler CustomScheduler ExponentialScheduler InverseTimeScheduler LAMB LARS
    LazyAdam LinearCosineScheduler Lion NAdam NaturalExpScheduler OneCycleScheduler
    PiecewiseConstantScheduler PiecewiseScalingScheduler PolynomialScheduler RMSProp SGD SGDW
  ]],
  ["optimizer.grad_clipping"] = "by_global_norm by_norm by_value",
  ["optimizer.loss_scale"] = "dynamic_loss_scale static_loss_scale",
  ["optimizer.warmup"] = "constant linear",
  quantization = [[
    fake_quantization min_max_observer moving_average_min_max_observer
  ]],
  random = [[
    CoinFlip bernoulli generate_random_batch_permutation_indices normal permutation rand randint
    randn seed shuffle uniform
  ]],
  regularizers = "l1 l1_l2 l2",
  scope = "namespace recompute",
  typing = "Bundle Callback Dict List ListListNumpy ListNumpy Numpy Tuple",
}

--- The words of a text as a set.
function allowed.set_of(text)
  local set = {}
  for word in text:gmatch("%S+") do set[word] = true end
  return set
end
local set_of = allowed.set_of

--- Whether a path such as "nn.relu" may be used, and whether one is a namespace.
allowed.paths, allowed.spaces = {}, {}
for space, list in pairs(names) do
  allowed.spaces[space] = true
  local parent = space:match("^(.*)%.")
  if parent then allowed.spaces[parent] = true end
  for name in pairs(set_of(list)) do
    allowed.paths[space == "" and name or space .. "." .. name] = true
  end
end

--- The fields and methods of objects by their kind, as core.type() names it; "table" stands for all
-- that are tables: jobs, types, optimizers, schedules.
allowed.fields = {
  array = set_of [[
    shape dtype size all any argmax argmin astype assign copy digits eq fill free ge get gt item le
    lt matmul max mean min ne reshape set slice std sum take totable transpose
  ]],
  blob = set_of "shape dtype name",
  request = set_of "get done cancel",
  table = set_of "Placeholder minimize compile graph plan name shape dtype",
}

return allowed
