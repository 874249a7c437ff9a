local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("env", function()
  it("keeps settings of the original that have no meaning here", function()
    assert.is_true(flow.env.init())
    assert.equal("./log", flow.env.log_dir())
    flow.env.data_port(50052)
    assert.equal(50052, flow.env.data_port())
    helper.fails(function() flow.env.data_port(70000) end, "value must be a whole number from 1 "
      .. "to 65535, got 70000")
    helper.fails(function() flow.env.data_port("x") end, "must be a whole number")
    helper.fails(function() flow.env.log_dir(3) end, "env.log_dir: value must be a string")
  end)

  it("says what there is under the original's names", function()
    assert.equal(0, flow.env.current_machine_id())
    assert.equal(1, flow.env.current_resource().machine_num)
  end)
end)
