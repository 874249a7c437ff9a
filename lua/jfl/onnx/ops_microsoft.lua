-- Ops of com.microsoft that onnxruntime's tools leave in optimized files.
local call = require "jfl.op.call"
local nn = require "jfl.onnx.ops_nn"
local values = require "jfl.onnx.values"

local op = call.op

local ops = {}

function ops.Gelu(_, x) return op.gelu(x) end
function ops.FastGelu(_, x, bias) return op.gelu_tanh(bias and op.add(x, bias) or x) end
function ops.BiasGelu(_, x, bias) return op.gelu(op.add(x, bias)) end
function ops.QuickGelu(n, x)
  return op.multiply(x, op.sigmoid(op.multiply(x, n:attr("alpha", 1.702))))
end

function ops.FusedMatMul(n, a, b)
  local y = values.flow("op.products", "matmul")(a, b, { transpose_a = n:flag "transA",
    transpose_b = n:flag "transB" })
  local alpha = n:attr("alpha", 1)
  return alpha ~= 1 and op.multiply(y, alpha) or y
end

function ops.SkipLayerNormalization(n, x, skip, gamma, beta, bias)
  local sum = op.add(x, skip)
  if bias then sum = op.add(sum, bias) end
  local y = require("jfl.op.norms").rows(sum, { axis = #x.shape - 1,
    epsilon = n:attr("epsilon", 1e-12), gamma = gamma, beta = beta })
  return y, nil, nil, sum
end

function ops.SimplifiedLayerNormalization(n, x, gamma)
  return nn.RMSNormalization(n, x, gamma)
end

return ops
