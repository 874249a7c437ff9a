-- Losses that are made of ops: what the oracles do not ask.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, nn = flow.ndarray, flow.nn

describe("losses", function()
  local x, y = nd.array { 1, 2, 3 }, nd.array { 1, 4, 5 }

  local function fails(message, f, ...)
    local given = { ... }
    helper.fails(function() f(unpack(given)) end, message)
  end

  it("refuse a target of another shape instead of broadcasting it", function()
    fails("nn.mse_loss: target must be of shape (3) like input, got (3, 1)", nn.mse_loss, x,
      nd.zeros { 3, 1 })
    fails("nn.triplet_margin_loss: negative must be of shape (3) like anchor, got (2)",
      nn.triplet_margin_loss, x, x, nd.zeros { 2 })
    fails("nn.cosine_embedding_loss: target must be (2), one for each sample, got (1)",
      nn.cosine_embedding_loss, nd.zeros { 2, 3 }, nd.zeros { 2, 3 }, nd.ones { 1 })
  end)

  it("name a bad argument", function()
    fails("nn.l1_loss: reduction must be \"mean\", \"sum\" or \"none\", got string 'max'",
      nn.l1_loss, x, y, { reduction = "max" })
    fails("nn.l1_loss: target must be a blob or an NdArray, got number 3", nn.l1_loss, x, 3)
    fails("nn.huber_loss: delta must be a number above 0, got 0", nn.huber_loss, x, y, 0)
    fails("smooth_l1_loss: beta must be a number of at least 0, got -1",
      flow.smooth_l1_loss, x, y, -1)
    fails("nn.triplet_margin_loss: p must be a number above 0, got 0", nn.triplet_margin_loss, x,
      x, x, { p = 0 })
    fails("combined_margin_loss: x must be (samples, classes), got (3)",
      flow.combined_margin_loss, x, nd.zeros({ 3 }, flow.int32))
    fails("nn.cross_entropy: target must hold labels where weight or ignore_index is given",
      nn.cross_entropy, nd.zeros { 2, 3 }, nd.zeros { 2, 3 }, { ignore_index = 0 })
    fails("nn.cross_entropy: labels must be whole numbers of classes, int32 or int64, got float32; "
      .. 'labels:astype "int32"', nn.cross_entropy, nd.zeros { 2, 3 }, nd.zeros { 2 })
    fails("label_smoothing must be from 0 to 1, got 2", nn.cross_entropy, nd.zeros { 2, 3 },
      nd.zeros({ 2 }, flow.int32), { label_smoothing = 2 })
    fails("nn.dice_loss: input must have two axes or more, got shape (3)", nn.dice_loss, x, y)
    fails("label", nn.cross_entropy, nd.zeros { 1, 3 }, nd.array({ 3 }, flow.int32))
  end)

  it("of sequences refuse labels and lengths that are not there", function()
    local function ctc(targets, times, lengths, options)
      local function ints(list) return nd.array(list, flow.int32) end
      return flow.ctc_loss(nd.zeros { 4, 2, 3 }, ints(targets), ints(times), ints(lengths), options)
    end
    local t = { { 1, 2 }, { 1, 0 } }
    fails("label at position 1 must be from 0 to 2, got 5", ctc, { { 1, 5 }, { 1, 0 } }, { 4, 4 },
      { 2, 1 })
    fails("length at position 1 must be from 0 to 4, got 5", ctc, t, { 4, 5 }, { 2, 1 })
    fails("length at position 0 must be from 0 to 2, got 3", ctc, t, { 4, 4 }, { 3, 1 })
    fails("length at position 1 must be from 0 to 1, got 2", ctc, { 1, 2, 1 }, { 4, 4 }, { 2, 2 })
    fails("blank must be from 0 to 2, got 3", ctc, t, { 4, 4 }, { 2, 1 }, { blank = 3 })
    fails("input_lengths must be (2), one for each sample, got (1)", ctc, t, { 4 }, { 2, 1 })
    -- what stands behind a target's length is not looked at
    assert.is_true(ctc({ { 1, 2 }, { 1, -100 } }, { 4, 4 }, { 2, 1 })[1] < math.huge)
    assert.equal(math.huge, ctc({ { 1, 1 }, { 1, 0 } }, { 2, 4 }, { 2, 1 })[1])
  end)

  it("name the weight that does not fit", function()
    local wide = { weight = nd.ones { 2, 3 }, pos_weight = nd.ones { 2 } }
    fails("nn.binary_cross_entropy: weight must broadcast to the losses' shape (3), got shape (2, "
      .. "3)",
      nn.binary_cross_entropy, x, y, { weight = wide.weight })
    fails("nn.binary_cross_entropy_with_logits: pos_weight must broadcast to the losses' shape "
      .. "(3), got shape (2)",
      nn.binary_cross_entropy_with_logits, x, y, { pos_weight = wide.pos_weight })
    fails("nn.nll_loss: weight must be a line of 3, one for each class, got shape (2)",
      nn.nll_loss, nd.ones { 2, 3 }, nd.array({ 0, 1 }, flow.int32), { weight = wide.pos_weight })
  end)

  it("take targets of whole numbers", function()
    assert.same({ 0.5 }, nn.l1_loss(nd.array { 1, 3 }, nd.array({ 1, 2 }, flow.int32)):totable())
    local loss = nn.binary_cross_entropy_with_logits(nd.zeros { 2 }, nd.array({ 0, 1 }, flow.int8))
    assert.near(math.log(2), loss[1], 1e-6)
  end)

  it("of certain and right probabilities are 0, not a number divided by 0", function()
    assert.same({ 0 }, nn.binary_cross_entropy(nd.array { 0, 1 }, nd.array { 0, 1 }):totable())
    assert.equal(math.huge, nn.binary_cross_entropy(nd.array { 0 }, nd.array { 1 })[1])
    assert.same({ 0 }, nn.kl_div(nd.array { 0, -5 }, nd.array { 1, 0 }):totable())
  end)

  it("put the namespace before their name", function()
    local job = flow.global_function { name = "named", inputs = {
      { "x", flow.typing.Numpy.Placeholder { 3 } } }, returns = flow.typing.Numpy,
      body = function(b) return nn.mse_loss(b, y, { name = "distance" }) end }
    assert.truthy(job:graph():find("distance: float32 (1) = reduce_mean", 1, true))
  end)
end)
