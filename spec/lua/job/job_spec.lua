local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

describe("a job's definition", function()
  before_each(flow.clear_default_session)

  local function define(fields)
    local t = { name = "j", body = function() end }
    for key, value in pairs(fields) do t[key] = value end
    return function()
      local job = flow.global_function(t)
      return job
    end
  end

  it("does not run the body", function()
    local runs = 0
    flow.global_function { name = "j", body = function() runs = runs + 1 end }
    assert.equal(0, runs)
  end)

  it("gives a handle with name, type and text", function()
    local job = define { type = "train" }()
    assert.equal("j", job.name)
    assert.equal("train", job.type)
    assert.equal("job 'j' (train)", tostring(job))
  end)

  it("checks its fields", function()
    helper.fails(define { retruns = 1 },
      "global_function: unknown field 'retruns'; fields are body,")
    helper.fails(define { name = 5 }, "global_function: name must be a string, got number 5")
    helper.fails(define { type = "test" },
      "j: type must be \"train\" or \"predict\", got string 'test'")
    helper.fails(define { body = 1 }, "j: body must be a function, got number 1")
    helper.fails(define { returns = 1 }, "j: returns must be a type such as flow.typing.Numpy")
    helper.fails(define { function_config = {} },
      "j: function_config must be what flow.function_config()")
    helper.fails(function() flow.global_function(5) end,
      "must be a table with name, inputs and body")
  end)

  it("checks its inputs", function()
    local P = tp.Numpy.Placeholder({ 1 })
    helper.fails(define { inputs = { images = P } }, "j: inputs with names go to the parameters "
      .. "that have them, and the body names none; state them in order: { { \"images\", "
      .. "flow.float32 { 100, 10 } } }")
    helper.fails(define { inputs = { 5 } },
      "j: inputs: entry 1 must be { \"name\", placeholder }, got number 5")
    helper.fails(define { inputs = { { "x", P }, { "x", P } } }, "j: inputs: 'x' is there twice")
    helper.fails(define { inputs = { { "x", P }, nil, { "y", P } } },
      "j: inputs must be a list of { \"name\", placeholder } without holes, got an entry under "
        .. "number 3 after 1 of them")
    helper.fails(define { inputs = { { "x", tp.Numpy } } },
      "j: inputs: 'x' must be a placeholder")
  end)

  it("has several thousand inputs at most", function()
    local list, values = {}, {}
    for i = 1, 3900 do list[i], values[i] = { "x" .. i, flow.float32 { 1 } }, { i } end
    local job = flow.global_function { name = "many", inputs = list, returns = tp.Numpy,
      body = function(...) return flow.math.add((...), (select(3900, ...))) end }
    assert.equal(3901, job(unpack(values))[1])
    list[3901] = { "last", flow.float32 { 1 } }
    helper.fails(define { inputs = list }, "j: inputs must be at most 3900, as many as Lua passes "
      .. "to a function, got 3901; arrays of one shape go into one")
  end)

  it("works after other jobs have run", function()
    assert.equal(2, helper.predict("a", { 1 }, function(x) return x + 1 end)({ 1 })[1])
    assert.equal(0, helper.predict("b", { 1 }, function(x) return x - 1 end)({ 1 })[1])
  end)

  it("copies its configuration", function()
    local config = flow.function_config()
    local job = define { function_config = config }()
    config.default_data_type(flow.double)
    assert.is_nil(job.config.default_data_type)
  end)
end)

