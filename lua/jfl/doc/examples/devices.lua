-- Examples of several devices.
return [==[
## distribute.split
-- each of several devices has some rows of the weight, and so some units of the result
local job = flow.global_function { name = "parts", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    return flow.layers.dense(x, 8, { model_distribute = flow.distribute.split(0) })
  end }
print(job(flow.ndarray.ones({ 6, 4 })).shape[2])  --> 8

## distribute.broadcast
-- the whole table is given by each process, where there are several
local whole = tp.Numpy.Placeholder({ 10, 4 }, { distribute = flow.distribute.broadcast() })
print(whole)  --> Numpy.Placeholder((10, 4), float32)

## distribute.auto
print(flow.distribute.auto() == flow.distribute.auto())  --> true

## parallel_cast
local job = flow.global_function { name = "columns", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    local y = flow.parallel_cast(x, { distribute = flow.distribute.split(1) })
    return flow.math.reduce_sum(y, 0)
  end }
print(job(flow.ndarray.ones({ 6, 4 })))  --> [6. 6. 6. 6.]

## Blob:with_distribute
local job = flow.global_function { name = "columns", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    return flow.nn.relu(x:with_distribute(flow.distribute.split(1)))
  end }
print(job(flow.ndarray.ones({ 6, 4 })):sum())  --> 24

## Blob:with_gradient_distribute
local job = flow.global_function { name = "kept", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    local y = flow.layers.dense(x, 2)
    local loss = y:with_gradient_distribute(flow.distribute.split(0))
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
print(job(flow.ndarray.ones({ 6, 4 })).shape[1])  --> 6

## Blob.distribute
local job = flow.global_function { name = "shown", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6 }) } },
  body = function(x)
    print(x.distribute)  --> auto()
    return x
  end }
job:compile()

## Blob.placement
local job = flow.global_function { name = "shown", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6 }) } },
  body = function(x)
    print(x.placement)  --> cpu:0
    return x
  end }
job:compile()

## scope.mirrored_view
local config = flow.function_config()
config.default_logical_view(flow.scope.mirrored_view())
local job = flow.global_function { name = "own", function_config = config,
  inputs = { { "x", tp.ListNumpy.Placeholder({ 3, 4 }) } },  -- of each device
  returns = tp.ListNumpy,
  body = function(x) return flow.math.reduce_sum(x, 1) end }
local sums = job({ flow.ndarray.ones({ 3, 4 }) })  -- as many as there are devices
print(#sums, sums[1])  --> 1	[4. 4. 4.]

## scope.consistent_view
local config = flow.function_config()
config.default_logical_view(flow.scope.mirrored_view())
local job = flow.global_function { name = "whole", function_config = config,
  inputs = { { "x", tp.ListNumpy.Placeholder({ 3, 4 }) } }, returns = tp.Numpy,
  body = function(x)
    return flow.scope.consistent_view(function()
      return flow.cast_to_current_logical_view(x)  -- the rows of all devices
    end)
  end }
print(job({ flow.ndarray.ones({ 3, 4 }) }).shape[1])  --> 3

## scope.mirrored_view_enabled
local job = flow.global_function { name = "asks", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    print(flow.scope.mirrored_view_enabled())  --> false
    return x
  end }
job:compile()

## scope.consistent_view_enabled
local job = flow.global_function { name = "asks", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    print(flow.scope.consistent_view_enabled())  --> true
    return x
  end }
job:compile()

## cast_to_current_logical_view
local job = flow.global_function { name = "both", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    local y = flow.scope.mirrored_view(function()
      local part = flow.cast_to_current_logical_view(x)  -- 6 rows shared by the devices
      return flow.nn.relu(part)
    end)
    return flow.cast_to_current_logical_view(y)  -- all 6 again
  end }
print(job(flow.ndarray.ones({ 6, 4 })).shape[1])  --> 6

## FunctionConfig.default_logical_view
local config = flow.function_config()
config.default_logical_view(flow.scope.mirrored_view())
local job = flow.global_function { name = "own", function_config = config,
  inputs = { { "x", tp.ListNumpy.Placeholder({ 2 }) } }, returns = tp.ListNumpy,
  body = function(x) return x * 2 end }
print(job({ { 1, 2 } })[1])  --> [2. 4.]

## advanced.distribute_clone
local job = flow.global_function { name = "twice", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local copies = flow.advanced.distribute_clone(x)  -- one on each device
    return flow.advanced.distribute_add(copies) / #copies
  end }
print(job({ 1, 2 }))  --> [1. 2.]

## advanced.distribute_add
local job = flow.global_function { name = "sum", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return flow.advanced.distribute_add({ x, x }) end }
print(job({ 1, 2 }))  --> [2. 4.]

## advanced.distribute_split
local job = flow.global_function { name = "parts", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    local parts = flow.advanced.distribute_split(x, 1)  -- some columns on each device
    return flow.advanced.distribute_concat(parts, 1)
  end }
print(job(flow.ndarray.ones({ 6, 4 })).shape[2])  --> 4

## advanced.distribute_concat
local job = flow.global_function { name = "beside", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2, 3 }) } },
  body = function(x) return flow.advanced.distribute_concat({ x, x }, 0) end }
print(job(flow.ndarray.ones({ 2, 3 })).shape[1])  --> 4

## advanced.distribute_map
local job = flow.global_function { name = "mapped", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 4 }) } },
  body = function(x)
    return flow.advanced.distribute_map(x, function(part) return part * 2 end)
  end }
print(job({ 1, 2, 3, 4 }))  --> [2. 4. 6. 8.]

]==]
