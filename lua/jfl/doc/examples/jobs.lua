-- Examples of jobs, layers, optimizers, types and settings.
return [==[
## Blob.dtype
local job = flow.global_function { name = "show", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }, flow.int32) } },
  body = function(x)
    print(x.dtype)    --> int32
    return flow.cast(x, flow.float)
  end }
print(job({ 1, 2 }))  --> [1. 2.]

## Blob.name
local job = flow.global_function { name = "show", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local y = flow.nn.relu(x, { name = "positive" })
    print(x.name, y.name)  --> x	positive
    return y
  end }
job({ 1, 2 })

## Blob.shape
local job = flow.global_function { name = "rows", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 10, 2, 2 }) } },
  body = function(x) return flow.reshape(x, { x.shape[1], -1 }) end }
print(job(nd.ones({ 10, 2, 2 })).shape[2])  --> 4

## FunctionConfig.concurrency_width
local config = flow.function_config()
config.concurrency_width(4)  -- up to 4 calls wait in the queue
local job = flow.global_function {
  name = "queued", function_config = config,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  returns = tp.Callback(tp.Numpy),
  body = function(x) return x * x end }
local sum = 0
for i = 1, 4 do job({ i })(function(y) sum = sum + y:item() end) end
flow.sync()
print(sum)  --> 30

## FunctionConfig.default_data_type
local config = flow.function_config()
config.default_data_type(flow.double)
local job = flow.global_function {
  name = "precise", function_config = config, inputs = {},
  returns = tp.Numpy,
  body = function()
    return flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
  end }
print(job().dtype)  --> float64

## FunctionConfig.default_initializer_conf
local config = flow.function_config()
config.default_initializer_conf(flow.constant_initializer(0.5))
local job = flow.global_function {
  name = "halves", function_config = config, inputs = {},
  returns = tp.Numpy,
  body = function() return flow.get_variable("w", { 2 }) end }
print(job())  --> [0.5 0.5]

## FunctionConfig.default_placement_scope
local config = flow.function_config()
config.default_placement_scope(flow.scope.placement("cpu", "0:0"))
local job = flow.global_function {
  name = "on_cpu", function_config = config,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, returns = tp.Numpy,
  body = function(x) return x + 1 end }
print(job({ 1 }))  --> [2.]

## Job.name
local job = flow.global_function { name = "copy", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return x end }
print(job.name, job.type)  --> copy	predict

## Job.type
local job = flow.global_function { name = "copy", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return x end }
print(job.type)  --> predict

## Job:compile
local job = flow.global_function { name = "double", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) } },
  body = function(x) return x * 2 end }
job:compile(8)  -- so that the first call with 8 rows is quick
print(#job(nd.ones({ 8, 2 })))  --> 8

## Job:graph
local job = flow.global_function { name = "double", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x * 2 end }
print(job:graph():match("input [^\n]*"))  --> input x: float32 (2)

## Job:plan
local job = flow.global_function { name = "double", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x * 2 end }
print(job:plan():match("plan of %w+"))  --> plan of double

## Optimizer.lr
local sgd = flow.optimizer.SGD(0.1)
sgd.lr = sgd.lr / 2  -- the same as sgd:set_lr(0.05)
print(sgd.lr, sgd.momentum)  --> 0.05	0.9

## Optimizer:minimize
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) },
    { "y", tp.Numpy.Placeholder({ 4, 1 }) } },
  body = function(x, y)
    local loss = flow.math.squared_difference(flow.layers.dense(x, 1), y)
    -- from now on each call is a step
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
local x, y = nd.ones({ 4, 3 }), nd.ones({ 4, 1 })
local first = train(x, y):mean()
for i = 1, 100 do train(x, y) end
print(train(x, y):mean() < first)  --> true

## Optimizer:set_lr
-- kept outside of the body, to reach it later
local sgd = flow.optimizer.SGD(0.1)
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 1 }) } },
  body = function(x)
    local loss = flow.math.square(flow.layers.dense(x, 1))
    sgd:minimize(loss)
    return loss
  end }
train({ { 1 }, { 2 } })
sgd:set_lr(0.01)
print(sgd.lr)  --> 0.01

