-- Examples of functions, comparisons and activations.
return [==[
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
print(flow.math.log_sigmoid(nd.array({ 0, -100 })))  --> [  -0.6931472 -100.       ]

## math.logical_not
print(flow.math.logical_not(nd.array({ 0, 2, -1 })))  --> [1 0 0]

## math.logical_or
local a, b = nd.array({ 0, 0, 1 }), nd.array({ 0, 1, 1 })
print(flow.math.logical_or(a, b))                --> [0 1 1]

## math.logical_xor
local a, b = nd.array({ 0, 0, 1 }), nd.array({ 0, 1, 1 })
print(flow.math.logical_xor(a, b))               --> [0 1 0]

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

]==]
