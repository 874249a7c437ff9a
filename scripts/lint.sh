#!/bin/sh
# lint.sh: the shape of the sources: what includes, requires and calls what, who opens files, names,
# columns, exported symbols, what spec/map and spec/sanitized lack, luacheck.
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
lacks() {        # "WHAT IS ASKED" SCRIPT, which prints the sources that lack it
  sources=$("$2") || { echo "$1, see spec/README.md:" $sources; status=1; }
}
lacks "spec/map names no tests of these" scripts/map/missing
lacks "spec/sanitized has no test of these" scripts/map/unsanitized
luacheck -q lua examples scripts spec || status=1
exit $status
