-- Examples of ops that move elements.
return [==[
## argsort
local scores = nd.array({ 0.2, 0.7, 0.1 })
print(flow.argsort(scores))                               --> [2 0 1]
print(flow.argsort(scores, { direction = "DESCENDING" }))  --> [1 0 2]

## cumprod
print(flow.cumprod(nd.array({ 1, 2, 3, 4 })))  --> [ 1.  2.  6. 24.]

## cumsum
local sizes = nd.array({ 3, 1, 2 }, flow.int32)
print(flow.cumsum(sizes))                        --> [3 4 6]
print(flow.cumsum(sizes, { exclusive = true }))  --> [0 3 4]

## dim_gather
local scores = nd.array({ { 0.1, 0.7, 0.2 }, { 0.8, 0.1, 0.1 } })
local best = flow.math.top_k(scores, { k = 2 })
print(best)                              --> [[1 2]
                                         -->  [0 1]]
print(flow.dim_gather(scores, 1, best))  --> [[0.7 0.2]
                                         -->  [0.8 0.1]]

## dim_scatter_add
local votes = nd.array({ 2, 0, 2, 2 }, flow.int32)
print(flow.dim_scatter_add(0, nd.zeros({ 4 }), votes, nd.ones({ 4 })))
--> [1. 0. 3. 0.]

## gather_nd
local board = nd.array({ { 1, 2, 3 }, { 4, 5, 6 } })
local cells = nd.array({ { 0, 2 }, { 1, 0 } }, flow.int32)
print(flow.gather_nd(board, cells))  --> [3. 4.]

## math.top_k
local scores = nd.array({ 0.1, 0.7, 0.2 })
print(flow.math.top_k(scores, { k = 2 }))  --> [1 2]

## pad
local x = nd.array({ 1, 2, 3 })
print(flow.pad(x, { 1, 2 }))                        --> [0. 1. 2. 3. 0. 0.]
print(flow.pad(x, { 1, 2 }, { mode = "reflect" }))  --> [2. 1. 2. 3. 2. 1.]

## scatter_nd
local cells = nd.array({ { 1 }, { 3 }, { 1 } }, flow.int32)
print(flow.scatter_nd(cells, nd.array({ 5, 6, 7 }), { 4 }))  --> [ 0. 12.  0.  6.]

## sort
print(flow.sort(nd.array({ 3, 1, 2 })))  --> [1. 2. 3.]

## tensor_scatter_nd_add
local x = nd.ones({ 3 })
local at = nd.array({ { 0 }, { 0 } }, flow.int32)
print(flow.tensor_scatter_nd_add(x, at, nd.array({ 5, 6 })))  --> [12.  1.  1.]

## tensor_scatter_nd_update
local x = nd.zeros({ 2, 2 })
local rows = nd.array({ { 1 } }, flow.int32)
print(flow.tensor_scatter_nd_update(x, rows, nd.ones({ 1, 2 })))
--> [[0. 0.]
-->  [1. 1.]]
]==]
