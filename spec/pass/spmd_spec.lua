--- Jobs on several devices give what they give on one: networks that train, batches that do not
-- divide evenly, variables that are split; and plans say how values lie, and why. With
-- JFL_SPEC_DEVICE=gpu the devices are GPUs, emulated or not.
local core = require "jfl.core"
local ffi = require "ffi"
local flow = require "jfl"
local jobs = require "spec.jobs"
local support = require "spec.op.support"

local tp = flow.typing

ffi.cdef "int setenv(const char *, const char *, int); int unsetenv(const char *);"

local ONE = { device = "cpu", kernels = "reference" }
local KIND = os.getenv "JFL_SPEC_DEVICE" or "sim"
local TWO = { device = KIND .. " 0:0-1", tf32 = 0 }
local FOUR = { device = KIND .. " 0:0-3", tf32 = 0 }

local function check_close(got, want, most)
  assert.equal(#want, #got)
  for i, a in ipairs(want) do
    local ok, message = support.close(support.flat(got[i]), support.flat(a), most)
    if not ok then error(("result %d: %s"):format(i, message), 0) end
  end
end

local MOST = { float32 = 1e-5, float64 = 1e-12 }

--- A job in a new session, whose body gets x of that shape.
local function define(settings, shape, body, fields)
  flow.clear_default_session()
  if settings.cpu_devices then core.set("cpu_devices", settings.cpu_devices) end
  for name, value in pairs(settings) do core.set(name, value) end
  flow.random.seed(5)
  local job = { name = "job", returns = tp.Numpy, body = body,
    inputs = { { "x", tp.Numpy.Placeholder(shape, { dtype = fields and fields.dtype }) } } }
  for name, value in pairs(fields or {}) do
    if name ~= "dtype" then job[name] = value end
  end
  return flow.global_function(job)
end

--- Some results of a job, then all variables in the order of their names.
local function outcome(job, shape, dtype, calls)
  local results, x = {}, support.filled(dtype or "float32", shape, -1, 1)
  for i = 1, calls or 1 do results[i] = job(x) end
  local names = core.variables()
  table.sort(names)
  for _, name in ipairs(names) do results[#results + 1] = core.variable_get(name) end
  return results
end

--- Fails unless three steps on some devices are those on one.
local function check_steps(settings, shape, body, dtype)
  local fields = { type = "train", dtype = dtype }
  local want = outcome(define(ONE, shape, body, fields), shape, dtype, 3)
  local job = define(settings, shape, body, fields)
  check_close(outcome(job, shape, dtype, 3), want, MOST[dtype])
  return job:plan()
end

--- A network of two layers, minimized as said.
local function trained(minimize, options)
  return function(x)
    x = flow.layers.dense(x, 8, { activation = flow.math.tanh, name = "first",
      kernel_regularizer = options and options.regularizer })
    local loss = flow.math.square(flow.layers.dense(x, 4, { name = "second" }))
    minimize(loss)
    return loss
  end
end

local function momentum(loss)
  flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
end

describe("a job on several devices", function()
  teardown(flow.clear_default_session)

  for name, body in pairs(jobs.networks) do
    it("trains as on one device: " .. name, function()
      for way, minimize in pairs(jobs.optimizers) do
        local dtype = way == "momentum" and "float32" or "float64"
        local want = jobs.train(body, dtype, minimize, ONE)
        for _, settings in ipairs { TWO, way == "momentum" and FOUR or nil } do
          check_close(jobs.train(body, dtype, minimize, settings), want, MOST[dtype])
        end
      end
    end)
  end

  it("trains as on one device where the batch does not divide evenly", function()
    for _, dtype in ipairs { "float32", "float64" } do
      check_steps(TWO, { 7, 6 }, trained(momentum), dtype)
      check_steps(FOUR, { 7, 6 }, trained(momentum), dtype)
    end
  end)

  it("trains as on one device where the batch is smaller than the group", function()
    check_steps(FOUR, { 3, 6 }, trained(momentum), "float64")
    check_steps(TWO, { 1, 6 }, trained(momentum), "float64")
  end)

  it("trains as on one device with regularizers, clipping, sums of steps and loss scales",
    function()
      local function by(options)
        return function(loss)
          flow.optimizer.Adam(0.01, options):minimize(loss)
        end
      end
      local clipping = flow.optimizer.grad_clipping
      for _, minimize in ipairs {
        by { grad_clipping = clipping.by_global_norm(0.1) },
        by { loss_scale_factor = 128 },
        by { loss_scale_policy = flow.optimizer.loss_scale.dynamic_loss_scale() },
      } do
        local options = { regularizer = flow.regularizers.l2(0.01) }
        check_steps(TWO, { 6, 5 }, trained(minimize, options), "float64")
      end
    end)

  it("draws the random numbers of one device", function()
    local function body(x) return flow.nn.dropout(x, 0.5) end
    for _, shape in ipairs { { 6, 5 }, { 7, 3 } } do
      local want = outcome(define(ONE, shape, body), shape, nil, 2)
      check_close(outcome(define(FOUR, shape, body), shape, nil, 2), want, 0)
    end
  end)

  it("gives on shares of the processor what it gives on one device", function()
    for count, devices in pairs { [2] = "core 0:0-1", [3] = "core 0:0-2" } do
      local settings = { cpu_devices = count, device = devices }
      check_steps(settings, { 7, 6 }, trained(momentum), "float32")
      check_steps(settings, { 7, 6 }, trained(momentum), "float64")
    end
  end)

  it("gives the same with every value on every device", function()
    ffi.C.setenv("JFL_SIGNATURE", "broadcast", 1)
    local ok, message = pcall(check_steps, TWO, { 6, 5 }, trained(momentum), "float64")
    ffi.C.unsetenv("JFL_SIGNATURE")
    assert(ok, message)
    assert.not_matches("split", message)
  end)
end)

--- The losses of the last of three steps on lists of arrays, then all variables.
local function mirrored(settings, lists, body, set)
  flow.clear_default_session()
  for name, value in pairs(settings) do core.set(name, value) end
  flow.random.seed(5)
  local config = flow.function_config()
  config.default_data_type("float64")
  config.default_logical_view(flow.scope.mirrored_view())
  if set then set(config) end
  local job = flow.global_function {
    name = "job", type = "train", returns = tp.ListNumpy, function_config = config, body = body,
    inputs = { { "x", tp.ListNumpy.Placeholder(lists[1].shape, { dtype = flow.float64 }) } },
  }
  local results = {}
  for _ = 1, 3 do results = job(lists) end
  local names = core.variables()
  table.sort(names)
  for _, name in ipairs(names) do results[#results + 1] = core.variable_get(name) end
  return results
end

describe("a mirrored job", function()
  teardown(flow.clear_default_session)

  it("trains as one device does on the arrays of all", function()
    local x = support.filled("float64", { 6, 5 }, -1, 1)
    local function rows(first)
      return core.op("slice")(x, { begin = { first, 0 }, size = { 3, 5 } })
    end
    local fields = { type = "train", dtype = "float64" }
    local one = define(ONE, { 6, 5 }, trained(momentum), fields)
    local want = outcome(one, { 6, 5 }, "float64", 3)
    local got = mirrored(TWO, { rows(0), rows(3) }, trained(momentum))
    local losses = core.op("concat")({ got[1], got[2] }, { axis = 0 })
    check_close({ losses, unpack(got, 3) }, { unpack(want, 3) }, 1e-12)
    local parts = mirrored(TWO, { rows(0), rows(3) }, trained(momentum), function(config)
      config.optimizer_placement_optimization_mode("distributed_split")
      config.optimizer_placement_optimization_threshold(1)
    end)
    check_close(parts, got, 1e-12)
  end)

  it("draws other random numbers on each device, and the same in each session", function()
    local function body(x)
      local loss = flow.nn.dropout(flow.layers.dense(x, 8), 0.5)
      momentum(loss)
      return loss
    end
    local x = support.filled("float64", { 3, 5 }, -1, 1)
    local first, again = mirrored(TWO, { x, x }, body), mirrored(TWO, { x, x }, body)
    check_close(again, first, 0)
    assert.falsy((support.close(support.flat(first[1]), support.flat(first[2]), 1e-3)))
  end)
end)

--- A product with a variable that lies as said.
local function product(distribute, transposed)
  return function(x)
    local w = flow.get_variable("w", { shape = { 6, 4 }, dtype = x.dtype,
      initializer = flow.random_normal_initializer(), distribute = distribute })
    if transposed then w = flow.transpose(w, { perm = { 0, 1 } }) end
    local loss = flow.math.square(flow.matmul(x, w))
    momentum(loss)
    return loss
  end
end

describe("a variable that is split over devices", function()
  teardown(flow.clear_default_session)

  it("is trained as on one device, along any axis, with its slots", function()
    for axis = 0, 1 do
      for _, settings in ipairs { TWO, FOUR } do
        check_steps(settings, { 5, 6 }, product(flow.distribute.split(axis)), "float64")
      end
    end
  end)

  it("must lie broadcast for an optimizer that reads its norm", function()
    local function body(x)
      local loss = flow.matmul(x, flow.get_variable("w", { shape = { 6, 4 },
        initializer = flow.ones_initializer(), distribute = flow.distribute.split(0) }))
      flow.optimizer.LAMB(0.1):minimize(loss)
      return loss
    end
    local job = define(TWO, { 5, 6 }, body, { type = "train" })
    local ok, message = pcall(job, support.filled("float32", { 5, 6 }, -1, 1))
    assert.falsy(ok)
    assert.matches("'w' is split over " .. KIND .. " 0:0%-1, but what is read to update it, such "
      .. "as its norm, must be known of the whole; let it lie broadcast", message)
  end)

  it("is read as it lies by jobs that say otherwise, or are elsewhere", function()
    local x = support.filled("float32", { 5, 6 }, -1, 1)
    local function train(settings)
      local job = define(settings, { 5, 6 }, product(flow.distribute.split(0)), { type = "train" })
      job(x)
      return job
    end
    local function ask(distribute)
      return flow.global_function { name = "ask", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder { 5, 6 } } },
        body = function(y)
          return flow.matmul(y, flow.get_variable("w", { shape = { 6, 4 }, dtype = "float32",
            initializer = flow.random_normal_initializer(), distribute = distribute }))
        end }
    end
    train(ONE)
    local want = ask()(x)
    for _, device in ipairs { TWO.device, FOUR.device, "cpu:0" } do
      for _, distribute in ipairs { flow.distribute.split(1), flow.distribute.broadcast() } do
        train(TWO)
        core.set("device", device)
        check_close({ ask(distribute)(x) }, { want }, 1e-5)
      end
    end
  end)

  it("must have an element along the axis for each device", function()
    local function body(x)
      return flow.matmul(x, flow.get_variable("w", { shape = { 6, 3 },
        initializer = flow.zeros_initializer(), distribute = flow.distribute.split(1) }))
    end
    local x = support.filled("float32", { 5, 6 }, -1, 1)
    local ok, message = pcall(define(FOUR, { 5, 6 }, body), x)
    assert.falsy(ok)
    assert.matches("axis 1 of 'w' must have an element for each of the 4 devices of "
      .. KIND .. " 0:0%-3, got 3", message)
  end)
end)

describe("the plan of a job on several devices", function()
  teardown(flow.clear_default_session)

  it("says how values lie and why, and what is converted", function()
    local job = define(TWO, { 6, 5 }, trained(momentum), { type = "train" })
    job(support.filled("float32", { 6, 5 }, -1, 1))
    local text = job:plan()
    assert.matches("cpu:0%s+slice.*'x': broadcast %-> split%(0%), 120 bytes", text)
    assert.matches("%(split%(0%), split%(0%)%) %-> partial: inputs lie so", text)
    assert.matches("partial %-> broadcast, %d+ bytes", text)
  end)

  it("sums gradients as soon as they are there", function()
    local job = define(TWO, { 6, 5 }, trained(momentum), { type = "train" })
    job(support.filled("float32", { 6, 5 }, -1, 1))
    local text = job:plan()
    local sum = text:find("partial -> broadcast", 1, true)
    local last = text:find("-> partial", 1, true)
    for at in text:gmatch "()%-> partial" do last = at end
    assert(sum < last, "all sums come behind the backward pass")
  end)
end)

describe("parallel_cast", function()
  teardown(flow.clear_default_session)

  it("changes how a value lies, and nothing else", function()
    for _, way in ipairs { "broadcast", "split(1)", "split(0)", "auto" } do
      local function body(x)
        return flow.math.exp(core.op("parallel_cast")(x, { distribute = way }))
      end
      local want = outcome(define(ONE, { 5, 6 }, body), { 5, 6 })
      local job = define(FOUR, { 5, 6 }, body)
      check_close(outcome(job, { 5, 6 }), want, 1e-6)
      if way ~= "auto" then
        assert.truthy(job:plan():find(way .. " -> " .. way .. ": inputs lie so", 1, true))
      end
    end
  end)

  it("splits nothing on one device beside a group", function()
    local function body(x)
      local y = flow.scope.placement(KIND, "0:0", function()
        return core.op("parallel_cast")(x, { distribute = "split(0)" }) * 2
      end)
      return flow.math.exp(y)
    end
    local function plain(x) return flow.math.exp(x * 2) end
    local want = outcome(define(ONE, { 5, 6 }, plain), { 5, 6 })
    check_close(outcome(define(FOUR, { 5, 6 }, body), { 5, 6 }), want, 1e-6)
  end)

  it("cannot split an axis that is shorter than the group", function()
    local function body(x) return core.op("parallel_cast")(x, { distribute = "split(1)" }) * 2 end
    local x = support.filled("float32", { 5, 3 }, -1, 1)
    local ok, message = pcall(define(FOUR, { 5, 3 }, body), x)
    assert.falsy(ok)
    assert.matches("'x': axis 1 must have an element for each of the 4 devices of " .. KIND
      .. " 0:0%-3, got 3", message)
  end)
end)