describe("a job's body", function()
  before_each(flow.clear_default_session)

  it("runs once for any number of calls", function()
    local runs = 0
    local job = helper.predict("once", { 1 }, function(x)
      runs = runs + 1
      return x
    end)
    job({ 1 })
    job({ 2 })
    assert.equal(1, runs)
  end)

  it("sees blobs with shape, dtype and name", function()
    helper.predict("see", { 2, 3 }, function(x)
      assert.same({ 2, 3 }, x.shape)
      assert.equal("float32", x.dtype)
      assert.equal("x", x.name)
      assert.equal("blob 'x' (2, 3) float32", tostring(x))
      return x
    end):compile()
  end)

  it("may use operators", function()
    local job = helper.predict("ops", { 2 }, function(x) return (-x * 2 + 7) % 3 - 1 / x ^ 2 end)
    local y = job({ 1, 2 })
    assert.equal((-1 * 2 + 7) % 3 - 1, y[1])
    assert.equal((-2 * 2 + 7) % 3 - 0.25, y[2])
  end)

  it("fails at its own line, and the job may be called again", function()
    local broken = true
    local job = helper.predict("line", { 2, 3 }, function(x)
      if broken then return flow.matmul(x, x) end
      return x
    end)
    helper.fails(function() job({ { 1, 2, 3 }, { 4, 5, 6 } }) end, "matmul")
    assert.is_nil(require("jfl.core").tracing())
    broken = false
    assert.equal(6, job({ { 1, 2, 3 }, { 4, 5, 6 } }):get(2, 3))
  end)

  local function blamed(text)
    local body = assert(loadstring("local relu = ...\nreturn function(x)\n" .. text .. "\nend",
      "=body.lua"))(flow.nn.relu)
    flow.clear_default_session()
    local ok, err = pcall(helper.predict("tail", { 1 }, body), { 1 })
    assert.is_false(ok)
    assert.truthy(err:find("relu: unknown option 'slope'", 1, true))
    return tonumber(err:match("^body.lua:(%d+): "))
  end

  it("is blamed where it calls in a return statement", function()
    assert.equal(4, blamed("x = x + 1\nreturn relu(x, { slope = 1 })"))
    assert.equal(4, blamed("local y = x + 1\nreturn relu(y,\n{ slope = 1\n})"))
    assert.equal(4, blamed("local t = { slope = 1 }\nreturn relu(x, (function() return t end)())"))
    assert.equal(4, blamed("local pair = function() return x, { slope = 1 } end\n"
      .. "return relu(pair())"))
  end)

  -- Kilobytes of Lua's memory that tracing a long body takes.
  local function garbage(last)
    flow.clear_default_session()
    local body = assert(loadstring("local dense = ...\nreturn function(x)\n"
      .. ("local a = 1\n"):rep(100) .. last .. "\nend"))(flow.layers.dense)
    local job = helper.predict("long", { 1, 1 }, body)
    collectgarbage("stop")
    local before = collectgarbage("count")
    job:compile()
    local made = collectgarbage("count") - before
    collectgarbage("restart")
    return made
  end

  it("makes no more garbage where it calls in a return statement", function()
    garbage("return dense(x, 1)")                -- loads what is loaded at the first use
    assert.near(garbage("x = dense(x, 1)\nreturn x"), garbage("return dense(x, 1)"), 8)
  end)

  it("is blamed where it begins for one of several calls in return statements", function()
    assert.equal(2, blamed("if x.shape[1] == 1 then return relu(x, { slope = 1 }) end\n"
      .. "return relu(x)"))
  end)

  it("is told of comparisons of blobs", function()
    local job = helper.predict("compares", { 1 }, function(x) return x < x + 1 and x or x * 2 end)
    helper.fails(function() return (job({ 1 })) end, "use flow.math.less or flow.math.greater")
  end)

  -- The message for a body that does something to a blob x of extents (2, 3).
  local function said(body)
    flow.clear_default_session()
    local _, err = pcall(helper.predict("j", { 2, 3 }, body), flow.ndarray.ones({ 2, 3 }))
    assert.truthy(err:match("^[^\n]*_spec%.lua:%d+: "), err)
    return err
  end

  it("is told what to use where Lua takes no blob", function()
    local function holds(body, text)
      local err = said(body)
      assert.truthy(err:find(text, 1, true), err)
    end
    holds(function(x) return x < 1 and x end, "a blob has no data while its job's body runs: "
      .. "flow.math.less, greater, equal compare blobs")
    holds(function(x) return 1 < x and x end, "compare number with userdata; a blob has no data")
    holds(function(x) return math.exp(x) end, "ops such as flow.math.exp take blobs")
    holds(function(x) local y = math.max(x, 0) return y end, "such as flow.math.exp")
    holds(function(x) for _, v in ipairs(x) do x = v end return x end,
      "its extents are in blob.shape")
    holds(function(x) return (unpack(x)) end, "its extents are in blob.shape")
    holds(function(x) return #x end,
      "blob 'x' has no length; its extents are x.shape[1], x.shape[2]")
    holds(function(x) return x[9] end, "blob 'x': index must be from 1 to")
    holds(function(x) x[1] = 2 return x end, "blob 'x' cannot be changed")
    holds(function(x) x.name = "y" return x end, "blob 'x' cannot be changed")
    holds(function(x) return x() end, "blob 'x' is no function")
    holds(function(x) for v in x do x = v end return x end, "and cannot be iterated")
    holds(function(x) return x.size end, "a blob has no 'size'; it has shape, dtype and name")
    holds(function(x) return x:totable() end, "totable: blob 'x' has no data while its job's body")
    holds(function(x) return x:get(1) end, "use x[{ i, j }]")
    holds(function(x) return x + "1" end, "add: argument 2 'y' must be a blob or a number")
  end)

  it("is named by every error of what it describes, once and after its line", function()
    local init = { initializer = flow.ones_initializer() }
    for _, body in ipairs {
      function(x) return (flow.matmul(x, x)) end,
      function(x) return (flow.nn.relu(x, { slope = 1 })) end,
      function(x) return (flow.layers.dense(x, -1)) end,
      function(x) return x + flow.get_variable("w", { -1 }, init) end,
      function(x) return x + flow.get_variable("w", { 2, 7 }, init) end,
      function(x) flow.optimizer.SGD(0.1):minimize(x) return x end,
      function(x) return flow.scope.namespace("", function() return x end) end,
      function(x) return x < x and x end,
      function(x) return x.size end,
      function(x) return (flow.nn.gelu_(x)) end,
    } do
      local err = said(body)
      assert.truthy(err:match("^[^\n]-_spec%.lua:%d+: j: "), err)
      assert.is_nil(err:find("j: .*: j: "), err)
    end
  end)

  it("leaves other errors as they are", function()
    local err = said(function() error("attempted to compare apples", 1) end)
    assert.truthy(err:match(": attempted to compare apples$"))
    err = said(function(x) return x, setmetatable({}, {}) < 1 end)
    assert.truthy(err:match(": attempt to compare table with number$"))
  end)

  it("takes numbers on both sides of operators", function()
    local job = helper.predict("sides", { 2 }, function(x)
      return { 3 + x, 3 - x, 3 * x, 3 / x, 3 ^ x, 3 % x, x + 3, x - 3, x * 3, x / 3, x ^ 3, x % 3 }
    end, { returns = tp.List(tp.Numpy) })
    local want = { 5, 1, 6, 1.5, 9, 1, 5, -1, 6, 2 / 3, 8, 2 }
    for i, y in ipairs(job({ 2, 2 })) do assert.is_true(math.abs(want[i] - y[1]) < 1e-6, i) end
  end)

  it("cannot give a blob of another job", function()
    local leaked
    helper.predict("one", { 1 }, function(x) leaked = x return x end):compile()
    helper.fails(function()
      return (helper.predict("two", { 1 }, function() return leaked end)({ 1 }))
    end, "two: the body's result: blob 'x' belongs to job 'one'")
  end)

  it("knows its job", function()
    helper.predict("self", { 1 }, function(x)
      assert.equal("self", flow.current_global_function_desc().name)
      local made = flow.find_or_create_module("m", function() return {} end)
      assert.equal(made, flow.find_or_create_module("m", error, { reuse = true }))
      helper.fails(function() flow.find_or_create_module("m", error) end, "'m' exists in this job")
      return x
    end):compile()
    helper.fails(function() return (flow.current_global_function_desc()) end,
      "must be called inside a job function's body")
  end)

  it("passes on error objects", function()
    local object = {}
    local job = helper.predict("object", { 1 }, function() error(object) end)
    local ok, err = pcall(job, { 1 })
    assert.is_false(ok)
    assert.equal(object, err)
  end)

  it("cannot call a job", function()
    local inner = helper.predict("inner", { 1 }, function(x) return x end)
    local outer = helper.predict("outer", { 1 }, function(x) return inner(x) end)
    helper.fails(function() return (outer({ 1 })) end,
      "inner: a job cannot be used inside the body of 'outer'")
    assert.equal(1, inner({ 1 })[1])
    helper.fails(function() return (outer({ 1 })) end,
      "inner: a job cannot be used inside the body of 'outer'")
    local fresh = helper.predict("fresh", { 1 }, function(x) return x end)
    local compiling = helper.predict("compiling", { 1 }, function(x)
      fresh:compile()
      return x
    end)
    helper.fails(function() return (compiling({ 1 })) end,
      "fresh: a job cannot be used inside the body of 'compiling'")
  end)

  it("cannot initialize variables nor clear the session", function()
    local init = helper.predict("init", { 1 }, function(x)
      flow.train.CheckPoint():init()
      return x
    end)
    helper.fails(function() return (init({ 1 })) end,
      "variables cannot be initialized, saved, loaded or read inside the body of 'init'")
    flow.clear_default_session()
    local clear = helper.predict("clear", { 1 }, function(x)
      flow.clear_default_session()
      return x
    end)
    helper.fails(function() return (clear({ 1 })) end,
      "the session cannot be cleared inside the body of 'clear'")
  end)

  it("runs no callbacks", function()
    local seen = 0
    helper.predict("later", { 1 }, function(x) return x end, { returns = tp.Callback(tp.Numpy) })(
      { 1 })(function() seen = seen + 1 end)
    helper.predict("drains", { 1 }, function(x)
      flow.sync()
      assert.equal(0, flow.poll())
      return x
    end):compile()
    assert.equal(0, seen)
    assert.equal(1, flow.poll())
  end)

  it("cannot yield, and jobs work afterwards", function()
    local yields = helper.predict("yields", { 1 }, function(x)
      coroutine.yield()
      return x
    end)
    local ok, err = coroutine.resume(coroutine.create(function() return yields({ 1 }) end))
    assert.is_false(ok)
    assert.truthy(err:find("_spec.lua:%d+: yields: attempt to yield"))
    local inside = coroutine.wrap(function()
      return helper.predict("inside", { 1 }, function(x) return x + 1 end)({ 1 })
    end)
    assert.equal(2, inside()[1])
  end)

  it("is told what to use where it takes a blob for a result", function()
    local job = helper.predict("data", { 1 }, function(x) return x * x:item() end)
    helper.fails(function() job({ 1 }) end,
      "item: blob 'x' has no data while its job's body runs; use the job's result")
    local dot = helper.predict("dot", { 1 }, function(x) return x * x.get() end)
    helper.fails(function() dot({ 1 }) end, "get: blob has no data")
  end)

  it("keeps its blobs to itself", function()
    local kept
    helper.predict("keep", { 1 }, function(x)
      kept = x
      return x
    end)({ 1 })
    helper.fails(function() return (flow.math.exp(kept)) end, "exp")
    helper.fails(function() return kept + 1 end, "add")
  end)
end)

