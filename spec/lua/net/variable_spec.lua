local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing
local ones, zeros = flow.ones_initializer(), flow.zeros_initializer()

describe("a variable", function()
  before_each(flow.clear_default_session)

  local function reader(name, shape, options)
    options.initializer = options.initializer or ones
    return flow.global_function { name = name, returns = tp.Numpy, body = function()
      return flow.get_variable("w", shape, options)
    end }
  end

  it("is shared by jobs through its name, whichever comes first", function()
    for _, eval_first in ipairs { true, false } do
      flow.clear_default_session()
      local train, eval = helper.train("train"), reader("eval", { 2 }, {})
      if eval_first then eval() end
      train({ 1, 2 })
      assert.same({ 0.75, 0.5 }, eval():totable())
      train({ 1, 2 })
      assert.same({ 0.5, 0 }, eval():totable())
    end
  end)

  it("begins as the job says that is compiled first", function()
    reader("first", { 2 }, {}):compile()
    assert.same({ 1, 1 }, reader("second", { 2 }, { initializer = zeros })():totable())
  end)

  it("has one shape and one dtype, and both jobs are told of", function()
    reader("one", { 2 }, {})()
    helper.fails(reader("shape", { 3 }, {}), "shape: variable 'w' must be float32 (2) as job 'one' "
      .. "made it, got float32 (3); jobs share variables by their names")
    helper.fails(reader("dtype", { 2 }, { dtype = flow.double }),
      "dtype: variable 'w' must be float32 (2) as job 'one' made it, got float64 (2)")
    assert.same({ 1, 1 }, reader("same", { 2 }, {})():totable())
  end)

  it("of a layer is told of with both jobs too", function()
    local function layer(name, units)
      return helper.predict(name, { 2, 3 }, function(x)
        return flow.layers.dense(x, units, { name = "d" })
      end)
    end
    layer("four", 4):compile()
    local five = layer("five", 5)
    helper.fails(function() return (five:compile()) end,
      "five: variable 'd-weight' must be float32 (4, 3) as job 'four' made it, got float32 (5, 3); "
        .. "variable 'd-bias' must be float32 (4) as job 'four' made it, got float32 (5); jobs")
  end)

  it("may have another shape in a new session", function()
    reader("one", { 2 }, {})()
    flow.clear_default_session()
    assert.same({ 1, 1, 1 }, reader("one", { 3 }, {})():totable())
  end)

  local function in_body(f)
    return function() return (helper.predict("j", { 2 }, f)({ 1, 2 })) end
  end

  it("is the same in a job wherever its name is asked for", function()
    assert.same({ 2, 4 }, in_body(function(x)
      local w = flow.get_variable("w", { 2 }, { initializer = ones })
      return x * (w + flow.get_variable("w", { 2 }) * flow.get_variable("w"))
    end)():totable())
  end)

  it("is new where reuse is false", function()
    helper.fails(in_body(function(x)
      flow.get_variable("w", { 2 }, { initializer = ones, reuse = false })
      flow.get_variable("w", { 2 }, { reuse = false })
      return x
    end), "get_variable: 'w' exists in this job already and reuse is false")
  end)

  it("has an initializer, its own or the job's", function()
    helper.fails(in_body(function(x)
      flow.get_variable("w", { 2 })
      return x
    end), "get_variable: 'w': initializer is missing: give one such as flow.truncated_normal(0.1)")
    flow.clear_default_session()
    helper.fails(in_body(function(x)
      flow.get_variable("w", { 2 }, { initializer = 0 })
      return x
    end), "initializer must be one such as flow.truncated_normal(0.1), got number 0")
    for _, conf in ipairs { flow.constant_initializer(3), { constant_conf = { value = 3 } },
      { random_uniform_conf = { min = 3, max = 3 } } } do
      flow.clear_default_session()
      local config = flow.function_config()
      config.default_initializer_conf(conf)
      local job = flow.global_function { name = "j", returns = tp.Tuple(tp.Numpy, tp.Numpy),
        function_config = config, body = function()
          return flow.get_variable("v", { 2 }),
            flow.get_variable("w", { 1 }, { initializer = ones })
        end }
      local v, w = job()
      assert.same({ 3, 3 }, v:totable())
      assert.same({ 1 }, w:totable())
    end
  end)

  it("of blocks begins as zeros where nothing else is asked for", function()
    for dtype in pairs(require("jfl.core").blocks) do
      flow.clear_default_session()
      local job = helper.predict("j", { 2, 256 }, function(x)
        local w = flow.get_variable("w", { 3, 256 }, { dtype = dtype, trainable = false })
        return flow.matmul(x, w, { transpose_b = true })
      end)
      assert.same({ 0, 0, 0, 0, 0, 0 }, helper.list(job(flow.ones { 2, 256 })), dtype)
    end
  end)

  it("checks its options", function()
    helper.fails(in_body(function(x)
      flow.get_variable("w", { 2 }, { initializer = ones, trainable = "no" })
      return x
    end), "get_variable: trainable must be a boolean, got string 'no'")
  end)
end)
