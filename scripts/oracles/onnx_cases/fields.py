"""fields.py >spec/lua/onnx/fields.txt: the fields of ONNX's messages as the Python package onnx has
them, a line each: message, number, name, "repeated" or "one", and the type."""
from onnx import onnx_ml_pb2

TYPES = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 9: "string", 12: "bytes",
         14: "int32"}                                  # of an enum


def print_fields(message, path):
    for field in sorted(message.fields, key=lambda f: f.number):
        kind = field.message_type
        kind = kind.full_name.removeprefix("onnx.") if kind else TYPES[field.type]
        print(path, field.number, field.name, "repeated" if field.is_repeated else "one", kind)
    for nested in message.nested_types:
        print_fields(nested, path + "." + nested.name)


for name, message in sorted(onnx_ml_pb2.DESCRIPTOR.message_types_by_name.items()):
    print_fields(message, name)
