-- Elementwise ops, alone and in a chain, in the caches and beyond them.
local flow = require "jfl"

return function(row)
  local math, nn = flow.math, flow.nn
  for _, n in ipairs { 1e5, 1e7 } do
    local function of(name, f) row(("%s of %g"):format(name, n), { { n } }, f) end
    for _, name in ipairs { "exp", "tanh", "sigmoid", "gelu", "sin", "log1p", "erf" } do
      of(name, function(x) return math[name](name == "log1p" and math.abs(x) or x) end)
    end
    for _, name in ipairs { "relu", "silu", "mish", "elu", "leaky_relu", "hardswish", "gelu_tanh",
      "selu" } do
      of(name, nn[name])
    end
    of("a chain", function(x) return math.tanh(x * 2 + 1) * math.sigmoid(x) - math.square(x) end)
    row(("x + y of %g"):format(n), { { n }, { n } }, function(x, y) return x + y end)
    row(("where(x > y, x, y) of %g"):format(n), { { n }, { n } },
      function(x, y) return flow.where(math.greater(x, y), x, y) end)
  end
end
