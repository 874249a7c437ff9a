-- Examples of ops.
return [==[
## argmax
local scores = nd.array({ { 0.1, 0.7, 0.2 }, { 0.8, 0.1, 0.1 } })
print(flow.math.argmax(scores, 1))  --> [1 0]

## argmin
print(flow.math.argmin(nd.array({ 3, 1, 2 })))  --> [1]

## broadcast_to
print(flow.broadcast_to(nd.array({ 1, 2 }), { 2, 2 }))  --> [[1. 2.]
                                                        -->  [1. 2.]]

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

## concat
local a, b = nd.ones({ 2, 1 }), nd.zeros({ 2, 2 })
print(flow.concat({ a, b }, 1))  --> [[1. 0. 0.]
                                 -->  [1. 0. 0.]]

## constant
print(flow.constant(3, { shape = { 2 } }))  --> [3. 3.]
local mask = nd.array({ 1, 0 })
local job = flow.global_function { name = "masked", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x * flow.constant(mask) end }
print(job({ 5, 6 }))                        --> [5. 0.]

## expand_dims
local batch = flow.expand_dims(nd.zeros({ 28, 28 }), 0)
print(batch.shape[1], #batch.shape)  --> 1	3

## flatten
local images = nd.zeros({ 10, 3, 8, 8 })
local rows = flow.flatten(images, 1)
print(rows.shape[1], rows.shape[2])  --> 10	192

## gather
local words = nd.array({ { 1, 0 }, { 0, 1 }, { 5, 5 } })  -- a vector each
local sentence = nd.array({ 2, 0, 2 }, flow.int32)
print(flow.gather(words, sentence))  --> [[5. 5.]
                                     -->  [1. 0.]
                                     -->  [5. 5.]]

## identity
print(flow.identity(nd.array({ 1, 2 })))  --> [1. 2.]

## math.abs
print(flow.math.abs(nd.array({ -2, 3 })))  --> [2. 3.]

## math.add
local a = nd.array({ { 1, 2 }, { 3, 4 } })
print(flow.math.add(a, nd.array({ 10, 20 })))  --> [[11. 22.]
                                               -->  [13. 24.]]
print(a + 1)                                   --> [[2. 3.]
                                               -->  [4. 5.]]

## math.bitwise_and
print(flow.math.bitwise_and(nd.array({ 12, 10 }, "int32"), 6))  --> [4 2]

## math.bitwise_not
print(flow.math.bitwise_not(nd.array({ 0, 12 }, "int32")))  --> [ -1 -13]

## math.bitwise_or
print(flow.math.bitwise_or(nd.array({ 12, 10 }, "int32"), 6))  --> [14 14]

## math.bitwise_xor
print(flow.math.bitwise_xor(nd.array({ 12, 10 }, "int32"), 6))  --> [10 12]

## math.ceil
print(flow.math.ceil(nd.array({ 1.2, -1.2 })))  --> [ 2. -1.]

## math.cos
print(flow.math.cos(nd.array({ 0, math.pi })))  --> [ 1. -1.]

## math.divide
print(flow.math.divide(nd.array({ 1, 3 }), 2))  --> [0.5 1.5]
local whole = nd.array({ -7, 7 }, flow.int32)
print(flow.math.divide(whole, nd.array({ 2, 2 }, flow.int32)))  --> [-3  3]
print(whole / 2)                                --> [-3.5  3.5]

## math.equal
local predicted, labels = nd.array({ 3, 1, 2 }), nd.array({ 3, 0, 2 })
print(flow.math.equal(predicted, labels))  --> [1 0 1]

## math.erf
print(flow.math.erf(nd.array({ 0, 100 })))  --> [0. 1.]

## math.exp
print(flow.math.exp(nd.array({ 0, -1000 })))  --> [1. 0.]

## math.expm1
local tiny = nd.array({ 1e-9 })
print(flow.math.exp(tiny)[1] - 1, flow.math.expm1(tiny)[1] > 0)  --> 0	true

## math.floor
print(flow.math.floor(nd.array({ 1.8, -1.2 })))  --> [ 1. -2.]

## math.floordiv
print(flow.math.floordiv(nd.array({ 7, -7 }), 2))  --> [ 3. -4.]

## math.gelu
print(flow.math.gelu(nd.array({ 0, 100 })))  --> [  0. 100.]

## math.greater
print(flow.math.greater(nd.array({ 1, 2, 3 }), 2))  --> [0 0 1]

## math.greater_equal
print(flow.math.greater_equal(nd.array({ 1, 2, 3 }), 2))  --> [0 1 1]

## math.less
print(flow.math.less(nd.array({ 1, 2, 3 }), 2))  --> [1 0 0]

## math.less_equal
print(flow.math.less_equal(nd.array({ 1, 2, 3 }), 2))  --> [1 1 0]

## math.log
local likely = nd.array({ 1, 0 })
print(flow.math.log(likely))                        --> [  0. -inf]
print(flow.math.log(likely + 1e-7):min() > -17)     --> true

## math.log1p
local tiny = nd.array({ 1e-9 })
print(flow.math.log(tiny + 1)[1], flow.math.log1p(tiny)[1] > 0)  --> 0	true

## math.logical_and
local x = nd.array({ 1, 5, 9 })
print(flow.math.logical_and(x:gt(2), x:lt(8)))  --> [0 1 0]

## math.maximum
print(flow.math.maximum(nd.array({ 1, 5 }), nd.array({ 3, 2 })))
--> [3. 5.]
print(flow.math.maximum(nd.array({ -1, 5 }), 0))  --> [0. 5.]

## math.minimum
print(flow.math.minimum(nd.array({ 1, 5 }), nd.array({ 3, 2 })))
--> [1. 2.]

## math.mod
print(flow.math.mod(nd.array({ 7, -7 }), 3))  --> [1. 2.]

## math.multiply
print(flow.math.multiply(nd.array({ 2, 3 }), nd.array({ 10, 100 })))
--> [ 20. 300.]

## math.negative
print(flow.math.negative(nd.array({ 1, -2 })))  --> [-1.  2.]

## math.not_equal
print(flow.math.not_equal(nd.array({ 1, 2 }), nd.array({ 1, 3 })))
--> [0 1]

## math.pow
print(flow.math.pow(nd.array({ 2, 3 }), 2), nd.array({ 4 }) ^ 0.5)
--> [4. 9.]	[2.]

## math.reciprocal
print(flow.math.reciprocal(nd.array({ 2, 4 })))  --> [0.5  0.25]

## math.reduce_all
local x = nd.array({ { 1, 2 }, { 3, -4 } })
print(flow.math.reduce_all(x:gt(0), 1))  --> [1 0]

## math.reduce_any
local x = nd.array({ { 1, 2 }, { 3, -4 } })
print(flow.math.reduce_any(x:lt(0), 1))  --> [0 1]

## math.reduce_max
print(flow.math.reduce_max(nd.array({ { 1, 5 }, { 4, 2 } }), 0))
--> [4. 5.]

## math.reduce_mean
local x = nd.array({ { 1, 3 }, { 5, 7 } })
print(flow.math.reduce_mean(x), flow.math.reduce_mean(x, 0))
--> [4.]	[3. 5.]
print(flow.math.reduce_mean(x, 1, { keepdims = true }).shape[2])  --> 1

## math.reduce_min
print(flow.math.reduce_min(nd.array({ { 1, 5 }, { 4, 2 } }), 1))
--> [1. 2.]

## math.reduce_prod
print(flow.math.reduce_prod(nd.array({ { 1, 2 }, { 3, 4 } }), 1))
--> [ 2. 12.]

## math.reduce_sum
local x = nd.array({ { 1, 2 }, { 3, 4 } })
print(flow.math.reduce_sum(x), flow.math.reduce_sum(x, 1))
--> [10.]	[3. 7.]

## math.round
print(flow.math.round(nd.array({ 0.5, 1.5, 2.7 })))  --> [0. 2. 3.]

## math.rsqrt
print(flow.math.rsqrt(nd.array({ 4, 16 })))  --> [0.5  0.25]

## math.shift_left
print(flow.math.shift_left(nd.array({ 1, 3 }, "int32"), 4))  --> [16 48]

## math.shift_right
print(flow.math.shift_right(nd.array({ 48, -48 }, "int32"), 4))  --> [ 3 -3]

## math.sigmoid
print(flow.math.sigmoid(nd.array({ -1000, 0, 1000 })))  --> [0.  0.5 1. ]

## math.sign
print(flow.math.sign(nd.array({ -3, 0, 5 })))  --> [-1.  0.  1.]

## math.sin
print(flow.math.sin(nd.array({ 0, math.pi / 2 })))  --> [0. 1.]

## math.softplus
print(flow.math.softplus(nd.array({ -1000, 1000 })))  --> [   0. 1000.]

## math.sqrt
print(flow.math.sqrt(nd.array({ 4, 9 })))  --> [2. 3.]

## math.square
local error = nd.array({ 0.5, -2 })
print(flow.math.square(error))  --> [0.25 4.  ]

## math.squared_difference
print(flow.math.squared_difference(nd.array({ 1, 5 }), nd.array({ 2, 2 })))
--> [1. 9.]

## math.subtract
print(flow.math.subtract(nd.array({ 3, 2 }), nd.array({ 1, 1 })))
--> [2. 1.]
print(1 - nd.array({ 3 }))                                         --> [-2.]

## math.tanh
print(flow.math.tanh(nd.array({ -100, 0, 100 })))  --> [-1.  0.  1.]

## math.unsorted_segment_sum
local spent, who = nd.array({ 5, 7, 1 }), nd.array({ 0, 2, 0 }, flow.int32)
print(flow.math.unsorted_segment_sum(spent, who, 3))  --> [6. 0. 7.]

## matmul
local x = nd.array({ { 1, 2 } })
local w = nd.array({ { 1, 0 }, { 0, 1 }, { 1, 1 } })
print(flow.matmul(x, w, { transpose_b = true }))  --> [[1. 2. 3.]]

## nn.avg_pool2d
local image = nd.arange(16):reshape(1, 1, 4, 4)
print(flow.nn.avg_pool2d(image, { ksize = 2, strides = 2 })[1][1])
--> [[ 2.5  4.5]
-->  [10.5 12.5]]

## nn.bias_add
local x = nd.zeros({ 2, 3 })
print(flow.nn.bias_add(x, nd.array({ 1, 2, 3 })))  --> [[1. 2. 3.]
                                                   -->  [1. 2. 3.]]

## nn.conv2d
local image = nd.arange(9):reshape(1, 1, 3, 3)
local edges = nd.array({ { { { -1, 1 } } } })  -- (out, in, height, width)
print(flow.nn.conv2d(image, edges)[1][1])  --> [[1. 1.]
                                           -->  [1. 1.]
                                           -->  [1. 1.]]

## nn.dropout
local x = nd.ones({ 1000 })
print(flow.nn.dropout(x, 0.5):eq(x):all())  --> true
-- Only train jobs drop, unless they are told otherwise.
flow.random.seed(1)
local y = flow.nn.dropout(x, 0.5, { training = true })
print(y:max(), math.abs(y:mean() - 1) < 0.1)  --> 2	true

## nn.elu
print(flow.nn.elu(nd.array({ -100, 0, 2 })))  --> [-1.  0.  2.]

## nn.leaky_relu
print(flow.nn.leaky_relu(nd.array({ -10, 5 }), 0.1))  --> [-1.  5.]

## nn.logsoftmax
local scores = nd.array({ { 0, 1000 } })
print(flow.nn.logsoftmax(scores))  --> [[-1000.     0.]]

## nn.max_pool2d
local image = nd.arange(16):reshape(1, 1, 4, 4)
print(flow.nn.max_pool2d(image, { ksize = 2, strides = 2 })[1][1])
--> [[ 5.  7.]
-->  [13. 15.]]

## nn.relu
print(flow.nn.relu(nd.array({ -1, 0, 2 })))  --> [0. 0. 2.]

## nn.sigmoid_cross_entropy_with_logits
local is_cat = nd.array({ 1, 0 })
local scores = nd.array({ 1000, 1000 })  -- sure of a cat: right, and wrong
print(flow.nn.sigmoid_cross_entropy_with_logits(is_cat, scores))
--> [   0. 1000.]

## nn.softmax
local scores = nd.array({ { 1, 1 }, { 0, 1000 } })
print(flow.nn.softmax(scores))  --> [[0.5 0.5]
                                -->  [0.  1. ]]

## nn.softmax_cross_entropy_with_logits
local wanted = nd.array({ { 1, 0 }, { 1, 0 } })  -- a distribution in each row
local scores = nd.array({ { 1000, 0 }, { 0, 1000 } })
print(flow.nn.softmax_cross_entropy_with_logits(wanted, scores))
--> [   0. 1000.]

## nn.sparse_softmax_cross_entropy_with_logits
local labels = nd.array({ 2, 0 }, flow.int32)  -- classes, from 0
local scores = nd.array({ { 0, 0, 1000 }, { 0, 0, 1000 } })
print(flow.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
--> [   0. 1000.]

## one_hot
print(flow.one_hot(nd.array({ 1, 0 }, flow.int32), 3))  --> [[0. 1. 0.]
                                                        -->  [1. 0. 0.]]

## ones
print(flow.ones({ 2 }))  --> [1. 1.]

## ones_like
print(flow.ones_like(nd.zeros({ 2, 1 })))  --> [[1.]
                                           -->  [1.]]

## reshape
local images = nd.zeros({ 100, 1, 28, 28 })
print(flow.reshape(images, { 100, -1 }).shape[2])  --> 784

## slice
local x = nd.arange(12):reshape(3, 4)
print(flow.slice(x, { 1, 0 }, { 2, 2 }))  --> [[4. 5.]
                                          -->  [8. 9.]]

## split
local x = nd.arange(6):reshape(2, 3)
local left, right = flow.split(x, { 1, 2 }, 1)
print(left)   --> [[0.]
              -->  [3.]]
print(right)  --> [[1. 2.]
              -->  [4. 5.]]

## squeeze
local x = nd.zeros({ 5, 1, 1 })
print(#flow.squeeze(x).shape, #flow.squeeze(x, { 1 }).shape)  --> 1	2

## stack
print(flow.stack({ nd.array({ 1, 2 }), nd.array({ 3, 4 }) }, 0))
--> [[1. 2.]
-->  [3. 4.]]

## transpose
local pictures = nd.zeros({ 10, 28, 20, 3 })  -- NHWC
local nchw = flow.transpose(pictures, { 0, 3, 1, 2 })
print(nchw.shape[2], nchw.shape[3])  --> 3	28

## where
local x = nd.array({ -1, 4 })
print(flow.where(flow.math.greater(x, 0), x, x * 0.1))  --> [-0.1  4. ]

## zeros
print(flow.zeros({ 2 }, flow.int32))  --> [0 0]

## zeros_like
print(flow.zeros_like(nd.ones({ 2 })))  --> [0. 0.]
]==]
