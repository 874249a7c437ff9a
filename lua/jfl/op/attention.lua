-- Functions for networks that attend.
---@box nn.scaled_dot_product_attention
local args = require "jfl.base.args"
local call = require "jfl.op.call"

local op = call.op

local attention = {}

--- softmax(scale q k^T + mask) v, without the matrix of scores (Dao et al., FlashAttention, 2022).
attention.scaled_dot_product_attention = args.define("nn.scaled_dot_product_attention",
  "For each query the mean of the values, weighted by softmax(scale q k^T + mask). The matrix of "
  .. "weights is never made, so that memory grows with the length, not with its square.", {
    { "q", "queries, a blob or NdArray (batch, heads, length, size)", type = "Tensor" },
    { "k", "keys (batch, heads, length, size); with fewer heads than q, each serves several of q",
      type = "Tensor" },
    { "v", "values, one for each key (batch, heads, length, size)", type = "Tensor" },
    { "causal", "query i sees the keys 0 to i only", false },
    { "scale", "what scores are multiplied by; 1 / sqrt(size)", args.none, type = "number" },
    { "mask", "int8, where 0 hides a key, or numbers to add to scores, of which -inf hides a key; "
      .. "broadcast to (batch, heads, queries, keys). A query that sees no key gets 0", args.none,
      type = "Tensor" },
    { "dropout_rate", "probability of a weight being dropped in train jobs, from 0 to below 1; the "
      .. "others are multiplied by 1 / (1 - dropout_rate)", 0, type = "number" },
    { "training", "true or false overrides the job's type", args.none, type = "boolean" },
    { "name", "of the op", args.none },
    returns = "Tensor",
  }, function(o)
    local rate = call.dropout_rate("nn.scaled_dot_product_attention", "dropout_rate",
      o.dropout_rate, o.training)
    local more = { o.mask }
    if rate > 0 then
      more[#more + 1] = op.random_randint { low = 0, high = 2 ^ 53, dtype = "int64" }
    end
    return (op.scaled_dot_product_attention(o.q, o.k, o.v, more[1] and more or nil,
      { causal = o.causal, scale = o.scale, dropout_rate = rate, name = o.name }))
  end)

return attention
