-- A slow step: measure first. Is it the job, or what the script does around it? Which op of the
-- job? The cures follow from that.
local flow = require "jfl"
local nd = flow.ndarray
local N, SIZE = 512, 32
flow.random.seed(1)
local pictures, labels = nd.rand { N, 3, SIZE, SIZE }, nd.zeros({ N }, "int32")

local function network(name, filter)
  local net = flow.model(name, function(x)
    x = flow.layers.conv2d(x, 16, filter, { padding = "SAME", name = "wide" })
    x = flow.nn.max_pool2d(flow.nn.relu(x), 4, 4, "VALID")
    return flow.layers.dense(x:reshape { x.shape[1], -1 }, 10, { name = "output" })
  end)
  return net:train { inputs = { flow.float32 { -1, 3, SIZE, SIZE }, flow.int32 { -1 } },
    loss = flow.nn.cross_entropy, optimizer = flow.optimizer.SGD(0.1) }
end

-- Brightens a batch, element by element: what a script had better not do.
local function by_hand(batch)
  local out = nd.zeros(batch.shape):reshape { -1 }
  local flat = batch:reshape { -1 }
  for i = 1, #flat do out[i] = math.min(flat[i] * 1.2, 1) end
  return out:reshape(batch.shape)
end
-- The same by ops on the whole batch.
local function by_ops(batch) return flow.math.minimum(batch * 1.2, 1) end

-- Seconds of processor time of the script's part and of the job's, over all batches.
local function measured(step, prepare)
  local mine, jobs = 0, 0
  for first = 1, N, 64 do
    local began = os.clock()
    local batch = prepare(pictures:slice(first, first + 63))
    local between = os.clock()
    step(batch, labels:slice(first, first + 63))
    mine, jobs = mine + between - began, jobs + os.clock() - between
  end
  return mine, jobs
end

local slow, quick = network("slow", 11), network("quick", 3)
slow:compile(64)                              -- else the first call does it, and is measured too
quick:compile(64)
for _, case in ipairs { { "by hand", slow, by_hand }, { "by ops", slow, by_ops },
    { "by ops, smaller filters", quick, by_ops } } do
  local mine, jobs = measured(case[2], case[3])
  print(("%s: script %.3f s, job %.3f s"):format(case[1], mine, jobs))
end

-- Which op takes the time, and which line of the body asked for it:
flow.profile(function() measured(slow, by_ops) end, { rows = 3 })
-- jfl --profile script.lua does that to a whole program.
