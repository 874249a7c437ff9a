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

## math.acos
print(flow.math.acos(nd.array({ 1, 0 })))        --> [0.        1.5707964]

## math.acosh
print(flow.math.acosh(nd.array({ 1, 2 })))       --> [0.       1.316958]

## math.asin
print(flow.math.asin(nd.array({ 0, 1 })))        --> [0.        1.5707964]

## math.asinh
print(flow.math.asinh(nd.array({ 0, 2 })))       --> [0.        1.4436355]

## math.atan
print(flow.math.atan(nd.array({ 0, 1 })))        --> [0.        0.7853982]

## math.atan2
local y, x = nd.array({ 1, -1 }), nd.array({ 0, -1 })
print(flow.math.atan2(y, x))                     --> [ 1.5707964 -2.3561945]

## math.atanh
print(flow.math.atanh(nd.array({ 0, 0.5 })))     --> [0.         0.54930615]

## math.cosh
print(flow.math.cosh(nd.array({ 0, 100 })))      --> [ 1. inf]

## math.digamma
local slope = flow.math.digamma(nd.array({ 2 }))
print(("%.4f"):format(slope[1]))                 --> 0.4228

## math.erfc
print(flow.math.erfc(nd.array({ 0, -20 })))      --> [1. 2.]

## math.exp2
print(flow.math.exp2(nd.array({ 0, 3, -1 })))    --> [1.  8.  0.5]

## math.isfinite
print(flow.math.isfinite(nd.array({ 1, 1 / 0, 0 / 0 })))  --> [1 0 0]

## math.isinf
print(flow.math.isinf(nd.array({ 1, 1 / 0, 0 / 0 })))     --> [0 1 0]

## math.isnan
print(flow.math.isnan(nd.array({ 1, 1 / 0, 0 / 0 })))     --> [0 0 1]

## math.lgamma
print(flow.math.lgamma(nd.array({ 1, 5 })))      --> [0.        3.1780539]

## math.log10
print(flow.math.log10(nd.array({ 1, 1000 })))    --> [0. 3.]

## math.log2
print(flow.math.log2(nd.array({ 1, 8 })))        --> [0. 3.]

## math.log_sigmoid
print(flow.math.log_sigmoid(nd.array({ -50, -100 })))  --> [ -50. -100.]

## math.logical_not
print(flow.math.logical_not(nd.array({ 0, 2, -1 })))  --> [1 0 0]

## math.logical_or
local a, b = nd.array({ 0, 0, 1 }), nd.array({ 0, 1, 1 })
print(flow.math.logical_or(a, b))                --> [0 1 1]

## math.logical_xor
local a, b = nd.array({ 0, 0, 1 }), nd.array({ 0, 1, 1 })
print(flow.math.logical_xor(a, b))               --> [0 1 0]

## math.add_n
print(flow.math.add_n({ nd.array({ 1, 2 }), nd.array({ 3, 4 }) }))  --> [4. 6.]

## math.fused_bias_add_gelu
local x, bias = nd.array({ { 0, 50 } }), nd.array({ 0, 50 })
print(flow.math.fused_bias_add_gelu(x, bias))    --> [[  0. 100.]]

## math.fused_scale_tril
print(flow.math.fused_scale_tril(nd.ones({ 2, 2 }), { scale = 3 }))  --> [[3. 0.]
                                                                     -->  [3. 3.]]

## math.gelu
print(flow.math.gelu(nd.array({ 0, 100 })))      --> [  0. 100.]
print(flow.math.gelu(nd.array({ 0, 100 }), { approximate = "tanh" }))  --> [  0. 100.]

## math.l2_normalize
print(flow.math.l2_normalize(nd.array({ 3, 4 })))  --> [0.6 0.8]

## math.polyval
print(flow.math.polyval({ 1, 0, -1 }, nd.array({ 1, 3 })))  --> [0. 8.]

## math.reduce_euclidean_norm
print(flow.math.reduce_euclidean_norm(nd.array({ 3, 4 })))  --> [5.]

## math.reduce_l1
print(flow.math.reduce_l1(nd.array({ 3, -4 })))  --> [7.]

## math.reduce_logsumexp
print(flow.math.reduce_logsumexp(nd.array({ 1000, -1000 })))  --> [1000.]

## math.reduce_std
print(flow.math.reduce_std(nd.array({ { 1, 3 }, { 2, 2 } }), 1))  --> [1. 0.]

## math.reduce_variance
print(flow.math.reduce_variance(nd.array({ 1, 5 })))  --> [4.]

## math.tril
print(flow.math.tril(nd.ones({ 2, 2 })))         --> [[1. 0.]
                                                 -->  [1. 1.]]

## math.triu
print(flow.math.triu(nd.ones({ 2, 2 }), 1))      --> [[0. 1.]
                                                 -->  [0. 0.]]

## math.two_stage_reduce_max
print(flow.math.two_stage_reduce_max(nd.array({ 1, 3 })))  --> [3.]

