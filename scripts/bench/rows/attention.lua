-- Attention and recurrent layers.
local core = require "jfl.core"
local flow = require "jfl"

return function(row)
  for _, shape in ipairs { { 4, 12, 64, 64 }, { 1, 12, 1024, 64 } } do
    for _, causal in ipairs { true, false } do
      row(("%sattention of (%s)"):format(causal and "causal " or "", table.concat(shape, ", ")),
        { shape, shape, shape }, function(q, k, v)
          return flow.nn.scaled_dot_product_attention(q, k, v, { causal = causal })
        end)
    end
  end
  for _, shape in ipairs { { 4, 12, 64, 64 }, { 1, 12, 1024, 64 } } do
    row(("attention of (%s), a tenth dropped"):format(table.concat(shape, ", ")),
      { shape, shape, shape }, function(q, k, v)
        return flow.nn.scaled_dot_product_attention(q, k, v, { dropout_rate = 0.1,
          training = true })
      end)
  end
  row("rotary embedding of (4, 12, 1024, 64)", { { 4, 12, 1024, 64 } },
    function(x) return flow.nn.rotary_embedding(x) end)
  -- The same weights that PyTorch's layers have, and its form of the input.
  for cell, gates in pairs { lstm = 4, gru = 3, rnn_tanh = 1 } do
    row(("%s of (64, 32, 256), 256 units"):format(cell), { { 64, 32, 256 },
      { gates * 256, 256 }, { gates * 256, 256 }, { gates * 256 } }, function(x, w, u, b)
        local s = flow.matmul(flow.reshape(x, { -1, 256 }), w, { transpose_b = true })
        s = flow.reshape(flow.nn.bias_add(s, b), { 64, 32, gates * 256 })
        local zeros = flow.zeros({ 32, 256 })
        local extra = cell == "lstm" and { zeros } or cell == "gru" and { b } or nil
        return (core.op "recurrent"(s, u, zeros, extra, { cell = cell }))
      end)
  end
end
