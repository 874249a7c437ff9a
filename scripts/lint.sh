#!/bin/sh
# lint.sh: the shape of the sources: what includes, requires and calls what, who opens files, names,
# columns, exported symbols, which sources spec/map lacks, luacheck.
cd "$(dirname "$0")/.." || exit 1
status=0
build/jfl scripts/layers.lua || status=1
build/jfl scripts/requires.lua || status=1
build/jfl scripts/circles.lua || status=1
build/jfl scripts/files.lua || status=1
build/jfl scripts/names.lua || status=1
build/jfl scripts/columns.lua || status=1
scripts/exports.sh build/jfl.so || status=1
scripts/exports.sh build/libjfl.so JFL_1.0 || status=1
missing=$(scripts/map/missing) || {
  echo "spec/map names no tests of these, see spec/README.md:" $missing
  status=1
}
luacheck -q lua examples scripts spec || status=1
exit $status
