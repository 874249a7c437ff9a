--- Jobs of the mirrored view whose devices get arrays of different sizes: each gives what a job of
-- one device gives for that device's array, and training what the arrays give as one. With
-- JFL_SPEC_DEVICE=gpu the devices are GPUs, emulated or not.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local support = require "spec.op.support"

local nd, tp = flow.ndarray, flow.typing
local KIND = os.getenv "JFL_SPEC_DEVICE" or "sim"
local mirrored, consistent = flow.scope.mirrored_view, flow.scope.consistent_view
local cast = flow.cast_to_current_logical_view

--- A new session on devices such as "sim:0-1".
local function session(devices)
  flow.clear_default_session()
  core.set("device", devices)
  core.set("tf32", 0)
  flow.random.seed(3)
end

local function on_two() session(KIND .. ":0-1") end
local function on_one() session(KIND .. ":0") end

local function check_variables(got, want, tolerance)
  for name, values in pairs(want) do
    for i, v in ipairs(values) do
      assert.is_true(math.abs(v - got[name][i]) < tolerance, name)
    end
  end
end

local function check_close(got, want)
  local ok, message = support.close(support.flat(got), support.flat(want), 2e-6)
  if not ok then error(message, 2) end
end

local function config()
  local c = flow.function_config()
  c.default_logical_view(mirrored())
  return c
end

--- A job of lists of arrays of at most that shape, with these fields.
local function job_of(shape, fields)
  local job = { name = "job", returns = tp.ListNumpy, function_config = config(),
    inputs = { { "x", tp.ListNumpy.Placeholder(shape) } } }
  for key, value in pairs(fields) do job[key] = value end
  return flow.global_function(job)
end

local function filled(...) return support.filled("float32", { ... }, -1, 1) end

--- A network in which many ops read extents: reshapes, places, attention, norms, pads.
local function network(x)
  local batch, length = x.shape[1], x.shape[2]
  x = flow.layers.dense(x:reshape { batch * length, x.shape[3] }, 8, { name = "in" })
  x = x:reshape { batch, length, 8 }
  x = x + flow.layers.multi_head_attention(x, 2, { causal = true, name = "heads" })
  x = flow.layers.layer_norm(x, { begin_norm_axis = -1, name = "norm" })
  local before = flow.pad(x, { { 0, 0 }, { 1, 0 }, { 0, 0 } }, { name = "before" })
  x = flow.concat({ x, flow.slice(before, { 0, 0, 0 }, { batch, length, 8 }) }, 2)
  return flow.layers.dense(flow.math.reduce_max(x, 1), 3, { name = "out" })
end

local function loss_of(x)
  return flow.math.reduce_mean(flow.math.square(network(x)), 1)
end

