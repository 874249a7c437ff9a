-- Examples of data, checkpoints, dtypes and tools.
return [==[
## bfloat16
print(nd.array({ 1 / 3 }):astype(flow.bfloat16))  --> [0.334]

## checkpoint.get
local arrays = { a = nd.ones({ 2 }), b = nd.zeros({ 3 }) }
flow.checkpoint.save("./arrays", arrays)
print(flow.checkpoint.get("./arrays").a)  --> [1. 1.]

## checkpoint.load
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 1, { name = "fc" }) end }
local before = job({ { 1, 2 } })
flow.checkpoint.save("./model")
flow.load_variables({ ["fc-bias"] = { 100 } })
local report = flow.checkpoint.load("./model")
print(#report.missing, job({ { 1, 2 } }):eq(before):all())  --> 0	true

## checkpoint.notes
flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 2, { name = "fc" }) end }
flow.checkpoint.save("./model", { notes = { classes = { "cat", "dog" }, mean = 0.3 } })
local notes = flow.checkpoint.notes("./model")   -- in another program, say
print(notes.classes[1], notes.mean)  --> cat	0.3

## checkpoint.save
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 1, { name = "fc" }) end }
job({ { 1, 2 } })
flow.checkpoint.save("./model")
print(#flow.checkpoint.load("./model").loaded)  --> 2
flow.checkpoint.save("./model", { overwrite = true, async = true })(function()
  print("saved")  --> saved
end)
flow.sync()

## data.close_loop
for epoch, i, x in flow.data.loop({ { 7, 8, 9 } }) do
  print(x)                     --> 7
  break
end
print(flow.data.close_loop())  --> true

## data.load_mnist
local train, test = flow.data.load_mnist(100, 100)
print(train.images.shape[2], train.images.shape[4], train.labels.dtype)
--> 100	28	int32

## data.loop
local data = { state = { 10, 20 }, action = { 1, 2 } }
local columns = { "state", "action" }
local loop = flow.data.loop(data, { epochs = 2, columns = columns })
for epoch, i, state, action in loop do
  print(epoch, i, state, action)  --> 1	1	10	1
                                  --> 1	2	20	2
                                  --> 2	1	10	1
                                  --> 2	2	20	2
end

## double
print(nd.array({ 0.1 }, flow.double)[1] == 0.1)  --> true

## float
print(nd.zeros({ 1 }, flow.float).dtype)  --> float32

## float16
local half = nd.array({ 0.1, 70000 }, flow.double):astype(flow.float16)
-- for keeping arrays: nothing computes in it
print(half)                        --> [0.1 inf]
print(half:astype(flow.float)[1])  --> 0.0999755859375

## float32
print(nd.zeros({ 1 }, flow.float32).dtype)  --> float32

## float64
print(nd.array({ 0.1 }, flow.float64)[1] == 0.1)  --> true

## has
print(flow.has("nn.relu"), flow.has("nn.rellu"))  --> true	false

## help
flow.help("nn.relu")  --> flow.nn.relu(x, name) -> y

## int32
local labels = nd.array({ 3, 0, 9 }, flow.int32)
print(labels.dtype, labels)  --> int32	[3 0 9]

## int64
print(nd.full({ 1 }, 2 ^ 40, flow.int64))  --> [1099511627776]

## int8
print(nd.array({ 200, -200 }):astype(flow.int8))  --> [ 127 -128]

## bundle.list
print(#flow.bundle.list())  --> 0

## bundle.path
-- In a program that `jfl --bundle app.lua model -o app` made this is the path of a copy.
print(flow.bundle.path("model"))  --> model

## onnx.export
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) } },
  body = function(x) return flow.nn.relu(x, { name = "y" }) end }
flow.onnx.export(job, "net.onnx")
local again = flow.onnx.load("net.onnx"):predict { inputs = { flow.float32 { -1, 2 } } }
print(again({ { -1, 2 } }))  --> [[0. 2.]]

## plot
flow.plot({ 2.3, 1.1, 0.7, 0.5 }, { title = "loss", svg = "loss.svg" })
print(io.open("loss.svg"):read(4))  --> <svg

## plot_graph
local job = flow.global_function { name = "double", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x * 2 end }
flow.plot_graph(job, { svg = "graph.svg" })
print(io.open("graph.svg"):read(4))  --> <svg

## plot_images
local images = nd.rand({ 3, 8, 8 })
flow.plot_images(images, { labels = { "a", "b", "c" }, svg = "noise.svg" })
print(io.open("noise.svg"):read(4))  --> <svg

## plot_matrix
local seen = { { 9, 1 }, { 2, 8 } }  -- how often a cat was taken for a dog
flow.plot_matrix(seen, { labels = { "cat", "dog" }, svg = "confusion.svg" })
print(io.open("confusion.svg"):read(4))  --> <svg

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

## summary.close
local writer = flow.summary.create_summary_writer("logs")
flow.summary.close(writer)
print(writer)  --> closed summary writer of logs

