--- Devices that work behind the caller's back give what the CPU's plain kernels give: every op at
-- once and in jobs, networks that train, also split over several devices, checkpoints and errors.
-- The simulated device gives the same bits. With JFL_SPEC_DEVICE=gpu the device is a GPU, emulated
-- or not, whose formulas are compiled by another compiler and may differ in the last bits.
local core = require "jfl.core"
local ffi = require "ffi"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local jobs = require "spec.jobs"
local support = require "spec.op.support"

local tp = flow.typing

ffi.cdef "int setenv(const char *, const char *, int); int unsetenv(const char *);"
-- Products read all bits of what they multiply, as the CPU's do.
ffi.C.setenv("JFL_TF32", "0", 1)

local CPU = { device = "cpu", kernels = "reference" }
local KIND = os.getenv "JFL_SPEC_DEVICE" or "sim"
-- Devices in the processor's cores (JFL_SPEC_DEVICE=core, of which JFL_CPU_DEVICES=4 makes enough)
-- have the CPU's fast kernels besides.
local THERE = { device = KIND, tf32 = 0, kernels = KIND == "core" and "reference" or nil }
local IS_EXACT = KIND == "sim" or KIND == "core"
local MOST_ERROR = IS_EXACT and 0 or 1e-5

--- The names of some of those devices.
local function those(...)
  local names = { ... }
  for i, number in ipairs(names) do names[i] = KIND .. ":" .. number end
  return names
end

local function apply(settings)
  flow.clear_default_session()
  for name, value in pairs(settings) do core.set(name, value) end
end

