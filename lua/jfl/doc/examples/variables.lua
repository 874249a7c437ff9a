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

## get_all_variables, variable_info, load_variables, drop_variables
local function define(units)
  return flow.global_function { name = "net", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
    body = function(x) return flow.layers.dense(x, units, { name = "fc" }) end }
end
local job = define(1)
job({ { 1, 1 } })
flow.load_variables({ ["fc-weight"] = { { 2, 3 } }, ["fc-bias"] = { 10 } })
print(job({ { 1, 1 } }))                                 --> [[15.]]
print(flow.get_all_variables()["fc-weight"])             --> [[2. 3.]]
flow.load_variables({ ["fc-bias"] = { 10 } }, { async = true })
flow.get_all_variables({ async = true })(function(all)
  print(all["fc-bias"])                                  --> [10.]
end)
flow.sync()
local info = flow.variable_info("fc-weight")
print(info.dtype, info.shape, info.distribute)           --> float32	(1, 2)	broadcast
print(flow.drop_variables("fc"))                         --> 2
print(define(4)({ { 1, 1 } }).shape[2])                  --> 4

## get_variable
local job = flow.global_function { name = "affine", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 2 },
      { initializer = flow.constant_initializer(3) })
    return x * w
  end }
print(job({ 1, 2 }))  --> [3. 6.]

## glorot_normal_initializer, glorot_uniform_initializer, variance_scaling_initializer,
## kaiming_initializer
local shape = { 300, 200 }
local kinds = { normal = flow.glorot_normal_initializer(),
  uniform = flow.glorot_uniform_initializer(),
  he = flow.variance_scaling_initializer(2, "fan_in"),  -- suits layers with relu
  kaiming = flow.kaiming_initializer(shape, { nonlinearity = "relu" }) }
local job = flow.global_function { name = "all", returns = tp.Dict(tp.Numpy), inputs = {},
  body = function()
    local all = {}
    for name, kind in pairs(kinds) do
      all[name] = flow.get_variable(name, shape, { initializer = kind })
    end
    return all
  end }
local all = job()
print(math.abs(all.normal:std() - (2 / 500) ^ 0.5) < 0.005)  --> true
print(all.uniform:max() <= (6 / 500) ^ 0.5)                  --> true
print(math.abs(all.he:std() / all.kaiming:std() - 1) < 0.1)  --> true

## layers.dense, layers.embedding, layers.prelu
local net = flow.model("net", function(words)
  local x = flow.layers.embedding(words, 1000, 16, { padding_idx = 0 })
  x = flow.math.reduce_sum(x, 1)      -- what is behind a sentence adds 0
  x = flow.layers.dense(x, 8, { activation = flow.nn.relu, name = "hidden" })
  return flow.layers.prelu(flow.layers.dense(x, 3, { name = "output" }))
end)
local job = net:predict { inputs = { flow.int32 { 2, 5 } } }
print(job({ { 7, 3, 0, 0, 0 }, { 4, 4, 9, 1, 0 } }).shape)           --> (2, 3)
print(flow.get_all_variables()["net-hidden-weight"].shape)           --> (8, 16)

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

## truncated_normal, truncated_normal_initializer, orthogonal_initializer
local job = flow.global_function { name = "two", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  body = function()
    return flow.get_variable("a", { 9 }, { initializer = flow.truncated_normal(0.1) }),
      flow.get_variable("w", { 2, 2 }, { initializer = flow.orthogonal_initializer() })
  end }
local a, w = job()  -- w is a rotation, or a reflection
print(a:max() < 0.2, a:min() > -0.2)                           --> true	true
print(math.abs(w:get(1, 1) ^ 2 + w:get(1, 2) ^ 2 - 1) < 1e-6)  --> true
print(flow.truncated_normal_initializer(0, 0.02))
--> truncated_normal_initializer(0, 0.02)

]==]
