--- Products with what gradients read or ask for give what separate ops give.
local core = require "jfl.core"
local support = require "spec.op.support"

local op = setmetatable({}, { __index = function(_, name) return core.op(name) end })

before_each(core.reset)
teardown(core.reset)

local function filled(dtype, ...)
  local list = {}
  for i, shape in ipairs { ... } do list[i] = support.filled(dtype, shape, -1.5 + i / 8, 2) end
  return unpack(list)
end

local function check(want, got, what)
  local ok, message = support.close(support.flat(got), support.flat(want), 1e-6)
  assert.truthy(ok, what .. ": " .. (message or ""))
end

for _, dtype in ipairs { "float32", "float64" } do
  it("of " .. dtype .. ": what an activation reads is kept", function()
    local a, b, bias, more = filled(dtype, { 30, 4 }, { 4, 40 }, { 40 }, { 30, 40 })
    local read = op.add(op.bias_add(op.matmul(a, b), bias), more)
    for _, act in ipairs { "gelu_tanh", "relu" } do
      local y, kept = op.matmul_kept(a, b, { bias, more },
        { bias = true, residual = true, act = act })
      check(op[act](read), y, act)
      check(read, kept, "kept")
    end
  end)

  it("of " .. dtype .. ": a product is multiplied by a slope", function()
    local a, b, kept = filled(dtype, { 30, 4 }, { 4, 40 }, { 30, 40 })
    for _, act in ipairs { "gelu_tanh_slope", "tanh" } do
      check(op.multiply(op.matmul(a, b), op[act](kept)), op.matmul_slope(a, b, kept, { act = act }),
        act)
    end
  end)

  it("of " .. dtype .. ": either factor is summed", function()
    local a, b = filled(dtype, { 30, 4 }, { 30, 7 })
    for _, of_b in ipairs { false, true } do
      local y, sums = op.matmul_summed(a, b, { transpose_a = true, of_b = of_b })
      check(op.matmul(a, b, { transpose_a = true }), y, "product")
      check(op.reduce_sum(of_b and b or a, { axis = 0 }), sums, "sums")
    end
  end)
end

it("a wrong call is told", function()
  local a, b, y = filled("float32", { 3, 4 }, { 4, 5 }, { 3, 5 })
  assert.error_matches(function() op.matmul_summed(a, b, {}) end,
    "a must be a matrix whose first axis is what the product sums over, got %(3, 4%)")
  assert.error_matches(function() op.matmul_summed(b, y, { transpose_b = true, of_b = true }) end,
    "b must be a matrix whose first axis is what the product sums over, got %(3, 5%)")
  assert.error_matches(function() op.matmul_slope(a, b, b, { act = "tanh" }) end,
    "kept must be %(3, 5%) like the product, got %(4, 5%)")
  assert.error_matches(function()
    op.matmul_slope(a, b, op.cast(y, { dtype = "float64" }), { act = "tanh" })
  end, "kept must be float32 like the product, got float64")
  assert.error_matches(function() op.matmul_slope(a, b, y, { act = "softmax" }) end,
    "'softmax' is no elementwise op of one float")
end)
