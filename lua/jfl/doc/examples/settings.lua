-- Examples of settings of sessions and jobs, scopes.
return [==[
## env.ctrl_port, env.host
flow.env.ctrl_port(9988)  -- where the first of several machines waits
print(flow.env.ctrl_port(), flow.env.host() == flow.env.host(0))  --> 9988	true

## env.machine
flow.env.machine("192.168.1.12")  -- one machine: as if nothing was said
-- flow.env.machine("192.168.1.12", "192.168.1.11") in a script that
-- is started on both makes them ranks 0 and 1
print(flow.env.size())  --> 1

## env.rank, env.size
print(flow.env.rank(), flow.env.size())  --> 0	1
-- jfl --ranks 4 script.lua: 0, 1, 2 and 3 of 4
if flow.env.rank() == 0 then print("one of them writes this") end  --> one of them writes this

## FunctionConfig.micro_batches, FunctionConfig.optimizer_placement_optimization_mode,
## FunctionConfig.optimizer_placement_optimization_threshold
local config = flow.function_config()
config.micro_batches(4)  -- of 8 rows 2 at a time
config.optimizer_placement_optimization_mode("distributed_split")
config.optimizer_placement_optimization_threshold(1)  -- even the smallest
local job = flow.global_function { name = "parts", type = "train",
  function_config = config, returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 8, 2 }) } },
  body = function(x)
    local loss = flow.math.reduce_mean(flow.layers.dense(x, 3))
    flow.optimizer.Adam(0.1):minimize(loss)
    return loss
  end }
print(#job(nd.ones({ 8, 2 })).shape)  --> 1

## FunctionConfig.enable_auto_mixed_precision, config.enable_auto_mixed_precision
local config = flow.function_config()
config.enable_auto_mixed_precision(true)
local job = flow.global_function { name = "mixed", function_config = config,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 2 }) } }, returns = tp.Numpy,
  body = function(x) return flow.matmul(x, x) end }
print(job({ { 1, 2 }, { 3, 4 } }))  -- too small to gain: it stays in float32
--> [[ 7. 10.]
--> [15. 22.]]
-- of all jobs that are defined from now on; float16 with a loss scale, as gradients may overflow
flow.config.enable_auto_mixed_precision("float16")
flow.config.enable_auto_mixed_precision(false)

## config.when_new, config.when_full
flow.config.when_new("queue")
flow.config.when_full("busy")
local job = flow.global_function { name = "job", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) } },
  body = function(x) return x + 1 end }
local call = job({ { 1, 2 } })
if not call.busy then call(function(y) print(y) end) end
flow.sync()  --> [[2. 3.]]

## config.cpu_device_num
flow.config.cpu_device_num(2)
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 2 }) } },
  body = function(x) return flow.math.exp(x) end }
job({ { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } })  -- each device computes two of the rows
print(flow.config.device())  --> cpu 0:0-1

## config.check_finite
flow.config.check_finite(true)
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return flow.math.log(x) end }
local ok, message = pcall(job, { 1, 0 })
print(ok, message:match("'log_1' [^;]*"))
--> false	'log_1' must be finite in step 1, got -inf in 1 of 2 elements

## config.device, config.kernels, config.passes
print(flow.config.device())       --> cpu:0
flow.config.kernels("reference")  -- to check a result
print(flow.config.kernels())      --> reference
flow.config.kernels("fast")
flow.config.passes("-fuse -cse")  -- jobs compiled from now on lack them
print(flow.config.passes())       --> -cse -fuse
flow.config.passes("")

## config.max_inflight, config.max_plans, config.threads, config.callback_seconds, config.background
flow.config.max_inflight(4)          -- a fifth call without a result yet waits
flow.config.max_plans(16)            -- for a job that sees many batch sizes or lengths
flow.config.threads(1)
flow.config.callback_seconds(0.002)  -- of each entry in a game's frame
flow.config.background(true)         -- a game or an editor that draws while jobs train
print(flow.config.max_plans())  --> 16

## config.memory_limit
flow.config.memory_limit(2 ^ 20)
local job = flow.global_function { name = "huge", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1000, 1000 }) } },
  body = function(x) return flow.matmul(flow.matmul(x, x), x) end }
local ok, message = pcall(function() job:compile() end)
print(ok, message:match("memory_limit is .*"))
--> false	memory_limit is 1048576

## config.on_warning
flow.config.on_warning(function(text) print("warning: " .. text) end)
print(type(flow.config.on_warning()))  --> function
flow.config.on_warning(false)  -- to stderr again

## config.enable_tensor_float_32_compute, config.strict_placement, config.gpu_device_num
flow.config.enable_tensor_float_32_compute(false)  -- products on a GPU as exact as on the CPU
flow.config.strict_placement(true)                 -- no GPU: an error instead of a warning
flow.config.gpu_device_num(1)                      -- 2: the work of jobs is split over two
print(flow.config.gpu_device_num())  --> 1

## function_config, FunctionConfig.default_data_type, FunctionConfig.default_initializer_conf,
## FunctionConfig.default_placement_scope
local config = flow.function_config()
config.default_data_type(flow.double)
config.default_initializer_conf(flow.constant_initializer(0.5))
config.default_placement_scope(flow.scope.placement("cpu", "0:0"))
local job = flow.global_function { name = "halves", function_config = config,
  inputs = {}, returns = tp.Numpy,
  body = function() return flow.get_variable("w", { 2 }) end }
print(job(), job().dtype)  --> [0.5 0.5]	float64

## scope.namespace, scope.placement, scope.recompute
local job = flow.global_function { name = "deep", type = "train",
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 8 }) } }, returns = tp.Numpy,
  body = function(x)
    for i = 1, 3 do
      x = flow.scope.recompute(function()
        return flow.layers.dense(flow.nn.gelu(x), 8)
      end)
    end
    x = flow.scope.placement("cpu", "0:0", function() return flow.nn.relu(x) end)
    x = flow.scope.namespace("head", function()
      return flow.layers.dense(x, 1, { name = "out" })
    end)
    flow.optimizer.SGD(0.1):minimize(x)
    return x
  end }
job(nd.ones({ 4, 8 }))
print(flow.get_all_variables()["head-out-bias"].shape)  --> (1)

]==]
