-- Softmax, reductions, products.
local flow = require "jfl"

return function(row)
  row("softmax of (4096, 1024)", { { 4096, 1024 } }, function(x) return flow.nn.softmax(x) end)
  row("sum of (4096, 1024) over rows", { { 4096, 1024 } },
    function(x) return flow.math.reduce_sum(x, 1) end)
  row("product of (512, 512) and (512, 512)", { { 512, 512 }, { 512, 512 } },
    function(a, b) return flow.matmul(a, b) end)
end
