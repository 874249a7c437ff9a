-- Examples of functions, comparisons and activations.
return [==[
## assign
local next_number = flow.global_function { name = "next_number", returns = tp.Numpy, inputs = {},
  body = function()
    local n = flow.get_variable("n", { shape = { 1 }, dtype = flow.int64,
      initializer = flow.zeros_initializer() })
    return flow.assign(n, n + 1)
  end }
next_number()
print(next_number())                             --> [2]

## math.acos, math.asin, math.atan, math.cos, math.sin, math.tan
print(flow.math.acos(nd.array({ 1, 0 })))  --> [0.        1.5707964]
print(flow.math.asin(nd.array({ 0, 1 })))  --> [0.        1.5707964]
print(flow.math.atan(nd.array({ 0, 1 })))  --> [0.        0.7853982]
print(flow.math.cos(nd.array({ 0, math.pi })))  --> [ 1. -1.]
print(flow.math.sin(nd.array({ 0, math.pi / 2 })))  --> [0. 1.]
print(flow.math.tan(nd.array({ 0, 1 })))  --> [0.        1.5574077]

## math.acosh, math.asinh, math.atanh, math.cosh, math.sinh, math.tanh
print(flow.math.acosh(nd.array({ 1, 2 })))  --> [0.       1.316958]
print(flow.math.asinh(nd.array({ 0, 2 })))  --> [0.        1.4436355]
print(flow.math.atanh(nd.array({ 0, 0.5 })))  --> [0.         0.54930615]
print(flow.math.cosh(nd.array({ 0, 100 })))  --> [ 1. inf]
print(flow.math.sinh(nd.array({ 0, 1 })))  --> [0.        1.1752012]
print(flow.math.tanh(nd.array({ -100, 0, 100 })))  --> [-1.  0.  1.]

## math.atan2
local y, x = nd.array({ 1, -1 }), nd.array({ 0, -1 })
print(flow.math.atan2(y, x))                     --> [ 1.5707964 -2.3561945]

## math.isfinite, math.isinf, math.isnan
local x = nd.array({ 1, 1 / 0, 0 / 0 })
print(flow.math.isfinite(x))  --> [1 0 0]
print(flow.math.isinf(x))     --> [0 1 0]
print(flow.math.isnan(x))     --> [0 0 1]

## math.lgamma, math.digamma
print(flow.math.lgamma(nd.array({ 1, 5 })))  --> [0.        3.1780539]
local slope = flow.math.digamma(nd.array({ 2 }))
print(("%.4f"):format(slope[1]))  --> 0.4228

## math.gelu
print(flow.math.gelu(nd.array({ 0, 100 })))      --> [  0. 100.]
print(flow.math.gelu(nd.array({ 0, 100 }), { approximate = "tanh" }))  --> [  0. 100.]

## math.polyval
print(flow.math.polyval({ 1, 0, -1 }, nd.array({ 1, 3 })))  --> [0. 8.]

## math.reduce_euclidean_norm, math.reduce_l1, math.l2_normalize
local x = nd.array({ 3, -4 })
print(flow.math.reduce_euclidean_norm(x), flow.math.reduce_l1(x))  --> [5.]	[7.]
print(flow.math.l2_normalize(x))                                   --> [ 0.6 -0.8]

## math.reduce_logsumexp
print(flow.math.reduce_logsumexp(nd.array({ 1000, -1000 })))  --> [1000.]

## math.reduce_std, math.reduce_variance
local x = nd.array({ 1, 5 })
print(flow.math.reduce_std(x), flow.math.reduce_variance(x))  --> [2.]	[4.]

## math.tril, math.triu, math.fused_scale_tril
local x = nd.ones({ 2, 2 })
print(flow.math.tril(x))                             --> [[1. 0.]
                                                     -->  [1. 1.]]
print(flow.math.triu(x, 1))                          --> [[0. 1.]
                                                     -->  [0. 0.]]
print(flow.math.fused_scale_tril(x, { scale = 3 }))  --> [[3. 0.]
                                                     -->  [3. 3.]]

## random.generate_random_batch_permutation_indices
local images = nd.zeros({ 3, 1, 8, 8 })
local order = flow.random.generate_random_batch_permutation_indices(images)
print(order:sum(), order.dtype)                  --> 3	int32

## random.permutation, random.shuffle, random.randint
print(flow.random.permutation(4):sum())                       --> 6
print(flow.random.shuffle(nd.array({ 1, 2, 3, 4 })):sum())    --> 10
local dice = flow.random.randint(1, 7, { 100 })
print(dice:min() >= 1, dice:max() <= 6, dice.dtype)           --> true	true	int32

## math.xdivy, math.xlogy
local x, y = nd.array({ 0, 1 }), nd.array({ 0, 1 })
print(flow.math.xdivy(x, y), flow.math.xlogy(x, y))  --> [0. 1.]	[0. 0.]

## nn.hardsigmoid, nn.hardswish, nn.hardtanh, nn.hardshrink, nn.softshrink, nn.tanhshrink
local x = nd.array({ -4, 0.25, 4 })
print(flow.nn.hardsigmoid(nd.array({ -4, 0, 4 })))  --> [0.  0.5 1. ]
print(flow.nn.hardswish(nd.array({ -4, 0, 4 })))    --> [0. 0. 4.]
print(flow.nn.hardtanh(x))                          --> [-1.    0.25  1.  ]
print(flow.nn.hardtanh(x, { max_val = 3 }))         --> [-1.    0.25  3.  ]
print(flow.nn.hardshrink(x))                        --> [-4.  0.  4.]
print(flow.nn.softshrink(x))                        --> [-3.5  0.   3.5]
print(flow.nn.tanhshrink(nd.array({ 0, 100 })))     --> [ 0. 99.]

## nn.silu, nn.swish, nn.mish, nn.gelu_tanh, nn.softsign
local x = nd.array({ 0, 100 })
print(flow.nn.silu(x), flow.nn.swish(x, { beta = 2 }))  --> [  0. 100.]	[  0. 100.]
print(flow.nn.mish(x), flow.nn.gelu_tanh(x))            --> [  0. 100.]	[  0. 100.]
print(flow.nn.softsign(nd.array({ -1, 0, 3 })))         --> [-0.5   0.    0.75]

## stop_gradient
local job = flow.global_function { name = "half", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x)
    local w = flow.get_variable("w", { shape = { 1 }, initializer = flow.ones_initializer() })
    local loss = w * flow.stop_gradient(w) * x      -- as if the second w were a number
    flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(loss)
    return loss
  end }
job({ 1 })
print(job({ 1 }))                                --> [0.25]

## nn.gumbel_softmax, nn.glu
local y = flow.nn.gumbel_softmax(nd.zeros({ 5, 3 }), { hard = true })
print(y:max(), y:sum())                       --> 1	5
print(flow.nn.glu(nd.array({ 3, 4, 0, 0 })))  --> [1.5 2. ]

## nn.pairwise_distance, nn.cosine_similarity
local a, b = nd.array({ { 3, 4 } }), nd.array({ { 6, 8 } })
print(flow.nn.pairwise_distance(a, b, { eps = 0 }), flow.nn.cosine_similarity(a, b))  --> [5.]	[1.]

]==]
