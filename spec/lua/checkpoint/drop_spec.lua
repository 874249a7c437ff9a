--- flow.drop_variables: what it drops, what stays, and how jobs go on.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd, tp = flow.ndarray, flow.typing

describe("drop_variables", function()
  before_each(flow.clear_default_session)
  teardown(flow.clear_default_session)

  local function train(units, returns)
    local job = flow.global_function { name = "train", type = "train",
      returns = returns or tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder({ 2, 3 }) } },
      body = function(x)
        local y = flow.layers.dense(x, units, { name = "hidden" })
        y = flow.layers.dense(y, 2, { name = "hidden2" })
        local loss = flow.math.square(y)
        flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
        return loss
      end }
    return job
  end

  local function names()
    local list = {}
    for name in pairs(flow.get_all_variables()) do list[#list + 1] = name end
    table.sort(list)
    return table.concat(list, " ")
  end

  local x = nd.ones({ 2, 3 })

  it("lets a layer have another size, and keeps what does not begin with its name", function()
    train(4)(x)
    local bias = flow.get_all_variables()["hidden2-bias"]
    assert.equal(6, flow.drop_variables({ "hidden", "hidden2-weight" }))
    train(5)(x)
    local all = flow.get_all_variables()
    assert.same({ 5, 3 }, all["hidden-weight"].shape)
    assert.same({ 5, 3 }, all["hidden-weight-momentum"].shape)
    assert.same({ 2 }, all["System-Train-TrainStep-train"] and all["hidden2-bias"].shape)
    assert.not_same(bias:totable(), all["hidden2-bias"]:totable())      -- it went on training
  end)

  it("drops those of a model", function()
    local function body(v) return flow.layers.dense(v, 2, { name = "l" }) end
    local one, other = flow.model("one", body), flow.model("one_more", body)
    for _, net in ipairs { one, other } do
      net:predict { inputs = { flow.float32 { 2, 3 } } }(x)
    end
    local kept = flow.get_all_variables()["one_more-l-weight"]
    flow.load_variables { ["one-l-weight"] = nd.ones { 2, 3 } }
    assert.equal(2, flow.drop_variables(one))
    local all = flow.get_all_variables()
    assert.is_false(all["one-l-weight"]:eq(nd.ones { 2, 3 }):all())
    assert.is_true(all["one_more-l-weight"]:eq(kept):all())
  end)

  it("makes a job begin anew with them, the same each time", function()
    local job = train(4)
    local first = helper.list(job(x))
    job(x)
    local before = names()
    assert.equal(8, flow.drop_variables({ "hidden", "hidden2" }))
    assert.equal(before, names())
    assert.same(first, helper.list(job(x)))
  end)

  it("leaves other jobs' plans and the results of queued calls", function()
    local runs, seen = 0, {}
    local other = helper.predict("other", { 1 }, function(v)
      runs = runs + 1
      return v + 1
    end)
    other({ 1 })
    local job = train(4, tp.Callback(tp.Numpy))
    for _ = 1, 4 do job(x)(function(loss) seen[#seen + 1] = loss:mean() end) end
    flow.drop_variables("hidden")
    other({ 1 })
    flow.sync()
    assert.equal(4, #seen)
    assert.equal(1, runs)
  end)

  it("drops what no job uses any longer", function()
    train(4)(x)
    helper.predict("train", { 1 }, function(v) return v end)({ 1 })
    flow.drop_variables({ "hidden", "hidden2", "System" })
    assert.equal("", names())
  end)

  it("drops all that a job uses", function()
    helper.predict("other", { 1, 2 }, function(v)
      return flow.layers.dense(v, 2, { name = "own" })
    end):compile()
    local job = train(4)
    local first = helper.list(job(x))
    job(x)
    assert.equal(10, flow.drop_variables(job))     -- four, their momenta, the step and the rate
    local left = core.variables()
    table.sort(left)
    assert.same({ "own-bias", "own-weight" }, left)
    assert.same(first, helper.list(job(x)))
    assert.equal(0, flow.drop_variables(helper.predict("none", { 1 }, function(v) return v end)))
    assert.equal(12, flow.drop_variables({ job, "own" }))
  end)

  it("drops by pattern, and all", function()
    train(4)(x)
    helper.predict("train", { 1 }, function(v) return v end)({ 1 })      -- uses none of them
    assert.equal(4, flow.drop_variables("*-bias"))
    assert.equal("System-Train-LearningRate-train System-Train-TrainStep-train hidden-weight "
      .. "hidden-weight-momentum hidden2-weight hidden2-weight-momentum", names())
    assert.equal(2, flow.drop_variables("hidden2*"))
    helper.fails(function() flow.drop_variables("hidden.*") end, "there is no variable 'hidden.*'")
    assert.equal(4, flow.drop_variables("*"))
    assert.equal(0, flow.drop_variables("*"))
  end)

  it("is told how to make room for a layer of another size", function()
    local job = train(4)
    job(x)
    local ok, err = pcall(train, 5)
    assert.is_false(ok)
    local call = err:match("flow%.drop_variables%b{}")
    assert.equal('flow.drop_variables{"hidden-weight", "hidden-bias", "hidden2-weight"}', call)
    assert.equal(6, assert(loadstring("local flow = ... return " .. call))(flow))
    train(5)(x)
    assert.same({ 5, 3 }, flow.get_all_variables()["hidden-weight"].shape)
  end)

  it("names what is wrong", function()
    train(4)(x)
    helper.fails(function() flow.drop_variables("hiden2-bias") end, "drop_variables: there is no "
      .. "variable 'hiden2-bias' nor any that begins with 'hiden2-bias-'; did you mean "
      .. "hidden2-bias")
    helper.fails(function() flow.drop_variables(5) end,
      "drop_variables: names must be a string or table, got number 5")
    helper.fails(function() flow.drop_variables({ 5 }) end,
      "drop_variables: names must be a string, got number 5")
    helper.fails(function()
      helper.predict("job", { 1 }, function(v)
        flow.drop_variables("hidden")
        return v
      end)({ 1 })
    end, "variables cannot be dropped inside the body of 'job'")
  end)

  it("works with many", function()
    local n = 2000
    local job = helper.predict("many", { 4 }, function(v)
      for i = 1, n do
        v = v + flow.get_variable("v-" .. i, { 4 }, { initializer = flow.ones_initializer() })
      end
      return v
    end)
    assert.equal(n + 1, job({ 1, 1, 1, 1 })[1])
    assert.equal(n, flow.drop_variables("v"))
    assert.equal(n + 1, job({ 1, 1, 1, 1 })[1])
    for i = 1, n, 3 do assert.equal(1, flow.drop_variables("v-" .. i)) end
    assert.equal(n + 1, job({ 1, 1, 1, 1 })[1])
  end)
end)
