-- Ops of ai.onnx.ml: what converters of scikit-learn's models write around networks.
local call = require "jfl.op.call"
local values = require "jfl.onnx.values"

local op, cast, reshape = call.op, values.cast, values.reshape

local ops = {}

local function row(list) return values.array(list, "float32", { 1, #list }) end

function ops.Scaler(n, x)
  local y = op.subtract(cast(x, "float32"), row(n:attr("offset", { 0 })))
  return op.multiply(y, row(n:attr("scale", { 1 })))
end

function ops.Normalizer(n, x)
  local how, y = n:attr("norm", "MAX"), cast(x, "float32")
  local o = { axis = { #x.shape - 1 }, keepdims = true }
  local norm
  if how == "L1" then norm = op.reduce_sum(op.abs(y), o)
  elseif how == "L2" then norm = values.flow("op.functions", "math.reduce_euclidean_norm")(y, o)
  else norm = op.reduce_max(op.abs(y), o) end
  return op.divide(y, op.where(op.equal(norm, 0), op.add(norm, 1), norm))
end

function ops.Binarizer(n, x)
  return cast(op.greater(x, n:attr("threshold", 0)), x.dtype)
end

function ops.ArrayFeatureExtractor(_, x, places)
  local count = values.count(places.shape)
  local index = reshape(cast(places, "int64"), { count })
  local y = op.gather(x, index, { axis = #x.shape - 1 })
  return #x.shape == 1 and reshape(y, { 1, count }) or y
end

function ops.FeatureVectorizer(_, ...)
  local list = { ... }
  for i, x in ipairs(list) do list[i] = cast(x, "float32") end
  return values.concat(list, 1)
end

--- Probabilities stay a matrix: its columns are the classes in the order of the file.
function ops.ZipMap(_, x) return x end

local AFTER = {
  NONE = function(x) return x end,
  SOFTMAX = function(x) return op.softmax(x) end,
  LOGISTIC = function(x) return op.sigmoid(x) end,
}

local function after(n, x)
  local how = n:attr("post_transform", "NONE")
  local f = AFTER[how] or n:fail("post_transform must be NONE, SOFTMAX or LOGISTIC, got %s", how)
  return f(x)
end

-- Rows of coefficients, one for each target, times x, plus what is added.
local function linear(n, x, rows)
  local w = n:need "coefficients"
  local y = op.matmul(cast(x, "float32"), values.array(w, "float32", { rows, #w / rows }),
    { transpose_b = true })
  local b = n:attr("intercepts", {})
  return #b > 0 and op.add(y, row(b)) or y
end

function ops.LinearRegressor(n, x) return after(n, linear(n, x, n:attr("targets", 1))) end

-- One row of coefficients stands for two classes, the other of which has what is left.
function ops.LinearClassifier(n, x)
  local labels = n:attr "classlabels_ints" or n:fail("its classes must be whole numbers, got texts")
  local rows = #n:attr("intercepts", labels)
  local scores = linear(n, x, rows)
  local how = n:attr("post_transform", "NONE")
  if rows == 1 and #labels == 2 then
    local other = how == "LOGISTIC" and op.subtract(1, after(n, scores)) or op.negative(scores)
    scores = values.concat({ other, after(n, scores) }, 1)
  else
    scores = after(n, scores)
  end
  local place = op.argmax(scores, { axis = 1 })
  return op.gather(values.array(labels, "int64"), cast(place, "int64"), { axis = 0 }), scores
end

return ops
