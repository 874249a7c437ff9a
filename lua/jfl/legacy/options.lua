-- Options of the original that flow.function_config() takes besides its own, and why some are not
-- there: a check for each, which gives the value to keep, or a table of checks for a group.
local args = require "jfl.base.args"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"
local job_options = require "jfl.job.options"
local update_conf = require "jfl.legacy.update_conf"

local options = {}

-- Without a value it is turned on.
local function flag(name)
  return function(on)
    if on == nil then return true end
    return args.expect(name, "value", on, "boolean")
  end
end

local function whole(name, least)
  return function(n) return args.integer(name, "value", n, least) end
end

-- A finite number above `bound`, or at it too.
local function number(name, bound, inclusive)
  return function(x)
    args.expect(name, "value", x, "number")
    if x < math.huge and (x > bound or (inclusive and x == bound)) then return x end
    core.fail("%s: value must be a number %s %g, got %s", name,
      inclusive and "of at least" or "above", bound, args.describe(x))
  end
end

-- An option that asks for what is not there: only its default may be given.
local function absent(name, default, reason)
  return function(value)
    if value == default and value ~= nil then return value end
    core.fail("%s: %s", name, reason)
  end
end

-- The original's forms of an initializer, as the function that gives ours and its fields.
local INITIALIZERS = {
  constant_conf = { "constant_initializer", value = "value" },
  constant_int_conf = { "constant_initializer", value = "value" },
  random_uniform_conf = { "random_uniform_initializer", min = "minval", max = "maxval" },
  random_uniform_int_conf = { "random_uniform_initializer", min = "minval", max = "maxval" },
  random_normal_conf = { "random_normal_initializer", mean = "mean", std = "stddev" },
  truncated_normal_conf = { "truncated_normal_initializer", mean = "mean", std = "stddev" },
}

function options.default_initializer_conf(conf)
  local who = "default_initializer_conf"
  if initializers.is(conf) then return conf end
  local kind, values = next(type(conf) == "table" and conf or {})
  local form = INITIALIZERS[kind]
  if not form or next(conf, kind) ~= nil then
    core.fail("%s must be an initializer such as flow.truncated_normal(0.1), or one of %s with "
      .. "its table, got %s", who, args.names_of(INITIALIZERS),
      kind == nil and args.describe(conf) or tostring(kind))
  end
  local given = {}
  for field, value in pairs(args.expect(who, kind, values, "table")) do
    args.check(type(field) == "string" and form[field], "%s: %s: unknown field '%s'", who, kind,
      tostring(field))
    given[form[field]] = value
  end
  return initializers[form[1]](given)
end

function options.default_distribute_strategy(value)
  return args.scope("default_distribute_strategy", value, "view",
    "flow.scope.consistent_view() or mirrored_view()")
end

-- Hints to the original's compiler. They change no result, so they are accepted and ignored.
for _, name in ipairs {
  "allow_cpu_return_op", "cudnn_conv_enable_pseudo_half", "cudnn_conv_enable_true_half",
  "cudnn_conv_heuristic_search_algo", "cudnn_conv_use_deterministic_algo_only",
  "do_parallel_cast_before_widening_type_cast", "enable_cudnn",
  "enable_cudnn_conv_pseudo_half", "enable_cudnn_fused_normalization_add_relu",
  "enable_float_compute_for_half_gemm", "enable_fuse_add_to_output", "enable_fuse_cast_scale",
  "enable_fuse_model_update_ops", "enable_gradients_stats_aggregation", "enable_inplace",
  "enable_keep_header_only", "enable_reused_mem", "enable_true_half_config_when_conv",
  "prune_cast_to_static_shape_ops", "prune_parallel_cast_ops",
  "use_memory_allocation_algorithm_v2",
} do
  options[name] = flag(name)
end

for _, name in ipairs {
  "cudnn_buf_limit_mbyte", "cudnn_conv_force_bwd_data_algo", "cudnn_conv_force_bwd_filter_algo",
  "cudnn_conv_force_fwd_algo",
} do
  options[name] = whole(name, 0)
end

-- They concern exchanges between devices and do nothing in the original either.
for _, name in ipairs {
  "all_reduce_fp16", "all_reduce_group_min_mbyte", "all_reduce_group_num",
  "all_reduce_group_size_warmup", "all_reduce_lazy_ratio", "disable_all_reduce_sequence",
  "enable_all_reduce_group", "enable_inplace_in_reduce_struct", "enable_nccl",
  "non_distributed_optimizer_group_size_mbyte", "use_boxing_v2",
  "use_nccl_inter_node_communication",
} do
  options[name] = function(value)
    if value == nil then return true end
    return args.expect(name, "value", value, "boolean or number")
  end
end

local QAT = "quantization-aware training is not built into jfl"
local ZERO = "spreading optimizer state over devices (ZeRO) is asked for by "
  .. "optimizer_placement_optimization_mode(\"distributed_split\")"
local SSP = "pipelines over several devices (SSP) are not cut by jfl itself; "
  .. "flow.scope.placement puts layers on devices, and micro_batches(n) lets those work at once"
local TENSORRT = "TensorRT is not built into jfl, whose kernels are its own"

for name, reason in pairs {
  enable_qat = QAT, enable_quantization_aware_training = QAT,
  enable_non_distributed_optimizer = ZERO, enable_ssp = SSP, use_tensorrt = TENSORRT,
  use_xla_jit = "XLA is not built into jfl, whose own passes fuse and plan jobs",
} do
  options[name] = absent(name, false, reason)
end

local ROWS = "updates of single rows are not built into jfl; optimizers change all of a variable"
for name, reason in pairs {
  exp_run_conf = "experimental runs are not built into jfl",
  indexed_slices_optimizer_conf = ROWS,
  ssp_partition_scope_ids = SSP, ssp_partition_strategy = SSP,
} do
  options[name] = absent(name, nil, reason)
end

-- Groups of options that are not there.
local MEMORY = "jfl plans the memory of a job in one way, which job:plan() shows"
for name, reason in pairs {
  qat = QAT, tensorrt = TENSORRT, static_mem_alloc_policy_white_list = MEMORY,
  static_mem_alloc_algo_white_list = MEMORY,
} do
  options[name] = setmetatable({}, { __index = function()
    core.fail("function_config.%s: %s", name, reason)
  end })
end

-- How added losses are minimized.
local train = {}
options.train = train

train.primary_lr = number("train.primary_lr", 0, true)
train.secondary_lr = number("train.secondary_lr", 0, true)
-- Gradients are multiplied by it and divided again, which matters to half precision alone.
train.loss_scale_factor = number("train.loss_scale_factor", 0)
train.model_update_conf = update_conf.read
train.weight_l2 = absent("train.weight_l2", 0, "it is not said for all variables at once: "
  .. "flow.regularizers.l2(0.01) says it of a layer, and weight_decay_conf decays weights")
train.enable_non_distributed_optimizer = options.enable_non_distributed_optimizer
for _, name in ipairs { "optimizer_placement_optimization_mode",
  "optimizer_placement_optimization_threshold" } do
  train[name] = job_options[name]
end

return options
