-- A job's graph as one of ONNX: goes through the nodes, each of which a row of export_math,
-- export_shapes, export_layers, export_pictures or export_recurrent writes.
local builder = require "jfl.onnx.export_builder"
local core = require "jfl.core"
local extent = require "jfl.onnx.export_extent"
local norms = require "jfl.onnx.export_norms"
local tree = require "jfl.onnx.export_tree"

local graph = {}

--- The version of ONNX's ops that files are written with. It is the first with LayerNormalization;
-- what later ones add, such as Gelu, GroupNormalization and Attention, is written by ops that most
-- programs have had since.
graph.OPSET = 17
graph.IR_VERSION = 8

local rows, varying = {}, {}
for _, name in ipairs { "math", "shapes", "layers", "pictures", "recurrent" } do
  local more = require("jfl.onnx.export_" .. name)
  for op, row in pairs(more) do rows[op] = op ~= "varying" and row or nil end
  for op, names in pairs(more.varying or {}) do varying[op] = names end
end

function rows.add(b, n)
  local found = norms.find(n)
  if not found then return { "Add", "x", "y" } end
  norms.write(b, n, found)
end

-- ---- a node, as rows see it ----

local Node = {}
Node.__index = Node

--- What input i is called.
function Node:x(i) return self.b:name(self.inputs[i]) end

--- Fails: a node cannot be written, and why.
function Node.refuse(_, why) error({ why = why }, 0) end

--- The node of that op that makes a value, or nil.
function Node:maker(value, op)
  local node = value and self.makers[value]
  return node and node.op == op and node or nil
end