describe("lists of arrays of different sizes on " .. KIND, function()
  before_each(on_two)
  teardown(function() session "cpu:0" end)

  it("are each computed as by one device", function()
    local x = { filled(3, 5, 4), filled(1, 7, 4) }
    local got = job_of({ 4, 9, 4 }, { body = network })(x)
    local variables = flow.get_all_variables()
    on_one()
    local one = job_of({ 4, 9, 4 }, { body = network })
    one:compile()
    flow.load_variables(variables)
    for i = 1, 2 do check_close(got[i], one({ x[i] })[1]) end
  end)

  it("train as the arrays as one do", function()
    local function steps(x)
      local train = job_of({ 4, 6, 4 }, { type = "train", body = function(images)
        local loss = loss_of(images)
        local clipping = flow.optimizer.grad_clipping.by_global_norm(1)
        flow.optimizer.Adam(0.01, { grad_clipping = clipping }):minimize(loss)
        return loss
      end })
      local losses = {}
      for i = 1, 3 do losses[i] = train(x) end
      return losses, helper.variables()
    end
    local x = { filled(3, 6, 4), filled(1, 6, 4) }
    local got, variables = steps(x)
    on_one()
    local want, expected = steps({ nd.concat(x, 0) })
    for i = 1, 3 do check_close(nd.concat(got[i], 0), want[i][1]) end
    check_variables(variables, expected, 1e-4)
  end)

  it("sum gradients of extents that no array of the whole could have", function()
    local x = { filled(2, 3, 4), filled(1, 5, 4) }
    job_of({ 4, 6, 4 }, { type = "train", body = function(images)
      local w = flow.get_variable("w", { shape = { 4 }, initializer = flow.ones_initializer() })
      local loss = flow.math.reduce_mean(images * w, { 1, 2 })
      flow.optimizer.SGD(3, { momentum = 0 }):minimize(loss)
      return loss
    end })(x)
    local means = nd.concat({ x[1]:mean(1), x[2]:mean(1) }, 0)
    check_close(flow.get_all_variables().w, 1 - means:sum(0) / 4)
  end)

  it("are as those of one size where they are of one", function()
    local function body(x)
      local loss = loss_of(x)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end
    local job = job_of({ 4, 6, 4 }, { type = "train", body = body })
    local even = { filled(2, 3, 4), filled(2, 3, 4) }
    job({ filled(1, 3, 4), filled(2, 6, 4) })
    local first = job(even)
    job({ filled(1, 3, 4), filled(2, 6, 4) })
    assert.equal(2, #first)
    assert.same({ 2 }, first[2].shape)
    assert.is_true(job(even)[1]:sum() < first[1]:sum())
  end)

  it("become one array in the consistent view, and parts of one come back", function()
    local sums, whole, parts = job_of({ 3, 2 }, {
      returns = tp.Tuple(tp.ListNumpy, tp.Numpy, tp.ListNumpy), body = function(x)
        local rows = flow.math.reduce_sum(x, 1)
        local all = consistent(function() return cast(rows) * 2 end)
        return rows, all, cast(all) + 1
      end })({ nd.ones { 1, 2 }, nd.ones { 3, 2 } * 2 })
    assert.same({ { 2 }, { 4, 4, 4 } }, { sums[1]:totable(), sums[2]:totable() })
    assert.same({ 4, 8, 8, 8 }, whole:totable())
    assert.same({ { 5, 9 }, { 9, 9 } }, { parts[1]:totable(), parts[2]:totable() })
  end)

  it("train through a value of the whole", function()
    local x = { filled(1, 3), filled(3, 3) }
    local function steps(list)
      local loss = job_of({ 4, 3 }, { type = "train", returns = tp.Numpy, body = function(a)
        local y = flow.layers.dense(a, 2, { name = "d" })
        return consistent(function()
          local l = flow.math.square(cast(y) - flow.math.reduce_mean(cast(y), 0, true))
          flow.optimizer.SGD(0.5):minimize(l)
          return l
        end)
      end })(list)
      return loss, helper.variables()
    end
    local got, variables = steps(x)
    on_one()
    local want, expected = steps({ nd.concat(x, 0) })
    check_close(got, want)
    check_variables(variables, expected, 1e-5)
  end)

  it("stand beside arrays of the whole, which are cut or not", function()
    local function sums(d)
      local list = job_of({ 3 }, { name = "sums" .. (d and "2" or ""), inputs = {
          { "x", tp.ListNumpy.Placeholder { 3 } },
          { "y", tp.Numpy.Placeholder({ 4, 2 }, { distribute = d }) },
        }, body = function(x, y) return x + flow.math.reduce_sum(y) end })(
        { { 1 }, { 2, 3 } }, { { 1, 1 }, { 1, 1 }, { 2, 2 }, { 2, 2 } })
      return { list[1]:totable(), list[2]:totable() }
    end
    assert.same({ { 5 }, { 10, 11 } }, sums())
    assert.same({ { 13 }, { 14, 15 } }, sums(flow.distribute.broadcast()))
  end)

  it("keep moving statistics as the mean over devices", function()
    local x = { filled(2, 3), filled(5, 3) }
    job_of({ 5, 3 }, { type = "train", body = function(a)
      local y = flow.layers.batch_normalization(a, { momentum = 0.5, name = "bn" })
      flow.optimizer.SGD(0.1):minimize(y)
      return y
    end })(x)
    check_close(flow.get_all_variables()["bn-moving_mean"], (x[1]:mean(0) + x[2]:mean(0)) / 4)
  end)

  it("have variables assigned the mean over devices, once", function()
    job_of({ 3, 2 }, { body = function(x)
      local v = flow.get_variable("v", { shape = { 2 }, initializer = flow.zeros_initializer() })
      flow.assign(v, flow.math.reduce_sum(x, 0) + v)
      return x
    end })({ nd.ones { 1, 2 }, nd.ones { 3, 2 } })
    assert.same({ 2, 2 }, flow.get_all_variables().v:totable())
  end)

  it("draw other random bits on each device, and show watched values as lists", function()
    local seen
    job_of({ 300 }, { body = function(x)
      local y = flow.nn.dropout(x, 0.5, { training = true, name = "drop" })
      flow.watch(y, function(list) seen = list end)
      return y
    end })({ nd.ones { 300 }, nd.ones { 299 } })
    assert.same({ 299 }, seen[2].shape)
    assert.is_false(seen[1]:slice(1, 299):eq(seen[2]):min() == 1)
  end)

  it("show each device's gradient of its own loss to watchers", function()
    local seen
    job_of({ 3, 2 }, { type = "train", body = function(x)
      local y = flow.layers.dense(x, 2)
      flow.watch_diff(y, function(list) seen = list end)
      flow.optimizer.SGD(0.1):minimize(y)
      return y
    end })({ nd.ones { 1, 2 }, nd.ones { 2, 2 } })
    check_close(seen[1], nd.full({ 1, 2 }, 0.5))
    check_close(seen[2], nd.full({ 2, 2 }, 0.25))
  end)

  it("serve models, callbacks and jobs that say nothing of results", function()
    local net = flow.model("net", function(x) return network(x) end)
    local seen
    local train = job_of({ 3, 4, 4 }, { type = "train", returns = tp.Callback(tp.ListNumpy),
      body = function(x)
        local loss = flow.math.square(net(x) + net(x))
        flow.optimizer.SGD(0.1, { variables = net }):minimize(loss)
        return loss
      end })
    train({ filled(1, 4, 4), filled(3, 2, 4) })(function(list) seen = list end)
    flow.sync()
    assert.same({ 3, 3 }, seen[2].shape)
    local old = flow.global_function { name = "old", body = function(x) return { y = x } end,
      inputs = { { "x", tp.ListListNumpy.Placeholder { 3 } } } }
    assert.equal(4, old({ { nd.ones { 3 } }, { nd.ones { 2 } * 4 } }):get().y[2]:max())
  end)

  it("have losses that are added as the original does", function()
    local c = config()
    c.train.primary_lr(1)
    c.train.model_update_conf { naive_conf = {} }
    local job = flow.global_function(c, { name = "old", inputs = {
        { "x", tp.ListNumpy.Placeholder { 4, 1 } } },
      body = function(x)
        local w = flow.get_variable("w", { shape = { 1 }, initializer = flow.ones_initializer() })
        flow.losses.add_loss(x * w)
        return x
      end })
    job({ nd.ones { 1, 1 }, nd.ones { 3, 1 } * 2 }):get()
    check_close(flow.get_all_variables().w, nd.full({ 1 }, 1 - 7 / 4))
  end)

  local function fails(text, shape, body, a, b, fields)
    fields = fields or {}
    fields.body = body
    local job = job_of(shape, fields)
    helper.fails(function() job({ a, b or nd.ones { 1, 2 } }) end, text)
    assert.equal(2, #job({ nd.ones { 2, 2 }, nd.ones { 2, 2 } }))
  end

  it("are told where only one device fails, with its name and extents", function()
    fails("(on " .. KIND .. ":1, where x is (1, 2))", { 3, 2 }, function(x)
      return x:reshape { 2, 2 }
    end, nd.ones { 2, 2 })
  end)

  it("are told where they cannot become one array", function()
    fails("cast_to_current_logical_view: blob 'x@1' must be alike on all devices but for its first "
      .. "extent, got (2, 1) on " .. KIND .. ":0 and (1, 2) on " .. KIND .. ":1", { 3, 2 },
      function(x)
        consistent(function() return cast(x) end)
        return x
      end, nd.ones { 2, 1 })
  end)

  it("are told where bodies part", function()
    fails("job: the body must do the same for all devices with arrays of different sizes, got "
      .. "SGD.minimize on " .. KIND .. ":0 and its end on " .. KIND .. ":1", { 3, 2 },
      function(x)
        local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
        if x.shape[1] > 1 then flow.optimizer.SGD(0.1):minimize(x * w) end
        return x
      end, nd.ones { 2, 2 }, nil, { type = "train" })
    fails("must return", { 3, 2 }, function(x)
      if x.shape[1] > 1 then return x end
      return { x, x }
    end, nd.ones { 2, 2 })
  end)

  it("are told what they cannot do", function()
    local c = config()
    c.micro_batches(2)
    local job = job_of({ 4 }, { name = "cut", body = function(x) return x end,
      function_config = c })
    helper.fails(function() job({ nd.ones { 4 }, nd.ones { 2 } }) end,
      "cut: micro_batches must be 1 where devices get arrays of different sizes, got 2")
    job = job_of({ 4 }, { name = "three", body = function(x) return x end })
    helper.fails(function() job({ nd.ones { 4 }, nd.ones { 2 }, nd.ones { 2 } }) end,
      "three: x must be a list of 2 NdArrays, one for each device, got 3 items")
    job = job_of({ 4 }, { name = "drops", body = function(x)
      return x * consistent(function()
        return flow.nn.dropout(flow.get_variable("w", { shape = { 1 },
          initializer = flow.ones_initializer() }), 0.5, { training = true })
      end)
    end })
    helper.fails(function() job({ nd.ones { 4 }, nd.ones { 2 } }) end,
      "dropout: draws the same random bits for all devices")
    job = job_of({ 4 }, { name = "yields", body = function(x)
      coroutine.yield(1)
      return x
    end })
    helper.fails(function() job({ nd.ones { 4 }, nd.ones { 2 } }) end, "a job's body cannot yield")
  end)

  it("name the devices of a placement", function()
    local job = job_of({ 3 }, { body = function(x)
      return flow.scope.placement(KIND, "0:0-1", function()
        return x * flow.get_variable("w", { shape = { 1 }, initializer = flow.ones_initializer() })
      end)
    end })
    local list = job({ nd.ones { 1 }, nd.ones { 3 } })
    assert.same({ 1, 1, 1 }, list[2]:totable())
    assert.truthy(job:plan():find(KIND .. ":1", 1, true))
  end)
end)
