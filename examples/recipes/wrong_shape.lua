-- A shape that does not fit is found when the body is read, before anything runs, and the error
-- names the line of the body. Three ways to see what shapes there are, and one mistake, mended.
local flow = require "jfl"
local nd = flow.ndarray
local images, labels = nd.rand { 64, 1, 28, 28 }, nd.zeros({ 64 }, "int32")

local function network(is_mended)
  return flow.model("net", function(x)
    for i, filters in ipairs { 8, 16 } do
      x = flow.layers.conv2d(x, filters, 3, { name = "conv" .. i, activation = flow.nn.relu })
      x = flow.nn.max_pool2d(x, 2, 2, "VALID")
      print(("after block %d: %s"):format(i, tostring(x)))           -- 1. a blob says its shape
    end
    -- Of 28 pixels 26, 13, 11, 5 are left: whoever counts without the edges says 7.
    x = x:reshape { x.shape[1], is_mended and -1 or 16 * 7 * 7 }
    return flow.layers.dense(x, 10, { name = "output" })
  end)
end

local function try(net)
  local step = net:train { inputs = { flow.float32 { -1, 1, 28, 28 }, flow.int32 { -1 } },
    loss = flow.nn.cross_entropy, optimizer = flow.optimizer.SGD(0.1) }
  return step(images, labels), step
end

local _, message = pcall(try, network(false))
print("error: " .. message)                                          -- 2. the error names both

flow.clear_default_session()                   -- the first network had the same name
local net = network(true)
local loss, step = try(net)
print(net:summary())                                                 -- 3. variables, by shape
print(("it runs: loss %.2f"):format(loss:item()))

-- What a call gets is checked too, by name:
_, message = pcall(step, images, nd.zeros({ 63 }, "int32"))
print("error: " .. message)