describe("a call", function()
  before_each(flow.clear_default_session)

  it("takes tables and NdArrays of other dtypes that fit", function()
    local job = flow.global_function { name = "cast", returns = tp.Numpy,
      inputs = { { "n", tp.Numpy.Placeholder({ 3 }, { dtype = flow.int32 }) } },
      body = function(n) return n + 1 end }
    assert.same({ 2, 3, 4 }, job({ 1, 2, 3 }):totable())
    assert.same({ 2, 3, 4 }, job(flow.ndarray.array({ 1, 2, 3 }, "float64")):totable())
    helper.fails(function() job({ 1, 2.5, 3 }) end, "cast: n")
  end)

  it("checks the number of arguments and their shapes", function()
    local job = helper.predict("checks", { 2, 3 }, function(x) return x end)
    helper.fails(function() job() end, "checks: takes 1 argument (x), got 0")
    helper.fails(function() job({ { 1, 2 }, { 3, 4 } }) end,
      "checks: x must be of shape (2, 3), got (2, 2)")
    local err = helper.fails(function() job({ { 1, 2, 3 } }) end,
      "checks: x must be of shape (2, 3), got (1, 3)")
    assert.truthy(err:find("first dimension is -1 takes any batch size", 1, true))
    helper.fails(function() job("x") end, "checks: x must be an array or a table, got")
    assert.equal(6, job({ { 1, 2, 3 }, { 4, 5, 6 } }):get(2, 3))
  end)

  it("names the first value that does not fit, as it is indexed", function()
    local job = helper.predict("fits", { 2, 2 }, function(x) return x end,
      { inputs = { { "x", tp.Numpy.Placeholder({ 2, 2 }, { dtype = flow.int32 }) } } })
    local nd = flow.ndarray
    assert.same({ { 1, 2 }, { 3, 4 } }, job(nd.array { { 1, 2 }, { 3, 4 } }):totable())
    local text = "fits: x[2][1] must fit int32, got 1.5"
    helper.fails(function() job({ { 1, 2 }, { 1.5, 2.5 } }) end, text)
    helper.fails(function() job(nd.array { { 1, 2 }, { 1.5, 2.5 } }) end, text)
    helper.fails(function() job(nd.array({ { 1, 2 }, { 2 ^ 40, 1 } }, "int64")) end,
      "[2][1] must fit int32, got 1099511627776")
    helper.fails(function() job({ { 1, 2 }, { 3 } }) end,
      "x[2] must have 2 elements like those before it, got 1")
    helper.fails(function() job({ 1, 2 }) end, "x must be of shape (2, 2), got (2)")
    helper.fails(function() job({ { 1, { 2 } }, { 3, 4 } }) end, "[1][2] must be a number")
  end)

  it("takes its arguments by name in one table", function()
    local one = helper.predict("one", { 1 }, function(x) return x end)
    local any = helper.predict("any", { 1 }, function(x) return x end,
      { inputs = { { "x", tp.Numpy.Placeholder({ -1, 1 }) } } })
    local two = helper.predict("two", { 1 }, function(x, y) return x - y end, { inputs = {
      { "x", tp.Numpy.Placeholder { 1 } }, { "y", tp.Numpy.Placeholder { 1 } } } })
    assert.equal(1, one { x = { 1 } }[1])
    assert.same({ { 1 }, { 2 } }, any({ x = { { 1 }, { 2 } } }):totable())
    assert.equal(-1, two { y = { 2 }, x = { 1 } }[1])
    helper.fails(function() two { x = { 1 } } end, "two: 'y' is missing")
    helper.fails(function() two { x = { 1 }, y = { 1 }, z = 3 } end,
      "two: has no input 'z'; it takes x, y")
    helper.fails(function() two({ x = { 1 } }, 3) end,
      "two: x must be an array or a list of numbers, got a table with the name 'x'")
    helper.fails(function() any { } end, "any: x must not be empty")
  end)

  it("works in a coroutine, the first one too", function()
    local job = helper.predict("co", { 1 }, function(x) return x * 2 end)
    local double = coroutine.wrap(function(x)
      while true do x = coroutine.yield(job({ x })[1]) end
    end)
    assert.equal(2, double(1))
    assert.equal(8, double(4))
  end)

  it("gives the array of each call its own memory", function()
    local job = helper.predict("own", { 1 }, function(x) return x * 2 end)
    local a, b = job({ 1 }), job({ 2 })
    assert.equal(2, a[1])
    assert.equal(4, b[1])
  end)

  it("of a train job returns what held before its update", function()
    local job = helper.train("before")
    assert.same({ 1, 2 }, job({ 1, 2 }):totable())
    -- The gradient of w is x / 2, the rate 0.5.
    assert.same({ 0.75, 1 }, job({ 1, 2 }):totable())
  end)

  it("sees the updates of other jobs that share variables", function()
    local train = helper.train("t")
    local get = flow.global_function { name = "g", returns = tp.Numpy, body = function()
      return flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
    end }
    assert.same({ 1, 1 }, get():totable())
    train({ 1, 2 })
    assert.same({ 0.75, 0.5 }, get():totable())
  end)
end)

