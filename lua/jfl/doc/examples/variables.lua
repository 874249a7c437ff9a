-- Examples of variables, layers, initializers, regularizers.
return [==[
## constant_initializer, ones_initializer, zeros_initializer
local job = flow.global_function { name = "three", returns = tp.List(tp.Numpy), inputs = {},
  body = function()
    return { flow.get_variable("a", { 2 }, { initializer = flow.constant_initializer(0.5) }),
      flow.get_variable("b", { 2 }, { initializer = flow.ones_initializer() }),
      flow.get_variable("c", { 2 }, { initializer = flow.zeros_initializer() }) }
  end }
print(unpack(job()))  --> [0.5 0.5]	[1. 1.]	[0. 0.]

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

## glorot_normal_initializer, glorot_uniform_initializer, variance_scaling_initializer
local kinds = { normal = flow.glorot_normal_initializer(),
  uniform = flow.glorot_uniform_initializer(),
  he = flow.variance_scaling_initializer(2, "fan_in") }  -- suits layers with relu
local net = flow.model("net", function(x)
  for name, kind in pairs(kinds) do
    flow.layers.dense(x, 200, { name = name, kernel_initializer = kind })
  end
  return x
end)
net:predict { inputs = { flow.float32 { 1, 300 } } }(nd.ones({ 1, 300 }))
local all = flow.get_all_variables()
print(math.abs(all["net-normal-weight"]:std() - (2 / 500) ^ 0.5) < 0.005)  --> true
print(all["net-uniform-weight"]:max() <= (6 / 500) ^ 0.5)                  --> true
print(math.abs(all["net-he-weight"]:std() - (2 / 300) ^ 0.5) < 0.005)      --> true

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

## orthogonal_initializer
local job = flow.global_function { name = "w", returns = tp.Numpy,
  body = function()
    return flow.get_variable("w", { 2, 2 },
      { initializer = flow.orthogonal_initializer() })
  end }
local w = job()  -- a rotation, or a reflection
print(math.abs(w:get(1, 1) ^ 2 + w:get(1, 2) ^ 2 - 1) < 1e-6)  --> true

## random_normal_initializer, random_uniform_initializer
local job = flow.global_function { name = "drawn", inputs = {},
  returns = tp.Tuple(tp.Numpy, tp.Numpy),
  body = function()
    local normal = flow.random_normal_initializer(0, 0.02)
    local uniform = flow.random_uniform_initializer(-0.1, 0.1)
    return flow.get_variable("a", { 10000 }, { initializer = normal }),
      flow.get_variable("b", { 100 }, { initializer = uniform })
  end }
local a, b = job()
print(math.abs(a:std() - 0.02) < 0.002, b:min() >= -0.1, b:max() < 0.1)  --> true	true	true

## regularizers.l1, regularizers.l2, regularizers.l1_l2
local function variable(name, regularizer)
  return flow.get_variable(name, { 1 },
    { initializer = flow.ones_initializer(), regularizer = regularizer })
end
local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local loss = x * (variable("a", flow.regularizers.l1(0.25))
      + variable("b", flow.regularizers.l2(0.5))
      + variable("c", flow.regularizers.l1_l2(0.25, 0.5)))
    flow.optimizer.SGD(1, { momentum = 0 }):minimize(loss)
    return loss
  end }
train({ 0 })  -- here only the regularizers pull at the variables
local all = flow.get_all_variables()
print(all.a, all.b, all.c)  --> [0.75]	[0.5]	[0.25]

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

]==]
