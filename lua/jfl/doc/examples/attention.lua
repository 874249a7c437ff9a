-- Examples of attention and of recurrent layers.
return [==[
## layers.attention_cache, layers.multi_head_attention
local cache = flow.layers.attention_cache(16)
local job = flow.global_function { name = "go_on", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ -1, 1, 8 }) } },   -- (new positions, sequences, size)
  body = function(x)
    x = flow.transpose(x, { 1, 0, 2 })
    return flow.layers.multi_head_attention(x, 2, { causal = true, cache = cache, name = "heads" })
  end }
job(nd.rand({ 5, 1, 8 }))
print(job(nd.rand({ 1, 1, 8 })).shape, cache:lengths()[1])  -- sees all six
--> (1, 1, 8)	6
print(#flow.get_all_variables()["heads-in_proj-weight"])    --> 24

## AttentionCache:positions, AttentionCache:lengths, AttentionCache:rewind, AttentionCache:clear
local cache = flow.layers.attention_cache(8)
local job = flow.global_function { name = "count", returns = tp.Numpy, inputs = {},
  body = function() return cache:positions(3) end }
job()
print(job():totable()[1][1])  --> 3
cache:rewind(1)
print(cache:lengths()[1])     --> 1
cache:clear()
print(cache:lengths()[1])     --> 0

## generate
local cache = flow.layers.attention_cache(16)
local step = flow.global_function { name = "step", returns = tp.Numpy,
  inputs = { { "ids", tp.Numpy.Placeholder({ -1, 1 }, flow.int32) } },
  body = function(ids)
    local n = ids.shape[1]
    local x = flow.layers.embedding(flow.transpose(ids, { 1, 0 }), 10, 8)
    x = x + flow.layers.multi_head_attention(x, 2, { causal = true, cache = cache, rotary = true })
    local last = flow.slice(x, { 0, n - 1, 0 }, { 1, 1, 8 })
    return flow.layers.dense(flow.reshape(last, { 1, 8 }), 10)
  end }
local text = flow.generate(step, { 3, 1, 4 }, { cache = cache, max = 5, temperature = 0.8 })
print(#text)  --> 5

## layers.rnn, layers.lstm, layers.gru
local net = flow.model("read", function(x)
  local all, last = flow.layers.rnn(x, 4)
  return flow.layers.lstm(x, 4, { num_layers = 2, bidirectional = true }), last,
    (flow.layers.gru(x, 4, { name = "reader" }))
end)
local read = net:predict { inputs = { flow.float32 { 2, 5, 3 } },
  output = function(y, ...) return y, select(select("#", ...) - 1, ...) end }
local y, last, z = read(nd.rand({ 2, 5, 3 }))
print(y.shape, last.size, z.shape)  --> (2, 5, 8)	8	(2, 5, 4)

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
