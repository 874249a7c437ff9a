-- flow.config.callback_seconds: how long an entry runs callbacks of other calls. Callbacks are
-- counted: no clock is read to decide.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

local DUE = 40
local LEAST = 1e-9       -- seconds: any callback takes longer, so an entry runs one

describe("callback_seconds", function()
  local later, now, old, seen, directory, told

  local function settle()
    local core = require "jfl.core"
    while core.pending() > 0 do core.wait() end
  end

  local function note(value) seen[#seen + 1] = value[1] end

  -- Callbacks of so many calls that are due: all are registered after the last call.
  local function make_due(callback)
    local calls = {}
    for i = 1, DUE do calls[i] = later({ i }) end
    for i = 1, DUE do calls[i](callback or note) end
    settle()
    assert.equal(0, #seen)
  end

  local function make_later_call()
    later({ DUE + 1 })(note)
    settle()
  end

  local function burn(value)
    local stop = os.clock() + 0.002
    repeat until os.clock() >= stop
    note(value)
  end

  before_each(function()
    flow.clear_default_session()
    directory, told, seen = helper.directory(), {}, {}
    flow.config.on_warning(function(text) told[#told + 1] = text end)
    flow.config.max_inflight(2 * DUE)
    later = helper.predict("later", { 1 }, function(x) return x * 2 end,
      { returns = tp.Callback(tp.Numpy) })
    now = helper.train("now")
    now({ 1, 1 })
    old = helper.predict("old", { 1 }, function(x) return x + 1 end)
    old._async, old._gives = true, require "jfl.legacy.future"
    old:compile()
    flow.train.CheckPoint():save(directory .. "/a")
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local function in_order(n)
    assert.equal(n, #seen)
    for i = 1, n do assert.equal(2 * i, seen[i]) end
  end

  -- Each entry that runs callbacks of others on its way.
  local entries = {
    ["a synchronous call"] = function() now({ 1, 1 }) end,
    ["an asynchronous call"] = function() later({ 0 }) end,
    ["a future's get"] = function() assert.equal(3, old({ 2 }):get()[1]) end,
    ["reading variables"] = function() flow.get_all_variables() end,
    ["setting variables"] = function() flow.load_variables { w = { 1, 1 } } end,
    ["saving"] = function() flow.train.CheckPoint():save(directory .. "/b") end,
    ["loading"] = function() flow.train.CheckPoint():load(directory .. "/a") end,
    ["initializing"] = function() flow.train.CheckPoint():init() end,
    ["defining"] = function() helper.predict("now", { 1 }, function(x) return x end)({ 1 }) end,
    ["clearing the session"] = flow.clear_default_session,
  }

  for name, enter in pairs(entries) do
    it("0 keeps callbacks out of " .. name, function()
      flow.config.callback_seconds(0)
      make_due()
      enter()
      assert.equal(0, #seen)
      flow.sync()
      in_order(DUE)
    end)

    it("lets " .. name .. " begin none after that time", function()
      flow.config.callback_seconds(LEAST)
      make_due()
      enter()
      -- a future's call and its get are two entries
      assert.equal(name == "a future's get" and 2 or 1, #seen)
      flow.sync()
      in_order(DUE)
    end)

    it("lets " .. name .. " run all where it is long", function()
      flow.config.callback_seconds(3600)
      make_due()
      enter()
      flow.sync()
      in_order(DUE)
    end)
  end

  it("is without end at first", function()
    assert.equal(math.huge, flow.config.callback_seconds())
    make_due()
    now({ 1, 1 })
    in_order(DUE)
  end)

  it("counts the time that callbacks take", function()
    flow.config.callback_seconds(0.02)
    make_due(burn)
    for _ = 1, 2 do
      local before = #seen
      now({ 1, 1 })
      assert.is_true(#seen > before and #seen <= before + 20, #seen)
    end
    flow.sync()
    in_order(DUE)
  end)

  it("holds for poll, unless that is given another time", function()
    flow.config.callback_seconds(LEAST)
    make_due()
    assert.equal(1, flow.poll())
    assert.equal(1, flow.poll())
    assert.equal(DUE - 2, flow.poll(3600))
    in_order(DUE)
  end)

  it("0 leaves poll as it was", function()
    flow.config.callback_seconds(0)
    make_due()
    assert.equal(1, flow.poll(0))
    assert.is_true(flow.poll(3600) > 0)
    make_later_call()
    assert.equal(1, flow.poll())
    in_order(DUE + 1)
    assert.same({}, told)
  end)

  it("is 0 in the background, unless it is set", function()
    flow.config.background(true)
    assert.equal(0, flow.config.callback_seconds())
    make_due()
    now({ 1, 1 })
    assert.equal(0, #seen)
    flow.sync()
    in_order(DUE)
    flow.config.callback_seconds(LEAST)
    assert.equal(LEAST, flow.config.callback_seconds())
    flow.config.background(false)
    assert.equal(LEAST, flow.config.callback_seconds())
    flow.clear_default_session()
    assert.equal(math.huge, flow.config.callback_seconds())
  end)

  it("is set without waiting for runs", function()
    make_due()
    local slow, tries, pending = helper.slow(), 0
    slow:compile()
    repeat
      for _ = 1, 5 do slow({ 1 }) end
      flow.config.callback_seconds(0)
      pending, tries = require "jfl.core".pending(), tries + 1
      flow.sync()
    until pending > 0 or tries == 50
    assert.is_true(pending > 0)
  end)

  it("lets handlers of a synchronous call wait for those before them", function()
    local shown = {}
    local watched = helper.predict("watched", { 1 }, function(x)
      flow.watch(x, function(value) shown[#shown + 1] = { value[1], #seen } end)
      return x
    end)
    flow.config.callback_seconds(0)
    assert.equal(7, watched({ 7 })[1])
    assert.same({ { 7, 0 } }, shown)
    make_due()
    assert.equal(8, watched({ 8 })[1])
    assert.same({ { 7, 0 } }, shown)
    flow.poll()
    assert.same({ { 7, 0 }, { 8, DUE } }, shown)
    in_order(DUE)
  end)

  it("keeps what fails in callbacks for poll", function()
    flow.config.callback_seconds(LEAST)
    make_due(function(value)
      note(value)
      if value[1] <= 4 then error("boom" .. value[1]) end
    end)
    now({ 1, 1 })
    assert.equal(1, #seen)
    helper.fails(flow.poll, "boom2")
    helper.fails(flow.poll, "boom4")
    flow.sync()
    in_order(DUE)
  end)

  it("tells once of a callback that alone takes longer, with its line", function()
    flow.config.callback_seconds(0.001)
    local function slow(value) burn(value) end
    make_due(slow)
    now({ 1, 1 })
    flow.poll()
    flow.sync()
    in_order(DUE)
    local line = debug.getinfo(slow, "S").linedefined
    assert.equal(1, #told)
    assert.truthy(told[1]:match(("^later: the callback at .*budget_spec%%.lua:%d took [%%d.e+]+ ms"
      .. "; flow%%.config%%.callback_seconds is 1 ms$"):format(line)), told[1])
  end)

  it("is a number of at least 0", function()
    for _, wrong in ipairs { -1, 0 / 0 } do
      helper.fails(function() flow.config.callback_seconds(wrong) end,
        "config.callback_seconds: value must be a number of at least 0 or math.huge, got ")
    end
    helper.fails(function() flow.config.callback_seconds("1") end,
      "config.callback_seconds: value must be a number of at least 0 or math.huge, got string '1'")
  end)
end)

describe("when_full", function()
  before_each(flow.clear_default_session)
  teardown(flow.clear_default_session)

  -- A job of which one call keeps the worker, and as many more as there is room for wait.
  local function fill()
    local slow = helper.slow()
    slow:compile()
    local calls = {}
    repeat calls[#calls + 1] = slow({ 1 }) until calls[#calls].busy or #calls == 50
    return slow, calls
  end

  it("busy makes no call that would wait, and says so", function()
    assert.equal("wait", flow.config.when_full())
    flow.config.when_full("busy")
    local slow, calls = fill()
    local order = {}
    assert.is_true(calls[#calls].busy)
    for i = 1, #calls - 1 do assert.is_false(calls[i].busy) end
    for i, call in ipairs(calls) do
      call(function() order[#order + 1] = i end, function(text) order[#order + 1] = i .. text end)
    end
    flow.sync()
    for i = 1, #calls - 1 do assert.equal(i, order[i]) end
    assert.equal(#calls .. "slow: busy: no further call has room", order[#calls])
    local again
    slow({ 1 })(function() again = true end)
    flow.sync()
    assert.is_true(again)
  end)

  it("busy raises nothing where nobody asks", function()
    flow.config.when_full("busy")
    fill()
    flow.sync()
  end)

  it("wait is what a new session does", function()
    flow.config.when_full("busy")
    flow.clear_default_session()
    assert.equal("wait", flow.config.when_full())
    local _, calls = fill()
    assert.equal(50, #calls)
    assert.is_false(calls[50].busy)
    flow.sync()
  end)

  it("is one of two words", function()
    helper.fails(function() flow.config.when_full("stop") end,
      "config.when_full: value must be \"wait\" or \"busy\", got string 'stop'")
  end)
end)

describe("when_new", function()
  before_each(flow.clear_default_session)
  teardown(flow.clear_default_session)

  local function none() end

  local function rows(name, body, returns)
    return flow.global_function { name = name, returns = returns or tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) } },
      body = body or function(x)
        return x * flow.get_variable("v", { shape = { 2 }, initializer = flow.ones_initializer() })
      end }
  end

  local function ones(n) return flow.ndarray.ones({ n, 2 }) end

  -- Keeps the worker until what it computes is there.
  local function keep_busy()
    local slow = helper.slow()
    slow:compile()
    flow.config.max_inflight(100)
    for _ = 1, 2 do slow({ 1 })(none) end
  end

  it("queue makes plans among the runs, in the order of calls", function()
    assert.equal("wait", flow.config.when_new())
    flow.config.when_new("queue")
    flow.config.max_inflight(100)
    local job, seen = rows("job"), {}
    for i = 1, 12 do job(ones(i))(function(v) seen[#seen + 1] = v.shape[1] end) end
    for i = 12, 1, -1 do job(ones(i))(function(v) seen[#seen + 1] = v.shape[1] end) end
    flow.sync()
    for i = 1, 12 do assert.equal(i, seen[i]) end
    for i = 1, 12 do assert.equal(13 - i, seen[12 + i]) end
  end)

  it("queue does not wait for runs", function()
    local core = require "jfl.core"
    flow.config.when_new("queue")
    local job, waited = rows("job"), 0
    for i = 1, 8 do
      keep_busy()
      job(ones(i))(none)
      waited = waited + (core.pending() < 2 and 1 or 0)
      flow.sync()
    end
    assert.is_true(waited < 8, waited)
  end)

  it("queue gives what wait gives, for jobs of every kind", function()
    local function both(define)
      local got = {}
      for _, mode in ipairs { "wait", "queue" } do
        flow.clear_default_session()
        flow.random.seed(3)
        flow.config.when_new(mode)
        local job, all = define(), {}
        for i = 1, 3 do
          job(ones(i))(function(v) all[#all + 1] = v end, function(text) all[#all + 1] = text end)
        end
        flow.sync()
        got[mode] = all
      end
      assert.equal(3, #got.queue)
      return got.wait, got.queue
    end
    local function same(define)
      local a, b = both(define)
      for i = 1, 3 do assert.is_true(a[i]:eq(b[i]):all()) end
    end
    same(function() return rows("job") end)
    same(function()
      return rows("job", function(x) return flow.layers.dense(x, 3, { name = "d" }) end)
    end)
    same(function()
      return flow.global_function { name = "train", type = "train",
        returns = tp.Callback(tp.Numpy), inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) } },
        body = function(x)
          local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
          flow.optimizer.Adam(function(step) return 0.1 / (step + 1) end):minimize(x * w)
          return x * w
        end }
    end)
    local shown = 0
    same(function()
      return rows("job", function(x)
        flow.watch(x, function() shown = shown + 1 end)
        return x * 2
      end)
    end)
    assert.equal(6, shown)
    local a, b = both(function()
      return rows("job", function(x) return x, x * 2, x end,
        tp.Callback(tp.Tuple(tp.Numpy, tp.Numpy, tp.Numpy)))
    end)
    for i = 1, 3 do
      for k = 1, 3 do assert.is_true(a[i][k]:eq(b[i][k]):all()) end
    end
  end)

  it("queue tells why a plan cannot be made, and tries again", function()
    flow.config.when_new("queue")
    flow.config.memory_limit(1)
    local job, told = rows("job"), {}
    for _ = 1, 2 do
      job(ones(1))(none, function(text) told[#told + 1] = text end)
    end
    flow.sync()
    assert.equal(2, #told)
    for _, text in ipairs(told) do assert.truthy(text:find("memory_limit is 1", 1, true), text) end
    helper.fails(function() job:compile() end, "memory_limit is 1")
    flow.config.memory_limit(0)
    local value
    job(ones(1))(function(v) value = v end)
    flow.sync()
    assert.equal(1, value[1][1])
  end)

  it("queue raises what is wrong in the body at the call", function()
    flow.config.when_new("queue")
    local job = rows("job", function(x) return flow.matmul(x, x) end)
    helper.fails(function() job(ones(3)) end, "matmul")
    job(ones(2))(none)
    flow.sync()
  end)

  it("lets everything that needs the plan wait for it", function()
    flow.config.when_new("queue")
    local uses = {
      function(job) return job:graph("optimized") end,
      function(job) return job:plan() end,
      function() return flow.get_all_variables() end,
      function() return flow.variable_info("v") end,
      function() return flow.load_variables { v = { 2, 2 } } end,
      function() return flow.drop_variables("v") end,
      function() return flow.get_all_variables { async = true }:wait().v.shape end,
      function() rows("job") end,
      function() return rows("other")(ones(2))(none) end,
      flow.clear_default_session,
    }
    for i, use in ipairs(uses) do
      flow.clear_default_session()
      flow.config.when_new("queue")
      local job = rows("job")
      keep_busy()
      job(ones(i))(none)
      use(job)
      flow.sync()
    end
  end)

  it("busy makes no call until the plan is there", function()
    flow.config.when_new("busy")
    local job, busy, value = rows("job"), 0
    for i = 1, 8 do
      keep_busy()
      local call
      repeat
        call = job(ones(i))
        if call.busy then busy = busy + 1 end
      until not call.busy
      call(function(v) value = v.shape[1] end)
      flow.sync()
      assert.equal(i, value)
    end
    assert.is_true(busy > 0)
  end)

  it("is one of three words, and wait in a new session", function()
    helper.fails(function() flow.config.when_new("stop") end,
      "config.when_new: value must be \"wait\", \"queue\" or \"busy\", got string 'stop'")
    flow.config.when_new("busy")
    flow.clear_default_session()
    assert.equal("wait", flow.config.when_new())
  end)
end)
