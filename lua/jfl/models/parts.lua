-- What known networks are made of. Variables are called as layers call them: name-weight,
-- name-bias, name-gamma, name-beta.
local args = require "jfl.base.args"
local cache = require "jfl.layers.cache"
local core = require "jfl.core"
local names = require "jfl.base.names"
local trace = require "jfl.job.trace"

local parts = {}

local function flow() return names.root() end

-- What configurations call functions of a layer.
local ACTIVATIONS = {
  gelu = function(x) return flow().nn.gelu(x) end,
  gelu_new = function(x) return flow().nn.gelu(x, { approximate = "tanh" }) end,
  hardswish = function(x) return flow().nn.hardswish(x) end,
  relu = function(x) return flow().nn.relu(x) end,
  relu6 = function(x) return flow().nn.relu6(x) end,
  silu = function(x) return flow().nn.silu(x) end,
  tanh = function(x) return flow().math.tanh(x) end,
}
ACTIVATIONS.gelu_pytorch_tanh, ACTIVATIONS.swish = ACTIVATIONS.gelu_new, ACTIVATIONS.silu

--- The activation of that name.
function parts.activation(name)
  if ACTIVATIONS[name] then return ACTIVATIONS[name] end
  core.fail("models: there is no activation '%s'%s", tostring(name):sub(1, 60),
    names.suggest(tostring(name), ACTIVATIONS))
end

