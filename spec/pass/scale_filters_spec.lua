local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"
local profile = require "jfl.tools.profile"
local support = require "spec.op.support"
local nd, tp = flow.ndarray, flow.typing

local function count(text, word)
  local _, n = text:gsub(" " .. word .. "%(", "")
  return n
end

local function job(kind, shape, body)
  return flow.global_function { name = kind, type = kind, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(shape) } }, body = body }
end

local function conv(x, filters, name, options)
  local o = { padding = "SAME", name = name }
  for k, v in pairs(options or {}) do o[k] = v end
  return flow.layers.conv2d(x, filters, 3, o)
end

local function norm(x, name)
  return flow.layers.batch_normalization(x, { axis = 1, epsilon = 1e-3, name = name })
end

-- Random numbers as all variables of a network, variances above 0: the same by name, whatever the
-- order in which a table has them.
local function fill()
  local values, names, all = {}, {}, flow.get_all_variables()
  for name in pairs(all) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    if not name:find "^System" then
      values[name] = nd.rand(all[name].shape) + (name:find "variance" and 0.5 or -0.4)
    end
  end
  flow.load_variables(values)
end

describe("a multiplication after a convolution", function()
  before_each(function()
    flow.clear_default_session()
    flow.random.seed(3)
  end)
  after_each(function()
    flow.clear_default_session()
    core.set("passes", "")
  end)

  local nets = {
    { "of few channels", { 2, 3, 6, 5 }, function(x) return norm(conv(x, 4, "c"), "n") end },
    { "in blocks", { 2, 3, 9, 9 }, function(x)
      local y = flow.nn.relu(norm(conv(x, 32, "c"), "n"))
      return flow.nn.relu(norm(conv(y, 32, "d"), "m") + y)
    end },
    { "of two branches", { 2, 16, 9, 9 }, function(x)
      return flow.nn.relu(norm(conv(x, 32, "c", { strides = 2, use_bias = false }), "n")
        + norm(conv(x, 32, "d", { strides = 2 }), "m"))
    end },
    { "in groups", { 2, 32, 7, 7 }, function(x)
      return norm(conv(x, 64, "c", { groups = 2 }), "n")
    end },
  }

  for _, net in ipairs(nets) do
    it("becomes part of the filters, and results stay: " .. net[1], function()
      local x, want = nd.rand(net[2]), nil
      for _, off in ipairs { "-scale_filters", "" } do
        flow.clear_default_session()
        core.set("passes", off)
        flow.random.seed(3)
        local predict = job("predict", net[2], net[3])
        predict:compile()
        fill()
        local y, text = predict(x), predict:graph("optimized")
        assert.equal(off == "", count(text, "scale_filters") > 0)
        if off ~= "" then want = support.flat(y) end
        assert.truthy(support.close(support.flat(y), want, 2e-5))
        assert.truthy(support.close(support.flat(predict(x)), want, 2e-5))
      end
    end)
  end

  it("follows what happens to the variables between calls", function()
    local net = nets[2]
    local predict = job("predict", net[2], net[3])
    local train = job("train", net[2], function(x)
      local y = net[3](x)
      flow.optimizer.SGD(0.1):minimize(y)
      return y
    end)
    local plain = flow.global_function { name = "plain", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder(net[2]) } }, body = net[3] }
    core.set("passes", "-scale_filters")
    plain:compile()
    core.set("passes", "")
    local x = nd.rand(net[2])
    local seen = {}
    local function check()
      local y = predict(x)
      assert.truthy(support.close(support.flat(y), support.flat(plain(x)), 5e-5))
      seen[#seen + 1] = y:mean()
      assert.is_true(#seen == 1 or seen[#seen - 1] ~= seen[#seen])
    end
    check()
    train(x)
    check()
    fill()
    check()
    local directory = helper.directory()
    finally(function() helper.remove(directory) end)
    flow.train.CheckPoint():save(directory .. "/it")
    train(x)
    check()
    flow.train.CheckPoint():load(directory .. "/it")
    check()
    flow.load_variables { ["n-moving_mean"] = nd.full({ 32 }, 0.25) }
    check()
  end)

  it("stays where another reads the product, and in a job that changes variables", function()
    local x = nd.rand({ 1, 3, 5, 5 })
    local both = flow.global_function { name = "both", returns = tp.Tuple(tp.Numpy, tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 1, 3, 5, 5 }) } },
      body = function(v)
        local y = conv(v, 4, "c")
        return y, norm(y, "n")
      end }
    both(x)
    assert.equal(0, count(both:graph("optimized"), "scale_filters"))
    local frozen = job("train", { 1, 3, 5, 5 }, function(v)
      local y = flow.layers.batch_normalization(conv(v, 4, "c"),
        { axis = 1, training = false, name = "n" })
      flow.optimizer.SGD(0.1):minimize(y)
      return y
    end)
    frozen(x)
    assert.equal(0, count(frozen:graph("optimized"), "scale_filters"))
  end)

  it("is computed once, until a variable changes #cpu", function()
    local predict = job("predict", nets[2][2], nets[2][3])
    local x = nd.rand(nets[2][2])
    predict(x)
    local function steps_run()
      local n = 0
      profile.start()
      predict(x)
      for _, row in ipairs((profile.finish())) do
        if row.op == "scale_filters" and row.seconds > 0 then n = n + 1 end
      end
      return n
    end
    assert.equal(0, steps_run())
    fill()
    assert.equal(2, steps_run())
  end)
end)