--- Fails where two lists of arrays differ.
local function check_same(got, want)
  assert(#got == #want, "another number of results")
  for i, a in ipairs(want) do
    if core.bytes(got[i]) ~= core.bytes(a) then
      local ok, message = support.close(support.flat(got[i]), support.flat(a), MOST_ERROR)
      if not ok or MOST_ERROR == 0 then
        message = ok and "the sign of a zero or a nan differs" or message
        error(("result %d: %s"):format(i, message), 0)
      end
    end
  end
end

--- Fails unless float32 results are about as near to those of float64 as plain kernels' are: some
-- jobs make much of how sums were rounded.
local function check_as_near(got, plain, exact)
  for i, a in ipairs(exact) do
    local g, p, e, most = support.flat(got[i]), support.flat(plain[i]), support.flat(a), 0
    for j = 1, #e do most = math.max(most, math.abs(p[j] - e[j])) end
    for j = 1, #e do
      local near = math.abs(g[j] - e[j]) <= 4 * most + MOST_ERROR * math.abs(e[j])
      if not near and e[j] - e[j] == 0 then
        error(("result %d: number %d: got %.9g, plain kernels %.9g, in float64 %.9g"):format(i, j,
          g[j], p[j], e[j]), 0)
      end
    end
  end
end

--- Results of a call at once, then its inputs, which it may update.
local function at_once(op, case, x, settings)
  apply(settings)
  core.set("seed", 7)
  local inputs = {}
  for i, a in ipairs(x) do inputs[i] = core.copy(a) end
  local results = { support.call(op, case, inputs) }
  for _, a in ipairs(inputs) do results[#results + 1] = a end
  return results
end

local function in_job(op, case, form, x, settings)
  return jobs.outcome(op, (jobs.compile(op, case, form, x, settings)), x)
end

--- Fails where a job's results differ from those of plain kernels.
local function check_job(op, case, form, dtype, x, got, settings)
  local plain = in_job(op, case, form, x, settings)
  local ok, message = pcall(check_same, got, plain)
  if ok then return end
  if IS_EXACT or dtype ~= "float32" or #plain ~= #got then error(message, 0) end
  local wide = {}
  for i, a in ipairs(x) do
    wide[i] = a.dtype == "float32" and core.op("cast")(a, { dtype = "float64" }) or a
  end
  check_as_near(got, plain, in_job(op, case, form, wide, settings))
end

--- What fn(...) gives where the op of a case is on a device of its own.
local function elsewhere(device, fn, ...)
  local call = support.call
  support.call = function(...)
    core.place(device)
    local results = { call(...) }
    core.place(nil)
    return unpack(results)
  end
  local ok, result = pcall(fn, ...)
  support.call = call
  return ok and result or error(result, 0)
end

-- Large cases are for fast kernels. Where plain ones run on both sides they show what a device does
-- with memory of that size, for which one job is enough.
local function is_tried(form, x)
  return form == "alone" or not IS_EXACT or not support.is_large(x)
end

--- Calls fn(case, dtype, x) for every case of an op, x being its inputs.
local function each_case(op, fn)
  support.each_case(op, support.dtypes_of, function(case, dtype)
    apply(CPU)
    fn(case, dtype, support.inputs(case, dtype))
  end)
end

describe("a device that works late", function()
  teardown(flow.clear_default_session)

  local ops, names = core.ops(), {}
  for name in pairs(ops) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local op = ops[name]

    it("runs " .. name .. " at once as plain kernels do", function()
      each_case(op, function(case, _, x)
        check_same(at_once(op, case, x, THERE), at_once(op, case, x, CPU))
      end)
    end)

    it("runs jobs with " .. name .. " as plain kernels do", function()
      each_case(op, function(case, dtype, x)
        for form in pairs(jobs.forms) do
          local has_form = form == "alone" or dtype:find "float" or case.only
          if has_form and is_tried(form, x) then
            local ok, message = pcall(function()
              check_job(op, case, form, dtype, x, in_job(op, case, form, x, THERE), CPU)
            end)
            if not ok then error(form .. ": " .. tostring(message), 0) end
          end
        end
      end)
    end)

    -- How ops are put together, which decides the order of sums, depends on where they are.
    it("runs " .. name .. " between ops on another device as plain kernels do", function()
      local want = { device = "cpu", kernels = "reference", passes = "-fuse" }
      local got = { device = KIND, passes = "-fuse", kernels = THERE.kernels }
      each_case(op, function(case, dtype, x)
        if not (dtype:find "float" or case.only) or not is_tried("among others", x) then return end
        local results = elsewhere(KIND .. ":1", in_job, op, case, "among others", x, got)
        check_job(op, case, "among others", dtype, x, results, want)
      end)
    end)
  end

  for name, body in pairs(jobs.networks) do
    for way, minimize in pairs(jobs.optimizers) do
      it(("trains %s as plain kernels do: %s"):format(name, way), function()
        for _, dtype in ipairs { "float32", "float64" } do
          local want = jobs.train(body, dtype, minimize, CPU)
          check_same(jobs.train(body, dtype, minimize, THERE), want)
        end
      end)
    end
  end
end)

--- ---- one job on several devices ----

--- Runs each function that it is given on the next one of the devices.
local function by_turns(devices)
  local n = 0
  return function(fn)
    n = n % #devices + 1
    local kind, index = devices[n]:match "^(%a+):?(%d*)$"
    return flow.scope.placement(kind, "0:" .. (index == "" and 0 or index), fn)
  end
end

--- Each takes what runs a function somewhere, images and their number of classes.
local split = {}

function split.mlp(on, x)
  x = flow.reshape(x, { x.shape[1], -1 })
  for i = 1, 4 do
    x = on(function()
      return flow.layers.dense(x, 16, { activation = flow.nn.relu, name = "layer" .. i })
    end)
  end
  return on(function() return flow.layers.dense(x, 10) end)
end

function split.residual(on, x)
  local function conv(y, name)
    return on(function()
      return flow.layers.conv2d(y, 4, 3, { padding = "SAME", activation = flow.nn.relu,
        name = name })
    end)
  end
  x = conv(x, "first")
  local y = conv(conv(x, "second"), "third")
  local sum = on(function() return x + y end)
  local pooled = on(function() return flow.nn.max_pool2d(sum, 2, 2, "SAME") end)
  local some = on(function() return flow.nn.dropout(pooled, 0.4) end)
  return on(function() return flow.layers.dense(flow.flatten(some, 1), 10) end)
end

-- One variable, which every device reads.
function split.shared(on, x)
  x = flow.reshape(x, { x.shape[1], -1 })
  local w = on(function()
    return flow.get_variable("w", { shape = { 144, 144 }, dtype = x.dtype,
      initializer = flow.random_normal_initializer(0, 0.05) })
  end)
  for _ = 1, 3 do x = on(function() return flow.math.tanh(flow.matmul(x, w)) end) end
  return on(function() return flow.layers.dense(x, 10) end)
end

--- What jobs.train gives for a network whose layers are on the devices by turns.
local function train_split(body, dtype, minimize, settings, devices)
  local function turned(x) return body(by_turns(devices), x) end
  return jobs.train(turned, dtype, minimize, settings)
end

describe("a job on several devices", function()
  teardown(flow.clear_default_session)

  for name, body in pairs(split) do
    for way, minimize in pairs(jobs.optimizers) do
      it(("trains %s as the CPU does: %s"):format(name, way), function()
        local there = { device = KIND, kernels = "reference", passes = "-fuse" }
        local here = { device = "cpu", kernels = "reference", passes = "-fuse" }
        for _, dtype in ipairs { "float32", "float64" } do
          local function train(settings, devices)
            return train_split(body, dtype, minimize, settings, devices)
          end
          local want = train(here, { "cpu" })
          local got, text = train(there, those(0, 1))
          assert.matches(("on %s:0, %s:1: "):format(KIND, KIND), text)
          check_same(got, want)
          check_same((train(there, { "cpu", unpack(those(2, 3)) })), want)
        end
      end)
    end
  end

  it("gives the same again and again, with the passes that put ops together", function()
    local momentum, devices = jobs.optimizers.momentum, those(0, 1)
    local want = train_split(split.residual, "float32", momentum, THERE, devices)
    for _ = 1, 5 do
      check_same((train_split(split.residual, "float32", momentum, THERE, devices)), want)
    end
  end)
end)

--- ---- what leaves and enters, and errors ----

--- A job that trains w (2) on the loss of a label, from 0 to 2; it gives the loss.
local function classifier(name, returns, on)
  return flow.global_function {
    name = name, type = "train", returns = returns,
    inputs = { { "x", tp.Numpy.Placeholder({ 1, 3 }) },
      { "label", tp.Numpy.Placeholder({ 1 }, { dtype = flow.int32 }) } },
    body = function(x, label)
      local w = on(function()
        return flow.get_variable("w", { shape = { 3 }, initializer = flow.ones_initializer() })
      end)
      local loss = on(function()
        return flow.nn.sparse_softmax_cross_entropy_with_logits(label, x * w)
      end)
      local other = on(function()
        return flow.get_variable("v", { shape = { 1 }, initializer = flow.ones_initializer() }) * 2
      end)
      flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(loss + other)
      return loss
    end,
  }
end

--- What a call with a label that is not there says, at once and later; variables stay as they are.
--- Then the loss of a good call.
local function failures(settings, devices)
  apply(settings)
  local job = classifier("now", tp.Numpy, by_turns(devices))
  local later = classifier("later", tp.Callback(tp.Numpy), by_turns(devices))
  local x = { { 1, 2, 3 } }
  job(x, { 1 })
  local before = { flow.get_all_variables().w, flow.get_all_variables().v }
  local _, sync = pcall(job, x, { 3 })
  check_same({ flow.get_all_variables().w, flow.get_all_variables().v }, before)
  core.set("inline_limit", 0)
  later(x, { 7 })(function() end)
  local _, async = pcall(flow.sync)
  check_same({ flow.get_all_variables().w, flow.get_all_variables().v }, before)
  return (sync:gsub("^[^\n]-:%d+: ", "")), (async:gsub("^[^\n]-:%d+: ", "")), job(x, { 2 })
end

describe("an error in the data of a run on a device that works late", function()
  teardown(flow.clear_default_session)

  for _, devices in ipairs { those(0), those(0, 1), those(0, 1, 2) } do
    it("says what the CPU says and changes no variable, on " .. table.concat(devices, " and "),
      function()
        local sync, async, loss = failures(CPU, { "cpu" })
        local there_sync, there_async, there_loss = failures(THERE, devices)
        assert.matches("label at position 0 must be from 0 to 2, got 3", sync)
        assert.matches("label at position 0 must be from 0 to 2, got 7", async)
        assert.equal(sync, there_sync)
        assert.equal(async, there_async)
        check_same({ there_loss }, { loss })
      end)
  end
end)

--- What a new session on a broken device says of calls until one is well, and that one's loss.
local function calls_on_broken(step, devices)
  ffi.C.setenv("JFL_SIM_FAULT", tostring(step), 1)
  apply({ device = "sim" })
  local said = {}
  local ok, result
  local job = classifier("job", tp.Numpy, by_turns(devices))
  repeat
    ok, result = pcall(job, { { 1, 2, 3 } }, { 1 })
    if not ok then said[#said + 1] = result:gsub("^[^\n]-:%d+: ", "") end
  until ok
  ffi.C.unsetenv("JFL_SIM_FAULT")
  return said, result
end

describe("a simulated device that breaks", function()
  teardown(flow.clear_default_session)

  it("fails the call, which changes no variable, and the next call is as the first", function()
    for _, devices in ipairs { { "sim:0" }, { "sim:0", "sim:1" } } do
      apply(CPU)
      local want = classifier("job", tp.Numpy, by_turns { "cpu" })({ { 1, 2, 3 } }, { 1 })
      for step = 1, 4 do
        local said, loss = calls_on_broken(step, devices)
        assert.truthy(#said >= 1 and #said <= #devices)
        for _, message in ipairs(said) do assert.matches("job: sim:%d is broken", message) end
        check_same({ loss }, { want })
      end
    end
  end)
end)

--- Trains a network for some steps, after it loaded a checkpoint and before it saves one, if those
-- are given; gives all variables.
local function resume(settings, load, save, devices)
  apply(settings)
  flow.random.seed(3)
  local job = classifier("job", tp.Numpy, by_turns(devices))
  if load then flow.train.CheckPoint():load(load) end
  for i = 0, 2 do job({ { 1, 2, 3 } }, { i }) end
  if save then flow.train.CheckPoint():save(save) end
  return { flow.get_all_variables().w, flow.get_all_variables().v }
end

local function bytes_of(path)
  local f = assert(io.open(path, "rb"))
  local text = f:read("*a")
  f:close()
  return text
end

describe("a checkpoint of a device that works late", function()
  local directory
  before_each(function() directory = helper.directory() end)
  after_each(function() helper.remove(directory) end)
  teardown(flow.clear_default_session)

  it("is the CPU's, of the same bits byte for byte, and goes on anywhere", function()
    local there, here = directory .. "/sim", directory .. "/cpu"
    local devices = those(0, 1)
    check_same(resume(THERE, nil, there, devices), resume(CPU, nil, here, { "cpu" }))
    if MOST_ERROR == 0 then
      assert.equal(bytes_of(here .. "/model.safetensors"), bytes_of(there .. "/model.safetensors"))
    end
    check_same(resume(THERE, here, nil, devices), resume(CPU, there, nil, { "cpu" }))
  end)
end)
