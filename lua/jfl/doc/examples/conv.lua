-- Examples of convolutions, pools and what makes pictures larger.
return [==[
## nn.conv1d, nn.conv2d, nn.conv3d, nn.compat_conv2d
local signal = nd.array({ { { 1, 3, 6, 10 } } })
local difference = nd.array({ { { -1, 1 } } })  -- (out, in, width)
print(flow.nn.conv1d(signal, difference)[1])  --> [[2. 3. 4.]]
local image = nd.arange(9):reshape(1, 1, 3, 3)
local edges = nd.array({ { { { -1, 1 } } } })  -- (out, in, height, width)
print(flow.nn.conv2d(image, edges)[1][1])     --> [[1. 1.]
                                              -->  [1. 1.]
                                              -->  [1. 1.]]
local film = nd.ones({ 1, 1, 2, 3, 3 })
print(flow.nn.conv3d(film, film):item())      --> 18
-- Two cells and a window of two: SAME adds one cell, before them or in compat_conv2d behind.
local row, ones = nd.array({ { { { 1, 2 } } } }), nd.ones({ 1, 1, 1, 2 })
print(flow.nn.conv2d(row, ones, 1, "SAME")[1][1])         --> [[1. 3.]]
print(flow.nn.compat_conv2d(row, ones, 1, "SAME")[1][1])  --> [[3. 2.]]

## nn.conv1d_transpose, nn.conv2d_transpose, nn.conv3d_transpose, nn.torch_conv2d_transpose
local x, filter = nd.array({ { { 1, 2, 3 } } }), nd.array({ { { 1, 10 } } })  -- (in, out, width)
print(flow.nn.conv1d_transpose(x, filter, { strides = 2 })[1])  --> [[ 1. 10.  2. 20.  3. 30.]]
local image, square = nd.array({ { { { 1, 2 } } } }), nd.ones({ 1, 1, 2, 2 })
print(flow.nn.conv2d_transpose(image, square, { strides = 2 })[1][1])  --> [[1. 1. 2. 2.]
                                                                       -->  [1. 1. 2. 2.]]
local film = nd.ones({ 1, 1, 2, 2, 2 })
print(flow.nn.conv3d_transpose(film, film, { strides = 2 }).shape[3])  --> 4
-- As torch's conv_transpose2d with stride = 2, padding = 1, output_padding = 1:
local y = flow.nn.torch_conv2d_transpose(nd.ones({ 1, 1, 4, 4 }), nd.ones({ 1, 1, 3, 3 }),
  { strides = 2, padding_needed = 2, output_padding = 1 })
print(y.shape[3])                                                      --> 8

## nn.max_pool1d, nn.avg_pool1d, nn.adaptive_avg_pool1d, nn.adaptive_max_pool1d
local x = nd.array({ { { 1, 5, 2, 4 } } })
print(flow.nn.max_pool1d(x, 2)[1], flow.nn.avg_pool1d(x, 2)[1])  --> [[5. 4.]]	[[3. 3.]]
print(flow.nn.adaptive_max_pool1d(x, 1):item())                  --> 5
print(flow.nn.adaptive_avg_pool1d(x, 1):item())                  --> 3

## nn.max_pool3d, nn.avg_pool3d, nn.adaptive_avg_pool3d, nn.adaptive_max_pool3d
local x = nd.arange(8):reshape(1, 1, 2, 2, 2)
print(flow.nn.max_pool3d(x, 2):item(), flow.nn.avg_pool3d(x, 2):item())  --> 7	3.5
print(flow.nn.adaptive_max_pool3d(x, 1):item())                          --> 7
print(flow.nn.adaptive_avg_pool3d(x, 1):item())                          --> 3.5

## nn.PixelShuffle, nn.PixelShufflev2
local x = nd.arange(4)
print(flow.nn.PixelShuffle(x:reshape(1, 4, 1, 1), 2)[1][1])       --> [[0. 1.]
                                                                  -->  [2. 3.]]
print(flow.nn.PixelShufflev2(x:reshape(1, 2, 1, 2), 1, 2)[1][1])  --> [[0. 2. 1. 3.]]

## layers.conv1d, layers.conv2d, layers.conv3d
local nets = { function(signal)
  return flow.layers.conv1d(signal, 8, 5, { strides = 2, activation = flow.nn.relu })
end, function(images)
  images = flow.layers.conv2d(images, 8, 3,
    { padding = "SAME", activation = flow.nn.relu, name = "conv" })
  return flow.nn.max_pool2d(images, { ksize = 2, strides = 2 })
end, function(films) return flow.layers.conv3d(films, 4, 3, { padding = "SAME" }) end }
for i, shape in ipairs { { 2, 1, 100 }, { 2, 1, 28, 28 }, { 2, 3, 8, 16, 16 } } do
  local net = flow.model("net" .. i, nets[i])
  print(net:predict { inputs = { flow.float32(shape) } }(nd.rand(shape)).shape)
end
--> (2, 8, 48)
--> (2, 8, 14, 14)
--> (2, 4, 8, 16, 16)

## layers.conv1d_transpose, layers.conv2d_transpose, layers.conv3d_transpose
local nets = { function(x) return flow.layers.conv1d_transpose(x, 4, 2, { strides = 2 }) end,
  function(x)
    return flow.layers.conv2d_transpose(x, 4, 4, { strides = 2, padding = "SAME", name = "up" })
  end, function(x) return flow.layers.conv3d_transpose(x, 2, 2, { strides = 2 }) end }
for i, shape in ipairs { { 2, 8, 10 }, { 2, 8, 7, 7 }, { 1, 4, 3, 3, 3 } } do
  local net = flow.model("net" .. i, nets[i])
  print(net:predict { inputs = { flow.float32(shape) } }(nd.rand(shape)).shape)
end
--> (2, 4, 20)
--> (2, 4, 14, 14)
--> (1, 2, 6, 6, 6)

## layers.upsample_2d, nn.interpolate
local x = nd.array({ { { { 0, 4 } } } })
print(flow.layers.upsample_2d(x)[1][1])                        --> [[0. 0. 4. 4.]
                                                               -->  [0. 0. 4. 4.]]
print(flow.nn.interpolate(x, { size = { 1, 4 } })[1][1])       --> [[0. 0. 4. 4.]]
local y = flow.nn.interpolate(x, { scale_factor = { 1, 2 }, mode = "bilinear" })
print(y[1][1])                                                 --> [[0. 1. 3. 4.]]

## nn.unfold, nn.fold
local x = nd.arange(9):reshape(1, 1, 3, 3)
print(flow.nn.unfold(x, 2)[1])  --> [[0. 1. 3. 4.]
                                -->  [1. 2. 4. 5.]
                                -->  [3. 4. 6. 7.]
                                -->  [4. 5. 7. 8.]]
local columns = flow.nn.unfold(nd.ones({ 1, 1, 3, 3 }), 2)
print(flow.nn.fold(columns, 3, 2)[1][1])  --> [[1. 2. 1.]
                                          -->  [2. 4. 2.]
                                          -->  [1. 2. 1.]]

]==]
