-- Mistakes in a network: what layers and ops are given.
return {
  { "a layer outside of any job", {
    "layers.dense: describes a part of a job and must be called inside a job function's "
      .. "body",
  }, [[
local x = nd.zeros({ 4, 8 })
local y = flow.layers.dense(x, 10) --@
print(y)
]] },
  { "a variable outside of any job", {
    "get_variable: describes a part of a job and must be called inside a job function's "
      .. "body",
  }, [[
local w = flow.get_variable("w", { shape = { 2 } }) --@
print(w)
]] },
  { "an optimizer used outside of any job", {
    "SGD.minimize: describes a part of a job and must be called inside a job function's "
      .. "body",
  }, [[
local loss = nd.zeros({ 4 })
flow.optimizer.SGD(0.1):minimize(loss) --@
]] },
  { "a blob used after its body", {
    "relu: ops on blobs describe a job and must be called inside a job function's body; "
      .. "the body of job 'job', which made blob 'x', is over",
  }, [[
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
  { "a blob's arithmetic after its body", {
    "multiply: ops on blobs describe a job and must be called inside a job function's "
      .. "body; the body of job 'job', which made blob 'x', is over",
  }, [[
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
  { "a blob of another job", {
    "add: blob 'x' belongs to job 'first'; blobs can only be used inside the body that "
      .. "made them",
  }, [[
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
  { "an array returned by a body", {
    "job: the body (train.lua:3) must return blobs shaped as Numpy, got an NdArray (2)",
  }, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  body = function()
    return nd.ones({ 2 })
  end,
}
print(job()) --@
]] },
  { "a text where a number is due", {
    "multiply: argument 2 'y' must be a blob or a number, got string",
  }, "net", [[
return images * "2" --@
]] },
  { "a nil in arithmetic by a misspelled variable", {
    "multiply: argument 2 'y' is nil: is a name misspelled?",
  }, "net", [[
local scale = 2
return images * scael --@
]] },
  { "a layer's output named and then misspelled", {
    "layers.dense: argument 1 'inputs' is nil: is a name misspelled?",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(falt, 10) --@
]] },
  { "the units of a layer left out", {
    "layers.dense: argument 2 'units' is missing",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat) --@
]] },
  { "the units of a layer as text", {
    "layers.dense: units must be a whole number of at least 1, got string '10'",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, "10") --@
]] },
  { "Keras's argument order of a layer", {
    "layers.dense: inputs must be a blob, got number 10",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(10, flat) --@
]] },
  { "PyTorch's in and out features of a layer", {
    "layers.dense: activation must be a function such as flow.nn.relu, got number 10",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 64, 10) --@
]] },
  { "a misspelled option of a layer", {
    "layers.dense: unknown option 'activaton'",
    "did you mean activation?",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { activaton = flow.nn.relu }) --@
]] },
  { "an activation by its name, as in Keras", {
    "layers.dense: activation must be a function such as flow.nn.relu, got string 'relu'",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { activation = "relu" }) --@
]] },
  { "an activation that is called at once", {
    "relu: argument 1 'x' is missing",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { activation = flow.nn.relu() }) --@
]] },
  { "an initializer by its name, as in Keras", {
    "layers.dense: 'dense_1-weight': initializer must be one such as "
      .. "flow.truncated_normal(0.1), got string 'glorot_uniform'",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { kernel_initializer = "glorot_uniform" }) --@
]] },
  { "an initializer that is not called", {
    "layers.dense: 'dense_1-weight': initializer must be one such as "
      .. "flow.truncated_normal(0.1), got a function; call it: its result is the initializer",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { kernel_initializer = flow.zeros_initializer }) --@
]] },
  { "an option given by position too", {
    "layers.dense: 'units' is given twice: as argument 2 and as an option",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { units = 10 }) --@
]] },
  { "arguments in braces", {
    "relu: argument 1 'x' must be a blob or an array, got table; ndarray.array(table) makes "
      .. "an array",
  }, "net", [[
return flow.nn.relu({ images }) --@
]] },
  { "a body that calls itself without end", {
    "net: stack overflow in the body: does a function call itself without end?",
  }, [[
local function deeper(x) return 1 + deeper(flow.nn.relu(x)) end
local net = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return deeper(x) end,
}
print(net({ 1, 2 })) --@
]] },
  { "a blob made an array", {
    "ndarray.array: values must be a table, got blob 'images'",
  }, "net", [[
local a = nd.array(images) --@
return a
]] },
  { "two layers of one name", {
    "layers.dense: 'dense-weight' exists in this job already; another name makes another layer, "
      .. "and { reuse = true } takes the variables of the one that has the name",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
local hidden = flow.layers.dense(flat, 10, { name = "dense" })
return flow.layers.dense(hidden, 10, { name = "dense" }) --@
]] },
  { "a layer's name that is no text", {
    "layers.dense: name must be a string that is not empty, got number 1",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.dense(flat, 10, { name = 1 }) --@
]] },
  { "a layer called with a colon", {
    "layers.dense: inputs must be a blob, got flow.layers itself: its functions are "
      .. "called with a dot, not a colon",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers:dense(flat, 10) --@
]] },
  { "an op called with a colon", {
    "relu: is called with a dot, not a colon: flow.nn.relu(...)",
  }, "net", [[
return flow.nn:relu(images) --@
]] },
  { "a fully connected layer on labels", {
    "layers.dense: inputs must be floats, got int32; flow.cast converts",
  }, "net", [[
return flow.layers.dense(labels, 10) --@
]] },
  { "a fully connected layer on one axis", {
    "layers.dense: inputs must have two or more axes, got shape (256)",
  }, "net", [[
return flow.layers.dense(flow.reshape(images, { -1 }), 10) --@
]] },
  { "a convolution of flattened images", {
    "layers.conv2d: inputs must have four axes (NCHW), got shape (4, 64)",
  }, "net", [[
local flat = flow.reshape(images, { 4, -1 })
return flow.layers.conv2d(flat, 8, 3) --@
]] },
  { "a kernel larger than the image", {
    "conv2d: a window 9 high does not fit an input 8 high with padding 0 and 0",
  }, "net", [[
return flow.layers.conv2d(images, 8, 9) --@
]] },
  { "a pooling window larger than the image", {
    "max_pool2d: a window 16 high does not fit an input 8 high with padding 0 and 0",
  }, "net", [[
return flow.nn.max_pool2d(images, 16, 2, "VALID") --@
]] },
  { "padding in lower case", {
    "conv2d: padding must be SAME, SAME_LOWER, SAME_UPPER, VALID or a list, got 'same'",
  }, "net", [[
return flow.layers.conv2d(images, 8, 3, { padding = "same" }) --@
]] },
  { "padding that does not exist", {
    "max_pool2d: padding must be SAME, SAME_LOWER, SAME_UPPER, VALID or a list, got 'FULL'",
  }, "net", [[
return flow.nn.max_pool2d(images, { ksize = 2, strides = 2, padding = "FULL" }) --@
]] },
  { "PyTorch's name for an option of pooling", {
    "max_pool2d: unknown option 'stride'",
  }, "net", [[
return flow.nn.max_pool2d(images, { ksize = 2, stride = 2, padding = "SAME" }) --@
]] },
  { "a data format that does not exist", {
    "layers.conv2d: data_format must be NCHW or NHWC, got string 'CHW'",
  }, "net", [[
return flow.layers.conv2d(images, 8, 3, { data_format = "CHW" }) --@
]] },
  { "strides of 0", {
    "conv2d: strides must be at least 1, got 0",
  }, "net", [[
return flow.layers.conv2d(images, 8, 3, { strides = 0 }) --@
]] },
  { "a rate of dilation of 0", {
    "layers.conv2d: dilation_rate must be a whole number of at least 1, got number 0",
  }, "net", [[
return flow.layers.conv2d(images, 8, 3, { dilation_rate = 0 }) --@
]] },
  { "a weight's name that is empty", {
    "layers.conv2d: weight_name must be a string that is not empty, got an empty one",
  }, "net", [[
return flow.layers.conv2d(images, 8, 3, { weight_name = "" }) --@
]] },
  { "groups that do not divide the channels", {
    "layers.conv2d: groups must divide 8 filters and 1 input channels, got 3",
  }, "net", [[
return flow.layers.conv2d(images, 8, 3, { groups = 3 }) --@
]] },
  { "filters of the wrong number of channels", {
    "conv2d: input must have 3 channels for filters (8, 3, 3, 3), got 1",
  }, "net", [[
local filters = flow.get_variable("filters",
  { shape = { 8, 3, 3, 3 }, initializer = flow.ones_initializer() })
return flow.nn.conv2d(images, filters, { padding = "SAME" }) --@
]] },
  { "a reshape to another number of elements", {
    "reshape: (4, 1, 8, 8) has 256 elements, which do not fit (4, 100)",
  }, "net", [[
return flow.reshape(images, { 4, 100 }) --@
]] },
  { "a reshape with two extents left open", {
    "reshape: shape must have one extent of -1 at most",
  }, "net", [[
return flow.reshape(images, { -1, -1 }) --@
]] },
  { "a shape that counts from 0", {
    "reshape: 'shape'[1] is nil; lists count from 1: x.shape[1] is the first extent",
  }, "net", [[
return flow.reshape(images, { images.shape[0], -1 }) --@
]] },
  { "a reshape's shape as separate numbers", {
    "reshape: takes at most 2 arguments and options, got 3; shape is one list: {4, 64}",
  }, "net", [[
return flow.reshape(images, 4, 64) --@
]] },
  { "PyTorch's reshape as a method", {
    "a blob has no 'view'; x:reshape(2, -1)",
  }, "net", [[
return images:view(4, -1) --@
]] },
  { "PyTorch's size as a method", {
    "a blob has no 'size'; it has shape, dtype and name, and ops are functions such as "
      .. "flow.reshape(x, {100, -1}); did you mean x.shape?",
  }, "net", [[
return flow.reshape(images, { images:size(1), -1 }) --@
]] },
  { "a method of results on a blob", {
    "item: blob 'images' has no data while its job's body runs; use the job's result",
  }, "net", [[
print(images:item()) --@
return images
]] },
  { "a row of a blob that counts from 0", {
    "blob 'images': index must be from 1 to 4, got 0; indices count from 1",
  }, "net", [[
return images[0] --@
]] },
  { "a part of a blob behind its end", {
    "blob 'images'[{...}]: axis 1 of (4, 1, 8, 8) must have an index from 1 to 1, or negative "
      .. "from the end, got 2",
  }, "net", [[
return images[{ 1, 2 }] --@
]] },
  { "an element of a blob set", {
    "blob 'images' cannot be changed: no part of it is set; flow.slice_update(x, value, "
      .. "{ { 0, 2 } }) gives a new blob in which it is",
  }, "net", [[
images[1] = 0 --@
return images
]] },
  { "the length of a blob", {
    "blob 'images' has no length; its extents are x.shape[1], x.shape[2], ...",
  }, "net", [[
for i = 1, #images do print(i) end --@
return images
]] },
  { "a blob compared with a number", {
    "attempt to compare number with userdata; a blob has no data while its job's body "
      .. "runs: flow.math.less, greater, equal compare blobs, and give a blob",
  }, "net", [[
if images > 0 then return images end --@
return -images
]] },
  { "two blobs compared", {
    "blobs have no data while their job's body runs; use flow.math.less or "
      .. "flow.math.greater",
  }, "net", [[
local other = images * 2
if images < other then return images end --@
return other
]] },
  { "two blobs compared for equality", {
    "blobs have no data while their job's body runs; use flow.math.equal",
  }, "net", [[
local other = images * 2
if images == other then return images end --@
return other
]] },
  { "a blob in a text format", {
    "bad argument #1 to 'format' (number expected, got userdata); a blob has no data while "
      .. "its job's body runs: functions of Lua take results of the job, and ops such as "
      .. "flow.math.exp take blobs",
  }, "net", [[
print(("mean %g"):format(images)) --@
return images
]] },
  { "math of Lua on a blob", {
    "bad argument #1 to 'exp' (number expected, got userdata); a blob has no data while "
      .. "its job's body runs: functions of Lua take results of the job, and ops such as "
      .. "flow.math.exp take blobs",
  }, "net", [[
local y = math.exp(images) --@
return y
]] },
  { "an axis out of range", {
    "reduce_mean: axis must be from -4 to 3, got 4; axes count from 0",
  }, "net", [[
return flow.math.reduce_mean(images, { axis = 4 }) --@
]] },
  { "a negative axis out of range", {
    "softmax: axis must be from -4 to 3, got -5; axes count from 0",
  }, "net", [[
return flow.nn.softmax(images, -5) --@
]] },
  { "an axis that is no whole number", {
    "softmax: axis must be an integer, got 1.5",
  }, "net", [[
return flow.nn.softmax(images, 1.5) --@
]] },
  { "PyTorch's name for an axis", {
    "softmax: unknown option 'dim'",
  }, "net", [[
return flow.nn.softmax(images, { dim = 1 }) --@
]] },
  { "an axis twice", {
    "reduce_sum: axis 1 is given twice",
  }, "net", [[
return flow.math.reduce_sum(images, { axis = { 1, 1 } }) --@
]] },
  { "a permutation of too few axes", {
    "transpose: perm must name the 4 axes of a, got 2",
  }, "net", [[
return flow.transpose(images, { 0, 2 }) --@
]] },
  { "a permutation that counts from 1", {
    "transpose: perm must be from -4 to 3, got 4; axes count from 0",
  }, "net", [[
return flow.transpose(images, { 1, 3, 4, 2 }) --@
]] },
  { "matrices whose extents do not meet", {
    "matmul: a (4, 64) has 64 columns, but b (32, 10) has 32 rows",
  }, "net", [[
local flat = flow.reshape(images, { 4, 64 })
local w = flow.get_variable("w", { shape = { 32, 10 }, initializer = flow.ones_initializer() })
return flow.matmul(flat, w) --@
]] },
  { "matrices of two dtypes", {
    "matmul: b must be float32 like a, got float64; cast converts",
  }, "net", [[
local flat = flow.reshape(images, { 4, 64 })
local w = flow.get_variable("w",
  { shape = { 64, 10 }, dtype = flow.double, initializer = flow.ones_initializer() })
return flow.matmul(flat, w) --@
]] },
  { "a matrix product of four axes", {
    "matmul: a (4, 1, 8, 8) has 8 columns, but b (64, 4) has 64 rows",
  }, "net", [[
return flow.matmul(images, flow.reshape(images, { 64, 4 })) --@
]] },
  { "shapes that do not broadcast", {
    "add: shapes (4, 1, 8, 8) and (4, 64) do not broadcast: extents from the right must be "
      .. "equal or 1",
  }, "net", [[
return images + flow.reshape(images, { 4, 64 }) --@
]] },
  { "blobs of two dtypes added", {
    "add: y must be float32 like x, got float64; cast converts",
  }, "net", [[
return flow.reshape(images, { 4, 64 }) + flow.cast(flow.reshape(labels, { 4, 1 }), flow.double) --@
]] },
  { "blobs joined without a list", {
    "concat: argument 1 'inputs' must be a list such as {x, y}, got blob",
  }, "net", [[
return flow.concat(images, images, { axis = 0 }) --@
]] },
  { "blobs of other shapes joined", {
    "concat: input 2 must be float32 (4, 1, 8, 8) like input 1, got float32 (4, 64); only the "
      .. "extents along axis may differ",
  }, "net", [[
return flow.concat({ images, flow.reshape(images, { 4, 64 }) }, 0) --@
]] },
  { "a dropout rate above 1", {
    "nn.dropout: rate must be a number from 0 to below 1, got 1.5",
  }, "net", [[
return flow.nn.dropout(images, 1.5) --@
]] },
  { "a dropout rate in percent", {
    "nn.dropout: rate must be a number from 0 to below 1, got 50",
  }, "net", [[
return flow.nn.dropout(images, { rate = 50 }) --@
]] },
  { "PyTorch's name for the dropout rate", {
    "nn.dropout: unknown option 'p'",
    "did you mean rate?",
  }, "net", [[
return flow.nn.dropout(images, { p = 0.5 }) --@
]] },
  { "a variable without a shape", {
    "get_variable: 'w': shape is missing, and no such variable exists in this job",
  }, "net", [[
local w = flow.get_variable("w", { initializer = flow.ones_initializer() }) --@
return images * w
]] },
  { "a variable without an initializer", {
    "get_variable: 'w': initializer is missing: give one such as flow.truncated_normal(0.1), "
      .. "or set the job's default_initializer_conf",
  }, "net", [[
local w = flow.get_variable("w", { shape = { 1 } }) --@
return images * w
]] },
  { "one variable in two shapes", {
    "get_variable: 'w' is float32 (1) in this job, asked for as float32 (8)",
  }, "net", [[
local init = flow.ones_initializer()
local w = flow.get_variable("w", { shape = { 1 }, initializer = init })
local v = flow.get_variable("w", { shape = { 8 }, initializer = init }) --@
return images * w * v
]] },
  { "a cast to a dtype that does not exist", {
    "cast: dtype must be one of float32, float64, float16, bfloat16, int8, uint8, int32, int64, "
      .. "q8_0, q4_0, q4_k, q6_k, got 'float23'",
  }, "net", [[
return flow.cast(labels, "float23") --@
]] },
  { "an op without its argument", {
    "relu: argument 1 'x' is missing",
  }, "net", [[
return flow.nn.relu() --@
]] },
  { "an op of a plain number", {
    "exp: argument 1 'x' must be a blob or an array, got number",
  }, "net", [[
return flow.math.exp(1) --@
]] },
  { "an op with too many arguments", {
    "relu: takes at most 1 argument and options, got 4",
  }, "net", [[
return flow.nn.relu(images, 1, 2, 3) --@
]] },
  { "a placement without its device number", {
    "placement: ids must be \"machine:device\" or \"machine:first-last\", got a function",
  }, "net", [[
return flow.scope.placement("cpu", function() --@
  return images
end)
]] },
  { "a placement on a device that does not exist", {
    "placement: device must be \"cpu\" or \"gpu\", got string 'cuda'",
  }, "net", [[
return flow.scope.placement("cuda", "0:0", function() --@
  return images
end)
]] },
  { "a placement on a machine that does not exist", {
    "placement: ids: \"1:0\" names machine 1; this session has machine 0 only",
  }, "net", [[
return flow.scope.placement("cpu", "1:0", function() --@
  return images
end)
]] },
  { "a placement that is given a result and no function", {
    "placement: fn must be a function, got blob 'relu_1'",
  }, "net", [[
return flow.scope.placement("cpu", "0:0", flow.nn.relu(images)) --@
]] },
}
