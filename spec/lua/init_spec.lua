local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("the module", function()
  it("has the dtypes and a version", function()
    assert.equal("float32", flow.float)
    assert.equal("float64", flow.double)
    assert.equal("int32", flow.int32)
    assert.truthy(flow.version:match("^%d+%.%d+"))
  end)

  it("has every op under its paths", function()
    for name, info in pairs(require("jfl.core").ops()) do
      for path in (info.path or ""):gmatch("%S+") do
        local at = flow
        for part in path:gmatch("[^.]+") do at = at and at[part] end
        assert.equal("function", type(at), name .. " at flow." .. path)
      end
    end
  end)

  it("has nothing under other names, and says what was meant", function()
    local function fails(fn, text) helper.fails(fn, text) end
    fails(function() return flow.no_such_name end, "there is no flow.no_such_name")
    fails(function() local _ = flow.ndarray({ 1, 2 }) end,
      "flow.ndarray is no function; flow.help('ndarray') lists what there is")
    fails(function() return flow.nn.rleu end,
      "there is no flow.nn.rleu; did you mean flow.nn.relu?")
    fails(function() return flow.layer.dense end,
      "there is no flow.layer; did you mean flow.layers?")
    fails(function() return flow.nn.dense end, "did you mean flow.layers.dense?")
    fails(function() return flow.train.Checkpoint end, "did you mean flow.train.CheckPoint?")
    fails(function() return flow.ndarray.zeroes end, "did you mean flow.ndarray.zeros?")
    fails(function() return flow.optimizer.warmup.liner end,
      "did you mean flow.optimizer.warmup.linear?")
  end)

  it("says what names of other libraries are called here", function()
    for path, here in pairs {
      ["optimizer.StepLR"] = "flow.optimizer.PiecewiseScalingScheduler",
      ["optimizer.ReduceLROnPlateau"] = "flow.fit with { reduce_rate = true }",
      ["nn.Conv2d"] = "flow.layers.conv2d", ["read_csv"] = "flow.data.csv",
      ["find_learning_rate"] = "flow.find_rate",
      ["nn.clip_grad_norm_"] = "flow.optimizer.grad_clipping.by_global_norm",
      ["nn.dropout2d"] = "flow.nn.dropout(x, rate, { noise_shape = { n, channels, 1, 1 } })",
      index_select = "flow.gather", take_along_axis = "flow.dim_gather", full = "flow.constant",
      outer = "flow.einsum(\"i,j->ij\", {x, y})", var = "flow.math.reduce_variance",
      he_normal_initializer = "flow.kaiming_initializer(shape)",
    } do
      helper.fails(function()
        local at = flow
        for part in path:gmatch "[^.]+" do at = at[part] end
      end, ("there is no flow.%s; did you mean %s?"):format(path, here))
    end
    helper.fails(function() flow.optimizer.Adam(0.1, { betas = { 0.9, 0.99 } }) end,
      "did you mean beta1?")
  end)

  it("may be looked through, and tested for keys that are no names", function()
    for _, space in ipairs { flow, flow.nn, flow.layers, flow.ndarray, flow.typing } do
      for name in pairs(space) do assert.equal("string", type(name)) end
      assert.is_nil(space[1])
      assert.is_nil(space._private)
      assert.is_nil(rawget(space, "no_such_name"))
    end
  end)

  it("tells whether it has a name, loaded or not, and never fails", function()
    local out = helper.script [[
      local flow = require "jfl"
      print(flow.has "nn.relu", flow.has "nn", flow.has "flow.layers.dense", flow.has "float")
      print(flow.has "nn.gelo", flow.has "nope", flow.has "nope.at.all", flow.has "float.upper")
    ]]
    assert.equal(("true\t"):rep(3) .. "true\n" .. ("false\t"):rep(3) .. "false\n", out)
    for _, path in ipairs { "train.CheckPoint", "optimizer.warmup.linear", "config.threads",
      "typing.Numpy.Placeholder", "ndarray.rand", "has", "version" } do
      assert.is_true(flow.has(path), path)
    end
    for _, path in ipairs { "", ".", "nn.", ".nn", "nn..relu", "nn relu", "nn.relu.x", "config.no",
      "typing.Numpy.x", "train.Checkpoint", 1, true, {}, print,
      setmetatable({}, { __index = error }) } do
      assert.is_false(flow.has(path), tostring(path))
    end
    assert.is_false(flow.has())
  end)

  it("prints as a short overview, of names that are there", function()
    local text, n = tostring(flow), 0
    for name in text:gmatch("\n  ([%l_, ]-)  ") do
      for each in name:gmatch("[%l_]+") do
        n = n + 1
        assert.is_true(flow.has(each), each)
      end
    end
    assert.truthy(n > 20 and text:find("^jfl %d"), text)
    for line in text:gmatch("[^\n]+") do assert.truthy(#line <= 80, line) end
    helper.fails(function() flow.matmul(flow, 2) end, "called with a dot, not a colon")
    helper.fails(function() flow.nn.dropout(flow.ones { 1 }, flow) end, "flow itself")
  end)

  it("loads its parts when they are used", function()
    local out, status = helper.script [[
      local flow = require "jfl"
      local before = package.loaded["jfl.job.job"]
      local f = flow.global_function
      print(before, package.loaded["jfl.job.job"] ~= nil, package.loaded["jfl.data.sets"])
      f { name = "f", inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
        returns = flow.typing.Numpy, body = function(x) return x + 1 end }({ 1 })
      print(package.loaded["jfl.optim.optimizers"])
    ]]
    assert.equal("nil\ttrue\tnil\nnil\n", out)
    assert.equal(0, status, out)
  end)

  it("loads layers and what is made of ops when they are called, and lists them before", function()
    local out = helper.script [[
      local flow = require "jfl"
      local function loaded(name) return package.loaded["jfl." .. name] ~= nil end
      local listed = {}
      for name in pairs(flow.layers) do listed[name] = true end
      for name in pairs(flow.nn) do listed[name] = true end
      print(listed.dense, listed.lstm, listed.relu, listed.interpolate)
      pcall(flow.layers.dense, 1, 2)
      print(loaded "layers.dense", loaded "layers.norm", loaded "op.resize")
      pcall(flow.nn.upsample, 1)
      print(loaded "op.resize", flow.nn.upsample == flow.nn.interpolate)
    ]]
    assert.equal("true\ttrue\ttrue\ttrue\ntrue\tfalse\tfalse\ntrue\ttrue\n", out)
  end)

  it("adds no globals", function()
    local out = helper.script [[
      local before = {}
      for name in pairs(_G) do before[name] = true end
      local flow = require "jfl"
      local _ = flow.global_function, flow.data, flow.ndarray, flow.train, flow.help, flow.progress
      for name in pairs(_G) do if not before[name] then print(name) end end
    ]]
    assert.equal("", out)
  end)

  it("has each function that works element by element in nn and in math", function()
    local core, shared = require "jfl.core", 0
    for _, paths in pairs(core.op_paths(true)) do
      for name in paths:gmatch "%f[%w]math%.([%w_]+)" do
        assert.equal(flow.math[name], flow.nn[name], name)
        shared = shared + 1
      end
      for name in paths:gmatch "%f[%w]nn%.([%w_]+)" do
        assert.equal(flow.nn[name], flow.math[name], name)
        shared = shared + 1
      end
    end
    assert.is_true(shared > 70)
    assert.is_false(flow.has "math.dropout")
    assert.equal(flow.math.tanh, flow.nn.tanh)
    assert.equal(flow.nn.swish, flow.math.swish)
  end)
end)
