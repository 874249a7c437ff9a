--- What each op is tried on; the coverage spec fails for an op that has no entry. Per case: inputs
--- ({shape, lo, hi, dtype, data}), options, tol (fast against plain kernels, float32), grad = false
--- where differences cannot be taken, only: the one dtype to try, y_of: who gives input 2.
local function of(shape, lo, hi, dtype) return { shape = shape, lo = lo, hi = hi,
  dtype = dtype } end

local cases = {}

local function case(name, inputs, options, more)
  local c = more or {}
  c.inputs, c.options = inputs, options
  cases[name] = cases[name] or {}
  table.insert(cases[name], c)
end

--- One large enough that fast kernels use whole vectors and several threads.
local function big(name, inputs, options, tol)
  case(name, inputs, options, { grad = false, only = "float32", tol = tol or 1e-4 })
end

local give = { case = case, of = of, big = big }
for _, area in ipairs {
  "arrays",
  "attention",
  "conv",
  "images",
  "losses",
  "math",
  "norm",
  "rows",
  "updates",
} do
  require("spec.op.cases." .. area)(give)
end
require "spec.op.edges"(case, of)

cases.dequantize = {}            -- spec/op/quantized_spec.lua has its cases
cases.quantized_conv2d = {}      -- spec/op/quantized_conv_spec.lua has its cases

return cases
