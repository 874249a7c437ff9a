-- The op closure: how it reads its arguments, on arrays and on blobs.
local core = require "jfl.core"
local helper = require "spec.bind.helper"
require "jfl.base.names"          -- suggests names; busted drops it behind another spec

local message = helper.message
local add, softmax = core.op("add"), core.op("softmax")

local function floats(t) return core.from_table(t, "float32") end

describe("an op on arrays", function()
  it("runs at once", function()
    assert.same({ 5, 7 }, core.to_table(add(floats { 1, 2 }, floats { 4, 5 })))
  end)

  it("takes numbers and tables beside an array", function()
    assert.same({ 3, 4 }, core.to_table(add(floats { 1, 2 }, 2)))
    assert.same({ 3, 4 }, core.to_table(add(2, floats { 1, 2 })))
    assert.same({ 2, 4 }, core.to_table(add(floats { 1, 2 }, { 1, 2 })))
    local sum = add(core.from_table({ 1, 2 }, "int32"), 2)
    assert.equal("int32", sum.dtype)
  end)

  it("takes attributes by position and by name", function()
    local x = floats { { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } }
    local by_rows, by_columns = softmax(x, 0), softmax(x, { axis = 1 })
    assert.near(0.25, core.get(by_rows, 1, 1), 1e-6)
    assert.near(0.5, core.get(by_columns, 1, 1), 1e-6)
    assert.near(0.25, core.get(softmax({ logits = x, axis = 0, name = "s" }), 1, 1), 1e-6)
    assert.near(0.5, core.get(softmax(x, -1, {}), 1, 1), 1e-6)
    assert.near(0.5, core.get(softmax(x, nil, {}), 1, 1), 1e-6)
  end)

  it("reads lists of numbers", function()
    local sum = core.op("reduce_sum")
    local x = floats { { 1, 2 }, { 3, 4 } }
    assert.same({ 10 }, core.to_table(sum(x)))
    assert.same({ 4, 6 }, core.to_table(sum(x, { 0 })))
    assert.same({ 3, 7 }, core.to_table(sum(x, { axis = { 1 } })))
    assert.same({ { 10 } }, core.to_table(sum(x, { 0, 1 }, true)))
  end)

  it("takes the inputs of a variadic op as a list", function()
    local concat = core.op("concat")
    assert.same({ 1, 2, 3 }, core.to_table(concat({ floats { 1 }, floats { 2 }, floats { 3 } }, 0)))
    local both = concat({ inputs = { floats { 1 }, floats { 2 } }, axis = 0 })
    assert.same({ 1, 2 }, core.to_table(both))
  end)

  it("takes an optional last input as a list, or not at all", function()
    local scalars, sgd = core.op("optimizer_scalars"), { optimizer = "SGD", options = { 0 } }
    local step, set = core.array("int64", { 1 }), core.array("float64", { 2 })
    local lr, half = core.from_table({ 2 }, "float64"), core.from_table({ 0.5 }, "float64")
    assert.same({ 1, 2 }, core.to_table(scalars(step, lr, set, sgd)))
    assert.same({ 0.5, 2 }, core.to_table(scalars(step, lr, set, { half }, sgd)))
    assert.has_error(function() scalars(step, lr, set, { half, step }, sgd) end)
  end)

  it("keeps no array that a call gave it as an attribute", function()
    local array = core.op("array")
    for i = 1, 5 do
      local given = core.from_table({ i, 2 * i }, "float32")
      assert.same({ i, 2 * i }, array({ value = given }):totable())
      given = nil                     -- luacheck: ignore
      collectgarbage()
    end
  end)

  it("is one closure per op", function()
    assert.equal(add, core.op("add"))
  end)
end)

