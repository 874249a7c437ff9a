-- What convolutions read and write stays in blocks from one to the next, filters stay packed in the
-- session, and nobody sees it but the clock.
local draws = require "spec.draws"
local core = require "jfl.core"
local flow = require "jfl"
local fuzz = require "spec.op.fuzz"
local golden = require "spec.golden"
local passes = require "spec.passes"
local nd, tp = flow.ndarray, flow.typing

local NETS, SEED = draws.trials(25), draws.seed()
local OFF, ONLY = "-layout", passes.all_but "layout"
local pick = fuzz.pick

before_each(function() flow.clear_default_session() end)
after_each(function()
  core.set("passes", "")
  core.set("kernels", "fast")
  flow.clear_default_session()
end)

local function define(o)
  core.set("passes", o.passes or "")
  core.set("kernels", o.kernels or "fast")
  local f = flow.global_function {
    name = o.name or "job", type = o.type or "predict", returns = o.returns or tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(o.shape) } }, body = o.body,
  }
  f:compile()
  core.set("passes", "")
  core.set("kernels", "fast")
  return f
end

local function filled(shape, seed)
  local a = nd.zeros(shape)
  local random, n = fuzz.random(seed), 1
  for _, d in ipairs(shape) do n = n * d end
  local flat = a:reshape { n }
  for i = 1, n do flat[i] = random(2001) / 1000 - 1.001 end
  return a
end

