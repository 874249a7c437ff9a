local core = require "jfl.core"

--- Runs a predict job described by body on arrays, and gives its results.
local count = 0
local function run(shapes, body, ...)
  count = count + 1
  local name = "grad_spec_" .. count
  local g, inputs = core.graph(name, "predict"), {}
  local before = core.trace(g)
  for i, s in ipairs(shapes) do inputs[i] = core.input(g, "x" .. i, "float64", s) end
  for _, y in ipairs(body(g, unpack(inputs))) do core.output(g, y) end
  core.trace(before)
  local plan = core.compile(core.job(name, "predict"), g)
  return core.run(plan, ...)
end

local add, multiply, relu = core.op "add", core.op "multiply", core.op "relu"

describe("gradients", function()
  it("add up over several uses of a value", function()
    local dx = run({ { 2 } }, function(g, x)
      return core.gradients(g, add(multiply(x, x), x), nil, { x })
    end, { 3, -1 })
    assert.same({ 7, -1 }, core.to_table(dx))
  end)

  it("are summed over the axes along which an input was broadcast", function()
    local da, db = run({ { 2, 3 }, { 3 } }, function(g, a, b)
      return core.gradients(g, multiply(a, b), nil, { a, b })
    end, { { 1, 2, 3 }, { 4, 5, 6 } }, { 10, 20, 30 })
    assert.same({ { 10, 20, 30 }, { 10, 20, 30 } }, core.to_table(da))
    assert.same({ 5, 7, 9 }, core.to_table(db))
  end)

  it("are summed over an axis of extent 1 that stays", function()
    local _, db = run({ { 2, 3 }, { 2, 1 } }, function(g, a, b)
      return core.gradients(g, multiply(a, b), nil, { a, b })
    end, { { 1, 2, 3 }, { 4, 5, 6 } }, { { 10 }, { 20 } })
    assert.same({ { 6 }, { 15 } }, core.to_table(db))
  end)

  it("are weighted by dy where one is given", function()
    local dx = run({ { 3 }, { 3 } }, function(g, x, dy)
      return core.gradients(g, relu(x), dy, { x })
    end, { -1, 2, 3 }, { 5, 6, 7 })
    assert.same({ 0, 6, 7 }, core.to_table(dx))
  end)

  it("are false where none flows", function()
    local g = core.graph("no_flow", "predict")
    local before = core.trace(g)
    local a, b = core.input(g, "a", "float64", { 2 }), core.input(g, "b", "float64", { 2 })
    local grads = core.gradients(g, relu(a), nil, { a, b })
    core.trace(before)
    assert.equal("blob", core.type(grads[1]))
    assert.is_false(grads[2])
  end)
end)
