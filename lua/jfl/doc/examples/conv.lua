-- Examples of convolutions, pools and what makes pictures larger.
return [==[
## nn.conv1d
local signal = nd.array({ { { 1, 3, 6, 10 } } })
local difference = nd.array({ { { -1, 1 } } })  -- (out, in, width)
print(flow.nn.conv1d(signal, difference)[1])  --> [[2. 3. 4.]]

## nn.conv3d
local film = nd.ones({ 1, 1, 2, 3, 3 })
print(flow.nn.conv3d(film, nd.ones({ 1, 1, 2, 3, 3 })):item())  --> 18

## nn.compat_conv2d
local row = nd.array({ { { { 1, 2 } } } })
local ones = nd.ones({ 1, 1, 1, 2 })
-- Two cells and a window of two: SAME adds one cell, here behind.
print(flow.nn.compat_conv2d(row, ones, 1, "SAME")[1][1])  --> [[3. 2.]]
print(flow.nn.conv2d(row, ones, 1, "SAME")[1][1])  --> [[1. 3.]]

## nn.conv1d_transpose
local x = nd.array({ { { 1, 2, 3 } } })
local filter = nd.array({ { { 1, 10 } } })  -- (in, out, width)
print(flow.nn.conv1d_transpose(x, filter, { strides = 2 })[1])  --> [[ 1. 10.  2. 20.  3. 30.]]

## nn.conv2d_transpose
local x = nd.array({ { { { 1, 2 } } } })
local filter = nd.ones({ 1, 1, 2, 2 })          -- (in, out, height, width)
print(flow.nn.conv2d_transpose(x, filter, { strides = 2 })[1][1])  --> [[1. 1. 2. 2.]
                                                                   -->  [1. 1. 2. 2.]]

## nn.conv3d_transpose
local x = nd.ones({ 1, 1, 2, 2, 2 })
local filter = nd.ones({ 1, 1, 2, 2, 2 })
print(flow.nn.conv3d_transpose(x, filter, { strides = 2 }).shape[3])  --> 4

## nn.torch_conv2d_transpose
local x = nd.ones({ 1, 1, 4, 4 })
local filter = nd.ones({ 1, 1, 3, 3 })
-- As torch's conv_transpose2d with stride = 2, padding = 1, output_padding = 1:
local y = flow.nn.torch_conv2d_transpose(x, filter, { strides = 2, padding_needed = 2,
  output_padding = 1 })
print(y.shape[3])  --> 8

## nn.max_pool1d
print(flow.nn.max_pool1d(nd.array({ { { 1, 5, 2, 4 } } }), 2)[1])  --> [[5. 4.]]

## nn.avg_pool1d
print(flow.nn.avg_pool1d(nd.array({ { { 1, 5, 2, 4 } } }), 2)[1])  --> [[3. 3.]]

## nn.max_pool3d
local x = nd.arange(8):reshape(1, 1, 2, 2, 2)
print(flow.nn.max_pool3d(x, 2):item())  --> 7

## nn.avg_pool3d
local x = nd.arange(8):reshape(1, 1, 2, 2, 2)
print(flow.nn.avg_pool3d(x, 2):item())  --> 3.5

## nn.adaptive_avg_pool1d
local x = nd.array({ { { 1, 2, 3, 4, 5 } } })
print(flow.nn.adaptive_avg_pool1d(x, 2)[1])  --> [[2. 4.]]

## nn.adaptive_avg_pool2d
local x = nd.rand({ 1, 3, 13, 9 })
print(flow.nn.adaptive_avg_pool2d(x, { 4, 2 }).shape[3])  --> 4

## nn.adaptive_avg_pool3d
local x = nd.rand({ 1, 3, 5, 9, 9 })
print(flow.nn.adaptive_avg_pool3d(x, 2).shape[5])  --> 2

## nn.adaptive_max_pool1d
local x = nd.array({ { { 1, 2, 5, 4, 3 } } })
print(flow.nn.adaptive_max_pool1d(x, 2)[1])  --> [[5. 5.]]

## nn.adaptive_max_pool2d
local x = nd.rand({ 1, 3, 13, 9 })
print(flow.nn.adaptive_max_pool2d(x, { 4, 2 }).shape[3])  --> 4

## nn.adaptive_max_pool3d
local x = nd.rand({ 1, 3, 5, 9, 9 })
print(flow.nn.adaptive_max_pool3d(x, 2).shape[5])  --> 2

## nn.global_avg_pool
local x = nd.arange(8):reshape(1, 2, 2, 2)
print(flow.nn.global_avg_pool(x))  --> [[1.5 5.5]]

## nn.interpolate
local x = nd.array({ { { { 0, 4 } } } })
print(flow.nn.interpolate(x, { size = { 1, 4 } })[1][1])  --> [[0. 0. 4. 4.]]
local y = flow.nn.interpolate(x, { scale_factor = { 1, 2 }, mode = "bilinear" })
print(y[1][1])  --> [[0. 1. 3. 4.]]

## nn.PixelShuffle
local x = nd.arange(4):reshape(1, 4, 1, 1)
print(flow.nn.PixelShuffle(x, 2)[1][1])  --> [[0. 1.]
                                         -->  [2. 3.]]

## nn.PixelShufflev2
local x = nd.arange(4):reshape(1, 2, 1, 2)
print(flow.nn.PixelShufflev2(x, 1, 2)[1][1])  --> [[0. 2. 1. 3.]]

## layers.conv1d
local job = flow.global_function {
  name = "features",
  inputs = { { "signal", tp.Numpy.Placeholder({ 2, 1, 100 }) } },
  returns = tp.Numpy,
  body = function(signal)
    return flow.layers.conv1d(signal, 8, 5, { strides = 2, activation = flow.nn.relu })
  end,
}
print(job(nd.rand({ 2, 1, 100 })).shape[3])  --> 48

## layers.conv3d
local job = flow.global_function {
  name = "features",
  inputs = { { "films", tp.Numpy.Placeholder({ 2, 3, 8, 16, 16 }) } },
  returns = tp.Numpy,
  body = function(films) return flow.layers.conv3d(films, 4, 3, { padding = "SAME" }) end,
}
print(job(nd.rand({ 2, 3, 8, 16, 16 })).shape[2])  --> 4

## layers.conv1d_transpose
local job = flow.global_function {
  name = "larger",
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 8, 10 }) } },
  returns = tp.Numpy,
  body = function(x) return flow.layers.conv1d_transpose(x, 4, 2, { strides = 2 }) end,
}
print(job(nd.rand({ 2, 8, 10 })).shape[3])  --> 20

