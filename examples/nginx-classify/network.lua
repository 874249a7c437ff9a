-- The network, for who trains it and who asks it, and what its answers mean.
local flow = require "jfl"

local network = {
  NAMES = { "T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
    "boot" },
}

local function block(x, filters, name)
  x = flow.layers.conv2d(x, filters, 5, { padding = "SAME", activation = flow.nn.relu,
    name = name })
  return flow.nn.max_pool2d(x, { ksize = 2, strides = 2, padding = "VALID" })
end

--- Gives the ten logits of each of n grey pictures, (n, 1, 28, 28), from 0 to 1.
network.model = flow.model("clothes", function(images)
  local x = block(block(images, 16, "block1"), 32, "block2")
  x = flow.reshape(x, { images.shape[1], -1 })
  x = flow.layers.dense(x, 128, { activation = flow.nn.relu, name = "hidden" })
  return flow.layers.dense(x, 10, { name = "output" })
end)

return network
