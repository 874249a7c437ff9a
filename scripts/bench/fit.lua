-- What flow.fit costs: an epoch of LeNet, of a small MLP and of a network that computes next to
-- nothing, by a loop that is written by hand and by flow.fit, in turn:
--   jfl scripts/bench/fit.lua [tiny|mlp|lenet] [steps [rounds]]
-- Both are measured by the processor time of the calling thread, while one thread computes: other
-- programs make that longer by less than wall time. Of all rounds the least of each counts, and
-- rounds begin with one and then with the other.
local ffi = require "ffi"
local flow = require "jfl"

local WANTED, STEPS, ROUNDS = arg[1], tonumber(arg[2] or 0), tonumber(arg[3] or 15)

ffi.cdef [[
struct jfl_bench_time { long seconds, nanoseconds; };
int clock_gettime(int, struct jfl_bench_time *);
]]
local THREAD = 3                       -- CLOCK_THREAD_CPUTIME_ID
local read = ffi.new "struct jfl_bench_time"

local function thread_time()
  ffi.C.clock_gettime(THREAD, read)
  return tonumber(read.seconds) + tonumber(read.nanoseconds) * 1e-9
end

-- Each with the steps of an epoch, and the extents of a batch.
local models = {
  { "tiny", 3000, { 1, 1, 2, 2 }, function(x)
    return flow.layers.dense(x:reshape { x.shape[1], -1 }, 2)
  end },
  { "mlp", 600, { 100, 1, 28, 28 }, function(x)
    x = flow.layers.dense(x:reshape { x.shape[1], -1 }, 512, { activation = flow.nn.relu })
    return flow.layers.dense(x, 10)
  end },
  { "lenet", 60, { 100, 1, 28, 28 }, function(x)
    for _, filters in ipairs { 32, 64 } do
      x = flow.layers.conv2d(x, filters, 5, { padding = "SAME", activation = flow.nn.relu })
      x = flow.nn.max_pool2d(x, 2, 2, "SAME")
    end
    x = flow.layers.dense(x:reshape { x.shape[1], -1 }, 512, { activation = flow.nn.relu })
    return flow.layers.dense(flow.nn.dropout(x, 0.5), 10)
  end },
}

-- What a script would write: an order of its own for each epoch, and the mean loss.
local function by_hand(train, data)
  local sum, n = 0, 0
  for _, _, x, y in flow.data.loop(data, { shuffle = true, name = "by hand" }) do
    sum, n = sum + train(x, y):mean() * #x, n + #x
  end
  return sum / n
end

local function by_fit(train, data)
  return flow.fit(train, data, { show = false }).history.loss[1]
end

local function timed(f, ...)
  collectgarbage()
  local began = thread_time()
  f(...)
  return thread_time() - began
end

local function measure(name, steps, batch, body)
  local net = flow.model(name, body)
  local rows, channels, height, width = unpack(batch)
  local train = net:train { loss = flow.nn.cross_entropy,
    inputs = { flow.float32 { -1, channels, height, width }, flow.int32 { -1 } },
    optimizer = flow.optimizer.SGD(0.01, { momentum = 0 }) }
  local data = { { "x", flow.ndarray.rand { steps, rows, channels, height, width } },
    { "labels", flow.ndarray.zeros({ steps, rows }, "int32") } }
  local least = { [by_hand] = math.huge, [by_fit] = math.huge }
  for round = 0, ROUNDS do                       -- of which 0 warms up
    for i = 1, 2 do
      local f = (round + i) % 2 == 0 and by_hand or by_fit
      local seconds = timed(f, train, data)
      if round > 0 then least[f] = math.min(least[f], seconds) end
    end
  end
  local hand, fit = least[by_hand], least[by_fit]
  print(("%-6s %10.2f %10.2f %8.4f %10.2f"):format(name, hand * 1e3, fit * 1e3, fit / hand,
    (fit - hand) / steps * 1e6))
end

flow.config.threads(1)
flow.random.seed(1)
print "ms of an epoch: by hand, by flow.fit, their ratio; and us a step between them"
for _, model in ipairs(models) do
  if not WANTED or WANTED == model[1] then
    measure(model[1], STEPS > 0 and STEPS or model[2], model[3], model[4])
  end
end
