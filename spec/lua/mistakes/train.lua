-- Mistakes in training: losses, optimizers, variables that jobs share, checkpoints.
return {
  { "a train job without an optimizer", {}, [[
local train = flow.global_function { name = "train_job", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return x * flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
  end,
}
print(train({ 1, 2 })) --@
]] },
  { "an optimizer that minimizes nothing", {}, [[
local train = flow.global_function { name = "train_job", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
    flow.optimizer.SGD(0.1)
    return x * w
  end,
}
print(train({ 1, 2 })) --@
]] },
  { "an optimizer in a predict job", {}, "net", [[
flow.optimizer.SGD(0.1):minimize(images) --@
return images
]] },
  { "two optimizers in one job", {}, "train", [[
flow.optimizer.SGD(0.1):minimize(loss)
flow.optimizer.SGD(0.1):minimize(loss) --@
return loss
]] },
  { "minimize with a dot", {}, "train", [[
flow.optimizer.SGD(0.1).minimize(loss) --@
return loss
]] },
  { "minimize without the loss", {}, "train", [[
flow.optimizer.SGD(0.1):minimize() --@
return loss
]] },
  { "PyTorch's step of an optimizer", {}, "train", [[
flow.optimizer.SGD(0.1):step() --@
return loss
]] },
  { "PyTorch's backward of a loss", {}, "train", [[
loss:backward() --@
return loss
]] },
  { "an optimizer without a learning rate", {}, "train", [[
flow.optimizer.SGD():minimize(loss) --@
return loss
]] },
  { "a learning rate as text", {}, "train", [[
flow.optimizer.SGD("0.1"):minimize(loss) --@
return loss
]] },
  { "a learning rate by PyTorch's name", {}, "train", [[
flow.optimizer.SGD({ lr = 0.1 }):minimize(loss) --@
return loss
]] },
  { "a momentum as text", {}, "train", [[
flow.optimizer.SGD(0.1, { momentum = "0.9" }):minimize(loss) --@
return loss
]] },
  { "a misspelled option of an optimizer", {}, "train", [[
flow.optimizer.SGD(0.1, { momentun = 0.9 }):minimize(loss) --@
return loss
]] },
  { "an optimizer in lower case", {}, "train", [[
flow.optimizer.sgd(0.1):minimize(loss) --@
return loss
]] },
  { "parameters given to an optimizer, as in PyTorch", {}, "train", [[
flow.optimizer.SGD(flow.get_all_variables(), 0.1):minimize(loss) --@
return loss
]] },
  { "a schedule of as many values as boundaries", {}, "train", [[
local rates = flow.optimizer.PiecewiseConstantScheduler({ 100, 200 }, { 0.1, 0.01 }) --@
flow.optimizer.SGD(rates):minimize(loss)
return loss
]] },
  { "a schedule's rate without its list", {}, "train", [[
local rates = flow.optimizer.PiecewiseConstantScheduler({}, 0.1) --@
flow.optimizer.SGD(rates):minimize(loss)
return loss
]] },
  { "clipping by a plain number", {}, "train", [[
flow.optimizer.SGD(0.1, { grad_clipping = 1 }):minimize(loss) --@
return loss
]] },
  { "a variable to train that does not exist", {}, "train", [[
flow.optimizer.SGD(0.1, { variables = { "output_weight" } }):minimize(loss) --@
return loss
]] },
  { "a loss that no variable has a part in", {}, [[
local train = flow.global_function { name = "train_job", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
    local y, loss = x * w, flow.math.square(x)
    flow.optimizer.SGD(0.1):minimize(loss)
    return y
  end,
}
print(train({ 1, 2 })) --@
]] },
  { "a loss of whole numbers", {}, "train", [[
local right = flow.math.argmax(logits)
flow.optimizer.SGD(0.1):minimize(right) --@
return loss
]] },
  { "an optimizer before there are variables", {}, [[
local train = flow.global_function { name = "train_job", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    flow.optimizer.SGD(0.1):minimize(x) --@
    return x
  end,
}
train({ 1, 2 })
]] },
  { "logits and labels the wrong way round", {}, "train", [[
return flow.nn.sparse_softmax_cross_entropy_with_logits(logits, labels) --@
]] },
  { "labels that are not whole numbers", {}, "train", [[
local wrong = flow.cast(labels, flow.float)
return flow.nn.sparse_softmax_cross_entropy_with_logits(wrong, logits) --@
]] },
  { "labels of one class for each column", {}, "train", [[
local one_hot = flow.cast(flow.reshape(flow.math.add(logits, 0), { 4, 10 }), flow.int32)
return flow.nn.sparse_softmax_cross_entropy_with_logits(one_hot, logits) --@
]] },
  { "logits of another batch than the labels", {}, "train", [[
local wrong = flow.reshape(logits, { 8, 5 })
return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, wrong) --@
]] },
  { "a loss of another library", {}, "train", [[
return flow.nn.cross_entropy(logits, labels) --@
]] },
  { "labels that are counted from 1", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 1, 2, 3, 4 })
