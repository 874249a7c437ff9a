--- The text of a graph, each kind of line of it.
local flow = require "jfl"
local tp = flow.typing

describe("the text of a graph", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  it("has its inputs, variables, nodes, places, trainings and results", function()
    local job = flow.global_function {
      name = "all", type = "train", returns = tp.Tuple(tp.Numpy, tp.Numpy),
      inputs = {
        { "x", tp.Numpy.Placeholder { 4, 2 } },
        { "labels", tp.Numpy.Placeholder({ 4 }, { dtype = flow.int32 }) },
      },
      body = function(x, labels)
        local w = flow.get_variable("w", { shape = { 2, 3 },
          initializer = flow.ones_initializer() })
        local y = flow.matmul(x, w)
        local h = flow.scope.placement("sim", "0:1", function()
          return flow.nn.dropout(y, { rate = 0.5, name = "drop" })
        end)
        local loss = flow.nn.sparse_softmax_cross_entropy_with_logits(labels, h)
        flow.optimizer.SGD(0.5):minimize(loss)
        return loss, y
      end,
    }
    local entropy = "sparse_softmax_cross_entropy_with_logits"
    assert.equal(([[
train job all
  input x: float32 (4, 2)
  input labels: int32 (4)
  variable w: float32 (2, 3)
  matmul_1: float32 (4, 3) = matmul(x, w) {transpose_a=false transpose_b=false}
  drop: float32 (4, 3), drop/mask: int8 (4, 3) = dropout(matmul_1) {rate=0.5} at place 1
  E_1: float32 (4), E_1/most: float32 (4), E_1/inverse: float32 (4) = E(labels, drop) {P}
  minimize E_1 by SGD with piecewise_constant_schedule {S}, changing w
  return E_1
  return matmul_1
]]):gsub("%f[%w]E%f[^%w]", entropy):gsub("{P}", "{label_smoothing=0}"):gsub("{S}",
      "{boundaries={} values={0.5} warmup=none warmup_steps=0 warmup_multiplier=0}"),
      (job:graph()))
  end)
end)
