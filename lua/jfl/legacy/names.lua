-- The names of the original that are there for its scripts alone: what each loads, a module or
-- "module:field"; with a star, a table that has the names of that space. Those that are another
-- name here are in aliases.lua. Help and completion leave them out.
return {
  ["flow.experimental.scope"] = "jfl.legacy.session:experimental_scope",
  ["flow.losses"] = "jfl.legacy.losses:api",
  ["flow.env.*"] = "jfl.legacy.env",
  ["flow.enable_eager_execution"] = "jfl.legacy.session:enable_eager_execution",
  ["flow.eager_execution_enabled"] = "jfl.legacy.session:eager_execution_enabled",
  ["flow.inter_job_reuse_mem_strategy"] = "jfl.legacy.session:inter_job_reuse_mem_strategy",
  ["flow.current_global_function_desc"] = "jfl.legacy.session:current_global_function_desc",
  ["flow.find_or_create_module"] = "jfl.legacy.session:find_or_create_module",
  ["flow.zero_pad2d"] = "jfl.legacy.functions:zero_pad2d",
  ["flow.save"] = "jfl.legacy.functions:save",
  ["flow.nn.ctc_greedy_decoder"] = "jfl.legacy.functions:ctc_greedy_decoder",
  ["flow.nn.fused_bias_add_dropout"] = "jfl.legacy.functions:fused_bias_add_dropout",
  ["flow.nn.fused_scale_tril_softmax_dropout"] =
    "jfl.legacy.functions:fused_scale_tril_softmax_dropout",
  ["flow.math.fused_scale_tril_softmax_dropout"] =
    "jfl.legacy.functions:fused_scale_tril_softmax_dropout",
  ["NdArray.*"] = "jfl.legacy.array",
  ["flow.config.*"] = "jfl.legacy.settings",
  ["function_config.*"] = "jfl.legacy.options",
}