describe("a placeholder with -1", function()
  before_each(flow.clear_default_session)

  local function dynamic(sizes)
    return helper.predict("any", { -1, 2 }, function(x)
      sizes[#sizes + 1] = x.shape[1]
      return x + 1
    end)
  end

  it("takes any batch size, tracing once for each", function()
    local sizes = {}
    local job = dynamic(sizes)
    for _, n in ipairs { 3, 1, 3, 5, 1 } do
      assert.same({ n, 2 }, job(flow.ndarray.zeros({ n, 2 })).shape)
    end
    assert.same({ 3, 1, 5 }, sizes)
  end)

  it("keeps the plans used last", function()
    flow.config.max_plans(2)
    local sizes = {}
    local job = dynamic(sizes)
    for _, n in ipairs { 1, 2, 1, 3, 1, 2 } do job(flow.ndarray.zeros({ n, 2 })) end
    assert.same({ 1, 2, 3, 2 }, sizes)
  end)

  it("keeps its plans when another cannot be compiled", function()
    flow.config.max_plans(1)
    local job = dynamic({})
    job({ { 1, 2 } })
    flow.config.memory_limit(1000)
    local wide = helper.predict("wide", { -1, 2 }, function(x) return flow.nn.softmax(x + 1) end)
    wide({ { 1, 2 } })
    helper.fails(function() wide(flow.ndarray.zeros({ 1000, 2 })) end, "memory_limit is 1000")
    assert.truthy(wide:plan():find("softmax", 1, true))
    assert.same({ 1, 2 }, wide({ { 1, 2 } }).shape)
  end)

  it("keeps a plan that it is about to run from callbacks that want others", function()
    local function square(name, returns)
      return flow.global_function { name = name, returns = returns,
        inputs = { { "x", tp.Numpy.Placeholder({ -1, 200 }) } },
        body = function(x) return flow.matmul(x, x, { transpose_b = true }) end }
    end
    local ones, behind = flow.ndarray.ones, square("behind", tp.Callback(tp.Numpy))
    for name, returns in pairs { now = tp.Numpy, later = tp.Callback(tp.Numpy) } do
      flow.config.max_plans(2)
      local job, sizes = square(name, returns), {}
      local function call(n)
        local given = job(ones { n, 200 })
        local function note(y) sizes[#sizes + 1] = y.shape[1] end
        if name == "now" then note(given) else given(note) end
      end
      for _ = 1, 4 do
        behind(ones { 100, 200 })(function() for n = 11, 14 do call(n) end end)
      end
      for _ = 1, 8 do call(100) end
      flow.sync()
      assert.equal(4 * 4 + 8, #sizes)
    end
  end)

  it("serves several arguments, of sizes of their own", function()
    local traced = 0
    local job = flow.global_function { name = "two", returns = tp.Callback(tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ -1, 2 }) },
        { "y", tp.Numpy.Placeholder({ -1, 2 }) } },
      body = function(x, y)
        traced = traced + 1
        return flow.math.reduce_sum(x) + flow.math.reduce_sum(y)
      end }
    flow.config.max_plans(3)
    local sums = {}
    for i = 1, 20 do
      job(flow.ndarray.ones { i, 2 }, flow.ndarray.ones { 21 - i, 2 })(function(s)
        sums[#sums + 1] = s[1]
      end)
    end
    flow.sync()
    assert.equal(20, traced)
    for i = 1, 20 do assert.equal(42, sums[i]) end
  end)

  it("counts a nil among its arguments", function()
    local job = flow.global_function { name = "pair", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ -1 }) }, { "y", tp.Numpy.Placeholder({ 2 }) } },
      body = function(x) return x end }
    helper.fails(function() return (job({ 1 }, nil)) end, "pair: y must be an array or a table")
  end)

  it("refuses what has no rows or other extents", function()
    local job = dynamic({})
    helper.fails(function() job({}) end, "any: x must not be empty")
    helper.fails(function() job(5) end, "any: x must be an NdArray or a table, got number 5")
    helper.fails(function() job({ { 1, 2, 3 } }) end, "any: x must be of shape (1, 2), got (1, 3)")
    helper.fails(function() job() end, "any: takes 1 argument (x), got 0")
  end)

  it("is compiled for a batch size that is asked for", function()
    local sizes = {}
    local job = dynamic(sizes)
    assert.equal(job, job:compile(4))
    job(flow.ndarray.zeros({ 4, 2 }))
    assert.same({ 4 }, sizes)
  end)
