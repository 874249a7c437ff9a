-- Mistakes around calls: asynchronous results, arrays, files, data.
return {
  { "a future's method with a dot", {}, [[
local add = future_job()
print(add({ 1, 2 }).get()) --@
]] },
  { "a future taken for its value", {}, [[
local add = future_job()
local loss = add({ 1, 2 })
print(loss:mean()) --@
]] },
  { "a future's get without its parentheses", {}, [[
local add = future_job()
local loss = add({ 1, 2 }).get
print(loss:mean()) --@
]] },
  { "a future in arithmetic", {}, [[
local add = future_job()
print(add({ 1, 2 }) + 1) --@
]] },
  { "a registrar taken for its value", {}, [[
local add = callback_job()
local loss = add({ 1, 2 })
print(loss:mean()) --@
]] },
  { "a registrar's element", {}, [[
local add = callback_job()
print(add({ 1, 2 })[1]) --@
]] },
  { "the result of a callback instead of the callback", {}, [[
local add = callback_job()
local function show(value) return value:sum() end
add({ 1, 2 })(show(nd.ones({ 2 }))) --@
]] },
  { "no callback", {}, [[
local add = callback_job()
add({ 1, 2 })() --@
]] },
  { "the callback as an argument of the call", {}, [[
local add = callback_job()
add({ 1, 2 }, print) --@
]] },
  { "two callbacks of one call", {}, [[
local add = callback_job()
local later = add({ 1, 2 })
later(function() end)
later(function() end) --@
]] },
  { "an async_get without a callback", {}, [[
local add = future_job()
add({ 1, 2 }):async_get() --@
]] },
  { "get of a job that gives its value at once", {}, [[
local train = mlp()
local loss = train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 })
print(loss:get()) --@
]] },
  { "a callback of a job that gives its value at once", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 })(print) --@
]] },
  { "an error in a callback", {}, [[
local add = callback_job()
add({ 1, 2 })(function(value)
  print(value.loss.mean)
end)
flow.sync() --@
]] },
  { "an error in a callback, raised by an error function", {}, [[
local add = callback_job()
add({ 1, 2 })(function()
  error("the callback gave up")
end)
flow.sync() --@
]] },
  { "the session cleared in a body", {}, "net", [[
flow.clear_default_session() --@
return images
]] },
  { "a method of a job with a dot", {}, [[
local train = mlp()
train.compile() --@
]] },
  { "a method that jobs do not have", {}, [[
local train = mlp()
train:fit(nd.ones({ 4, 8 }), { 0, 1, 2, 3 }) --@
]] },
  { "PyTorch's train mode of a job", {}, [[
local train = mlp()
train.eval() --@
]] },
  { "polling for a text", {}, [[
flow.poll("1") --@
]] },
  { "an array's element that counts from 0", {}, [[
local a = nd.zeros({ 3, 2 })
print(a[0]) --@
]] },
  { "an array's element behind its end", {}, [[
local a = nd.zeros({ 3, 2 })
print(a[4]) --@
]] },
  { "an array's negative element", {}, [[
local a = nd.zeros({ 3, 2 })
print(a[-1]) --@
]] },
  { "get with too few indices", {}, [[
local a = nd.zeros({ 3, 2 })
print(a:get(1)) --@
]] },
  { "a method of an array with a dot", {}, [[
local a = nd.zeros({ 3, 2 })
print(a.mean()) --@
]] },
  { "a method of an array without its call", {}, [[
local a = nd.zeros({ 3, 2 })
print("mean: " .. a.mean) --@
]] },
  { "a method that arrays do not have", {}, [[
local a = nd.zeros({ 3, 2 })
print(a:size()) --@
]] },
  { "a misspelled method of an array", {}, [[
local a = nd.zeros({ 3, 2 })
print(a:reshap({ 6 })) --@
]] },
  { "a property of an array set", {}, [[
local a = nd.zeros({ 3, 2 })
a.shape = { 6 } --@
]] },
  { "arrays whose shapes do not broadcast", {}, [[
local a = nd.zeros({ 3, 2 })
print(a + nd.zeros({ 3 })) --@
]] },
  { "an array and a text", {}, [[
local a = nd.zeros({ 3, 2 })
print(a * "2") --@
]] },
  { "an array and nil", {}, [[
local a = nd.zeros({ 3, 2 })
print(a + b) --@
]] },
  { "two arrays compared", {}, [[
local a, b = nd.zeros({ 3 }), nd.ones({ 3 })
if a < b then print("less") end --@
]] },
  { "an array compared with a number", {}, [[
local a = nd.zeros({ 3 })
if a > 0 then print("positive") end --@
]] },
  { "an array in a text format", {}, [[
local loss = nd.zeros({ 3 })
print(("loss %.3f"):format(loss)) --@
]] },
  { "an item of more than one element", {}, [[
local a = nd.zeros({ 3, 2 })
print(a:item()) --@
]] },
  { "an array of unequal rows", {}, [[
local a = nd.array({ { 1, 2 }, { 3 } }) --@
print(a)
]] },
  { "an array of text", {}, [[
local a = nd.array({ "1", "2" }) --@
print(a)
]] },
  { "an array of nothing", {}, [[
local a = nd.array({}) --@
print(a)
]] },
  { "an array's shape as separate numbers", {}, [[
local a = nd.zeros(3, 2) --@
print(a)
]] },
  { "an array of a dtype that does not exist", {}, [[
local a = nd.zeros({ 3, 2 }, "int") --@
print(a)
]] },
  { "an array reshaped to another size", {}, [[
local a = nd.zeros({ 3, 2 })
print(a:reshape({ 4 })) --@
]] },
  { "an axis of an array out of range", {}, [[
local a = nd.zeros({ 3, 2 })
print(a:mean(2)) --@
]] },
  { "a slice that counts from 0", {}, [[
local a = nd.zeros({ 3, 2 })
print(a:slice(5, 9)) --@
]] },
  { "an element set to a text", {}, [[
local a = nd.zeros({ 3 })
a[1] = "one" --@
]] },
  { "an element that the dtype cannot hold", {}, [[
local a = nd.zeros({ 3 }, flow.uint8)
a[1] = 256 --@
]] },
  { "a row set from another length", {}, [[
local a = nd.zeros({ 3, 2 })
a[1] = { 1, 2, 3 } --@
]] },
  { "ipairs over an array", {}, [[
local a = nd.zeros({ 3, 2 })
for i, row in ipairs(a) do print(i, row) end --@
]] },
  { "a .npy file that is not there", {}, [[
local a = nd.load("no_such_file.npy") --@
print(a)
]] },
  { "a .npy file that is none", {}, [[
local a = nd.load(write("text.npy", "this is text")) --@
print(a)
]] },
  { "a .npy file that is cut short", {}, [[
local path = directory .. "/cut.npy"
nd.save(path, nd.zeros({ 100 }))
write("cut.npy", io.open(path, "rb"):read("*a"):sub(1, 200))
local a = nd.load(path) --@
print(a)
]] },
  { "save's arguments the wrong way round", {}, [[
nd.save(nd.zeros({ 3 }), directory .. "/a.npy") --@
]] },
  { "a data set in a format that does not exist", {}, [[
local train = flow.data.load_mnist(100, 100, { data_format = "NCWH" }) --@
print(train)
]] },
  { "a batch size that does not divide the data", {}, [[
local train = flow.data.load_mnist(7, 100, { out_dir = small_mnist() }) --@
print(train)
]] },
  { "a broken file of the data set", {}, [[
write("mnist.npz", "not a zip file")
local train = flow.data.load_mnist(2, 2, { out_dir = directory }) --@
print(train)
]] },
  { "zip of nothing", {}, [[
for i, x in flow.zip(nil) do print(i, x) end --@
]] },
  { "zip of misspelled fields", {}, [[
local train = { images = nd.zeros({ 2, 3 }), labels = nd.zeros({ 2 }) }
for i, x, y in flow.zip(train.images, train.label) do print(i, x, y) end --@
]] },
  { "a seed as text", {}, [[
flow.random.seed("42") --@
]] },
  { "a seed with a fraction", {}, [[
flow.random.seed(0.5) --@
]] },
  { "help of a name that does not exist", {}, [[
flow.help("sotfmax") --@
]] },
}
