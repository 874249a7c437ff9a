-- Mistakes in training: losses, optimizers, variables that jobs share, checkpoints.
return {
  { "a train job without an optimizer", {
    "train_job: a train job needs an optimizer: call "
      .. "flow.optimizer.SGD(0.1):minimize(loss) in its body",
  }, [[
local train = flow.global_function { name = "train_job", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return x * flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
  end,
}
print(train({ 1, 2 })) --@
]] },
  { "an optimizer that minimizes nothing", {
    "train_job: a train job needs an optimizer: call "
      .. "flow.optimizer.SGD(0.1):minimize(loss) in its body",
  }, [[
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
  { "losses of several shapes", {
    "train_job: minimize: losses must have one shape, got (2) and (1); reduce_mean makes one "
      .. "number of each",
  }, [[
local train = flow.global_function { name = "train_job", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
    flow.optimizer.SGD(0.1):minimize({ x * w, flow.math.reduce_sum(x * w) }) --@
    return x * w
  end,
}
print(train({ 1, 2 }))
]] },
  { "an optimizer in a predict job", {
    "SGD.minimize: job 'net' is a predict job; only a job with type = \"train\" can be "
      .. "trained",
  }, "net", [[
flow.optimizer.SGD(0.1):minimize(images) --@
return images
]] },
  { "two optimizers of one variable", {
    "minimize: variable 'output-weight' must have one optimizer, got two",
  }, "train", [[
flow.optimizer.SGD(0.1):minimize(loss)
flow.optimizer.SGD(0.1):minimize(loss) --@
return loss
]] },
  { "minimize with a dot", {
    "minimize: call it with a colon: optimizer:minimize(...)",
  }, "train", [[
flow.optimizer.SGD(0.1).minimize(loss) --@
return loss
]] },
  { "minimize without the loss", {
    "SGD.minimize: loss must be a blob or a list of blobs, got nil",
  }, "train", [[
flow.optimizer.SGD(0.1):minimize() --@
return loss
]] },
  { "PyTorch's step of an optimizer", {
    "an optimizer has no 'step': optimizer:minimize(loss) in the job's body makes every "
      .. "call of the job a step",
  }, "train", [[
flow.optimizer.SGD(0.1):step() --@
return loss
]] },
  { "PyTorch's backward of a loss", {
    "a blob has no 'backward'; gradients are taken in a body, by "
      .. "flow.optimizer.SGD(rate):minimize(loss); flow.watch_diff(x) shows that of x",
  }, "train", [[
loss:backward() --@
return loss
]] },
  { "an optimizer without a learning rate", {
    "optimizer.SGD: argument 1 'lr_scheduler' is missing",
  }, "train", [[
flow.optimizer.SGD():minimize(loss) --@
return loss
]] },
  { "a learning rate as text", {
    "optimizer.SGD: lr_scheduler must be a number, a function of the step or a scheduler such as "
      .. "flow.optimizer.PiecewiseConstantScheduler({}, {0.1}), got string '0.1'",
  }, "train", [[
flow.optimizer.SGD("0.1"):minimize(loss) --@
return loss
]] },
  { "a learning rate by PyTorch's name", {
    "optimizer.SGD: unknown option 'lr'",
    "did you mean lr_scheduler?",
  }, "train", [[
flow.optimizer.SGD({ lr = 0.1 }):minimize(loss) --@
return loss
]] },
  { "a momentum as text", {
    "optimizer.SGD: momentum must be a number, got string '0.9'",
  }, "train", [[
flow.optimizer.SGD(0.1, { momentum = "0.9" }):minimize(loss) --@
return loss
]] },
  { "a misspelled option of an optimizer", {
    "optimizer.SGD: unknown option 'momentun'",
    "did you mean momentum?",
  }, "train", [[
flow.optimizer.SGD(0.1, { momentun = 0.9 }):minimize(loss) --@
return loss
]] },
  { "an optimizer in lower case", {
    "there is no flow.optimizer.sgd; did you mean flow.optimizer.SGD?",
  }, "train", [[
flow.optimizer.sgd(0.1):minimize(loss) --@
return loss
]] },
  { "parameters given to an optimizer, as in PyTorch", {
    "variables cannot be initialized, saved, loaded or read inside the body of "
      .. "'train_job': a body only describes its job",
  }, "train", [[
flow.optimizer.SGD(flow.get_all_variables(), 0.1):minimize(loss) --@
return loss
]] },
  { "a schedule of as many values as boundaries", {
    "PiecewiseConstantScheduler: values must be 3 numbers, one more than boundaries, got 2",
  }, "train", [[
local rates = flow.optimizer.PiecewiseConstantScheduler({ 100, 200 }, { 0.1, 0.01 }) --@
flow.optimizer.SGD(rates):minimize(loss)
return loss
]] },
  { "a schedule's rate without its list", {
    "PiecewiseConstantScheduler: values must be",
    "got string '0.1'",
  }, "train", [[
local rates = flow.optimizer.PiecewiseConstantScheduler({}, "0.1") --@
flow.optimizer.SGD(rates):minimize(loss)
return loss
]] },
  { "clipping by a plain number", {
    "optimizer.SGD: grad_clipping must be "
      .. "optimizer.grad_clipping.by_global_norm(clip_norm), by_norm or by_value, got number 1",
  }, "train", [[
flow.optimizer.SGD(0.1, { grad_clipping = 1 }):minimize(loss) --@
return loss
]] },
  { "a variable to train that does not exist", {
    "SGD.minimize: variables: there is no variable 'output_weight' in job 'train_job'; did "
      .. "you mean output-weight?",
  }, "train", [[
flow.optimizer.SGD(0.1, { variables = { "output_weight" } }):minimize(loss) --@
return loss
]] },
  { "a loss that no variable has a part in", {
    "train_job: the loss 'square_1' depends on no trainable variable",
  }, [[
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
  { "a loss of whole numbers", {
    "minimize: the loss 'argmax_1' must be a float blob, got int32",
  }, "train", [[
local right = flow.math.argmax(logits)
flow.optimizer.SGD(0.1):minimize(right) --@
return loss
]] },
  { "an optimizer before there are variables", {
    "minimize: job 'train_job' has no trainable variable; minimize comes after "
      .. "the layers that it trains",
  }, [[
local train = flow.global_function { name = "train_job", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    flow.optimizer.SGD(0.1):minimize(x) --@
    return x
  end,
}
train({ 1, 2 })
]] },
  { "a loss added without a learning rate", {
    "train_job: losses were added, but there is no learning rate",
    "config.train.primary_lr(0.1)",
  }, [[
local job = flow.global_function { name = "train_job", type = "train",
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
    flow.losses.add_loss(x * w)
    return x * w
  end,
}
job({ 1, 2 }) --@
]] },
  { "a way to update that does not exist", {
    "train.model_update_conf: unknown entry 'adagrad_conf'; entries are one of "
      .. "adam_conf, lamb_conf, lars_conf, lazy_adam_conf, momentum_conf, naive_conf, "
      .. "rmsprop_conf, and clip_conf, learning_rate_decay, warmup_conf, weight_decay_conf",
  }, [[
local config = flow.function_config()
config.train.primary_lr(0.1)
config.train.model_update_conf { adagrad_conf = {} } --@
local job = flow.global_function(config, { name = "train_job",
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
    flow.losses.add_loss(x * w)
    return x * w
  end,
})
job({ 1, 2 })
]] },
  { "a learning rate as text in the configuration", {
    "train.primary_lr: value must be a number, got string '0.1'",
  }, [[
local config = flow.function_config()
config.train.primary_lr("0.1") --@
]] },
  { "logits and labels the wrong way round", {
    "sparse_softmax_cross_entropy_with_logits: labels must be int32 or int64, got float32",
  }, "train", [[
return flow.nn.sparse_softmax_cross_entropy_with_logits(logits, labels) --@
]] },
  { "labels that are not whole numbers", {
    "sparse_softmax_cross_entropy_with_logits: labels must be int32 or int64, got float32",
  }, "train", [[
local wrong = flow.cast(labels, flow.float)
return flow.nn.sparse_softmax_cross_entropy_with_logits(wrong, logits) --@
]] },
  { "labels of one class for each column", {
    "sparse_softmax_cross_entropy_with_logits: labels must have the shape of logits (4, 10) "
      .. "without its last axis, got (4, 10); softmax_cross_entropy_with_logits takes one-hot "
      .. "labels",
  }, "train", [[
local one_hot = flow.cast(flow.reshape(flow.math.add(logits, 0), { 4, 10 }), flow.int32)
return flow.nn.sparse_softmax_cross_entropy_with_logits(one_hot, logits) --@
]] },
  { "logits of another batch than the labels", {
    "sparse_softmax_cross_entropy_with_logits: labels must have the shape of logits (8, 5) "
      .. "without its last axis, got (4)",
  }, "train", [[
local wrong = flow.reshape(logits, { 8, 5 })
return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, wrong) --@
]] },
  { "a loss of another library", {
    "there is no flow.nn.CrossEntropyLoss",
  }, "train", [[
return flow.nn.CrossEntropyLoss(logits, labels) --@
]] },
  { "labels that are counted from 1", {
    "train_job: sparse_softmax_cross_entropy_with_logits_1: label at position 3 must be "
      .. "from 0 to 9, got 10; all count from 0",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 1, 2, 3, 4 })
train(nd.ones({ 4, 8 }), { 7, 8, 9, 10 }) --@
]] },
  { "a negative label", {
    "train_job: sparse_softmax_cross_entropy_with_logits_1: label at position 3 must be "
      .. "from 0 to 9, got -1; all count from 0",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 1, 2, 3, -1 }) --@
]] },
  { "labels as fractions", {
    "train_job: labels[1] must fit int32, got 0.5",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0.5, 1, 2, 3 }) --@
]] },
  { "labels that are not numbers", {
    "train_job: labels[4] must fit int32, got nan",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 0 / 0 }) --@
]] },
  { "labels as an array of floats with a fraction", {
    "train_job: labels[4] must fit int32, got 2.5",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), nd.array({ 0, 1, 2, 2.5 })) --@
]] },
  { "labels as one-hot rows", {
    "train_job: labels must be of shape (4), got (4, 10)",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), nd.zeros({ 4, 10 }, flow.int32)) --@
]] },
  { "labels as names", {
    "train_job: labels[1] must be a number, got string",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { "cat", "dog", "cat", "dog" }) --@
]] },
  { "the images and labels the wrong way round", {
    "train_job: images must be of shape (4, 8), got (4)",
  }, [[
local train = mlp()
train({ 0, 1, 2, 3 }, nd.ones({ 4, 8 })) --@
]] },
  { "the labels forgotten", {
    "train_job: takes 2 arguments (images, labels), got 1",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 })) --@
]] },
  { "the arguments in one table", {
    "train_job: takes 2 arguments (images, labels), got 1",
  }, [[
local train = mlp()
train({ nd.ones({ 4, 8 }), nd.zeros({ 4 }, flow.int32) }) --@
]] },
  { "an argument by a name that the job does not have", {
    "train_job: has no input 'label'; it takes images, labels; did you mean labels?",
  }, [[
local train = mlp()
train({ images = nd.ones({ 4, 8 }), labels = nd.zeros({ 4 }, flow.int32), label = 1 }) --@
]] },
  { "a batch that is smaller than declared", {
    "train_job: images must be of shape (4, 8), got (3, 8); a placeholder whose first dimension "
      .. "is -1 takes any batch size",
  }, [[
local train = mlp()
train(nd.ones({ 3, 8 }), nd.zeros({ 3 }, flow.int32)) --@
]] },
  { "one sample instead of a batch", {
    "train_job: images must be of shape (4, 8), got (8)",
  }, [[
local train = mlp()
train(nd.ones({ 8 }), { 1 }) --@
]] },
  { "images with their channels last", {
    "net: images must be of shape (4, 1, 28, 28), got (4, 28, 28, 1); its channels are last: "
      .. "a:transpose({0, 3, 1, 2}) puts them first",
  }, [[
local net = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "images", tp.Numpy.Placeholder({ 4, 1, 28, 28 }) } },
  body = function(images) return flow.nn.relu(images) end,
}
net(nd.zeros({ 4, 28, 28, 1 })) --@
]] },
  { "flat images where planes are due", {
    "net: images must be of shape (4, 1, 28, 28), got (4, 784); it has as many elements: "
      .. "a:reshape({4, 1, 28, 28})",
  }, [[
local net = flow.global_function { name = "net", returns = tp.Numpy,
  inputs = { { "images", tp.Numpy.Placeholder({ 4, 1, 28, 28 }) } },
  body = function(images) return flow.nn.relu(images) end,
}
net(nd.zeros({ 4, 784 })) --@
]] },
  { "a table with a row that is too short", {
    "train_job: images[2] must have 8 elements like those before it, got 3",
  }, [[
local train = mlp()
train({ { 1, 2, 3, 4, 5, 6, 7, 8 }, { 1, 2, 3 }, { 1 }, { 1 } }, { 0, 1, 2, 3 }) --@
]] },
  { "a table with a hole", {
    "train_job: labels[2] must be a number, got nil",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, nil, 2, 3 }) --@
]] },
  { "a number where an array is due", {
    "train_job: images must be an array or a table, got number",
  }, [[
local train = mlp()
train(1, 2) --@
]] },
  { "the whole data set instead of its images", {
    "train_job: images must be an array or a list of numbers, got a table with the name",
  }, [[
local train = mlp()
local data = { images = nd.ones({ 4, 8 }), labels = nd.zeros({ 4 }, flow.int32) }
train(data, data.labels) --@
]] },
  { "numbers that the dtype cannot hold", {
    "train_job: labels[4] must fit int32, got 3000000000",
  }, [[
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 3e9 }) --@
]] },
  { "a job used after the session was cleared", {
    "train_job: the session that this job belonged to was cleared; define it again",
  }, [[
local train = mlp()
flow.clear_default_session()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 }) --@
]], clears = true },
  { "two jobs that want one variable in two shapes", {
    "eval_net: variable 'output-weight' must be float32 (10, 8) as job 'train_net' made it, got "
      .. "float32 (5, 8); variable 'output-bias' must be float32 (10) as job 'train_net' made it, "
      .. "got float32 (5); jobs share variables by their names: give what differs another "
      .. "name, drop what there is with flow.drop_variables{\"output-weight\", \"output-bias\"}, "
      .. "or everything with "
      .. "flow.clear_default_session()",
  }, [[
local function net(name, units)
  return flow.global_function { name = name, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 4, 8 }) } },
    body = function(x)
      return flow.layers.dense(x, units, { name = "output" }) --@
    end,
  }
