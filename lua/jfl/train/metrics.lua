-- flow.metrics: how good predictions are.
---@space metrics
---@box metrics.accuracy metrics.auc metrics.confusion metrics.f1 metrics.mean_absolute_error
---@box metrics.mean_squared_error metrics.precision metrics.recall metrics.top_k
local args = require "jfl.base.args"
local counter = require "jfl.train.counter"

local metrics = {}

local PREDICTIONS = { "predictions", "scores of classes, or one number each",
  type = "NdArray|table" }
local LABELS = { "labels", "classes from 0", type = "NdArray|table" }
local THRESHOLD = { "threshold", "from where one score means class 1", 0.5 }
local AVERAGE = { "average", "\"binary\" (class 1 alone), \"macro\" (the mean over classes) or "
  .. "\"micro\" (all together); binary where there are two classes, else macro", args.none,
  type = "string" }
local IGNORED = { "ignore_index", "a label that does not count", args.none, type = "number" }

local function define(name, doc, params, returns)
  params.returns = returns or "number"
  metrics[name] = args.define("metrics." .. name, doc, params, function(o, who)
    if o.threshold ~= nil then args.expect(who, "threshold", o.threshold, "number") end
    if o.classes ~= nil then args.integer(who, "classes", o.classes, 1) end
    local count = counter.new(name, name, name, o)
    count:add(o[params[1][1]], o[params[2][1]])
    return count:value()
  end)
end

define("accuracy", "The share of labels that predictions hit.",
  { PREDICTIONS, LABELS, THRESHOLD, IGNORED })
define("top_k", "The share of labels whose score is among the k highest.",
  { PREDICTIONS, LABELS, { "k", "how many", 5 }, IGNORED })
define("precision", "The share of what was said to be a class that is.",
  { PREDICTIONS, LABELS, AVERAGE, THRESHOLD, IGNORED })
define("recall", "The share of a class that was found.",
  { PREDICTIONS, LABELS, AVERAGE, THRESHOLD, IGNORED })
define("f1", "The harmonic mean of precision and recall.",
  { PREDICTIONS, LABELS, AVERAGE, THRESHOLD, IGNORED })
define("auc", "The area under the ROC curve: how probable it is that a label 1 has a higher score "
  .. "than a label 0.", { PREDICTIONS, LABELS, IGNORED })
define("confusion", "How often each class (a row) was said to be each (a column).",
  { PREDICTIONS, LABELS, THRESHOLD,
    { "classes", "how many there are at least", args.none, type = "integer" }, IGNORED },
  "NdArray")

local NUMBERS = { "predictions", "numbers", type = "NdArray|table" }
local TARGETS = { "targets", "the right numbers", type = "NdArray|table" }

define("mean_absolute_error", "The mean distance of predictions from targets.",
  { NUMBERS, TARGETS })
define("mean_squared_error", "The mean squared distance of predictions from targets.",
  { NUMBERS, TARGETS })

return metrics
