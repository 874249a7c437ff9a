-- The layers of LeNet and the MLP of the benches.
local flow = require "jfl"

local function dense(x, units, activation, name)
  return flow.layers.dense(x, units,
    { activation = activation, kernel_initializer = flow.truncated_normal(0.1), name = name })
end

local function conv(x, filters, name)
  local y = flow.layers.conv2d(x, filters, 5, { padding = "SAME", activation = flow.nn.relu,
    kernel_initializer = flow.truncated_normal(0.1), name = name })
  return flow.nn.max_pool2d(y, { ksize = 2, strides = 2, padding = "SAME" })
end

return { dense = dense, conv = conv }
