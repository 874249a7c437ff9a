-- Mistakes around calls: asynchronous results, arrays, files, data.
return {
  { "a future's method with a dot", {
    "get: call it with a colon: future:get(...)",
  }, [[
local add = future_job()
print(add({ 1, 2 }).get()) --@
]] },
  { "a future taken for its value", {
    "add_job: a call of this job gives no value at once, so it has no 'mean'; "
      .. "job(...):get() waits for the value",
  }, [[
local add = future_job()
local loss = add({ 1, 2 })
print(loss:mean()) --@
]] },
  { "a future's get without its parentheses", {
    "attempt to index local 'loss' (a function value)",
  }, [[
local add = future_job()
local loss = add({ 1, 2 }).get
print(loss:mean()) --@
]] },
  { "a future in arithmetic", {
    "add_job: a call of this job gives no value at once to compute with; job(...):get() "
      .. "waits for the value",
  }, [[
local add = future_job()
print(add({ 1, 2 }) + 1) --@
]] },
  { "a registrar taken for its value", {
    "add_job: a call of this job gives no value at once, so it has no 'mean'; a callback "
      .. "gets the value: job(...)(function(value) ... end)",
  }, [[
local add = callback_job()
local loss = add({ 1, 2 })
print(loss:mean()) --@
]] },
  { "a registrar's element", {
    "add_job: a call of this job gives no value at once, so it has no '1'; a callback gets "
      .. "the value: job(...)(function(value) ... end)",
  }, [[
local add = callback_job()
print(add({ 1, 2 })[1]) --@
]] },
  { "the result of a callback instead of the callback", {
    "add_job: callback must be a function, got number 2",
  }, [[
local add = callback_job()
local function show(value) return value:sum() end
add({ 1, 2 })(show(nd.ones({ 2 }))) --@
]] },
  { "no callback", {
    "add_job: callback must be a function, got nil",
  }, [[
local add = callback_job()
add({ 1, 2 })() --@
]] },
  { "the callback as an argument of the call", {
    "add_job: takes 1 argument (x), got 2; a callback is given to the call's result: "
      .. "add_job(...)(callback)",
  }, [[
local add = callback_job()
add({ 1, 2 }, print) --@
]] },
  { "two callbacks of one call", {
    "add_job: this call has a callback already",
  }, [[
local add = callback_job()
local later = add({ 1, 2 })
later(function() end)
later(function() end) --@
]] },
  { "an async_get without a callback", {
    "add_job: callback must be a function, got nil",
  }, [[
local add = future_job()
add({ 1, 2 }):async_get() --@
]] },
  { "get of a job that gives its value at once", {
    "get: takes 1 index for shape (4), got 0",
  }, [[
local train = mlp()
local loss = train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 })
print(loss:get()) --@
]] },
  { "a callback of a job that gives its value at once", {
    "an NdArray (4) is no function: a[i] and a:get(i, j) give elements; the call of a job "
      .. "takes a callback only if the job's returns is a flow.typing.Callback",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 })(print) --@
]] },
  { "an error in a callback", {
    "add_job: error in a callback: train.lua:4: an NdArray has no 'loss'",
  }, [[
local add = callback_job()
add({ 1, 2 })(function(value)
  print(value.loss.mean)
end)
flow.sync() --@
]] },
  { "a callback that yields", {
    "add_job: error in a callback: train.lua:4: attempt to yield across C-call boundary; a "
      .. "callback "
      .. "cannot yield",
  }, [[
local add = callback_job()
add({ 1, 2 })(function(value)
  coroutine.yield(value)
end)
flow.sync() --@
]] },
  { "an error in a callback, raised by an error function", {
    "add_job: error in a callback: train.lua:4: the callback gave up",
  }, [[
local add = callback_job()
add({ 1, 2 })(function()
  error("the callback gave up")
end)
flow.sync() --@
]] },
  { "the session cleared in a body", {
    "the session cannot be cleared inside the body of 'net': a body only describes its job",
  }, "net", [[
flow.clear_default_session() --@
return images
]] },
  { "a blob as a job's argument", {
    "net: x must be an array or a table, got blob",
  }, [[
local kept
local net = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    kept = x
    return x
  end,
}
net({ 1, 2 })
net(kept) --@
]] },
  { "a result of a training called as a loss", {
    "SGD.minimize: describes a part of a job and must be called inside a job function's "
      .. "body",
  }, [[
local train = mlp()
local loss = train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 })
flow.optimizer.SGD(0.1):minimize(loss) --@
]] },
  { "a method of a job with a dot", {
    "compile: call it with a colon: job:compile(...)",
  }, [[
local train = mlp()
train.compile() --@
]] },
  { "a method that jobs do not have", {
    "job 'train_job' has no 'fit'; it is called, as in train_job(...)",
  }, [[
local train = mlp()
train:fit(nd.ones({ 4, 8 }), { 0, 1, 2, 3 }) --@
]] },
  { "PyTorch's train mode of a job", {
    "job 'train_job' has no 'eval'; it is called, as in train_job(...)",
  }, [[
local train = mlp()
train.eval() --@
]] },
  { "polling for a text", {
    "poll: seconds must be a number, got string '1'",
  }, [[
flow.poll("1") --@
]] },
  { "an array's element that counts from 0", {
    "array: index must be from 1 to 3, got 0; indices count from 1",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a[0]) --@
]] },
  { "an array's element behind its end", {
    "array: index must be from 1 to 3, got 4",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a[4]) --@
]] },
  { "an array's negative element", {
    "array: index must be from 1 to 3, got -1",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a[-1]) --@
]] },
  { "get with too few indices", {
    "get: takes 2 indices for shape (3, 2), got 1",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a:get(1)) --@
]] },
  { "a method of an array with a dot", {
    "mean: argument 1 must be an NdArray, got nil; methods are called with a colon: "
      .. "a:mean()",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a.mean()) --@
]] },
  { "a method of an array without its call", {
    "attempt to concatenate field 'mean' (a function value)",
  }, [[
local a = nd.zeros({ 3, 2 })
print("mean: " .. a.mean) --@
]] },
  { "a method that arrays do not have", {
    "attempt to call method 'size' (a number value)",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a:size()) --@
]] },
  { "a misspelled method of an array", {
    "an NdArray has no 'reshap'; did you mean reshape?",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a:reshap({ 6 })) --@
]] },
  { "a property of an array set", {
    "array: cannot set 'shape', only elements, rows and parts can be set",
  }, [[
local a = nd.zeros({ 3, 2 })
a.shape = { 6 } --@
]] },
  { "arrays whose shapes do not broadcast", {
    "add: shapes (3, 2) and (3) do not broadcast: extents from the right must be equal or 1",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a + nd.zeros({ 3 })) --@
]] },
  { "an array and a text", {
    "multiply: argument 2 'y' must be an array, a table or a number, got string",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a * "2") --@
]] },
  { "an array and nil", {
    "add: argument 2 'y' is nil: is a name misspelled?",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a + b) --@
]] },
  { "two arrays compared", {
    "NdArrays are compared element by element, by a:lt(b) or a:gt(b); add :all() or :any()",
  }, [[
local a, b = nd.zeros({ 3 }), nd.ones({ 3 })
if a < b then print("less") end --@
]] },
  { "an array compared with a number", {
    "attempt to compare number with userdata",
  }, [[
local a = nd.zeros({ 3 })
if a > 0 then print("positive") end --@
]] },
  { "an array in a text format", {
    "bad argument #1 to 'format' (number expected, got userdata)",
  }, [[
local loss = nd.zeros({ 3 })
print(("loss %.3f"):format(loss)) --@
]] },
  { "an item of more than one element", {
    "item: the array must have one element, got 6",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a:item()) --@
]] },
  { "an array of unequal rows", {
    "ndarray.array: values[2] must have 2 elements like those before it, got 1",
  }, [[
local a = nd.array({ { 1, 2 }, { 3 } }) --@
print(a)
]] },
  { "an array of text", {
    "ndarray.array: values[1] must be a number, got string",
  }, [[
local a = nd.array({ "1", "2" }) --@
print(a)
]] },
  { "an array of nothing", {
    "ndarray.array: values must be an array or a list of numbers, got an empty table",
  }, [[
local a = nd.array({}) --@
print(a)
]] },
  { "an array's shape as separate numbers", {
    "ndarray.zeros: shape is one list: {3, 2}",
  }, [[
local a = nd.zeros(3, 2) --@
print(a)
]] },
  { "an array of a dtype that does not exist", {
    "ndarray.zeros: dtype must be one of bfloat16, float16, float32, float64, int32, "
      .. "int64, int8, uint8, got string 'int'",
  }, [[
local a = nd.zeros({ 3, 2 }, "int") --@
print(a)
]] },
  { "an array reshaped to another size", {
    "reshape: shape must have room for 6 elements, got (4)",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a:reshape({ 4 })) --@
]] },
  { "an axis of an array out of range", {
    "reduce_mean: axis must be from -2 to 1, got 2; axes count from 0",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a:mean(2)) --@
]] },
  { "a slice that counts from 0", {
    "slice: rows 5 to 9 are not in an array of 3 rows",
  }, [[
local a = nd.zeros({ 3, 2 })
print(a:slice(5, 9)) --@
]] },
  { "an element set to a text", {
    "array: value must be an array, a table or a number, got string",
  }, [[
local a = nd.zeros({ 3 })
a[1] = "one" --@
]] },
  { "an element that the dtype cannot hold", {
    "array: value must fit uint8, got 256",
  }, [[
local a = nd.zeros({ 3 }, flow.uint8)
a[1] = 256 --@
]] },
  { "a row set from another length", {
    "array: value must be of shape (2), got (3)",
  }, [[
local a = nd.zeros({ 3, 2 })
a[1] = { 1, 2, 3 } --@
]] },
  { "ipairs over an array", {
    "bad argument #1 to 'ipairs' (table expected, got userdata)",
  }, [[
local a = nd.zeros({ 3, 2 })
for i, row in ipairs(a) do print(i, row) end --@
]] },
  { "a .npy file that is not there", {
    "ndarray.load: no_such_file.npy: No such file or directory",
  }, [[
local a = nd.load("no_such_file.npy") --@
print(a)
]] },
  { "a .npy file that is none", {
    "/text.npy: not a .npy file",
  }, [[
local a = nd.load(write("text.npy", "this is text")) --@
print(a)
]] },
  { "a .npy file that is cut short", {
    "/cut.npy: cut short: float32 (100) must have 400 bytes, got 72",
  }, [[
local path = directory .. "/cut.npy"
nd.save(path, nd.zeros({ 100 }))
write("cut.npy", io.open(path, "rb"):read("*a"):sub(1, 200))
local a = nd.load(path) --@
print(a)
]] },
  { "save's arguments the wrong way round", {
    "ndarray.save: path must be a string, got an NdArray (3)",
  }, [[
nd.save(nd.zeros({ 3 }), directory .. "/a.npy") --@
]] },
  { "a data set in a format that does not exist", {
    "load_mnist: data_format must be \"NCHW\" or \"NHWC\", got string 'NCWH'",
  }, [[
local train = flow.data.load_mnist(100, 100, { data_format = "NCWH" }) --@
print(train)
]] },
  { "a batch size that does not divide the data", {
    "load_mnist: train_batch_size must divide 20 images, got 7",
  }, [[
local train = flow.data.load_mnist(7, 100, { out_dir = small_mnist() }) --@
print(train)
]] },
  { "a broken file of the data set", {
    "/mnist.npz: not a zip file, or cut short",
  }, [[
write("mnist.npz", "not a zip file")
local train = flow.data.load_mnist(2, 2, { out_dir = directory }) --@
print(train)
]] },
  { "zip of nothing", {
    "zip: argument 1 must be an NdArray or a table, got nil",
  }, [[
for i, x in flow.zip(nil) do print(i, x) end --@
]] },
  { "zip of misspelled fields", {
    "zip: argument 2 must be an NdArray or a table, got nil",
  }, [[
local train = { images = nd.zeros({ 2, 3 }), labels = nd.zeros({ 2 }) }
for i, x, y in flow.zip(train.images, train.label) do print(i, x, y) end --@
]] },
  { "a seed as text", {
    "random.seed: seed must be a whole number of at least 0, got string '42'",
  }, [[
flow.random.seed("42") --@
]] },
  { "a seed with a fraction", {
    "random.seed: seed must be a whole number of at least 0, got number 0.5",
  }, [[
flow.random.seed(0.5) --@
]] },
  { "help of a name that does not exist", {
    "help: there is nothing named 'sotfmax'; did you mean nn.softmax?",
  }, [[
flow.help("sotfmax") --@
]] },
}
