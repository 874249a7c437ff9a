local core = require "jfl.core"
local golden = require "spec.golden"
local passes = require "spec.passes"

local function op(name) return core.op(name) end
local add, multiply, subtract, maximum = op "add", op "multiply", op "subtract", op "maximum"
local relu, dropout, reshape, softmax = op "relu", op "dropout", op "reshape", op "softmax"
local conv2d, constant = op "conv2d", op "constant"

local function count(text, name)
  return select(2, text:gsub("= " .. name .. "%(", ""))
end

--- How many nodes of that op are left of what body describes.
local function left(name, specs, body)
  return count(passes.graph_after("cse", specs, body), name)
end

local vector = { "float32", { 2, 3 } }

describe("equal nodes", function()
  teardown(core.reset)

  it("become one, with all that follows from them", function()
    golden.check("cse_graph", passes.graph_after("cse", { vector, vector }, function(x)
      local a, b = relu(multiply(x[1], 2)), relu(multiply(x[1], 2))
      local c, d = add(x[1], x[2]), add(x[2], x[1])
      return { multiply(add(a, b), add(c, d)), softmax(a, 0), softmax(b, 1) }
    end))
  end)

  it("are told apart by inputs, attributes and dtype", function()
    local function each(f) return function(x) return { f(x[1], x[2]) } end end
    local two = { vector, vector }
    assert.equal(2, left("subtract", two, each(function(a, b)
      return multiply(subtract(a, b), subtract(b, a))
    end)))
    assert.equal(2, left("maximum", two, each(function(a, b)
      return multiply(maximum(a, b), maximum(b, a))
    end)))
    assert.equal(2, left("softmax", two, each(function(a)
      return add(softmax(a, 0), softmax(a, 1))
    end)))
    assert.equal(2, left("constant", {}, function()
      return { add(constant(0, "float32", { 3 }), constant(-0.0, "float32", { 3 })) }
    end))
    assert.equal(2, left("constant", {}, function()
      return { constant(1, "float32", { 3 }), constant(1, "int32", { 3 }) }
    end))
    assert.equal(1, left("constant", {}, function()
      return { add(constant(1, "float32", { 3 }), constant(1, "float32", 3)) }
    end))
  end)

  it("are told apart by padding, as words or numbers", function()
    local image = { { "float32", { 1, 1, 4, 4 } }, { "float32", { 1, 1, 3, 3 } } }
    local function two(p, q)
      return left("conv2d", image, function(x)
        return { add(conv2d(x[1], x[2], { padding = p }), conv2d(x[1], x[2], { padding = q })) }
      end)
    end
    local sides = { 0, 0, 0, 0, 1, 1, 1, 1 }
    assert.equal(1, two("SAME", "SAME"))
    assert.equal(2, two("SAME", "SAME_UPPER"))
    assert.equal(1, two(sides, sides))
    assert.equal(2, two("SAME", sides))
  end)

  it("stay where they draw", function()
    assert.equal(2, left("dropout", { vector }, function(x)
      return { subtract((dropout(x[1], 0.5)), (dropout(x[1], 0.5))) }
    end))
  end)

  it("stay where each is a result of the job", function()
    local function body(x)
      local y, z = relu(x[1]), relu(x[1])
      return { y, z, reshape(z, { 6 }), add(y, z) }
    end
    assert.equal(2, left("relu", { vector }, body))
    local plan = passes.compile({ vector }, body)
    local y, z, w, sum = core.run(plan, { { 1, -2, 3 }, { 4, 5, 6 } })
    y[1][1] = 100
    assert.same({ { 1, 0, 3 }, { 4, 5, 6 } }, core.to_table(z))
    assert.same({ 1, 0, 3, 4, 5, 6 }, core.to_table(w))
    assert.same({ { 2, 0, 6 }, { 8, 10, 12 } }, core.to_table(sum))
  end)
end)