## cancel
local job = flow.global_function {
  name = "slow", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 300, 300 }) } },
  body = function(x) return flow.matmul(x, x) end }
local x, done, failed = flow.ndarray.ones({ 300, 300 }), 0, 0
for _ = 1, 4 do
  job(x)(function() done = done + 1 end, function() failed = failed + 1 end)
end
local taken = flow.cancel(job)  -- those that have not begun
flow.sync()
print(taken == failed, done + failed)  --> true	4

## clear_default_session
local function define()
  return flow.global_function {
    name = "one", inputs = {}, returns = tp.Numpy,
    body = function()
      return flow.get_variable("w", { 1 },
        { initializer = flow.ones_initializer() })
    end }
end
print(define()(), next(flow.get_all_variables()))  --> [1.]	w	[1.]
flow.clear_default_session()
print(next(flow.get_all_variables()), define()())  --> nil	[1.]

## config.background
-- a game or an editor that draws while jobs train
flow.config.background(true)
print(flow.config.background())  --> true

## config.check_finite
flow.config.check_finite(true)
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return flow.math.log(x) end }
local ok, message = pcall(job, { 1, 0 })
print(ok, message:match("'log_1' [^;]*"))
--> false	'log_1' must be finite in step 1, got -inf in 1 of 2 elements

## config.device
print(flow.config.device())  --> cpu:0

## config.kernels
-- to check a result against the plain kernels
flow.config.kernels("reference")
print(flow.config.kernels())  --> reference
flow.config.kernels("fast")

## config.max_inflight
flow.config.max_inflight(4)  -- a fifth call without a result yet waits
print(flow.config.max_inflight())  --> 4

## config.max_plans
flow.config.max_plans(16)  -- for a job that sees many batch sizes
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

## config.passes
-- jobs compiled from now on do without them
flow.config.passes("-fuse -cse")
print(flow.config.passes())  --> -cse -fuse
flow.config.passes("")

## config.strict_placement
flow.config.strict_placement(true)  -- no GPU: an error instead of a warning
print(flow.config.strict_placement())  --> true

## config.threads
flow.config.threads(1)
print(flow.config.threads())  --> 1

## constant_initializer
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x)
    return flow.layers.dense(x, 1,
      { kernel_initializer = flow.constant_initializer(0.5) })
  end }
print(job({ { 1, 2 } }))  --> [[1.5]]

## fd
local fd = flow.fd()  -- for poll(2) or an event loop, such as luv's
print(fd >= 0)  --> true

## function_config
local config = flow.function_config()
config.default_data_type(flow.double)
local job = flow.global_function {
  name = "precise", function_config = config,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }, flow.double) } },
  returns = tp.Numpy,
  body = function(x)
    return x * flow.get_variable("w", { 2 },
      { initializer = flow.ones_initializer() })
  end }
print(job({ 1, 2 }).dtype)  --> float64

## get_all_variables
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 3, { name = "fc" }) end }
job({ { 1, 2 } })
local variables = flow.get_all_variables()
print(variables["fc-weight"].shape[1], variables["fc-bias"])
--> 3	[0. 0. 0.]

## get_variable
local job = flow.global_function { name = "affine", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 2 },
      { initializer = flow.constant_initializer(3) })
    return x * w
  end }
print(job({ 1, 2 }))  --> [3. 6.]

## global_function
local scale = flow.global_function {
  name = "scale",
  inputs = { { "x", tp.Numpy.Placeholder({ 3 }) } },
  returns = tp.Numpy,
  body = function(x) return x * 2 end,
}
print(scale({ 1, 2, 3 }))  --> [2. 4. 6.]

## glorot_normal_initializer
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 300 }) } },
  body = function(x)
    return flow.layers.dense(x, 200,
      { name = "fc", kernel_initializer = flow.glorot_normal_initializer() })
  end }
job(nd.ones({ 1, 300 }))
local w = flow.get_all_variables()["fc-weight"]
print(math.abs(w:std() - (2 / 500) ^ 0.5) < 0.005)  --> true

## glorot_uniform_initializer
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 30 }) } },
  body = function(x)
    return flow.layers.dense(x, 20,
      { name = "fc", kernel_initializer = flow.glorot_uniform_initializer() })
  end }