--- The name of a bias that is added to the result along an axis, by a node that alone reads it, and
-- the value with it; nil and the result where none is.
function Node:takes_bias(axis)
  local readers = self.readers[self.out] or {}
  local reader = readers[1]
  if #readers ~= 1 or reader.op ~= "bias_add" or self.results[self.out]
    or reader.inputs[1] ~= self.out then
    return nil, self.out
  end
  local bias, format = self.b:name(reader.inputs[2]), reader.attributes.data_format or ""
  local last = #format > 2 and format:sub(-1) == "C"
  if not bias or (last and #self.out.shape - 1 or 1) ~= axis then return nil, self.out end
  self.done[reader] = true
  return bias, reader.outputs[1]
end

-- ---- what must be written ----

local function constants_first(nodes)
  local list = {}
  for _, is_first in ipairs { true, false } do
    for _, node in ipairs(nodes) do
      if (#node.inputs == 0) == is_first then list[#list + 1] = node end
    end
  end
  return list
end

-- The nodes that the results need, in their order, and those without results, which do something.
-- Constants come first, so that what takes in the node that reads it has them.
local function live_nodes(parts)
  local live, list = {}, {}
  for _, value in ipairs(parts.results) do live[value] = true end
  for i = #parts.nodes, 1, -1 do
    local node, needed = parts.nodes[i], #parts.nodes[i].outputs == 0
    for _, value in ipairs(node.outputs) do needed = needed or live[value] end
    if needed then
      table.insert(list, 1, node)
      for _, value in ipairs(node.inputs) do live[value] = true end
    end
  end
  return constants_first(list)
end

local function links(nodes, results)
  local c = { readers = {}, makers = {}, done = {}, results = {} }
  for _, value in ipairs(results) do c.results[value] = true end
  for _, node in ipairs(nodes) do
    for _, value in ipairs(node.outputs) do c.makers[value] = node end
    for _, value in ipairs(node.inputs) do
      c.readers[value] = c.readers[value] or {}
      table.insert(c.readers[value], node)
    end
  end
  return c
end

local function write_node(b, c, node)
  local row = rows[node.op]
  if not row then return "ONNX has no form of it" end
  for name in pairs(node.varies or {}) do
    if not (varying[node.op] and varying[node.op][name]) then
      return ("its %s depends on the batch size"):format(name)
    end
  end
  local n = setmetatable({ b = b, op = node.op, attributes = node.attributes, inputs = node.inputs,
    outputs = node.outputs, out = node.outputs[1], readers = c.readers, makers = c.makers,
    done = c.done, results = c.results }, Node)
  b.scope = node.name
  if type(row) == "string" then row = { row, unpack({ "x", "y", "z" }, 1, #n.inputs) } end
  local ok, err = pcall(function()
    local formula = type(row) == "function" and row(b, n) or row
    if type(formula) == "table" then tree.write(b, n, formula) end
  end)
  if ok then return nil end
  if type(err) == "table" and err.why then return err.why end
  error(err, 0)
end

-- Writes the nodes; fails with all that cannot be written in one list.
local function write_nodes(who, job, b, parts)
  local nodes, problems = live_nodes(parts), {}
  local c = links(nodes, parts.results)
  for _, node in ipairs(nodes) do
    local why = not c.done[node] and write_node(b, c, node)
    if why then
      problems[#problems + 1] = ("%s '%s'%s: %s"):format(node.op, node.name,
        node.line and " at " .. node.line or "", why)
      for _, value in ipairs(node.outputs) do b:call(value, b:unique(value.name)) end
    end
  end
  if #problems == 0 then return end
  core.fail("%s: job '%s' has %s that cannot be written for ONNX (opset %d); nothing was written\n"
    .. "  %s", who, job.name, #problems == 1 and "a node" or ("%d nodes"):format(#problems),
    graph.OPSET, table.concat(problems, "\n  "))
end

-- Drops nodes and constants that nothing reads, such as weights in an order that is not used.
local function prune(b, results)
  local live, nodes, initializers = {}, {}, {}
  for _, name in ipairs(results) do live[name] = true end
  for i = #b.nodes, 1, -1 do
    local node, needed = b.nodes[i], false
    for _, name in ipairs(node.output) do needed = needed or live[name] end
    if needed then
      table.insert(nodes, 1, node)
      for _, name in ipairs(node.input) do live[name] = true end
    end
  end
  for _, each in ipairs(b.initializers) do
    if live[each.name] then initializers[#initializers + 1] = each end
  end
  b.nodes, b.initializers = nodes, initializers
end

local function renamed(list, names)
  for i, name in ipairs(list) do list[i] = names[name] or name end
end

-- Has each result its name in the file: what is made gets it, and inputs, initializers and what is
-- a result already are copied.
local function name_results(b, parts, names)
  local made, new = {}, {}
  for _, node in ipairs(b.nodes) do
    for _, name in ipairs(node.output) do made[name] = true end
  end
  for i, name in ipairs(names) do
    local inner = b:name(parts.results[i])
    b.scope = name
    if made[inner] and not new[inner] then new[inner] = name
    else b:raw("Identity", { inner }, { name }) end
  end
  for _, node in ipairs(b.nodes) do
    renamed(node.input, new)
    renamed(node.output, new)
  end
end

-- ---- the whole ----

--- What the schema says of an input or result: a name, and a value's dtype and shape.
function graph.info_of(name, value)
  local dims = {}
  for i, e in ipairs(value.shape) do
    dims[i] = extent.is(e) and { dim_param = tostring(e) } or { dim_value = e }
  end
  return { name = name, type = { tensor_type = { elem_type = builder.TYPES[value.dtype],
    shape = { dim = dims } } } }
end

local function infos(names, values)
  local list = {}
  for i, name in ipairs(names) do list[i] = graph.info_of(name, values[i]) end
  return list
end

--- A job's parts as a graph for the file: { node =, input =, output = } as the schema has it, and
-- the tensors that it has. names: { inputs =, outputs = }, lists; variable(name): a variable as a
-- tensor; as_proto(tensor): one as the schema has it.
function graph.of(who, job, parts, names, variable, as_proto)
  local b = builder.new(graph.OPSET)
  b.as_proto = as_proto
  for i = #parts.results, #names.outputs + 1, -1 do parts.results[i] = nil end   -- watched ones
  for i, value in ipairs(parts.inputs) do
    b.taken[names.inputs[i]] = true
    b:call(value, names.inputs[i])
    if not b.batch_input and extent.is(value.shape[1] or 0) then b.batch_input = names.inputs[i] end
  end
  for _, value in ipairs(parts.variables) do
    b:call(value, b:unique(value.name))
    b:tensor(b:name(value), variable(value.name))
  end
  for _, name in ipairs(names.outputs) do b.taken[name] = true end
  write_nodes(who, job, b, parts)
  name_results(b, parts, names.outputs)
  prune(b, names.outputs)
  return { node = b.nodes, input = infos(names.inputs, parts.inputs),
    output = infos(names.outputs, parts.results) }, b.initializers
end

return graph
