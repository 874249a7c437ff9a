local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("settings of the original", function()
  before_each(flow.clear_default_session)

  it("are kept and given, and go with the session", function()
    assert.equal(500, flow.config.reserved_device_mem_mbyte())
    flow.config.reserved_device_mem_mbyte(100)
    assert.equal(100, flow.config.reserved_device_mem_mbyte())
    flow.config.enable_legacy_model_io()
    assert.is_true(flow.config.legacy_model_io_enabled())
    flow.config.collective_boxing.enable_fusion(true)
    flow.clear_default_session()
    assert.equal(500, flow.config.reserved_device_mem_mbyte())
    assert.is_false(flow.config.legacy_model_io_enabled())
  end)

  it("are checked", function()
    helper.fails(function() flow.config.use_rdma(1) end, "config.use_rdma: value must be a boolean")
    helper.fails(function() flow.config.comm_net_worker_num("x") end, "must be a whole number")
    assert.equal(1, flow.config.machine_num(1))
    helper.fails(function() flow.config.machine_num(2) end,
      "config.machine_num: value must be the number of processes, 1, got 2")
    helper.fails(function() flow.config.load_library("x.so") end, "there are no ops in libraries")
    helper.fails(function() flow.config.collect_act_event(true) end, "flow.profile shows")
  end)

  it("set the number of threads", function()
    flow.config.compute_thread_pool_size(1)
    assert.equal(1, flow.config.threads())
    assert.equal(1, flow.config.compute_thread_pool_size(0))
  end)
end)
