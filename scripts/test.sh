#!/bin/sh
# test.sh TIER: builds and runs the tests of a tier; the last line adds them up.
#   quick            what a developer runs: make test
#   landing          that, and what else must hold before a change lands
#   ci               that, and the slice of the deep tier which the commit's hash chooses
#   deep [SLICE...]  what takes long or needs other programs: make test-deep SLICES="arm64 kills"
# test.sh --list TIER: prints the test files instead, as a list for scripts/pool.
cd "$(dirname "$0")/.." || exit 1
for file in common quick landing deep; do . scripts/test/$file.sh; done

if [ "${1-}" = --list ]; then
  shift
  run() { :; }
  has() { :; }
  say() { :; }
  pool() { for list; do $list; done; }
  finish() { exit; }
fi

case ${1-} in
quick|landing) $1 ;;
ci) landing; deep $(commit_slice) ;;
deep) shift; deep "$@" ;;
*) echo "test.sh: TIER must be quick, landing, ci or deep, got '${1-}'" >&2; exit 2 ;;
esac
finish
