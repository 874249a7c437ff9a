-- Examples of several devices.
return [==[
## distribute.split, distribute.broadcast, distribute.auto
-- each of several devices has some rows of the weight, and so some units of the result
local job = flow.global_function { name = "parts", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    return flow.layers.dense(x, 8, { model_distribute = flow.distribute.split(0) })
  end }
print(job(flow.ndarray.ones({ 6, 4 })).shape[2])           --> 8
-- the whole table is given by each process, where there are several
print(tp.Numpy.Placeholder({ 10, 4 }, { distribute = flow.distribute.broadcast() }))
--> Numpy.Placeholder((10, 4), float32)
print(flow.distribute.auto())                              --> auto()

## parallel_cast, Blob:with_distribute, Blob:with_gradient_distribute
local job = flow.global_function { name = "columns", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    local y = flow.parallel_cast(x, { distribute = flow.distribute.split(1) })
    y = flow.layers.dense(flow.nn.relu(y:with_distribute(flow.distribute.split(0))), 2)
    local loss = y:with_gradient_distribute(flow.distribute.split(0))
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
print(job(flow.ndarray.ones({ 6, 4 })).shape[1])  --> 6

## Blob.distribute, Blob.placement, Blob.dtype, Blob.name, Blob.shape
local job = flow.global_function { name = "shown", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 2 }, flow.int32) } },
  body = function(x)
    print(x.name, x.dtype, x.shape)   --> x	int32	(6, 2)
    print(x.distribute, x.placement)  --> auto()	cpu:0
    return x
  end }
job:compile()

## scope.mirrored_view, FunctionConfig.default_logical_view, scope.consistent_view,
## cast_to_current_logical_view
local config = flow.function_config()
config.default_logical_view(flow.scope.mirrored_view())
local own = flow.global_function { name = "own", function_config = config,
  inputs = { { "x", tp.ListNumpy.Placeholder({ 3, 4 }) } },  -- of each device
  returns = tp.ListNumpy,
  body = function(x) return flow.math.reduce_sum(x, 1) end }
local whole = flow.global_function { name = "whole", function_config = config,
  inputs = { { "x", tp.ListNumpy.Placeholder({ 3, 4 }) } }, returns = tp.Numpy,
  body = function(x)
    return flow.scope.consistent_view(function()
      return flow.cast_to_current_logical_view(x)  -- the rows of all devices
    end)
  end }
local rows = { flow.ndarray.ones({ 3, 4 }) }  -- as many as there are devices
print(#own(rows), own(rows)[1])  --> 1	[4. 4. 4.]
print(whole(rows).shape[1])      --> 3

## scope.mirrored_view_enabled, scope.consistent_view_enabled
local job = flow.global_function { name = "asks", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    print(flow.scope.mirrored_view_enabled(), flow.scope.consistent_view_enabled())  --> false	true
    return x
  end }
job:compile()

## advanced.distribute_clone, advanced.distribute_add, advanced.distribute_split,
## advanced.distribute_concat, advanced.distribute_map
local job = flow.global_function { name = "shared", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 6, 4 }) } },
  body = function(x)
    local copies = flow.advanced.distribute_clone(x)  -- one on each device
    local same = flow.advanced.distribute_add(copies) / #copies
    local parts = flow.advanced.distribute_split(same, 1)  -- some columns on each device
    local whole = flow.advanced.distribute_concat(parts, 1)
    return flow.advanced.distribute_map(whole, function(part) return part * 2 end)
  end }
print(job(flow.ndarray.ones({ 6, 4 })):sum())  --> 48

]==]
