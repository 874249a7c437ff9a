-- What loading says of names that match nothing.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray

describe("loading names that no job has", function()
  local directory

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    helper.predict("net", { 4, 3 }, function(x)
      x = flow.layers.dense(x, 4, { name = "h0-fc" })
      x = flow.layers.layer_norm(x, { name = "h0-ln_1" })
      x = flow.layers.batch_normalization(x, { name = "bn" })
      return flow.layers.dense(x, 4, { name = "out" })
    end)
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  -- As PyTorch, Keras, GPT-2's files and JAX name them.
  local MEANT = {
    ["out.weight"] = "out-weight", ["out.bias"] = "out-bias", ["module.out.weight"] = "out-weight",
    ["out/kernel:0"] = "out-weight", ["params/out/kernel"] = "out-weight",
    ["bn.weight"] = "bn-gamma", ["bn.bias"] = "bn-beta", ["bn/gamma:0"] = "bn-gamma",
    ["bn.running_mean"] = "bn-moving_mean", ["bn.running_var"] = "bn-moving_variance",
    ["bn/moving_variance:0"] = "bn-moving_variance", ["batch_stats/bn/var"] = "bn-moving_variance",
    ["transformer.h0.ln_1.weight"] = "h0-ln_1-gamma", ["model/h0/ln_1/g"] = "h0-ln_1-gamma",
    ["h0.ln_1.bias"] = "h0-ln_1-beta", ["model/h0/ln_1/b"] = "h0-ln_1-beta",
    ["h0/fc/w"] = "h0-fc-weight", ["ln_1.scale"] = "h0-ln_1-gamma", ["out-wieght"] = "out-weight",
  }

  it("says which was meant", function()
    for name, meant in pairs(MEANT) do
      helper.fails(function()
        flow.load_variables({ [name] = { 1 } }, { ignore_mismatch = false })
      end, ("load_variables: '%s' is not a variable of any job; nothing was set; did you mean %s?")
        :format(name, meant))
    end
    helper.fails(function() flow.drop_variables("bn.running_mean") end,
      "did you mean bn-moving_mean?")
    helper.fails(function() flow.variable_info("out.weight") end, "did you mean out-weight?")
  end)

  it("reports what load_variables has set, and warns of the rest", function()
    local values = flow.get_all_variables()
    values["bn.running_mean"], values["bn-moving_mean"] = values["bn-moving_mean"], nil
    values.spare = nd.ones({ 2 })
    local r
    local said = helper.stderr_of(function() r = flow.load_variables(values) end)
    assert.same({ "bn-moving_mean" }, r.missing)
    assert.same({ "bn.running_mean", "spare" }, r.unexpected)
    assert.equal(9, #r.loaded)
    assert.equal("jfl: load_variables: variables that got no value keep theirs: bn-moving_mean\n"
      .. "jfl: load_variables: no job here has these variables: bn.running_mean (did you mean "
      .. "bn-moving_mean?), spare\n", said)
    values["bn.running_mean"], values.spare = nil, nil
    assert.equal("", helper.stderr_of(function() r = flow.load_variables(values) end))
    assert.same({ { "bn-moving_mean" }, {} }, { r.missing, r.unexpected })
  end)

  it("counts no state of optimizers as missing what should be there", function()
    flow.clear_default_session()
    helper.train("train", { body = function(x)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      flow.optimizer.Adam(0.1):minimize(x * w)
      return x * w
    end })
    local said = helper.stderr_of(function()
      assert.same({ "other" }, flow.load_variables({ w = { 1, 2 }, other = { 1 } }).unexpected)
    end)
    assert.equal("jfl: load_variables: no job here has these variables: other\n", said)
  end)

  it("says of a checkpoint which was meant", function()
    local path = directory .. "/model"
    flow.checkpoint.save(path, { ["out.weight"] = nd.ones({ 4, 4 }), odd = nd.ones({ 1 }) })
    local said = helper.stderr_of(function() flow.checkpoint.load(path) end)
    assert.truthy(said:find("no job here has: odd, out.weight (did you mean out-weight?)", 1, true),
      said)
  end)

  it("says where a matrix lies the other way", function()
    flow.clear_default_session()
    helper.predict("net", { 4, 3 }, function(x) return flow.layers.dense(x, 5, { name = "fc" }) end)
    helper.fails(function() flow.load_variables { ["fc-weight"] = nd.ones({ 3, 5 }) } end,
      "variable 'fc-weight' must be float32 (5, 3), got float32 (3, 5), whose transpose would fit; "
      .. "nothing was set")
  end)
end)
