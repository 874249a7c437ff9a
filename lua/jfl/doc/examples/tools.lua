-- Examples of data, checkpoints, dtypes and tools.
return [==[
## checkpoint.save, checkpoint.load, checkpoint.get, checkpoint.notes
local net = flow.model("net", function(x)
  return flow.layers.dense(x, 1, { name = "fc" })
end)
local predict = net:predict { inputs = { flow.float32 { 1, 2 } } }
local before = predict({ { 1, 2 } })
flow.checkpoint.save("./net", { notes = { classes = { "cat", "dog" } } })
flow.load_variables({ ["net-fc-bias"] = { 100 } })
-- in another program, say
print(#flow.checkpoint.load("./net").missing)       --> 0
print(predict({ { 1, 2 } }):eq(before):all())         --> true
print(flow.checkpoint.get("./net")["net-fc-bias"])  --> [0.]
print(flow.checkpoint.notes("./net").classes[1])    --> cat
flow.checkpoint.save("./net", { overwrite = true, async = true })(
  function() print("saved") end)                      --> saved
flow.sync()
flow.checkpoint.save("./arrays", { a = nd.ones({ 2 }) })
print(flow.checkpoint.get("./arrays").a)              --> [1. 1.]

## data.load_mnist
local train, test = flow.data.load_mnist(100, 100)
print(train.images.shape[2], train.images.shape[4], train.labels.dtype)
--> 100	28	int32

## data.loop, data.close_loop
local data = { state = { 10, 20 }, action = { 1, 2 } }
local columns = { "state", "action" }
local loop = flow.data.loop(data, { epochs = 2, columns = columns })
for epoch, i, state, action in loop do
  print(epoch, i, state, action)  --> 1	1	10	1
                                  --> 1	2	20	2
                                  --> 2	1	10	1
                                  --> 2	2	20	2
end
for epoch, i, x in flow.data.loop({ { 7, 8, 9 } }) do break end
print(flow.data.close_loop())     --> true

## float, float32, double, float64, int32, int64, int8, uint8
print(nd.zeros({ 1 }, flow.float).dtype == flow.float32)  --> true
print(nd.array({ 0.1 }, flow.double)[1] == 0.1)           --> true
print(nd.array({ 0.1 }, flow.float64).dtype)              --> float64
print(nd.array({ 3, 0, 9 }, flow.int32))                  --> [3 0 9]
print(nd.full({ 1 }, 2 ^ 40, flow.int64))                 --> [1099511627776]
local x = nd.array({ 300, -1, 7.9 })
print(x:astype(flow.int8), x:astype(flow.uint8))          --> [127  -1   7]	[255   0   7]

## float16, bfloat16
local half = nd.array({ 0.1, 70000 }, flow.double):astype(flow.float16)
-- for keeping arrays: nothing computes in it
print(half, half:astype(flow.float)[1])           --> [0.1 inf]	0.0999755859375
print(nd.array({ 1 / 3 }):astype(flow.bfloat16))  --> [0.334]

## arguments
-- `jfl train.lua 5 rate=0.1` gives these words; by itself it reads what the script was given.
local o = flow.arguments("[epochs=3] [rate=0.01] [file=FILE]", { "5", "rate=0.1" })
print(o.epochs, o.rate, o.file)  --> 5	0.1	nil

## help
flow.help("nn.relu")  --> flow.nn.relu(x, name) -> y

## bundle.path, bundle.list
-- In a program that `jfl --bundle app.lua model -o app` made this is the path of a copy.
print(flow.bundle.path("model"), #flow.bundle.list())  --> model	0

## onnx.export
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) } },
  body = function(x) return flow.nn.relu(x, { name = "y" }) end }
flow.onnx.export(job, "net.onnx")
local again = flow.onnx.load("net.onnx"):predict { inputs = { flow.float32 { -1, 2 } } }
print(again({ { -1, 2 } }))  --> [[0. 2.]]

## plot, plot_images, plot_matrix
flow.plot({ 2.3, 1.1, 0.7, 0.5 }, { title = "loss", svg = "loss.svg" })
flow.plot_images(nd.rand({ 2, 8, 8 }),
  { labels = { "a", "b" }, svg = "noise.svg" })
