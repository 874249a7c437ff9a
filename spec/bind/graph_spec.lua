-- Graphs and blobs: what Lua can ask of them, and how long they live.
local core = require "jfl.core"
local helper = require "spec.bind.helper"

local message = helper.message

describe("a graph", function()
  after_each(function() core.trace(nil) end)

  it("knows its mode and whether it is traced", function()
    local graph = core.graph("g", "predict")
    assert.equal("predict", core.graph_mode(graph))
    assert.equal("train", core.graph_mode(core.graph("t", "train")))
    assert.is_nil(core.tracing())
    assert.is_nil(core.trace(graph))
    assert.equal(graph, core.tracing())
    assert.equal(graph, core.trace(nil))
    assert.is_nil(core.tracing())
  end)

  it("refuses other modes", function()
    assert.equal("user.lua:1: graph: mode must be train or predict, got 'eval'",
      message("c.graph('g', 'eval')"))
    assert.equal("user.lua:1: trace: argument 1 must be a graph, got table", message("c.trace({})"))
  end)

  it("finds its variables by name", function()
    local graph = core.graph("g", "train")
    local w = core.variable(graph, { name = "w", dtype = "float32", shape = { 2 }, init = "uniform",
      a = -1, b = 1 })
    assert.equal("w", core.find_variable(graph, "w").name)
    assert.same({ 2 }, w.shape)
    assert.is_nil(core.find_variable(graph, "v"))
  end)

  it("checks a variable's description", function()
    local graph = core.graph("g", "train")
    assert.equal("user.lua:1: variable: name must be a string, got nil",
      message("c.variable(..., {})", graph))
    assert.equal("user.lua:1: w: init must be constant, uniform, normal, truncated_normal "
      .. "or orthogonal, got 'zeros'",
      message("c.variable(..., {name = 'w', dtype = 'int32', shape = {1}, init = 'zeros'})", graph))
    assert.equal("user.lua:1: w: a must be a number, got string",
      message("c.variable(..., {name = 'w', dtype = 'float32', shape = {1}, a = 'x'})", graph))
    assert.equal("user.lua:1: w: shape must be a table of numbers, got nil",
      message("c.variable(..., {name = 'w', dtype = 'float32'})", graph))
  end)

  it("gives gradients, or false where none flows", function()
    local graph = core.graph("g", "predict")
    core.trace(graph)
    local x = core.input(graph, "x", "float32", { 3 })
    local z = core.input(graph, "z", "float32", { 3 })
    local y = core.op("multiply")(x, x)
    local dx, dz = unpack(core.gradients(graph, y, nil, { x, z }))
    assert.same({ 3 }, dx.shape)
    assert.is_false(dz)
  end)

  it("trains a variable once", function()
    local graph = core.graph("g", "train")
    core.trace(graph)
    local w = core.variable(graph, { name = "w", dtype = "float32", shape = { 3 } })
    assert.equal("user.lua:1: g: minimize: variable 'w' is given twice", message(
      "local g, w = ... c.minimize(g, {losses = {w}, variables = {w, w}, optimizer = 'SGD', "
        .. "schedule = "
      .. "'piecewise_constant_schedule', schedule_options = {boundaries = {}, values = {1}}})",
        graph, w))
  end)

  it("lives as long as its blobs", function()
    local x
    do
      local graph = core.graph("gone", "predict")
      x = core.input(graph, "x", "float32", { 3 })
    end
    collectgarbage()
    collectgarbage()
    assert.same({ 3 }, x.shape)
    assert.equal("x", x.name)
  end)
end)

