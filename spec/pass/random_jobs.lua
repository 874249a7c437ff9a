--- Random jobs that train, whose values lie on devices as the cost rule chooses or as random casts
-- and placements say.
local core = require "jfl.core"
local flow = require "jfl"
local support = require "spec.op.support"
local tp = flow.typing

local random_jobs = {}

local COLUMNS, CALLS = 6, 2

-- Whole numbers from 1 to n; each generator gives the same ones for its seed.
local function generator(seed)
  local state = seed * 7919 + 17
  return function(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return math.floor(state / 65536) % n + 1
  end
end

local function with(list, i, v)
  local copy = { unpack(list) }
  copy[i] = v
  return copy
end

local function flat(x, shape)
  local n = 1
  for i = 2, #shape do n = n * shape[i] end
  return flow.reshape(x, { shape[1], n }), { shape[1], n }
end

-- What may be done to x of that shape: each gives the result and its shape. Values are smooth, so
-- that rounding moves none across an edge.
local STEPS = {
  function(x, shape) return flow.math.tanh(x), shape end,
  function(x, shape) return flow.math.square(x) * 0.1 + x, shape end,
  function(x, shape) return flow.nn.softmax(x), shape end,
  function(x, shape, name, random)
    local units = 2 + random(6)
    return flow.layers.dense(flat(x, shape), units, { name = name }), { shape[1], units }
  end,
  function(x, shape, _, random)
    return x - flow.math.reduce_mean(x, { axis = { random(#shape) - 1 }, keepdims = true }), shape
  end,
  function(x, shape, _, random)
    local sum = flow.math.reduce_sum(x, { axis = { random(#shape) - 1 }, keepdims = true })
    return x * 0.5 + sum * 0.1, shape
  end,
  function(x, shape, name)
    return flow.layers.layer_norm(x, { begin_norm_axis = #shape - 1, name = name }), shape
  end,
  function(x, shape, name)
    if #shape ~= 2 then return flat(x, shape) end
    return flow.layers.batch_normalization(x, { axis = 1, name = name }), shape
  end,
  function(x, shape)
    if #shape ~= 2 then return flat(x, shape) end
    return flow.transpose(x, { perm = { 1, 0 } }), { shape[2], shape[1] }
  end,
  function(x, shape)
    local last = shape[#shape]
    if last % 2 == 1 or #shape > 4 then return x, shape end
    local to = with(with(shape, #shape, last / 2), #shape + 1, 2)
    return flow.reshape(x, to), to
  end,
  function(x, shape, _, random)
    local axis = random(#shape)
    if shape[axis] > 8 then return x, shape end
    return flow.concat({ x, flow.math.sin(x) }, { axis = axis - 1 }),
      with(shape, axis, 2 * shape[axis])
  end,
  function(x, shape, _, random)
    local axis, begin = random(#shape), {}
    if shape[axis] < 4 then return x, shape end
    for i = 1, #shape do begin[i] = i == axis and 1 or 0 end
    local size = with(shape, axis, shape[axis] - 1)
    return flow.slice(x, begin, size), size
  end,
  function(x, shape, name) return flow.nn.dropout(x, 0.3, { name = name }), shape end,
  function(x, shape, name)
    local v = flow.get_variable(name, { shape = { shape[#shape] }, dtype = flow.float64,
      initializer = flow.random_uniform_initializer(-1, 1) })
    return x * v, shape
  end,
  function(x, shape, _, random) return flow.math.cumsum(x, random(#shape) - 1) * 0.2, shape end,
}

-- Says at random how x and its gradient lie; an axis is split that has enough elements.
local function cast(x, shape, random, devices)
  local ways = { "auto", "broadcast" }
  for i, n in ipairs(shape) do
    if n >= devices then ways[#ways + 1] = ("split(%d)"):format(i - 1) end
  end
  return core.op("parallel_cast")(x, { distribute = ways[random(#ways)],
    gradient_distribute = ways[random(#ways)] })
end

-- Runs some steps, one of four of them on a part of the devices.
local function body_of(random, batch, where)
  return function(x)
    local shape = { batch, COLUMNS }
    for i = 1, 2 + random(6) do
      local step, part = STEPS[random(#STEPS)], random(4) == 1 and random(#where.parts)
      local function run() return step(x, shape, "step" .. i, random) end
      if part and where.kind then
        x, shape = flow.scope.placement(where.kind, where.parts[part], run)
      else
        x, shape = run()
      end
      if random(3) == 1 then x = cast(x, shape, random, where.devices) end
    end
    x = flow.layers.dense(flat(x, shape), 3, { name = "out" })
    local loss = flow.math.reduce_mean(flow.math.square(x - 0.3), { axis = { 1 } })
    local clip = random(2) == 1 and flow.optimizer.grad_clipping.by_global_norm(0.5) or nil
    flow.optimizer.SGD(0.1, { grad_clipping = clip }):minimize(loss)
    return loss
  end
end

-- How the input lies: a rank gives all of it, or its part of the rows.
local WAYS = { flow.distribute.auto(), flow.distribute.broadcast(), flow.distribute.split(0) }

local function define(random, batch, way, where)
  local config = flow.function_config()
  if random(3) == 1 then
    config.optimizer_placement_optimization_mode("distributed_split")
    config.optimizer_placement_optimization_threshold(1)
  end
  return flow.global_function {
    name = "job",
    type = "train",
    function_config = config,
    inputs = { { "x", tp.Numpy.Placeholder({ batch, COLUMNS },
      { dtype = flow.float64, distribute = way }) } },
    returns = tp.Numpy,
    body = body_of(random, batch, where),
  }
end

-- The rows first to last - 1 of a batch that this rank gives.
local function rows_of(batch, way)
  local rank, n = flow.env.rank(), flow.env.size()
  if way ~= WAYS[3] then return 0, batch end
  local each, more = math.floor(batch / n), batch % n
  local first = rank * each + math.min(rank, more)
  return first, first + each + (rank < more and 1 or 0)
end

local function input(call, first, last)
  local x = core.array("float64", { (last - first) * COLUMNS })
  for i = 1, x.size do x[i] = math.sin(0.37 * (first * COLUMNS + i) + call) end
  return core.reshape(x, { last - first, COLUMNS })
end

--- Defines the job with that number in a new session, and trains. where.device is what it runs on,
-- where.kind and each of where.parts a placement of some of its where.devices devices; without a
-- kind nothing is placed. Gives the losses of each call, and each variable after them.
function random_jobs.train(seed, where)
  local random = generator(seed)
  local batch, way = 4 + random(4), WAYS[random(#WAYS)]
  flow.clear_default_session()
  core.set("seed", 3)
  core.set("device", where.device)
  local job = define(random, batch, way, where)
  local given = {}
  for call = 1, CALLS do
    given["call " .. call] = support.flat(job(input(call, rows_of(batch, way))))
  end
  for name, v in pairs(flow.get_all_variables()) do given[name] = support.flat(v:numpy()) end
  return given
end

return random_jobs
