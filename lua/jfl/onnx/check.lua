-- flow.onnx.check: what a model in an ONNX file takes, gives and is made of, and what of it is
-- unsupported.
---@box onnx.check
local args = require "jfl.base.args"
local core = require "jfl.core"
local fold = require "jfl.onnx.fold"
local match = require "jfl.onnx.match"
local model = require "jfl.onnx.model"
local ops = require "jfl.onnx.ops"
local patterns = require "jfl.onnx.patterns"

local check = {}

local Report = { box = "report" }              -- of which texts of a box have the fields
Report.__index = Report

local function described(list)
  local out = {}
  for i, each in ipairs(list) do
    out[i] = { name = each.name, dtype = each.dtype or each.onnx_type, shape = each.shape,
      text = model.type_text(each) }
  end
  return out
end

-- Calls fn(node) for each node, those of subgraphs too, in their order.
local function in_order(graph, fn)
  for _, node in ipairs(graph.nodes) do
    fn(node)
    for _, name in ipairs(args.keys(node.attrs)) do
      local value = node.attrs[name]
      if type(value) == "table" and value.nodes then in_order(value, fn) end
    end
  end
end

-- Tensors and inputs of types that jfl lacks.
local function check_types(m, report)
  local function note(what, name, onnx_type)
    table.insert(report.unsupported, { op = what, name = name, opset = m.opset,
      why = ("jfl has no elements of type %s"):format(onnx_type) })
  end
  for _, name in ipairs(args.keys(m.graph.initializers)) do
    local t = m.graph.initializers[name]
    if not t.dtype then note("tensor", name, t.onnx_type) end
  end
  for _, input in ipairs(m.graph.inputs) do
    if not input.dtype then note("input", input.name, input.onnx_type) end
  end
end

-- All of a model that jfl does not have, in the order of its nodes; counts: how often ops occur.
local function unsupported(m, counts)
  local report = { unsupported = {} }
  in_order(m.graph, function(node)
    local name = node.domain ~= "" and node.domain .. "." .. node.op or node.op
    counts[name] = (counts[name] or 0) + 1
    local entry, why = ops.find(node)
    if not entry then
      table.insert(report.unsupported, { op = name, opset = node.opset, name = node.name,
        why = why })
    end
  end)
  check_types(m, report)
  return report.unsupported
end

local function line_of(each)
  return ("%s '%s' (opset %d): %s"):format(core.printable(each.op), core.printable(each.name),
    each.opset, each.why)
end

--- Fails with all of a model that jfl does not have.
function check.refuse(m)
  local lines = {}
  for i, each in ipairs(unsupported(m, {})) do lines[i] = line_of(each) end
  if #lines == 0 then return end
  core.fail("%s: jfl does not have all of it: %s", m.path, table.concat(lines, "; "))
end

--- What is known of a model: path, opset, producer, inputs, outputs, ops (how often each occurs, by
-- name), patterns (likewise), unsupported (a list of { op, opset, name, why }), weights.
function check.report(path)
  local m = model.open(path)
  local report = setmetatable({ path = path, opset = m.opset, ir_version = m.ir_version,
    producer = (m.producer .. " " .. m.producer_version):gsub("%s+$", ""),
    inputs = described(m.graph.inputs), outputs = described(m.graph.outputs), ops = {} }, Report)
  report.unsupported = unsupported(m, report.ops)
  fold.copies(m)
  report.patterns = match.apply(m, patterns)
  fold.prepare(m)
  report.weights = 0
  for t in pairs(m.variables) do report.weights = report.weights + t.count end
  return report
end

-- ---- text ----

local function add_counts(lines, title, counts)
  if not next(counts) then return end
  lines[#lines + 1] = title
  for _, name in ipairs(args.keys(counts)) do
    lines[#lines + 1] = ("  %5d %s"):format(counts[name], name)
  end
end

function Report:__tostring()
  local lines = { ("%s: op set %d%s, %.0f numbers of weights"):format(self.path, self.opset,
    self.producer ~= "" and ", by " .. self.producer or "", self.weights) }
  for _, kind in ipairs { "inputs", "outputs" } do
    lines[#lines + 1] = kind
    for _, each in ipairs(self[kind]) do
      lines[#lines + 1] = ("  %s: %s"):format(each.name, each.text)
    end
  end
  add_counts(lines, "ops", self.ops)
  add_counts(lines, "patterns, each of which becomes one op", self.patterns)
  lines[#lines + 1] = #self.unsupported == 0 and "jfl has all of it" or "not supported"
  for _, each in ipairs(self.unsupported) do
    lines[#lines + 1] = "  " .. line_of(each)
  end
  return table.concat(lines, "\n")
end

check.check = args.define("onnx.check", "What a model in an ONNX file takes, gives and is made of, "
  .. "and all of it that jfl does not have. It is printed as a text; its fields are inputs, "
  .. "outputs, ops, patterns, unsupported, opset, producer and weights.", {
    { "path", "the file", type = "string" },
    returns = "table",
  }, function(o)
    return check.report(o.path)
  end)

--- What `jfl --onnx file` does; gives whether jfl has all of the model.
function check.show(path)
  local report = check.report(path)
  print(report)
  return #report.unsupported == 0
end

return check