local function numbers(a)
  local list = {}
  local function add(t)
    if type(t) == "table" then
      for _, v in ipairs(t) do add(v) end
    else
      list[#list + 1] = t
    end
  end
  add(a:totable())
  return list
end

--- Elements may differ by this much of the largest magnitude.
local function assert_close(want, got, tolerance, what)
  assert.same(want.shape, got.shape, what)
  local a, b, scale = numbers(want), numbers(got), 1e-6
  for _, v in ipairs(a) do scale = math.max(scale, math.abs(v)) end
  for i, v in ipairs(a) do
    if not (math.abs(v - b[i]) <= tolerance * scale) and not (v ~= v and b[i] ~= b[i]) then
      error(("%s: element %d: %.9g and %.9g, of at most %.3g"):format(what, i, v, b[i], scale), 2)
    end
  end
end

local function assert_equal_variables(want, tolerance)
  local got = flow.get_all_variables()
  for name, value in pairs(want) do assert_close(value, got[name], tolerance, name) end
end

local function conv(x, filters, size, options)
  options = options or {}
  options.kernel_initializer = options.kernel_initializer or flow.truncated_normal(0.3)
  return flow.layers.conv2d(x, filters, size, options)
end

--- How many channels this machine wants side by side; nil: its convolutions want none.
local function block()
  local f = define { shape = { 1, 32, 4, 4 }, body = function(x) return conv(x, 32, 3) end }
  local b = f:graph("optimized"):match "%(1, %d+, %d+, %d+, (%d+)%) = conv2d"
  flow.clear_default_session()
  return tonumber(b)
end
local BLOCK = block()

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

--- Two layers, pools and a dense layer, and how they are trained.
local function small_in(format)
  return function(x)
    local function layer(v, filters, name)
      local y = conv(v, filters, 3, { activation = flow.nn.relu, padding = "SAME", name = name,
        data_format = format })
      return flow.nn.max_pool2d(y, 2, 2, "SAME", { data_format = format })
    end
    local y = layer(layer(x, 16, "first"), 32, "second")
    return flow.layers.dense(flow.reshape(y, { x.shape[1], -1 }), 5, { name = "last" })
  end
end
local small = small_in "NCHW"

local function training(body, momentum)
  return function(x)
    local y = body(x)
    local loss = flow.math.reduce_mean(y * y)
    flow.optimizer.SGD(0.01, { momentum = momentum }):minimize(loss)
    return y
  end
end

describe("the layout pass", function()
  if BLOCK == 16 then
    it("converts only at the ends", function()
      local f = define { shape = { 2, 1, 8, 8 }, body = small, passes = ONLY }
      golden.check("layout_predict", f:graph("optimized"))
    end)

    it("keeps gradients and updates in blocks", function()
      local f = define { type = "train", shape = { 2, 1, 8, 8 }, body = training(small, 0.9),
        passes = ONLY }
      golden.check("layout_train", f:graph("optimized"))
    end)
  end

  if BLOCK then
    it("makes each conversion once, and none between convolutions", function()
      local f = define { shape = { 1, BLOCK, 4, 4 }, body = function(x)
        local y = conv(x, BLOCK, 3, { padding = "SAME" })
        for _ = 1, 3 do y = y + conv(flow.nn.relu(y), BLOCK, 3, { padding = "SAME" }) end
        return y + conv(x, BLOCK, 1)
      end }
      assert.equal(2, count(f:graph("optimized"), "= transpose%("))
    end)

    it("leaves graphs without convolutions as they are", function()
      local function body(x)
        local y = flow.nn.bias_add(flow.nn.relu(x), flow.get_variable("b",
          { shape = { 16 }, initializer = flow.ones_initializer() }))
        return flow.math.reduce_sum(flow.nn.max_pool2d(y, 2, 2, "SAME"), { axis = { 2, 3 } })
      end
      local on = define { shape = { 2, 16, 4, 4 }, body = body }:graph("optimized")
      flow.clear_default_session()
      local off = define { shape = { 2, 16, 4, 4 }, body = body, passes = OFF }
      assert.equal(off:graph("optimized"), on)
    end)

    it("does nothing for the plain kernels", function()
      local f = define { shape = { 2, 1, 8, 8 }, body = small, kernels = "reference" }
      assert.equal(0, count(f:graph("optimized"), "= transpose%("))
    end)

    it("gives dropout its elements in plain order", function()
      local function body(x)
        return conv(flow.nn.dropout(conv(x, 32, 3), 0.5), 32, 3)
      end
      local function run(off)
        flow.clear_default_session()
        flow.random.seed(3)
        local shape = { 1, 32, 9, 9 }
        return define({ shape = shape, body = body, passes = off })(filled(shape, 1))
      end
      assert_close(run(OFF), run(""), 1e-5, "dropped")
    end)
  end

  it("changes no result that a job gives, and none of several readers of a value", function()
    local function body(x)
      local y = conv(x, 32, 3, { padding = "SAME" })
      local z = flow.nn.relu(y)
      return y, z, flow.transpose(z, { 0, 2, 3, 1 }), flow.reshape(z, { 2, -1 }), conv(z, 16, 1),
        flow.math.reduce_max(z, { axis = { 0, 1 } }), flow.nn.softmax(z)
    end
    local function run(off)
      flow.clear_default_session()
      flow.random.seed(3)
      local t, shape = tp.Numpy, { 2, 3, 6, 7 }
      local f = define { shape = shape, body = body, passes = off,
        returns = tp.Tuple(t, t, t, t, t, t, t) }
      return { f(filled(shape, 2)) }
    end
    local want, got = run(OFF), run("")
    for i = 1, 7 do assert_close(want[i], got[i], 1e-5, "result " .. i) end
  end)
end)

-- ---- variables in the session ----

--- Tests with networks whose channels are first, or last.
local function describe_networks(format)
  local is_last = format == "NHWC"
  local SHAPE = is_last and { 2, 8, 8, 1 } or { 2, 1, 8, 8 }
  local X, net = filled(SHAPE, 9), small_in(format)

  --- A session whose first job is compiled so, with the same seed each time.
  local function start(o)
    flow.clear_default_session()
    flow.random.seed(11)
    return define { name = "train", type = "train", shape = SHAPE, body = training(net, 0.9),
      passes = o.passes, kernels = o.kernels }
  end

  local function predict_job(o)
    return define { name = "predict", shape = SHAPE, body = net, passes = o.passes,
      kernels = o.kernels }
  end

  local function steps(job, n)
    for _ = 1, n do job(X) end
    return flow.get_all_variables()
  end

  if BLOCK then
    it("are what the session has", function()
      local pattern = "variable second%%-weight: float32 %%(%%d+, %%d+, 3, 3, %d, %d%%)"
      assert.truthy(start({}):graph("optimized"):match(pattern:format(BLOCK, BLOCK)))
      local filters = flow.get_all_variables()["second-weight"]
      assert.same(is_last and { 32, 3, 3, 16 } or { 32, 16, 3, 3 }, filters.shape)
    end)
  end

  it("start with the numbers they would have", function()
    start { passes = OFF }
    local want = flow.get_all_variables()
    start {}
    assert_equal_variables(want, 0)
  end)

  it("are set, read, saved and loaded as if they were plain", function()
    local dir = os.tmpname()
    os.remove(dir)
    local checkpoint = flow.train.CheckPoint()
    local trained = steps(start {}, 3)
    checkpoint:save(dir)
    local set = {}
    for name, v in pairs(trained) do
      if v.dtype == "float32" then set[name] = filled(v.shape, #name) end
    end
    flow.load_variables(set)
    assert_equal_variables(set, 0)
    checkpoint:load(dir)
    assert_equal_variables(trained, 0)
    start { passes = OFF }
    checkpoint:load(dir)
    assert_equal_variables(trained, 0)
    checkpoint:save(dir, { overwrite = true })
    start {}
    checkpoint:load(dir)
    assert_equal_variables(trained, 0)
    os.execute("rm -r " .. dir)
  end)

  it("train as plain ones do", function()
    local want = steps(start { passes = OFF }, 4)
    steps(start {}, 4)
    assert_equal_variables(want, 1e-4)
  end)

  local WAYS = { {}, { passes = OFF }, { kernels = "reference" } }

  it("are shared by jobs that want them otherwise, whichever is compiled first", function()
    local want
    for _, first in ipairs(WAYS) do
      for _, second in ipairs(WAYS) do
        local train = start(first)
        local predict = predict_job(second)
        steps(train, 2)
        local y = predict(X)
        local last = steps(train, 1)
        want = want or { y, last }
        assert_close(want[1], y, 1e-4, "prediction")
        for name, v in pairs(want[2]) do assert_close(v, last[name], 1e-4, name) end
      end
    end
  end)

  it("are trained by jobs compiled after a prediction that wants them otherwise", function()
    local want
    for _, first in ipairs(WAYS) do
      for _, second in ipairs(WAYS) do
        flow.clear_default_session()
        flow.random.seed(11)
        local predict = predict_job(first)
        local train = define { name = "train", type = "train", shape = SHAPE,
          body = training(net, 0.9), passes = second.passes, kernels = second.kernels }
        local last = steps(train, 2)
        local y = predict(X)
        want = want or { y, last }
        assert_close(want[1], y, 1e-4, "prediction")
        for name, v in pairs(want[2]) do assert_close(v, last[name], 1e-4, name) end
      end
    end
  end)

  it("are read by a job in which nothing comes before them", function()
    local want = steps(start {}, 1)["second-weight"]
    local f = flow.global_function { name = "reader", body = function()
      local w = flow.get_variable("second-weight", { shape = want.shape,
        initializer = flow.zeros_initializer() })
      return flow.math.reduce_sum(w, { axis = { 1, 2, 3 } })
    end }
    local sums = flow.math.reduce_sum(want, { axis = { 1, 2, 3 } })
    local off = flow.math.reduce_max(flow.math.abs(f():get() - sums)):item()
    assert(off < 1e-4, off)
  end)
end

describe("packed filters", function()
  describe_networks "NCHW"

  local function filters_of(shape)
    return flow.get_variable("w", { shape = shape, initializer = flow.truncated_normal(0.2) })
  end

  it("serve other readers, and give themselves as results, before the step", function()
    local function body(x)
      local w = filters_of { 32, 16, 3, 3 }
      local y = flow.nn.conv2d(x, w, { padding = "SAME" })
      local size = flow.math.reduce_max(flow.math.abs(w), { axis = { 1, 2 } })
      local loss = flow.math.reduce_mean(y * y) + flow.math.reduce_sum(w * w)
        + flow.math.reduce_mean(size)
      flow.optimizer.SGD(0.01, { momentum = 0 }):minimize(loss)
      return w, flow.transpose(w, { 1, 0, 2, 3 }), y
    end
    local function run(o)
      flow.clear_default_session()
      flow.random.seed(11)
      local job = define { name = "train", type = "train", shape = { 1, 16, 5, 5 }, body = body,
        passes = o.passes, returns = tp.Tuple(tp.Numpy, tp.Numpy, tp.Numpy) }
      job(filled({ 1, 16, 5, 5 }, 1))
      return { job(filled({ 1, 16, 5, 5 }, 2)) }
    end
    local want, got = run { passes = OFF }, run {}
    for i = 1, 3 do assert_close(want[i], got[i], 1e-5, "result " .. i) end
  end)

  it("are filters of one job and a matrix of another", function()
    local function matrix(x)
      local y = flow.matmul(x, flow.reshape(filters_of { 16, 16, 1, 1 }, { 16, 16 }))
      flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(flow.math.reduce_mean(y * y))
      return y
    end
    local function filters(x) return flow.nn.conv2d(x, filters_of { 16, 16, 1, 1 }) end
    local function run(o)
      flow.clear_default_session()
      flow.random.seed(11)
      local predict = define { name = "p", shape = { 2, 16, 3, 3 }, body = filters,
        passes = o.passes }
      local train = define { name = "t", type = "train", shape = { 4, 16 }, body = matrix,
        passes = o.passes }
      for i = 1, 3 do train(filled({ 4, 16 }, i)) end
      return predict(filled({ 2, 16, 3, 3 }, 8))
    end
    assert_close(run { passes = OFF }, run {}, 1e-5, "prediction")
  end)

  it("cannot be updated together with a variable that another job keeps plain", function()
    local function train(x)
      local y = flow.nn.conv2d(x, filters_of { 16, 16, 3, 3 })
      flow.optimizer.SGD(0.01, { momentum = 0.9 }):minimize(flow.math.reduce_mean(y * y))
      return y
    end
    local function own(x)      -- the slot's name, as another job's filters
      return flow.nn.conv2d(x, flow.get_variable("w-momentum", { shape = { 16, 16, 3, 3 },
        initializer = flow.zeros_initializer() }))
    end
    local shape = { 1, 16, 5, 5 }
    define { name = "plain", shape = shape, passes = OFF,
      body = function(x) return flow.nn.conv2d(x, filters_of { 16, 16, 3, 3 }) end }
    define { name = "packed", shape = shape, body = own }
    local ok, message = pcall(define,
      { name = "train", type = "train", shape = shape, body = train })
    if BLOCK then
      assert.is_false(ok)
      assert.truthy(message:match "kept in different layouts")
    else
      assert.is_true(ok)
    end
  end)

  it("are refused where the session has another shape of the name", function()
    local function body(n)
      return function(x) return flow.nn.conv2d(x, filters_of { n, 16, 3, 3 }) end
    end
    define { name = "one", shape = { 1, 16, 5, 5 }, body = body(16) }
    local ok, message = pcall(define, { name = "two", shape = { 1, 16, 5, 5 }, body = body(32) })
    assert.is_false(ok)
    assert.truthy(message:find("'w' must be float32 (16, 16, 3, 3) as job 'one' made it", 1,
      true))
  end)
end)

describe("packed filters whose channels are last", function() describe_networks "NHWC" end)

-- ---- random networks ----

--- Layers of a random network; each gives what it makes of x, or nil. y is another value.
local function cells(x) return x.shape[3] * x.shape[4] end
local function same(a, b)
  for i = 1, 4 do if a.shape[i] ~= b.shape[i] then return false end end
  return true
end
local LAYERS = {
  function(x, _, random)
    local size = pick(random, { 1, 3, 3, 5 })
    local groups = random(6) == 1 and x.shape[2] % 2 == 0 and pick(random, { 2, x.shape[2] }) or 1
    local filters = groups > 1 and x.shape[2] or pick(random, { 16, 16, 32, 8, 10, 48 })
    return conv(x, filters, size, { padding = "SAME", strides = random(4) == 1 and 2 or 1,
      groups = groups, dilation_rate = random(5) == 1 and 2 or 1, use_bias = random(2) == 1,
      activation = random(2) == 1 and flow.nn.relu or nil })
  end,
  function(x) return flow.nn.relu(x) end,
  function(x) return flow.math.tanh(x) end,
  function(x) return flow.math.sigmoid(x * 0.5 + 0.25) end,
  function(x) return flow.nn.leaky_relu(x, 0.1) end,
  function(x, y) return same(x, y) and x + y or nil end,
  function(x, y) return same(x, y) and flow.math.tanh(x) * flow.math.tanh(y) or nil end,
  function(x, y, random)
    local a, b = x.shape, y.shape
    local fits = a[1] == b[1] and a[3] == b[3] and a[4] == b[4]
    if not fits or x.shape[2] + y.shape[2] > 100 then return nil end
    return flow.concat({ x, y }, { axis = random(4) == 1 and same(x, y) and 0 or 1 })
  end,
  function(x, _, random)
    local n = pick(random, { 8, 16 })
    local rest = x.shape[2] - n
    local begin = pick(random, { 0, n })
    return rest > 0 and flow.slice(x, { 0, begin, 0, 0 }, { -1, math.min(n, rest), -1, -1 }) or nil
  end,
  function(x, y, random)     -- its channels in another order, perhaps before others
    local n = pick(random, { 8, 16 })
    if x.shape[2] <= n then return nil end
    local a, b = flow.split(x, { n, x.shape[2] - n }, 1)
    local more = random(3) == 1 and same(x, y) and x.shape[2] <= 50
    return flow.concat(more and { b, y, a } or { b, a }, 1)
  end,
  function(x) return cells(x) > 4 and flow.nn.max_pool2d(x, 2, 2, "SAME") or nil end,
  function(x) return cells(x) > 4 and flow.nn.avg_pool2d(x, 3, 2, "SAME") or nil end,
  function(x) return flow.nn.max_pool2d(x, 3, 1, "SAME") end,
  function(x)      -- a gate for each channel
    return x * flow.math.sigmoid(flow.math.reduce_mean(x, { axis = { 2, 3 }, keepdims = true }))
  end,
  function(x)      -- normalized over all but channels
    local mean = flow.math.reduce_mean(x, { axis = { 0, 2, 3 }, keepdims = true })
    local d = x - mean
    local variance = flow.math.reduce_mean(d * d, { axis = { 0, 2, 3 }, keepdims = true })
    return d / flow.math.sqrt(variance + 0.1)
  end,
  function(x) return x - flow.math.reduce_mean(x, { axis = 1, keepdims = true }) end,
  function(x) return x - flow.math.reduce_mean(x, { axis = { 1, 2, 3 }, keepdims = true }) end,
  function(x, _, random) return random(3) == 1 and flow.nn.dropout(x, 0.3) or nil end,
  function(x, _, random) return random(3) == 1 and flow.transpose(x, { 0, 1, 3, 2 }) or nil end,
  function(x) return flow.cast(flow.math.greater(x, x * 0 + 0.1), { dtype = "float32" }) * x end,
}

local function network(seed)
  return function(x)
    local random = fuzz.random(seed)
    local values = { conv(x, pick(random, { 16, 32, 24 }), 3, { padding = "SAME" }) }
    for _ = 1, 3 + random(10) do
      local from = values[random(3) > 1 and #values or random(#values)]
      local y = pick(random, LAYERS)(from, values[random(#values)], random)
      if y then values[#values + 1] = y end
    end
    local sum = flow.math.reduce_mean(flow.math.square(values[#values]))
    for i = 1, #values - 1, 2 do sum = sum + flow.math.reduce_mean(flow.math.square(values[i])) end
    return values[#values], sum
  end
end

--- Three training steps and a prediction: what they gave, and the variables at the end.
local function train(net, shape, o)
  flow.clear_default_session()
  flow.random.seed(5)
  local results = {}
  local job = define { name = "train", type = "train", shape = shape, passes = o.passes,
    returns = tp.Tuple(tp.Numpy, tp.Numpy),
    body = function(x)
      local y, loss = net(x)
      local clip = o.clip and flow.optimizer.grad_clipping.by_global_norm(o.clip) or nil
      flow.optimizer.SGD(0.02, { momentum = o.momentum, grad_clipping = clip }):minimize(loss)
      return y, loss
    end }
  local initial = flow.get_all_variables()
  for step = 1, 3 do
    local y, loss = job(filled(shape, step))
    results[#results + 1], results[#results + 2] = y, loss
  end
  return results, initial, flow.get_all_variables()
end

describe("random networks", function()
  local function each(salt, body)
    for i = 1, NETS do
      local seed = SEED * 7919 + salt + i
      local random = fuzz.random(seed)
      local shape = { random(3), pick(random, { 1, 3, 7, 16, 32 }), 3 + random(9), 3 + random(9) }
      local ok, message = pcall(body, network(seed), shape, random)
      if not ok then
        local text = table.concat(shape, ", ")
        error(("network %d, input (%s): %s"):format(i, text, tostring(message)), 0)
      end
    end
  end

  it("train alike with the pass and without it", function()
    each(0, function(net, shape, random)
      local momentum, clip = random(2) == 1 and 0.9 or 0, random(3) == 1 and 0.5 or nil
      local want, initial, last = train(net, shape,
        { passes = OFF, momentum = momentum, clip = clip })
      local got, same_initial, same_last = train(net, shape, { momentum = momentum, clip = clip })
      for name, v in pairs(initial) do assert_close(v, same_initial[name], 0, name) end
      for i, y in ipairs(want) do assert_close(y, got[i], 2e-3, "result " .. i) end
      for name, v in pairs(last) do assert_close(v, same_last[name], 2e-3, name) end
    end)
  end)
end)
