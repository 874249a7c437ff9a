-- Support vector machines of ai.onnx.ml, as converters of scikit-learn's and libsvm's write them.
local call = require "jfl.op.call"
local values = require "jfl.onnx.values"

local op, cast, reshape = call.op, values.cast, values.reshape

local svm = {}

local MOST_CLASSES, MOST_STEPS = 32, 100

-- A list of a file as float32, in rows of so many columns, or so many rows where columns is nil.
local function matrix(n, name, rows, columns)
  local list = n:need(name)
  columns = columns or #list / rows
  n:check(rows >= 1 and columns % 1 == 0 and rows * columns == #list,
    "%s must have as many numbers as its other attributes say, got %d", name, #list)
  return values.array(list, "float32", { rows, columns })
end

local function product(x, rows) return op.matmul(x, rows, { transpose_b = true }) end

-- Squares of the distances of the rows of x and of s: both are moved to the middle of s first, so
-- that less is lost in the differences.
local function distances(x, s)
  local o = { axis = { 1 }, keepdims = true }
  local middle = op.reduce_mean(s, { axis = { 0 }, keepdims = true })
  x, s = op.subtract(x, middle), op.subtract(s, middle)
  local sizes = op.add(op.reduce_sum(op.square(x), o),
    reshape(op.reduce_sum(op.square(s), o), { 1, s.shape[1] }))
  return op.maximum(op.subtract(sizes, op.multiply(product(x, s), 2)), 0)
end

local KERNELS = {
  LINEAR = product,
  POLY = function(x, s, p) return op.pow(op.add(op.multiply(product(x, s), p[1]), p[2]), p[3]) end,
  SIGMOID = function(x, s, p) return op.tanh(op.add(op.multiply(product(x, s), p[1]), p[2])) end,
  RBF = function(x, s, p) return op.exp(op.multiply(distances(x, s), -p[1])) end,
}

-- What the kernel makes of the rows of x and of the support vectors: (batch, count).
local function kernel(n, x, count)
  local how, p = n:attr("kernel_type", "LINEAR"), n:attr("kernel_params", { 0, 0, 0 })
  local f = KERNELS[how] or n:fail("kernel_type must be LINEAR, POLY, RBF or SIGMOID, got %s", how)
  if #p < 3 then n:fail("kernel_params must be gamma, coef0 and degree") end
  return f(x, matrix(n, "support_vectors", count, x.shape[2]), p)
end

function svm.regressor(n, x)
  local count = n:attr("n_supports", 0)
  local k = count > 0 and kernel(n, x, count) or x
  local y = op.add(product(k, matrix(n, "coefficients", 1, k.shape[2])), n:need("rho")[1])
  if n:attr("one_class", 0) == 0 then return y end
  return op.where(op.greater(y, 0), values.scalar(1, "float32"), values.scalar(-1, "float32"))
end

-- ---- classes ----

-- Calls fn(i, j, number) for each pair of classes, all from 1.
local function each_pair(classes, fn)
  local number = 0
  for i = 1, classes do
    for j = i + 1, classes do
      number = number + 1
      fn(i, j, number)
    end
  end
  return number
end

-- Coefficients (pairs, count): of a pair of classes those of the vectors of both.
local function pair_weights(n, per_class, count)
  local given, list, starts, first = n:need "coefficients", {}, {}, 0
  local classes = #per_class
  n:times(classes, "classes", MOST_CLASSES)
  if #given ~= (classes - 1) * count then
    n:fail("coefficients must be %d numbers, got %d", (classes - 1) * count, #given)
  end
  for i, size in ipairs(per_class) do starts[i], first = first, first + size end
  local function put(row, number, class)
    for k = starts[class] + 1, starts[class] + per_class[class] do
      list[(number - 1) * count + k] = given[(row - 1) * count + k]
    end
  end
  local pairs_of = each_pair(classes, function(i, j, number)
    for k = 1, count do list[(number - 1) * count + k] = 0 end
    put(j - 1, number, i)
    put(i, number, j)
  end)
  return values.array(list, "float32", { pairs_of, count }), pairs_of
end

-- How many pairs each class wins (batch, classes).
local function votes_of(scores, classes)
  local to_first, to_second = {}, {}
  for i = 1, values.count(scores.shape, 2) * classes do to_first[i], to_second[i] = 0, 0 end
  local count = each_pair(classes, function(i, j, number)
    to_first[(number - 1) * classes + i], to_second[(number - 1) * classes + j] = 1, 1
  end)
  local wins = cast(op.greater(scores, 0), "float32")
  local shape = { count, classes }
  return op.add(op.matmul(wins, values.array(to_first, "float32", shape)),
    op.matmul(op.add(op.negative(wins), 1), values.array(to_second, "float32", shape)))
end

-- The rows of the matrix Q (batch, classes, classes) for which the p with the least p Q p are the
-- probabilities that fit those of the pairs best (Wu, Lin and Weng 2004).
local function coupling(shares, classes)
  local r, rows = {}, {}
  for i = 1, classes do r[i] = {} end
  each_pair(classes, function(i, j, number)
    r[i][j] = values.slice(shares, 1, number - 1, 1)
    r[j][i] = op.add(op.negative(r[i][j]), 1)
  end)
  for t = 1, classes do
    local row = {}
    for j = 1, classes do
      if j ~= t then
        row[j] = op.negative(op.multiply(r[t][j], r[j][t]))
        row[t] = row[t] and op.add(row[t], op.square(r[j][t])) or op.square(r[j][t])
      end
    end
    rows[t] = { all = values.concat(row, 1), own = row[t] }
  end
  return rows
end

-- The probabilities of all classes (batch, classes), by the steps of libsvm, which each row ends
-- when it is near enough.
local function probabilities(shares, classes, batch)
  local rows, shape = coupling(shares, classes), { batch, classes }
  local p = values.expand(values.array({ 1 / classes }, "float32", { 1, 1 }), shape)
  local function total(x) return op.reduce_sum(x, { axis = { 1 }, keepdims = true }) end
  local goes_on
  for _ = 1, math.max(MOST_STEPS, classes) do
    local parts, start = {}, p
    for t = 1, classes do parts[t] = total(op.multiply(rows[t].all, p)) end
    local qp = values.concat(parts, 1)
    local pqp = total(op.multiply(p, qp))
    local far = op.greater_equal(op.reduce_max(op.abs(op.subtract(qp, pqp)),
      { axis = { 1 }, keepdims = true }), 0.005 / classes)
    goes_on = goes_on and op.logical_and(goes_on, far) or far
    for t = 1, classes do
      local row, unit = rows[t], {}
      for i = 1, classes do unit[i] = i == t and 1 or 0 end
      local own = values.slice(qp, 1, t - 1, 1)
      local step = op.divide(op.subtract(pqp, own), row.own)
      local scale = op.add(step, 1)
      local change = op.multiply(step, op.add(op.multiply(step, row.own), op.multiply(own, 2)))
      pqp = op.divide(op.add(pqp, change), op.square(scale))
      p = op.divide(op.add(p, op.multiply(step, values.array(unit, "float32", { 1, classes }))),
        scale)
      qp = op.divide(op.add(qp, op.multiply(step, row.all)), scale)
    end
    p = op.where(goes_on, p, start)
  end
  return p
end

--- Votes or scores whose greatest says the class, and the scores that a classifier gives (one for
-- each class or pair of classes). labels: how many classes there are.
function svm.scores(n, x, labels)
  local per_class, count = n:attr("vectors_per_class", {}), 0
  for _, size in ipairs(per_class) do count = count + size end
  local rho = n:need "rho"
  if count == 0 then
    local y = op.add(product(x, matrix(n, "coefficients", labels)), rho[1])
    return y, y
  end
  local w, pairs_of = pair_weights(n, per_class, count)
  if #rho ~= pairs_of then n:fail("rho must have %d numbers, got %d", pairs_of, #rho) end
  local scores = op.add(product(kernel(n, x, count), w),
    values.array(rho, "float32", { 1, pairs_of }))
  local votes = votes_of(scores, #per_class)
  if #n:attr("prob_a", {}) == 0 then return votes, scores end
  -- The probability of the first class of each pair: Platt's sigmoid.
  local a, b = matrix(n, "prob_a", 1), matrix(n, "prob_b", 1)
  local shares = op.clip_by_value(op.sigmoid(op.negative(op.add(op.multiply(scores, a), b))),
    { min_value = 1e-7, max_value = 1 - 1e-7 })
  return votes, probabilities(shares, #per_class, x.shape[1])
end

return svm
