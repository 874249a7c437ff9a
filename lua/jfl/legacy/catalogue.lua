-- The public names of the original, as its versions 0.3 to 0.6 have them, and why some are not
-- here. Each of the others is here under its own name, or under another (aliases.lua, names.lua).
local names = require "jfl.base.names"

local catalogue = {}

-- By namespace.
local ALL = [[
  flow: FixedTensorDef FunctionConfig Generator MirroredTensorDef Model Size Tensor acc
    amp_white_identity argsort argwhere assign bfloat16 bool broadcast_like
    broadcast_to_compatible_with cast cast_to_current_logical_view cast_to_static_shape
    categorical_ordinal_encode char clamp clear_default_session clip clip_by_scalar clip_by_value
    combined_margin_loss complex128 complex32 complex64 concat consistent_user_op_builder
    consistent_user_op_module_builder constant constant_initializer constant_like constant_pad2d
    constant_scalar convert_oneflow_dtype_to_numpy_dtype count_not_finite ctc_loss
    current_global_function_desc current_machine_id current_resource current_scope
    custom_op_module device device_prior_placement diag dim_gather distributed_partial_fc_sample
    double dtype dynamic_reshape eager_execution_enabled eager_nccl_all_reduce elem_cnt
    empty_initializer enable_eager_execution expand expand_dims find_or_create_module
    fixed_placement flatten float float16 float32 float64 function_config gather gather_nd
    gen_tensor_buffer get_all_variables get_variable global_function glorot_normal_initializer
    glorot_uniform_initializer half hierarchical_parallel_cast identity identity_n
    image_batch_align image_decode image_flip image_normalize image_random_crop image_resize
    image_target_resize in_top_k int int128 int16 int32 int64 int8 inter_job_reuse_mem_strategy
    kaiming_initializer load load_variables long manual_seed masked_fill matmul
    multi_count_not_finite name_scope no_grad nonzero object_bbox_flip object_bbox_scale
    object_segmentation_polygon_flip object_segmentation_polygon_scale
    object_segmentation_polygon_to_mask one_hot ones ones_initializer ones_like pack pad pad_grad
    parallel_cast placement python_callback random_normal_initializer random_uniform_initializer
    range record reflection_pad2d register_python_callback repeat replication_pad2d reshape
    reshape_like reverse same_padding save scatter_nd slice slice_update slice_v2 smooth_l1_loss
    sort squeeze stack sync_default_session sync_dynamic_resize tensor_buffer
    tensor_buffer_to_list_of_tensors tensor_buffer_to_tensor tensor_scatter_nd_add
    tensor_scatter_nd_update tensor_to_tensor_buffer transpose truncated_normal
    truncated_normal_initializer uint128 uint16 uint32 uint64 uint8 unpack
    unsorted_batch_segment_sum unsorted_segment_sum unsorted_segment_sum_like user_op_builder
    user_op_module_builder variance_scaling_initializer watch watch_diff watcher where
    xavier_normal_initializer xavier_uniform_initializer zero_pad2d zeros zeros_initializer
    zeros_like
  flow.advanced: distribute_add distribute_clone distribute_concat distribute_map distribute_split
  flow.autograd: backward grad no_grad
  flow.checkpoint: get save
  flow.config: collect_act_event comm_net_worker_num compute_thread_pool_size cpu_device_num
    disable_group_boxing_by_dst_parallel enable_debug_mode enable_legacy_model_io
    enable_mem_chain_merge enable_model_io_v2 enable_numa_aware_cuda_malloc_host
    enable_tensor_float_32_compute gpu_device_num legacy_model_io_enabled load_library
    load_library_now machine_num max_mdsave_worker_num nccl_use_compute_stream
    rdma_mem_block_mbyte rdma_recv_msg_buf_mbyte reserved_device_mem_mbyte reserved_host_mem_mbyte
    thread_enable_local_message_queue use_rdma
  flow.config.collective_boxing: enable_fusion nccl_enable_all_to_all nccl_enable_mixed_fusion
    nccl_fusion_all_gather nccl_fusion_all_reduce nccl_fusion_all_reduce_use_buffer
    nccl_fusion_broadcast nccl_fusion_max_ops nccl_fusion_reduce nccl_fusion_reduce_scatter
    nccl_fusion_threshold_mb nccl_num_streams num_callback_threads
  flow.data: ImageCodec ImageDecoderRandomCropResize ImagePreprocessor ImageResizePreprocessor
    MegatronGPTMMapDataLoader NormByChannelPreprocessor OFRecordBytesDecoder OFRecordImageDecoder
    OFRecordImageDecoderRandomCrop OFRecordRawDecoder OneRecDecoder RawCodec coco_reader
    decode_ofrecord decode_random image_decoder_random_crop_resize load_mnist
    megatron_gpt_mmap_data_loader ofrecord_bytes_decoder ofrecord_image_classification_reader
    ofrecord_image_decoder ofrecord_image_decoder_random_crop ofrecord_loader ofrecord_raw_decoder
    ofrecord_reader onerec_decoder onerec_reader
  flow.deprecated: delete_worker_by_bootstrap delete_worker_of_multi_process nn variable_scope
  flow.detection: object_bbox_flip object_bbox_scale object_segmentation_polygon_flip
    object_segmentation_polygon_scale object_segmentation_polygon_to_mask
  flow.distribute: assert_is_valid_distribute auto broadcast consistent_strategy
    consistent_strategy_enabled mirrored_strategy mirrored_strategy_enabled split
  flow.distributed: get_local_rank get_rank get_world_size is_multi_client
  flow.env: all_device_placement ctrl_port current_resource data_port grpc_use_no_signal init
    init_bootstrap_confs log_dir logbuflevel logtostderr machine
  flow.experimental: custom_op_module eager_assign_121 enable_typing_check
    get_interface_blob_value get_job_set indexed_slices_reduce_sum logical_slice
    logical_slice_assign name_scope scope set_interface_blob_value square_sum ssp_variable_proxy
    unique_with_counts
  flow.image: CropMirrorNormalize Resize batch_align crop_mirror_normalize decode flip normalize
    random_crop resize target_resize
  flow.layers: batch_normalization batch_normalization_add_relu batch_normalization_relu
    categorical_ordinal_encoder conv1d conv2d conv3d dense layer_norm layer_norm_grad
    layer_norm_param_grad prelu upsample_2d
  flow.linalg: matmul
  flow.losses: add_loss
  flow.math: abs acos acosh add add_n argmax asin asinh atan atan2 atanh
    broadcast_to_compatible_with ceil clip_by_value cos cosh divide equal erf erfc exp expm1 floor
    floordiv fused_scale_tril fused_scale_tril_softmax_dropout gelu gelu_grad greater
    greater_equal in_top_k l2_normalize less less_equal lgamma log log1p log_sigmoid logical_and
    maximum minimum mod multiply negative not_equal polyval pow reciprocal reciprocal_no_nan
    reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min
    reduce_prod reduce_std reduce_sum reduce_variance reduced_shape_elem_cnt relu rint round rsqrt
    sigmoid sigmoid_grad sigmoid_v2 sign sin sinh softplus sqrt square squared_difference subtract
    tan tanh tanh_v2 top_k tril two_stage_reduce_max two_stage_reduce_min
    unsorted_batch_segment_sum unsorted_segment_sum unsorted_segment_sum_like xdivy xlogy
  flow.model: Callback CheckpointConfig DataModule Model NumpyDataModule TrainingConfig
    ValidationConfig
  flow.nn: BCELoss BCEWithLogitsLoss GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d
    KLDivLoss L1Loss MSELoss MarginRankingLoss Module Parameter PixelShuffle PixelShufflev2
    TripletMarginLoss avg_pool1d avg_pool2d avg_pool3d batch_normalization bias_add compat_conv2d
    conv1d conv2d conv2d_transpose conv3d ctc_greedy_decoder
    distributed_sparse_softmax_cross_entropy_with_logits dropout elu fused_bias_add_dropout
    fused_bias_add_gelu fused_scale_tril fused_scale_tril_softmax_dropout
    fused_self_attention_query_mul_key_and_value hardsigmoid hardswish hardtanh layer_norm
    leaky_relu logsoftmax max_pool1d max_pool2d max_pool3d mish moments random_mask_like relu
    relu6 sigmoid_cross_entropy_with_logits softmax softmax_cross_entropy_with_logits softmax_grad
    sparse_cross_entropy sparse_softmax_cross_entropy_with_logits swish torch_conv2d_transpose
    tril
  flow.optimizer: Adam AdamW CombinedOptimizer CosineScheduler CustomScheduler
    ExponentialScheduler InverseTimeScheduler LAMB LARS LazyAdam LinearCosineScheduler
    NaturalExpScheduler PiecewiseConstantScheduler PiecewiseScalingScheduler PolynomialSchduler
    PolynomialScheduler RMSProp SGD SGDW
  flow.optimizer.grad_clipping: by_global_norm
  flow.optimizer.loss_scale: dynamic_loss_scale static_loss_scale
  flow.optimizer.warmup: constant linear
  flow.profiler: nvtx_end nvtx_start range_pop range_push
  flow.quantization: fake_quantization min_max_observer moving_average_min_max_observer
  flow.random: CoinFlip bernoulli coin_flip gen_seed generate_random_batch_permutation_indices
    shuffle
  flow.regularizers: l1 l1_l2 l2
  flow.saved_model: GraphBuilder ModelBuilder SignatureBuilder
  flow.sbp: split
  flow.scope: consistent_view consistent_view_enabled current_scope mirrored_view
    mirrored_view_enabled namespace placement
  flow.summary: Graph HParam IntegerRange Metric Projector RealRange ValueSet
    create_summary_writer flush_summary_writer histogram hparams image pb scalar text
  flow.sysconfig: get_compile_flags get_cuda_version get_include get_lib get_link_flags
    has_rpc_backend_grpc has_rpc_backend_local with_cuda with_mlir with_mlir_cuda_codegen with_xla
  flow.system: assign
  flow.tensorrt: cache_int8_calibration write_int8_calibration
  flow.train: CheckPoint SimpleCheckPointManager
  flow.typing: Bundle Callback ListNumpy Numpy
  flow.util: unique_str
]]

