-- Ops of com.microsoft that onnxruntime's tools leave in optimized files.
local call = require "jfl.op.call"
local maths = require "jfl.onnx.ops_math"
local nn = require "jfl.onnx.ops_nn"
local quantized = require "jfl.onnx.ops_quantized"
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

-- ---- numbers of few bits ----

function ops.QGemm(n, a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero)
  local w = quantized.dequantized(n, b, b_scale, b_zero, n:flag "transB" and 0 or 1)
  local y = maths.Gemm(n, quantized.dequantized(n, a, a_scale, a_zero), w,
    quantized.bias(c, a_scale, b_scale))
  return y_scale and quantized.QuantizeLinear(n, y, y_scale, y_zero) or y
end

for name, own in pairs { QLinearAdd = "add", QLinearMul = "multiply" } do
  ops[name] = function(n, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
    local y = op[own](quantized.dequantized(n, a, a_scale, a_zero),
      quantized.dequantized(n, b, b_scale, b_zero))
    return quantized.QuantizeLinear(n, y, y_scale, y_zero)
  end
end

for name, f in pairs { QLinearGlobalAveragePool = nn.GlobalAveragePool,
  QLinearAveragePool = nn.AveragePool, QLinearSigmoid = maths.Sigmoid,
  QLinearLeakyRelu = maths.LeakyRelu } do
  ops[name] = function(n, x, x_scale, x_zero, y_scale, y_zero)
    return quantized.QuantizeLinear(n, f(n, quantized.dequantized(n, x, x_scale, x_zero)), y_scale,
      y_zero)
  end
end

return ops
