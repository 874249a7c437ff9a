-- Examples of ops that move elements.
return [==[
## chunk, unbind
local a, b, c = flow.chunk(nd.arange(5), 3)
print(a, b, c)  --> [0. 1.]	[2. 3.]	[4.]
local a, b = flow.unbind(nd.array({ { 1, 2 }, { 3, 4 } }), 1)
print(a, b)  --> [1. 3.]	[2. 4.]

## constant_like, constant_scalar
print(flow.constant_like(nd.zeros({ 2 }), 7))  --> [7. 7.]
print(flow.constant_scalar(0.5))  --> [0.5]

## constant_pad2d, reflection_pad2d, replication_pad2d
local image, sides = nd.array({ { { { 1, 2, 3 } } } }), { 2, 0, 0, 0 }
print(flow.constant_pad2d(image, sides, { constant_value = 5 }))  --> [[[[5. 5. 1. 2. 3.]]]]
print(flow.reflection_pad2d(image, sides))                        --> [[[[3. 2. 1. 2. 3.]]]]
print(flow.replication_pad2d(image, sides))                       --> [[[[1. 1. 1. 2. 3.]]]]

## count_not_finite, multi_count_not_finite
local x = nd.array({ 1, 1 / 0, 0 / 0 })
print(flow.count_not_finite(x), flow.multi_count_not_finite({ x, nd.ones({ 2 }) }))  --> [2]	[2]

## cumsum, cumprod
local sizes = nd.array({ 3, 1, 2 })
print(flow.cumsum(sizes), flow.cumprod(sizes))   --> [3. 4. 6.]	[3. 3. 6.]
print(flow.cumsum(sizes, { exclusive = true }))  --> [0. 3. 4.]

## diagonal
local x = nd.array({ { 1, 2, 3 }, { 4, 5, 6 } })
print(flow.diagonal(x), flow.diagonal(x, 1))  --> [1. 5.]	[2. 6.]

## dim_gather, dim_scatter_add
local scores = nd.array({ { 0.1, 0.7, 0.2 }, { 0.8, 0.1, 0.1 } })
local best = flow.math.top_k(scores, { k = 2 })
print(flow.dim_gather(scores, 1, best))  --> [[0.7 0.2]
                                         -->  [0.8 0.1]]
local votes = nd.array({ 2, 0, 2, 2 }, flow.int32)
print(flow.dim_scatter_add(0, nd.zeros({ 4 }), votes, nd.ones({ 4 })))  --> [1. 0. 3. 0.]

## einsum
local a, b = nd.array({ { 1, 2 }, { 3, 4 } }), nd.array({ 10, 100 })
print(flow.einsum("ij,j->i", { a, b }))   --> [210. 430.]
print(flow.einsum("ij->ji", { a }))       --> [[1. 3.]
                                          -->  [2. 4.]]
print(flow.einsum("i,j->ij", { b, b }).shape[2])  --> 2

## elem_cnt, math.reduced_shape_elem_cnt
local x = nd.zeros({ 3, 4 })
print(flow.elem_cnt(x), flow.math.reduced_shape_elem_cnt(x, { axis = 1 }))  --> [12]	[4]

## experimental.logical_slice, experimental.logical_slice_assign
print(flow.experimental.logical_slice(nd.arange(6), { { 1, 5, 2 } }))  --> [1. 3.]
local job = flow.global_function { name = "fill", inputs = {}, returns = tp.Numpy,
  body = function()
    local w = flow.get_variable("w", { 4 }, { initializer = flow.zeros_initializer() })
    flow.experimental.logical_slice_assign(w, 7, { { 1, 3 } })
    return w
  end }
print(job(), job())  --> [0. 0. 0. 0.]	[0. 7. 7. 0.]

## experimental.square_sum
print(flow.experimental.square_sum(nd.array({ 3, 4 })))  --> [25.]

## gather_nd, scatter_nd
local board = nd.array({ { 1, 2, 3 }, { 4, 5, 6 } })
print(flow.gather_nd(board, nd.array({ { 0, 2 }, { 1, 0 } }, flow.int32)))  --> [3. 4.]
local cells = nd.array({ { 1 }, { 3 }, { 1 } }, flow.int32)
print(flow.scatter_nd(cells, nd.array({ 5, 6, 7 }), { 4 }))  --> [ 0. 12.  0.  6.]

## math.broadcast_to_compatible_with
local x = nd.array({ 1, 2 })
print(flow.math.broadcast_to_compatible_with(x, { nd.zeros({ 2, 1 }) }))
--> [[1. 2.]
-->  [1. 2.]]

## math.top_k, math.in_top_k
local predictions = nd.array({ { 0.1, 0.7, 0.2 }, { 0.8, 0.1, 0.3 } })
print(flow.math.top_k(predictions, { k = 2 }))                              --> [[1 2]
                                                                            -->  [0 2]]
print(flow.math.in_top_k(nd.array({ 2, 1 }, flow.int32), predictions, 2))  --> [1 0]

## meshgrid
local grid = flow.meshgrid({ nd.arange(2), nd.arange(3) })
print(grid[1], grid[2])
--> [[0. 0. 0.]
-->  [1. 1. 1.]]	[[0. 1. 2.]
-->  [0. 1. 2.]]

## moveaxis, swapaxes, transpose
local images = nd.zeros({ 8, 28, 20, 3 })  -- NHWC
print(flow.transpose(images, { 0, 3, 1, 2 }).shape[2])  --> 3
print(flow.moveaxis(images, -1, 1).shape[2])            --> 3
print(flow.swapaxes(images, 1, 2).shape[2])             --> 20

## pad, same_padding
local x = nd.array({ 1, 2, 3 })
print(flow.pad(x, { 1, 2 }))                        --> [0. 1. 2. 3. 0. 0.]
print(flow.pad(x, { 1, 2 }, { mode = "reflect" }))  --> [2. 1. 2. 3. 2. 1.]
local image = nd.ones({ 1, 1, 1, 4 })
print(flow.same_padding(image, "SAME_UPPER", "NCHW", { 1, 3 }, 1))
--> [[[[0. 1. 1. 1. 1. 0.]]]]

## range, linspace
print(flow.range(4), flow.range(2, 8, 2))  --> [0 1 2 3]	[2 4 6]
print(flow.linspace(0, 1, 5))  --> [0.   0.25 0.5  0.75 1.  ]

## reshape_like
print(flow.reshape_like(nd.arange(4), nd.zeros({ 2, 2 })))  --> [[0. 1.]
                                                            -->  [2. 3.]]

## roll, reverse, tile, repeat_interleave
local x = nd.array({ 1, 2, 3 })
print(flow.roll(x, 2), flow.reverse(x, 0))        --> [2. 3. 1.]	[3. 2. 1.]
print(flow.tile(x, 2))                            --> [1. 2. 3. 1. 2. 3.]
print(flow.repeat_interleave(x, 2))               --> [1. 1. 2. 2. 3. 3.]
print(flow.tile(nd.array({ 1, 2 }), { 2, 1 }))    --> [[1. 2.]
                                                  -->  [1. 2.]]

## slice_update
local x = nd.arange(5)
print(flow.slice_update(x, nd.zeros({ 2 }), { { 1, 5, 2 } }))  --> [0. 0. 2. 0. 4.]

## sort, argsort
local scores = nd.array({ 0.2, 0.7, 0.1 })
print(flow.sort(scores), flow.argsort(scores))            --> [0.1 0.2 0.7]	[2 0 1]
print(flow.argsort(scores, { direction = "DESCENDING" }))  --> [1 0 2]

## tensor_scatter_nd_add, tensor_scatter_nd_update
local x, at = nd.ones({ 3 }), nd.array({ { 0 }, { 2 } }, flow.int32)
print(flow.tensor_scatter_nd_add(x, at, nd.array({ 5, 6 })))     --> [6. 1. 7.]
print(flow.tensor_scatter_nd_update(x, at, nd.array({ 5, 6 })))  --> [5. 1. 6.]

]==]
