# What scripts that run tests share: running one, and adding up. They give tmp, a folder of theirs.
passed=0 failed=0
bad=0                          # how many failed of what was run last

# summary LOG: how many passed, failed and are pending by the last summary there; nothing if there
# is none.
summary() {
  sed -n -E '
    s/^([0-9]+) successe?s? \/ ([0-9]+) failures? \/ ([0-9]+) errors? \/ ([0-9]+) .*/\1 \2+\3 \4/p
    s/^([0-9]+) passed, ([0-9]+) failed$/\1 \2 0/p' "$1" | tail -n 1
}

# run NAME COMMAND...: counts what the command's summary says, else one test by its exit status.
run() {
  name=$1 begun=$(date +%s); shift
  "$@" >"$tmp/log" 2>&1 </dev/null; status=$?
  set -- $(summary "$tmp/log")
  good=${1:-$((status == 0))} bad=$((${2:-0}))
  [ $status = 0 ] || [ $bad != 0 ] || bad=1
  passed=$((passed + good)) failed=$((failed + bad))
  took=$(($(date +%s) - begun))
  printf '%-40s %5d passed %4d failed %5d s\n' "$name" "$good" "$bad" $took
  sed -n 's/^[a-z]*: \(skipped, .*\)/  \1/p' "$tmp/log"
  [ $bad = 0 ] || cat "$tmp/log"
}

specs() {
  name=$1 host=$2; shift 2
  run "$name" "$host" /usr/bin/busted -o plainTerminal "$@"
}

finish() {
  echo "$passed passed, $failed failed"
  [ $failed = 0 ]
  exit
}
