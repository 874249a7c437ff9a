local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("a session", function()
  it("takes a strategy for memory, as its jobs share it anyway", function()
    flow.inter_job_reuse_mem_strategy("reuse_mem_priority")
    flow.inter_job_reuse_mem_strategy("custom_parallelism", { job_name_groups = { { "a" } } })
    helper.fails(function() flow.inter_job_reuse_mem_strategy("fast") end,
      "strategy must be one of custom_parallelism, parallelism_priority, reuse_mem_priority")
  end)

  it("computes values again where a scope says so", function()
    local config = flow.experimental.scope.config
    assert.equal(7, config({ checkpointing = true, fn = function() return 7 end }))
    assert.equal(8, config({ fn = function() return 8 end }))
    helper.fails(function() config({ checkpointing = 1, fn = print }) end, "checkpointing")
  end)

  it("compiles its jobs", function()
    assert.is_false(flow.eager_execution_enabled())
    flow.enable_eager_execution(false)
    helper.fails(function() flow.enable_eager_execution() end,
      "enable_eager_execution: jobs are always compiled; outside of bodies every op runs at once")
  end)
end)
