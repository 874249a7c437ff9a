-- Examples of jobs, their calls and blobs.
return [==[
## Job.name, Job.type
local job = flow.global_function { name = "copy", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return x end }
print(job.name, job.type)  --> copy	predict

## Job:compile, Job:graph, Job:plan
local job = flow.global_function { name = "double", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) } },
  body = function(x) return x * 2 end }
job:compile(8)  -- so that the first call with 8 rows is quick
print(#job(nd.ones({ 8, 2 })))             --> 8
print(job:graph():match("input [^\n]*"))   --> input x: float32 (8, 2)
print(job:plan():match("plan of %w+"))     --> plan of double

## Job:summary
local job = flow.global_function { name = "line", inputs = { x = flow.float32 { 4, 3 } },
  body = function(x) return flow.layers.dense(x, 2, { name = "out" }) end }
print(job:summary())
--> job 'line' (predict)
--> x             input     float32 (4, 3)
--> out-matmul    matmul    float32 (4, 2)  6
--> out-bias_add  bias_add  float32 (4, 2)  2
--> gives out-bias_add
--> 8 numbers in 2 variables

## cancel
local job = flow.global_function {
  name = "slow", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 300, 300 }) } },
  body = function(x) return flow.matmul(x, x) end }
local x, done, failed = flow.ndarray.ones({ 300, 300 }), 0, 0
for _ = 1, 4 do
  job(x)(function() done = done + 1 end, function() failed = failed + 1 end)
end
local taken = flow.cancel(job)  -- those that have not begun
flow.sync()
print(taken == failed, done + failed)  --> true	4

## clear_default_session
local function define()
  return flow.global_function {
    name = "one", inputs = {}, returns = tp.Numpy,
    body = function()
      return flow.get_variable("w", { 1 },
        { initializer = flow.ones_initializer() })
    end }
end
print(define()(), next(flow.get_all_variables()))  --> [1.]	w	[1.]
flow.clear_default_session()
print(next(flow.get_all_variables()), define()())  --> nil	[1.]

## fd
local fd = flow.fd()  -- for poll(2) or an event loop, such as luv's
print(fd >= 0)  --> true

## global_function
local scale = flow.global_function {
  name = "scale",
  inputs = { { "x", tp.Numpy.Placeholder({ 3 }) } },
  returns = tp.Numpy,
  body = function(x) return x * 2 end,
}
print(scale({ 1, 2, 3 }))  --> [2. 4. 6.]

## poll, sync
local job = flow.global_function { name = "square", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
  body = function(x) return x * x end }
job({ 3 })(function(y) print(y) end)  --> [9.]
while flow.poll() == 0 do end  -- a game would draw a frame in between
job({ 4 })(function(y) print(y) end)  --> [16.]
flow.sync()  -- callbacks run before it returns
print("done")                         --> done

## watch, watch_diff
local train = flow.global_function {
  name = "train", type = "train", returns = tp.Numpy,
  inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
  body = function(x)
    local w = flow.get_variable("w", { 2 },
      { initializer = flow.ones_initializer() })
    local loss = flow.nn.relu(w * x)
    flow.watch(loss, function(value) print("after relu", value) end)
    flow.watch_diff(w, function(gradient) print("gradient", gradient) end)
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
train({ 1, 5 })
flow.sync()
--> after relu	[1. 5.]
--> gradient	[0.5 2.5]

]==]