end)

describe("a list placeholder", function()
  before_each(flow.clear_default_session)

  it("takes one array per device, up to its extents", function()
    local job = flow.global_function { name = "list", returns = tp.ListNumpy,
      inputs = { { "x", tp.ListNumpy.Placeholder({ 4 }) } },
      body = function(x) return x * 2 end }
    assert.same({ 2, 4 }, job({ { 1, 2 } })[1]:totable())
    assert.same({ 2, 4, 6, 8 }, job({ flow.ndarray.array({ 1, 2, 3, 4 }) })[1]:totable())
    helper.fails(function() job({ { 1, 2, 3, 4, 5 } }) end,
      "list: x must be of at most shape (4), got (5)")
    helper.fails(function() job({ { 1 }, { 2 } }) end, "list: x must be a list of one NdArray")
    helper.fails(function() job({ { "a" } }) end, "list: x[1] must be a number, got string")
  end)
end)

describe("a batch that is a part of a bigger array", function()
  local core = require "jfl.core"
  local whole

  before_each(function()
    flow.clear_default_session()
    whole = flow.ndarray.rand { 1000, 9 }
  end)

  local function job(kind, returns)
    return flow.global_function { name = "part", returns = returns or tp.Numpy,
      inputs = { { "x", tp[kind].Placeholder { 300, 9 } } }, body = function(x) return x + x end }
  end

  -- The bytes of the arrays that fn makes and does not free, and its result.
  local function growth(fn)
    collectgarbage()
    collectgarbage("stop")
    local before = core.live_bytes()
    local result = fn()
    local after = core.live_bytes()
    collectgarbage("restart")
    return after - before, result
  end

  for kind, wrap in pairs {
    Numpy = function(rows) return rows end,
    ListNumpy = function(rows) return { rows } end,
    ListListNumpy = function(rows) return { { rows } } end,
  } do
    it("is read in place through " .. kind, function()
      local rows = whole:slice(302, 601)
      local want, part = (rows + rows):totable(), job(kind)
      part(wrap(rows))
      local bytes, result = growth(function() return part(wrap(rows)) end)
      assert.equal(300 * 9 * 4, bytes, "the result alone")
      assert.same(want, result:totable())
    end)
  end

  it("is copied by an asynchronous call", function()
    local rows, seen = whole:slice(302, 601), nil
    local want = (rows + rows):totable()
    job("Numpy", tp.Callback(tp.Numpy))(rows)(function(y) seen = y:totable() end)
    rows:fill(0)
    flow.sync()
    assert.same(want, seen)
  end)
end)

