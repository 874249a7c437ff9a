return [==[
## quantization.dequantize
local w = nd.array({ 0.5, -1 }):reshape { 1, 2 }:matmul(nd.ones { 2, 32 }):astype(flow.q8_0)
print(flow.quantization.dequantize(w).shape)  --> (1, 32)

## quantization.fake_quantization, quantization.min_max_observer
local x = nd.array { -1, -0.3, 0.2, 1 }
print(flow.quantization.min_max_observer(x, { quantization_scheme = "affine" }))
--> [0.00784314]	[127.]
-- what numbers become if they are kept as integers of 4 bits, scale times -8 to 7
local scale, zero = flow.quantization.min_max_observer(x, { quantization_bit = 4 })
print(flow.quantization.fake_quantization(x, scale, zero, { quantization_bit = 4 }))
--> [-1.         -0.2857143   0.14285715  1.        ]

## quantization.merge
local job = flow.global_function {
  name = "adapted", returns = tp.Numpy, inputs = { { "x", tp.Numpy.Placeholder({ 1, 32 }) } },
  body = function(x)
    return flow.layers.dense(x, 2, { name = "d", adapter = { rank = 1 } })
  end,
}
job(nd.ones { 1, 32 })
flow.load_variables { ["d-weight"] = nd.zeros { 2, 32 }, ["d-adapter_a"] = nd.ones { 1, 32 },
  ["d-adapter_b"] = nd.array { { 1 }, { 2 } } }
print(flow.quantization.merge()[1])  --> d-weight
print(job(nd.ones { 1, 32 }))        --> [[32. 64.]]

## quantization.moving_average_min_maxObserver, quantization.moving_average_min_max_observer
local flows = flow.quantization
local net = flow.model("net", function(x)
  local scale, zero = flows.moving_average_min_maxObserver(x, { name = "range" })
  return flows.fake_quantization(x, scale, zero)
end)
local job = net:predict { inputs = { flow.float32 { 4 } } }
flow.load_variables { ["net-range-moving_max"] = nd.array { 127 } }     -- as training would have
print(job({ 0.4, 3.6, -7, 300 }))  --> [  0.   4.  -7. 127.]
print(flows.moving_average_min_max_observer == flows.moving_average_min_maxObserver)  --> true

## quantization.quantize
local job = flow.global_function {
  name = "small", returns = tp.Numpy, inputs = { { "x", tp.Numpy.Placeholder({ 1, 32 }) } },
  body = function(x) return flow.layers.dense(x, 64, { name = "d" }) end,
}
job(nd.ones { 1, 32 })
flow.quantization.quantize("d-weight", { form = "q4_0" })
print(flow.get_all_variables()["d-weight"].dtype)  --> q4_0
-- or the products in integers too, whose steps fit what the job reads for some batches
flow.clear_default_session()
local x = nd.ones { 1, 32 }
local again = flow.global_function {
  name = "small", returns = tp.Numpy, inputs = { { "x", tp.Numpy.Placeholder({ 1, 32 }) } },
  body = function(v) return flow.layers.dense(v, 64, { name = "d" }) end,
}
flow.quantization.quantize("d-weight", { form = "int8", job = again, batches = { x, x * 2 } })
print(flow.get_all_variables()["d-weight"].dtype, again(x * 1.5).shape)  --> int8	(1, 64)
]==]