## layers.conv2d_transpose
local job = flow.global_function {
  name = "larger",
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 8, 7, 7 }) } },
  returns = tp.Numpy,
  body = function(x)
    return flow.layers.conv2d_transpose(x, 4, 4, { strides = 2, padding = "SAME", name = "up" })
  end,
}
print(job(nd.rand({ 2, 8, 7, 7 })).shape[3])  --> 14
print(flow.get_all_variables()["up-weight"].shape[1])  --> 8

## layers.conv3d_transpose
local job = flow.global_function {
  name = "larger",
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 4, 3, 3, 3 }) } },
  returns = tp.Numpy,
  body = function(x) return flow.layers.conv3d_transpose(x, 2, 2, { strides = 2 }) end,
}
print(job(nd.rand({ 1, 4, 3, 3, 3 })).shape[5])  --> 6

## layers.upsample_2d
local x = nd.array({ { { { 1, 2 } } } })
print(flow.layers.upsample_2d(x)[1][1])  --> [[1. 1. 2. 2.]
                                         -->  [1. 1. 2. 2.]]

## nn.unfold
local x = nd.arange(9):reshape(1, 1, 3, 3)
print(flow.nn.unfold(x, 2)[1])  --> [[0. 1. 3. 4.]
                                -->  [1. 2. 4. 5.]
                                -->  [3. 4. 6. 7.]
                                -->  [4. 5. 7. 8.]]

## nn.fold
local columns = flow.nn.unfold(nd.ones({ 1, 1, 3, 3 }), 2)
print(flow.nn.fold(columns, 3, 2)[1][1])  --> [[1. 2. 1.]
                                          -->  [2. 4. 2.]
                                          -->  [1. 2. 1.]]

]==]
