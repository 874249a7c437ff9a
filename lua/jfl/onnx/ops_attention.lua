-- ONNX's Attention and RotaryEmbedding.
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local maths = require "jfl.onnx.ops_math"
local values = require "jfl.onnx.values"

local op, cast, reshape = call.op, values.cast, values.reshape

local ops = {}

-- ---- attention ----

-- (batch, length, heads * size) as (batch, heads, length, size).
local function in_heads(n, x, heads)
  local s = x.shape
  if #s == 4 then return x end
  if #s ~= 3 then n:fail("its inputs must have 3 or 4 axes, got %s", args.shape_text(s)) end
  if type(heads) ~= "number" or heads < 1 or s[3] % heads ~= 0 then
    n:fail("the heads must divide %d, got %s", s[3], tostring(heads))
  end
  return values.transpose(reshape(x, { s[1], s[2], heads, s[3] / heads }), { 0, 2, 1, 3 })
end

-- How many keys stand in front of the first query, for each sample or for all.
local function offset_of(a)
  if a.valid then return op.subtract(a.valid, a.q_len) end
  return values.scalar(a.past, "int64")
end

-- Which keys queries see beside the mask that is given: int8, or nil for all. Positions of queries
-- count from the keys before them.
local function visible(n, a)
  local left, right = n:attr("left_window_size", -1), n:attr("right_window_size", -1)
  local causal, seen = n:flag "is_causal", nil
  n:times(a.k_len + a.q_len, "keys and queries")
  local function both(condition) seen = seen and op.logical_and(seen, condition) or condition end
  local keys = values.array(values.steps(a.k_len), "int64", { 1, 1, 1, a.k_len })
  if a.valid then both(op.less(keys, a.valid)) end
  if not causal and left < 0 and right < 0 then return seen end
  local own = op.add(values.array(values.steps(a.q_len), "int64", { 1, 1, a.q_len, 1 }),
    offset_of(a))
  if causal then both(op.less_equal(keys, own)) end
  if left >= 0 then both(op.greater_equal(keys, op.subtract(own, left))) end
  if right >= 0 then both(op.less_equal(keys, op.add(own, right))) end
  return seen
end

-- The mask that is given, with four axes and all keys: bools are int8, numbers are of q's dtype.
-- What a shorter one does not cover is hidden.
local function given_mask(mask, a)
  if mask == nil then return nil end
  local shape = { unpack(mask.shape) }
  while #shape < 4 do table.insert(shape, 1, 1) end
  mask = reshape(mask, shape)
  local lacks = a.k_len - shape[4]
  if lacks > 0 and shape[4] > 1 then
    mask = op.pad(mask, { paddings = { 0, 0, 0, 0, 0, 0, 0, lacks },
      constant_value = mask.dtype == "int8" and 0 or -math.huge })
  end
  return mask.dtype ~= "int8" and cast(mask, a.q.dtype) or mask
end

-- Both masks as one.
local function joined(mask, seen, dtype)
  if not mask or not seen then return mask or seen end
  if mask.dtype == "int8" then return op.logical_and(mask, seen) end
  return op.where(seen, mask, values.scalar(-math.huge, dtype))
end

-- Scores, weights and results one after the other, for what jfl's op does not give.
local function by_steps(n, a, scale, mask)
  local heads, groups = a.q.shape[2], a.k.shape[2]
  local function spread(x)
    if heads == groups then return x end
    return values.flow("op.arrays", "repeat_interleave")(x, heads / groups, 1)
  end
  local q, k, v = a.q, spread(a.k), spread(a.v)
  local scores = { op.multiply(op.matmul(q, k, { transpose_b = true }), scale) }
  local cap = n:attr("softcap", 0)
  scores[2] = scores[1]
  if cap ~= 0 then scores[2] = op.multiply(op.tanh(op.divide(scores[1], cap)), cap) end
  scores[3] = scores[2]
  local full = scores[2].shape
  local seen
  if mask and mask.dtype == "int8" then
    seen = values.expand(mask, full)
    scores[3] = op.where(seen, scores[2], values.scalar(-math.huge, q.dtype))
  elseif mask then
    local added = values.expand(mask, full)
    seen = op.greater(added, -math.huge)
    scores[3] = op.where(seen, op.add(scores[2], added), values.scalar(-math.huge, q.dtype))
  end
  local wide = n:attr "softmax_precision" and maths.dtype_of(n, n:attr "softmax_precision")
  local rows = cast(scores[3], wide or q.dtype)
  if seen then             -- below all scores, but a number: a row may see nothing
    local least = rows.dtype == "float16" and -6e4 or -1e30
    rows = op.where(seen, rows, values.scalar(least, rows.dtype))
  end
  scores[4] = cast(op.softmax(rows), q.dtype)
  if seen then scores[4] = op.where(seen, scores[4], values.scalar(0, q.dtype)) end
  return op.matmul(scores[4], v), scores[n:attr("qk_matmul_output_mode", 0) + 1]
