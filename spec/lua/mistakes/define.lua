-- Mistakes in what defines a job: names, types, inputs, and what its body returns.
return {
  { "a misspelled name of the library", {}, [[
local kind = flow.foat --@
print(kind)
]] },
  { "a misspelled function in a namespace", {}, [[
local act = flow.nn.rleu --@
print(act)
]] },
  { "PyTorch's name for a layer", {}, [[
local layer = flow.nn.Linear(10, 5) --@
print(layer)
]] },
  { "numpy's name for an array function", {}, [[
local a = nd.linspace(0, 1, 5) --@
print(a)
]] },
  { "a misspelled field of the definition", {}, [[
local job = flow.global_function { --@
  name = "train_job",
  input = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return x end,
}
print(job)
]] },
  { "a job without a name", {}, [[
local job = flow.global_function { --@
  body = function(x) return x end,
}
print(job)
]] },
  { "a job without a body", {}, [[
local job = flow.global_function { name = "train_job" } --@
print(job)
]] },
  { "only a function, as a Python decorator takes it", {}, [[
local job = flow.global_function(function(x) return x end) --@
print(job)
]] },
  { "a job of the type that PyTorch calls eval", {}, [[
local job = flow.global_function { name = "eval_job", type = "eval", --@
  body = function(x) return x end,
}
print(job)
]] },
  { "two jobs of one name", {}, [[
local function body(x) return x end
local inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }
local first = flow.global_function { name = "job", inputs = inputs, body = body }
local second = flow.global_function { name = "job", inputs = inputs, body = body } --@
print(first, second)
]] },
  { "the inputs as a table by name", {}, [[
local job = flow.global_function { name = "job", --@
  inputs = { x = tp.Numpy.Placeholder({ 2 }) },
  body = function(x) return x end,
}
print(job)
]] },
  { "one input without the list around it", {}, [[
local job = flow.global_function { name = "job", --@
  inputs = { "x", tp.Numpy.Placeholder({ 2 }) },
  body = function(x) return x end,
}
print(job)
]] },
  { "a type where a placeholder is due", {}, [[
local job = flow.global_function { name = "job", --@
  inputs = { { "x", tp.Numpy } },
  body = function(x) return x end,
}
print(job)
]] },
  { "a shape where a placeholder is due", {}, [[
local job = flow.global_function { name = "job", --@
  inputs = { { "x", { 100, 10 } } },
  body = function(x) return x end,
}
print(job)
]] },
  { "a placeholder's shape as separate numbers", {}, [[
local images = tp.Numpy.Placeholder(100, 1, 28, 28) --@
print(images)
]] },
  { "a batch size that is nil by a misspelled variable", {}, [[
local BATCH_SIZE = 100
local images = tp.Numpy.Placeholder({ BATCHSIZE, 1, 28, 28 }) --@
print(images, BATCH_SIZE)
]] },
  { "a shape with an extent of 0", {}, [[
local images = tp.Numpy.Placeholder({ 0, 10 }) --@
print(images)
]] },
  { "a dtype by a name of another library", {}, [[
local labels = tp.Numpy.Placeholder({ 100 }, { dtype = "long" }) --@
print(labels)
]] },
  { "a dtype of the library that has no such one", {}, [[
local labels = tp.Numpy.Placeholder({ 100 }, { dtype = flow.int16 }) --@
print(labels)
]] },
  { "a wrong option of a placeholder", {}, [[
local labels = tp.Numpy.Placeholder({ 100 }, { type = flow.int32 }) --@
print(labels)
]] },
  { "a placeholder as what a job returns", {}, [[
local job = flow.global_function { name = "job", --@
  returns = tp.Numpy.Placeholder({ 2 }),
  body = function() end,
}
print(job)
]] },
  { "a table of types instead of a Tuple", {}, [[
local job = flow.global_function { name = "job", --@
  returns = { tp.Numpy, tp.Numpy },
  body = function() end,
}
print(job)
]] },
  { "a callback inside of a tuple", {}, [[
local kind = tp.Tuple(tp.Callback(tp.Numpy), tp.Numpy) --@
print(kind)
]] },
  { "a table as the configuration of a job", {}, [[
local job = flow.global_function { name = "job", --@
  function_config = { default_data_type = flow.float },
  body = function() end,
}
print(job)
]] },
  { "an unknown option of a job's configuration", {}, [[
local config = flow.function_config()
config.default_dtype(flow.float) --@
]] },
  { "an option of a job's configuration by assignment", {}, [[
local config = flow.function_config()
config.default_data_type = flow.float --@
]] },
  { "an option of the session by assignment", {}, [[
flow.config.threads = 2 --@
]] },
  { "an unknown option of the session", {}, [[
flow.config.thread_num(2) --@
]] },
  { "a text where an option wants a number", {}, [[
flow.config.threads("2") --@
]] },
  { "a body that returns nothing", {}, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local y = flow.nn.relu(x)
  end,
}
print(job({ 1, 2 })) --@
]] },
  { "a body that returns more than it declares", {}, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return x, flow.nn.relu(x)
  end,
}
print(job({ 1, 2 })) --@
]] },
  { "a body that returns a number", {}, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  body = function()
    return 5
  end,
}
print(job()) --@
]] },
  { "a body that returns less than its tuple", {}, [[
local job = flow.global_function { name = "job", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return x
  end,
}
print(job({ 1, 2 })) --@
]] },
  { "a tuple whose second value is nil by a misspelled variable", {}, [[
local job = flow.global_function { name = "job", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local logits = flow.nn.relu(x)
    return x, logit
  end,
}
print(job({ 1, 2 })) --@
]] },
  { "a body that takes an input that is not declared", {}, [[
local job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x, labels)
    return flow.math.add(x, labels) --@
  end,
}
print(job({ 1, 2 }))
]] },
  { "a body that yields", {}, [[
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
  { "a job that calls itself", {}, [[
local job
job = flow.global_function { name = "job", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return job(x) --@
  end,
}
print(job({ 1, 2 }))
]] },
  { "a job called in the body of another", {}, [[
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
  { "a job without a comma between its fields", {}, [[
local job = flow.global_function { name = "job",
  type = "train"
  returns = tp.Numpy, --@
  body = function(x) return x end,
}
]] },
}