describe("a blob", function()
  it("has parts by numbers and lists, and by nothing else", function()
    local graph = core.graph("g", "predict")
    local x = core.input(graph, "x", "float32", { 3 })
    assert.equal("user.lua:2: blob 'x': index must be from 1 to 3, got 4",
      message("\nlocal x = ... return x[4]", x))
    assert.equal("user.lua:2: blob: index must be a number, a list or a name, got boolean true",
      message("\nlocal x = ... return x[true]", x))
  end)

  it("looks other names up in blob_methods", function()
    local x = core.input(core.graph("g", "predict"), "x", "float32", { 3 })
    core.blob_methods.spec_probe = function(b) return b.dtype end
    assert.equal("float32", x:spec_probe())
    core.blob_methods.spec_probe = nil
    assert.is_nil(x._probe)
  end)

  it("of another graph is refused", function()
    local x = core.input(core.graph("one", "predict"), "x", "float32", { 3 })
    assert.equal("user.lua:1: two: the body's result: blob 'x' belongs to job 'one'; blobs can "
      .. "only be used inside "
      .. "the body that made them", message("c.output(...)", core.graph("two", "predict"), x))
  end)

  -- A graph with ops that have attributes of every kind, several results, or no input.
  local function describe_all(graph)
    local op = core.op
    local x = core.input(graph, "x", "float32", { 2, 3, 8, 8 })
    local pixels = core.input(graph, "pixels", "uint8", { 2, 8, 8, 3 })
    local w = core.variable(graph, { name = "w", dtype = "float32", shape = { 4, 3, 3, 3 },
      trainable = false })
    local y = op "conv2d"(x, w, { padding = { 0, 0, 0, 0, 1, 1, 2, 0 }, strides = { 2, 1 } })
    y = op "max_pool2d"(y, { ksize = 2, padding = "SAME", ceil_mode = true })
    local a, b = op "split"(y, { sizes = { 1, 3 }, axis = 1 })
    b = op "clip_by_value"(b, { max_value = 1e30 })
    local table = core.from_table({ { 1, 2 }, { 3, 4 } }, "float64", nil, "table")
    core.output(graph, op "array" { value = table })
    core.output(graph, op "concat"({ a, b, a }, { axis = -3 }))
    core.output(graph, op "constant" { value = 2, dtype = "int8", shape = {} })
    core.output(graph, op "crop_mirror_normalize"(pixels,
      { mean = { 1, 2.5, 3 }, output_layout = "NHWC" }))
  end

  -- The same graph, made from what graph_parts tells of one.
  local function again(parts)
    local graph, made = core.graph("again", "predict"), {}
    core.trace(graph)
    for _, v in ipairs(parts.inputs) do made[v] = core.input(graph, v.name, v.dtype, v.shape) end
    for _, v in ipairs(parts.variables) do made[v] = core.variable(graph, v) end
    for _, node in ipairs(parts.nodes) do
      local info, inputs, rest = core.ops()[node.op], {}, {}
      for i, v in ipairs(node.inputs) do
        local of = info.variadic and i >= #info.inputs and rest or inputs
        of[#of + 1] = made[v]
      end
      if #rest > 0 then inputs[#inputs + 1] = rest end
      inputs[#inputs + 1] = node.attributes
      local results = { core.op(node.op)(unpack(inputs)) }
      for i, v in ipairs(node.outputs) do made[v] = results[i] end
    end
    for _, v in ipairs(parts.results) do core.output(graph, made[v]) end
    core.trace(nil)
    return graph
  end

  it("tells its parts, from which it can be made again", function()
    local graph = core.graph("again", "predict")
    core.trace(graph)
    describe_all(graph)
    core.trace(nil)
    local parts = core.graph_parts(graph)
    assert.equal(core.graph_text(graph), core.graph_text(again(parts)))
    assert.is_false(parts.variables[1].trainable)
    assert.equal("pixels", parts.inputs[2].name)
    local conv = parts.nodes[1]
    assert.equal("conv2d", conv.op)
    assert.equal(parts.inputs[1], conv.inputs[1])
    assert.equal(conv.outputs[1], parts.nodes[2].inputs[1])
    assert.same({ 0, 0, 0, 0, 1, 1, 2, 0 }, conv.attributes.padding)
    assert.truthy(conv.line:find("graph_spec.lua:%d+$"))
    assert.equal("user.lua:1: graph_parts: argument 1 must be a graph, got number",
      message("c.graph_parts(1)"))
  end)
end)