## math.two_stage_reduce_min
print(flow.math.two_stage_reduce_min(nd.array({ 1, 3 })))  --> [1.]

## nn.random_mask_like
local mask = flow.nn.random_mask_like(nd.zeros({ 1000 }), 0.25)
local kept = mask:sum() / 1000
print(mask.dtype, kept > 0.65 and kept < 0.85)   --> int8	true

## random.bernoulli
print(flow.random.bernoulli(nd.array({ 0, 1, 1 })))  --> [0. 1. 1.]

## random.generate_random_batch_permutation_indices
local images = nd.zeros({ 3, 1, 8, 8 })
local order = flow.random.generate_random_batch_permutation_indices(images)
print(order:sum(), order.dtype)                  --> 3	int32

## random.permutation
print(flow.random.permutation(4):sum())          --> 6

## random.randint
local dice = flow.random.randint(1, 7, { 100 })
print(dice:min() >= 1, dice:max() <= 6, dice.dtype)  --> true	true	int32

## random.shuffle
local cards = flow.random.shuffle(nd.array({ 1, 2, 3, 4 }))
print(cards:sum())                               --> 10

## math.reciprocal_no_nan
print(flow.math.reciprocal_no_nan(nd.array({ 2, 0 })))  --> [0.5 0. ]

## math.sinh
print(flow.math.sinh(nd.array({ 0, 1 })))        --> [0.        1.1752012]

## math.tan
print(flow.math.tan(nd.array({ 0, 1 })))         --> [0.        1.5574077]

## math.trunc
print(flow.math.trunc(nd.array({ 1.7, -1.7 })))  --> [ 1. -1.]

## math.xdivy
local x, y = nd.array({ 0, 1 }), nd.array({ 0, 4 })
print(flow.math.xdivy(x, y))                     --> [0.   0.25]

## math.xlogy
local x, y = nd.array({ 0, 2 }), nd.array({ 0, 1 })
print(flow.math.xlogy(x, y))                     --> [0. 0.]

## nn.gelu_tanh
print(flow.nn.gelu_tanh(nd.array({ 0, 100 })))   --> [  0. 100.]

## nn.hardshrink
print(flow.nn.hardshrink(nd.array({ -2, 0.3, 1 })))  --> [-2.  0.  1.]

## nn.hardsigmoid
print(flow.nn.hardsigmoid(nd.array({ -4, 0, 4 })))   --> [0.  0.5 1. ]

## nn.hardswish
print(flow.nn.hardswish(nd.array({ -4, 0, 4 })))     --> [0. 0. 4.]

## nn.hardtanh
print(flow.nn.hardtanh(nd.array({ -4, 0.5, 4 })))    --> [-1.   0.5  1. ]
print(flow.nn.hardtanh(nd.array({ -4, 0.5, 4 }), { max_val = 3 }))  --> [-1.   0.5  3. ]

## nn.mish
print(flow.nn.mish(nd.array({ 0, 100 })))        --> [  0. 100.]

## nn.relu6
print(flow.nn.relu6(nd.array({ -1, 3, 9 })))     --> [0. 3. 6.]

## nn.selu
print(flow.nn.selu(nd.array({ 0, 2 })))          --> [0.       2.101402]

## nn.silu
print(flow.nn.silu(nd.array({ 0, 100 })))        --> [  0. 100.]

## nn.softshrink
print(flow.nn.softshrink(nd.array({ -2, 0.3, 1 })))  --> [-1.5  0.   0.5]

## nn.softsign
print(flow.nn.softsign(nd.array({ -1, 0, 3 })))  --> [-0.5   0.    0.75]

## nn.swish
print(flow.nn.swish(nd.array({ 0, 100 }), { beta = 2 }))  --> [  0. 100.]

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

## nn.celu
print(flow.nn.celu(nd.array({ -100, 2 }), 0.5))  --> [-0.5  2. ]

## nn.glu
print(flow.nn.glu(nd.array({ 3, 4, 0, 0 })))  --> [1.5 2. ]

## nn.gumbel_softmax
local logits = nd.zeros({ 5, 3 })
local y = flow.nn.gumbel_softmax(logits, { hard = true })
print(y:max(), y:sum())  --> 1	5

## nn.tanhshrink
print(flow.nn.tanhshrink(nd.array({ 0, 100 })))  --> [ 0. 99.]

## nn.threshold
print(flow.nn.threshold(nd.array({ 1, 5 }), 3, 0))  --> [0. 5.]

## nn.cosine_similarity
local a, b = nd.array({ { 1, 0 } }), nd.array({ { 5, 0 } })
print(flow.nn.cosine_similarity(a, b))  --> [1.]

## nn.pairwise_distance
local a, b = nd.array({ { 0, 0 } }), nd.array({ { 3, 4 } })
print(flow.nn.pairwise_distance(a, b, { eps = 0 }))  --> [5.]

]==]
