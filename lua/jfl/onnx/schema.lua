-- The messages of ONNX's files (onnx.proto of IR version 3 to 13), as far as jfl reads or writes
-- them.
local function list(name, type_name) return { name, type_name, repeated = true } end

-- Numbers of tensors, which stay in the file.
local function span(name, type_name)
  return { name, type_name, repeated = type_name ~= "bytes", span = true }
end

return {
  ModelProto = {
    [1] = { "ir_version", "int64" }, [2] = { "producer_name", "string" },
    [3] = { "producer_version", "string" }, [4] = { "domain", "string" },
    [5] = { "model_version", "int64" }, [6] = { "doc_string", "string" },
    [7] = { "graph", "GraphProto" }, [8] = list("opset_import", "OperatorSetIdProto"),
    [14] = list("metadata_props", "StringStringEntryProto"),
    [25] = list("functions", "FunctionProto"),
  },
  OperatorSetIdProto = { [1] = { "domain", "string" }, [2] = { "version", "int64" } },
  StringStringEntryProto = { [1] = { "key", "string" }, [2] = { "value", "string" } },
  FunctionProto = {
    [1] = { "name", "string" }, [4] = list("input", "string"), [5] = list("output", "string"),
    [6] = list("attribute", "string"), [7] = list("node", "NodeProto"),
    [8] = { "doc_string", "string" }, [9] = list("opset_import", "OperatorSetIdProto"),
    [10] = { "domain", "string" }, [11] = list("attribute_proto", "AttributeProto"),
    [13] = { "overload", "string" },
  },
  GraphProto = {
    [1] = list("node", "NodeProto"), [2] = { "name", "string" },
    [5] = list("initializer", "TensorProto"), [10] = { "doc_string", "string" },
    [11] = list("input", "ValueInfoProto"), [12] = list("output", "ValueInfoProto"),
    [13] = list("value_info", "ValueInfoProto"),
    [15] = list("sparse_initializer", "SparseTensorProto"),
  },
  NodeProto = {
    [1] = list("input", "string"), [2] = list("output", "string"), [3] = { "name", "string" },
    [4] = { "op_type", "string" }, [5] = list("attribute", "AttributeProto"),
    [6] = { "doc_string", "string" }, [7] = { "domain", "string" }, [8] = { "overload", "string" },
  },
  AttributeProto = {
    [1] = { "name", "string" }, [2] = { "f", "float" }, [3] = { "i", "int64" },
    [4] = { "s", "bytes" }, [5] = { "t", "TensorProto" }, [6] = { "g", "GraphProto" },
    [7] = list("floats", "float"), [8] = list("ints", "int64"), [9] = list("strings", "bytes"),
    [10] = list("tensors", "TensorProto"), [11] = list("graphs", "GraphProto"),
    [13] = { "doc_string", "string" }, [14] = { "tp", "TypeProto" }, [20] = { "type", "int32" },
    [21] = { "ref_attr_name", "string" }, [22] = { "sparse_tensor", "SparseTensorProto" },
  },
  TensorProto = {
    [1] = list("dims", "int64"), [2] = { "data_type", "int32" },
    [4] = span("float_data", "float"), [5] = list("int32_data", "int32"),
    [6] = list("string_data", "bytes"), [7] = list("int64_data", "int64"),
    [8] = { "name", "string" }, [9] = span("raw_data", "bytes"),
    [10] = span("double_data", "double"), [11] = list("uint64_data", "uint64"),
    [12] = { "doc_string", "string" },
    [13] = list("external_data", "StringStringEntryProto"), [14] = { "data_location", "int32" },
  },
  SparseTensorProto = {
    [1] = { "values", "TensorProto" }, [2] = { "indices", "TensorProto" },
    [3] = list("dims", "int64"),
  },
  ValueInfoProto = {
    [1] = { "name", "string" }, [2] = { "type", "TypeProto" }, [3] = { "doc_string", "string" },
  },
  TypeProto = {
    [1] = { "tensor_type", "TensorTypeProto" }, [4] = { "sequence_type", "SequenceTypeProto" },
    [5] = { "map_type", "MapTypeProto" }, [6] = { "denotation", "string" },
    [8] = { "sparse_tensor_type", "TensorTypeProto" },
    [9] = { "optional_type", "SequenceTypeProto" },
  },
  TensorTypeProto = { [1] = { "elem_type", "int32" }, [2] = { "shape", "TensorShapeProto" } },
  SequenceTypeProto = { [1] = { "elem_type", "TypeProto" } },
  MapTypeProto = { [1] = { "key_type", "int32" }, [2] = { "value_type", "TypeProto" } },
  TensorShapeProto = { [1] = list("dim", "DimensionProto") },
  DimensionProto = {
    [1] = { "dim_value", "int64" }, [2] = { "dim_param", "string" },
    [3] = { "denotation", "string" },
  },
}
