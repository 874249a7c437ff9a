-- The options of flow.function_config(): a check for each, which gives the value to keep.
local args = require "jfl.base.args"
local core = require "jfl.core"
local initializers = require "jfl.net.initializers"

local options = {}

function options.default_placement_scope(value)
  return args.scope("default_placement_scope", value, "placement", "flow.scope.placement(...)")
end

function options.default_logical_view(value)
  return args.scope("default_logical_view", value, "view",
    "flow.scope.consistent_view() or mirrored_view()")
end

function options.default_data_type(dtype) return args.dtype("default_data_type", "value", dtype) end

function options.default_initializer_conf(value)
  if initializers.is(value) then return value end
  core.fail("default_initializer_conf: value must be an initializer such as "
    .. "flow.truncated_normal(0.1), got %s", args.describe(value))
end

--- Checks a setting of mixed precision; `who` is named in errors.
function options.mixed(who, value)
  if type(value) == "boolean" or value == "bfloat16" or value == "float16" then return value end
  core.fail("%s: value must be true, false, 'bfloat16' (as true) or 'float16', got %s", who,
    args.describe(value))
end

function options.enable_auto_mixed_precision(value)
  return options.mixed("enable_auto_mixed_precision", value)
end

function options.micro_batches(n) return args.integer("micro_batches", "value", n, 1) end

function options.optimizer_placement_optimization_mode(value)
  if value == nil then return nil end
  return args.one_of("optimizer_placement_optimization_mode", "value", value,
    { "distributed_split", "non_distributed" })
end

function options.optimizer_placement_optimization_threshold(n)
  return args.integer("optimizer_placement_optimization_threshold", "value", n, 0)
end

function options.concurrency_width(n) return args.integer("concurrency_width", "value", n, 1) end

return options
