-- Ops of ai.onnx.ml: what converters of scikit-learn's models write around networks.
local call = require "jfl.op.call"
local svm = require "jfl.onnx.ops_svm"
local trees = require "jfl.onnx.ops_trees"
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

local function labels_of(n, name)
  return n:attr(name) or n:fail("its classes must be whole numbers, got texts")
end

-- The class of the greatest score in each row.
local function label_of(labels, all)
  local place = op.argmax(all, { axis = 1 })
  return op.gather(values.array(labels, "int64"), cast(place, "int64"), { axis = 0 })
end

-- One row of coefficients stands for two classes, the other of which has what is left.
function ops.LinearClassifier(n, x)
  local labels = labels_of(n, "classlabels_ints")
  local rows = #n:attr("intercepts", labels)
  local scores = linear(n, x, rows)
  local how = n:attr("post_transform", "NONE")
  if rows == 1 and #labels == 2 then
    local other = how == "LOGISTIC" and op.subtract(1, after(n, scores)) or op.negative(scores)
    scores = values.concat({ other, after(n, scores) }, 1)
  else
    scores = after(n, scores)
  end
  return label_of(labels, scores), scores
end

-- ---- support vector machines ----

function ops.SVMRegressor(n, x) return after(n, svm.regressor(n, cast(x, "float32"))) end

-- Of two classes without probabilities one score is given, which stands for both.
function ops.SVMClassifier(n, x)
  local labels = labels_of(n, "classlabels_ints")
  local by, scores = svm.scores(n, cast(x, "float32"), #labels)
  if scores.shape[2] == 1 then scores = values.concat({ op.negative(scores), scores }, 1) end
  return label_of(labels, by), after(n, scores)
end

-- ---- trees ----

function ops.TreeEnsembleRegressor(n, x)
  return after(n, trees.scores(n, x, "target", n:attr("n_targets", 1)))
end

-- Whether weights of one class stand for two, and whether none of them is negative.
local function is_single(n, labels)
  for _, id in ipairs(n:need "class_ids") do
    if id ~= 0 then return false end
  end
  local is_share = true
  for _, w in ipairs(n:need "class_weights") do is_share = is_share and w >= 0 end
  return #labels == 2, is_share
end

function ops.TreeEnsembleClassifier(n, x)
  local labels = labels_of(n, "classlabels_int64s")
  local single, is_share = is_single(n, labels)
  local all = trees.scores(n, x, "class", single and 1 or #labels)
  if not single then
    all = after(n, all)
    return label_of(labels, all), all
  end
  local is_logistic = n:attr("post_transform", "NONE") == "LOGISTIC"
  all = after(n, all)
  local other = (is_logistic or is_share) and op.add(op.negative(all), 1) or op.negative(all)
  all = values.concat({ other, all }, 1)
  return label_of(labels, all), all
end

-- ---- tables with holes and classes ----

function ops.Imputer(n, x)
  local by = n:attr "imputed_value_floats" or n:need "imputed_value_int64s"
  local hole = n:attr("replaced_value_float", n:attr("replaced_value_int64", 0))
  local is_hole = hole ~= hole and op.isnan(x) or op.equal(x, hole)
  return op.where(is_hole, values.array(by, x.dtype, { 1, #by }), x)
end

--- A column for each class, in one axis more.
function ops.OneHotEncoder(n, x)
  local classes, s = n:attr "cats_int64s", { unpack(x.shape) }
  if not classes then n:fail("its classes must be whole numbers, got texts") end
  if not n:flag("zeros", true) then n:fail("zeros must be 1") end
  s[#s + 1] = 1
  return cast(op.equal(reshape(cast(x, "int64"), s), values.array(classes, "int64")), "float32")
end

return ops
