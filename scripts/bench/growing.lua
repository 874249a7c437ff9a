-- What can be of any size, for what defining, compiling, profiling and saving take: each kind has a
-- name, says what it counts, gives sizes worth a look, and does it with n of them.
local flow = require "jfl"
local tp = flow.typing

local function define(name, kind, body, inputs)
  return flow.global_function { name = name, type = kind, returns = tp.Numpy, body = body,
    inputs = inputs or { { "x", tp.Numpy.Placeholder { 8, 16 } } } }
end

local function minimize(loss)
  flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
  return loss
end

--- Ops that alternate, so that none of them folds into the next.
local function chain(x, n)
  for i = 1, n do x = i % 2 == 0 and flow.math.tanh(x) or x * 1.5 end
  return x
end

return {
  { "predict", "elementwise ops in a chain, predict job", { 1000, 2000, 4000, 8000, 40000 },
    function(n)
      define("job", "predict", function(x) return chain(x, n) end):compile()
    end },
  { "train", "elementwise ops in a chain, train job", { 1000, 2000, 4000, 8000, 40000 },
    function(n)
      define("job", "train", function(x)
        local ones = flow.ones_initializer()
        local w = flow.get_variable("w", { shape = { 8, 16 }, initializer = ones })
        return minimize(flow.math.reduce_mean(chain(x * w, n)))
      end):compile()
    end },
  { "dense", "dense layers, train job", { 100, 200, 400, 800, 4000 },
    function(n)
      define("job", "train", function(x)
        local y = x
        for _ = 1, n do y = flow.layers.dense(y, 16, { activation = flow.nn.relu }) end
        return minimize(flow.math.reduce_mean(y))
      end):compile()
    end },
  { "residual", "blocks of convolutions with a shortcut, train job", { 25, 50, 100, 200, 400 },
    function(n)
      local options = { padding = "SAME", activation = flow.nn.relu }
      define("job", "train", function(x)
        local y = flow.layers.conv2d(x, 16, 3, options)
        for _ = 1, n do
          local z = flow.layers.conv2d(flow.layers.conv2d(y, 16, 3, options), 16, 3, options)
          y = flow.nn.relu(y + z)
        end
        return minimize(flow.math.reduce_mean(y))
      end, { { "x", tp.Numpy.Placeholder { 2, 3, 8, 8 } } }):compile()
    end },
  { "variables", "variables, each updated, train job", { 1000, 2000, 4000, 8000 },
    function(n)
      define("job", "train", function(x)
        local y = x
        for i = 1, n do
          y = y + flow.get_variable("v" .. i, { shape = { 16 },
            initializer = flow.ones_initializer() })
        end
        return minimize(flow.math.reduce_mean(y))
      end):compile()
    end },
  { "equal", "ops of which most are equal to earlier ones", { 1000, 2000, 4000, 8000 },
    function(n)
      define("job", "predict", function(x)
        local y = x
        for i = 1, n do y = y + flow.nn.relu(x * (i % 50)) end
        return y
      end):compile()
    end },
  { "views", "views of views", { 1000, 4000, 16000 },
    function(n)
      define("job", "predict", function(x)
        for i = 1, n do x = flow.reshape(x, i % 2 == 0 and { 8, 16 } or { 16, 8 }) end
        return x + 1
      end):compile()
    end },
  { "results", "results of one job", { 500, 1000, 2000, 4000 },
    function(n)
      flow.global_function { name = "job", type = "predict",
        inputs = { { "x", tp.Numpy.Placeholder { 8, 16 } } },
        body = function(x)
          local list = {}
          for i = 1, n do list[i] = x + i end
          return unpack(list)
        end }:compile()
    end },
  { "definitions", "jobs that are only defined", { 10000, 20000, 40000 },
    function(n)
      for i = 1, n do define("job" .. i, "predict", function(x) return x end) end
    end },
  { "profile", "jobs run in a profile", { 1000, 2000, 4000, 10000 },
    function(n)
      local profile = require "jfl.tools.profile"
      local jobs, x = {}, flow.ndarray.ones { 8, 16 }
      for i = 1, n do jobs[i] = define("job" .. i, "predict", function(v) return v + 1 end) end
      profile.start()
      for i = 1, n do jobs[i](x) end
      profile.finish()
    end },
  { "checkpoint", "variables saved and loaded by their names", { 1000, 2000, 4000, 8000 },
    function(n)
      local path, only = os.tmpname(), {}
      os.remove(path)
      define("job", "predict", function(x)
        for i = 1, n do
          only[i] = "v" .. i
          x = x + flow.get_variable(only[i], { 16 }, { initializer = flow.ones_initializer() })
        end
        return x
      end)
      flow.checkpoint.save(path)
      flow.checkpoint.load(path)
      flow.checkpoint.load(path, { only = only })
      flow.load_variables(flow.checkpoint.get(path, { only = only }))
      os.execute("rm -r " .. path)
    end },
  { "jobs", "jobs of two ops", { 1000, 2000, 4000, 10000 },
    function(n)
      for i = 1, n do
        define("job" .. i, "predict", function(x) return chain(x, 2) end):compile()
      end
    end },
}