end
net("train_net", 10)(nd.ones({ 4, 8 }))
net("eval_net", 5)(nd.ones({ 4, 8 }))
]] },
  -- #cpu: kernels of other devices want other temporaries.
  { "a limit of memory that the job passes #cpu", {
    "train_job: variables and temporaries take 5800 bytes, memory_limit is 1000",
  }, [[
flow.config.memory_limit(1000)
local train = mlp()
train(nd.ones({ 4, 8 }), { 0, 1, 2, 3 }) --@
]] },
  { "an array larger than any memory", {
    "array must have at most 2^47 elements",
  }, [[
local a = nd.zeros({ 1e6, 1e6, 1e3 }) --@
print(a)
]] },
  { "a checkpoint saved over another", {
    "checkpoint ",
    "/model: the directory exists and is not empty; choose another, or save with overwrite "
      .. "to replace the checkpoint",
  }, [[
local train = mlp()
local check_point = flow.train.CheckPoint()
check_point:init()
check_point:save(directory .. "/model")
check_point:save(directory .. "/model") --@
print(train)
]] },
  { "a checkpoint saved under a file", {
    "checkpoint ",
    "/models/mlp: cannot look up: Not a directory",
  }, [[
local train = mlp()
write("models", "a file")
flow.train.CheckPoint():save(directory .. "/models/mlp") --@
print(train)
]] },
  { "a checkpoint that is not there", {
    "checkpoint ./no_such_models: no such directory",
  }, [[
local train = mlp()
flow.train.CheckPoint():load("./no_such_models") --@
print(train)
]] },
  { "a directory without a checkpoint", {
    "checkpoint ",
    ": the directory must hold model.safetensors.index.json with its shards or model.safetensors "
      .. "or pytorch_model.bin or one directory for each variable, got none of them",
  }, [[
local train = mlp()
flow.train.CheckPoint():load(directory) --@
print(train)
]] },
  { "a file that is no checkpoint", {
    "checkpoint ",
    "/model.safetensors: no safetensors file, or a damaged one: it must begin with 8 bytes that "
      .. "hold a length of "
      .. "at most 100000000, and then '{'",
  }, [[
local train = mlp()
write("model.safetensors", "not one at all")
flow.train.CheckPoint():load(directory) --@
print(train)
]] },
  { "a checkpoint of other layer names, strictly", {
    "every name must match in strict loading: it lacks dense_output-weight, dense_output-bias",
    "no job knows",
    "output-bias, output-weight",
  }, [[
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
  { "a checkpoint of another shape", {
    "checkpoint ",
    "model.safetensors: variable output-weight must be float32 (5, 8), got float32 (10, 8) in "
      .. "the file",
  }, [[
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
  { "a checkpoint saved with a dot", {
    "save: call it with a colon: check_point:save(...)",
  }, [[
local check_point = flow.train.CheckPoint()
check_point.save(directory .. "/model") --@
]] },
  { "a checkpoint saved without a path", {
    "train.CheckPoint:save: argument 1 'path' is missing",
  }, [[
local check_point = flow.train.CheckPoint()
check_point:save() --@
]] },
  { "a misspelled class of checkpoints", {
    "there is no flow.train.Checkpoint; did you mean flow.train.CheckPoint?",
  }, [[
local check_point = flow.train.Checkpoint() --@
print(check_point)
]] },
  { "a variable set by a wrong name", {
    "load_variables: 'output-wieght' is not a variable of any job; nothing was set; did you "
      .. "mean output-weight?",
  }, [[
local train = mlp()
flow.load_variables({ ["output-wieght"] = nd.zeros({ 10, 8 }) }, { ignore_mismatch = false }) --@
print(train)
]] },
  { "a variable set in a wrong shape", {
    "variable 'output-weight' must be float32 (10, 8), got float32 (8, 10)",
  }, [[
local train = mlp()
flow.load_variables({ ["output-weight"] = nd.zeros({ 8, 10 }) }) --@
print(train)
]] },
}
