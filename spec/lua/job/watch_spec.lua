local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray
local tp = flow.typing

local LATER = tp.Callback(tp.Numpy)

describe("watch", function()
  local seen

  -- A handler that notes a label and the first element it is shown.
  local function note(label)
    return function(value) seen[#seen + 1] = label .. " " .. value:reshape({ -1 })[1] end
  end

  -- A predict job of one number; without `returns` its calls give futures.
  local function predict(name, returns, body)
    return flow.global_function { name = name, inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } },
      returns = returns, body = body }
  end

  local function watched(returns, name)
    return predict(name or "watched", returns, function(x)
      flow.watch(x, note "x")
      local y = x * 2
      flow.watch(y, note "y")
      return y + 1
    end)
  end

  before_each(function()
    flow.clear_default_session()
    seen = {}
  end)

  after_each(function() flow.clear_default_session() end)

  it("shows values before a synchronous call returns", function()
    local job = watched(tp.Numpy)
    assert.equal(7, job({ 3 })[1])
    assert.same({ "x 3", "y 6" }, seen)
    assert.equal(9, job({ 4 })[1])
    assert.same({ "x 3", "y 6", "x 4", "y 8" }, seen)
  end)

  it("shows NdArrays of their own, which a handler may keep and change", function()
    local kept
    local job = helper.predict("own", { 2, 2 }, function(x)
      flow.watch(x, function(value) value[1][1] = 100 end)
      local y = x * 2
      flow.watch(y, function(value) kept = value end)
      flow.watch(y, function(value) value[1][1] = 50 end)
      return y
    end)
    local x = nd.array { { 1, 2 }, { 3, 4 } }
    assert.same({ { 2, 4 }, { 6, 8 } }, job(x):totable())
    job(nd.zeros { 2, 2 })
    assert.same({ { 0, 0 }, { 0, 0 } }, kept:totable())
    assert.same({ { 1, 2 }, { 3, 4 } }, x:totable())
    assert.equal(flow.float32, kept.dtype)
  end)

  it("shows an asynchronous call's values right before its callback, in call order", function()
    local job = watched(LATER)
    local a, b = job({ 1 }), job({ 2 })
    a(note "first")
    b(note "second")
    flow.sync()
    assert.same({ "x 1", "y 2", "first 3", "x 2", "y 4", "second 5" }, seen)
  end)

  it("shows values of calls without a callback", function()
    local job = watched(LATER)
    job({ 1 })
    flow.sync()
    assert.same({ "x 1", "y 2" }, seen)
    local late = job({ 2 })
    assert.equal(2, flow.poll(10))
    assert.equal(4, #seen)
    late(note "late")
    assert.equal(1, flow.poll())
    assert.same({ "x 1", "y 2", "x 2", "y 4", "late 5" }, seen)
  end)

  it("shows values of more calls than the queue holds", function()
    local job, x = watched(LATER), nd.rand { 1 }
    for i = 1, 50 do
      x[1] = i
      job(x)
    end
    flow.sync()
    for i = 1, 50 do
      assert.equal("x " .. i, seen[2 * i - 1])
      assert.equal("y " .. 2 * i, seen[2 * i])
    end
    assert.equal(100, #seen)
  end)

  it("counts handlers as callbacks, and stops polling between them", function()
    local job = watched(LATER)
    job({ 1 })(note "done")
    while #seen == 0 do assert.truthy(flow.poll(0) <= 1) end
    assert.same({ "x 1" }, seen)
    assert.equal(2, flow.poll())
    assert.same({ "x 1", "y 2", "done 3" }, seen)
  end)

  it("shows values to futures' jobs too", function()
    local job = watched(nil)
    local future = job({ 1 })
    assert.equal(3, future:get()[1])
    assert.same({ "x 1", "y 2" }, seen)
  end)

  it("shows earlier calls of other jobs first, waiting for them", function()
    local later, now = watched(LATER, "later"), watched(tp.Numpy, "now")
    later({ 1 })(note "callback")
    now({ 5 })
    assert.same({ "x 1", "y 2", "callback 3", "x 5", "y 10" }, seen)
  end)

  it("does not wait for calls that callbacks make meanwhile", function()
    local later, now = watched(LATER, "later"), watched(tp.Numpy, "now")
    local rounds = 0
    local function again()
      rounds = rounds + 1
      if rounds < 100 then later({ 1 })(again) end
    end
    later({ 1 })(again)
    now({ 5 })
    assert.equal(1, rounds)
    assert.equal("y 10", seen[#seen])
  end)

  it("shows values from before the update", function()
    local job = helper.train("train", { body = function(x)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      flow.watch(w, note "w")
      local loss = x * w
      flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(loss)
      return loss
    end })
    job({ 2, 2 })
    job({ 2, 2 })
    assert.same({ "w 1", "w 0.5" }, seen)
  end)

  it("shows the same blob to several handlers, and gives it as a result as well", function()
    local job = helper.predict("twice", { 1 }, function(x)
      local y = x + 1
      flow.watch(y, note "one")
      flow.watch(y, note "two")
      flow.watch(x, note "three")
      return y, y, x
    end, { returns = tp.Tuple(tp.Numpy, tp.Numpy, tp.Numpy) })
    local a, b, c = job({ 1 })
    assert.same({ 2, 2, 1 }, { a[1], b[1], c[1] })
    assert.same({ "one 2", "two 2", "three 1" }, seen)
  end)

  it("shows each batch size its own shape", function()
    local job = helper.predict("any", { -1, 2 }, function(x)
      flow.watch(flow.math.reduce_sum(x, 1), function(value) seen[#seen + 1] = value:totable() end)
      return x
    end)
    job { { 1, 2 } }
    job { { 1, 2 }, { 3, 4 }, { 5, 6 } }
    job { { 7, 8 } }
    assert.same({ { 3 }, { 3, 7, 11 }, { 15 } }, seen)
  end)

  it("works inside scopes, where a whole network is described elsewhere", function()
    local function network(x)
      local y = flow.nn.relu(x)
      flow.watch(y, note "relu")
      return y * 3
    end
    local job = helper.predict("scopes", { 2 }, function(x)
      return flow.scope.placement("cpu", "0:0", function()
        return flow.scope.mirrored_view(function()
          return flow.scope.namespace("inner", function() return network(x) end)
        end)
      end)
    end)
    assert.same({ 6, 0 }, job({ 2, -1 }):totable())
    assert.same({ "relu 2" }, seen)
  end)

  it("shows lists per device where it is told that type", function()
    local job = flow.global_function {
      name = "lists", returns = tp.ListNumpy,
      inputs = { { "x", tp.ListNumpy.Placeholder({ 4 }) } },
      body = function(x)
        flow.watch(x, function(value) seen.plain = value end)
        flow.watch(x, function(value) seen.list = value end, { type = tp.ListNumpy })
        flow.watch(x, function(value) seen.lists = value end, tp.ListListNumpy)
        return x
      end,
    }
    job({ nd.array { 1, 2 } })
    assert.same({ 1, 2 }, seen.plain:totable())
    assert.same({ 1, 2 }, seen.list[1]:totable())
    assert.same({ 1, 2 }, seen.lists[1][1]:totable())
  end)

  it("prints the value, after the prompt if there is one", function()
    local real, lines = print, {}
    rawset(_G, "print", function(...) lines[#lines + 1] = tostring((...)) end)
    local ok, err = pcall(function()
      helper.predict("prompts", { 2 }, function(x)
        flow.watch(x, "x is")
        flow.watch(x + 1)
        flow.watch(x + 2, nil, tp.ListListNumpy)
        return x
      end)({ 1, 2 })
    end)
    rawset(_G, "print", real)
    assert(ok, err)
    assert.same({ "x is", "[1. 2.]", "[2. 3.]", "[3. 4.]" }, lines)
  end)

  it("shows nothing of a run that fails, and shows the next", function()
    local function classify(name, returns)
      return flow.global_function {
        name = name, returns = returns,
        inputs = {
          { "x", tp.Numpy.Placeholder({ 1, 3 }) },
          { "labels", tp.Numpy.Placeholder({ 1 }, { dtype = flow.int32 }) },
        },
        body = function(x, labels)
          flow.watch(x, note "x")
          return flow.nn.sparse_softmax_cross_entropy_with_logits(labels, x)
        end,
      }
    end
    local now, later = classify("now", tp.Numpy), classify("later", LATER)
    helper.fails(function() now({ { 1, 2, 3 } }, { 7 }) end, "label")
    later({ { 1, 2, 3 } }, { 7 })(note "callback", function() seen[#seen + 1] = "failed" end)
    flow.sync()
    assert.same({ "failed" }, seen)
    now({ { 4, 2, 3 } }, { 0 })
    later({ { 5, 2, 3 } }, { 0 })
    flow.sync()
    assert.same({ "failed", "x 4", "x 5" }, seen)
  end)

  describe("whose handler fails", function()
    local function failing(returns)
      local calls = 0
      return predict("failing", returns, function(x)
        flow.watch(x, note "before")
        flow.watch(x, function(value)
          calls = calls + 1
          if calls == 1 then error("boom " .. value[1]) end
          seen[#seen + 1] = "fine"
        end)
        flow.watch(x, note "after")
        return x
      end)
    end

    it("raises from what ran it, and loses nothing of an asynchronous call", function()
      local job = failing(LATER)
      job({ 1 })(note "first")
      local err = helper.fails(function() flow.sync() end, "failing: error in watch of 'x': ")
      assert.truthy(err:find("boom 1", 1, true))
      assert.truthy(err:find("stack traceback", 1, true))
      assert.same({ "before 1" }, seen)
      job({ 2 })(note "second")
      flow.sync()
      assert.same({ "before 1", "after 1", "first 1", "before 2", "fine", "after 2", "second 2" },
        seen)
    end)

    it("raises from a synchronous call, whose other handlers stay due", function()
      local job = failing(tp.Numpy)
      helper.fails(function() job({ 1 }) end, "failing: error in watch of 'x': ")
      assert.same({ "before 1" }, seen)
      assert.equal(2, job({ 2 })[1])
      assert.same({ "before 1", "after 1", "before 2", "fine", "after 2" }, seen)
      assert.equal(0, flow.poll())
    end)

    it("keeps the value of a future", function()
      local future = failing(nil)({ 1 })
      helper.fails(function() future:get() end, "boom 1")
      assert.equal(1, future:get()[1])
      assert.same({ "before 1", "after 1" }, seen)
    end)

    it("is told of at the end of a script, which runs what is behind", function()
      local out, status = helper.script [[
        local flow = require "jfl"
        local job = flow.global_function {
          name = "last", inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
          returns = flow.typing.Callback(flow.typing.Numpy),
          body = function(x)
            flow.watch(x, function() error("boom") end)
            flow.watch(x, "prompt")
            return x
          end,
        }
        job({ 3 })(function() print("callback") end)
        os.exit()]]
      assert.truthy(out:find("last: error in watch of 'x'", 1, true))
      assert.truthy(out:find("boom", 1, true))
      assert.truthy(out:find("prompt\n[3.]\ncallback", 1, true))
      assert.equal(1, status)
    end)
  end)

  it("lets handlers call other jobs, whose own handlers run before they return", function()
    local inner = watched(tp.Numpy, "inner")
    local later = watched(LATER, "inner_later")
    local outer = helper.predict("outer", { 1 }, function(x)
      flow.watch(x, function(value)
        seen[#seen + 1] = "begin"
        local result = inner(value)
        assert.equal(0, flow.poll())
        later(value)(note "later")
        seen[#seen + 1] = "end " .. result[1]
      end)
      flow.watch(x, note "outer")
      return x
    end)
    outer({ 1 })
    assert.same({ "begin", "x 1", "y 2", "end 3", "outer 1" }, seen)
    seen = {}
    flow.sync()
    assert.same({ "x 1", "y 2", "later 3" }, seen)
  end)

  it("lets a handler clear the session, and still shows the rest", function()
    local job = helper.predict("cleared", { 1 }, function(x)
      flow.watch(x, function() flow.clear_default_session() end)
      flow.watch(x, note "rest")
      return x
    end)
    assert.equal(1, job({ 1 })[1])
    assert.same({ "rest 1" }, seen)
    helper.fails(function() job({ 1 }) end, "cleared: the session that this job belonged to")
  end)

  it("keeps what is due when the session is cleared", function()
    watched(LATER)({ 1 })
    flow.clear_default_session()
    flow.sync()
    assert.same({ "x 1", "y 2" }, seen)
  end)

  it("refuses what it cannot watch", function()
    local x = nd.ones { 2 }
    helper.fails(function() flow.watch(x) end, "watch: describes a part of a job")
    helper.fails(function() flow.watch_diff(x) end, "watch_diff: describes a part of a job")
    local kept
    helper.predict("first", { 2 }, function(b)
      kept = b
      helper.fails(function() flow.watch() end, "watch: argument 1 'blob' is missing")
      helper.fails(function() flow.watch(x) end, "watch: blob must be a blob, got an NdArray (2)")
      helper.fails(function() flow.watch(b, 3) end,
        "watch: handler_or_prompt must be a function or string, got number 3")
      helper.fails(function() flow.watch(b, print, { type = tp.Dict(tp.Numpy) }) end,
        "watch: type must be flow.typing.Numpy, ListNumpy or ListListNumpy, got Dict(Numpy)")
      helper.fails(function() flow.watch(b, { handler = print }) end,
        "watch: unknown option 'handler'; options are blob, handler_or_prompt, type")
      return b
    end):compile()
    helper.predict("second", { 2 }, function(b)
      helper.fails(function() flow.watch(kept) end, "blob 'x' belongs to job 'first'")
      return b
    end)({ 1, 2 })
  end)
end)
