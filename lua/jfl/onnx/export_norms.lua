-- Batch norms of predict jobs, which jfl describes as x f + o by fixed mean and variance: looks for
-- them, so that they are written as one node with their variables.
local shapes = require "jfl.onnx.export_shapes"

local norms = {}

-- The other input of a node that has `value` as an input.
local function beside(node, value)
  local a, b = node.inputs[1], node.inputs[2]
  return a == value and b or b == value and a or nil
end

-- A line of numbers along the channels at axis 1 of x, as it is before it is brought there; or nil.
local function line_of(n, value, x)
  local reshape = n:maker(value, "reshape")
  local line = reshape and reshape.inputs[1] or value
  local channels = x.shape[2]
  if #line.shape ~= 1 or line.shape[1] ~= channels then return nil end
  for i, e in ipairs(value.shape) do
    local axis = #x.shape - #value.shape + i
    if e ~= (axis == 2 and channels or 1) then return nil end
  end
  return line
end

-- The number that a value is filled with, or nil.
local function number_of(n, value)
  local constant = n:maker(value, "constant")
  return constant and constant.attributes.value
end

-- What f is made of: variance, epsilon and gamma, if it has one.
local function factor_of(n, f)
  local product = n:maker(f, "multiply")
  for _, value in ipairs(product and product.inputs or { f }) do
    local root = n:maker(value, "rsqrt")
    local sum = root and n:maker(root.inputs[1], "add")
    for _, variance in ipairs(sum and sum.inputs or {}) do
      local epsilon = number_of(n, beside(sum, variance))
      if epsilon and #variance.shape == 1 then
        return variance, epsilon, product and beside(product, value)
      end
    end
  end
end

-- What o is made of: mean and beta, if it has one.
local function offset_of(n, o, f)
  local sum = n:maker(o, "add")
  for _, value in ipairs(sum and sum.inputs or { o }) do
    local negative = n:maker(value, "negative")
    local product = negative and n:maker(negative.inputs[1], "multiply")
    local mean = product and beside(product, f)
    if mean then return mean, sum and beside(sum, value) end
  end
end

--- The batch norm that an addition ends: a table with x, mean, variance, epsilon, gamma and beta;
-- or nil.
function norms.find(n)
  local product, last = n.inputs[1] and n:maker(n.inputs[1], "multiply"), n.inputs[2]
  local x = product and product.inputs[1]
  if not x or #x.shape < 2 or type(x.shape[2]) ~= "number" then return nil end
  local f, o = line_of(n, product.inputs[2], x), line_of(n, last, x)
  if not (f and o) then return nil end
  local variance, epsilon, gamma = factor_of(n, f)
  local mean, beta = offset_of(n, o, f)
  if not (variance and mean) then return nil end
  for _, value in ipairs { variance, mean, gamma or mean, beta or mean } do
    if #value.shape ~= 1 or value.shape[1] ~= x.shape[2] then return nil end
  end
  return { x = x, mean = mean, variance = variance, epsilon = epsilon, gamma = gamma, beta = beta }
end

--- Writes one.
function norms.write(b, n, found)
  local function line(value, number)
    if value then return b:name(value) end
    return shapes.filled(b, n.out.dtype, { found.x.shape[2] }, number)
  end
  b:out(n.out, "BatchNormalization", { b:name(found.x), line(found.gamma, 1), line(found.beta, 0),
    b:name(found.mean), b:name(found.variance) }, { epsilon = found.epsilon })
end

return norms
