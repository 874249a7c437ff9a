local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("CheckPoint", function()
  local directory, check_point

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    check_point = flow.train.CheckPoint()
  end)

  after_each(function() helper.remove(directory) end)

  local function net(name, layer)
    return helper.predict(name, { 1, 2 }, function(x)
      return flow.layers.dense(x, 2, { name = layer })
    end)
  end

  it("creates the variables of every job, also of those for any batch size", function()
    net("a", "one")
    helper.predict("b", { -1, 3 }, function(x) return flow.layers.dense(x, 4, { name = "two" }) end)
    check_point:init()
    local all = flow.get_all_variables()
    assert.same({ 2, 2 }, all["one-weight"].shape)
    assert.same({ 4, 3 }, all["two-weight"].shape)
  end)

  it("gives back what was saved, before any call and in other jobs", function()
    local path = directory .. "/model"
    local y = helper.list(net("a", "one")({ { 1, 2 } }))
    check_point:save(path)
    flow.clear_default_session()
    local job = net("other", "one")
    local report = check_point:load(path)
    table.sort(report.loaded)
    assert.same({ "one-bias", "one-weight" }, report.loaded)
    assert.same({}, report.missing)
    assert.same({}, report.unexpected)
    assert.same(y, helper.list(job({ { 1, 2 } })))
  end)

  it("delivers outstanding callbacks first", function()
    local train = helper.train("t", { returns = flow.typing.Callback(flow.typing.Numpy) })
    local count = 0
    for _ = 1, 3 do train({ 1, 2 })(function() count = count + 1 end) end
    check_point:save(directory .. "/model")
    assert.equal(3, count)
  end)

  it("tells of names that match nothing, and refuses them if strict", function()
    local path = directory .. "/model"
    net("a", "one"):compile()
    check_point:save(path)
    flow.clear_default_session()
    net("a", "two"):compile()
    local report
    local text = helper.stderr_of(function() report = check_point:load(path) end)
    assert.truthy(text:find("variables that it does not have keep their values: "
      .. "two-bias, two-weight", 1, true))
    assert.truthy(text:find("holds variables that no job here has: one-bias, one-weight", 1, true))
    assert.equal(2, #report.missing)
    helper.fails(function() check_point:load(path, { strict = true }) end, "two-")
  end)

  it("does not replace a directory unless told to", function()
    local path = directory .. "/model"
    net("a", "one"):compile()
    check_point:save(path)
    helper.fails(function() check_point:save(path) end, "overwrite")
    check_point:save(path, { overwrite = true })
  end)

  it("names what is wrong", function()
    helper.fails(function() check_point.save("x") end, "save: call it with a colon")
    helper.fails(function() check_point:save(5) end, "save: path: expected a string, got number 5")
    helper.fails(function() check_point:load(directory .. "/none") end, directory .. "/none")
    helper.fails(function() check_point:save("a", { overwrite = "no" }) end,
      "save: overwrite: expected a boolean, got string 'no'")
    helper.fails(function() check_point:load("a", { strict = 1 }) end,
      "load: strict: expected a boolean, got number 1")
    helper.fails(function() check_point:save(directory .. "/a\0b") end, "path holds a zero byte")
    helper.fails(function() check_point:load(directory .. "/a\0b") end, "path holds a zero byte")
    helper.fails(function() check_point:load() end, "argument 1 'path' is missing")
  end)
end)

describe("load_variables", function()
  before_each(flow.clear_default_session)

  it("sets what is named and skips unknown names unless told not to", function()
    helper.predict("a", { 1, 1 }, function(x)
      return flow.layers.dense(x, 1, { name = "l" })
    end):compile()
    flow.load_variables { ["l-weight"] = { { 4 } }, other = { 1 } }
    assert.same({ { 4 } }, flow.get_all_variables()["l-weight"]:totable())
    helper.fails(function() flow.load_variables({ other = { 1 } }, { ignore_mismatch = false }) end,
      "load_variables: 'other' is not a variable of any job")
    helper.fails(function() flow.load_variables { ["l-weight"] = { 4 } } end, "l-weight")
  end)
end)
