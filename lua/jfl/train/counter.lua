-- What counts the metrics of flow.metrics batch by batch.
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local names = require "jfl.base.names"

local counter = {}

-- By name: { start(options), which gives a count to begin with, add(count, predictions, labels),
-- value(count), better = "higher" or "lower" }.
local records = {}

-- ---- predictions and labels ----

local function to_array(who, what, value)
  if core.type(value) == "array" then return value end
  if type(value) == "table" and metatable(value) == nil and next(value) ~= nil then
    return core.from_table(value, "float64", nil, ("%s: %s"):format(who, what))
  end
  core.fail("%s: %s must be an NdArray or a list, got %s", who, what, args.describe(value))
end

local function flat(array)
  return core.reshape(core.cast(array, "float64"), { -1 }):totable()
end

-- The axis of the scores of classes, from 0, where predictions have one and labels do not; nil
-- where both have the same shape, but for axes of one element.
local function class_axis(who, p, t)
  local shape, want = p.shape, args.shape_text(t.shape)
  for axis = #shape, 1, -1 do
    local rest = {}
    for i, extent in ipairs(shape) do rest[#rest + 1] = i ~= axis and extent or nil end
    if #shape == #t.shape + 1 and args.shape_text(rest) == want then
      return shape[axis] > 1 and axis - 1 or nil
    end
  end
  if p.size == t.size then return nil end
  core.fail("%s: predictions must be scores of classes for each label, or one number for each, got "
    .. "%s for labels %s", who, args.shape_text(shape), want)
end

-- The class that each prediction says, as a list, and how many there are scores of. Of one score
-- each, whole numbers are classes themselves, and others class 1 from the threshold on.
local function classes_of(who, p, t, threshold)
  local axis = class_axis(who, p, t)
  if axis then return flat(p:argmax(axis)), p.shape[axis + 1] end
  local list = flat(p)
  if p.dtype:find("int", 1, true) then return list end
  for i, score in ipairs(list) do list[i] = score >= threshold and 1 or 0 end
  return list
end

-- What all that count classes begin with.
local function class_count(o)
  return { sum = 0, n = 0, threshold = o.threshold or 0.5, ignored = o.ignore_index }
end

local MOST_CLASSES = 100000

-- Labels as a list: classes below `most`, if that is known, and false for those that do not count.
local function labels_of(who, count, t, most)
  local labels = flat(t)
  most = most or MOST_CLASSES
  for i, label in ipairs(labels) do
    if label == count.ignored then labels[i] = false
    elseif label % 1 ~= 0 or label < 0 or label >= most then
      core.fail("%s: labels must be classes, whole numbers from 0 to %d, got %g", who, most - 1,
        label)
    end
  end
  return labels
end

-- ---- shares of right answers ----

local function mean_of() return { sum = 0, n = 0 } end
local function mean_value(count) return count.sum / count.n end

records.accuracy = { better = "higher", value = mean_value,
  start = class_count,
  add = function(count, p, t)
    local said, n = classes_of("accuracy", p, t, count.threshold)
    for i, label in ipairs(labels_of("accuracy", count, t, n)) do
      if said[i] == label then count.sum = count.sum + 1 end
      if label then count.n = count.n + 1 end
    end
  end,
}

-- Calls fn(i, at, step, n) for each label: its n scores are at `at`, at + step, ... of flat(p).
local function each_scores(p, axis, fn)
  local n, step = p.shape[axis + 1], 1
  for i = axis + 2, #p.shape do step = step * p.shape[i] end
  for i = 1, p.size / n do
    local outer, inner = math.floor((i - 1) / step), (i - 1) % step
    fn(i, outer * n * step + inner + 1, step, n)
  end
end

-- Whether fewer than k of the scores from `at` on are above that of the label. One that is nan is
-- never among the highest, and each is above it.
local function is_among(k, scores, label, at, step, n)
  local own, above = scores[at + label * step], 0
  for class = 0, n - 1 do
    local score = scores[at + class * step]
    if class ~= label and (score > own or score ~= score or own ~= own) then above = above + 1 end
  end
  return above < k
end

records.top_k = { better = "higher", value = mean_value,
  start = function(o)
    local count = class_count(o)
    count.k = args.integer("top_k", "k", o.k or 5, 1)
    return count
  end,
  add = function(count, p, t)
    local axis = class_axis("top_k", p, t)
    args.fits(axis, p.shape, "top_k: predictions must have a score for each class, got")
    local scores, labels = flat(p), labels_of("top_k", count, t, p.shape[axis + 1])
    each_scores(p, axis, function(i, ...)
      if not labels[i] then return end
      if is_among(count.k, scores, labels[i], ...) then count.sum = count.sum + 1 end
      count.n = count.n + 1
    end)
  end,
}

-- ---- counts of pairs of classes ----

local MOST_ROWS = 2000

-- Calls fn(label, class) for each label that counts and the class that was said.
local function each_pair(who, count, p, t, fn)
  local said, n = classes_of(who, p, t, count.threshold)
  count.classes = math.max(count.classes, n or 2)
  for i, label in ipairs(labels_of(who, count, t, n)) do
    if label and said[i] < 0 then
      core.fail("%s: predictions must be classes from 0, got %d", who, said[i])
    elseif label then
      count.classes = math.max(count.classes, label + 1, said[i] + 1)
      fn(label, said[i])
    end
  end
end

local function more(counts, class) counts[class] = (counts[class] or 0) + 1 end

local function pairs_count(o)
  local count = class_count(o)
  count.classes, count.average = o.classes or 0, o.average
  return count
end

records.confusion = {
  start = function(o)
    local count = pairs_count(o)
    count.pairs = {}
    return count
  end,
  add = function(count, p, t)
    each_pair("confusion", count, p, t, function(label, class)
      count.pairs[label] = count.pairs[label] or {}
      more(count.pairs[label], class)
    end)
  end,
  value = function(count)
    local rows = {}
    args.check(count.classes <= MOST_ROWS, "confusion: there must be at most %d classes, got %d",
      MOST_ROWS, count.classes)
    for label = 0, count.classes - 1 do
      local row = {}
      for class = 0, count.classes - 1 do
        row[class + 1] = (count.pairs[label] or {})[class] or 0
      end
      rows[label + 1] = row
    end
    return core.from_table(rows, "int64")
  end,
}

-- How often a class was right, was said wrongly, and was missed.
local function tally(count, class)
  local hits = count.hits[class] or 0
  return hits, (count.said[class] or 0) - hits, (count.labels[class] or 0) - hits
end

-- The mean over the classes that occur of a share that is computed from tally()'s numbers; class
-- 1's alone where there are two classes, and one share of all with average = "micro".
local function share(count, of)
  local average = count.average or (count.classes <= 2 and "binary" or "macro")
  if average == "binary" then return of(tally(count, 1)) end
  local sum, n, all = 0, 0, { 0, 0, 0 }
  for class = 0, count.classes - 1 do
    local hits, wrong, missed = tally(count, class)
    all = { all[1] + hits, all[2] + wrong, all[3] + missed }
    if hits + wrong + missed > 0 then sum, n = sum + of(hits, wrong, missed), n + 1 end
  end
  if average == "micro" then return of(unpack(all)) end
  return n > 0 and sum / n or 0
end

local function part(hits, others) return hits > 0 and hits / (hits + others) or 0 end

local AVERAGES = { binary = true, macro = true, micro = true }

local function share_record(name, of)
  records[name] = { better = "higher",
    start = function(o)
      if o.average ~= nil and not AVERAGES[o.average] then
        core.fail("%s: average must be one of %s, got %s", name, args.names_of(AVERAGES),
          args.describe(o.average))
      end
      local count = pairs_count(o)
      count.hits, count.said, count.labels = {}, {}, {}
      return count
    end,
    add = function(count, p, t)
      each_pair(name, count, p, t, function(label, class)
        more(count.labels, label)
        more(count.said, class)
        if label == class then more(count.hits, class) end
      end)
    end,
    value = function(count) return share(count, of) end,
  }
end

share_record("precision", function(hits, wrong) return part(hits, wrong) end)
share_record("recall", function(hits, _, missed) return part(hits, missed) end)
share_record("f1", function(hits, wrong, missed) return part(2 * hits, wrong + missed) end)

-- ---- the area under the ROC curve ----

-- One score a label: that of class 1, or by how much it is above that of class 0.
local function scores_of(p, t)
  local axis, list = class_axis("auc", p, t), flat(p)
  if not axis then return list end
  local differences = {}
  each_scores(p, axis, function(i, at, step, n)
    if n ~= 2 then
      core.fail("auc: predictions must be a score for each label, or two, got %s",
        args.shape_text(p.shape))
    end
    differences[i] = list[at + step] - list[at]
  end)
  return differences
end

-- The share of pairs of a positive and a negative in which the positive has the higher score, a tie
-- being half: from the sum of the positives' ranks.
local function area(list)
  table.sort(list, function(a, b) return a.score < b.score end)
  local positives, ranks, i = 0, 0, 1
  while i <= #list do
    local last = i
    while list[last + 1] and list[last + 1].score == list[i].score do last = last + 1 end
    for k = i, last do
      if list[k].positive then positives, ranks = positives + 1, ranks + (i + last) / 2 end
    end
    i = last + 1
  end
  local negatives = #list - positives
  return (ranks - positives * (positives + 1) / 2) / (positives * negatives)
end

records.auc = { better = "higher", start = class_count, value = area,
  add = function(count, p, t)
    local scores = scores_of(p, t)
    for i, label in ipairs(labels_of("auc", count, t, 2)) do
      if scores[i] ~= scores[i] then core.fail("auc: prediction %d is nan", i) end
      if label then count[#count + 1] = { score = scores[i], positive = label == 1 } end
    end
  end,
}

-- ---- distances ----

local function distance(name, of)
  records[name] = { better = "lower", start = mean_of, value = mean_value,
    add = function(count, p, t)
      if p.size ~= t.size then
        core.fail("%s: there must be a prediction for each target, got %s for %s", name,
          args.shape_text(p.shape), args.shape_text(t.shape))
      end
      local said = flat(p)
      for i, target in ipairs(flat(t)) do count.sum = count.sum + of(said[i] - target) end
      count.n = count.n + #said
    end,
  }
end

distance("mean_absolute_error", math.abs)
distance("mean_squared_error", function(d) return d * d end)

-- ---- batch by batch ----

-- What other libraries call the metrics.
local ELSEWHERE = { acc = "accuracy", categorical_accuracy = "accuracy",
  top_k_categorical_accuracy = "top_k", f1_score = "f1", roc_auc = "auc", roc_auc_score = "auc",
  confusion_matrix = "confusion", mae = "mean_absolute_error", l1 = "mean_absolute_error",
  mse = "mean_squared_error", l2 = "mean_squared_error" }

local Counter = {}
Counter.__index = Counter

--- Counts a batch more.
function Counter:add(predictions, labels)
  local p = to_array(self.name, "predictions", predictions)
  local t = to_array(self.name, "labels", labels)
  self.record.add(self.count, p, t)
end

--- The metric of all batches so far.
function Counter:value() return self.record.value(self.count) end

--- What counts a metric batch by batch. A function of predictions and labels is one, too: its mean
-- over the batches by their rows.
function counter.new(who, name, metric, options)
  local record = metric
  if type(metric) == "function" then
    record = { start = mean_of, value = mean_value, add = function(count, p, t)
      local value = metric(p, t)
      args.must(type(value) == "number", value, "%s: the metric '%s' must give a number", who, name)
      count.sum, count.n = count.sum + value * #t, count.n + #t
    end }
  elseif type(metric) == "string" then
    record = records[metric]
    if not record then
      local instead = ELSEWHERE[metric:lower()]
      core.fail("%s: there is no metric '%s'%s", who, metric, instead
        and ("; did you mean %s?"):format(instead) or names.suggest(metric, records))
    end
  end
  return setmetatable({ name = name, record = record, count = record.start(options or {}),
    better = record.better }, Counter)
end

return counter
