-- The names of the original that have another spelling here or do nothing: what each loads, a
-- module or "module:field"; with a star, a table that has the names of that space. Scripts may use
-- them; help and completion leave them out.
--[==[ guide 16: Scripts of the original
Scripts that were written for OneFlow and carried over to Lua run as they are: the names, settings,
options and arguments that mean nothing here are taken and checked, and those that ask for what is
not there are errors that say why. `flow.help()`, completion and the reference leave them out, a new
script needs none, and [one page](more-names-of-the-original.md) lists them. Of one by its name
`flow.help` says what it is here:

```lua
flow.help("use_rdma")                --> flow.config.use_rdma has no effect
```

A job that declares no `returns` gives a future at each call: `future:get()` waits for the value,
`future:async_get(callback)` registers a callback.

A configuration may come before the table that defines a job, and may say how the job trains:

```lua
local config = flow.function_config()
config.default_data_type(flow.float)
config.train.primary_lr(0.5)
config.train.model_update_conf { naive_conf = {} }

local train = flow.global_function(config, {
  name = "train",
  inputs = { { "x", flow.FixedTensorDef({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
    flow.losses.add_loss(x * w)
    return w
  end,
})
print(train({ 1, 1 }):get())                     --> [1. 1.]
train({ 1, 1 }):async_get(function(value) print(value) end)
flow.sync()                                      --> [0.75 0.75]
```
]==]
return {
  ["flow.FixedTensorDef"] = "jfl.job.typing:Numpy.Placeholder",
  ["flow.MirroredTensorDef"] = "jfl.job.typing:ListNumpy.Placeholder",
  ["flow.MirroredTensorListDef"] = "jfl.job.typing:ListListNumpy.Placeholder",
  ["flow.FunctionConfig"] = "jfl.job.config:function_config",
  ["flow.fixed_placement"] = "jfl.net.scope:placement",
  ["flow.device_prior_placement"] = "jfl.net.scope:placement",
  ["flow.variable_scope"] = "jfl.net.scope:namespace",
  ["flow.distribute.consistent_strategy"] = "jfl.net.views:consistent_view",
  ["flow.distribute.consistent_strategy_enabled"] = "jfl.net.views:consistent_view_enabled",
  ["flow.distribute.mirrored_strategy"] = "jfl.net.views:mirrored_view",
  ["flow.distribute.mirrored_strategy_enabled"] = "jfl.net.views:mirrored_view_enabled",
  ["flow.scope.name_scope"] = "jfl.net.scope:namespace",
  ["flow.experimental.scope"] = "jfl.legacy.session:experimental_scope",
  ["flow.name_scope"] = "jfl.net.scope:namespace",
  ["flow.dynamic_reshape"] = "jfl.op.call:op.reshape",
  ["flow.math.tanh_v2"] = "jfl.op.call:op.tanh",
  ["flow.math.sigmoid_v2"] = "jfl.op.call:op.sigmoid",
  ["flow.sync_default_session"] = "jfl.job.queue:sync",
  ["flow.optimizer.PolynomialSchduler"] = "jfl.optim.optimizers:PolynomialScheduler",
  ["flow.losses"] = "jfl.legacy.losses:api",
  ["flow.env.*"] = "jfl.legacy.env",
  ["flow.enable_eager_execution"] = "jfl.legacy.session:enable_eager_execution",
  ["flow.eager_execution_enabled"] = "jfl.legacy.session:eager_execution_enabled",
  ["flow.inter_job_reuse_mem_strategy"] = "jfl.legacy.session:inter_job_reuse_mem_strategy",
  ["flow.current_global_function_desc"] = "jfl.legacy.session:current_global_function_desc",
  ["flow.find_or_create_module"] = "jfl.legacy.session:find_or_create_module",
  ["NdArray.*"] = "jfl.legacy.array",
  ["flow.config.*"] = "jfl.legacy.settings",
  ["function_config.*"] = "jfl.legacy.options",
}
