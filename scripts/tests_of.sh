#!/bin/sh
# tests_of.sh [--first] [--limit=SECONDS] [--built] [--list] SOURCE...: builds, unless --built says
# that all is, then runs the tests that spec/map names for these sources, each in SECONDS (600) at
# most. --first ends at the first that fails, --list prints them and runs none. Ends by the totals,
# and exits with 0 if all passed, 1 if one failed and 2 if there is nothing to run: the build fails,
# or no test is known for a source.
#
# --tests TEST... runs those tests, and --command TEST prints the command of one. JFL_OBJECTS is the
# folder of objects, build/obj-gcc, and JFL_COMMAND the command that runs specs, build/jfl.
#
# A test is a file, with what it runs on behind a colon, and behind another one a pattern of names:
# spec/op/op_spec.lua, spec/base/base_test.c, spec/dev/async_spec.lua:gpu:%sargmax%s.
cd "$(dirname "$0")/.." || exit 2
. scripts/unset.sh
objects=${JFL_OBJECTS:-build/obj-gcc}
jfl=${JFL_COMMAND:-build/jfl}

# Sets what a test is made of: its file, what it runs on, its pattern, and the program of a C test.
take_apart() {
  IFS=: read -r file device pattern <<END
$1
END
  program=$objects/${file%.c}
}

# Prints the command of a test, for a shell.
command_of() {
  take_apart "$1"
  case $file in
    *_test.c) kind=JFL_DEVICE command=$program ;;
    *_spec.lua) kind=JFL_SPEC_DEVICE
      command="$jfl /usr/bin/busted -o plainTerminal ${pattern:+--filter='$pattern'} $file" ;;
    *) echo "tests_of.sh: $1 is no test" >&2; return 1 ;;
  esac
  case $device in
    gpu) echo "$kind=gpu JFL_EMULATED_DEVICES=4 JFL_EMULATED_ORDER=1" \
      "XDG_CACHE_HOME=\$PWD/build/cache LD_LIBRARY_PATH=\$PWD/build/emulated $command" ;;
    core) echo "$kind=core JFL_CPU_DEVICES=4 $command" ;;
    "") echo "$command" ;;
    *) echo "tests_of.sh: $1 is to run on $device, expected gpu or core" >&2; return 1 ;;
  esac
}

# Prints what make must build for a test, besides the products.
goals_of() {
  take_apart "$1"
  case $file in *_test.c) echo "$program" ;; esac
  [ "$device" != gpu ] && ! grep -q emulated "$file" || echo emulated
  ! grep -q build/counted "$file" || echo build/counted
}

named_for() { awk -v source="$1:" '$1 == source { $1 = ""; print }' spec/map; }

# Prints the tests of a source: those in the map, of a header without code those of the C file of
# its name; else what lies at the path that mirrors it, or is called as its folder.
tests_of() {
  named=$(named_for "$1")
  case $1 in *.h) named=${named:-$(named_for "${1%h}c")} ;; esac
  if [ -z "$named" ]; then
    path=$(echo "${1%.*}" | sed 's,^src/,,; s,^lua/jfl/,lua/,')
    around=${path%/*}
    for file in "spec/${path}_spec.lua" "spec/${path}_test.c" \
      "spec/$around/${around##*/}_spec.lua" "spec/${around}_spec.lua"; do
      [ ! -f "$file" ] || named="$named $file"
    done
  fi
  if [ -z "$named" ]; then
    echo "tests_of.sh: no test is known for $1; run make map, which measures" >&2
    return 1
  fi
  printf '%s\n' $named
}

first= limit=600 only= built= tests=
while [ $# != 0 ]; do
  case $1 in
    --first) first=1 ;;
    --limit=*) limit=${1#*=} ;;
    --list) only=1 ;;
    --built) built=1 ;;
    --tests) shift; tests=$*; break ;;
    --command) command_of "$2"; exit ;;
    -*) echo "tests_of.sh: there is no option $1" >&2; exit 2 ;;
    *)
      [ -f "$1" ] || { echo "tests_of.sh: there is no $1" >&2; exit 2; }
      some=$(tests_of "${1#./}") || exit 2
      for test in $some; do
        case " $tests " in *" $test "*) ;; *) tests="$tests $test" ;; esac
      done ;;
  esac
  shift
done
[ -n "$tests" ] || { echo "tests_of.sh: which source is to be tested?" >&2; exit 2; }
[ -z "$only" ] || { printf '%s\n' $tests; exit; }

tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. scripts/count.sh

goals=$(for test in $tests; do goals_of "$test"; done)
if [ -z "$built" ] && ! make --no-print-directory -s -j2 all $goals >"$tmp/build" 2>&1; then
  cat "$tmp/build"
  echo "0 passed, 1 failed"
  exit 2
fi

# Runs a test; a failure that is its time limit says so.
one() {
  command=$(command_of "$1") || return 1
  eval "timeout -k 5 $limit env $command"
  status=$?
  case $status in 124|137) echo "$1 did not end within $limit s" ;; esac
  return $status
}

for test in $tests; do
  run "$test" one "$test"
  [ -z "$first" ] || [ $failed = 0 ] || break
done
finish
