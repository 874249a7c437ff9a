-- Examples of types of arguments and results.
return [==[
## typing.Callback, FunctionConfig.concurrency_width
local config = flow.function_config()
config.concurrency_width(4)  -- up to 4 calls wait in the queue
local job = flow.global_function { name = "later", function_config = config,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  returns = tp.Callback(tp.Numpy), body = function(x) return x + 1 end }
local function failed(message) print("failed", message) end
job({ 1 })(function(y) print("result", y) end, failed)
print("called")  --> called
flow.sync()      --> result	[2.]

## typing.ListListNumpy, typing.ListListNumpy.Placeholder
local job = flow.global_function { name = "lists", returns = tp.ListListNumpy,
  inputs = { { "x", tp.ListListNumpy.Placeholder({ 2 }) } },
  body = function(x) return x + 1 end }
print(job({ { nd.array({ 1, 2 }) } })[1][1])  --> [2. 3.]

## typing.ListNumpy, typing.ListNumpy.Placeholder
local job = flow.global_function { name = "each", returns = tp.ListNumpy,
  inputs = { { "x", tp.ListNumpy.Placeholder({ 2 }) } },
  body = function(x) return x + 1 end }
local results = job({ nd.array({ 1, 2 }) })  -- one for each device
print(#results, results[1])  --> 1	[2. 3.]

## typing.Numpy, typing.Numpy.Placeholder
local job = flow.global_function { name = "any_batch", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  inputs = { { "images", tp.Numpy.Placeholder({ -1, 2 }) },                  -- any number of rows
    { "words", tp.Numpy.Placeholder({ -1, { max = 512 } }) },                -- up to 512 columns
    { "ids", tp.Numpy.Placeholder({ 3 }, { dtype = flow.int32 }) } },
  body = function(images, words, ids)
    return flow.gather(images, ids), flow.math.reduce_sum(words, 1)
  end }
print(job({ { 1, 2 }, { 3, 4 } }, { { 1, 2, 3 } }, { 1, 0, 1 }))
--> [[3. 4.]
-->  [1. 2.]
-->  [3. 4.]]	[6.]

## typing.Tuple, typing.List, typing.Dict, typing.Bundle
local function define(name, returns, body)
  return flow.global_function { name = name, returns = returns,
    inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } }, body = body }
end
local both = define("both", tp.Tuple(tp.Numpy, tp.Numpy), function(x) return x, x * 2 end)
print(both({ 1, 2 }))                       --> [1. 2.]	[2. 4.]
local powers = define("powers", tp.List(tp.Numpy), function(x) return { x, x * x } end)
print(unpack(powers({ 2, 3 })))             --> [2. 3.]	[4. 9.]
local named = define("named", tp.Dict(tp.Numpy), function(x)
  return { sum = flow.math.reduce_sum(x), max = flow.math.reduce_max(x) }
end)
print(named({ 1, 2 }).sum, named({ 1, 2 }).max)  --> [3.]	[2.]
local nested = define("nested", tp.Bundle(tp.Numpy), function(x) return { x, more = { x + 1 } } end)
print(nested({ 1, 2 }).more[1])             --> [2. 3.]

]==]
