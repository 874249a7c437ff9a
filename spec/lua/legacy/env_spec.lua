local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("env", function()
  it("has one machine", function()
    flow.env.machine("192.168.0.1")
    flow.env.machine { { addr = "192.168.0.1" } }
    flow.env.machine { addr = "192.168.0.1" }
    helper.fails(function() flow.env.machine("a", "b") end,
      "env.machine: jobs run on one machine, got 2; several are not built into jfl")
    helper.fails(function() flow.env.machine { "a", "b" } end, "got 2")
    helper.fails(function() flow.env.machine(3) end, "must be an address such as")
    assert.equal(0, flow.env.current_machine_id())
    assert.equal(1, flow.env.current_resource().machine_num)
  end)

  it("keeps settings that have no meaning on one machine", function()
    assert.is_true(flow.env.init())
    assert.equal("./log", flow.env.log_dir())
    flow.env.ctrl_port(50051)
    assert.equal(50051, flow.env.ctrl_port())
    helper.fails(function() flow.env.ctrl_port(70000) end, "value must be at most 65535, got "
      .. "70000")
    helper.fails(function() flow.env.data_port("x") end, "must be a whole number")
    helper.fails(function() flow.env.log_dir(3) end, "env.log_dir: value must be a string")
  end)
end)