train(nd.ones({ 4, 8 }), { 7, 8, 9, 10 }) --@
]] },
  { "a negative label", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 1, 2, 3, -1 }) --@
]] },
  { "labels as fractions", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0.5, 1, 2, 3 }) --@
]] },
  { "labels that are not numbers", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 0 / 0 }) --@
]] },
  { "labels as an array of floats with a fraction", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), nd.array({ 0, 1, 2, 2.5 })) --@
]] },
  { "labels as one-hot rows", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), nd.zeros({ 4, 10 }, flow.int32)) --@
]] },
  { "labels as names", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { "cat", "dog", "cat", "dog" }) --@
]] },
  { "the images and labels the wrong way round", {}, [[
local train = mlp()
train({ 0, 1, 2, 3 }, nd.ones({ 4, 8 })) --@
]] },
  { "the labels forgotten", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 })) --@
]] },
  { "the arguments in one table", {}, [[
local train = mlp()
train({ nd.ones({ 4, 8 }), nd.zeros({ 4 }, flow.int32) }) --@
]] },
  { "the arguments by name", {}, [[
local train = mlp()
train({ images = nd.ones({ 4, 8 }), labels = nd.zeros({ 4 }, flow.int32) }) --@
]] },
  { "a batch that is smaller than declared", {}, [[
local train = mlp()
train(nd.ones({ 3, 8 }), nd.zeros({ 3 }, flow.int32)) --@
]] },
  { "one sample instead of a batch", {}, [[
local train = mlp()
train(nd.ones({ 8 }), { 1 }) --@
]] },
  { "images with their channels last", {}, [[
local net = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "images", tp.Numpy.Placeholder({ 4, 1, 28, 28 }) } },
  body = function(images) return flow.nn.relu(images) end,
}
net(nd.zeros({ 4, 28, 28, 1 })) --@
]] },
  { "flat images where planes are due", {}, [[
local net = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "images", tp.Numpy.Placeholder({ 4, 1, 28, 28 }) } },
  body = function(images) return flow.nn.relu(images) end,
}
net(nd.zeros({ 4, 784 })) --@
]] },
  { "a table with a row that is too short", {}, [[
local train = mlp()
train({ { 1, 2, 3, 4, 5, 6, 7, 8 }, { 1, 2, 3 }, { 1 }, { 1 } }, { 0, 1, 2, 3 }) --@
]] },
  { "a table with a hole", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, nil, 2, 3 }) --@
]] },
  { "a number where an array is due", {}, [[
local train = mlp()
train(1, 2) --@
]] },
  { "the whole data set instead of its images", {}, [[
local train = mlp()
local data = { images = nd.ones({ 4, 8 }), labels = nd.zeros({ 4 }, flow.int32) }
train(data, data.labels) --@
]] },
  { "numbers that the dtype cannot hold", {}, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 3e9 }) --@
]] },
  { "a job used after the session was cleared", {}, [[
local train = mlp()
flow.clear_default_session()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 }) --@
]], clears = true },
  { "two jobs that want one variable in two shapes", {}, [[
local function net(name, units)
  return flow.global_function { name = name, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 4, 8 }) } },
    body = function(x)
      return flow.layers.dense(x, units, { name = "output" })
    end,
  }
end
net("train_net", 10)(nd.ones({ 4, 8 }))
net("eval_net", 5)(nd.ones({ 4, 8 })) --@
]] },
  { "a limit of memory that the job passes", {}, [[
flow.config.memory_limit(1000)
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 }) --@
]] },
  { "an array larger than any memory", {}, [[
local a = nd.zeros({ 1e6, 1e6, 1e3 }) --@
print(a)
]] },
  { "a checkpoint saved over another", {}, [[
local train = mlp()
local check_point = flow.train.CheckPoint()
check_point:init()
check_point:save(directory .. "/model")
check_point:save(directory .. "/model") --@
print(train)
]] },
  { "a checkpoint saved under a file", {}, [[
local train = mlp()
write("models", "a file")
flow.train.CheckPoint():save(directory .. "/models/mlp") --@
print(train)
]] },
  { "a checkpoint that is not there", {}, [[
local train = mlp()
flow.train.CheckPoint():load("./no_such_models") --@
print(train)
]] },
  { "a directory without a checkpoint", {}, [[
local train = mlp()
flow.train.CheckPoint():load(directory) --@
print(train)
]] },
  { "a file that is no checkpoint", {}, [[
local train = mlp()
write("model.safetensors", "not one at all")
flow.train.CheckPoint():load(directory) --@
print(train)
]] },
  { "a checkpoint of other layer names, strictly", {}, [[
local function net(name, layer)
  return flow.global_function { name = name, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 4, 8 }) } },
    body = function(x) return flow.layers.dense(x, 10, { name = layer }) end,
  }
end
net("train_net", "output")
flow.train.CheckPoint():save(directory .. "/model")
flow.clear_default_session()
net("eval_net", "dense_output")
flow.train.CheckPoint():load(directory .. "/model", { strict = true }) --@
]], clears = true },
  { "a checkpoint of another shape", {}, [[
local function net(units)
  return flow.global_function { name = "net", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 4, 8 }) } },
    body = function(x) return flow.layers.dense(x, units, { name = "output" }) end,
  }
end
net(10)
flow.train.CheckPoint():save(directory .. "/model")
flow.clear_default_session()
net(5)
flow.train.CheckPoint():load(directory .. "/model") --@
]], clears = true },
  { "a checkpoint saved with a dot", {}, [[
local check_point = flow.train.CheckPoint()
check_point.save(directory .. "/model") --@
]] },
  { "a checkpoint saved without a path", {}, [[
local check_point = flow.train.CheckPoint()
check_point:save() --@
]] },
  { "a misspelled class of checkpoints", {}, [[
local check_point = flow.train.Checkpoint() --@
print(check_point)
]] },
  { "a variable set by a wrong name", {}, [[
local train = mlp()
flow.load_variables({ ["output-wieght"] = nd.zeros({ 10, 8 }) }, { ignore_mismatch = false }) --@
print(train)
]] },
  { "a variable set in a wrong shape", {}, [[
local train = mlp()
flow.load_variables({ ["output-weight"] = nd.zeros({ 8, 10 }) }) --@
print(train)
]] },
}