## summary.create_summary_writer
local writer = flow.summary.create_summary_writer("logs/run1")
flow.summary.scalar(0.5, 1, "loss")
flow.summary.close(writer)
print(writer)  --> closed summary writer of logs/run1

## summary.flush_summary_writer
local writer = flow.summary.create_summary_writer("logs")
flow.summary.scalar(0.5, 1, "loss")
-- what is written so far is in the file
flow.summary.flush_summary_writer(writer)
flow.summary.close(writer)
print(writer)  --> closed summary writer of logs

## summary.histogram
local writer = flow.summary.create_summary_writer("logs")
flow.summary.histogram(nd.randn({ 1000 }), 1, "weights")
flow.summary.close(writer)  -- tensorboard --logdir logs shows it
print(io.open(writer.path):seek("end") > 60)  --> true

## summary.image
local writer = flow.summary.create_summary_writer("logs")
flow.summary.image(nd.rand({ 2, 28, 28, 1 }), 1, "samples")
flow.summary.close(writer)  -- tensorboard --logdir logs shows it
print(io.open(writer.path):seek("end") > 60)  --> true

## summary.scalar
local writer = flow.summary.create_summary_writer("logs")
for step = 1, 3 do flow.summary.scalar(1 / step, step, "loss") end
flow.summary.close(writer)  -- tensorboard --logdir logs shows it
print(io.open(writer.path):seek("end") > 60)  --> true

## summary.hparams
local writer = flow.summary.create_summary_writer("logs")
flow.summary.hparams({ rate = 0.1, optimizer = "Adam" })
flow.summary.close(writer)
print(io.open(writer.path):seek("end") > 60)  --> true

## summary.text
local writer = flow.summary.create_summary_writer("logs")
flow.summary.text("**rate** 0.1, batch 100", 0, "settings")
flow.summary.close(writer)  -- tensorboard --logdir logs shows it
print(io.open(writer.path):seek("end") > 60)  --> true

## train.CheckPoint
local check_point = flow.train.CheckPoint()
check_point:save("./empty_session")
print(#check_point:load("./empty_session").loaded)  --> 0

## train.CheckPoint:init
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 1, { name = "fc" }) end }
flow.train.CheckPoint():init()  -- before the first call
print(flow.get_all_variables()["fc-bias"])  --> [0.]

## train.CheckPoint:load
local job = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1, 2 }) } },
  body = function(x) return flow.layers.dense(x, 1, { name = "fc" }) end }
local check_point = flow.train.CheckPoint()
check_point:init()
check_point:save("./model")
local report = check_point:load("./model", { strict = true })
print(table.concat(report.loaded, " "))  --> fc-weight fc-bias

## train.CheckPoint:save
local check_point = flow.train.CheckPoint()
check_point:save("./model")
check_point:save("./model", { overwrite = true })
print(io.open("./model/model.safetensors") ~= nil)  --> true

## train.SimpleCheckPointManager
local manager = flow.train.SimpleCheckPointManager("./checkpoints",
  { keep = 3 })
manager:initialize_or_restore()  -- from the newest, if there is one
manager:save()
print(#manager:list_checkpoints())  --> 2

## train.SimpleCheckPointManager:initialize_or_restore
local manager = flow.train.SimpleCheckPointManager("./checkpoints")
manager:initialize_or_restore()
print(manager:latest_checkpoint() ~= nil)  --> true

## train.SimpleCheckPointManager:latest_checkpoint
local manager = flow.train.SimpleCheckPointManager("./checkpoints")
print(manager:latest_checkpoint())                    --> nil
print(manager:save() == manager:latest_checkpoint())  --> true

## train.SimpleCheckPointManager:list_checkpoints
local manager = flow.train.SimpleCheckPointManager("./checkpoints")
for i = 1, 3 do manager:save() end
print(#manager:list_checkpoints())  --> 3

## train.SimpleCheckPointManager:save
local manager = flow.train.SimpleCheckPointManager("./checkpoints")
local name = manager:save()
print(name:match("^snapshot_") ~= nil)  --> true

## q4_0
print(nd.ones({ 2, 32 }):astype(flow.q4_0).dtype)  --> q4_0

## q4_k
print(nd.ones({ 2, 256 }):astype(flow.q4_k).dtype)  --> q4_k

## q6_k
print(nd.ones({ 2, 256 }):astype(flow.q6_k).dtype)  --> q6_k

## q8_0
print(nd.ones({ 2, 32 }):astype(flow.q8_0).dtype)  --> q8_0

## uint8
print(nd.array({ 300, -1, 7.9 }):astype(flow.uint8))  --> [255   0   7]

## version
print(type(flow.version))  --> string

## zip
local images, labels = nd.zeros({ 3, 2 }), nd.array({ 5, 0, 7 })
for i, image, label in flow.zip(images, labels) do
  print(i, image, label)  --> 1	[0. 0.]	5
                          --> 2	[0. 0.]	0
                          --> 3	[0. 0.]	7
end
]==]
