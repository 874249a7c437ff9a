-- flow.env in one process; spec/cmd/ranks_spec.lua has several.
local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("env", function()
  it("is rank 0 of 1 in a process of its own", function()
    assert.same({ 0, 1 }, { flow.env.rank(), flow.env.size() })
    assert.is_true(#flow.env.host() > 0)
    helper.fails(function() flow.env.host(1) end, "env.host: rank must be below 1, got 1")
    helper.fails(function() flow.env.host("x") end, "env.host: rank must be a whole number")
  end)

  it("takes one machine, which changes nothing", function()
    flow.env.machine("192.168.0.1")
    flow.env.machine { { addr = "192.168.0.1" } }
    flow.env.machine { addr = "192.168.0.1" }
    assert.equal(1, flow.env.size())
  end)

  it("refuses machines that make no sense", function()
    helper.fails(function() flow.env.machine(3) end, "must be an address such as")
    helper.fails(function() flow.env.machine("a", nil, "b") end, "must be an address such as")
    helper.fails(function() flow.env.machine() end, "env.machine: takes at least one address")
    helper.fails(function() flow.env.machine("a", "a") end, "env.machine: a must be named once")
  end)

  it("refuses more machines once it works alone", function()
    flow.env.size()
    helper.fails(function() flow.env.machine("a", "b") end, "machines must be named before")
  end)

  it("has a port", function()
    flow.env.ctrl_port(50051)
    assert.equal(50051, flow.env.ctrl_port())
    helper.fails(function() flow.env.ctrl_port(70000) end,
      "value must be a whole number from 1 to 65535, got 70000")
  end)
end)