local EAGER = "jobs are compiled, and ops on arrays run at once: no tensor has a gradient"
local BUFFERS = "blobs have one shape, not one for each sample; flow.image.Resize gives one to "
  .. "decoded pictures"
local FILES = "files of these kinds are not read; flow.data.batches takes a function that reads "
  .. "samples in Lua"
local BOXES = "boxes and polygons of single pictures are changed in Lua, before a job gets them"
local CPP = "an op is built into jfl; src/README.md says how"
local TIME = "a call has one value of each blob; micro_batches and gradient_accumulation_steps cut "
  .. "batches"
local GRADIENT = "gradients are made of the ops themselves, by minimize"
local DTYPES = "arrays have float16 to float64, bfloat16, int8, uint8, int32 and int64"
local CODES = "flow.data.csv numbers texts, and gives the numbers back for other files"
local BUILD = "jfl_build_text and jfl --version say how jfl was built; pkg-config how to link it"
local MODEL = "flow.global_function, flow.data.batches and CheckPoint make a training"
local INSIDE = "it is a part of how the original works inside"
local SUMMARY = "flow.summary writes numbers, histograms, pictures, texts and settings of runs"

-- Why names are not here: each row a reason and names, in which * stands for any letters.
local ABSENT = {
  { EAGER, "Generator Size Tensor autograd.* no_grad device placement dtype nn.Module nn.Parameter "
    .. "deprecated.nn experimental.enable_typing_check experimental.get_interface_blob_value "
    .. "experimental.set_interface_blob_value experimental.eager_assign_121 eager_nccl_all_reduce "
    .. "experimental.get_job_set current_scope scope.current_scope "
    .. "convert_oneflow_dtype_to_numpy_dtype" },
  { BUFFERS, "tensor_buffer* tensor_to_tensor_buffer gen_tensor_buffer sync_dynamic_resize "
    .. "image.batch_align image.target_resize image_batch_align image_target_resize" },
  { FILES, "data.*One* data.one* data.coco_reader data.*egatron*" },
  { "flow.random.uniform and flow.random.normal make random blobs", "data.decode_random" },
  { BOXES, "detection.* object_*" },
  { CPP, "config.load_library* *user_op_builder *user_op_module_builder *custom_op_module "
    .. "register_python_callback "
    .. "python_callback register_class_method_util" },
  { TIME, "acc pack unpack repeat" },
  { GRADIENT, "math.*_grad nn.softmax_grad pad_grad experimental.indexed_slices_reduce_sum" },
  { DTYPES, "bool complex* int16 int128 uint16 uint32 uint64 uint128 record" },
  { CODES, "categorical_ordinal_encode layers.categorical_ordinal_encoder" },
  { BUILD, "sysconfig.*" },
  { MODEL, "Model model.* saved_model.*" },
  { INSIDE, "distribute.assert_is_valid_distribute util.unique_str watcher stateful_op "
    .. "experimental.ssp_variable_proxy random.gen_seed distributed.is_multi_client "
    .. "distributed.get_local_rank empty_initializer" },
  { SUMMARY, "summary.*" },
  { "flow.diagonal gives the diagonal of a matrix", "diag" },
  { "flow.distribute and flow.scope.placement lay blobs on devices of one dimension",
    "hierarchical_parallel_cast env.all_device_placement" },
  { "jfl --ranks, mpirun and Slurm start processes",
    "deprecated.delete_worker* env.init_bootstrap_*" },
  { "flow.profile and jfl --profile say where time goes", "profiler.* config.collect_act_event" },
  { "TensorRT is not built into jfl, whose kernels are its own", "tensorrt.*" },
  { "flow.nn.sparse_softmax_cross_entropy_with_logits takes logits that lie on several devices",
    "nn.distributed_sparse_softmax_cross_entropy_with_logits distributed_partial_fc_sample" },
  { "flow.nn.scaled_dot_product_attention computes attention in one step",
    "nn.fused_self_attention_query_mul_key_and_value" },
  { "memory of a job is planned in one way, which job:plan() shows",
    "config.enable_mem_chain_merge" },
}

--- All names, each as a path such as "nn.relu", in their order.
function catalogue.paths()
  local list, space = {}, ""
  for word in ALL:gmatch("%S+") do
    local head = word:match("^(.*):$")
    if head then space = head == "flow" and "" or head:match("^flow%.(.*)$") .. "."
    else list[#list + 1] = space .. word end
  end
  return list
end

--- Why a name is not here, or nil where no reason is known.
function catalogue.reason(path)
  for _, row in ipairs(ABSENT) do
    for word in row[2]:gmatch("%S+") do
      if path:find(names.pattern(word) .. "$") then return row[1] end
    end
  end
end

-- Names that are there to say why they are not.
local is_refused = { ["config.collect_act_event"] = true, ["config.load_library"] = true,
  ["config.load_library_now"] = true }

--- The names that are here as they are; those that are not, each with the reason.
function catalogue.sorted()
  local here, absent = {}, {}
  for _, path in ipairs(catalogue.paths()) do
    if names.has(path) and not is_refused[path] then here[#here + 1] = path
    else absent[#absent + 1] = { path, catalogue.reason(path) } end
  end
  return here, absent
end

return catalogue
