-- Variables that are a part of the mapped file from which they were loaded.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing
local ROWS = 256                 -- of 256 float32 each: what is large enough to be mapped

local directory

local function path_of(name) return directory .. "/" .. name end

local function file_of(name) return path_of(name) .. "/model.safetensors" end

local read, overwrite = helper.read, helper.write          -- into the file that is there

-- Whether a file of that name is mapped.
local function is_mapped(path)
  return read("/proc/self/maps"):find(path:match("[^/]+/[^/]+$"), 1, true) ~= nil
end

local function weight()
  return flow.get_variable("w", { shape = { ROWS, 256 },
    initializer = flow.random_uniform_initializer(-1, 1) })
end

local function define()
  return helper.predict("sums", { 2, 256 }, function(x)
    return flow.matmul(x, weight(), { transpose_b = true })
  end)
end

local function define_training()
  return flow.global_function { name = "training", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder { 2, 256 } } },
    body = function(x)
      local loss = flow.math.reduce_mean(flow.matmul(x, weight(), { transpose_b = true }))
      flow.optimizer.SGD(100, { momentum = 0 }):minimize(loss)
      return loss
    end }
end

local x = {}
for i = 1, 2 do
  x[i] = {}
  for k = 1, 256 do x[i][k] = (i * 7 + k * 3) % 11 / 11 - 0.5 end
end

local function results(job) return job(x):totable() end

-- A job whose weight is a part of a mapped file, what it gives, and where the file is.
local function loaded(name)
  local job = define()
  local before = results(job)
  flow.checkpoint.save(path_of(name))
  flow.clear_default_session()
  job = define()
  flow.checkpoint.load(path_of(name))
  assert.is_true(is_mapped(file_of(name)))
  return job, before, file_of(name)
end