end

function ops.Attention(n, q, k, v, mask, past_k, past_v, valid)
  local flat = #q.shape == 3
  q = in_heads(n, q, n:attr "q_num_heads")
  k, v = in_heads(n, k, n:attr "kv_num_heads"), in_heads(n, v, n:attr "kv_num_heads")
  if past_k then k, v = values.concat({ past_k, k }, 2), values.concat({ past_v, v }, 2) end
  local a = { q = q, k = k, v = v, q_len = q.shape[3], k_len = k.shape[3],
    past = past_k and past_k.shape[3] or 0,
    valid = valid and reshape(cast(valid, "int64"), { values.count(valid.shape), 1, 1, 1 }) }
  local scale = n:attr("scale", 1 / math.sqrt(q.shape[4]))
  local simple = n:attr("softcap", 0) == 0 and not n:wants(4)
  local windows = n:attr("left_window_size", -1) >= 0 or n:attr("right_window_size", -1) >= 0
  local square = n:flag "is_causal" and a.q_len == a.k_len and not a.valid and not windows
  local all = given_mask(mask, a)
  if not (simple and square) then all = joined(all, visible(n, a), q.dtype) end
  local y, scores
  if simple then
    y = values.flow("op.attention", "nn.scaled_dot_product_attention")(q, k, v, {
      causal = square or false, scale = scale, mask = all })
  else
    y, scores = by_steps(n, a, scale, all)
  end
  if flat then
    local s = y.shape
    y = reshape(values.transpose(y, { 0, 2, 1, 3 }), { s[1], s[3], s[2] * s[4] })
  end
  return y, n:wants(2) and k or nil, n:wants(3) and v or nil, scores
end

-- ---- rotary embedding ----

-- x turned by tables of cosines and sines, of which each row has a half of x's.
local function turned(x, cosine, sine, interleaved)
  local s = x.shape
  local half = s[#s] / 2
  if interleaved then
    x = reshape(x, { s[1], s[2], s[3], half, 2 })
    local a = reshape(values.slice(x, 4, 0, 1), { s[1], s[2], s[3], half })
    local b = reshape(values.slice(x, 4, 1, 1), { s[1], s[2], s[3], half })
    local real = op.subtract(op.multiply(cosine, a), op.multiply(sine, b))
    local imaginary = op.add(op.multiply(sine, a), op.multiply(cosine, b))
    local one = { s[1], s[2], s[3], half, 1 }
    return reshape(values.concat({ reshape(real, one), reshape(imaginary, one) }, 4), s)
  end
  local a, b = values.slice(x, 3, 0, half), values.slice(x, 3, half, half)
  return values.concat({ op.subtract(op.multiply(cosine, a), op.multiply(sine, b)),
    op.add(op.multiply(sine, a), op.multiply(cosine, b)) }, 3)
end

function ops.RotaryEmbedding(n, x, cosine, sine, positions)
  local own, dims = x.shape, n:attr("rotary_embedding_dim", 0)
  if #own == 3 then x = in_heads(n, x, n:attr("num_heads", 0)) end
  local size = x.shape[4]
  if dims == 0 then dims = size end
  local function rows(t)
    if positions then t = op.gather(t, cast(positions, "int64"), { axis = 0 }) end
    t = values.slice(t, 2, 0, dims / 2)
    return reshape(t, { t.shape[1], 1, t.shape[2], dims / 2 })
  end
  local y = turned(values.slice(x, 3, 0, dims), rows(cosine), rows(sine), n:flag "interleaved")
  if dims < size then y = values.concat({ y, values.slice(x, 3, dims, size - dims) }, 3) end
  if #own == 3 then y = reshape(values.transpose(y, { 0, 2, 1, 3 }), own) end
  return y
end

return ops
