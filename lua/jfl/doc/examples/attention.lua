-- Examples of attention and of recurrent layers.
return [==[
## layers.multi_head_attention
local job = flow.global_function { name = "attend", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 5, 8 }) } },
  body = function(x)
    return flow.layers.multi_head_attention(x, 2, { causal = true, name = "heads" })
  end }
local y = job(nd.rand({ 2, 5, 8 }))
print(y.shape[1], y.shape[2], y.shape[3])  --> 2	5	8
print(#flow.get_all_variables()["heads-in_proj-weight"])  --> 24

## layers.rnn
local job = flow.global_function { name = "read", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 5, 3 }) } },
  body = function(x)
    local all, last = flow.layers.rnn(x, 4)
    return flow.reshape(last, { 2, 4 })  -- after the last of five steps
  end }
print(job(nd.rand({ 2, 5, 3 })).shape[2])  --> 4

## layers.lstm
local job = flow.global_function { name = "read", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 5, 3 }) } },
  body = function(x) return (flow.layers.lstm(x, 4, { num_layers = 2, bidirectional = true })) end }
local y = job(nd.rand({ 2, 5, 3 }))
print(y.shape[1], y.shape[2], y.shape[3])  --> 2	5	8

## layers.gru
local job = flow.global_function { name = "read", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 5, 3 }) } },
  body = function(x) return (flow.layers.gru(x, 4, { name = "reader" })) end }
local y = job(nd.rand({ 2, 5, 3 }))
print(y.shape[3], #flow.get_all_variables()["reader-weight_ih_l0"])  --> 4	12

## nn.rotary_embedding
local x = nd.array({ { 1, 0 }, { 1, 0 } })  -- the row at position 1 is turned by 1 radian
print(flow.nn.rotary_embedding(x))          --> [[1.         0.        ]
                                            -->  [0.5403023  0.84147096]]

## nn.scaled_dot_product_attention
-- one sequence, one head, two positions; the second value is seen by the second query alone
local q = nd.zeros({ 1, 1, 2, 4 })
local v = nd.array({ { { { 1 }, { 3 } } } })
print(flow.reshape(flow.nn.scaled_dot_product_attention(q, q, v), { -1 }))  --> [2. 2.]
local y = flow.nn.scaled_dot_product_attention(q, q, v, { causal = true })
print(flow.reshape(y, { -1 }))                                              --> [1. 2.]
-- a mask hides keys; in train jobs dropout_rate drops weights
y = flow.nn.scaled_dot_product_attention(q, q, v, { mask = nd.array({ 0, 1 }, "int8"),
  dropout_rate = 0.1 })
print(flow.reshape(y, { -1 }))                                              --> [3. 3.]

]==]
