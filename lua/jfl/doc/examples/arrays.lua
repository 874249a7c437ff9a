-- Examples of arrays and random numbers.
return [==[
## NdArray.dtype, NdArray.shape, NdArray.size
local a = nd.zeros({ 100, 784 })
print(a.dtype, nd.array({ true }).dtype)  --> float32	int8
print(a.shape[1], #a.shape, a.size)       --> 100	2	78400

## ndarray.all, ndarray.any
print(nd.array({ 1, 2, 0 }):all(), nd.array({ 1, 2, 3 }):all())  --> false	true
print(nd.array({ { 1, 0 }, { 1, 1 } }):all(1))                  --> [0 1]
local loss = nd.array({ 0.5, 0 / 0 })
print(loss:ne(loss):any())                                      --> true

## ndarray.arange, ndarray.reshape, ndarray.transpose, ndarray.slice, ndarray.take, ndarray.totable
print(nd.arange(4), nd.arange(1, 10, 3, flow.int32))  --> [0. 1. 2. 3.]	[1 4 7]
local a = nd.arange(6):reshape(2, 3)
print(a, a:reshape({ 3, -1 }).shape)                  --> [[0. 1. 2.]
                                                      -->  [3. 4. 5.]]	(3, 2)
print(a:transpose())                                  --> [[0. 3.]
                                                      -->  [1. 4.]
                                                      -->  [2. 5.]]
print(a:transpose({ 1, 0 }).shape)                    --> (3, 2)
print(nd.arange(6):slice(2, 4), nd.arange(6):slice(-2, -1))  --> [1. 2. 3.]	[4. 5.]
print(a:slice(1, 2, { axis = 1 }))                    --> [[0. 1.]
                                                      -->  [3. 4.]]
print(a:take({ 2, 1 }))                               --> [[3. 4. 5.]
                                                      -->  [0. 1. 2.]]
print(a:totable()[2][1])                              --> 3

## ndarray.argmax, ndarray.argmin
local scores = nd.array({ { 0.1, 0.7, 0.2 }, { 0.8, 0.1, 0.1 } })
print(scores:argmax(1), scores:argmax())          --> [1 0]	3
local costs = nd.array({ 3, 1, 2 })
print(costs:argmin(), costs[costs:argmin() + 1])  --> 1	1

## ndarray.argwhere, ndarray.nonzero
local a = nd.array({ { 0, 1 }, { 2, 0 } })
print(a:argwhere())                     --> [[0 1]
                                        -->  [1 0]]
print(nd.array({ 0, 3, 4 }):nonzero())  --> [[1 2]]

## ndarray.boolean_mask
local points = nd.array({ { 1, 2 }, { 3, 4 }, { 5, 6 } })
print(points:boolean_mask(nd.array({ 1, 0, 1 })))   --> [[1. 2.]
                                                    -->  [5. 6.]]
print(points:boolean_mask(points:gt(4)))            --> [5. 6.]

## ndarray.array
local a = nd.array({ { 1, 2, 3 }, { 4, 5, 6 } })
print(a.shape[1], a.shape[2], a.dtype)  --> 2	3	float32
print(nd.array({ 1, 2 }, flow.int32), nd.array({ true, false }))
--> [1 2]	[1 0]

## ndarray.astype
print(nd.array({ -1.7, 2.5, 300 }):astype(flow.uint8))  --> [  0   2 255]

## ndarray.concat, ndarray.stack
local a, b = nd.array({ 1, 2 }), nd.array({ 3, 4 })
print(nd.concat({ a, b }))    --> [1. 2. 3. 4.]
print(nd.stack({ a, b }))     --> [[1. 2.]
                              -->  [3. 4.]]
print(nd.stack({ a, b }, 1))  --> [[1. 3.]
                              -->  [2. 4.]]

## ndarray.copy, ndarray.free
local a = nd.zeros({ 2 })
local b = a:copy()
b[1] = 5
print(a, b)  --> [0. 0.]	[5. 0.]
b:free()

## ndarray.eq, ndarray.ne, ndarray.ge, ndarray.gt, ndarray.le, ndarray.lt
local a = nd.array({ 1, 2, 3 })
print(a:eq(2), a:ne(2), a:eq(nd.array({ 1, 2, 9 })):mean())  --> [0 1 0]	[1 0 1]	0.66666666666667
print(a:ge(2), a:gt(2), a:le(2), a:lt(2))  --> [0 1 1]	[0 0 1]	[1 1 0]	[1 0 0]

## ndarray.from_blocks
-- one block of q8_0: the scale 1 as a float16, then 32 times the byte 2
local w = nd.from_blocks("\0\60" .. ("\2"):rep(32), { 1, 32 }, "q8_0")
print(w:astype("float32"):sum())  --> 64

## ndarray.get, ndarray.set, ndarray.item
local a = nd.array({ { 1, 2 }, { 3, 4 } })
a:set(5, 1, 2)
print(a:get(2, 1), a[2][1], a[1])    --> 3	3	[1. 5.]
print(nd.array({ 2.5 }):item() + 1)  --> 3.5

## ndarray.load, ndarray.save
nd.save("weights.npy", nd.arange(3))
print(nd.load("weights.npy"))      --> [0. 1. 2.]
local labels = nd.array({ 0, 1 }, flow.int32)
nd.save("both.npz", { images = nd.ones({ 2, 3 }), labels = labels })
print(nd.load("both.npz").labels)  --> [0 1]

## ndarray.max, ndarray.min, ndarray.mean, ndarray.std, ndarray.sum
local a = nd.array({ { 1, 5 }, { 4, 2 } })
print(a:max(), a:max(0), a:max(1))             --> 5	[4. 5.]	[5. 4.]
print(a:min(), a:min(1))                       --> 1	[1. 2.]
print(a:mean(), a:mean(0))                     --> 3	[2.5 3.5]
print(a:sum(), a:sum(0), nd.array({ 1, 3 }):std())  --> 12	[5. 7.]	1
print(a:sum(1, { keepdims = true }).shape[2])  --> 1

## ndarray.ones, ndarray.zeros, ndarray.full, ndarray.empty, ndarray.fill
print(nd.ones({ 3 }), nd.ones({ 2 }, flow.int32))             --> [1. 1. 1.]	[1 1]
print(nd.zeros({ 2 }), nd.zeros({ 2, 3 }, flow.int64).dtype)  --> [0. 0.]	int64
print(nd.full({ 2 }, 0.5), nd.empty({ 2, 3 }):sum())          --> [0.5 0.5]	0
local a = nd.zeros({ 2, 2 })
a:fill(7)
print(a:sum())                                                --> 28

## ndarray.pointer
local a = nd.zeros({ 4 })
local p = a:pointer()
for i = 0, a.size - 1 do p[i] = i * i end
print(a)  --> [0. 1. 4. 9.]

## ndarray.rand, ndarray.randn
flow.random.seed(1)
local a, b = nd.rand({ 2, 3 }), nd.randn({ 10000 })
print(a.size, a:min() >= 0, a:max() < 1)                        --> 6	true	true
print(math.abs(b:mean()) < 0.05, math.abs(b:std() - 1) < 0.05)  --> true	true

## ndarray.unique, ndarray.unique_with_counts
local a = nd.array({ 3, 1, 3 })
print(a:unique())               --> [1. 3.]
print(a:unique_with_counts())  --> [3. 1.]	[0 1 0]	[2 1]

## random.choice
flow.random.seed(1)
print(flow.random.choice({ 0, 0, 1 }))           --> 2
local logits = nd.array { 2, 1, 9, 8 }
local next = flow.random.choice(logits, { logits = true, n = 100,
  temperature = 0.8, top_k = 2 })
print(next:min(), next:max())                    --> 2	3
print(flow.random.choice(5, { n = 5, replace = false }):sum())  --> 10

## random.normal, random.uniform, random.bernoulli, random.CoinFlip
flow.random.seed(2)
print(math.abs(flow.random.normal({ 3, 2 }, 5, 0.1):mean() - 5) < 0.5)  --> true
local dice = flow.math.floor(flow.random.uniform({ 100 }, 1, 7))
print(dice:min() >= 1, dice:max() <= 6)                                 --> true	true
print(flow.random.bernoulli(nd.array({ 0, 1, 1 })))                     --> [0. 1. 1.]
print(flow.random.CoinFlip(1000, 0.5):sum() > 300)                      --> true

## random.seed
flow.random.seed(7)
local first = nd.rand({ 3 })
flow.random.seed(7)
print(nd.rand({ 3 }):eq(first):all())  --> true

]==]