job(nd.ones({ 1, 30 }))
print(flow.get_all_variables()["fc-weight"]:max() <= (6 / 50) ^ 0.5)
--> true

## kaiming_initializer
local shape = { 64, 3, 3, 3 }  -- filters of a convolution
local initializer = flow.kaiming_initializer(shape,
  { nonlinearity = "relu" })
local job = flow.global_function {
  name = "w", inputs = {}, returns = tp.Numpy,
  body = function()
    return flow.get_variable("w", shape, { initializer = initializer })
  end }
print(math.abs(job():std() - (2 / 27) ^ 0.5) < 0.02)  --> true

## layers.conv2d
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "images", tp.Numpy.Placeholder({ 2, 1, 28, 28 }) } },
  body = function(x)
    x = flow.layers.conv2d(x, 8, 3,
      { padding = "SAME", activation = flow.nn.relu, name = "conv" })
    return flow.nn.max_pool2d(x, { ksize = 2, strides = 2 })
  end }
local y = job(nd.zeros({ 2, 1, 28, 28 }))
print(y.shape[2], y.shape[3], y.shape[4])  --> 8	14	14

## layers.dense
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 4, 8 }) } },
  body = function(x)
    x = flow.layers.dense(x, 16,
      { activation = flow.nn.relu, name = "hidden" })
    return flow.layers.dense(x, 3, { name = "output" })
  end }
print(job(nd.ones({ 4, 8 })).shape[2])                     --> 3
print(flow.get_all_variables()["hidden-weight"].shape[1])  --> 16

## layers.embedding
local job = flow.global_function { name = "sentence", returns = tp.Numpy,
  inputs = { { "words", tp.Numpy.Placeholder({ 2, 5 }, flow.int32) } },
  body = function(words)
    local x = flow.layers.embedding(words, 1000, 16, { padding_idx = 0 })
    return flow.math.reduce_sum(x, 1)      -- what is behind a sentence adds 0
  end }
print(job({ { 7, 3, 0, 0, 0 }, { 4, 4, 9, 1, 0 } }).shape[2])  --> 16

## drop_variables
local function define(units)
  return flow.global_function { name = "net", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
    body = function(x) return flow.layers.dense(x, units, { name = "fc" }) end }
end
print(define(3)({ { 1, 1 } }).shape[2])  --> 3
print(flow.drop_variables("fc"))         --> 2
print(define(4)({ { 1, 1 } }).shape[2])  --> 4

## load_variables
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 1, { name = "fc" }) end }
job({ { 1, 1 } })
flow.load_variables({ ["fc-weight"] = { { 2, 3 } }, ["fc-bias"] = { 10 } })
print(job({ { 1, 1 } }))  --> [[15.]]

## ones_initializer
local job = flow.global_function {
  name = "gain", inputs = {}, returns = tp.Numpy,
  body = function()
    return flow.get_variable("g", { 2 },
      { initializer = flow.ones_initializer() })
  end }
print(job())  --> [1. 1.]

## optimizer.Adam
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = flow.math.square(w - x)
    flow.optimizer.Adam(0.1, { beta1 = 0.8 }):minimize(loss)
    return loss
  end }
for i = 1, 200 do train({ 3 }) end
print(math.abs(flow.get_all_variables().w[1] - 3) < 0.01)  --> true

## optimizer.PiecewiseConstantScheduler
local rate = flow.optimizer.PiecewiseConstantScheduler({ 1000, 5000 },
  { 0.1, 0.01, 0.001 })
-- 0.1 up to step 1000, then 0.01
print(flow.optimizer.SGD(rate).lr)  --> 0.1

## optimizer.SGD
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = flow.math.square(w - x)
    flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
    return loss
  end }
for i = 1, 50 do train({ 3 }) end
print(math.abs(flow.get_all_variables().w[1] - 3) < 0.01)  --> true

## optimizer.grad_clipping.by_global_norm
local clip = flow.optimizer.grad_clipping.by_global_norm(1)
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer() })
    local loss = w * x
    flow.optimizer.SGD(0.5, { momentum = 0, grad_clipping = clip })
      :minimize(loss)
    return loss
  end }
