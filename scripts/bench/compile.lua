-- What it takes to define and compile jobs of growing size, and how that grows: an exponent of 1
-- says in proportion, 2 with the square. Time is the processor's, the least of some rounds.
--   jfl scripts/bench/compile.lua [kind...]
local flow = require "jfl"
local tp = flow.typing

local ROUNDS, ENOUGH = 3, 2      -- one round where a size takes more than ENOUGH seconds

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

--- Each kind compiles jobs with n of what it counts.
local kinds = {
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
  { "jobs", "jobs of two ops", { 1000, 2000, 4000, 10000 },
    function(n)
      for i = 1, n do
        define("job" .. i, "predict", function(x) return chain(x, 2) end):compile()
      end
    end },
}

local function seconds_of(run, n)
  flow.clear_default_session()
  collectgarbage()
  local start = os.clock()
  run(n)
  return os.clock() - start
end

local function least(run, n)
  local best = seconds_of(run, n)
  for _ = 2, ROUNDS do
    if best > ENOUGH then break end
    best = math.min(best, seconds_of(run, n))
  end
  return best
end

local function show(name, what, sizes, run)
  print(("%s: %s"):format(name, what))
  local before, n_before
  for _, n in ipairs(sizes) do
    local t = least(run, n)
    local exponent = before and math.log(t / before) / math.log(n / n_before)
    local growth = exponent and ("   grows as n^%.2f"):format(exponent) or ""
    print(("  %6d %9.3f s %8.1f us each%s"):format(n, t, t / n * 1e6, growth))
    before, n_before = t, n
  end
end

local wanted = {}
for _, name in ipairs(arg) do wanted[name] = true end
for _, k in ipairs(kinds) do
  if not next(wanted) or wanted[k[1]] then show(unpack(k)) end
end
