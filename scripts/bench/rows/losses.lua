-- Losses, at the sizes of classifiers, of GPT-2 and of pictures.
local flow = require "jfl"

return function(row)
  local nn = flow.nn
  for _, s in ipairs { { 1024, 1000 }, { 256, 50257 } } do
    row(("cross entropy of (%d, %d)"):format(s[1], s[2]), { s, { { s[1] }, "int32", 0, s[2] - 1 } },
      nn.cross_entropy)
  end
  row("smoothed cross entropy of (1024, 1000)", { { 1024, 1000 }, { { 1024 }, "int32", 0, 999 } },
    function(x, t) return nn.cross_entropy(x, t, { label_smoothing = 0.1 }) end)
  local size = { 1024, 1000 }
  local function two(name, f, low) row(name .. " of (1024, 1000)",
    { low and { size, "float32", low, 1 - low } or size, { size, "float32", 0, 1 } }, f) end
  two("MSE", nn.mse_loss)
  two("L1", nn.l1_loss)
  two("smooth L1", function(x, t) return flow.smooth_l1_loss(x, t, { reduction = "mean" }) end)
  two("BCE with logits", nn.binary_cross_entropy_with_logits)
  two("KL divergence", nn.kl_div)
end
