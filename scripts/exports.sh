#!/bin/sh
# exports.sh LIBRARY [VERSION]: fails unless the library exports the functions of jfl.h, with that
# VERSION, and nothing else; without a VERSION it is a Lua module, and has its three entries too.
wanted=$(mktemp) || exit 1
trap 'rm -f "$wanted"' EXIT
{
  sed -n "s/^JFL_API [^(]*[ *]\(jfl_[a-z0-9_]*\)(.*/\1${2:+@@$2}/p" src/jfl.h
  [ -n "$2" ] || printf 'luaopen_jfl%s\n' '' _core _preload
} | sort >"$wanted"
differ=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort | comm -3 "$wanted" -)
[ -z "$differ" ] && exit 0
echo "$1: does not export what it must (left), or exports more (right):"
echo "$differ"
exit 1
