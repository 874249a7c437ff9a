local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("scope.placement", function()
  before_each(flow.clear_default_session)
  teardown(flow.clear_default_session)

  it("passes on what the function returns", function()
    local a, b, c = flow.scope.placement("cpu", "0:0", function() return 1, nil, 3 end)
    assert.same({ 1, nil, 3 }, { a, b, c })
  end)

  it("gives an object without one", function()
    assert.equal("placement(\"cpu\", \"0:0\")", tostring(flow.scope.placement("cpu", "0:0")))
  end)

  it("warns once where there is no GPU", function()
    local out, status = helper.script [[
      local flow = require "jfl"
      flow.scope.placement("gpu", "0:0")
      flow.scope.placement("gpu", "0:0-1", function() end)
    ]]
    assert.equal(0, status, out)
    assert.equal("jfl: no GPU is usable here: what is placed on \"gpu\" runs on the CPU"
      .. " (flow.config.strict_placement(true) makes this an error): "
      .. require("jfl.core").device_absence("gpu") .. "\n", out)
  end)

  it("keeps ops and variables on the device that it names", function()
    local placement = flow.scope.placement
    local job = flow.global_function {
      name = "job", inputs = { { "x", flow.typing.Numpy.Placeholder({ 2 }) } },
      body = function(x)
        return placement("sim", "0:1", function()
          local w = flow.get_variable("w", {
            shape = { 2 }, initializer = flow.zeros_initializer(),
          })
          pcall(placement, "sim", "0:0", function() error("left") end)
          return flow.math.add(x, w)
        end)
      end,
    }
    job({ 1, 2 }):get()
    assert.truthy(job:plan():find("on sim:1: ", 1, true), job:plan())
  end)

  it("is a job's own where its config says so", function()
    local config = flow.function_config()
    config.default_placement_scope(flow.scope.placement("sim", "0:0"))
    local job = flow.global_function {
      name = "job", inputs = { { "x", flow.typing.Numpy.Placeholder({ 2 }) } },
      function_config = config, body = function(x) return flow.math.exp(x) end,
    }
    job({ 1, 2 }):get()
    assert.truthy(job:plan():find("on sim:0: ", 1, true), job:plan())
  end)

  it("splits work over several devices #cpu", function()
    local function job(name, device, ids)
      return flow.global_function {
        name = name, inputs = { { "x", flow.typing.Numpy.Placeholder({ 3, 2 }) } },
        returns = flow.typing.Numpy,
        body = function(x)
          return flow.scope.placement(device, ids, function() return flow.math.square(x) end)
        end,
      }
    end
    flow.config.cpu_device_num(2)
    assert.equal("cpu 0:0-1", flow.config.device())
    for name, ids in pairs { range = "0:0-1", list = { "0:1", "0:0" }, machines = "0-0:0-1" } do
      local square = job(name, "cpu", ids)
      assert.equal("[[ 1.  4.]\n [ 9. 16.]\n [25. 36.]]",
        tostring(square { { 1, 2 }, { 3, 4 }, { 5, 6 } }))
      assert.truthy(square:plan():find("core:0, core:1: ", 1, true), square:plan())
    end
    local one = job("one", "cpu", "0:1")
    one { { 1, 2 }, { 3, 4 }, { 5, 6 } }
    assert.truthy(one:plan():find("on core:1: ", 1, true), one:plan())
    flow.config.cpu_device_num(1)
    assert.equal("cpu:0", flow.config.device())
  end)

  it("divides the CPU where there are no GPUs #cpu", function()
    local out, status = helper.script [[
      local flow = require "jfl"
      flow.config.on_warning(function(text) print(text:match("^no GPU is usable here")) end)
      flow.config.gpu_device_num(2)
      print(flow.config.device(), flow.config.gpu_device_num(), flow.config.cpu_device_num())
      print(flow.scope.placement("gpu", "0:0-1").on)
      print(pcall(flow.scope.placement, "gpu", "0:0-2"))
      flow.config.gpu_device_num(1)
      print("then " .. flow.config.device())
    ]]
    assert.equal(0, status, out)
    assert.equal("no GPU is usable here\ncpu 0:0-1\t2\t2\ncpu 0:0-1\nfalse\t",
      out:match("^.*\t"))
    assert.truthy(out:find("ids must be from 0 to 1 for \"cpu\", got 2; "
      .. "flow.config.cpu_device_num(3)", 1, true), out)
    assert.truthy(out:find("\nthen cpu:0\n", 1, true), out)
  end)

  it("names devices that are there", function()
    helper.fails(function() flow.scope.placement("sim", "0:99") end, "got 99")
    helper.fails(function() flow.scope.placement("cpu", "0:1") end,
      "placement: ids must be from 0 to 0 for \"cpu\", got 1; flow.config.cpu_device_num(2) makes "
      .. "as many of the processor's cores")
    helper.fails(function() flow.scope.placement("null", "0:0") end,
      "device must be \"cpu\" or \"gpu\", got string 'null'")
  end)

  it("fails there if asked to", function()
    flow.config.strict_placement(true)
    helper.fails(function() flow.scope.placement("gpu", "0:0", function() end) end,
      "placement: no GPU is usable here")
  end)

  it("checks its arguments", function()
    helper.fails(function() flow.scope.placement("tpu", "0:0") end,
      "placement: device must be \"cpu\" or \"gpu\", got string 'tpu'")
    helper.fails(function() flow.scope.placement("cpu", "0") end, "must be \"machine:device\"")
    helper.fails(function() flow.scope.placement("cpu", "0:3-1") end, "got string '0:3-1'")
    helper.fails(function() flow.scope.placement("sim", "1-0:0") end, "got string '1-0:0'")
    helper.fails(function() flow.scope.placement("sim", "0:0-") end, "got string '0:0-'")
    helper.fails(function() flow.scope.placement("cpu", { "0:0", "1:0" }) end, "names machine 1")
    helper.fails(function() flow.scope.placement("cpu", {}) end, "must not be empty")
    helper.fails(function() flow.scope.placement("cpu") end, "argument 2 'ids' is missing")
  end)
end)

