-- Functions for networks that attend.
local args = require "jfl.base.args"
local call = require "jfl.net.call"

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
    { "mask", "int8, where 0 hides a key, or numbers to add to scores; broadcast to (batch, heads, "
      .. "queries, keys). A query that sees no key gets 0", args.none, type = "Tensor" },
    { "name", "of the op", args.none },
    returns = "Tensor",
  }, function(o)
    local options = { causal = o.causal, scale = o.scale, name = o.name }
    return (op.scaled_dot_product_attention(o.q, o.k, o.v, o.mask and { o.mask } or nil, options))
  end)

return attention
