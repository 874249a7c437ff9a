-- flow.layers.multi_head_attention.
---@box layers.multi_head_attention
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local cache = require "jfl.layers.cache"
local common = require "jfl.layers.common"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local op = call.op
local attend = require("jfl.op.attention").scaled_dot_product_attention
local layers = { dense = require("jfl.layers.dense").dense }

local attention = {}

local function check_axes(who, name, x)
  common.need_floats(who, name, x)
  if #x.shape == 3 then return x end
  core.fail("%s: %s must have three axes (batch, length, size), got shape %s", who, name,
    args.shape_text(x.shape))
end

-- One of the layer's products with a weight and a bias.
local function project(l, x, units, part)
  local o = l.o
  return layers.dense(x, units, { name = l.name .. part, use_bias = o.use_bias,
    trainable = o.trainable, reuse = o.reuse, kernel_initializer = o.kernel_initializer,
    bias_initializer = o.bias_initializer, kernel_regularizer = o.kernel_regularizer,
    bias_regularizer = o.bias_regularizer })
end

-- (batch, length, heads * size) -> (batch, heads, length, size).
local function by_heads(l, x)
  local s = x.shape
  local split = op.reshape(x, { s[1], s[2], s[3] / l.size, l.size })
  return (op.transpose(split, { perm = { 0, 2, 1, 3 } }))
end

-- Queries, keys and values, by heads.
local function projections(l, x, memory)
  local units, kv = l.heads * l.size, l.kv_heads * l.size
  if not memory then
    local all = by_heads(l, project(l, x, units + 2 * kv, "-in_proj"))
    return op.split(all, { sizes = { l.heads, l.kv_heads, l.kv_heads }, axis = 1 })
  end
  return by_heads(l, project(l, x, units, "-q_proj")),
    by_heads(l, project(l, memory, kv, "-k_proj")), by_heads(l, project(l, memory, kv, "-v_proj"))
end

local function check_cache(who, o)
  args.must(cache.is(o.cache), o.cache, "%s: cache must be what flow.layers.attention_cache gives",
    who)
  for _, name in ipairs { "mask", "key_value" } do
    args.check(o[name] == nil, "%s: %s must be left out where there is a cache", who, name)
  end
  args.check(o.causal, "%s: causal must be true where there is a cache: what was there before "
    .. "cannot see what comes later", who)
end

-- What queries see of keys and values.
local function attended(l, q, k, v)
  local o = l.o
  if not o.cache then
    if o.rotary then q, k = op.rotary_embedding(q), op.rotary_embedding(k) end
    return attend(q, k, v, { causal = o.causal, mask = o.mask,
      dropout_rate = call.dropout_rate(l.who, "dropout_rate", o.dropout_rate) })
  end
  if o.rotary then q, k = cache.rotated(o.cache, q), cache.rotated(o.cache, k) end
  return cache.attend(o.cache, l.who, l.full, q, k, v)
end

local function read(who, o)
  local x = check_axes(who, "inputs", o.inputs)
  local l = { who = who, o = o, heads = args.integer(who, "num_heads", o.num_heads, 1) }
  l.kv_heads = args.integer(who, "num_kv_heads", o.num_kv_heads or l.heads, 1)
  args.check(l.heads % l.kv_heads == 0, "%s: num_kv_heads must divide num_heads %d, got %d", who,
    l.heads, l.kv_heads)
  if o.head_size == nil and x.shape[3] % l.heads ~= 0 then
    core.fail("%s: num_heads must divide the size %d of inputs unless head_size is given, got %d",
      who, x.shape[3], l.heads)
  end
  l.size = args.integer(who, "head_size", o.head_size or x.shape[3] / l.heads, 1)
  if o.cache ~= nil then check_cache(who, o) end
  return l, x
end

--- Several heads of attention with their weights (Vaswani et al., Attention Is All You Need, 2017).
attention.multi_head_attention = args.define("layers.multi_head_attention",
  "Each position reads the others, in several heads, and gives a vector of its own size. "
  .. "Variables: NAME-in_proj-weight and -bias with the rows of queries, keys and values in this "
  .. "order (with key_value NAME-q_proj, NAME-k_proj and NAME-v_proj instead), and "
  .. "NAME-out_proj-weight and -bias.", {
    { "inputs", "a blob (batch, length, size)", type = "Blob" },
    { "num_heads", "how many heads there are", type = "integer" },
    { "key_value", "a blob (batch, other length, size) that is read instead of inputs", args.none,
      type = "Blob" },
    { "causal", "position i reads positions 0 to i only", false },
    { "mask", "as in nn.scaled_dot_product_attention", args.none, type = "Blob" },
    { "dropout_rate", "probability of a weight of attention being dropped in train jobs", 0,
      type = "number" },
    { "rotary", "whether queries and keys are turned by nn.rotary_embedding", false },
    { "num_kv_heads", "heads of keys and values, a divisor of num_heads; num_heads", args.none,
      type = "integer" },
    { "head_size", "extent of a head; size / num_heads", args.none, type = "integer" },
    { "cache", "a layers.attention_cache, with which inputs are new positions behind those of "
      .. "earlier calls", args.none, type = "AttentionCache" },
    common.params.use_bias, common.params.kernel_initializer, common.params.bias_initializer,
    common.params.kernel_regularizer, common.params.bias_regularizer, common.params.trainable,
    { "name", "of the layer; multi_head_attention_1, ... in call order", args.none },
    common.params.reuse,
    returns = "Blob",
  }, function(o, who)
    local context = trace.need(who)
    local l, x = read(who, o)
    local memory = o.key_value ~= nil and check_axes(who, "key_value", o.key_value) or nil
    l.full = trace.name(context, o.name, "multi_head_attention")
    l.name = l.full:sub(#context.prefix + 1)
    local y = attended(l, projections(l, x, memory))
    y = op.transpose(y, { perm = { 0, 2, 1, 3 } })
    y = op.reshape(y, { x.shape[1], x.shape[2], l.heads * l.size })
    return project(l, y, x.shape[3], "-out_proj")
  end)

return attention
