local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("options of the original", function()
  it("that are not there say why", function()
    local config = flow.function_config()
    for name, why in pairs {
      use_xla_jit = "XLA is not built into jfl", use_tensorrt = "TensorRT is not built into jfl",
      enable_qat = "quantization-aware training is not built into jfl",
      enable_quantization_aware_training = "quantization-aware training is not built into jfl",
      enable_non_distributed_optimizer = "spreading optimizer state over devices (ZeRO)",
      enable_ssp = "pipelines over several devices (SSP)",
    } do
      helper.fails(function() config[name](true) end, name .. ": " .. why)
      helper.fails(function() config[name]() end, name .. ": " .. why)
      config[name](false)
    end
    helper.fails(function() config.indexed_slices_optimizer_conf { enable = true } end,
      "indexed_slices_optimizer_conf: updates of single rows are not built into jfl")
    helper.fails(function() config.optimizer_placement_optimization_mode("all") end,
      "must be \"distributed_split\" or \"non_distributed\", got string 'all'")
    helper.fails(function() config.qat.symmetric(true) end,
      "function_config.qat: quantization-aware training is not built into jfl")
    helper.fails(function() config.tensorrt.use_fp16() end, "TensorRT is not built into jfl")
    helper.fails(function() config.train.weight_l2(0.1) end, "flow.regularizers.l2(0.01) says it")
  end)

  it("that are hints leave results as they are, and are checked", function()
    local config = flow.function_config()
    config.enable_inplace(false)
    config:enable_fuse_model_update_ops()
    config.cudnn_buf_limit_mbyte(1024)
    config.all_reduce_lazy_ratio(0.5)
    helper.fails(function() config.enable_inplace(1) end,
      "enable_inplace: value must be a boolean, got number 1")
    helper.fails(function() config.cudnn_buf_limit_mbyte(0.5) end, "must be a whole number")
    helper.fails(function() config.concurrency_width(0) end,
      "concurrency_width: value must be a whole number of at least 1, got number 0")
    helper.fails(function() config.train.primary_lr(0 / 0) end,
      "train.primary_lr: value must be a number of at least 0, got number nan")
    helper.fails(function() config.train.primary_lr(math.huge) end, "must be a number of at")
    helper.fails(function() config.train.loss_scale_factor(0) end, "must be a number above 0")
    helper.fails(function() config.default_data_type() end, "got nil")
  end)

  it("name initializers, and check them", function()
    local config = flow.function_config()
    config.default_initializer_conf(flow.truncated_normal(0.1))
    config.default_initializer_conf { truncated_normal_conf = { mean = 1, std = 0.5 } }
    helper.fails(function() config.default_initializer_conf(3) end,
      "default_initializer_conf must be an initializer such as flow.truncated_normal(0.1), or "
        .. "one of constant_conf, ")
    helper.fails(function() config.default_initializer_conf { xavier_conf = {} } end,
      "got xavier_conf")
    helper.fails(function() config.default_initializer_conf { constant_conf = { valu = 1 } } end,
      "default_initializer_conf: constant_conf: unknown field 'valu'")
  end)
end)
