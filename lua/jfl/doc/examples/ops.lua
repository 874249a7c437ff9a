-- Examples of ops.
return [==[
## argmax, argmin
local scores = nd.array({ { 0.1, 0.7, 0.2 }, { 0.8, 0.1, 0.1 } })
print(flow.math.argmax(scores, 1))  --> [1 0]
print(flow.math.argmin(nd.array({ 3, 1, 2 })))  --> [1]

## broadcast_to, broadcast_like
local x = nd.array({ 1, 2 })
print(flow.broadcast_to(x, { 2, 2 }))                    --> [[1. 2.]
                                                         -->  [1. 2.]]
print(flow.broadcast_like(x, nd.zeros({ 2, 3 }), { 1 }))  --> [[1. 1. 1.]
                                                         -->  [2. 2. 2.]]

## cast
local labels = nd.array({ 0, 2 }, flow.int32)
print(flow.cast(labels, flow.float))                  --> [0. 2.]
print(flow.cast(nd.array({ 2.9, 300 }), flow.uint8))  --> [  2 255]

## image.non_max_suppression
local boxes = nd.array({ { { 0, 0, 4, 4 }, { 0, 1, 4, 5 }, { 6, 6, 9, 9 } } })
local scores = nd.array({ { { 0.6, 0.9, 0.3 } } })
print(flow.image.non_max_suppression(boxes, scores, 3))  --> [[[ 1  2 -1]]]

## clip_by_value
local x = nd.array({ -3, 0.5, 3 })
print(flow.clip_by_value(x, -1, 1))              --> [-1.   0.5  1. ]
print(flow.clip_by_value(x, { max_value = 1 }))  --> [-3.   0.5  1. ]

## concat, stack, split
local a, b = nd.array({ { 1, 2 } }), nd.array({ { 3, 4 } })
local both = flow.concat({ a, b }, 0)
print(both)                        --> [[1. 2.]
                                   -->  [3. 4.]]
print(flow.stack({ a, b }, 0).shape[1])  --> 2
local left, right = flow.split(both, { 1, 1 }, 1)
print(right)                       --> [[2.]
                                   -->  [4.]]

## constant
print(flow.constant(3, { shape = { 2 } }))  --> [3. 3.]
local mask = nd.array({ 1, 0 })
local job = flow.global_function { name = "masked", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x * flow.constant(mask) end }
print(job({ 5, 6 }))                        --> [5. 0.]

## gather, nn.embedding
local words = nd.array({ { 1, 0 }, { 0, 1 }, { 5, 5 } })  -- a vector each
local sentence = nd.array({ 2, 0 }, flow.int32)
print(flow.gather(words, sentence))        --> [[5. 5.]
                                           -->  [1. 0.]]
print(flow.nn.embedding(sentence, words))  --> [[5. 5.]
                                           -->  [1. 0.]]

## identity, identity_n
print(flow.identity(nd.array({ 1, 2 })))          --> [1. 2.]
local list = flow.identity_n({ nd.ones({ 1 }), nd.zeros({ 1 }) })
print(list[1], list[2])                           --> [1.]	[0.]

## math.abs, math.sign
print(flow.math.abs(nd.array({ -2, 3 })))  --> [2. 3.]
print(flow.math.sign(nd.array({ -3, 0, 5 })))  --> [-1.  0.  1.]

## math.add, math.add_n, nn.bias_add, math.fused_bias_add_gelu
local a, line = nd.array({ { 1, 2 }, { 3, 4 } }), nd.array({ 10, 20 })
print(flow.math.add(a, line))              --> [[11. 22.]
                                           -->  [13. 24.]]
print(a + 1, flow.math.add_n({ a, a, a }))  --> [[2. 3.]
                                           -->  [4. 5.]]	[[ 3.  6.]
                                           -->  [ 9. 12.]]
print(flow.nn.bias_add(a, line))           --> [[11. 22.]
                                           -->  [13. 24.]]
local x, bias = nd.array({ { 0, 50 } }), nd.array({ 0, 50 })
print(flow.math.fused_bias_add_gelu(x, bias))  --> [[  0. 100.]]

## math.bitwise_and, math.bitwise_or, math.bitwise_xor, math.bitwise_not, math.shift_left,
## math.shift_right
local x = nd.array({ 12, 10 }, "int32")
print(flow.math.bitwise_and(x, 6))  --> [4 2]
print(flow.math.bitwise_or(x, 6))   --> [14 14]
print(flow.math.bitwise_xor(x, 6))  --> [10 12]
print(flow.math.bitwise_not(x))     --> [-13 -11]
print(flow.math.shift_left(x, 4))   --> [192 160]
print(flow.math.shift_right(x, 1))  --> [6 5]

## math.ceil, math.floor, math.round, math.trunc
local x = nd.array({ 1.7, -1.2, 2.5 })
print(flow.math.ceil(x))   --> [ 2. -1.  3.]
print(flow.math.floor(x))  --> [ 1. -2.  2.]
print(flow.math.round(x))  --> [ 2. -1.  2.]
print(flow.math.trunc(x))  --> [ 1. -1.  2.]

## math.divide
print(flow.math.divide(nd.array({ 1, 3 }), 2))  --> [0.5 1.5]
local whole = nd.array({ -7, 7 }, flow.int32)
print(flow.math.divide(whole, nd.array({ 2, 2 }, flow.int32)))  --> [-3  3]
print(whole / 2)                                --> [-3.5  3.5]

## math.equal, math.not_equal, math.greater, math.greater_equal, math.less, math.less_equal
local a = nd.array({ 1, 2, 3 })
print(flow.math.equal(a, 2), flow.math.not_equal(a, 2))      --> [0 1 0]	[1 0 1]
print(flow.math.greater(a, 2), flow.math.greater_equal(a, 2))  --> [0 0 1]	[0 1 1]
print(flow.math.less(a, 2), flow.math.less_equal(a, 2))      --> [1 0 0]	[1 1 0]

## math.erf, math.erfc
print(flow.math.erf(nd.array({ 0, 100 })))  --> [0. 1.]
print(flow.math.erfc(nd.array({ 0, -20 })))  --> [1. 2.]

## math.exp, math.exp2
print(flow.math.exp(nd.array({ 0, -1000 })))  --> [1. 0.]
print(flow.math.exp2(nd.array({ 0, 3, -1 })))  --> [1.  8.  0.5]

## math.expm1, math.log1p
local tiny = nd.array({ 1e-9 })
print(flow.math.exp(tiny)[1] - 1, flow.math.expm1(tiny)[1] > 0)  --> 0	true
print(flow.math.log(tiny + 1)[1], flow.math.log1p(tiny)[1] > 0)  --> 0	true

## math.floordiv, math.mod
local x = nd.array({ 7, -7 })
print(flow.math.floordiv(x, 3), flow.math.mod(x, 3))  --> [ 2. -3.]	[1. 2.]

## math.log, math.log2, math.log10
local likely = nd.array({ 1, 0 })
print(flow.math.log(likely))  --> [  0. -inf]
print(flow.math.log(likely + 1e-7):min() > -17)  --> true
print(flow.math.log2(nd.array({ 1, 8 })))  --> [0. 3.]
print(flow.math.log10(nd.array({ 1, 1000 })))  --> [0. 3.]

## math.logical_and, math.logical_or, math.logical_xor, math.logical_not
local a, b = nd.array({ 0, 0, 1 }), nd.array({ 0, 1, 1 })
print(flow.math.logical_and(a, b))  --> [0 0 1]
print(flow.math.logical_or(a, b))   --> [0 1 1]
print(flow.math.logical_xor(a, b))  --> [0 1 0]
print(flow.math.logical_not(a))     --> [1 1 0]

## math.maximum, math.minimum
local a, b = nd.array({ 1, 5 }), nd.array({ 3, 2 })
print(flow.math.maximum(a, b), flow.math.minimum(a, b))  --> [3. 5.]	[1. 2.]
print(flow.math.maximum(nd.array({ -1, 5 }), 0))         --> [0. 5.]

## math.multiply, math.subtract, math.negative
local a, b = nd.array({ 2, 3 }), nd.array({ 10, 1 })
print(flow.math.multiply(a, b), flow.math.subtract(a, b))  --> [20.  3.]	[-8.  2.]
print(flow.math.negative(a), 1 - a)                        --> [-2. -3.]	[-1. -2.]

## math.pow
print(flow.math.pow(nd.array({ 2, 3 }), 2), nd.array({ 4 }) ^ 0.5)
--> [4. 9.]	[2.]

## math.reciprocal, math.reciprocal_no_nan
local x = nd.array({ 2, 0 })
print(flow.math.reciprocal(x), flow.math.reciprocal_no_nan(x))  --> [0.5 inf]	[0.5 0. ]

## math.reduce_all, math.reduce_any
local x = nd.array({ { 1, 2 }, { 3, -4 } })
print(flow.math.reduce_all(x:gt(0), 1))  --> [1 0]
print(flow.math.reduce_any(x:lt(0), 1))  --> [0 1]

## math.reduce_max, math.reduce_min, math.two_stage_reduce_max, math.two_stage_reduce_min
local x = nd.array({ { 1, 5 }, { 4, 2 } })
print(flow.math.reduce_max(x, 0), flow.math.reduce_min(x, 1))          --> [4. 5.]	[1. 2.]
print(flow.math.two_stage_reduce_max(x), flow.math.two_stage_reduce_min(x))  --> [5.]	[1.]

## math.reduce_sum, math.reduce_prod, math.reduce_mean
local x = nd.array({ { 1, 2 }, { 3, 4 } })
print(flow.math.reduce_sum(x), flow.math.reduce_sum(x, 1))    --> [10.]	[3. 7.]
print(flow.math.reduce_prod(x, 1))                            --> [ 2. 12.]
print(flow.math.reduce_mean(x), flow.math.reduce_mean(x, 0))  --> [2.5]	[2. 3.]
print(flow.math.reduce_mean(x, 1, { keepdims = true }).shape[2])  --> 1

## math.sigmoid, math.softplus, math.log_sigmoid
local x = nd.array({ -1000, 0, 1000 })
print(flow.math.sigmoid(x))                            --> [0.  0.5 1. ]
print(flow.math.softplus(nd.array({ -1000, 1000 })))   --> [   0. 1000.]
print(flow.math.log_sigmoid(nd.array({ -50, -100 })))  --> [ -50. -100.]

## math.sqrt, math.rsqrt, math.square, math.squared_difference
local x = nd.array({ 4, 16 })
print(flow.math.sqrt(x), flow.math.rsqrt(x))  --> [2. 4.]	[0.5  0.25]
print(flow.math.square(x))                    --> [ 16. 256.]
print(flow.math.squared_difference(x, 7))     --> [ 9. 81.]

## math.unsorted_segment_sum, math.unsorted_segment_sum_like, math.unsorted_batch_segment_sum
local spent, who = nd.array({ 5, 7, 1 }), nd.array({ 0, 2, 0 }, flow.int32)
print(flow.math.unsorted_segment_sum(spent, who, 3))                     --> [6. 0. 7.]
print(flow.math.unsorted_segment_sum_like(spent, who, nd.zeros({ 3 })))  --> [6. 0. 7.]
local data = nd.array({ { 1, 2, 3 }, { 4, 5, 6 } })
local ids = nd.array({ { 0, 1, 0 }, { 1, 1, 1 } }, flow.int32)
print(flow.math.unsorted_batch_segment_sum(data, ids, 2))                --> [[ 4.  2.]
                                                                         -->  [ 0. 15.]]

## matmul, ndarray.matmul
local x = nd.array({ { 1, 2 } })
local w = nd.array({ { 1, 0 }, { 0, 1 }, { 1, 1 } })
print(flow.matmul(x, w, { transpose_b = true }))  --> [[1. 2. 3.]]
print(nd.matmul(w, nd.array({ 1, 1 })))           --> [1. 1. 2.]

## nn.dropout, nn.random_mask_like
local x = nd.ones({ 1000 })
print(flow.nn.dropout(x, 0.5):eq(x):all())       --> true
-- Only train jobs drop, unless they are told otherwise.
flow.random.seed(1)
local y = flow.nn.dropout(x, 0.5, { training = true })
print(y:max(), math.abs(y:mean() - 1) < 0.1)     --> 2	true
local mask = flow.nn.random_mask_like(x, 0.25)
print(mask.dtype, mask:sum() > 650)              --> int8	true

## nn.elu, nn.celu, nn.selu, nn.leaky_relu
local x = nd.array({ -100, 2 })
print(flow.nn.elu(x), flow.nn.celu(x, 0.5))  --> [-1.  2.]	[-0.5  2. ]
print(flow.nn.selu(nd.array({ 0, 2 })))      --> [0.       2.101402]
print(flow.nn.leaky_relu(x, 0.1))            --> [-10.   2.]

## nn.max_pool2d, nn.avg_pool2d, nn.adaptive_avg_pool2d, nn.adaptive_max_pool2d, nn.global_avg_pool
local image = nd.arange(16):reshape(1, 1, 4, 4)
print(flow.nn.max_pool2d(image, { ksize = 2, strides = 2 })[1][1])
--> [[ 5.  7.]
-->  [13. 15.]]
print(flow.nn.avg_pool2d(image, { ksize = 2, strides = 2 })[1][1])
--> [[ 2.5  4.5]
-->  [10.5 12.5]]
local x = nd.rand({ 1, 3, 13, 9 })
print(flow.nn.adaptive_avg_pool2d(x, { 4, 2 }).shape[3])  --> 4
print(flow.nn.adaptive_max_pool2d(x, { 4, 2 }).shape[4])  --> 2
print(flow.nn.global_avg_pool(x).shape[2])                --> 3

## nn.relu, nn.relu6, nn.threshold
local x = nd.array({ -1, 3, 9 })
print(flow.nn.relu(x), flow.nn.relu6(x))  --> [0. 3. 9.]	[0. 3. 6.]
print(flow.nn.threshold(x, 5, 0))         --> [0. 0. 9.]

## nn.sigmoid_cross_entropy_with_logits, nn.softmax_cross_entropy_with_logits,
## nn.sparse_softmax_cross_entropy_with_logits
local is_cat = nd.array({ 1, 0 })
local sure = nd.array({ 1000, 1000 })  -- of a cat: right, and wrong
print(flow.nn.sigmoid_cross_entropy_with_logits(is_cat, sure))  --> [   0. 1000.]
local wanted = nd.array({ { 1, 0 }, { 1, 0 } })  -- a distribution in each row
local scores = nd.array({ { 1000, 0 }, { 0, 1000 } })
print(flow.nn.softmax_cross_entropy_with_logits(wanted, scores))
--> [   0. 1000.]
local labels = nd.array({ 0, 0 }, flow.int32)  -- classes, from 0
print(flow.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
--> [   0. 1000.]

## nn.softmax, nn.logsoftmax
local scores = nd.array({ { 1, 1 }, { 0, 1000 } })
print(flow.nn.softmax(scores))     --> [[0.5 0.5]
                                   -->  [0.  1. ]]
print(flow.nn.logsoftmax(scores))  --> [[-6.931472e-01 -6.931472e-01]
                                   -->  [-1.000000e+03  0.000000e+00]]

## one_hot
print(flow.one_hot(nd.array({ 1, 0 }, flow.int32), 3))  --> [[0. 1. 0.]
                                                        -->  [1. 0. 0.]]

## reshape, flatten, expand_dims, squeeze
local images = nd.zeros({ 100, 1, 28, 28 })
print(flow.reshape(images, { 100, -1 }).shape[2])  --> 784
print(flow.flatten(images, 1).shape[2])            --> 784
print(#flow.expand_dims(images, 0).shape)          --> 5
print(#flow.squeeze(images, { 1 }).shape)          --> 3

## slice, slice_v2
local x = nd.arange(12):reshape(3, 4)
print(flow.slice(x, { 1, 0 }, { 2, 2 }))            --> [[4. 5.]
                                                    -->  [8. 9.]]
print(flow.slice_v2(x, { { 1 }, { 1, nil, 2 } }))   --> [[ 5.  7.]
                                                    -->  [ 9. 11.]]
print(flow.slice_v2(x, { { -1 }, { nil, nil, -1 } }))  --> [[11. 10.  9.  8.]]

## where, masked_fill
local x = nd.array({ -1, 4 })
print(flow.where(flow.math.greater(x, 0), x, x * 0.1))  --> [-0.1  4. ]
print(flow.masked_fill(x, flow.math.greater(x, 3), 0))  --> [-1.  0.]

## zeros, ones, zeros_like, ones_like
print(flow.zeros({ 2 }, flow.int32), flow.ones({ 2 }))          --> [0 0]	[1. 1.]
local x = nd.array({ 5, 6 })
print(flow.zeros_like(x), flow.ones_like(x))                    --> [0. 0.]	[1. 1.]

]==]
