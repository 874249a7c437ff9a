--- Metrics on cases small enough to count by hand; those of scikit-learn agree on each.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local metrics, nd = flow.metrics, flow.ndarray

describe("metrics", function()
  local SCORES = { { 2, 1, 0 }, { 0, 1, 2 }, { 0, 3, 1 }, { 1, 0, 2 } }

  it("count what was hit", function()
    assert.equal(0.5, metrics.accuracy(SCORES, { 0, 1, 1, 0 }))
    assert.equal(1, metrics.accuracy(nd.array(SCORES), nd.array({ 0, 2, 1, 2 }, flow.int32)))
    assert.equal(0.75, metrics.accuracy({ 0.2, 0.5, 0.9, 0.1 }, { 0, 1, 1, 1 }))
    assert.equal(0.5, metrics.accuracy({ 0.2, 0.5, 0.9, 0.1 }, { 0, 1, 1, 1 }, { threshold = 0.6 }))
    assert.equal(1, metrics.accuracy(nd.array({ 3, 0 }, flow.int32), { 3, 0 }))
    assert.equal(0.5, metrics.top_k(SCORES, { 0, 1, 1, 0 }, 1))
    assert.equal(1, metrics.top_k(SCORES, { 0, 1, 1, 0 }, 2))
    assert.equal(0.75, metrics.top_k(SCORES, { 2, 1, 1, 0 }, { k = 2 }))
  end)

  it("refuse what they cannot count, and take what lies just beside that", function()
    local function fails(text, f, ...)
      local arguments = { ... }
      helper.fails(function() f(unpack(arguments)) end, text)
    end
    fails("accuracy: predictions must be scores of classes for each label, or one number for each, "
      .. "got (2, 2) for labels (3)", metrics.accuracy, nd.ones { 2, 2 }, nd.zeros { 3 })
    fails("top_k: predictions must have a score for each class, got (2)", metrics.top_k, { 1, 2 },
      { 0, 1 })
    fails("top_k: k must be a whole number of at least 1, got number 0", metrics.top_k, SCORES,
      { 0, 1, 1, 0 }, 0)
    for _, name in ipairs { "accuracy", "top_k", "precision", "recall", "f1", "confusion" } do
      for _, label in ipairs { 3, -1, 0.5, 0 / 0 } do
        fails(("%s: labels must be classes, whole numbers from 0 to 2, got %g"):format(name, label),
          metrics[name], SCORES, { 0, 1, 1, label })
      end
    end
    fails("accuracy: labels must be classes, whole numbers from 0 to 99999, got -1",
      metrics.accuracy, { 0.2, 0.7 }, { -1, 1 })
    fails("confusion: predictions must be classes from 0, got -2", metrics.confusion,
      nd.array({ -2, 1 }, flow.int32), { 0, 1 })
    fails("confusion: labels must be classes, whole numbers from 0 to 99999, got 100000",
      metrics.confusion, { 0, 0 }, { 0, 100000 })
    fails("confusion: there must be at most 2000 classes, got 2001", metrics.confusion, { 0, 0 },
      { 0, 2000 })
    assert.same({ 2000, 2000 }, metrics.confusion({ 0, 0 }, { 0, 1999 }).shape)
    assert.same({ 2, 2 }, metrics.confusion({ 0, 1 }, { 0, 1 }, { classes = 1 }).shape)
    fails("confusion: classes must be", metrics.confusion, { 0 }, { 0 }, { classes = 0 })
    fails("auc: predictions must be a score for each label, or two, got (4, 3)", metrics.auc,
      SCORES, { 0, 1, 1, 0 })
    fails("auc: labels must be classes, whole numbers from 0 to 1, got 2", metrics.auc, { 0, 1 },
      { 0, 2 })
    fails("auc: prediction 2 is nan", metrics.auc, { 0, 0 / 0 }, { 0, 1 })
    assert.equal(1, metrics.auc({ { 0.5, 0.5 }, { 0.2, 0.8 } }, { 0, 1 }))
    assert.equal(0, metrics.auc({ 0.8, 0.2 }, { 0, 1 }))
    for _, name in ipairs { "mean_absolute_error", "mean_squared_error" } do
      fails(name .. ": there must be a prediction for each target, got (3) for (2)", metrics[name],
        { 1, 2, 3 }, { 1, 2 })
    end
  end)

  it("count pairs of classes", function()
    local labels = { 0, 1, 1, 0 }
    assert.same({ { 1, 0, 1 }, { 0, 1, 1 }, { 0, 0, 0 } },
      metrics.confusion(SCORES, labels):totable())
    assert.same({ 4, 4 }, metrics.confusion({ 0, 1 }, { 0, 1 }, { classes = 4 }).shape)
    -- Of class 0: 1 right, 1 missed; of class 1: the same; class 2 was said twice, wrongly.
    assert.near(2 / 3, metrics.precision(SCORES, labels), 1e-12)
    assert.near(1 / 3, metrics.recall(SCORES, labels), 1e-12)
    assert.near((2 / 3 + 2 / 3 + 0) / 3, metrics.f1(SCORES, labels), 1e-12)
    assert.near(0.5, metrics.f1(SCORES, labels, { average = "micro" }), 1e-12)
    -- Two classes: those of class 1 alone.
    local said = { 0.9, 0.8, 0.3, 0.6 }
    assert.near(2 / 3, metrics.precision(said, { 1, 0, 1, 1 }), 1e-12)
    assert.near(2 / 3, metrics.recall(said, { 1, 0, 1, 1 }), 1e-12)
    assert.equal(0, metrics.f1({ 0.1, 0.2 }, { 1, 1 }))
  end)

  it("leave out labels that do not count", function()
    local labels, o = { 0, -1, 1, -1 }, { ignore_index = -1 }
    assert.equal(1, metrics.accuracy(SCORES, labels, o))
    assert.equal(0.5, metrics.top_k(SCORES, { -1, -1, 0, 2 }, { k = 1, ignore_index = -1 }))
    assert.same({ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 0 } },
      metrics.confusion(SCORES, labels, o):totable())
    for _, name in ipairs { "precision", "recall", "f1" } do
      assert.equal(1, metrics[name](SCORES, labels, o))
    end
    assert.equal(1, metrics.auc({ 0.1, 0.9, 0.8 }, { 0, -1, 1 }, o))
  end)

  it("rank scores", function()
    assert.equal(0.75, metrics.auc({ 0.1, 0.4, 0.35, 0.8 }, { 0, 0, 1, 1 }))
    assert.equal(0.5, metrics.auc({ 1, 1, 1, 1 }, { 0, 1, 0, 1 }))
    assert.equal(0.75, metrics.auc({ { 0, 0.1 }, { 1, 1.4 }, { 0, 0.35 }, { 0, 0.8 } },
      { 0, 0, 1, 1 }))
  end)

  it("count no score that is not a number as a hit", function()
    local nan = 0 / 0
    for _, scores in ipairs { { 0.5, nan }, { nan, 0.5 }, { nan, nan } } do
      assert.equal(0, metrics.top_k({ scores }, { 0 }, { k = 1 }))
    end
  end)

  it("measure distances", function()
    assert.equal(1, metrics.mean_absolute_error({ 1, 2, 3 }, { 2, 2, 1 }))
    local column = nd.array { { 1 }, { 2 }, { 3 } }
    assert.near(5 / 3, metrics.mean_squared_error(column, { 2, 2, 1 }), 1e-12)
  end)

  it("say what does not fit", function()
    helper.fails(function() metrics.accuracy({ { 1, 2 } }, { 1, 2, 3 }) end,
      "accuracy: predictions must be scores of classes for each label")
    helper.fails(function() metrics.top_k({ { 1, 2 } }, { 2 }) end,
      "top_k: labels must be classes, whole numbers from 0 to 1, got 2")
    helper.fails(function() metrics.top_k({ 1, 2 }, { 0, 1 }) end, "a score for each class")
    helper.fails(function() metrics.f1({ 1 }, { 1 }, { average = "all" }) end,
      "f1: average must be one of")
    helper.fails(function() metrics.confusion({ 5000 }, { 5000 }) end,
      "confusion: there must be at most 2000 classes, got 5001")
    helper.fails(function() metrics.accuracy({ 1 }, { 1 }, "x") end, "threshold must be a number")
    helper.fails(function() metrics.auc({ 0 / 0 }, { 1 }) end, "auc: prediction 1 is nan")
    helper.fails(function() metrics.accuracy("x", { 1 }) end,
      "accuracy: predictions must be an NdArray or a list, got")
  end)
end)