train({ 1000 })  -- a gradient of 1000 becomes one of 1
print(flow.get_all_variables().w)  --> [0.5]

## optimizer.warmup.constant
local warmup = flow.optimizer.warmup.constant(100, 0.1)
local rate = flow.optimizer.PiecewiseConstantScheduler({}, { 0.5 },
  { warmup = warmup })
-- a tenth of 0.5 in the first 100 steps
print(flow.optimizer.SGD(rate).lr)  --> 0.05

## optimizer.warmup.linear
local warmup = flow.optimizer.warmup.linear(100, 0.1)
local rate = flow.optimizer.PiecewiseConstantScheduler({ 1000 },
  { 0.5, 0.05 }, { warmup = warmup })
-- rises to 0.5 in 100 steps
print(flow.optimizer.SGD(rate).lr)  --> 0.05

## poll
local job = flow.global_function {
  name = "square", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return x * x end }
job({ 3 })(function(y) print(y) end)  --> [9.]
while flow.poll() == 0 do end  -- a game would draw a frame in between
print("done")                         --> done

## random_normal_initializer
local job = flow.global_function {
  name = "w", inputs = {}, returns = tp.Numpy,
  body = function()
    local normal = flow.random_normal_initializer(0, 0.02)
    return flow.get_variable("w", { 10000 }, { initializer = normal })
  end }
print(math.abs(job():std() - 0.02) < 0.002)  --> true

## random_uniform_initializer
local job = flow.global_function {
  name = "w", inputs = {}, returns = tp.Numpy,
  body = function()
    local uniform = flow.random_uniform_initializer(-0.1, 0.1)
    return flow.get_variable("w", { 100 }, { initializer = uniform })
  end }
print(job():min() >= -0.1, job():max() < 0.1)  --> true	true

## regularizers.l1
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer(),
        regularizer = flow.regularizers.l1(0.25) })
    local loss = w * x
    flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
    return loss
  end }
-- Here only the regularizer pulls at w.
train({ 0 })
print(flow.get_all_variables().w)  --> [0.75]

## regularizers.l1_l2
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer(),
        regularizer = flow.regularizers.l1_l2(0.25, 0.5) })
    local loss = w * x
    flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
    return loss
  end }
-- Here only the regularizer pulls at w.
train({ 0 })
print(flow.get_all_variables().w)  --> [0.25]

## regularizers.l2
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 1 },
      { initializer = flow.ones_initializer(),
        regularizer = flow.regularizers.l2(0.5) })
    local loss = w * x
    flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
    return loss
  end }
-- Here only the regularizer pulls at w.
train({ 0 })
print(flow.get_all_variables().w)  --> [0.5]

## scope.namespace
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x)
    return flow.scope.namespace("head", function()
      return flow.layers.dense(x, 1, { name = "out" })
    end)
  end }
job({ { 1, 2 } })
print(flow.get_all_variables()["head-out-bias"])  --> [0.]

## scope.placement
local job = flow.global_function { name = "placed", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return flow.scope.placement("cpu", "0:0", function()
      return flow.nn.relu(x)
    end)
  end }
print(job({ -1, 1 }))  --> [0. 1.]

## sync
local job = flow.global_function {
  name = "square", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return x * x end }
job({ 3 })(function(y) print(y) end)  --> [9.]
flow.sync()  -- callbacks run before it returns
print("done")                         --> done

## truncated_normal
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x)
    return flow.layers.dense(x, 3,
      { kernel_initializer = flow.truncated_normal(0.1), name = "fc" })
  end }
job({ { 1, 2 } })
local w = flow.get_all_variables()["fc-weight"]
print(w:max() < 0.2, w:min() > -0.2)  --> true	true

## truncated_normal_initializer
print(flow.truncated_normal_initializer(0, 0.02))
--> truncated_normal_initializer(0, 0.02)

