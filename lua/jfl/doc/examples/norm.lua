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
print(predict({ { 4 } }):item() < 0.001)          --> true
print(flow.get_all_variables()["norm-moving_mean"].shape[1])   --> 1

## layers.batch_normalization_relu, layers.batch_normalization_add_relu
local block = flow.global_function { name = "block", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x)
    local y = flow.layers.batch_normalization_relu(x, { axis = 1, epsilon = 0 })
    return flow.layers.batch_normalization_add_relu(y * 2, x, { axis = 1, epsilon = 0 })
  end }
print(block({ { 1, -1 } }))                          --> [[3. 0.]]

## layers.group_norm, layers.instance_norm, layers.layer_norm, layers.rms_norm
local net = flow.model("norms", function(x)
  return flow.layers.group_norm(x, 2, { epsilon = 0 }),
    flow.layers.instance_norm(x, { epsilon = 0 }),
    flow.layers.layer_norm(x, { begin_norm_axis = -1, epsilon = 0, name = "norm" }),
    flow.layers.rms_norm(x, { epsilon = 0 })
end)
local groups, instances, rows, lengths = net:predict { inputs = { flow.float32 { 1, 2, 2 } } }(
  { { { 1, 7 }, { 3, 1 } } })
print(groups:eq(instances):all(), rows)                       --> true	[[[-1.  1.]
                                                              -->   [ 1. -1.]]]
print(lengths:get(1, 1, 2))                                   --> 1.3999999761581
print(flow.get_all_variables()["norms-norm-gamma"].shape[1])  --> 2

## layers.layer_norm_grad, layers.layer_norm_param_grad
local x, dy = nd.array({ { 1, 3, 5, 3 } }), nd.array({ { 1, 0, 0, 0 } })
print(flow.layers.layer_norm_grad(dy, x, nd.array({ 3 }), nd.array({ 0.5 })))
--> [[ 0.25  -0.125  0.    -0.125]]
local norm = nd.array({ { -1, 1, 1, -1 } })
local dnorm, dbeta, dgamma = flow.layers.layer_norm_param_grad(dy, norm, nd.array({ 9, 1, 1, 1 }))
print(dnorm, dbeta, dgamma)  --> [[9. 0. 0. 0.]]	[1. 0. 0. 0.]	[-1.  0.  0.  0.]

## nn.GroupNorm
local x = nd.array({ { { 1 }, { 3 }, { 0 }, { 2 } } })
local y = flow.nn.GroupNorm(x, 2, { eps = 0, affine = false })
print(y:reshape(4))  --> [-1.  1. -1.  1.]

## nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d
local x, plain = nd.array({ { { 1, 3 }, { 10, 30 } } }), { eps = 0, affine = false }
print(flow.nn.InstanceNorm1d(x, plain))                        --> [[[-1.  1.]
                                                               -->   [-1.  1.]]]
print(flow.nn.InstanceNorm2d(x:reshape(1, 2, 1, 2), plain):sum())     --> 0
print(flow.nn.InstanceNorm3d(x:reshape(1, 2, 1, 1, 2), plain):sum())  --> 0

## nn.layer_norm, nn.rms_norm, nn.moments, nn.batch_normalization
local x = nd.array({ { 1, 3 }, { 10, 30 } })
print(flow.nn.layer_norm(x, nd.array({ 1, 2 }), nd.array({ 0, 100 }), { epsilon = 0 }))
--> [[ -1. 102.]
-->  [ -1. 102.]]
print(flow.nn.rms_norm(nd.array({ 1, 7 }), { epsilon = 0 }))     --> [0.2 1.4]
print(flow.nn.rms_norm(nd.array({ 1, 7 }), nd.array({ 5, 5 })))  --> [1. 7.]
local mean, variance = flow.nn.moments(x, 1)
print(mean, variance)                                            --> [ 2. 20.]	[  1. 100.]
local y = flow.nn.batch_normalization(nd.array({ { 1, 10 }, { 3, 30 } }), mean, variance,
  nd.array({ 0, 5 }), nd.array({ 1, 2 }), { variance_epsilon = 0 })
print(y)                                                         --> [[-1.  3.]
                                                                 -->  [ 1.  7.]]

#

## nn.local_response_norm
local x = nd.full({ 1, 3, 1 }, 2)
print(flow.nn.local_response_norm(x, 1, { alpha = 0.25, beta = 1 })[1][1])  --> [1.]

]==]
