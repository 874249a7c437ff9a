-- Batches without an end for a job whose body reads them: one stream for each reader, whose
-- position checkpoints keep as they keep that of a loop.
local ahead = require "jfl.data.ahead"
local given = require "jfl.job.given"
local inputs = require "jfl.job.inputs"
local job = require "jfl.job.job"
local loop = require "jfl.data.loop"
local trace = require "jfl.job.trace"

local stream = {}

local WORKERS = 2                -- threads of a column that is worth some
local LONGEST = 2 ^ 40           -- items of a stream
local SPREAD = 2654435761        -- between the seeds of epochs

-- By name. A job that is described anew goes on with the stream that it had.
local streams = {}
job.on_clear(function() streams = {} end)

-- ---- orders ----

-- The numbers of n items again and again, each time as draw(seed) orders them; nil: as they are.
-- The last two orders are kept, since a batch may have the end of one and the beginning of another.
local function endless_order(n, draw, seed)
  local kept = {}
  local function order_of(epoch)
    if not kept[epoch] then
      local drawn = draw((seed + epoch * SPREAD) % 2 ^ 47, epoch)
      kept = { [epoch] = drawn, [epoch - 1] = kept[epoch - 1] }
    end
    return kept[epoch]
  end
  return setmetatable({}, { __index = function(_, i)
    local at, epoch = (i - 1) % n + 1, math.floor((i - 1) / n)
    return draw and order_of(epoch)[at] or at
  end })
end

-- ---- streams ----

--- The stream of that name of the job whose body runs: of n items, of which o.batch_size make a
-- batch; o.draw(seed, epoch), or nil, gives each epoch's order.
function stream.open(who, name, n, o)
  local found = streams[name]
  if found and found.n == n and found.size == o.batch_size then return found end
  if found then found.loop:close() end
  local self = { n = n, size = o.batch_size }
  self.loop = loop.new(who, { name = name, epochs = 1, shuffle = true, columns = true,
    items = math.floor(LONGEST / n) * n, size = o.batch_size, drop_last = false, endless = true,
    draw = function(seed) return endless_order(n, o.draw, seed) end,
    rows = function(of, first, last) return loop.step(of, first, last) end })
  streams[name] = self
  return self
end

--- What a body reads of a stream: columns that go on together.
function stream.reader(who, of)
  return { who = who, stream = of, columns = {}, taken = {} }
end

-- The batch that the present call has of column k: the first column that a call asks for moves the
-- stream on.
local function take(reader, k)
  if reader.taken[k] ~= false then
    local _
    _, _, reader.step = reader.stream.loop()
    reader.taken = {}
    for i = 1, #reader.columns do reader.taken[i] = false end
  end
  reader.taken[k] = true
  return (reader.columns[k].take(reader.stream.loop, reader.step))
end

--- An input of the body's job, which every call gives the next batch of a column: of the dtype, and
-- of batch_size times this shape. is_heavy: whether it is worth threads.
function stream.input(reader, name, column, dtype, shape, is_heavy)
  local context, k = trace.need(reader.who), #reader.columns + 1
  reader.columns[k] = ahead.loader(reader.who, column, is_heavy and WORKERS or 0)
  local blob = inputs.blob(context, name, { kind = "Numpy", dtype = dtype },
    { reader.stream.size, unpack(shape) })
  return given.add(context, blob, function() return take(reader, k) end)
end

return stream
