-- Sessions: jobs, runs that wait and runs that do not, variables, and how all of it ends.
local core = require "jfl.core"
local helper = require "spec.bind.helper"

local message = helper.message

local function floats(t) return core.from_table(t, "float32") end

describe("a plan", function()
  before_each(core.reset)
  after_each(core.reset)

  it("runs on arrays and tables", function()
    local plan = helper.adder("job", 2)
    assert.same({ 2, 3 }, core.to_table(core.run(plan, floats { 1, 2 })))
    assert.same({ 2, 3 }, core.to_table(core.run(plan, { 1, 2 })))
    assert.same({ 2, 3 }, core.to_table(core.run(plan, core.from_table({ 1, 2 }, "int32"))))
    assert.equal("plan", core.type(plan))
    assert.matches("add", core.plan_text(plan))
  end)

  it("checks what it is given", function()
    local plan = helper.adder("job", 2)
    local function run_error(expected, ...)
      assert.equal("user.lua:2: " .. expected, message("\nc.run(...)", plan, ...))
    end
    run_error("job: x must be of shape (2), got (3); a placeholder whose first dimension is -1 "
      .. "takes any batch size", floats { 1, 2, 3 })
    run_error("job: x must be of shape (2), got (1, 2)", { { 1, 2 } })
    run_error("job: takes 1 argument (x), got 0")
    run_error("job: takes 1 argument (x), got 2", floats { 1, 2 }, 1)
    run_error("job: x must be an array or a table, got number", 1)
    run_error("job: x must be an array or a table, got nil", nil)
    run_error("job: x[2] must be a number, got string; tonumber(text) gives its number", { 1, "y" })
    local freed = floats { 1, 2 }
    core.free(freed)
    run_error("job: x: the array was freed", freed)
    assert.same({ 2, 3 }, core.to_table(core.run(plan, { 1, 2 })))
  end)

  it("casts without loss only", function()
    local plan = helper.compile("ints", "predict", function(graph)
      core.output(graph, core.op("add")(core.input(graph, "x", "int32", { 2 }), 1))
    end)
    assert.same({ 2, 3 }, core.to_table(core.run(plan, floats { 1, 2 })))
    assert.matches("^user.lua:1: ints: x%[2%] ", message("c.run(...)", plan, floats { 1, 2.5 }))
    local float = helper.adder("floats", 2)
    assert.equal(math.huge, core.to_table(core.run(float, { math.huge, 1 }))[1])
    assert.matches("x%[2%] must fit float32, got 1e%+300",
      message("c.run(...)", float, { 1, 1e300 }))
  end)

  it("gives several results", function()
    local plan = helper.compile("several", "predict", function(graph)
      local x = core.input(graph, "x", "float32", { 2 })
      for i = 1, 20 do core.output(graph, core.op("add")(x, i)) end
    end)
    local results = { core.run(plan, { 0, 1 }) }
    assert.equal(20, #results)
    assert.same({ 20, 21 }, core.to_table(results[20]))
  end)

  it("starts variables with numbers that their dtype holds", function()
    local function start(spec)
      return (helper.compile(spec.name, "predict", function(graph)
        core.output(graph, core.variable(graph, spec))
      end))
    end
    local ok, said = pcall(start, { name = "wide", dtype = "int32", shape = { 2 }, init = "uniform",
      a = 1, b = 2e30 })
    assert.is_false(ok)
    assert.matches("the initializer's value must fit int32, got 2e%+30", said)
    for _, a in ipairs { 300, -129, 0.5, 0 / 0 } do
      ok, said = pcall(start, { name = "v" .. a, dtype = "int8", shape = { 2 }, a = a })
      assert.is_false(ok)
      assert.matches("must fit int8", said)
    end
  end)

  it("can be freed", function()
    local plan = helper.adder("job", 2)
    local request = core.call(plan, { 1, 2 })
    core.plan_free(plan)
    core.plan_free(plan)
    assert.is_true(core.done(request))
    assert.equal("user.lua:1: job: the plan was freed", message("c.run(..., {1, 2})", plan))
  end)

  it("ends with its session", function()
    local plan, job = helper.adder("job", 2)
    core.reset()
    assert.equal("user.lua:1: job: the session was cleared", message("c.run(..., {1, 2})", plan))
    assert.equal("user.lua:1: job: the session was cleared",
      message("c.compile(...)", job, core.graph("job", "predict")))
    core.plan_free(plan)
    assert.same({ 2, 3 }, core.to_table(core.run(helper.adder("job", 2), { 1, 2 })))
  end)

  it("of a name in use is refused", function()
    helper.adder("job", 2)
    assert.matches("^user.lua:1: .*'job'", message("c.job('job', 'predict')"))
  end)
end)

describe("a request", function()
  before_each(core.reset)
  after_each(core.reset)

  it("is done after a wait and keeps its results", function()
    local plan = helper.adder("job", 2)
    local request = core.call(plan, { 1, 2 })
    assert.equal("request", core.type(request))
    core.wait(request)
    assert.is_true(core.done(request))
    assert.same({ 2, 3 }, core.to_table(core.value(request)))
    assert.equal(0, core.pending())
  end)

  it("gives all results, however many", function()
    for n = 1, 4 do
      local plan = helper.compile("job" .. n, "predict", function(graph)
        local x = core.input(graph, "x", "float32", { 2 })
        for _ = 1, n do
          x = core.op("add")(x, x)
          core.output(graph, x)
        end
      end)
      local request = core.call(plan, { 1, 2 })
      core.wait(request)
      for _ = 1, 2 do
        local given = n == 1 and { core.value(request) } or core.value(request)
        assert.equal(n, #given)
        for i = 1, n do assert.same({ 2 ^ i, 2 ^ (i + 1) }, core.to_table(given[i])) end
      end
    end
  end)

  it("copies what it is given", function()
    local plan, x = helper.adder("job", 2), floats { 1, 2 }
    local request = core.call(plan, x)
    core.fill(x, 9)
    core.wait(request)
    assert.same({ 2, 3 }, core.to_table(core.value(request)))
  end)

  it("tells of a run that failed", function()
    local plan = helper.compile("loss", "predict", function(graph)
      local labels = core.input(graph, "labels", "int32", { 1 })
      local logits = core.input(graph, "logits", "float32", { 1, 3 })
      core.output(graph,
        core.op("sparse_softmax_cross_entropy_with_logits")(labels, logits))
    end)
    local request = core.call(plan, { 7 }, { { 1, 2, 3 } })
    core.wait(request)
    assert.matches("^user.lua:1: .*7", message("c.value(...)", request))
    assert.matches("^user.lua:1: .*7", message("c.run(..., {7}, {{1, 2, 3}})", plan))
    assert.is_true(core.run(plan, { 2 }, { { 1, 2, 3 } })[1] > 0)
  end)

  it("outlives its session", function()
    local plan = helper.adder("job", 2)
    local done, dropped = core.call(plan, { 1, 2 }), core.call(plan, { 1, 2 })
    core.wait(done)
    core.reset()
    assert.same({ 2, 3 }, core.to_table(core.value(done)))
    core.wait(dropped)
    assert.is_true(core.done(dropped))
  end)

  it("makes the event descriptor readable", function()
    assert.is_true(core.fd() >= 0)
    assert.equal(core.fd(), core.fd())
  end)

  it("waits no longer than it is told", function()
    core.wait(nil, 0)
    core.wait()
  end)
end)

describe("a session", function()
  before_each(core.reset)
  after_each(core.reset)

  it("has settings", function()
    core.set("max_inflight", 5)
    assert.equal(5, core.get("max_inflight"))
    core.set("kernels", "reference")
    core.set("kernels", "fast")
    local said, n = message("c.set('max_in', 5)"), 0
    assert.matches("^user.lua:1: unknown setting 'max_in'; settings are threads, ", said)
    for name in said:match("settings are (.*)"):gmatch("[^, ]+") do
      assert.is_number(core.get(name))
      n = n + 1
    end
    assert.equal(13, n)
    assert.matches("^user.lua:1: ", message("c.get('max_in')"))
    assert.matches("^user.lua:1: .*kernels", message("c.set('kernels', 'quick')"))
  end)

  it("gives and takes variables", function()
    helper.adder("job", 2)
    assert.same({ "v" }, core.variables())
    assert.same({ 1, 1 }, core.to_table(core.variable_get("v")))
    core.variable_set("v", { 3, 4 })
    assert.same({ 3, 4 }, core.to_table(core.variable_get("v")))
    core.variable_set("v", floats { 5, 6 })
    assert.same({ 5, 6 }, core.to_table(core.variable_get("v")))
    assert.matches("^user.lua:1: .*'?w'?", message("c.variable_get('w')"))
    assert.matches("^user.lua:1: ", message("c.variable_set('v', {1, 2, 3})"))
  end)

  it("trains", function()
    local plan = helper.compile("train", "train", function(graph)
      local x = core.input(graph, "x", "float32", { 4 })
      local w = core.variable(graph, { name = "w", dtype = "float32", shape = { 4 }, a = 1 })
      local loss = core.op("multiply")(w, x)
      core.minimize(graph, { losses = { loss }, optimizer = "SGD", options = { momentum = 0 },
        schedule = "piecewise_constant_schedule",
        schedule_options = { boundaries = {}, values = { 4 } } })
      core.output(graph, loss)
    end)
    local loss = core.run(plan, { 1, 2, 3, 4 })
    assert.same({ 1, 2, 3, 4 }, core.to_table(loss))
    assert.same({ 0, -1, -2, -3 }, core.to_table(core.variable_get("w")))
  end)

  it("refuses an optimizer or schedule that is not there", function()
    local graph = core.graph("train", "train")
    core.trace(graph)
    local w = core.variable(graph, { name = "w", dtype = "float32", shape = { 1 } })
    local loss = core.op("multiply")(w, w)
    core.trace(nil)
    assert.matches("^user.lua:1: .*Sgd", message("local g, y = ... "
      .. "c.minimize(g, {losses = {y}, optimizer = 'Sgd', schedule = 'x'})", graph, loss))
    assert.matches("^user.lua:1: minimize: optimizer must be a string, got nil", message(
      "c.minimize(..., {losses = {select(2, ...)}})", graph, loss))
  end)

  it("saves and loads", function()
    helper.adder("job", 2)
    local path = os.tmpname()
    os.remove(path)
    core.variable_set("v", { 7, 8 })
    core.save(path, false)
    core.variable_set("v", { 0, 0 })
    assert.matches("^user.lua:1: .*overwrite", message("c.save(..., false)", path))
    local report = core.load(core.checkpoint_open(path), true)
    assert.same({ loaded = { "v" }, missing = {}, unexpected = {}, state = {} }, report)
    assert.same({ 7, 8 }, core.to_table(core.variable_get("v")))
    os.remove(path .. "/model.safetensors")
    os.remove(path)
    assert.matches("^user.lua:1: .*" .. path:gsub("%p", "%%%0"),
      message("c.checkpoint_open(...)", path))
    assert.matches("^user.lua:1: load: the checkpoint is not open", message("c.load(...)", path))
  end)
end)

describe("an open checkpoint", function()
  local path

  before_each(function()
    core.reset()
    path = os.tmpname()
    os.remove(path)
    core.write_arrays(path, false, { "a", "b" }, { core.from_table({ 1, 2 }, "int32"),
      core.from_table({ { 3 } }, "float64") })
  end)

  after_each(function() os.execute("rm -rf " .. path) end)

  it("tells of its tensors and reads them, without a session's variables", function()
    local file = core.checkpoint_open(path)
    assert.same({ single = false, unfinished = false, notes = {} }, core.checkpoint_about(file))
    assert.same({ "b", 8, { 1, 1 }, "float64", true }, { core.checkpoint_tensor(file, 2) })
    assert.is_nil(core.checkpoint_tensor(file, 3))
    assert.is_nil(core.checkpoint_tensor(file, 0))
    assert.same({ 1, 2 }, core.to_table(core.checkpoint_read(file, 1)))
    assert.same({ "a", "b" }, core.load(file, false).unexpected)
    assert.same({ "b" }, core.load(file, false, { "b" }).unexpected)
    assert.same({}, core.variables())
  end)

  it("refuses what it is not, and is of no use once it is closed", function()
    local file = core.checkpoint_open(path)
    core.save(path, true, { "key" }, { "value" })
    core.checkpoint_close(file)
    core.checkpoint_close(file)
    for _, name in ipairs { "checkpoint_about", "checkpoint_tensor", "checkpoint_read", "load" } do
      local text = ("c.%s(...)"):format(name)
      for _, bad in ipairs { file, false, 5, core.array("int32", { 1 }), io.stdout } do
        assert.matches("^user.lua:1: " .. name .. ": the checkpoint is not open",
          message(text, bad))
      end
    end
    file = core.checkpoint_open(path)
    assert.same({ key = "value" }, core.checkpoint_about(file).notes)
    assert.matches("number must be from 1 to %d, got 9", message("c.checkpoint_read(..., 9)", file))
    assert.matches("save: values must be as many as the 1 keys, got 0",
      message("c.save(..., true, {'a'}, {})", path))
    assert.matches("save: key", message("c.save(..., true, {1}, {'a'})", path))
    assert.matches("a", message("c.write_arrays(..., true, {'a'}, {})", path))
    assert.matches("zero byte", message("c.checkpoint_open(...)", path .. "\0"))
    assert.is_nil(core.directory(path .. "/none"))
    assert.same({ "model.safetensors" }, core.directory(path))
  end)
end)

describe("the end of a process", function()
  local start = [[
    local c = require "jfl.core"
    local g = c.graph("job", "predict")
    c.trace(g)
    local x = c.input(g, "x", "float32", {2^18})
    c.output(g, c.op("add")(x, 1))
    c.trace(nil)
    local plan = c.compile(c.job("job", "predict"), g)
    local a = c.array("float32", {2^18})
  ]]

  it("is clean with runs in flight", function()
    local said, status = helper.child(start .. [[
      keep = {c.call(plan, a), c.call(plan, a), plan, a, g}
      io.write("bye")]])
    assert.equal("bye", said)
    assert.equal(0, status, said)
  end)

  it("is clean when finalizers still use what is gone", function()
    local said, status = helper.child([[
      early = newproxy(true)
      getmetatable(early).__gc = function()
        local c = package.loaded["jfl.core"]
        io.write(tostring(pcall(c.run, plan, a)), tostring(pcall(c.array, "float32", {2})))
        io.write(tostring(pcall(function() return x.shape end)), tostring(pcall(c.variables)))
        pcall(c.wait) pcall(c.reset) pcall(c.call, plan, a) pcall(c.trace, g)
        pcall(c.op("add"), x, x)
      end]] .. start:gsub("local ", "") .. [[ request = c.call(plan, a)]])
    assert.equal("falsetruefalsefalse", said)
    assert.equal(0, status, said)
  end)

  it("is clean after os.exit with runs in flight", function()
    -- Nothing is finalized then, so a leak checker would complain.
    local _, status = helper.child(start .. [[ c.call(plan, a) os.exit(3) ]],
      "ASAN_OPTIONS=detect_leaks=0")
    assert.equal(3, status)
    _, status = helper.child(start .. [[ c.call(plan, a) os.exit(4, true) ]])
    assert.equal(4, status)
  end)
end)

describe("a loader", function()
  it("is asked for more files than Lua's stack has places", function()
    local picture = { fit = "stretch", channels = 1, height = 1, width = 1 }
    local loader, paths, numbers = core.loader(picture, 1, "who"), {}, {}
    for i = 1, 70000 do paths[i], numbers[i] = "no such file", 0 end
    core.loader_want(loader, paths, numbers, numbers, numbers)
    core.loader_close(loader)
  end)
end)
