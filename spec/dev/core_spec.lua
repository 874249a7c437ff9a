--- Shares of the processor's cores as devices: what jobs compute on them is what one device
-- computes, whoever calls, and values are not copied from one to another.
local core = require "jfl.core"
local flow = require "jfl"
local jobs = require "spec.jobs"

local tp = flow.typing

local function session(devices)
  flow.clear_default_session()
  flow.config.cpu_device_num(devices)
  core.set("inline_limit", 0)
  flow.random.seed(5)
end

local function labels(i)
  return { 0, 1, 2, 1, 0, 1, i % 7 == 0 and 5 or 1, 2 }         -- every seventh is wrong
end

--- Trains by calls that wait and calls that do not; gives the losses of these, then of those, and
-- how many calls failed.
local function train(devices)
  session(devices)
  local x = flow.ndarray.ones({ 8, 9 })
  local late = jobs.trainer("late", 8, tp.Callback(tp.Numpy))
  local now = jobs.trainer("now", 8, tp.Numpy)
  local losses, waited, failed = {}, {}, 0
  local function note(list)
    return function(loss)
      for i = 1, 8 do list[#list + 1] = loss[i] end
    end
  end
  for i = 1, 60 do
    late(x, labels(i))(note(losses), function() failed = failed + 1 end)
    if i % 10 == 0 then note(waited)(now(x, labels(1))) end
    if i == 20 or i == 40 then
      flow.sync()
      flow.config.background(i == 20)
    end
  end
  flow.sync()
  for _, loss in ipairs(waited) do losses[#losses + 1] = loss end
  return losses, failed
end

describe("devices in the processor's cores #cpu", function()
  before_each(flow.clear_default_session)
  teardown(flow.clear_default_session)

  it("train as one device does, in calls of any kind", function()
    local want, wanted = train(1)
    assert.equal(8, wanted)
    for devices = 2, 4 do
      local got, failed = train(devices)
      assert.equal(wanted, failed)
      assert.equal(#want, #got)
      for i, loss in ipairs(want) do
        assert(math.abs(got[i] - loss) <= 1e-5 * math.max(1, loss),
          ("%d devices, number %d: got %.9g, want %.9g"):format(devices, i, got[i], loss))
      end
    end
  end)

  it("read each other's memory", function()
    session(2)
    local job = jobs.trainer("train", 8, tp.Numpy)
    job(flow.ndarray.ones({ 8, 9 }), labels(1))
    local plan = job:plan()
    assert.truthy(plan:find("core:0, core:1: ", 1, true), plan)
    assert.is_nil(plan:find(" copy ", 1, true), plan)
  end)

  it("copy what changes after it was read", function()
    session(2)
    local function on(number, fn) return flow.scope.placement("cpu", "0:" .. number, fn) end
    local job = flow.global_function {
      name = "count", type = "train", returns = tp.Tuple(tp.Numpy, tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 4 }) } },
      body = function(x)
        local w = on(0, function()
          return flow.get_variable("w", { shape = { 4 }, initializer = flow.zeros_initializer() })
        end)
        local loss = on(1, function() return (w - x) * (w - x) end)
        flow.optimizer.SGD(0.25):minimize(loss)
        return loss, w
      end,
    }
    local loss, w = job({ 1, 2, 3, 4 })
    assert.equal("[ 1.  4.  9. 16.] [0. 0. 0. 0.]", tostring(loss) .. " " .. tostring(w))
    loss, w = job({ 1, 2, 3, 4 })
    assert.equal("[ 0.765625  3.0625    6.890625 12.25    ] [0.125 0.25  0.375 0.5  ]",
      tostring(loss) .. " " .. tostring(w))
  end)

  it("keep what depends on variables alone", function()
    session(2)
    local job = flow.global_function {
      name = "predict", returns = tp.Numpy, inputs = { { "x", tp.Numpy.Placeholder({ 4, 2 }) } },
      body = function(x)
        local w = flow.get_variable("w", { shape = { 2 },
          initializer = flow.constant_initializer(2) })
        return x * flow.math.exp(w * w)
      end,
    }
    local x = { { 1, 0 }, { 0, 1 }, { 1, 1 }, { 2, 2 } }
    local want = math.exp(4)
    assert(math.abs(job(x)[4][1] - 2 * want) < 1e-3)
    flow.load_variables({ w = { 1, 0 } })
    local got = job(x)
    assert(math.abs(got[4][1] - 2 * math.exp(1)) < 1e-5)
    assert.equal(2, got[4][2])
  end)
end)
