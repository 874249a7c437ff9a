-- Random networks of convolutions, in both orders of axes, and random convolutions along one to
-- three axes: fast kernels give what plain kernels give, in predict and train jobs. JFL_FUZZ sets
-- how many are tried, JFL_FUZZ_SEED the first of them. #cpu
local core = require "jfl.core"
local draws = require "spec.draws"
local flow = require "jfl"
local tp = flow.typing

local pick = draws.pick

after_each(function()
  core.set("kernels", "fast")
  core.set("cpu_devices", 1)
  flow.clear_default_session()
end)

-- The numbers of axes of a tensor in that format, and options that all its steps share.
local function axes_of(format)
  local last = format == "NHWC"
  return last and { c = 3, h = 1, w = 2 } or { c = 1, h = 2, w = 3 }
end

local function divisors(a, b)
  local list = {}
  for n = 1, math.min(a, b) do
    if a % n == 0 and b % n == 0 then list[#list + 1] = n end
  end
  return list
end

local FILTERS = { 5, 8, 16, 16, 24, 32, 32, 48 }
local PADDINGS = { "SAME", "SAME_UPPER", "VALID" }

-- What may stand between inputs and results, each with a function that draws numbers, the format,
-- axes and a name for variables. Values are smooth, so that rounding moves none across an edge.
local STEPS = {}

function STEPS.conv(x, random, o)
  local channels = x.shape[o.c + 1]
  local filters = random(4) == 1 and channels or pick(random, FILTERS)
  local groups = pick(random, divisors(channels, filters))
  local dilation = random(3) == 1 and 2 or 1
  return flow.layers.conv2d(x, filters, { random(3), random(3) }, { name = o.name,
    data_format = o.format, strides = dilation == 1 and { random(2), random(2) } or 1,
    padding = random(4) == 1 and { random(3) - 1, random(3) - 1, 1, 2 } or pick(random, PADDINGS),
    dilation_rate = dilation, groups = random(2) == 1 and groups or 1,
    use_bias = random(2) == 1, activation = random(2) == 1 and flow.math.tanh or nil })
end

function STEPS.conv_transpose(x, random, o)
  return flow.layers.conv2d_transpose(x, pick(random, FILTERS), { kernel_size = 1 + random(2),
    name = o.name, data_format = o.format, strides = random(2),
    padding = pick(random, { "SAME", "VALID" }) })
end

function STEPS.pool(x, random, o)
  local pool = pick(random, { flow.nn.max_pool2d, flow.nn.avg_pool2d })
  return pool(x, 2, random(2), pick(random, PADDINGS), { data_format = o.format })
end

function STEPS.norm(x, _, o)
  return flow.layers.batch_normalization(x, { axis = o.c, epsilon = 0.1, name = o.name })
end

function STEPS.scale(x, random, o)
  local mean = flow.math.reduce_mean(x, { o.h, o.w }, true)
  return random(2) == 1 and x * flow.math.sigmoid(mean) or x - mean
end

function STEPS.reduce(x, random, o)
  local axis = { pick(random, { o.c, o.h, o.w }) }
  return x - flow.math.reduce_sum(x, axis, true) * 0.1
end

function STEPS.condition(x)
  return flow.where(flow.math.greater(x, 10), x * 0.5, flow.math.tanh(x))
end

function STEPS.residual(x, _, o)
  return x + flow.layers.conv2d(x, x.shape[o.c + 1], 3, { padding = "SAME",
    data_format = o.format, name = o.name })
end

function STEPS.pad(x, random, o)
  local sides = { 0, 0, 0, 0, 0, 0, 0, 0 }
  for _, axis in ipairs { o.h, o.w } do
    sides[2 * axis + 1], sides[2 * axis + 2] = random(3) - 1, random(3) - 1
  end
  if random(3) == 1 then sides[2 * o.c + 2] = 8 end
  local most = math.min(x.shape[2], x.shape[3], x.shape[4])
  local mode = most > 8 and pick(random, { "reflect", "replicate", "circular" }) or "constant"
  return flow.pad(x, sides, { mode = mode })
end

function STEPS.slice(x, random, o)
  local begin, size = { 0, 0, 0, 0 }, { -1, -1, -1, -1 }
  begin[pick(random, { o.h, o.w }) + 1] = 1
  if random(2) == 1 and x.shape[o.c + 1] > 16 then size[o.c + 1] = 16 end
  return flow.slice(x, begin, size)
end

function STEPS.strided(x, random, o)
  local rows = { {}, {}, {}, {} }
  rows[pick(random, { o.h, o.w, o.c }) + 1] = { nil, nil, pick(random, { 2, -1 }) }
  return flow.slice_v2(x, rows)
end

function STEPS.concat(x, random, o)
  return flow.concat({ x, flow.math.tanh(x) }, pick(random, { o.c, o.h, o.w }))
end

function STEPS.split(x, random, o)
  local axis = pick(random, { o.c, o.h, o.w })
  local n = x.shape[axis + 1]
  if n < 2 then return x end
  local a, b = flow.split(x, { math.floor(n / 2), n - math.floor(n / 2) }, axis)
  return flow.concat({ b, a }, axis)
end

function STEPS.upsample(x, random, o)
  return flow.layers.upsample_2d(x, { size = { 2, 2 }, data_format = o.format,
    interpolation = pick(random, { "nearest", "bilinear" }) })
end

local NAMES = {}
for name in pairs(STEPS) do NAMES[#NAMES + 1] = name end
table.sort(NAMES)

-- A network of a few steps, which loses no more than it can: pictures stay between 4 and 40 cells.
local function network(x, random, format)
  local o = axes_of(format)
  o.format = format
  for i = 1, 6 do
    o.name = "v" .. i
    local name = i % 3 == 1 and "conv" or pick(random, NAMES)
    local h, w, c = x.shape[o.h + 1], x.shape[o.w + 1], x.shape[o.c + 1]
    if name == "conv" or math.min(h, w) < 8 and math.max(h, w, c) < 64 then
      if math.min(h, w) >= 6 then x = STEPS.conv(x, random, o) end
    elseif math.max(h, w) < 40 and c < 128 then
      x = STEPS[name](x, random, o)
    end
  end
  return x
end

local function train(loss)
  flow.optimizer.SGD(0.05, { momentum = 0 }):minimize(loss)
  return loss
end

-- What a job gives in two runs on so many devices, its variables after them, and its graph.
local function results(kernels, kind, shape, build, devices)
  core.set("cpu_devices", devices)
  flow.clear_default_session()
  core.set("kernels", kernels)
  flow.random.seed(7)
  local x = flow.random.normal(shape)
  local job = flow.global_function { name = "job", type = kind, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } },
    body = function(v)
      local y = build(v)
      return kind == "predict" and y or train(flow.math.reduce_mean(flow.math.square(y)))
    end }
  local list = { { "run 1", job(x) }, { "run 2", job(x) } }
  local names = {}
  local variables = flow.get_all_variables()
  for name in pairs(variables) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do list[#list + 1] = { name, variables[name] } end
  return list, job:graph "optimized"
end

-- Gives the graph of the predict job with fast kernels, on `devices` if that is not nil.
local function check(shape, build, label, devices)
  local graph
  for _, kind in ipairs { "train", "predict" } do
    local want = results("reference", kind, shape, build, 1)
    local got, fast = results("fast", kind, shape, build, devices or 1)
    graph = fast
    assert.equal(#want, #got)
    for i, each in ipairs(want) do
      local name, a, b = each[1], each[2], got[i][2]
      assert.same(a.shape, b.shape, label)
      local scale = math.max(a:abs():max(), 1e-3)
      local off = (a - b):abs():max() / scale
      assert.is_true(off < 1e-3, ("%s, %s, %s is off by %g"):format(label, kind, name, off))
    end
  end
  return graph
end

-- Whether convolutions of this machine work on blocks of channels.
local function has_blocks()
  local graph = check({ 1, 6, 6, 16 }, function(x)
    return flow.layers.conv2d(x, 16, 3, { data_format = "NHWC" })
  end, "a convolution")
  return not graph:find("NHWC", 1, true)
end

describe("random networks of convolutions #cpu", function()
  local first = draws.seed()
  it("give what plain kernels give in both formats", function()
    for seed = first, first + draws.trials(8) - 1 do
      for _, format in ipairs { "NHWC", "NCHW" } do
        local shape = format == "NHWC" and { 2, 12, 11, 3 } or { 2, 3, 12, 11 }
        check(shape, function(x) return network(x, draws.from(seed), format) end,
          ("seed %d, %s"):format(seed, format), 1 + seed % 2)
      end
    end
  end)

  it("keep channels first over what lies between two of them", function()
    local blocks, o = has_blocks(), axes_of "NHWC"
    for _, step in ipairs(NAMES) do
      for seed = first, first + 3 do
        local label = ("%s, seed %d"):format(step, seed)
        local graph = check({ 2, 12, 11, 8 }, function(x)
          local function conv(v, name)
            return flow.layers.conv2d(v, 32, 3, { data_format = "NHWC", name = name })
          end
          o.name, o.format = "step", "NHWC"
          return conv(STEPS[step](conv(x, "a"), draws.from(seed), o), "b")
        end, label)
        local back = select(2, graph:gsub("perm={0, 2, 3, 1[,}]", ""))
        if blocks then assert.equal(1, back, label) end
      end
    end
  end)

  it("of one to three axes give what plain kernels give", function()
    local layers = { flow.layers.conv1d, flow.layers.conv2d, flow.layers.conv3d }
    local formats = { { "NWC", "NCW" }, { "NHWC", "NCHW" }, { "NDHWC", "NCDHW" } }
    for seed = first, first + draws.trials(12) - 1 do
      local random = draws.from(seed)
      local n, of_one = random(3), pick(random, { 1, 2, 8, 16 })
      local groups, last = random(3), random(2)
      local shape, kernel, strides = { 2 }, {}, {}
      for i = 1, n do
        shape[i + 1], kernel[i], strides[i] = 5 + random(6), random(3), random(2)
      end
      table.insert(shape, last == 1 and n + 2 or 2, of_one * groups)
      local options = { name = "c", groups = groups, data_format = formats[n][last],
        padding = pick(random, PADDINGS), strides = strides }
      if random(2) == 1 then options.strides, options.dilation_rate = 1, 2 end
      local filters = groups * pick(random, { 1, 3, 8, 16 })
      check(shape, function(x) return layers[n](x, filters, kernel, options) end,
        ("seed %d, %d axes"):format(seed, n))
    end
  end)
end)
