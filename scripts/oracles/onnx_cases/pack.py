"""Packs node tests that pass into one file, for spec/lua/onnx/nodes_spec: the smallest for each way
to call an op, which attributes and inputs it has and which values those that are words or flags.
Beside its model lies explicit.onnx, which has the attributes that are left out, with the values
that ONNX then gives them.

python3 scripts/oracles/onnx_cases/pack.py FOLDER spec/lua/onnx/node_tests.txt OUT.zip
"""
import os
import sys
import zipfile

import onnx

MOST, LARGE = 4000, 20000        # bytes of a test; of an op that has no smaller one


def files_of(folder):
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            yield os.path.join(root, name)


def way(node):
    """What tells calls of an op apart, but for sizes."""
    given = []
    for a in node.attribute:
        value = onnx.helper.get_attribute_value(a)
        given.append((a.name, str(value) if isinstance(value, (bytes, int)) else ""))
    return (node.op_type, tuple(bool(name) for name in node.input), len(node.output),
            tuple(sorted(given)))


def explicit(path):
    model = onnx.load(path)
    node = model.graph.node[0]
    version = next(o.version for o in model.opset_import if o.domain == node.domain)
    schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    given = {a.name for a in node.attribute}
    for name, attribute in sorted(schema.attributes.items()):
        if attribute.default_value.name and name not in given:
            node.attribute.append(attribute.default_value)
    return model.SerializeToString() if len(node.attribute) > len(given) else None


def main(folder, listed, out):
    by_way, by_op = {}, {}
    for line in open(listed):
        words = line.replace(":", " ").split()
        if words[0] not in ("passes", "fixed"):
            continue
        at = os.path.join(folder, words[1])
        size = sum(os.path.getsize(f) for f in files_of(at))
        nodes = onnx.load(os.path.join(at, "model.onnx")).graph.node
        if size <= LARGE and len(nodes) == 1:
            by_way.setdefault((words[0], way(nodes[0])), []).append((size, words[1]))
            by_op.setdefault(nodes[0].op_type, []).append(size)
    chosen = []
    for (_, call), tests in by_way.items():
        size, name = min(tests)
        if size <= max(MOST, min(by_op[call[0]])):
            chosen.append(name)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        parts = []                              # one member, as they are much alike
        for name in sorted(chosen):
            files = {}
            for path in files_of(os.path.join(folder, name)):
                with open(path, "rb") as f:
                    files[os.path.relpath(path, folder)] = f.read()
            files[name + "/explicit.onnx"] = explicit(os.path.join(folder, name, "model.onnx"))
            for path, data in sorted(files.items()):
                if data is not None:
                    parts += [b"%s %d\n" % (path.encode(), len(data)), data]
        info = zipfile.ZipInfo("nodes")
        info.compress_type = zipfile.ZIP_DEFLATED
        z.writestr(info, b"".join(parts))


main(*sys.argv[1:])
