-- Mistakes in a network: what layers and ops are given.
return {
  { "a layer outside of any job", {}, [[
local x = nd.zeros({ 4, 8 })
local y = flow.layers.dense(x, 10) --@
print(y)
]] },
  { "a variable outside of any job", {}, [[
local w = flow.get_variable("w", { shape = { 2 } }) --@
print(w)
]] },
  { "an optimizer used outside of any job", {}, [[
local loss = nd.zeros({ 4 })
flow.optimizer.SGD(0.1):minimize(loss) --@
]] },
  { "a blob used after its body", {}, [[
local kept
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    kept = x
    return x
  end,
}
job({ 1, 2 })
local y = flow.nn.relu(kept) --@
print(y)
]] },
  { "a blob's arithmetic after its body", {}, [[
local kept
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    kept = x
    return x
  end,
}
job({ 1, 2 })
print(kept * 2) --@
]] },
  { "a blob of another job", {}, [[
local kept
local inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }
local first = flow.global_function { name = "first", returns = tp.Numpy, inputs = inputs,
  body = function(x)
    kept = x
    return x
  end,
}
local second = flow.global_function { name = "second", returns = tp.Numpy, inputs = inputs,
  body = function(x)
    return x + kept --@
  end,
}
first({ 1, 2 })
second({ 1, 2 })
]] },
  { "an array among blobs", {}, "net", [[
local mask = nd.ones({ 4, 1, 8, 8 })
return flow.math.multiply(images, mask) --@
]] },
  { "an array times a blob", {}, "net", [[
return images * nd.ones({ 4, 1, 8, 8 }) --@
]] },
  { "an array returned by a body", {}, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  body = function()
    return nd.ones({ 2 })
  end,
}
print(job()) --@
]] },
  { "a text where a number is due", {}, "net", [[
return images * "2" --@
]] },
  { "a nil in arithmetic by a misspelled variable", {}, "net", [[
local scale = 2
return images * scael --@
]] },
  { "a layer's output named and then misspelled", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(falt, 10) --@
]] },
  { "the units of a layer left out", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat) --@
]] },
  { "the units of a layer as text", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, "10") --@
]] },
  { "Keras's argument order of a layer", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(10, flat) --@
]] },
  { "PyTorch's in and out features of a layer", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 64, 10) --@
]] },
  { "a misspelled option of a layer", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { activaton = flow.nn.relu }) --@
]] },
  { "an activation by its name, as in Keras", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { activation = "relu" }) --@
]] },
  { "an activation that is called at once", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { activation = flow.nn.relu() }) --@
]] },
  { "an initializer by its name, as in Keras", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { kernel_initializer = "glorot_uniform" }) --@
]] },
  { "an initializer that is not called", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { kernel_initializer = flow.zeros_initializer }) --@
]] },
  { "an option given by position too", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { units = 10 }) --@
]] },
  { "two layers of one name", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
local hidden = flow.layers.dense(flat, 10, { name = "dense" })
return flow.layers.dense(hidden, 10, { name = "dense" }) --@
]] },
  { "a layer's name that is no text", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { name = 1 }) --@
]] },
  { "a layer called with a colon", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers:dense(flat, 10) --@
]] },
  { "an op called with a colon", {}, "net", [[
return flow.nn:relu(images) --@
]] },
  { "a fully connected layer on labels", {}, "net", [[
return flow.layers.dense(labels, 10) --@
]] },
  { "a convolution of flattened images", {}, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.conv2d(flat, 8, 3) --@
]] },
  { "a kernel larger than the image", {}, "net", [[
return flow.layers.conv2d(images, 8, 9) --@
]] },
  { "a pooling window larger than the image", {}, "net", [[
return flow.nn.max_pool2d(images, 16, 2, "VALID") --@
]] },
  { "padding in lower case", {}, "net", [[
return flow.layers.conv2d(images, 8, 3, { padding = "same" }) --@
]] },
  { "padding that does not exist", {}, "net", [[
return flow.nn.max_pool2d(images, { ksize = 2, strides = 2, padding = "FULL" }) --@
]] },
  { "PyTorch's name for an option of pooling", {}, "net", [[
return flow.nn.max_pool2d(images, { kernel_size = 2, stride = 2, padding = "SAME" }) --@
]] },
  { "a data format that does not exist", {}, "net", [[
return flow.layers.conv2d(images, 8, 3, { data_format = "CHW" }) --@
]] },
  { "strides of 0", {}, "net", [[
return flow.layers.conv2d(images, 8, 3, { strides = 0 }) --@
]] },
  { "groups that do not divide the channels", {}, "net", [[
return flow.layers.conv2d(images, 8, 3, { groups = 3 }) --@
]] },
  { "filters of the wrong number of channels", {}, "net", [[
local filters = flow.get_variable("filters",
  { shape = { 8, 3, 3, 3 }, initializer = flow.ones_initializer() })
return flow.nn.conv2d(images, filters, { padding = "SAME" }) --@
]] },
  { "a reshape to another number of elements", {}, "net", [[
return flow.reshape(images, { 4, 100 }) --@
]] },
  { "a reshape with two extents left open", {}, "net", [[
return flow.reshape(images, { -1, -1 }) --@
]] },
  { "a shape that counts from 0", {}, "net", [[
return flow.reshape(images, { images.shape[0], -1 }) --@
]] },
  { "a reshape's shape as separate numbers", {}, "net", [[
return flow.reshape(images, 4, 64) --@
]] },
  { "PyTorch's reshape as a method", {}, "net", [[
return images:view(4, -1) --@
]] },
  { "PyTorch's size as a method", {}, "net", [[
return flow.reshape(images, { images:size(1), -1 }) --@
]] },
  { "a method of results on a blob", {}, "net", [[
print(images:mean()) --@
return images
]] },
  { "an element of a blob", {}, "net", [[
return images[1] --@
]] },
  { "an element of a blob set", {}, "net", [[
images[1] = 0 --@
return images
]] },
  { "the length of a blob", {}, "net", [[
for i = 1, #images do print(i) end --@
return images
]] },
  { "a blob compared with a number", {}, "net", [[
if images > 0 then return images end --@
return -images
]] },
  { "two blobs compared", {}, "net", [[
local other = images * 2
if images < other then return images end --@
return other
]] },
  { "two blobs compared for equality", {}, "net", [[
local other = images * 2
if images == other then return images end --@
return other
]] },
  { "a blob in a text format", {}, "net", [[
print(("mean %g"):format(images)) --@
return images
]] },
  { "math of Lua on a blob", {}, "net", [[
local y = math.exp(images) --@
return y
]] },
  { "an axis out of range", {}, "net", [[
return flow.math.reduce_mean(images, { axis = 4 }) --@
]] },
  { "a negative axis out of range", {}, "net", [[
return flow.nn.softmax(images, -5) --@
]] },
  { "an axis that is no whole number", {}, "net", [[
return flow.nn.softmax(images, 1.5) --@
]] },
  { "PyTorch's name for an axis", {}, "net", [[
return flow.nn.softmax(images, { dim = 1 }) --@
]] },
  { "an axis twice", {}, "net", [[
return flow.math.reduce_sum(images, { axis = { 1, 1 } }) --@
]] },
  { "a permutation of too few axes", {}, "net", [[
return flow.transpose(images, { 0, 2 }) --@
]] },
  { "a permutation that counts from 1", {}, "net", [[
return flow.transpose(images, { 1, 3, 4, 2 }) --@
]] },
  { "matrices whose extents do not meet", {}, "net", [[
local flat = flow.reshape(images, { 4, 64 })
local w = flow.get_variable("w", { shape = { 32, 10 }, initializer = flow.ones_initializer() })
return flow.matmul(flat, w) --@
]] },
  { "matrices of two dtypes", {}, "net", [[
local flat = flow.reshape(images, { 4, 64 })
local w = flow.get_variable("w",
  { shape = { 64, 10 }, dtype = flow.double, initializer = flow.ones_initializer() })
return flow.matmul(flat, w) --@
]] },
  { "a matrix product of four axes", {}, "net", [[
return flow.matmul(images, flow.reshape(images, { 64, 4 })) --@
]] },
  { "shapes that do not broadcast", {}, "net", [[
return images + flow.reshape(images, { 4, 64 }) --@
]] },
  { "blobs of two dtypes added", {}, "net", [[
return flow.reshape(images, { 4, 64 }) + flow.reshape(labels, { 4, 1 }) --@
]] },
  { "blobs joined without a list", {}, "net", [[
return flow.concat(images, images, { axis = 0 }) --@
]] },
  { "blobs of other shapes joined", {}, "net", [[
return flow.concat({ images, flow.reshape(images, { 4, 64 }) }, 0) --@
]] },
  { "a dropout rate above 1", {}, "net", [[
return flow.nn.dropout(images, 1.5) --@
]] },
  { "a dropout rate in percent", {}, "net", [[
return flow.nn.dropout(images, { rate = 50 }) --@
]] },
  { "PyTorch's name for the dropout rate", {}, "net", [[
return flow.nn.dropout(images, { p = 0.5 }) --@
]] },
  { "a variable without a shape", {}, "net", [[
local w = flow.get_variable("w", { initializer = flow.ones_initializer() }) --@
return images * w
]] },
  { "a variable without an initializer", {}, "net", [[
local w = flow.get_variable("w", { shape = { 1 } }) --@
return images * w
]] },
  { "one variable in two shapes", {}, "net", [[
local init = flow.ones_initializer()
local w = flow.get_variable("w", { shape = { 1 }, initializer = init })
local v = flow.get_variable("w", { shape = { 8 }, initializer = init }) --@
return images * w * v
]] },
  { "a cast to a dtype that does not exist", {}, "net", [[
return flow.cast(labels, "float23") --@
]] },
  { "an op without its argument", {}, "net", [[
return flow.nn.relu() --@
]] },
  { "an op of a plain number", {}, "net", [[
return flow.math.exp(1) --@
]] },
  { "an op with too many arguments", {}, "net", [[
return flow.nn.relu(images, 1, 2, 3) --@
]] },
  { "a placement without its device number", {}, "net", [[
return flow.scope.placement("cpu", function() --@
  return images
end)
]] },
  { "a placement on a device that does not exist", {}, "net", [[
return flow.scope.placement("cuda", "0:0", function() --@
  return images
end)
]] },
  { "a placement on a machine that does not exist", {}, "net", [[
return flow.scope.placement("cpu", "1:0", function() --@
  return images
end)
]] },
  { "a placement that is given a result and no function", {}, "net", [[
return flow.scope.placement("cpu", "0:0", flow.nn.relu(images)) --@
]] },
}
