--- A job that is defined again under its name: what stays, what is new, what is refused.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

-- Trains w (3) towards y, with dropout so that the random stream shows too.
local function define(fields)
  local o = { optimizer = function() return flow.optimizer.SGD(0.1, { momentum = 0.9 }) end,
    size = 3, type = "train", name = "job" }
  for key, value in pairs(fields or {}) do o[key] = value end
  return flow.global_function {
    name = o.name, type = o.type, returns = o.returns or tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ o.rows or 2, o.size }) } },
    body = function(x)
      local w = flow.get_variable(o.variable or "w", { shape = { o.size }, dtype = o.dtype,
        initializer = flow.ones_initializer() })
      local loss = flow.math.square(flow.nn.dropout(x, 0.5) * flow.cast(w, flow.float))
      if o.type == "train" then o.optimizer():minimize(loss) end
      return loss
    end,
  }
end

local values = helper.variables

local x = nd.full({ 2, 3 }, 0.5)

describe("a job defined anew", function()
  local directory, told

  local function listen()
    told = {}
    flow.config.on_warning(function(text) told[#told + 1] = text end)
  end

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    listen()
  end)
  after_each(function() helper.remove(directory) end)
  teardown(flow.clear_default_session)

  it("is the same object, which whoever held it calls as the new one", function()
    local function make(n)
      local job = helper.predict("job", { n }, function(v) return v + n end)
      return job
    end
    local old = make(1)
    assert.equal(2, old({ 1 })[1])
    assert.equal(old, make(2))
    assert.same({ 3, 4 }, old({ 1, 2 }):totable())
    helper.fails(function() old({ 1 }) end, "job: x must be of shape (2), got (1)")
    assert.same({}, told)
  end)

  -- Runs steps; before those in `at` the job is defined anew.
  local function trained(optimizer, steps, at)
    flow.clear_default_session()
    flow.random.seed(7)
    local losses, job = {}, nil
    for i = 1, steps do
      if i == 1 or at[i] then job = define { optimizer = optimizer } end
      losses[i] = helper.list(job(x))
    end
    return losses, values()
  end

  for name, optimizer in pairs {
    momentum = function() return flow.optimizer.SGD(0.1, { momentum = 0.9 }) end,
    Adam = function() return flow.optimizer.Adam(0.1) end,
    ["a schedule"] = function()
      return flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler({ 2, 5 }, { 1, 0.1, 0 }))
    end,
  } do
    it("goes on to the last bit as if it were not: " .. name, function()
      local losses, all = trained(optimizer, 8, {})
      local again, same = trained(optimizer, 8, { [2] = true, [5] = true, [6] = true })
      assert.same(losses, again)
      assert.same(all, same)
    end)
  end

  it("may train or not, and keeps the state of its optimizer meanwhile", function()
    local _, all = trained(nil, 2, {})
    local job = define { type = "predict" }
    assert.equal("predict", job.type)
    assert.equal("job 'job' (predict)", tostring(job))
    job(x)
    assert.same(all, values())
    flow.clear_default_session()
    listen()
    flow.random.seed(7)
    for _ = 1, 2 do define()(x) end
    assert.same(all, values())
    define { type = "predict" }:compile()
    define { type = "train" }(x)
    local now = values()
    flow.clear_default_session()
    trained(nil, 3, {})
    assert.same(now, values())
  end)

  it("may have other inputs and another batch size", function()
    define()(x)
    assert.same({ 5, 3 }, define { rows = 5 }(nd.ones({ 5, 3 })).shape)
    local job = define { rows = -1 }
    assert.same({ 1, 3 }, job(nd.ones({ 1, 3 })).shape)
    assert.same({ 4, 3 }, job(nd.ones({ 4, 3 })).shape)
    assert.same({ 2, 3 }, define()(x).shape)
  end)

  it("gives another optimizer a fresh state, and the former its own when it is back", function()
    local function sgd() return flow.optimizer.SGD(0, { momentum = 0.9 }) end
    local function adam() return flow.optimizer.Adam(0) end
    define { optimizer = sgd }(x)
    local before = values()
    define { optimizer = adam }:compile()
    local slots = 0
    for name, value in pairs(values()) do
      if before[name] then assert.same(before[name], value)
      else
        slots = slots + 1
        assert.same({ 0, 0, 0 }, value)
      end
    end
    assert.equal(2, slots)
    define { optimizer = sgd }:compile()
    for name, value in pairs(before) do assert.same(value, values()[name]) end
  end)

  it("keeps a rate that was set", function()
    local optimizer
    local function sgd(rate)
      return function()
        optimizer = flow.optimizer.SGD(rate)
        return optimizer
      end
    end
    define { optimizer = sgd(0.1) }(x)
    optimizer:set_lr(0.25)
    define { optimizer = sgd(0.5) }(x)
    assert.equal(0.25, optimizer.lr)
    optimizer:set_lr(nil)
    assert.equal(0.5, optimizer.lr)
    define { type = "predict" }
    helper.fails(function() optimizer:set_lr(1) end,
      "job: optimizer number 1 must be one that the job has, got 0 of them")
  end)

  it("keeps variables that no job uses any longer, also in checkpoints", function()
    local path = directory .. "/model"
    define { variable = "first" }(x)
    local first = values().first
    define { variable = "second" }(x)
    assert.same(first, values().first)
    flow.checkpoint.save(path)
    flow.load_variables({ first = { 9, 9, 9 } })
    assert.same({}, flow.checkpoint.load(path).unexpected)
    define { variable = "first", type = "predict" }:compile()
    assert.same(first, values().first)
    flow.clear_default_session()
    listen()
    define { variable = "second" }
    local report = flow.checkpoint.load(path, { strict = false })
    assert.same({}, report.missing)
    assert.truthy(told[1]:find("no job here has: first$"), told[1])
  end)

  -- A job whose variables a and c are of that size and dtype.
  local function two(name, size, dtype)
    local job = helper.predict(name, { 2 }, function(v)
      local init = { initializer = flow.zeros_initializer() }
      local a, b = flow.get_variable("a", { size }, init), flow.get_variable("b", { 2 }, init)
      local c = flow.get_variable("c", { shape = { 2 }, dtype = dtype,
        initializer = flow.zeros_initializer() })
      return v + b + flow.math.reduce_sum(a) + flow.cast(c, flow.float)
    end)
    return job
  end

  local function misfit(name)
    return name .. ": variable 'a' must be float32 (3) as job 'two' made it, got float32 (4); "
      .. "variable 'c' must be float32 (2) as job 'two' made it, got float64 (2); jobs share "
      .. "variables by their names: give what differs another name, drop what there is with "
      .. "flow.drop_variables{\"a\", \"c\"}, or everything with flow.clear_default_session()"
  end

  it("is told of all variables that do not fit, at once, and corrected after that", function()
    two("two", 3, flow.float)({ 1, 2 })
    local job = two("other", 4, flow.double)
    helper.fails(function() job({ 1, 2 }) end, misfit "other")
    assert.same({ 0, 0, 0 }, values().a)
    assert.truthy(told[1]:find("job 'other' (", 1, true))
    assert.same({ 1, 2 }, two("other", 3, flow.float)({ 1, 2 }):totable())
    assert.equal(1, #told)
  end)

  local STAYS = "; job 'two' goes on as it was defined before"

  it("goes on in a box, with the calls in flight, where a text or a body fails", function()
    local box = flow.sandbox {}
    box:run [[
      flow = require "jfl"
      seen = {}
      function define(width, body)
        local tp = flow.typing
        hot = flow.global_function { name = "hot", returns = tp.Callback(tp.Numpy),
          inputs = { { "x", tp.Numpy.Placeholder { 2, 4 } } },
          body = body or function(x) return flow.layers.dense(x, width, { name = "d" }) end }
      end
      function ask()
        hot(flow.ndarray.ones { 2, 4 })(function(y) seen[#seen + 1] = y.shape[2] end)
      end
      define(3)
      for _ = 1, 4 do ask() end]]
    for text, wrong in pairs {
      ["define(3, function(x return x end)"] = "text:1: ')' expected near 'return'",
      ["define(5)"] = "must be float32 (3, 4) as job 'hot' made it, got float32 (5, 4)",
      ["define(3, function(x) return x.shape.y.z end)"] = "attempt to index field 'y'",
    } do
      helper.fails(function() box:run(text) end, wrong)
      box:run "ask()"
    end
    box:run "define(3, function(x) return flow.layers.dense(x, 3, { name = 'd' }) * 2 end) ask()"
    assert.equal("3 3 3 3 3 3 3 3", box:run "flow.sync() return table.concat(seen, ' ')")
  end)

  it("runs on as it was where its variables no longer fit", function()
    local job = two("two", 3, flow.float)
    job({ 1, 2 })
    local graph = job:graph()
    helper.fails(function() two("two", 4, flow.double) end, misfit "two" .. STAYS)
    assert.same({ 1, 2 }, job({ 1, 2 }):totable())
    assert.equal(graph, job:graph())
    assert.same({ 0, 0, 0 }, values().a)
    assert.is_false(pcall(two, "two", 4, flow.double))
    flow.drop_variables({ "a", "c" })
    assert.equal(job, two("two", 4, flow.double))
    assert.same({ 1, 2 }, job({ 1, 2 }):totable())
    assert.same({ 0, 0, 0, 0 }, values().a)
    assert.same({}, told)
  end)

  it("runs on as it was where the new body fails, once it has run", function()
    local bodies = 0
    local function make(n, wrong)
      local job = helper.predict("two", { n, 2 }, function(v)
        bodies = bodies + 1
        return wrong and v.shp or v + v
      end)
      return job
    end
    for _, rows in ipairs { 3, -1 } do
      flow.clear_default_session()
      listen()
      local job = make(rows)
      job(nd.ones({ 3, 2 }))
      helper.fails(function() make(rows, true) end, STAYS)
      assert.same({ 3, 2 }, job(nd.ones({ 3, 2 })).shape)
      flow.get_all_variables()
      assert.same({}, told)
    end
    assert.is_true(bodies < 8)
  end)

  it("leaves an optimizer that it shares with the job before", function()
    local sgd, job = flow.optimizer.SGD(0.1), nil
    local function make(size)
      job = define { optimizer = function() return sgd end, size = size }
    end
    make(3)
    job(x)
    make(3)
    sgd:set_lr(0.25)
    assert.is_false(pcall(make, 4))
    assert.equal(0.25, sgd.lr)
    sgd:set_lr(0.5)
    assert.equal(0.5, sgd.lr)
    job(x)
  end)

  it("is so without waiting for runs", function()
    local job, tries, pending = helper.slow(), 0
    repeat
      job({ 1 })
      job({ 1 })
      helper.slow()
      pending, tries = require "jfl.core".pending(), tries + 1
      flow.sync()
    until pending > 0 or tries == 50
    assert.is_true(pending > 0)
  end)

  it("is asked about the rows that it was called with", function()
    local function make(n)
      return helper.predict("two", { -1, 2 }, function(v)
        assert(v.shape[1] == 6, "6 rows")       -- as of a body that takes no other
        return v * n
      end)
    end
    make(1)(nd.ones({ 6, 2 }))
    assert.equal(2, make(2)(nd.ones({ 6, 2 }))[1][1])
  end)

  it("is warned of anew only if it fails again", function()
    for i, right in ipairs { false, false, true } do
      helper.predict("job", { 1 }, function(v) return right and v or v.shp end)
      flow.get_all_variables()
      flow.get_all_variables()
      assert.equal(math.min(i, 2), #told)
    end
  end)

  it("stays as it was where the definition itself is refused", function()
    local job = helper.predict("job", { 1 }, function(v) return v + 1 end)
    helper.fails(function() flow.global_function { name = "job", body = 5 } end,
      "must be a function")
    helper.fails(function()
      flow.global_function { name = "job", type = "eval", body = print }
    end, "type must be")
    assert.equal(2, job({ 1 })[1])
  end)

  it("lets queued calls end as they began, with their callbacks", function()
    local seen, big = {}, nd.ones({ 256, 256 })
    local function slow(n, returns)
      return helper.predict("job", { 256, 256 }, function(v)
        local y = flow.matmul(v, v)
        for _ = 1, 8 do y = flow.matmul(y, v) / 256 end
        return returns and { a = y * n } or y * n
      end, { returns = tp.Callback(returns or tp.Numpy) })
    end
    local job = slow(1)
    for _ = 1, 2 do job(big)(function(y) seen[#seen + 1] = y:get(1, 1) end) end
    slow(2, tp.Dict(tp.Numpy))
    for _ = 1, 2 do job(big)(function(t) seen[#seen + 1] = t.a:get(1, 1) end) end
    helper.predict("job", { 1 }, function(v) return v end)
    assert.equal(5, job({ 5 })[1])
    flow.sync()
    assert.same({ 256, 256, 512, 512 }, seen)
  end)

  it("may be so in a callback, in a watch and in a call that runs callbacks", function()
    local function make(n)
      return helper.predict("job", { -1 }, function(v)
        return v * n
      end, { returns = tp.Callback(tp.Numpy) })
    end
    local seen, job = {}, make(1)
    job({ 1 })(function()
      make(2)
      job({ 1, 1 })(function(y) seen[#seen + 1] = y[2] end)
    end)
    job({ 3 })(function(y) seen[#seen + 1] = y[1] end)
    flow.sync()
    table.sort(seen)
    assert.is_true(seen[1] == 2 and (seen[2] == 3 or seen[2] == 6), table.concat(seen, " "))
    local function watched(n)
      helper.predict("watched", { 1 }, function(v)
        flow.watch(v, function() if n == 1 then watched(2) end end)
        return v * n
      end)
    end
    watched(1)
    local handle = helper.predict("watched", { 1 }, function(v)
      flow.watch(v, function() watched(2) end)
      return v * 10
    end)
    assert.equal(10, handle({ 1 })[1])
    assert.equal(2, handle({ 1 })[1])
  end)

  it("cannot be so inside a body", function()
    local job
    job = helper.predict("job", { 1 }, function(v)
      helper.predict("job", { 1 }, function(u) return u end)
      return v
    end)
    helper.fails(function() job({ 1 }) end,
      "job: a job cannot be defined anew inside the body of 'job'")
  end)

  it("is measured by a profile before and after", function()
    local real, ops = print, {}
    _G.print = function() end -- luacheck: ignore
    local rows = flow.profile(function()
      for _, op in ipairs { "exp", "sign" } do
        helper.predict("job", { 1 }, function(v) return flow.math[op](v) end)({ 1 })
      end
    end)
    _G.print = real -- luacheck: ignore
    for _, row in ipairs(rows) do ops[row.op] = row.runs end
    assert.equal(1, ops.exp)
    assert.equal(1, ops.sign)
  end)

  it("is told of where two files or two lines of one function may mean two jobs", function()
    for _, file in ipairs { "@a.lua", "@b.lua", "=stdin", "@b.lua" } do
      assert(loadstring("(...).global_function { name = 'job', body = print }", file))(flow)
    end
    assert.same({ "job 'job' (a.lua:1) is defined anew (b.lua:1): if these are two jobs, give one "
      .. "another name" }, told)
    for _ = 1, 2 do flow.global_function { name = "loop", body = function(v) return v end } end
    assert.equal(1, #told)
    flow.global_function { name = "loop", body = function(v) return v end }
    assert.equal(2, #told)
  end)

  it("is what a script does that is run twice", function()
    local path = directory .. "/train.lua"
    local file = assert(io.open(path, "w"))
    file:write([[
      local flow = require "jfl"
      local tp = flow.typing
      local function network(x) return flow.layers.dense(x, 2, { name = "dense" }) end
      local train = flow.global_function { name = "train", type = "train",
        inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) } }, returns = tp.Callback(tp.Numpy),
        body = function(x)
          local loss = flow.math.square(network(x))
          flow.optimizer.Adam(0.1):minimize(loss)
          return loss
        end }
      local evaluate = flow.global_function { name = "eval",
        inputs = { { "x", tp.Numpy.Placeholder({ 4, 3 }) } }, returns = tp.Numpy,
        body = network }
      local rows = flow.ndarray.ones({ 12, 3 })
      for _, _, x in flow.data.loop({ rows:reshape({ 3, 4, 3 }) }, { epochs = 2 }) do
        train(x)(function() end)
      end
      flow.checkpoint.save(... .. "/model", { overwrite = true })
      evaluate(flow.ndarray.ones({ 4, 3 }))
    ]])
    file:close()
    for _ = 1, 3 do assert(loadfile(path))(directory) end
    flow.sync()
    assert.same({ 18 }, values()["System-Train-TrainStep-train"])
    assert.same({}, told)
  end)

  it("leaves memory flat when it is so a thousand times", function()
    if helper.sanitized() then return pending("the sanitizer holds memory back") end
    local out, status = helper.script(helper.RESIDENT .. [[
      local flow = require "jfl"
      local tp = flow.typing
      local function reload(i)
        local ok, job = pcall(flow.global_function, { name = "job",
          type = i % 2 == 0 and "train" or "predict",
          inputs = { { "x", tp.Numpy.Placeholder({ 4, 64 }) } },
          returns = i % 3 == 0 and tp.Callback(tp.Numpy) or tp.Numpy,
          body = function(x)
            for k = 1, 4 do x = flow.layers.dense(x, 64, { name = "d" .. k }) end
            if i % 5 == 0 then return x.shp end
            flow.watch(x, function() end)
            if i % 2 == 0 then
              flow.optimizer[i % 4 == 0 and "SGD" or "Adam"](0.01):minimize(x)
            end
            return x
          end })
        if i % 5 == 0 then return assert(not ok) end
        local value = job(flow.ndarray.ones({ 4, 64 }))
        if i % 3 == 0 then value(function() end) end
      end
      for i = 1, 300 do reload(i) end
      local before = resident()
      for i = 301, 1300 do reload(i) end
      flow.sync()
      print(resident() - before)
    ]])
    assert.equal(0, status, out)
    assert.is_true(tonumber(out) < 512, out .. " KiB more")
  end)
end)