-- #cpu: other devices have copies.
describe("variables in mapped files #cpu", function()
  before_each(function()
    flow.clear_default_session()
    directory = os.tmpname()
    os.remove(directory)
  end)

  after_each(function()
    flow.clear_default_session()
    os.execute(("rm -rf '%s'"):format(directory))
  end)

  it("are what the file has, and no more mapped once they are gone", function()
    local job, before, file = loaded "model"
    assert.same(before, results(job))
    assert.same(before, results(job))
    flow.clear_default_session()
    assert.is_false(is_mapped(file))
  end)

  it("leave memory once what a plan derives from them is there", function()
    local function job()
      return helper.predict("sums", { 2, 256 }, function(rows)
        return flow.matmul(rows, flow.math.exp(weight()), { transpose_b = true })
      end)
    end
    local before = results(job())
    local w = helper.list(flow.get_all_variables().w)
    flow.checkpoint.save(path_of "model")
    flow.clear_default_session()
    local derives = job()
    flow.checkpoint.load(path_of "model")
    assert.same(before, results(derives))
    local kib = read("/proc/self/smaps"):match("model/model%.safetensors.-Rss:%s*(%d+)")
    assert.is_true(tonumber(kib) <= 16, kib)
    assert.same(before, results(derives))
    assert.same(w, helper.list(flow.get_all_variables().w))
  end)

  it("outlive the file's name", function()
    local job, before, file = loaded "model"
    os.remove(file)
    assert.same(before, results(job))
  end)

  it("are saved over the file that they are a part of", function()
    local job, before, file = loaded "model"
    flow.checkpoint.save(path_of "model", { overwrite = true })
    assert.same(before, results(job))
    flow.checkpoint.load(path_of "model")
    assert.is_true(is_mapped(file))
    assert.same(before, results(job))
  end)

  it("fail runs and readings once their file was cut, until they are loaded again", function()
    local job, before, file = loaded "model"
    local bytes = read(file)
    results(job)
    overwrite(file, bytes:sub(1, 1000))
    helper.fails(function() job(x) end, "variable 'w': the file from which it was loaded has "
      .. "changed since, or cannot be read; load it again")
    helper.fails(function() flow.get_all_variables() end, "variable 'w': the file")
    helper.fails(function() flow.checkpoint.save(path_of "other") end, "variable 'w': the file")
    overwrite(file, bytes)
    helper.fails(function() job(x) end, "variable 'w': the file")
    flow.checkpoint.load(path_of "model")
    assert.same(before, results(job))
  end)

  -- A plan packs a 32nd of its weights in each run after the first.
  it("fail the next run where their file is changed while weights are packed", function()
    local function deep()
      return helper.predict("deep", { 2, 256 }, function(rows)
        for i = 1, 4 do
          rows = flow.math.tanh(flow.matmul(rows, flow.get_variable("w" .. i, {
            shape = { 256, 256 }, initializer = flow.random_uniform_initializer(-0.1, 0.1) })))
        end
        return rows
      end)
    end
    local before = results(deep())
    flow.checkpoint.save(path_of "deep")
    local file = file_of "deep"
    local bytes = read(file)
    local noise = ("\127"):rep(#bytes)
    for runs = 0, 40, 4 do
      for _, changed in ipairs { bytes:sub(1, #bytes / 2), noise, "" } do
        flow.clear_default_session()
        local job = deep()
        overwrite(file, bytes)
        flow.checkpoint.load(path_of "deep")
        for _ = 1, runs do assert.same(before, results(job)) end
        overwrite(file, changed)
        for _ = 1, 3 do helper.fails(function() job(x) end, "variable 'w1': the file from") end
        overwrite(file, bytes)
        flow.checkpoint.load(path_of "deep")
        for _ = 1, 2 do assert.same(before, results(job)) end
      end
    end
  end)

  -- The system would end the process.
  it("fail runs and readings also on a thread that blocks SIGBUS", function()
    local ffi = require "ffi"
    ffi.cdef "int pthread_sigmask(int how, const void *set, void *old);"
    local SIG_BLOCK, SIG_SETMASK, SIGBUS = 0, 2, 7
    local job, _, file = loaded "blocked"
    local set, old = ffi.new("uint64_t[16]"), ffi.new("uint64_t[16]")
    set[0] = 2 ^ (SIGBUS - 1)
    ffi.C.pthread_sigmask(SIG_BLOCK, set, old)
    overwrite(file, read(file):sub(1, 1000))
    local ran, why = pcall(job, x)
    local got, unread = pcall(flow.get_all_variables)
    ffi.C.pthread_sigmask(SIG_SETMASK, old, set)
    assert.is_false(ran or got)
    assert.equal(2 ^ (SIGBUS - 1), tonumber(set[0]))
    for _, text in ipairs { why, unread } do
      assert.truthy(tostring(text):find("variable 'w': the file from which", 1, true), text)
    end
  end)

  it("are their own once they were set", function()
    local job, before, file = loaded "model"
    local value = flow.get_all_variables().w
    overwrite(file, "cut")
    flow.load_variables { w = value }
    assert.same(before, results(job))
    assert.same(before, results(job))
  end)

  it("get memory of their own where a job trains them, and keep it when they are loaded", function()
    local job, before, file = loaded "model"
    local train = define_training()
    train(x)
    assert.is_false(is_mapped(file))
    overwrite(file, read(file))
    assert.not_same(before, results(job))
    flow.checkpoint.load(path_of "model")
    assert.is_false(is_mapped(file))
    assert.same(before, results(job))
  end)

  it("are none of a box's", function()
    local _, _, file = loaded "model"
    flow.clear_default_session()
    local box = flow.sandbox { read = directory }
    box:run([[
      local flow = require "jfl"
      flow.global_function { name = "sums", inputs = { flow.float32 { 2, 256 } },
        body = function(x)
          return flow.matmul(x, flow.get_variable("w", { shape = { 256, 256 },
              initializer = flow.zeros_initializer() }),
            { transpose_b = true })
        end }(flow.ndarray.zeros { 2, 256 })
      flow.checkpoint.load("model")
    ]])
    assert.is_false(is_mapped(file))
    box:close()
  end)
end)
