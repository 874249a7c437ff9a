-- Examples of variables, layers, initializers, regularizers.
return [==[
## constant_initializer
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x)
    return flow.layers.dense(x, 1,
      { kernel_initializer = flow.constant_initializer(0.5) })
  end }
print(job({ { 1, 2 } }))  --> [[1.5]]

## get_all_variables
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 3, { name = "fc" }) end }
job({ { 1, 2 } })
local variables = flow.get_all_variables()
print(variables["fc-weight"].shape[1], variables["fc-bias"])
--> 3	[0. 0. 0.]
flow.get_all_variables({ async = true })(function(all)
  print(#all["fc-bias"])  --> 3
end)
flow.sync()

## get_variable
local job = flow.global_function { name = "affine", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 2 },
      { initializer = flow.constant_initializer(3) })
    return x * w
  end }
print(job({ 1, 2 }))  --> [3. 6.]

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

## orthogonal_initializer
local job = flow.global_function { name = "w", returns = tp.Numpy,
  body = function()
    return flow.get_variable("w", { 2, 2 },
      { initializer = flow.orthogonal_initializer() })
  end }
local w = job()  -- a rotation, or a reflection
print(math.abs(w:get(1, 1) ^ 2 + w:get(1, 2) ^ 2 - 1) < 1e-6)  --> true

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

## variable_info
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x)
    return flow.layers.dense(x, 3, { name = "fc",
      kernel_initializer = flow.zeros_initializer() })
  end }
job({ { 1, 2 } })
local info = flow.variable_info("fc-weight")
print(info.dtype, info.shape[1], info.distribute)  --> float32	3	broadcast

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

## zeros_initializer
local job = flow.global_function {
  name = "counter", inputs = {}, returns = tp.Numpy,
  body = function()
    return flow.get_variable("n", { 1 },
      { initializer = flow.zeros_initializer() })
  end }
print(job())  --> [0.]

]==]