## typing.Bundle
local job = flow.global_function {
  name = "nested", returns = tp.Bundle(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return { x, more = { x + 1 } } end }
local result = job({ 1 })
print(result[1], result.more[1])  --> [1.]	[2.]

## typing.Callback
local job = flow.global_function {
  name = "later", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return x + 1 end }
local function failed(message) print("failed", message) end
job({ 1 })(function(y) print("result", y) end, failed)
print("called")  --> called
flow.sync()      --> result	[2.]

## typing.Dict
local job = flow.global_function {
  name = "named", returns = tp.Dict(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return { sum = flow.math.reduce_sum(x), max = flow.math.reduce_max(x) }
  end }
local result = job({ 1, 2 })
print(result.sum, result.max)  --> [3.]	[2.]

## typing.List
local job = flow.global_function {
  name = "powers", returns = tp.List(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return { x, x * x, x * x * x } end }
print(unpack(job({ 2 })))  --> [2.]	[4.]	[8.]

## typing.ListListNumpy
local job = flow.global_function {
  name = "lists", returns = tp.ListListNumpy,
  inputs = { { "x", tp.ListListNumpy.Placeholder({ 2 }) } },
  body = function(x) return x + 1 end }
print(job({ { nd.array({ 1, 2 }) } })[1][1])  --> [2. 3.]

## typing.ListListNumpy.Placeholder
local job = flow.global_function {
  name = "lists", returns = tp.ListListNumpy,
  inputs = { { "x", tp.ListListNumpy.Placeholder({ 2 }) } },
  body = function(x) return -x end }
print(job({ { nd.array({ 1, 2 }) } })[1][1])  --> [-1. -2.]

## typing.ListNumpy
local job = flow.global_function { name = "each", returns = tp.ListNumpy,
  inputs = { { "x", tp.ListNumpy.Placeholder({ 2 }) } },
  body = function(x) return x + 1 end }
local results = job({ nd.array({ 1, 2 }) })  -- one for each device
print(#results, results[1])  --> 1	[2. 3.]

## typing.ListNumpy.Placeholder
local job = flow.global_function { name = "each", returns = tp.ListNumpy,
  inputs = { { "x", tp.ListNumpy.Placeholder({ 2 }) } },
  body = function(x) return -x end }
print(job({ nd.array({ 1, 2 }) })[1])  --> [-1. -2.]

## typing.Numpy
local job = flow.global_function { name = "one", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x + 1 end }
print(job({ 1, 2 }))  --> [2. 3.]

## typing.Numpy.Placeholder
local job = flow.global_function { name = "any_batch", returns = tp.Numpy,
  -- any number of rows
  inputs = { { "images", tp.Numpy.Placeholder({ -1, 2 }) },
    { "ids", tp.Numpy.Placeholder({ 3 }, { dtype = flow.int32 }) } },
  body = function(images, ids) return flow.gather(images, ids) end }
print(job({ { 1, 2 }, { 3, 4 } }, { 1, 0, 1 }))  --> [[3. 4.]
                                                 -->  [1. 2.]
                                                 -->  [3. 4.]]

## typing.Tuple
local job = flow.global_function {
  name = "both", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return flow.math.reduce_sum(x), x * 2 end }
local sum, doubled = job({ 1, 2 })
print(sum, doubled)  --> [3.]	[2. 4.]

## variance_scaling_initializer
-- suits layers with relu
local he = flow.variance_scaling_initializer(2, "fan_in")
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 50 }) } },
  body = function(x)
    return flow.layers.dense(x, 400,
      { kernel_initializer = he, name = "fc" })
  end }
job(nd.ones({ 1, 50 }))
local w = flow.get_all_variables()["fc-weight"]
print(math.abs(w:std() - (2 / 50) ^ 0.5) < 0.01)  --> true

## watch
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local y = flow.nn.relu(x)
    flow.watch(y, function(value) print("after relu", value) end)
--> after relu	[0. 1.]
    return y * 10
  end }
job({ -1, 1 })
flow.sync()

## watch_diff
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 2 },
      { initializer = flow.ones_initializer() })
    flow.watch_diff(w, function(gradient) print("gradient", gradient) end)
--> gradient	[1. 5.]
    local loss = w * x
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
train({ 1, 5 })
flow.sync()

## zeros_initializer
local job = flow.global_function {
  name = "counter", inputs = {}, returns = tp.Numpy,
  body = function()
    return flow.get_variable("n", { 1 },
      { initializer = flow.zeros_initializer() })
  end }
print(job())  --> [0.]
]==]
