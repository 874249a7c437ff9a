-- Examples of types of arguments and results.
return [==[
## typing.Bundle
local job = flow.global_function {
  name = "nested", returns = tp.Bundle(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return { x, more = { x + 1 } } end }
local result = job({ 1 })
print(result[1], result.more[1])  --> [1.]	[2.]

## typing.Callback
local job = flow.global_function {
  name = "later", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return x + 1 end }
local function failed(message) print("failed", message) end
job({ 1 })(function(y) print("result", y) end, failed)
print("called")  --> called
flow.sync()      --> result	[2.]

## typing.Dict
local job = flow.global_function {
  name = "named", returns = tp.Dict(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    return { sum = flow.math.reduce_sum(x), max = flow.math.reduce_max(x) }
  end }
local result = job({ 1, 2 })
print(result.sum, result.max)  --> [3.]	[2.]

## typing.List
local job = flow.global_function {
  name = "powers", returns = tp.List(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return { x, x * x, x * x * x } end }
print(unpack(job({ 2 })))  --> [2.]	[4.]	[8.]

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

## typing.Tuple
local job = flow.global_function {
  name = "both", returns = tp.Tuple(tp.Numpy, tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x) return flow.math.reduce_sum(x), x * 2 end }
local sum, doubled = job({ 1, 2 })
print(sum, doubled)  --> [3.]	[2. 4.]

]==]
