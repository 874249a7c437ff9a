#!/bin/sh
# exports.sh LIBRARY: fails when it exports anything but jfl_* and luaopen_jfl*, or lacks these.
names=$(nm -D --defined-only "$1" | awk '{ print $3 }') || exit 1
other=$(printf '%s\n' "$names" | grep -v -E '^(jfl_|luaopen_jfl(_|$))')
status=0
if [ -n "$other" ]; then
  echo "$1: exports names that are not jfl_ or luaopen_jfl:" $other
  status=1
fi
for name in luaopen_jfl luaopen_jfl_core jfl_version; do
  printf '%s\n' "$names" | grep -q -x "$name" || { echo "$1: does not export $name"; status=1; }
done
exit $status