--- What the names of networks of convolutions become: by these rules first, and those that are the
-- same for all, where normalizations are called so already.
function parts.renames(own)
  for _, rule in ipairs {
    { "normalization%.weight$", "normalization-gamma" },
    { "normalization%.bias$", "normalization-beta" },
    { "%.running_mean$", "-moving_mean" }, { "%.running_var$", "-moving_variance" },
    { "%.weight$", "-weight" }, { "%.bias$", "-bias" },
  } do
    own[#own + 1] = rule
  end
  return own
end

function parts.narrow() return flow().random_normal_initializer(0, 0.02) end

function parts.layer_norm(x, name, epsilon)
  return flow().layers.layer_norm(x, { begin_norm_axis = -1, epsilon = epsilon, name = name })
end

function parts.rms_norm(x, name, epsilon)
  return flow().layers.rms_norm(x, { epsilon = epsilon, name = name })
end

--- A convolution without a bias and its normalization, by the names that both have. o: size,
-- stride, groups, dilation, padding (as much as keeps the extent where the stride is 1), epsilon,
-- momentum, and the activation behind, if there is one.
function parts.conv_norm(x, filters, o, conv_name, norm_name)
  local dilation = o.dilation or 1
  x = flow().layers.conv2d(x, filters, { kernel_size = o.size, strides = o.stride or 1,
    use_bias = false, groups = o.groups or 1, dilation_rate = dilation, name = conv_name,
    padding = o.padding or math.floor((o.size - 1) / 2) * dilation })
  x = flow().layers.batch_normalization(x, { axis = 1, momentum = o.momentum or 0.9,
    epsilon = o.epsilon or 1e-5, name = norm_name })
  return o.activation and o.activation(x) or x
end

--- How many classes a configuration tells, which has their names or their number.
function parts.labels(c)
  if not c.id2label then return c.num_labels end
  local n = 0
  for _ in pairs(c.id2label) do n = n + 1 end
  return n
end

--- A number of channels that is a multiple of `by`, at least `least`, and at least 0.9 of n.
function parts.divisible(n, by, least)
  local near = math.max(least, math.floor((n + by / 2) / by) * by)
  return near < 0.9 * n and near + by or near
end

function parts.dense(x, units, name, use_bias)
  return flow().layers.dense(x, units, { kernel_initializer = parts.narrow(), name = name,
    use_bias = use_bias ~= false })
end

function parts.embedding(ids, vocabulary, units, name)
  return flow().layers.embedding(ids, vocabulary, units, { name = name,
    embeddings_initializer = parts.narrow() })
end

-- ---- bodies that continue texts ----

--- Calls a network with ids (batch, length) that lie behind those which the cache has, and gives
-- the logits (batch, vocabulary) of what follows the last.
function parts.continue(net, held, ids)
  local context = trace.need("generate")
  context.continues = held
  local logits = net(ids)
  context.continues = nil
  return flow().reshape(logits, { ids.shape[1], logits.shape[3] })
end

local function held_now() return trace.need("models").continues end

--- What of (batch, length, size) logits are made for: all, or the last where a text is continued.
function parts.last(x)
  local s = x.shape
  if not held_now() or s[2] == 1 then return x end
  return flow().slice(x, { 0, s[2] - 1, 0 }, { s[1], 1, s[3] })
end

--- What queries see of keys and values (batch, heads, length, size) at their place and before.
-- rotary: what queries and keys are turned by, or nil; name: of the layer.
function parts.attend(q, k, v, name, rotary)
  local held = held_now()
  local function turned(x)
    if not rotary then return x end
    if held then return cache.rotated(held, x, rotary) end
    return flow().nn.rotary_embedding(x, rotary)
  end
  q, k = turned(q), turned(k)
  if held then return cache.attend(held, "generate", trace.current.prefix .. name, q, k, v) end
  return flow().nn.scaled_dot_product_attention(q, k, v, { causal = true })
end

--- Vectors of the positions of ids (batch, length), of which there are `most`.
function parts.positions(ids, most, units, name)
  local length, held = ids.shape[2], held_now()
  args.check(length <= most, "models: the length must be at most %d, for which the network has "
    .. "positions, got %d", most, length)
  local table_of = flow().get_variable(name .. "-weight", { most, units },
    { initializer = parts.narrow() })
  if held then return flow().gather(table_of, held:positions(length)) end
  return parts.first_rows(table_of, length)
end

--- The first n rows of a table, which may be in few bits.
function parts.first_rows(table_of, n)
  if not core.blocks[table_of.dtype] then return flow().slice(table_of, { 0, 0 }, { n, -1 }) end
  local rows = {}
  for i = 1, n do rows[i] = i - 1 end
  return flow().gather(table_of, core.from_table(rows, "int32"))
end

--- (batch, length, heads * size) -> (batch, heads, length, size).
function parts.heads(x, n)
  local s = x.shape
  return flow().transpose(flow().reshape(x, { s[1], s[2], n, s[3] / n }), { 0, 2, 1, 3 })
end

--- And back.
function parts.together(x)
  local s = x.shape
  return flow().reshape(flow().transpose(x, { 0, 2, 1, 3 }), { s[1], s[3], s[2] * s[4] })
end

--- Attention and two dense layers, each behind a normalization and added to what it gets:
-- (batch, length, size). o: size, heads, inner (units of the first dense layer), epsilon,
-- activation, lacks_bias (which layers have none) and names, by the parts' names here.
function parts.block(x, name, o)
  local function norm(y, which)
    return parts.layer_norm(y, name .. "." .. o.names[which], o.epsilon)
  end
  local function dense(y, units, which)
    return parts.dense(y, units, name .. "." .. o.names[which], not o.lacks_bias[which])
  end
  local h = norm(x, "before")
  local function heads(which) return parts.heads(dense(h, o.size, which), o.heads) end
  local y = flow().nn.scaled_dot_product_attention(heads "query", heads "key", heads "value")
  x = x + dense(parts.together(y), o.size, "together")
  return x + dense(o.activation(dense(norm(x, "after"), o.inner, "up")), o.size, "down")
end

--- Products with the vectors of all tokens, which the layer of that name has.
function parts.logits(x, vocabulary, name)
  local s = x.shape
  local weight = flow().get_variable(name .. "-weight")
  local y = flow().matmul(flow().reshape(x, { s[1] * s[2], s[3] }), weight, { transpose_b = true })
  return flow().reshape(y, { s[1], s[2], vocabulary })
end

return parts
