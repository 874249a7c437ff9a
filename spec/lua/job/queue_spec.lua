local ffi = require "ffi"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

ffi.cdef [[
  struct spec_pollfd { int fd; short events, revents; };
  int poll(struct spec_pollfd *fds, unsigned long n, int timeout);
]]

describe("asynchronous calls", function()
  local job, seen

  local function note(value) seen[#seen + 1] = value[1] end

  before_each(function()
    flow.clear_default_session()
    seen = {}
    job = helper.predict("later", { 1 }, function(x) return x * 2 end,
      { returns = tp.Callback(tp.Numpy) })
  end)

  after_each(function() pcall(flow.sync) end)

  -- Waits until the runs are finished without running callbacks.
  local function settle()
    local core = require "jfl.core"
    while core.pending() > 0 do core.wait() end
  end

  local function readable(fd)
    local watched = ffi.new("struct spec_pollfd", fd, 1, 0)
    return ffi.C.poll(watched, 1, 0) == 1
  end

  -- Calls the job with {1} and with {2}, and only then registers callbacks: the second call could
  -- run the first one's otherwise.
  local function call_twice(first, second)
    local a, b = job({ 1 }), job({ 2 })
    a(first)
    b(second)
  end

  it("run callbacks in call order, and only when asked", function()
    call_twice(note, note)
    settle()
    assert.same({}, seen)
    assert.equal(2, flow.poll())
    assert.same({ 2, 4 }, seen)
    assert.equal(0, flow.poll())
  end)

  it("take more calls than the queue holds", function()
    for i = 1, 20 do job({ i })(note) end
    flow.sync()
    assert.equal(20, #seen)
    for i = 1, 20 do assert.equal(2 * i, seen[i]) end
  end)

  -- Makes calls 1 to n and takes back number `back`, if it has not begun, then makes call n + 1.
  -- Gives how many were taken back.
  local function call_and_take_back(n, back)
    local registrars, taken = {}, 0
    local function call(i)
      registrars[i] = job({ i })
      registrars[i](note, function() taken = taken + 1 end)
    end
    for i = 1, n do call(i) end
    local told = back > 0 and flow.cancel(registrars[back]) or 0
    call(n + 1)
    flow.sync()
    assert.equal(told, taken)
    return told
  end

  it("come in their order, for any number of places in the queue", function()
    require("jfl.core").set("inline_limit", 0)
    for places = 1, 4 do
      flow.config.max_inflight(places)
      for n = 1, 2 * places + 1 do
        for back = 0, n do
          seen = {}
          local told, at = call_and_take_back(n, back), 0
          assert.equal(n + 1 - told, #seen)
          for i = 1, n + 1 do
            if not (told == 1 and i == back) then
              at = at + 1
              assert.equal(2 * i, seen[at])
            end
          end
        end
      end
    end
  end)

  it("hold the values of their call", function()
    local x = flow.ndarray.array({ 1 })
    job(x)(note)
    x[1] = 5
    flow.sync()
    assert.same({ 2 }, seen)
  end)

  it("run due callbacks during later calls, synchronous ones too", function()
    local now = helper.predict("now", { 1 }, function(x) return x end)
    now({ 1 })
    job({ 1 })(note)
    settle()
    now({ 1 })
    assert.same({ 2 }, seen)
    job({ 2 })(note)
    settle()
    job({ 3 })(note)
    assert.same({ 2, 4 }, seen)
  end)

  it("give a tuple as one table", function()
    local two = helper.predict("two", { 1 }, function(x) return x, x + 1 end,
      { returns = tp.Callback(tp.Tuple(tp.Numpy, tp.Numpy)) })
    two({ 1 })(function(value, more)
      assert.is_nil(more)
      seen = { value[1][1], value[2][1] }
    end)
    flow.sync()
    assert.same({ 1, 2 }, seen)
  end)

  it("stop polling when the time is used up", function()
    call_twice(note, note)
    settle()
    assert.equal(1, flow.poll(0))
    assert.equal(1, flow.poll(10))
  end)

  it("leave calls that callbacks make to the next poll", function()
    local rounds = 0
    local function again()
      rounds = rounds + 1
      if rounds < 100 then job({ rounds })(again) end
    end
    job({ 0 })(again)
    settle()
    assert.equal(1, flow.poll())
    settle()
    assert.equal(1, flow.poll())
    flow.sync()
    assert.equal(100, rounds)
  end)

  it("do not deliver inside a callback", function()
    local order = {}
    call_twice(function()
      order[#order + 1] = "first begins"
      assert.equal(0, flow.poll())
      flow.sync()
      job({ 3 })(function() order[#order + 1] = "third" end)
      order[#order + 1] = "first ends"
    end, function() order[#order + 1] = "second" end)
    flow.sync()
    assert.same({ "first begins", "first ends", "second", "third" }, order)
  end)

  it("may call any number of jobs from a callback", function()
    job({ 1 })(function()
      for i = 1, 5 do job({ i })(note) end
    end)
    flow.sync()
    assert.same({ 2, 4, 6, 8, 10 }, seen)
  end)

  it("raise an error of a callback from what ran it, and keep those behind", function()
    call_twice(function() error("boom") end, note)
    local err = helper.fails(function() flow.sync() end, "later: error in a callback: ")
    assert.truthy(err:find("boom", 1, true))
    assert.truthy(err:find("stack traceback", 1, true))
    assert.same({}, seen)
    flow.sync()
    assert.same({ 4 }, seen)
  end)

  it("raise callbacks' errors of any type", function()
    job({ 1 })(function() error({}) end)
    helper.fails(function() flow.sync() end, "later: error in a callback: table")
    job({ 1 })(function() error() end)
    helper.fails(function() flow.sync() end, "later: error in a callback: nil")
  end)

  it("blame the line of a callback's tail call", function()
    local relu = flow.nn.relu
    job({ 1 })(function(y)
      y = y + 1
      return relu(y, { slope = 1 })
    end)
    local err = helper.fails(function() flow.sync() end, "unknown option 'slope'")
    local line = debug.getinfo(1, "l").currentline - 3
    assert.truthy(err:find(("queue_spec.lua:%d: relu"):format(line), 1, true), err)
  end)

  it("cannot yield in a callback, and those behind run", function()
    call_twice(function() coroutine.yield() end, note)
    local ok, err = coroutine.resume(coroutine.create(flow.sync))
    assert.is_false(ok)
    assert.truthy(err:find("later: error in a callback: .*attempt to yield"))
    flow.sync()
    assert.same({ 4 }, seen)
  end)

  it("say that they give no value at once", function()
    local registrar = job({ 1 })
    helper.fails(function() return registrar:mean() end,
      "later: a call of this job gives no value at once, so it has no 'mean'; a callback gets")
    helper.fails(function() return registrar[1] end, "it has no '1'")
  end)

  it("are no values to calculate with", function()
    local calls = flow.global_function { name = "calls", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x end }
    local future = flow.global_function { name = "future",
      inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x end }
    helper.fails(function() return calls({ 1 }) + 1 end,
      "calls: a call of this job gives no value at once to compute with; a callback gets the")
    helper.fails(function() return 2 * future({ 1 }) end, "job(...):get() waits for the value")
    helper.fails(function() return -future({ 1 }) end, "future: a call of this job gives no value")
    helper.fails(function() future({ 1 })(print) end,
      "future: a job without `returns` gives a future: job(...):async_get(callback)")
    flow.sync()
  end)

  it("of a job are in flight as many as its concurrency_width allows", function()
    local core = require "jfl.core"
    flow.config.max_inflight(20)
    local config = flow.function_config()
    config.concurrency_width(3)
    local calls = flow.global_function { name = "wide", returns = tp.Callback(tp.Numpy),
      function_config = config, inputs = { { "x", tp.Numpy.Placeholder({ 200, 200 }) } },
      body = function(x) return flow.matmul(x, x) end }
    local x, most, got = flow.ndarray.ones({ 200, 200 }), 0, 0
    for _ = 1, 20 do
      calls(x)(function() got = got + 1 end)
      most = math.max(most, core.pending())
    end
    assert.is_true(most <= 3, most)
    flow.sync()
    assert.equal(20, got)
  end)

  it("may be made from a coroutine, and deliver to another", function()
    local calls = flow.global_function { name = "co", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x * 2 end }
    local got = {}
    local waiting = coroutine.create(function()
      for _ = 1, 2 do got[#got + 1] = coroutine.yield() end
    end)
    coroutine.resume(waiting)
    coroutine.wrap(function()
      for i = 1, 2 do calls({ i })(function(y) coroutine.resume(waiting, y[1]) end) end
    end)()
    flow.sync()
    assert.same({ 2, 4 }, got)
  end)

  it("take functions alone as what they call", function()
    local calls = flow.global_function { name = "picky", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x * 2 end }
    helper.fails(function() calls({ 1 })(3) end, "picky: callback must be a function, got number 3")
    helper.fails(function() calls({ 1 })(print, "x") end, "picky: on_error must be a function")
    flow.sync()
  end)

  it("tell of an error of on_error as of one of a callback", function()
    local calls = flow.global_function { name = "labels", returns = tp.Callback(tp.Numpy),
      inputs = { { "y", tp.Numpy.Placeholder({ 1 }, { dtype = flow.int32 }) } },
      body = function(y)
        return flow.nn.sparse_softmax_cross_entropy_with_logits(y, flow.ones({ 1, 2 }))
      end }
    local told
    calls({ 5 })(print, function() error("worse") end)
    helper.stderr_of(function() calls({ 6 })(print, function(message) told = message end) end)
    helper.fails(flow.sync, "labels: error in a callback:")
    flow.sync()
    assert.truthy(told:find("got 6", 1, true))
  end)

  it("drop what nobody asked for, and the registrar with it", function()
    local calls = flow.global_function { name = "dropped", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 100, 100 }) } },
      body = function(x) return flow.matmul(x, x) end }
    local registrars, x = setmetatable({}, { __mode = "v" }), flow.ndarray.ones({ 100, 100 })
    for i = 1, 30 do registrars[i] = calls(x) end
    flow.sync()
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(registrars))
  end)

  it("take one callback each", function()
    local registrar = job({ 1 })
    registrar(note)
    helper.fails(function() registrar(note) end, "later: this call has a callback already")
    helper.fails(function() job({ 1 })(5) end, "later: callback must be a function, got number 5")
    flow.sync()
  end)

  it("keep their order where callbacks come late", function()
    local a, b = job({ 1 }), job({ 2 })
    settle()
    assert.equal(0, flow.poll())
    b(note)
    a(note)
    flow.sync()
    assert.same({ 2, 4 }, seen)
  end)

  it("take a callback late", function()
    local registrar = job({ 1 })
    flow.sync()
    registrar(note)
    assert.same({}, seen)
    flow.sync()
    assert.same({ 2 }, seen)
  end)

  it("check their arguments at the call", function()
    helper.fails(function() job({ 1, 2 })(note) end, "later: x must be of shape (1), got (2)")
    job({ 1 })(note)
    flow.sync()
    assert.same({ 2 }, seen)
  end)

  describe("whose run fails", function()
    local classify

    before_each(function()
      classify = flow.global_function {
        name = "classify", returns = tp.Callback(tp.Numpy),
        inputs = { { "labels", tp.Numpy.Placeholder({ 1 }, { dtype = flow.int32 }) } },
        body = function(labels)
          return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, flow.ones({ 1, 3 }))
        end,
      }
    end)

    it("tell on_error", function()
      local told
      classify({ 7 })(note, function(message) told = message end)
      classify({ 1 })(note)
      flow.sync()
      assert.truthy(told:find("^classify: "))
      assert.truthy(told:find("7", 1, true))
      assert.equal(1, #seen)
    end)

    it("raise it at the next drain without on_error, once", function()
      classify({ 7 })(note)
      helper.fails(function() flow.sync() end, "classify: ")
      classify({ 1 })(note)
      flow.sync()
      assert.equal(1, #seen)
    end)

    it("raise it synchronously for a synchronous job", function()
      flow.clear_default_session()
      local now = flow.global_function {
        name = "now", returns = tp.Numpy,
        inputs = { { "labels", tp.Numpy.Placeholder({ 1 }, { dtype = flow.int32 }) } },
        body = function(labels)
          return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, flow.ones({ 1, 3 }))
        end,
      }
      helper.fails(function() now({ 7 }) end, "7")
      assert.is_true(math.abs(now({ 2 })[1] - math.log(3)) < 1e-6)
    end)
  end)

  describe("whose earlier callback fails", function()
    local function boom() error("boom") end

    -- Makes calls whose callbacks fail, which are due; gives what calls then tell on stderr.
    local function calls_after(n, fn)
      local calls = {}
      for i = 1, n do calls[i] = job({ i }) end
      for i = 1, n do calls[i](boom) end
      settle()
      return helper.stderr_of(fn)
    end

    it("are made, and tell of the first", function()
      local now = helper.predict("now", { 1 }, function(x) return x + 1 end)
      local told = calls_after(3, function()
        assert.equal(8, now({ 7 })[1])
        job({ 4 })(note)
        assert.equal(9, now({ 8 })[1])
      end)
      assert.truthy(told:find("^jfl: later: error in a callback: spec/lua/job/queue_spec.lua:%d+: "
        .. "boom %(flow.poll, flow.sync or the end of the program raises it%)\n$"), told)
      for _ = 1, 3 do helper.fails(flow.poll, "boom") end
      flow.sync()
      assert.same({ 8 }, seen)
    end)

    it("raise none from saving, loading or clearing", function()
      local directory = helper.directory()
      helper.train("train")({ 1, 2 })
      for _, act in ipairs {
        function() flow.train.CheckPoint():save(directory .. "/a") end,
        function() flow.train.CheckPoint():load(directory .. "/a") end,
        function() flow.get_all_variables() end,
        flow.clear_default_session,
      } do
        calls_after(1, act)
        helper.fails(flow.sync, "boom")
      end
      helper.remove(directory)
    end)

    it("keep them in order, and the last of very many as a number", function()
      calls_after(2, function()
        for i = 1, 1200 do
          job({ i })(function() error("number " .. i) end)
        end
        flow.train.CheckPoint():init()
      end)
      helper.fails(flow.sync, "boom")
      helper.fails(flow.sync, "boom")
      for i = 1, 998 do helper.fails(flow.sync, "number " .. i .. "\n") end
      helper.fails(function() flow.sync() end, "202 more errors of callbacks were not kept")
      flow.sync()
    end)

    it("make the descriptor readable until it was raised", function()
      local fd = flow.fd()
      calls_after(1, function() job({ 1 }) end)
      settle()
      flow.train.CheckPoint():init()
      assert.is_true(readable(fd))
      helper.fails(flow.poll, "boom")
      assert.is_false(readable(fd))
    end)

    it("raise it once where a future's own handler fails", function()
      local old = flow.global_function { name = "old",
        inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x end }
      local future
      calls_after(1, function()
        future = old({ 3 })
        assert.equal(3, future:get()[1])
      end)
      helper.fails(flow.sync, "boom")
      assert.equal(3, future:get()[1])
    end)
  end)

  describe("that are taken back", function()
    local slow, x

    before_each(function()
      flow.config.max_inflight(20)
      x = flow.ndarray.ones({ 1 })          -- little to copy, so that calls are made at once
      slow = helper.slow()
      slow(x)
      flow.sync()
    end)

    -- Repeats what gives how many calls it took back: on a busy machine all may have begun.
    local function until_taken(act)
      for _ = 1, 50 do
        if act() > 0 then return end
      end
      error("nothing was taken back")
    end

    it("are the last ones, whatever begins meanwhile", function()
      local short = helper.predict("short", { 64, 64 }, function(v) return flow.matmul(v, v) end,
        { returns = tp.Callback(tp.Numpy) })
      local ones = flow.ndarray.ones { 64, 64 }
      for _ = 1, 3000 do
        local ran = {}
        for i = 1, 10 do short(ones)(function() ran[i] = 1 end, function() ran[i] = 0 end) end
        flow.cancel(short)
        flow.sync()
        assert.truthy(table.concat(ran):find("^1*0*$"))
      end
    end)

    it("do not run, and tell on_error in order", function()
      until_taken(function()
        local order, n = {}, 0
        for i = 1, 10 do
          slow(x)(function() order[i] = "ran" end, function(message)
            order[i] = message
            n = n + 1
          end)
        end
        local taken = flow.cancel(slow)
        flow.sync()
        assert.equal(taken, n)
        for i = 1, 10 do
          assert.equal(i <= 10 - taken and "ran" or "slow: the call was cancelled before it began",
            order[i])
        end
        assert.equal(0, flow.cancel(slow))
        return taken
      end)
    end)

    it("are one call where its registrar is given, and raise nothing", function()
      until_taken(function()
        local calls, ran = {}, 0
        for i = 1, 5 do calls[i] = slow(x) end
        for i = 1, 5 do calls[i](function() ran = ran + 1 end) end
        local taken = flow.cancel(calls[5])
        assert.equal(0, flow.cancel(calls[5]))
        flow.sync()
        assert.equal(5 - taken, ran)
        return taken
      end)
    end)

    it("may be so by a callback, and only those of their own job", function()
      job:compile()                           -- which would wait for runs
      until_taken(function()
        local other, ran, taken, calls = 0, 0, 0, {}
        for i = 1, 10 do calls[i] = slow(x) end
        calls[1](function() taken = flow.cancel(slow) end)
        for i = 2, 10 do calls[i](function() ran = ran + 1 end) end
        job({ 2 })(function() other = other + 1 end)
        flow.sync()
        assert.equal(1, other)
        assert.equal(9, ran + taken)
        return taken
      end)
    end)

    it("have no value", function()
      local old = flow.global_function { name = "old",
        inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(v) return v + v end }
      old:compile()
      until_taken(function()
        for _ = 1, 5 do slow(x) end
        local future = old(x)
        local taken = flow.cancel(future)
        if taken == 1 then
          helper.fails(function() future:get() end, "old: the call was cancelled before it began")
        end
        return taken
      end)
    end)

    it("must be calls", function()
      helper.fails(function() flow.cancel(3) end,
        "cancel: call must be a job, or what a call of one gave, got number 3")
      assert.equal(0, flow.cancel(helper.predict("never", { 1 }, function(v) return v end)))
    end)
  end)

  it("of a train job see each other's updates in order", function()
    local train = helper.train("train", { returns = tp.Callback(tp.Numpy) })
    for _ = 1, 3 do train({ 1, 2 })(note) end
    flow.sync()
    assert.same({ 1, 0.75, 0.5 }, seen)
  end)

  it("give futures in the old spelling", function()
    local old = helper.predict("old", { 1 }, function(x) return x + 1 end)
    old._async, old._gives = true, require "jfl.legacy.future"
    job({ 1 })(note)
    local future = old({ 1 })
    assert.equal(2, future:get()[1])
    assert.same({ 2 }, seen)
    helper.fails(function() return future:mean() end, "it has no 'mean'; job(...):get() waits")
    helper.fails(function() return (future.get()) end, "get: call it with a colon")
  end)

  it("give futures inside a callback without running others", function()
    local old = helper.predict("old", { 1 }, function(x) return x + 1 end)
    old._async, old._gives = true, require "jfl.legacy.future"
    local got
    call_twice(function() got = old({ 5 }):get()[1] end, note)
    flow.poll(0)
    assert.equal(6, got)
    assert.same({}, seen)
    flow.sync()
    assert.same({ 4 }, seen)
  end)

  it("are the same whether they are run at once or queued", function()
    local core = require "jfl.core"
    local limit = core.get("inline_limit")
    for _, inline in ipairs { 0, limit } do
      core.set("inline_limit", inline)
      seen = {}
      for i = 1, 5 do job({ i })(note) end
      flow.sync()
      assert.same({ 2, 4, 6, 8, 10 }, seen)
    end
  end)

  -- Finalizers run whenever memory is taken, so also while the queue is changed.
  it("are delivered once and in order where finalizers call jobs, poll and sync", function()
    local CALLS, x = 20000, flow.ndarray.ones({ 1 })
    local ran, extra, wrong, deep = 0, 0, 0, 0
    local acts = { flow.poll, flow.sync, function() job(x) end, function()
      job(x)(function() extra = extra + 1 end)
    end }
    local function disturb()
      deep = deep + 1
      -- An error that leaves a finalizer while a compiled trace is left crashes LuaJIT.
      if deep == 1 and not pcall(acts[math.random(#acts)]) then wrong = wrong + 1 end
      deep = deep - 1
    end
    local function litter()
      getmetatable(newproxy(true)).__gc = disturb
      ffi.gc(ffi.new("char[16]"), disturb)
    end
    for i = 1, CALLS do
      if i % 3 == 0 then litter() end
      job(x)(function()
        if ran ~= i - 1 then wrong = wrong + 1 end
        ran = i
      end)
      if i % 500 == 0 then collectgarbage(i % 1000 == 0 and "collect" or "step", 100) end
    end
    flow.sync()
    assert.same({ CALLS, 0 }, { ran, wrong })
    assert.is_true(extra > 1000)
    collectgarbage()
    collectgarbage()
    flow.sync()
  end)

  it("have a descriptor for event loops", function()
    local fd = flow.fd()
    assert.is_false(readable(fd))
    call_twice(function() error("oh") end, note)
    settle()
    assert.is_true(readable(fd))
    helper.fails(flow.poll, "oh")
    assert.is_true(readable(fd))
    assert.equal(1, flow.poll())
    assert.is_false(readable(fd))
  end)

  it("have a descriptor that knows of calls made before it was asked for", function()
    job({ 1 })(note)
    settle()
    local fd = flow.fd()
    assert.is_true(readable(fd))
    flow.sync()
    assert.is_false(readable(fd))
  end)

  it("have a descriptor that knows of callbacks that come late", function()
    local fd, call = flow.fd(), job({ 1 })
    settle()
    assert.equal(0, flow.poll())
    assert.is_false(readable(fd))
    call(note)
    assert.is_true(readable(fd))
  end)

  it("end with the session that is cleared", function()
    job({ 1 })(note)
    flow.clear_default_session()
    assert.same({ 2 }, seen)
    helper.fails(function() job({ 1 })(note) end, "was cleared")
  end)

  it("lose no result where a callback fails as the session is cleared", function()
    call_twice(function() error("boom") end, note)
    flow.clear_default_session()
    assert.same({ 4 }, seen)
    helper.fails(flow.poll, "boom")
    assert.equal(0, flow.poll())
  end)

  it("lose no result where a callback clears the session", function()
    call_twice(function() flow.clear_default_session() end, note)
    flow.sync()
    assert.same({ 4 }, seen)
  end)
end)

describe("the end of a script", function()
  local HEAD = [[
    local flow = require "jfl"
    local tp = flow.typing
    local job = flow.global_function { name = "job", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x end }
    for i = 1, 3 do job({ i })(function(x) io.stdout:write("got ", x[1], "\n") end) end
  ]]

  it("runs the callbacks that are left", function()
    local out, status = helper.script(HEAD)
    assert.equal("got 1\ngot 2\ngot 3\n", out)
    assert.equal(0, status, out)
  end)

  it("runs them before os.exit, and keeps its status", function()
    local out, status = helper.script(HEAD .. " os.exit(7)")
    assert.equal("got 1\ngot 2\ngot 3\n", out)
    assert.equal(7, status)
  end)

  local FIVE = [[
    local calls = {}
    flow.config.max_inflight(9)
    for i = 1, 5 do calls[i] = job({ i }) end
    local function each(act)
      for i, call in ipairs(calls) do
        call(function(x) io.stdout:write("five ", x[1], "\n") act(i) end)
      end
      flow.sync()
      io.stdout:write("not here\n")
    end
  ]]
  local ALL_FIVE = "five 1\nfive 2\nfive 3\nfive 4\nfive 5\n"

  it("runs those behind a callback that ends the process", function()
    local out, status = helper.script(HEAD .. FIVE
      .. " each(function(i) if i == 2 then os.exit(7) end end)")
    assert.truthy(out:find(ALL_FIVE .. "$"), out)
    assert.equal(7, status)
  end)

  it("keeps the status of the first that ends the process", function()
    local out, status = helper.script(HEAD .. FIVE
      .. " each(function(i) if i == 2 then os.exit(7) elseif i == 4 then os.exit(0) end end)")
    assert.truthy(out:find(ALL_FIVE .. "$"), out)
    assert.equal(7, status)
  end)

  it("runs them where a body ends the process, outside of its job", function()
    local out, status = helper.script(HEAD .. [[
      flow.config.max_inflight(9)
      job({ 1 })(function(x) io.stdout:write("relu ", flow.nn.relu(x)[1], "\n") end)
      flow.global_function { name = "leaves", returns = flow.typing.Numpy,
        body = function() os.exit(4) end }:compile()]])
    assert.truthy(out:find("relu 1\n$"), out)
    assert.equal(4, status)
  end)

  it("runs those behind one that fails", function()
    local out, status = helper.script(HEAD .. [[
      local calls = {}
      for i = 1, 4 do calls[i] = job({ i }) end
      for i, call in ipairs(calls) do
        call(function(x)
          if i < 3 then error("boom" .. i) end
          io.stdout:write("behind ", x[1], "\n")
        end)
      end
      os.exit(0)]])
    assert.truthy(out:find("boom1", 1, true))
    assert.truthy(out:find("boom2", 1, true))
    assert.truthy(out:find("behind 3\nbehind 4\n", 1, true))
    assert.equal(1, status)
  end)

  it("comes before the arrays made last are gone, also after an error", function()
    local out, status = helper.script(HEAD .. [[
      flow.config.max_inflight(9)
      local array
      job({ 1 })(function(x) array:set(x[1] + 6, 1) io.stdout:write("array ", array[1], "\n") end)
      array = flow.ndarray.zeros({ 1 })
      error("script")]])
    assert.truthy(out:find("array 7\n", 1, true))
    assert.equal(1, status)
  end)

  local AGAIN = [[
    local function again(x)
      io.stdout:write("ran ", x[1], "\n")
      job({ x[1] + 1 })(again, function(message)
        io.stdout:write(message, "\n")
        job({ 0 })(again, again)
      end)
    end
    job({ 10 })(again)
  ]]
  local ENDED = "job: the program is ending: this call is not made\n"
  local TOLD = "jfl: 1 call made while the program was ending was not run\n"

  it("makes no call that callbacks ask for, and tells of them", function()
    for _, last in ipairs { "", "os.exit(0)", "job({ 20 })(function() os.exit(0) end)" } do
      local out, status = helper.script(HEAD .. AGAIN .. last)
      -- A stock LuaJIT closes the state, and then nothing is said.
      local silent = last == "" and not helper.command():find("jfl$")
      assert.equal(1, select(2, out:gsub(ENDED, "")), out)
      assert.equal(not silent, out:find(TOLD, 1, true) ~= nil)
      assert.equal(0, status, out)
    end
  end)

  it("still makes synchronous calls for callbacks", function()
    local out, status = helper.script(HEAD .. [[
      local now = flow.global_function { name = "now", returns = tp.Numpy,
        inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x * 3 end }
      job({ 5 })(function(x) io.stdout:write("now ", now(x)[1], "\n") end)]])
    assert.truthy(out:find("now 15\n$"), out)
    assert.equal(0, status, out)
  end)

  it("tells of few errors of many", function()
    local out, status = helper.script(HEAD .. [[
      flow.config.max_inflight(100)
      for i = 1, 50 do job({ i })(function() error("oops " .. i, 0) end) end
      os.exit(0)]])
    local _, n = out:gsub("error in a callback: oops", "")
    assert.truthy(n <= 21, n)
    assert.truthy(out:find("jfl: 30 more outstanding calls failed\n", 1, true), out)
    assert.truthy(out:find("50 outstanding call(s) failed", 1, true), out)
    assert.equal(1, status)
  end)

  it("is a failure where a callback fails", function()
    local out, status = helper.script(HEAD
      .. " job({ 1 })(function() error('boom') end) os.exit(0)")
    assert.truthy(out:find("boom", 1, true))
    assert.equal(1, status)
  end)
end)
