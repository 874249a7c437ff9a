-- Mistakes in what defines a job: names, types, inputs, and what its body returns.
return {
  { "a misspelled name of the library", {
    "there is no flow.foat; did you mean flow.float?",
  }, [[
local kind = flow.foat --@
print(kind)
]] },
  { "a misspelled function in a namespace", {
    "there is no flow.nn.rleu; did you mean flow.nn.relu?",
  }, [[
local act = flow.nn.rleu --@
print(act)
]] },
  { "PyTorch's name for a layer", {
    "there is no flow.nn.Linear; did you mean flow.layers.dense?",
  }, [[
local layer = flow.nn.Linear(10, 5) --@
print(layer)
]] },
  { "an optimizer that does not exist", {
    "there is no flow.optimizer.Nadam; did you mean flow.optimizer.NAdam?",
  }, [[
local adam = flow.optimizer.Nadam(0.001) --@
print(adam)
]] },
  { "PyTorch's class of networks", {
    "there is no flow.nn.Module; did you mean flow.model?",
  }, [[
local net = flow.nn.Module() --@
print(net)
]] },
  { "numpy's name for an array function", {
    "there is no flow.ndarray.linspace; did you mean flow.linspace?",
  }, [[
local a = nd.linspace(0, 1, 5) --@
print(a)
]] },
  { "a misspelled field of the definition", {
    "global_function: unknown field 'input'",
    "did you mean inputs?",
  }, [[
local job = flow.global_function { --@
  name = "train_job",
  input = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x end,
}
print(job)
]] },
  { "a job without a name", {
    "global_function: name must be a string, got nil",
  }, [[
local job = flow.global_function { --@
  body = function(x) return x end,
}
print(job)
]] },
  { "a job without a body", {
    "train_job: body must be a function, got nil",
  }, [[
local job = flow.global_function { name = "train_job" } --@
print(job)
]] },
  { "only a function, as a Python decorator takes it", {
    "global_function: argument 1 must be a table with name, inputs and body, got a function",
  }, [[
local job = flow.global_function(function(x) return x end) --@
print(job)
]] },
  { "a job of the type that PyTorch calls eval", {
    "eval_job: type must be \"train\" or \"predict\", got string 'eval'",
  }, [[
local job = flow.global_function { name = "eval_job", type = "eval", --@
  body = function(x) return x end,
}
print(job)
]] },
  { "the inputs by names that the body's parameters do not have", {
    "job: inputs: 'image' is no parameter of the body, which takes (images); did you mean images?",
  }, [[
local job = flow.global_function { name = "job", --@
  inputs = { image = flow.float32 { 2 } },
  body = function(images) return images end,
}
print(job)
]] },
  { "one input without the list around it", {
    "job: inputs: entry 1 must be { \"name\", placeholder }, got string 'x'",
  }, [[
local job = flow.global_function { name = "job", --@
  inputs = { "x", tp.Numpy.Placeholder({ 2 }) },
  body = function(x) return x end,
}
print(job)
]] },
  { "a type where a placeholder is due", {
    "job: inputs: 'x' must be a placeholder such as flow.typing.Numpy.Placeholder({100, "
      .. "10}), got Numpy",
  }, [[
local job = flow.global_function { name = "job", --@
  inputs = { { "x", tp.Numpy } },
  body = function(x) return x end,
}
print(job)
]] },
  { "a shape where a placeholder is due", {
    "job: inputs: 'x' must be a placeholder such as flow.typing.Numpy.Placeholder({100, "
      .. "10}), got {100, 10}",
  }, [[
local job = flow.global_function { name = "job", --@
  inputs = { { "x", { 100, 10 } } },
  body = function(x) return x end,
}
print(job)
]] },
  { "a placeholder's shape as separate numbers", {
    "typing.Numpy.Placeholder: shape is one list: {100, 1, 28, 28}",
  }, [[
local images = tp.Numpy.Placeholder(100, 1, 28, 28) --@
print(images)
]] },
  { "a batch size that is nil by a misspelled variable", {
    "typing.Numpy.Placeholder: shape: dimension 1 must be a whole number of at least 0 "
      .. "or -1, got nil",
  }, [[
local BATCH_SIZE = 100
local images = tp.Numpy.Placeholder({ BATCHSIZE, 1, 28, 28 }) --@
print(images, BATCH_SIZE)
]] },
  { "a shape with a negative extent", {
    "typing.Numpy.Placeholder: shape: dimension 1 must be a whole number of at least 0 "
      .. "or -1, got number -2",
  }, [[
local images = tp.Numpy.Placeholder({ -2, 10 }) --@
print(images)
]] },
  { "a dtype by a name of another library", {
    "typing.Numpy.Placeholder: dtype must be one of bfloat16, float16, float32, float64, "
      .. "int32, int64, int8, uint8, got string 'long'",
  }, [[
local labels = tp.Numpy.Placeholder({ 100 }, { dtype = "long" }) --@
print(labels)
]] },
  { "a dtype of the library that has no such one", {
    "there is no flow.int16; did you mean flow.int32?",
  }, [[
local labels = tp.Numpy.Placeholder({ 100 }, { dtype = flow.int16 }) --@
print(labels)
]] },
  { "a wrong option of a placeholder", {
    "typing.Numpy.Placeholder: unknown option 'type'",
    "did you mean dtype?",
  }, [[
local labels = tp.Numpy.Placeholder({ 100 }, { type = flow.int32 }) --@
print(labels)
]] },
  { "a placeholder as what a job returns", {
    "job: returns must be a type such as flow.typing.Numpy or, for several results, "
      .. "flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy), and for those with names "
      .. "flow.typing.Dict(flow.typing.Numpy), got Numpy.Placeholder((2), float32)",
  }, [[
local job = flow.global_function { name = "job", --@
  returns = tp.Numpy.Placeholder({ 2 }),
  body = function() end,
}
print(job)
]] },
  { "a table of types instead of a Tuple", {
    "job: returns must be a type such as flow.typing.Numpy or, for several results, "
      .. "flow.typing.Tuple(flow.typing.Numpy, flow.typing.Numpy), and for those with names "
      .. "flow.typing.Dict(flow.typing.Numpy), got a table",
  }, [[
local job = flow.global_function { name = "job", --@
  returns = { tp.Numpy, tp.Numpy },
  body = function() end,
}
print(job)
]] },
  { "a callback inside of a tuple", {
    "Tuple: argument 1: Callback can only be the outermost type",
  }, [[
local kind = tp.Tuple(tp.Callback(tp.Numpy), tp.Numpy) --@
print(kind)
]] },
  { "a table as the configuration of a job", {
    "job: function_config must be what flow.function_config() gives, got a table",
  }, [[
local job = flow.global_function { name = "job", --@
  function_config = { default_data_type = flow.float },
  body = function() end,
}
print(job)
]] },
  { "an unknown option of a job's configuration", {
    "function_config: unknown option 'default_dtype'",
    "did you mean default_data_type?",
  }, [[
local config = flow.function_config()
config.default_dtype(flow.float) --@
]] },
  { "a wrong option of a job's configuration by assignment", {
    "function_config: unknown option 'default_dtype'",
    "did you mean default_data_type?",
  }, [[
local config = flow.function_config()
config.default_dtype = flow.float --@
]] },
  { "an option of the session by assignment", {
    "config: options are functions: flow.config.threads(value)",
  }, [[
flow.config.threads = 2 --@
]] },
  { "an unknown option of the session", {
    "config: unknown option 'thread_num'",
  }, [[
flow.config.thread_num(2) --@
]] },
  { "a text where an option wants a number", {
    "config.threads: value must be a whole number of at least 1, got string '2'",
  }, [[
flow.config.threads("2") --@
]] },
  { "a body that returns nothing", {
    "job: the body (train.lua:4) must return blobs shaped as Numpy, got nothing",
  }, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local y = flow.nn.relu(x)
  end,
}
print(job({ 1, 2 })) --@
]] },
  { "a body that returns more than it declares", {
    "job: the body (train.lua:4) must return blobs shaped as Numpy, got blob, blob; the type of "
      .. "several values is flow.typing.Tuple(...)",
  }, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return x, flow.nn.relu(x)
  end,
}
print(job({ 1, 2 })) --@
]] },
  { "a body that returns a number", {
    "job: the body (train.lua:3) must return blobs shaped as Numpy, got number 5",
  }, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  body = function()
    return 5
  end,
}
print(job()) --@
]] },
  { "a body that returns less than its tuple", {
    "job: the body (train.lua:4) must return blobs shaped as Tuple(Numpy, "
      .. "Numpy), got blob",
  }, [[
local job = flow.global_function { name = "job", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return x
  end,
}
print(job({ 1, 2 })) --@
]] },
  { "a tuple whose second value is nil by a misspelled variable", {
    "job: the body (train.lua:4) must return blobs shaped as Tuple(Numpy, "
      .. "Numpy), got blob, nil",
  }, [[
local job = flow.global_function { name = "job", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local logits = flow.nn.relu(x)
    return x, logit
  end,
}
print(job({ 1, 2 })) --@
]] },
  { "a body that takes an input that is not declared", {
    "add: argument 2 'y' is nil: is a name misspelled?",
  }, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x, labels)
    return flow.math.add(x, labels) --@
  end,
}
print(job({ 1, 2 }))
]] },
  { "a body that yields", {
    "attempt to yield across C-call boundary; a job's body cannot yield",
  }, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    coroutine.yield(x) --@
    return x
  end,
}
local co = coroutine.create(function() return job({ 1, 2 }) end)
local _, err = coroutine.resume(co)
error(err, 0)
]] },
  { "a job that calls itself", {
    "job: a job cannot be used inside the body of 'job'; share a Lua function instead",
  }, [[
local job
job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return job(x) --@
  end,
}
print(job({ 1, 2 }))
]] },
  { "a job called in the body of another", {
    "net: a job cannot be used inside the body of 'train'; share a Lua function instead",
  }, [[
local inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }
local net = flow.global_function { name = "net", returns = tp.Numpy, inputs = inputs,
  body = function(x) return flow.nn.relu(x) end,
}
local train = flow.global_function { name = "train", returns = tp.Numpy, inputs = inputs,
  body = function(x)
    return net(x) --@
  end,
}
print(train({ 1, 2 }))
]] },
  { "a job without a comma between its fields", {
    "'}' expected (to close '{' at line 2) near 'returns'",
  }, [[
local job = flow.global_function { name = "job",
  type = "train"
  returns = tp.Numpy, --@
  body = function(x) return x end,
}
]] },
}
