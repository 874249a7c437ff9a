-- Examples of attention and of recurrent layers.
return [==[
## nn.scaled_dot_product_attention
-- one sequence, one head, two positions; the second value is seen by the second query alone
local q = nd.zeros({ 1, 1, 2, 4 })
local v = nd.array({ { { { 1 }, { 3 } } } })
print(flow.reshape(flow.nn.scaled_dot_product_attention(q, q, v), { -1 }))  --> [2. 2.]
local y = flow.nn.scaled_dot_product_attention(q, q, v, { causal = true })
print(flow.reshape(y, { -1 }))                                              --> [1. 2.]

]==]
