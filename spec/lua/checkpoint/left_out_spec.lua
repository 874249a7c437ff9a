--- A job that does not trace is left out of what concerns all jobs, and told of once.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

describe("a job whose body fails", function()
  local directory, told

  before_each(function()
    flow.clear_default_session()
    directory, told = helper.directory(), {}
    flow.config.on_warning(function(text) told[#told + 1] = text end)
  end)
  after_each(function() helper.remove(directory) end)
  teardown(flow.clear_default_session)

  local line              -- of the body below
  local function wrong(name)
    line = debug.getinfo(1, "l").currentline + 1
    return helper.predict(name or "wrong", { 2, 3 }, function(x)
      return flow.matmul(x, x)
    end)
  end

  local function holds(text, ...)
    for i = 1, select("#", ...) do
      local part = select(i, ...)
      assert.truthy(text:find(part, 1, true), ("%s\nlacks: %s"):format(text, part))
    end
  end

  it("keeps nobody from saving, and is told of once, with its line and its error", function()
    helper.train("train")({ 1, 2 })
    wrong()
    local check_point = flow.train.CheckPoint()
    check_point:init()
    check_point:save(directory .. "/a")
    flow.checkpoint.save(directory .. "/b")
    assert.same({ 0.75, 0.5 }, flow.get_all_variables().w:totable())
    assert.equal(1, #told)
    holds(told[1], "job 'wrong' (", ("left_out_spec.lua:%d) is left out"):format(line), "matmul",
      ("left_out_spec.lua:%d: "):format(line + 1))
    assert.same({ 0.75, 0.5 }, flow.checkpoint.get(directory .. "/a").w:totable())
  end)

  it("keeps nobody from loading, where what it needs is reported as of no job", function()
    local path = directory .. "/model"
    local train = helper.train("train")
    helper.predict("other", { 1 }, function(x)
      return x + flow.get_variable("other", { 1 }, { initializer = flow.ones_initializer() })
    end)
    train({ 1, 2 })
    flow.checkpoint.save(path)
    flow.clear_default_session()
    flow.config.on_warning(function(text) told[#told + 1] = text end)
    helper.train("train")
    helper.predict("other", { 1 }, function(x)
      return x.shp + flow.get_variable("other", { 1 })
    end)
    local report = flow.checkpoint.load(path)
    assert.same({ "other" }, report.unexpected)
    assert.equal(2, #told)
    holds(told[1], "job 'other'", "a blob has no 'shp'")
    holds(told[2], "holds variables that no job here has: other")
    helper.fails(function() flow.checkpoint.load(path, { strict = true }) end, "no job knows other")
    flow.load_variables({ w = { 3, 4 } })
    assert.same({ 3, 4 }, flow.get_all_variables().w:totable())
    assert.equal(2, #told)
  end)

  it("keeps the manager from nothing", function()
    helper.train("train")
    wrong()
    local manager = flow.train.SimpleCheckPointManager(directory)
    manager:initialize_or_restore()
    manager:save()
    assert.equal(2, #manager:list_checkpoints())
    assert.equal(1, #told)
  end)

  it("takes part from when it succeeds on", function()
    local size = 5
    local job = helper.predict("job", { 2, 3 }, function(x)
      return flow.matmul(x, flow.get_variable("w", { size, 2 },
        { initializer = flow.ones_initializer() }))
    end)
    assert.same({}, flow.get_all_variables())
    size = 3
    assert.same({ 3, 2 }, flow.get_all_variables().w.shape)
    assert.equal(1, #told)
    assert.same({ 2, 2 }, job(flow.ndarray.ones({ 2, 3 })).shape)
  end)

  it("is told of in the case of any object that is raised, each job for itself", function()
    helper.predict("one", { 1 }, function() error({}) end)
    wrong("two")
    flow.train.CheckPoint():init()
    assert.equal(2, #told)
    holds(told[1], "job 'one'", "table: ")
    holds(told[2], "job 'two'")
  end)

  it("is still raised by its own call", function()
    local job = wrong()
    flow.train.CheckPoint():init()
    helper.fails(function() job(flow.ndarray.ones({ 2, 3 })) end, "matmul")
  end)

  it("is left out too if it only takes other batch sizes than 1, until its first call", function()
    local any = helper.predict("any", { -1, 2 }, function(x)
      local pairs_of_rows = flow.reshape(x, { x.shape[1] / 2, 4 })
      return flow.layers.dense(pairs_of_rows, 1, { name = "dense" })
    end)
    assert.same({}, flow.get_all_variables())
    holds(told[1], "job 'any'", "until its first call, as compiling it for a batch of 1 failed")
    any(flow.ndarray.ones({ 2, 2 }))
    assert.same({ 1, 4 }, flow.get_all_variables()["dense-weight"].shape)
    assert.equal(1, #told)
  end)

  it("stops whoever compiles all jobs where the cause is not in the job", function()
    helper.predict("stopped", { 1 }, function() error("interrupted", 0) end)
    local ok, err = pcall(flow.get_all_variables)
    assert.is_false(ok)
    assert.equal("interrupted", err)
    assert.same({}, told)
  end)

  it("is told of on stderr if nobody takes warnings", function()
    flow.config.on_warning(false)
    wrong()
    local text = helper.stderr_of(function() flow.train.CheckPoint():init() end)
    assert.truthy(text:match("^jfl: job 'wrong' [^\n]*\n$"), text)
  end)

  it("keeps loops from nothing", function()
    helper.train("train", { returns = tp.Callback(tp.Numpy) })({ 1, 2 })
    wrong()
    for _ in flow.data.loop({ flow.ndarray.ones({ 2, 2 }) }) do
      flow.checkpoint.save(directory .. "/model", { overwrite = true })
    end
    assert.equal(1, #told)
  end)
end)
