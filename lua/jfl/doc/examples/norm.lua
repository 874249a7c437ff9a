-- Examples of normalizations.
return [==[
## layers.batch_normalization
local function net(x) return flow.layers.batch_normalization(x, { axis = 1, name = "norm" }) end
local train = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 1 }) } },
  body = function(x)
    local y = net(x)
    flow.optimizer.SGD(0.1):minimize(y)
    return y
  end }
local predict = flow.global_function { name = "predict", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 1 }) } }, body = net }
for _ = 1, 2000 do train({ { 3 }, { 5 } }) end
print(flow.get_all_variables()["norm-moving_mean"]:mean())  --> 3.9999
print(predict({ { 4 } }))

## layers.batch_normalization_add_relu
local block = flow.global_function { name = "block", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.batch_normalization_add_relu(x * 2, x, { axis = 1,
    epsilon = 0 }) end }
print(block({ { 1, -1 } }))                          --> [[3. 0.]]

## layers.batch_normalization_relu
local block = flow.global_function { name = "block", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.batch_normalization_relu(x, { axis = 1,
    epsilon = 0 }) end }
print(block({ { 1, -1 } }))                          --> [[1. 0.]]

## nn.batch_normalization
local x = nd.array({ { 1, 10 }, { 3, 30 } })
print(flow.nn.batch_normalization(x, nd.array({ 2, 20 }), nd.array({ 1, 100 }), nd.array({ 0, 5 }),
  nd.array({ 1, 2 }), { variance_epsilon = 0 }))     --> [[-1.  3.]
                                                     -->  [ 1.  7.]]

#]==]