describe("scope's views", function()
  it("are objects, or scopes of a function", function()
    assert.equal("mirrored_view()", tostring(flow.scope.mirrored_view()))
    assert.equal(5, flow.scope.consistent_view(function() return 5 end))
  end)
end)

describe("scope.namespace", function()
  before_each(flow.clear_default_session)

  it("stands once before the names of a layer's ops and variables", function()
    local layers, relu = flow.layers, { activation = flow.nn.relu, name = "l" }
    local function named(more)
      local o = { name = "l" }
      for key, value in pairs(more or {}) do o[key] = value end
      return o
    end
    for kind, layer in pairs {
      dense = function(x) return layers.dense(x, 4, relu) end,
      conv = function(x) return layers.conv1d(x, 4, 1, named { activation = flow.nn.relu,
        weight_name = "w", bias_name = "b" }) end,
      layer_norm = function(x) return layers.layer_norm(x, named()) end,
      rms_norm = function(x) return layers.rms_norm(x, named()) end,
      group_norm = function(x) return layers.group_norm(x, 2, named()) end,
      batch_norm = function(x) return layers.batch_normalization(x, named()) end,
      batch_norm_relu = function(x) return layers.batch_normalization_relu(x, named()) end,
      prelu = function(x) return layers.prelu(x, named()) end,
      attention = function(x) return layers.multi_head_attention(x, 2, named()) end,
      lstm = function(x) return (layers.lstm(x, 4, named())) end,
    } do
      flow.clear_default_session()
      local y
      local text = helper.predict("named", { 2, 4, 4 }, function(x)
        y = flow.scope.namespace("outer", function()
          return flow.scope.namespace("inner", function() return layer(x) end)
        end)
        return y + 1
      end):graph()
      local prefixed = select(2, text:gsub("\n  variable outer%-inner%-", ""))
      assert.equal(select(2, text:gsub("\n  variable ", "")), prefixed, kind)
      assert.is_nil(text:find("inner%-[^\n ]*outer%-"), kind)
    end
  end)

  it("prefixes variables and ops, and nests", function()
    helper.predict("names", { 1, 2 }, function(x)
      return flow.scope.namespace("a", function()
        local y = flow.scope.namespace("b", function()
          return flow.layers.dense(x, 3, { name = "d" })
        end)
        y = flow.math.exp(y, { name = "e" })
        assert.equal("a-e", y.name)
        return flow.layers.dense(y, 2)
      end)
    end):compile()
    local names = require("jfl.core").variables()
    table.sort(names)
    assert.same({ "a-b-d-bias", "a-b-d-weight", "a-dense_1-bias", "a-dense_1-weight" }, names)
  end)

  it("ends where its function fails", function()
    local name
    helper.predict("caught", { 2 }, function(x)
      pcall(flow.scope.namespace, "a", function() error("inside") end)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      name = w.name
      return x + w
    end):compile()
    assert.equal("w", name)
  end)

  it("prefixes layers that are named and those that are not", function()
    flow.clear_default_session()
    helper.predict("layers", { 2, 2 }, function(x)
      return flow.scope.namespace("a", function()
        local inner = flow.scope.namespace("b", function()
          return flow.layers.dense(x, 2, { name = "in" })
        end)
        return inner + flow.layers.dense(x, 2)
      end) + flow.layers.dense(x, 2)
    end):compile()
    local names = {}
    for name in pairs(flow.get_all_variables()) do names[#names + 1] = name end
    table.sort(names)
    assert.same({ "a-b-in-bias", "a-b-in-weight", "a-dense_1-bias", "a-dense_1-weight",
      "dense_2-bias", "dense_2-weight" }, names)
  end)

  it("has a name", function()
    flow.clear_default_session()
    helper.fails(function()
      helper.predict("empty", { 1 }, function(x)
        flow.scope.namespace("", print)
        return x
      end):compile()
    end, "namespace: name must be a string that is not empty, got an empty one")
  end)

  it("has no meaning outside a body", function()
    helper.fails(function() flow.scope.namespace("a", function() end) end,
      "namespace: describes a part of a job and must be called inside a job function's body")
  end)
end)
