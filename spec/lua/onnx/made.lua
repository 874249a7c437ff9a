-- ONNX models that specs make node by node.
local core = require "jfl.core"
local protobuf = require "jfl.onnx.protobuf"
local schema = require "jfl.onnx.schema"

local made = {}

--- An input or output: float32 (2, 3) unless something else is given.
function made.info(name, extents, elem_type)
  local dims = {}
  for i, extent in ipairs(extents or { 2, 3 }) do
    dims[i] = type(extent) == "string" and { dim_param = extent } or { dim_value = extent }
  end
  return { name = name, type = { tensor_type = { elem_type = elem_type or 1,
    shape = { dim = dims } } } }
end

function made.node(op, inputs, outputs, attributes, name)
  return { op_type = op, input = inputs, output = outputs, attribute = attributes, name = name }
end

function made.floats(name, dims, numbers)
  local text = core.bytes(core.from_table(numbers, "float32"))
  return { name = name, dims = dims, data_type = 1, raw_data = text }
end

--- The text of a model with these nodes; more: fields of its graph, and of the model.
function made.model(nodes, more, fields)
  local graph = { name = "g", node = nodes, input = { made.info "x" },
    output = { made.info "y" } }
  for key, value in pairs(more or {}) do graph[key] = value end
  local message = { ir_version = 8, opset_import = { { domain = "", version = 17 } },
    graph = graph }
  for key, value in pairs(fields or {}) do message[key] = value end
  local texts = {}
  protobuf.write((protobuf.encode(schema, "ModelProto", message)), function(text)
    texts[#texts + 1] = text
  end)
  return table.concat(texts)
end

return made
