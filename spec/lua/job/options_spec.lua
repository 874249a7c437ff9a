--- The options of a job: what each takes, and what it refuses.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local tp = flow.typing

describe("flow.function_config()", function()
  local config

  before_each(function() config = flow.function_config() end)
  after_each(function() flow.clear_default_session() end)

  it("takes the least numbers, and not those below", function()
    for name, least in pairs { micro_batches = 1, concurrency_width = 1,
      optimizer_placement_optimization_threshold = 0 } do
      config[name](least)
      helper.fails(function() config[name](least - 1) end,
        ("%s: value must be a whole number of at least %d, got number %d"):format(name, least,
          least - 1))
    end
  end)

  it("takes words and dtypes that it knows", function()
    for _, mode in ipairs { "distributed_split", "non_distributed" } do
      config.optimizer_placement_optimization_mode(mode)
    end
    for _, mixed in ipairs { true, false, "bfloat16", "float16" } do
      config.enable_auto_mixed_precision(mixed)
    end
    config.default_data_type("float64")
    helper.fails(function() config.optimizer_placement_optimization_mode("x") end,
      "value must be \"distributed_split\" or \"non_distributed\", got string 'x'")
    helper.fails(function() config.enable_auto_mixed_precision("half") end,
      "value must be true, false, 'bfloat16' (as true) or 'float16', got string 'half'")
    helper.fails(function() config.default_data_type("float33") end, "must be one of")
  end)

  it("has an initializer for variables that name none", function()
    config.default_initializer_conf(flow.constant_initializer(3))
    helper.fails(function() config.default_initializer_conf(3) end,
      "default_initializer_conf must be an initializer such as flow.truncated_normal(0.1)")
    local job = flow.global_function { name = "job", returns = tp.Numpy, function_config = config,
      inputs = { { "x", tp.Numpy.Placeholder { 2 } } },
      body = function(x)
        return x + flow.get_variable("v", { shape = { 2 } })
          + flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      end }
    assert.same({ 4, 5 }, job({ 0, 1 }):totable())
  end)
end)