describe("a mistake in an op's arguments", function()
  local x = floats { 1, 2 }
  local function op_error(expected, text, ...)
    assert.equal("user.lua:2: " .. expected, message("\n" .. text, ...))
  end

  it("names what is missing, unknown or there twice", function()
    op_error("add: argument 2 'y' is missing", "c.op('add')(...)", x)
    op_error("add: argument 1 'x' is nil: is a name misspelled?", "c.op('add')(nil, ...)", x)
    op_error("softmax: unknown option 'axs'; options are axis, name; did you mean axis?",
      "c.op('softmax')(..., {axs = 1})", x)
    op_error("softmax: 'axis' is given both by position and by name",
      "c.op('softmax')(..., 0, {axis = 1})", x)
    op_error("softmax: takes at most 2 arguments and options, got 3",
      "c.op('softmax')(..., 0, 1)", x)
    op_error("softmax: options must have names, got one under a number",
      "c.op('softmax')(..., {axis = 0, [7] = 1})", x)
    op_error("softmax: name must be a string, got number", "c.op('softmax')(..., {name = 1})", x)
    op_error("unknown op 'sofmax'", "c.op('sofmax')")
  end)

  it("says where several numbers should be one list", function()
    op_error("reshape: takes at most 2 arguments and options, got 4; shape is one list: {1, 2, 1}",
      "c.op('reshape')(..., 1, 2, 1)", x)
    op_error("zeros: dtype must be a dtype, got 3; shape is one list: {2, 3}",
      "c.op('zeros')(2, 3)")
    op_error("reduce_sum: keepdims must be true or false, got 1; axis is one list: {0, 1}",
      "c.op('reduce_sum')(..., 0, 1)", x)
    op_error("slice: takes at most 3 arguments and options, got 5; begin and size are lists",
      "c.op('slice')(..., 0, 0, 1, 1)", x)
    op_error("softmax: takes at most 2 arguments and options, got 4",
      "c.op('softmax')(..., 0, 1, 2)", x)
    op_error("zeros: dtype must be a dtype, got 3", "c.op('zeros')({ 2 }, 3)")
  end)

  it("names the argument of a wrong type", function()
    op_error("add: argument 1 'x' must be a blob or an array, got number", "c.op('add')(1, 2)")
    op_error("add: argument 1 'x' must be a blob or an array, got table; "
      .. "ndarray.array(table) makes an array", "c.op('add')({1}, {2})")
    op_error("add: argument 2 'y' must be an array, a table or a number, got string",
      "c.op('add')(..., 'z')", x)
    op_error("softmax: 'axis' must be a number, boolean, string, list or array, got function",
      "c.op('softmax')(..., print)", x)
    op_error("add: argument 2 'y' must fit int32, got 0.5", "c.op('add')(..., 0.5)",
      core.from_table({ 1 }, "int32"))
    op_error("concat: argument 1 'inputs' must be a list such as {x, y}, got array",
      "c.op('concat')(..., 0)", x)
    op_error("concat: argument 1 'inputs' must be a list of one or more, got none",
      "c.op('concat')({}, 0)")
  end)

  it("tells of a freed array", function()
    local freed = floats { 1 }
    core.free(freed)
    op_error("add: argument 1 'x' was freed", "c.op('add')(..., 1)", freed)
  end)

  it("leaves the shapes to the op's own rule", function()
    assert.matches("^user.lua:1: add: ", message("c.op('add')(...)", x, floats { 1, 2, 3 }))
  end)
end)

describe("an op on blobs", function()
  local graph
  before_each(function() graph = core.graph("train_job", "train") end)
  after_each(function() core.trace(nil) end)

  it("appends to the traced graph", function()
    core.trace(graph)
    local x = core.input(graph, "images", "float32", { 2, 3 })
    local y = softmax(x, { name = "soft" })
    assert.equal("blob", core.type(y))
    assert.same({ 2, 3 }, y.shape)
    assert.equal("float32", y.dtype)
    assert.matches("soft", core.graph_text(graph))
    assert.matches("soft", y.name)
  end)

  it("makes constants of numbers", function()
    core.trace(graph)
    local x = core.input(graph, "x", "float64", { 2 })
    assert.equal("float64", add(2, x).dtype)
    assert.same({ 2 }, add(x, 2).shape)
  end)

  it("refuses tables among blobs, and takes arrays", function()
    core.trace(graph)
    local x = core.input(graph, "x", "float32", { 2 })
    assert.same({ 2, 2 }, add(x, floats { { 1, 2 }, { 3, 4 } }).shape)
    local freed = floats { 1, 2 }
    core.free(freed)
    assert.matches("add: argument 2 'y': .*freed", message("c.op('add')(...)", x, freed))
    assert.equal("user.lua:1: train_job: add: argument 2 'y' must be a blob or a number, got table",
      message("c.op('add')(..., {1, 2})", x))
  end)

  it("knows the job of a blob that is used elsewhere", function()
    core.trace(graph)
    local x = core.input(graph, "x", "float32", { 2 })
    core.trace(core.graph("eval_job", "predict"))
    assert.equal("user.lua:1: eval_job: add: blob 'x' belongs to job 'train_job'; blobs can only "
      .. "be used inside the body that made them", message("c.op('add')(..., 1)", x))
    core.trace(nil)
    assert.matches("^user.lua:1: add: ops on blobs describe a job and must be called inside a job "
      .. "function's body", message("c.op('add')(..., 1)", x))
  end)

  it("leaves no node behind after a mistake", function()
    core.trace(graph)
    local x = core.input(graph, "x", "float32", { 2 })
    local before = core.graph_text(graph)
    pcall(add, 1, "x", x)
    pcall(softmax, x, 7)
    assert.equal(before, core.graph_text(graph))
  end)

  it("appends an op without inputs while a graph is traced, else runs it", function()
    local constant = core.op("constant")
    assert.same({ 3, 3 }, core.to_table(constant(3, "float32", { 2 })))
    core.trace(graph)
    assert.equal("blob", core.type(constant(3, "float32", { 2 })))
  end)

  it("still runs at once on arrays alone", function()
    core.trace(graph)
    assert.same({ 2 }, core.to_table(add(floats { 1 }, 1)))
  end)
end)

describe("ops", function()
  it("describes every op", function()
    local ops = core.ops()
    assert.equal("softmax", ops.softmax.name)
    assert.equal("axis", ops.softmax.params[1].name)
    assert.equal("-1", ops.softmax.params[1].default)
    assert.is_true(ops.softmax.differentiable)
    assert.is_false(ops.softmax.variadic)
    assert.is_true(ops.concat.variadic)
    assert.same({ "x", "y" }, ops.add.inputs)
    for name, op in pairs(ops) do
      assert.equal(name, op.name)
      assert.is_true(#op.doc > 0, name)
      assert.is_true(#op.dtypes > 0, name)
      assert.is_function(core.op(name))
    end
  end)
end)
