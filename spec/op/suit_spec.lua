--- What ops do with inputs of several dtypes.
local core = require "jfl.core"
local support = require "spec.op.support"

local op = core.op
local function array(list, dtype) return core.from_table(list, dtype or "float32") end
local flags = array({ 0, 1, 1 }, "int8")

--- The dtype and the numbers of a call's result, which a job must give as well.
local function both(name, ...)
  local inputs, specs = { ... }, {}
  for i, a in ipairs(inputs) do
    if type(a) ~= "number" then specs[#specs + 1] = { dtype = a.dtype, shape = a.shape, at = i } end
  end
  local now = op(name)(...)
  local plan = support.plan(specs, function(_, blobs)
    local list = { unpack(inputs) }
    for k, s in ipairs(specs) do list[s.at] = blobs[k] end
    return { (op(name)(unpack(list))) }
  end)
  local arrays = {}
  for k, s in ipairs(specs) do arrays[k] = inputs[s.at] end
  local later = core.run(plan, unpack(arrays))
  assert.equal(now.dtype, later.dtype)
  assert.same(core.to_table(now), core.to_table(later))
  return now.dtype, core.to_table(now)
end

local function gives(dtype, list, ...)
  local got, numbers = both(...)
  assert.equal(dtype, got)
  assert.same(list, numbers)
end

describe("inputs of several dtypes:", function()
  local x, d = array { 1.5, 2, 3 }, array({ 1.5, 2, 3 }, "float64")
  local i, l = array({ 4, 5, 6 }, "int32"), array({ 7, 8, 2 ^ 40 }, "int64")

  it("integers take the dtype of a float", function()
    gives("float32", { 0, 2, 3 }, "multiply", flags, x)
    gives("float64", { 5.5, 7, 9 }, "add", i, d)
    gives("float32", { 2.5, 3, 3 }, "subtract", i, x)
    gives("float64", { 1.5, 2, 3 }, "maximum", d, flags)
  end)

  it("of integers the wider counts", function()
    gives("int64", { 11, 13, 2 ^ 40 + 6 }, "add", i, l)
    gives("int32", { 4, 6, 7 }, "add", flags, i)
    gives("int32", { 0, 2, 2 }, "add", flags, array({ 0, 1, 1 }, "uint8"))
  end)

  it("what comparisons give is counted in int32", function()
    gives("int32", { 0, 2, 2 }, "add", flags, flags)
    gives("int32", { 2 }, "reduce_sum", flags)
    gives("int32", { 0, 3, 3 }, "multiply", flags, 3)
    gives("int32", { 1, 0, 0 }, "subtract", 1, flags)
    gives("float32", { 0, 0.5, 0.5 }, "multiply", flags, 0.5)
  end)

  it("functions of one tensor compute bytes in int32", function()
    local bytes, signed = array({ 0, 7, 255 }, "uint8"), array({ -128, 0, 3 }, "int8")
    gives("int32", { 0, -7, -255 }, "negative", bytes)
    gives("int32", { 128, 0, 3 }, "abs", signed)
    gives("int32", { -1, 0, 1 }, "sign", signed)
    gives("int32", { 0, 49, 65025 }, "square", bytes)
    gives("int32", { 0, 7, 100 }, "clip_by_value", bytes, 0, 100)
    gives("int32", { 0, 0, 3 }, "relu", signed)
    gives("int32", { 0, 6, 6 }, "relu6", bytes)
    gives("int32", { -1, 0, 1 }, "hardtanh", signed)
    gives("int32", { 0, 7, 262 }, "cumsum", bytes)
    gives("int32", { -128, 0, 0 }, "cumprod", signed)
    gives("float32", { 1.5, 3.5, 6.5 }, "cumsum", x)
  end)

  it("comparisons compare them as one dtype", function()
    gives("int8", { 1, 1, 1 }, "greater", i, x)
    gives("int8", { 0, 0, 0 }, "equal", flags, x)
    gives("int8", { 0, 1, 1 }, "logical_and", flags, d)
  end)

  it("a condition may have any dtype", function()
    gives("float32", { 1.5, 1, 3 }, "where", array { 0.25, 0, -1 }, x, flags)
    gives("int32", { 4, 1, 6 }, "where", array({ 256, 0, 512 }, "int32"), i, flags)
    gives("int8", { 0, 1, 1 }, "where", l, flags, 0)
  end)

  it("whether any or all are true may be asked of any dtype", function()
    gives("int8", { 1 }, "reduce_any", array { 0, 0.25 })
    gives("int8", { 0 }, "reduce_all", array({ 256, 0 }, "int32"))
    gives("int8", { 1 }, "reduce_all", l)
  end)

  it("two floats are refused", function()
    assert.error_matches(function() op "add"(x, d) end, "y must be float32 like x, got float64")
    assert.error_matches(function() op "where"(flags, x, d) end, "y must be float32 like x")
  end)
end)
