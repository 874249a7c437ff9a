-- Examples of losses.
return [==[
## combined_margin_loss
local cosines = nd.array({ { 0.5, 0.25 } })
local label = nd.array({ 0 }, flow.int32)
print(flow.combined_margin_loss(cosines, label, { m3 = 0.25 }))  --> [[0.25 0.25]]

## ctc_loss
local function ints(list) return nd.array(list, flow.int32) end
local log_probs = flow.nn.logsoftmax(nd.zeros({ 4, 1, 2 }))     -- 4 times, 1 sample, 2 classes
local loss = flow.ctc_loss(log_probs, ints({ { 1 } }), ints({ 4 }), ints({ 1 }))
print(("%.4f"):format(loss[1]))                  --> 0.4700

## nn.binary_cross_entropy, nn.binary_cross_entropy_with_logits
local target = nd.array({ 1, 1 })
local loss = flow.nn.binary_cross_entropy(nd.array({ 0.5, 1 }), target, { reduction = "none" })
print(loss)                                        --> [ 0.6931472 -0.       ]
loss = flow.nn.binary_cross_entropy_with_logits(nd.array({ 0, 100 }), target, { reduction = "sum" })
print(math.abs(loss:item() - math.log(2)) < 1e-6)  --> true

## nn.mse_loss, nn.l1_loss, nn.huber_loss, smooth_l1_loss
local y, target = nd.array({ 0.5, 3 }), nd.array({ 0, 0 })
print(flow.nn.mse_loss(y, target), flow.nn.l1_loss(y, target))  --> [4.625]	[1.75]
print(flow.nn.mse_loss(y, target, { reduction = "none" }))      --> [0.25 9.  ]
print(flow.nn.huber_loss(y, target))                            --> [1.3125]
print(flow.smooth_l1_loss(y, target))                           --> [0.125 2.5  ]

## nn.margin_ranking_loss, nn.hinge_embedding_loss, nn.hinge_loss
local a, b, sign = nd.array({ 1, 2 }), nd.array({ 2, 1 }), nd.array({ 1, -1 })
print(flow.nn.margin_ranking_loss(a, b, sign))        --> [1.]
print(flow.nn.hinge_embedding_loss(a * 0.25, sign))   --> [0.375]
print(flow.nn.hinge_loss(a, sign))                    --> [1.5]

## nn.cosine_embedding_loss, nn.triplet_margin_loss
local a, b = nd.array({ { 1, 0 }, { 1, 0 } }), nd.array({ { 0, 2 }, { 0, 2 } })
print(flow.nn.cosine_embedding_loss(a, b, nd.array({ 1, -1 })))  --> [0.5]
local anchor, near, far = nd.zeros({ 1, 2 }), nd.array({ { 0, 1 } }), nd.array({ { 3, 0 } })
local loss = flow.nn.triplet_margin_loss(anchor, near, far, { margin = 4 })
print(("%.4f"):format(loss[1]))                                  --> 2.0000

## nn.cross_entropy, nn.nll_loss, nn.kl_div, nn.sparse_cross_entropy
local labels = nd.array({ 1, 3, -100 }, flow.int32)
local loss = flow.nn.cross_entropy(nd.zeros({ 3, 4 }), labels, { ignore_index = -100 })
print(("%.4f"):format(loss[1]))                                   --> 1.3863
local log_p, two = flow.nn.logsoftmax(nd.zeros({ 2, 2 })), nd.array({ 0, 1 }, flow.int32)
print(flow.nn.nll_loss(log_p, two))                               --> [0.6931472]
print(flow.nn.kl_div(log_p, flow.math.exp(log_p)))                --> [0.]
print(flow.nn.sparse_cross_entropy(two, flow.math.exp(log_p)))    --> [0.6931472 0.6931472]

## nn.dice_loss
local mask = nd.array({ { 1, 0, 1, 0 } })
print(flow.nn.dice_loss(mask, mask))             --> [0.]

## nn.sigmoid_focal_loss
local easy, hard = 5, -5
local loss = flow.nn.sigmoid_focal_loss(nd.array({ easy, hard }), nd.array({ 1, 1 }))
print(loss[1] < 1e-6, loss[2] > 1)               --> true	true

]==]