local seen = { { 9, 1 }, { 2, 8 } }  -- cats taken for dogs once
flow.plot_matrix(seen,
  { labels = { "cat", "dog" }, svg = "confusion.svg" })
print(io.open("confusion.svg"):read(4))  --> <svg

## plot_graph
local job = flow.global_function { name = "double", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x * 2 end }
flow.plot_graph(job, { svg = "graph.svg" })
print(io.open("graph.svg"):read(4))  --> <svg

## profile
local job = flow.global_function { name = "product", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 50, 50 }) } },
  body = function(x) return flow.matmul(x, x) end }
local x = nd.ones({ 50, 50 })
flow.profile(function() for i = 1, 10 do job(x) end end)
--> share  ms/run  runs

## progress
local sum = 0
local bar = flow.progress(10, { desc = "training" })
for i in bar do
  sum = sum + i
  bar.loss = 1 / i  -- is shown beside the bar
end
print(sum)  --> 55

## sandbox
local box = flow.sandbox { memory = "64M", seconds = 1 }
box:run("function twice(x) return x * 2 end", "mod")
print(box:call("twice", 21))  --> 42
local ok, message = pcall(box.run, box, "return io.open('secret')")
print(message:match("text:.*"))  --> text:1: attempt to index global 'io' (a nil value)
box:close()

## summary.create_summary_writer, summary.scalar, summary.histogram, summary.image, summary.text,
## summary.hparams, summary.flush_summary_writer, summary.close
local writer = flow.summary.create_summary_writer("logs/run1")
flow.summary.hparams({ rate = 0.1, optimizer = "Adam" })
flow.summary.text("**rate** 0.1, batch 100", 0, "settings")
for step = 1, 3 do flow.summary.scalar(1 / step, step, "loss") end
flow.summary.histogram(nd.randn({ 1000 }), 1, "weights")
flow.summary.image(nd.rand({ 2, 28, 28, 1 }), 1, "samples")
flow.summary.flush_summary_writer(writer)  -- what is written so far is in the file
flow.summary.close(writer)                 -- tensorboard --logdir logs shows it
print(io.open(writer.path):seek("end") > 60, writer)
--> true	closed summary writer of logs/run1

## train.CheckPoint, train.CheckPoint:init, train.CheckPoint:save, train.CheckPoint:load
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 1, { name = "fc" }) end }
local check_point = flow.train.CheckPoint()
check_point:init()  -- before the first call
check_point:save("./model")
check_point:save("./model", { overwrite = true })
local report = check_point:load("./model", { strict = true })
print(table.concat(report.loaded, " "))  --> fc-weight fc-bias

## train.SimpleCheckPointManager, train.SimpleCheckPointManager:initialize_or_restore,
## train.SimpleCheckPointManager:save, train.SimpleCheckPointManager:latest_checkpoint,
## train.SimpleCheckPointManager:list_checkpoints
local manager = flow.train.SimpleCheckPointManager("./checkpoints", { keep = 3 })
manager:initialize_or_restore()  -- from the newest, if there is one
local name = manager:save()
print(name:match("^snapshot_") ~= nil, name == manager:latest_checkpoint())  --> true	true
print(#manager:list_checkpoints())                                           --> 2

## q4_0, q4_k, q6_k, q8_0
for _, form in ipairs { flow.q4_0, flow.q4_k, flow.q6_k, flow.q8_0 } do
  print(nd.ones({ 2, 256 }):astype(form).dtype)  --> q8_0
end

## version, has
print(type(flow.version), flow.has("nn.relu"), flow.has("nn.rellu"))  --> string	true	false

## zip
local images, labels = nd.zeros({ 3, 2 }), nd.array({ 5, 0, 7 })
for i, image, label in flow.zip(images, labels) do
  print(i, image, label)  --> 1	[0. 0.]	5
                          --> 2	[0. 0.]	0
                          --> 3	[0. 0.]	7
end
]==]
