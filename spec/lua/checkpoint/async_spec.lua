-- Saves, readings and settings of variables that do not wait: flow.checkpoint.save(path, { async =
-- true }), flow.get_all_variables { async = true }, flow.load_variables(values, { async = true }).
-- spec/bind/task_test.c holds their threads.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

describe("async", function()
  local directory, later, now

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    later = helper.train("later", { returns = tp.Callback(tp.Numpy) })
    now = helper.train("now")
    now({ 1, 1 })
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local function w() return flow.get_all_variables().w end

  local function none() end

  local function save(path)
    return flow.checkpoint.save(path, { async = true, overwrite = true })
  end

  it("saves the values as of the call, in the order of calls", function()
    for _ = 1, 3 do later({ 1, 1 })(none) end
    local path, other = directory .. "/a", directory .. "/b"
    local handle = save(path)
    for _ = 1, 3 do later({ 1, 1 })(none) end
    local after = flow.train.CheckPoint():save(other, { async = true })
    flow.sync()
    assert.is_true(handle:done() and after:done())
    local last = w()
    assert.is_true(flow.checkpoint.get(other).w:eq(last):all())
    assert.is_false(flow.checkpoint.get(path).w:eq(last):all())
    flow.checkpoint.load(path)
    for _ = 1, 3 do now({ 1, 1 }) end
    assert.is_true(w():eq(last):all())
  end)

  it("writes what a save that waits writes", function()
    local path, other = directory .. "/a", directory .. "/b"
    save(path)
    flow.checkpoint.save(other)
    local function bytes(name)
      local file = assert(io.open(name .. "/model.safetensors", "rb"))
      local text = file:read("*a")
      file:close()
      return text
    end
    assert.is_true(bytes(path) == bytes(other))
  end)

  it("tells what a variable is with no callback and no plan before", function()
    local called = false
    later({ 1, 1 })(function() called = true end)
    while core.pending() > 0 do core.wait() end
    local other = helper.predict("other", { 2 }, function(x)
      return x * flow.get_variable("v", { shape = { 2 }, initializer = flow.ones_initializer() })
    end)
    assert.same({ 2 }, flow.variable_info("w").shape)
    assert.is_false(called)
    assert.is_false(core.has_variable("v"))
    assert.same({ 2 }, flow.variable_info("v").shape)
    helper.fails(function() flow.variable_info("vv") end, "did you mean v?")
    assert.is_true(other({ 1, 1 }):eq(flow.ndarray.ones({ 2 })):all())
    flow.sync()
    assert.is_true(called)
  end)

  it("makes the variables of jobs that never ran", function()
    helper.predict("other", { 2 }, function(x)
      return x * flow.get_variable("v", { shape = { 2 }, initializer = flow.ones_initializer() })
    end)
    save(directory .. "/a"):wait()
    assert.is_table(flow.checkpoint.get(directory .. "/a").v.shape)
  end)

  it("tells errors of the disk once, to the callback", function()
    local path, told = directory .. "/file", {}
    assert(io.open(path, "w")):close()
    save(path)(none, function(text) told[#told + 1] = text end)
    flow.sync()
    flow.sync()
    assert.equal(1, #told)
    assert.truthy(told[1]:find("must be a directory", 1, true), told[1])
  end)

  it("tells errors of the disk by sync where nobody asks, and once", function()
    assert(io.open(directory .. "/file", "w")):close()
    save(directory .. "/file")
    helper.fails(function() flow.sync() end, "must be a directory")
    flow.sync()
  end)

  it("raises them where somebody waits", function()
    assert(io.open(directory .. "/file", "w")):close()
    local handle = save(directory .. "/file")
    helper.fails(function() handle:wait() end, "must be a directory")
    assert.is_true(handle:done())
    flow.sync()
  end)

  it("has what is wrong in the call raised by the call", function()
    helper.fails(function() flow.checkpoint.save("", { async = true }) end, "path")
    helper.fails(function() flow.checkpoint.save(directory, { async = 1 }) end, "async")
    helper.fails(function() flow.get_all_variables { async = 1 } end, "async")
    helper.fails(function()
      flow.checkpoint.save(directory .. "/a", { var_dict = { a = { 1 } }, async = true })
    end, "save: async writes all variables, and takes no var_dict")
  end)

  it("refuses what is no callback, and a name that a handle has not", function()
    local handle = flow.get_all_variables { async = true }
    helper.fails(function() handle(1) end, "callback must be a function, got number 1")
    helper.fails(function() return handle.w end, "has done(), wait()")
    assert.equal("handle of get_all_variables", tostring(handle))
    flow.sync()
  end)

  it("reads the values as of the call, in the order of calls", function()
    local seen = {}
    local function see(i) return function(all) seen[#seen + 1] = { i, all.w } end end
    later({ 1, 1 })(none)
    flow.get_all_variables { async = true }(see(1))
    later({ 1, 1 })(function() seen[#seen + 1] = { "call" } end)
    flow.get_all_variables { async = true }(see(2))
    flow.sync()
    assert.equal(1, seen[1][1])
    assert.equal("call", seen[2][1])
    assert.equal(2, seen[3][1])
    assert.is_true(seen[3][2]:eq(w()):all())
    assert.is_false(seen[1][2]:eq(w()):all())
  end)

  it("gives arrays of one's own", function()
    local all = flow.get_all_variables { async = true }:wait()
    all.w[1] = 77
    assert.not_equal(77, w()[1])
  end)

  it("sets values in the order of calls, and gives the report", function()
    local seen, before = {}, w():totable()
    flow.get_all_variables { async = true }(function(all) seen[#seen + 1] = all.w:totable() end)
    local values = { w = flow.ndarray.array { 5, 6 } }
    local handle = flow.load_variables(values, { async = true })
    values.w:fill(0)                              -- it was copied
    handle(function() seen[#seen + 1] = "set" end)
    flow.get_all_variables { async = true }(function(all) seen[#seen + 1] = all.w:totable() end)
    flow.sync()
    assert.same({ before, "set", { 5, 6 } }, seen)
    assert.same({ "w" }, handle:wait().loaded)
    assert.equal("handle of load_variables", tostring(handle))
  end)

  it("sets nothing where a value does not fit, which the call tells", function()
    local before = w()
    for values, message in pairs {
      [{ w = { 1, 2, 3 } }] = "variable 'w' must be float32 (2), got float32 (3); nothing was set",
      [{ w = { 7, 7 }, v = { 1 } }] = "'v' is not a variable of any job; nothing was set",
      [{ w = "x" }] = "must be an NdArray or a table of numbers",
    } do
      helper.fails(function()
        flow.load_variables(values, { async = true, ignore_mismatch = false })
      end, message)
    end
    helper.fails(function() flow.load_variables({ w = { 1, 1 } }, { async = 1 }) end, "async")
    flow.sync()
    assert.is_true(w():eq(before):all())
  end)

  it("has a setting that is cancelled set nothing", function()
    local before, wrong = w(), nil
    local handle = flow.load_variables({ w = { 8, 8 } }, { async = true })
    local n = flow.cancel(handle)
    handle(none, function(text) wrong = text end)
    flow.sync()
    assert.equal(n == 1, w():eq(before):all())
    assert.equal(n == 1, wrong ~= nil)
  end)

  it("has a save that is cancelled write nothing", function()
    local slow = helper.slow()
    slow:compile()
    local count = 0
    for i = 1, 20 do
      slow({ 1 })(none)
      slow({ 1 })(none)
      local path = directory .. "/" .. i
      local n = flow.cancel(save(path))
      flow.sync()
      assert.equal(n == 0, io.open(path .. "/model.safetensors") ~= nil)
      count = count + n
    end
    assert.is_true(count > 0)
  end)

  it("is there in a box", function()
    local box = flow.sandbox { write = directory }
    box:run([[
      local flow = require "jfl"
      local job = flow.global_function { name = "job", inputs = {},
        returns = flow.typing.Numpy, body = function()
          return flow.get_variable("v", { shape = { 2 }, initializer = flow.ones_initializer() })
            * 1
        end }
      job()
      flow.checkpoint.save("a", { async = true }):wait()
      local ok, err = pcall(function()
        flow.checkpoint.save("/tmp/elsewhere", { async = true }):wait()
      end)
      assert(not ok and err:find "may", err)
      assert(flow.get_all_variables { async = true }:wait().v.shape[1] == 2)
    ]])
    assert.is_table(flow.checkpoint.get(directory .. "/a").v.shape)
  end)
end)
