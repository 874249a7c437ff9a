-- Normalizations, softmax and its logarithm. The copy says what memory can do.
local core = require "jfl.core"
local flow = require "jfl"

local batch_norm = core.op "batch_norm"

return function(row)
  local wide, square, picture = { 4096, 1024 }, { 64, 768 }, { 16, 64, 56, 56 }
  local line = { { 1024 }, { 768 }, { 64 } }
  row("copy of (4096, 1024)", { wide }, function(x) return x + 0.5 end)
  row("softmax of (64, 768)", { square }, function(x) return flow.nn.softmax(x) end)
  row("softmax of (16, 64, 56, 56) along axis 1", { picture },
    function(x) return flow.nn.softmax(x, 1) end)
  row("logsoftmax of (4096, 1024)", { wide }, function(x) return flow.nn.logsoftmax(x) end)
  row("layer norm of (4096, 1024)", { wide, line[1], line[1] },
    function(x, g, b) return flow.nn.layer_norm(x, g, b) end)
  row("layer norm of (64, 768)", { square, line[2], line[2] },
    function(x, g, b) return flow.nn.layer_norm(x, g, b) end)
  row("rms norm of (4096, 1024)", { wide, line[1] },
    function(x, g) return flow.nn.rms_norm(x, g) end)
  row("group norm of (16, 64, 56, 56)", { picture, line[3], line[3] }, function(x, g, b)
    return (core.op "row_norm"(x, { g, b }, { axis = 1, groups = 32, scale = true, shift = true }))
  end)
  row("instance norm of (16, 64, 56, 56)", { picture },
    function(x) return flow.nn.InstanceNorm2d(x, { affine = false }) end)
  row("batch norm of (16, 64, 56, 56)", { picture, line[3], line[3] },
    function(x, g, b) return (batch_norm(x, g, b)) end)
  row("batch norm of (256, 1024)", { { 256, 1024 }, line[1], line[1] },
    function(x, g, b) return (batch_norm(x, g, b)) end)
end
