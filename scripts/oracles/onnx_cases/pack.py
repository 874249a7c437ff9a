"""Packs the smallest node test of each op that passes into one file, for spec/lua/onnx/nodes_spec.

python3 scripts/oracles/onnx_cases/pack.py FOLDER spec/lua/onnx/node_tests.txt OUT.zip
"""
import os
import sys
import zipfile

import onnx

MOST, EACH = 2000, 1             # bytes of a test; tests of an op


def files_of(folder):
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            yield os.path.join(root, name)


def main(folder, listed, out):
    by_op = {}
    for line in open(listed):
        words = line.replace(":", " ").split()
        if words[0] not in ("passes", "fixed"):
            continue
        at = os.path.join(folder, words[1])
        size = sum(os.path.getsize(f) for f in files_of(at))
        nodes = onnx.load(os.path.join(at, "model.onnx")).graph.node
        if size <= MOST and len(nodes) == 1:
            by_op.setdefault((nodes[0].op_type, words[0]), []).append((size, words[1]))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for tests in by_op.values():
            for _, name in sorted(tests)[:EACH]:
                at, parts = os.path.join(folder, name), []
                for path in files_of(at):       # one member, as members take many bytes
                    with open(path, "rb") as f:
                        data = f.read()
                    parts.append(b"%s %d\n" % (os.path.relpath(path, at).encode(), len(data)))
                    parts.append(data)
                info = zipfile.ZipInfo(name)
                info.compress_type = zipfile.ZIP_DEFLATED
                z.writestr(info, b"".join(parts))


main(*sys.argv[1:])
