-- The ops that take the place of patterns, in a domain of jfl's own, which no file has.
local call = require "jfl.op.call"
local core = require "jfl.core"
local maths = require "jfl.onnx.ops_math"
local values = require "jfl.onnx.values"

local op, reshape = call.op, values.reshape

local ops = {}

function ops.Gelu(_, x) return maths.by_rows(op.gelu_tanh, x) end

-- x (..., size) times a matrix, plus a line.
function ops.Linear(n, x, w, b)
  local s = x.shape
  if #s < 2 or s[#s] ~= w.shape[1] or x.dtype ~= w.dtype or b.shape[1] ~= w.shape[2] then
    n:fail("x (..., %d) must have rows for the weights, got a last extent of %s", w.shape[1],
      tostring(s[#s]))
  end
  local shape = { unpack(s) }
  shape[#s] = w.shape[2]
  return values.of_rows(op.bias_add(op.matmul(values.rows(x), w), b), shape)
end

-- ---- attention ----

-- x with so many axes, new ones behind the first.
local function with_axes(x, rank)
  local s = { unpack(x.shape) }
  while #s < rank do table.insert(s, 2, 1) end
  return reshape(x, s)
end

-- A mask whose axes count from the last one.
local function mask_like(mask, rank)
  if mask == nil then return nil end
  if rank == 3 and #mask.shape == 3 then return with_axes(mask, 4) end
  local s = { unpack(mask.shape) }
  while #s < 4 do table.insert(s, 1, 1) end
  return reshape(mask, s)
end

local function product_of(n)
  local scale = 1
  for _, name in ipairs { "scale", "scale_q", "scale_k" } do
    scale = scale * n:attr(name, 1) / n:attr(name .. "_divisor", 1)
  end
  return scale
end

local function by_products(q, k, v, mask, scale)
  local matmul = values.flow("op.products", "matmul")
  local scores = op.multiply(matmul(q, k, { transpose_b = true }), scale)
  if mask then scores = op.add(scores, mask) end
  return matmul(op.softmax(scores), v)
end

local function fits(q, k, v)
  local a, b, c = q.shape, k.shape, v.shape
  if #a ~= #b or #a ~= #c or #a < 3 or #a > 4 then return false end
  return a[1] == b[1] and a[1] == c[1] and (#a == 3 or a[2] == b[2] and a[2] == c[2])
end

-- The factor as a number, and k, which has it where it is none.
local function factored(n, k, factor)
  if factor == nil then return 1, k end
  if values.is_known(factor) and values.count(factor.shape) == 1 then
    return n:number(factor, "a factor"), k
  end
  local turn = values.steps(#k.shape)
  turn[#turn], turn[#turn - 1] = turn[#turn - 1], turn[#turn]
  return 1, values.transpose(op.multiply(values.transpose(k, turn), factor), turn)
end

-- The queries, and their factor as a number; either may be the first of the two.
local function queries(n, q, factor)
  if factor == nil then return q, 1 end
  for _, each in ipairs { { q, factor }, { factor, q } } do
    if values.is_known(each[2]) and values.count(each[2].shape) == 1 then
      return each[1], n:number(each[2], "a factor")
    end
  end
  return op.multiply(q, factor), 1
end

function ops.Attention(n, q, k, v, mask, factor, factor_q)
  local times
  q, times = queries(n, q, factor_q)
  if n:attr "swapped" then k = values.transpose(k, { 0, 2, 1, 3 }) end
  local scale, rank = product_of(n), #q.shape
  local more
  if n:attr "reshaped" and rank == 4 then       -- k had its heads together, or apart by groups
    local s, t = q.shape, k.shape
    k = reshape(k, { s[1], s[2], t[#t - 1], t[#t] })
  end
  more, k = factored(n, k, factor)
  scale = scale * more * times
  local known = mask and core.type(mask) == "array"
  if not fits(q, k, v) or mask and #mask.shape > rank then
    return by_products(q, k, v, mask, scale)
  end
  if known and mask.dtype ~= q.dtype then mask = core.cast(mask, q.dtype) end
  local y = values.flow("op.attention", "nn.scaled_dot_product_attention")(with_axes(q, 4),
    with_axes(k, 4), with_axes(v, 4), { scale = scale, mask = mask_like(mask, rank) })
  if rank == 4 then return y end
  local s = y.shape
  return reshape(y, { s[1], s[3], s[4] })
end

-- ---- rotary embedding ----

-- The base by which tables of cosines and sines of (..., length, size) were made for positions
-- from 0 on, or nil where they were not.
local function base_of(cosine, sine)
  if not values.is_known(cosine) or not values.is_known(sine) then return nil end
  local s = cosine.shape
  local length, size = s[#s - 1], s[#s]
  if not length or values.count(s) ~= length * size or size < 4 or length < 2 then return nil end
  local c, d = values.list(cosine), values.list(sine)
  if #c ~= #d then return nil end
  local turn = math.atan2(d[size + 2], c[size + 2])
  local base = turn > 0 and turn ^ (-size / 2) or 0
  if base < 10 then return nil end
  base = math.floor(base + 0.5)
  for i = 0, length - 1 do
    for j = 0, size - 1 do
      local angle = i * base ^ (-2 * (j % (size / 2)) / size)
      local k = i * size + j + 1
      if math.abs(c[k] - math.cos(angle)) > 1e-4 or math.abs(d[k] - math.sin(angle)) > 1e-4 then
        return nil
      end
    end
  end
  return base
end

function ops.Rotary(_, x, cosine, sine)
  local base = base_of(cosine, sine)
  local s = x.shape
  if base and #s == 4 and cosine.shape[#cosine.shape - 1] == s[3] then
    local digits = 10 ^ math.max(0, math.floor(math.log10(base)) - 2)
    return op.rotary_embedding(x, { base = math.floor(base / digits + 0.5) * digits })
  end
  local half = s[#s] / 2
  local front, back = values.slice(x, #s - 1, 0, half), values.slice(x, #s - 1, half, half)
  local turned = values.concat({ op.negative(back), front }, #s - 1)
  return op.add(op.multiply(x, cosine), op.multiply(turned, sine))
end

return ops