describe("the handle of a job", function()
  before_each(flow.clear_default_session)

  it("shows graph and plan as text", function()
    local job = helper.predict("show", { 2 }, function(x)
      return flow.math.exp(x, { name = "e" })
    end)
    assert.truthy(job:graph("optimized"):find("exp", 1, true))
    assert.truthy(job:plan():find("exp", 1, true))
    helper.fails(function() return (job.plan()) end, "plan: call it with a colon: job:plan(...)")
  end)

  it("tells its ops with the numbers of their variables, each once, as a table", function()
    local job = flow.global_function { name = "table", type = "train",
      inputs = { flow.float32 { -1, 3 }, flow.int32 { -1 } },
      body = function(x, labels)
        local w = flow.get_variable("w", { 3, 3 }, { initializer = flow.ones_initializer() })
        local y = flow.matmul(flow.matmul(x, w), w, { name = ("long"):rep(12) })
        local p, q = flow.split(y, { 1, 2 }, 1)
        local loss = flow.nn.cross_entropy(q + p, labels, { name = "loss" })
        flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
        return loss, q
      end }
    local lines = {}
    for line in job:summary():gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal("job 'table' (train)", lines[1])
    assert.equal("x input float32 (1, 3)", (lines[2]:gsub("%s+", " ")))
    assert.equal("matmul_1 matmul float32 (1, 3) 9", (lines[4]:gsub("%s+", " ")))
    assert.equal("longlonglonglonglonglonglonglonglongl... matmul float32 (1, 3)",
      (lines[5]:gsub("%s+", " ")))
    assert.truthy(lines[6]:find "^split_1%s+split%s+float32 %(1, 1%)")
    assert.truthy(lines[#lines - 3]:find "^loss%s+reduce_mean%s+float32 %(1%)")
    assert.same({ "minimizes loss by SGD", "gives loss, split_1/1" },
      { lines[#lines - 2], lines[#lines - 1] })
    assert.equal("9 numbers in 1 variable", lines[#lines])
    helper.fails(function() return (job.summary()) end, "summary: call it with a colon")
  end)

  it("says what it has", function()
    local job = helper.predict("has", { 1 }, function(x) return x end)
    helper.fails(function() job:run({ 1 }) end,
      "job 'has' has no 'run'; it is called, as in has(...), and has name, type, compile(), "
        .. "summary(), graph() and plan()")
    job:compile()
    helper.fails(function() return job.grpah end, "job 'has' has no 'grpah'")
  end)

  it("is of no use once its session was cleared", function()
    local job = helper.predict("gone", { 1 }, function(x) return x end)
    local compiled = helper.predict("gone2", { 1 }, function(x) return x end):compile()
    flow.clear_default_session()
    helper.fails(function() job({ 1 }) end,
      "gone: the session that this job belonged to was cleared; define it again")
    helper.fails(function() return (compiled:plan()) end, "was cleared")
    assert.equal("job 'gone2' (predict)", tostring(compiled))
    helper.fails(function() compiled({ 1 }) end, "was cleared")
    assert.equal(1, helper.predict("gone", { 1 }, function(x) return x end)({ 1 })[1])
  end)
end)

describe("the old spelling", function()
  before_each(flow.clear_default_session)

  local function config(conf)
    local c = flow.function_config()
    c.train.primary_lr(0.5)
    c.train.model_update_conf(conf or { naive_conf = {} })
    return c
  end

  it("has the configuration first", function()
    helper.fails(function()
      local job = flow.global_function({ name = "swapped", body = function() end }, config())
      return job
    end, "the configuration must be followed by a table with name, inputs and body")
  end)

  local function old(c)
    return flow.global_function(c, {
      name = "old", inputs = { { "x", flow.FixedTensorDef({ 2 }) } },
      body = function(x)
        local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
        local loss = x * w
        flow.losses.add_loss(loss)
        return loss
      end,
    })
  end

  it("trains by the configuration and gives futures", function()
    local job = old(config())
    assert.equal("train", job.type)
    assert.same({ 1, 2 }, job({ 1, 2 }):get():totable())
    local future = job({ 1, 2 })
    assert.same({ 0.75, 1 }, future:get():numpy():totable())
    assert.same({ 0.75, 1 }, future:get():totable())
  end)

  it("may train and return nothing", function()
    local body = function(x)
      flow.losses.add_loss(x * flow.get_variable("w", { 2 },
        { initializer = flow.ones_initializer() }))
    end
    local job = flow.global_function(config(), { name = "none", body = body,
      inputs = { { "x", flow.FixedTensorDef({ 2 }) } } })
    local called
    assert.is_nil(job({ 1, 2 }):get())
    job({ 1, 2 }):async_get(function(...) called = select("#", ...) end)
    flow.sync()
    assert.equal(1, called)
    assert.same({ 0.5, 0 }, flow.get_all_variables().w:totable())
    local predict = flow.global_function { name = "forgot", body = function() end }
    helper.fails(function() predict() end, "must return a blob, or a table of blobs, got nothing")
  end)

  it("needs a loss and a rate, and one way to minimize", function()
    local function train(body, c)
      flow.clear_default_session()
      local job = flow.global_function(c, { name = "t", body = body,
        inputs = { { "x", flow.FixedTensorDef({ 2 }) } } })
      return function() job({ 1, 2 }) end
    end
    local function loss_of(x)
      return x * flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
    end
    helper.fails(train(loss_of, config()), "t: no loss was added: call flow.losses.add_loss(loss)")
    helper.fails(train(function(x) flow.losses.add_loss(loss_of(x)) return x end,
      flow.function_config()), "losses.add_loss: job 't' is a predict job, as nothing says how it "
      .. "trains: set the learning rate in its function_config, by config.train.primary_lr(0.1)")
    local rateless = flow.function_config()
    rateless.train.model_update_conf { naive_conf = {} }
    helper.fails(train(function(x) flow.losses.add_loss(loss_of(x)) return x end, rateless),
      "t: losses were added, but there is no learning rate: set it in the function_config")
    helper.fails(train(function(x)
      local loss = loss_of(x)
      flow.losses.add_loss(loss)
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end, config()), "t: an optimizer minimizes a loss, and losses.add_loss adds others")
    local two = config()
    two.train.secondary_lr(0.25)
    helper.fails(train(function(x) flow.losses.add_loss(loss_of(x)) return x end, two),
      "t: train.secondary_lr is 0.25 and primary_lr 0.5: one rate serves all variables")
  end)

  -- What w is after each of three steps whose gradient is { 0.5, 1 }.
  local function steps(conf)
    flow.clear_default_session()
    local job, list = old(config(conf)), {}
    for i = 1, 4 do
      local value = job({ 1, 2 }):get()
      if i > 1 then list[i - 1] = value[1] end
    end
    return list
  end

  it("takes rates, warm-ups and clipping", function()
    assert.same({ 0.75, 0.5, 0.25 }, steps { naive_conf = {} })
    assert.same({ 0.75, 0.625, 0.5 }, steps { naive_conf = {}, learning_rate_decay = {
      piecewise_constant_conf = { boundaries = { 0 }, values = { 0.5, 0.25 } } } })
    assert.same({ 0.75, 0.625, 0.5 }, steps { naive_conf = {}, learning_rate_decay = {
      piecewise_scaling_conf = { boundaries = { 0 }, scales = { 1, 0.5 } } } })
    assert.same({ 0.875, 0.75, 0.5 }, steps { naive_conf = {},
      warmup_conf = { constant_conf = { warmup_batches = 2, multiplier = 0.5 } } })
    assert.same({ 1, 0.875, 0.625 }, steps { naive_conf = {},
      warmup_conf = { linear_conf = { warmup_batches = 2, start_multiplier = 0 } } })
    local clipped = steps { naive_conf = {},
      clip_conf = { clip_by_global_norm = { clip_norm = math.sqrt(1.25) / 2 } } }
    assert.is_true(math.abs(clipped[1] - 0.875) < 1e-6)
  end)

  -- The same of an optimizer of today with this rate.
  local function today(optimizer, rate, options)
    flow.clear_default_session()
    local job, list = flow.global_function { name = "today", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
      body = function(x)
        local w = flow.get_variable("w", { 2 }, { initializer = flow.ones_initializer() })
        flow.optimizer[optimizer](rate, options):minimize(x * w)
        return w
      end }, {}
    for i = 1, 4 do
      local value = job({ 1, 2 })
      if i > 1 then list[i - 1] = value[1] end
    end
    return list
  end

  it("knows all optimizers, schedules and weight decay", function()
    local o = flow.optimizer
    local function same(want, conf) assert.same(want, steps(conf)) end
    same(today("LAMB", 0.5, { epsilon = 1e-8 }), { lamb_conf = {} })
    same(today("LARS", 0.5, { lars_coefficient = 0.1 }), { lars_conf = { lars_coefficient = 0.1 } })
    same(today("LazyAdam", 0.5), { lazy_adam_conf = {} })
    same(today("RMSProp", 0.5, { centered = true }), { rmsprop_conf = { centered = true } })
    local decays = {
      exponential_conf = { "ExponentialScheduler", { decay_rate = 0.5, staircase = true } },
      inverse_time_conf = { "InverseTimeScheduler", { decay_rate = 0.5 } },
      natural_exp_conf = { "NaturalExpScheduler", { decay_rate = 0.5 } },
      polynomial_conf = { "PolynomialScheduler", { power = 2 } },
      cosine_conf = { "CosineScheduler", { alpha = 0.1 } },
      linear_cosine_conf = { "LinearCosineScheduler", { num_periods = 1 } },
    }
    for name, decay in pairs(decays) do
      local fields = { decay_batches = 2 }
      for field, value in pairs(decay[2]) do fields[field] = value end
      decay[2].steps = 2
      same(today("SGD", o[decay[1]](0.5, decay[2]), { momentum = 0 }),
        { naive_conf = {}, learning_rate_decay = { [name] = fields } })
    end
    same(today("SGDW", 0.5, { momentum = 0.5, weight_decay = 0.1 }),
      { momentum_conf = { beta = 0.5 }, weight_decay_conf = { weight_decay_rate = 0.1 } })
    same(today("AdamW", 0.5, { weight_decay = 0.1, weight_decay_excludes = { "w" } }),
      { adam_conf = {}, weight_decay_conf = { weight_decay_rate = 0.1,
        excludes = { pattern = { "w" } } } })
  end)

  it("tells of what it cannot read where it is set", function()
    local function refuses(conf, text)
      local c = flow.function_config()
      helper.fails(function() c.train.model_update_conf(conf) end,
        "train.model_update_conf: " .. text)
    end
    local entries = "adam_conf, lamb_conf, lars_conf, lazy_adam_conf, momentum_conf, naive_conf, "
      .. "rmsprop_conf"
    refuses({}, ("value must have one of %s, as in {naive_conf = {}}"):format(entries))
    refuses(3, "value must be a table, got number 3")
    refuses({ naive_conf = {}, momentum_conf = {} },
      ("value must have one of %s, got two"):format(entries))
    refuses({ naive_conf = 1 }, "naive_conf must be a table, got number 1")
    refuses({ momentum_conf = { beta = "x" } }, "momentum_conf.beta must be a number, got string")
    refuses({ naive_conf = {}, weight_decay_conf = {} },
      "weight_decay_conf.weight_decay_rate must be a number, got nil")
    refuses({ rmsprop_conf = {}, weight_decay_conf = { weight_decay_rate = 0.1 } },
      "weight_decay_conf: RMSProp does not decay weights; flow.regularizers.l2 does so for a layer")
    refuses({ naive_conf = {}, learning_rate_decay = { cosine_conf = {} } },
      "cosine_conf.decay_batches must be a number, got nil")
    refuses({ naive_conf = {}, learning_rate_decay = { cosinus_conf = {} } },
      "learning_rate_decay must be one of cosine_conf, exponential_conf, inverse_time_conf, ")
    refuses({ naive_conf = {}, learning_rate_decay = {} }, "learning_rate_decay must be one of ")
    refuses({ naive_conf = {}, warmup_conf = { linear_conf = { warmup_batches = 1 } } },
      "linear_conf.start_multiplier must be a number, got nil")
    refuses({ naive_conf = {}, clip_conf = { clip_by_global_norm = { clip_norm = 0 } } },
      "clip_norm must be a positive number, got 0")
    refuses({ naive = {} }, "unknown entry 'naive'; entries are one of adam_conf, lamb_conf, ")
  end)

  it("takes callbacks", function()
    local seen
    old(config())({ 1, 2 }):async_get(function(value) seen = value:totable() end)
    flow.sync()
    assert.same({ 1, 2 }, seen)
  end)

  it("knows momentum and says what else it does not know", function()
    local job = old(config { momentum_conf = { beta = 0.5 } })
    job({ 1, 2 }):get()
    job({ 1, 2 }):get()
    -- m = -0.25, then 0.5 m - 0.25.
    assert.equal(1 - 0.25 - 0.375, job({ 1, 2 }):get()[1])
    flow.clear_default_session()
    helper.fails(function() old(config { momentum_conf = { bata = 0.5 } })({ 1, 2 }) end,
      "momentum_conf: unknown field 'bata'; fields are beta")
    flow.clear_default_session()
    helper.fails(function() old(config { learning_rate_decay = 3 })({ 1, 2 }) end,
      "learning_rate_decay must be a table, got number 3")
  end)

  it("knows Adam", function()
    local job = old(config { adam_conf = { beta1 = 0, beta2 = 0, epsilon = 0 } })
    job({ 1, 2 }):get()
    -- The step is the sign of the gradient, times the rate.
    assert.is_true(math.abs(job({ 1, 2 }):get()[1] - 0.5) < 1e-6)
    flow.clear_default_session()
    helper.fails(function() old(config { adam_conf = { beta3 = 0.5 } })({ 1, 2 }) end,
      "adam_conf: unknown field 'beta3'; fields are beta1, beta2, do_bias_correction, epsilon")
  end)

  it("is a predict job without a training configuration", function()
    local job = flow.global_function(flow.function_config(),
      { name = "p", body = function() return { a = flow.ones({ 2 }) } end })
    assert.equal("predict", job.type)
    assert.same({ 1, 1 }, job():get().a:totable())
  end)
end)
