# What the tiers of tests share: a clean environment, builds, and lists of tests for scripts/pool.
. scripts/unset.sh
export JFL_SEED="${JFL_SEED:-1}"     # tests draw the same numbers in each run
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. scripts/count.sh
native=build/obj-gcc
sanitized=build/obj-gcc-address,undefined
threaded=build/obj-gcc-thread

# What a program needs to find the emulated GPU, and to keep its kernels for the next one.
gpu="LD_LIBRARY_PATH='$PWD/build/emulated' XDG_CACHE_HOME='$PWD/build/cache'"
gpu="$gpu JFL_EMULATED_DEVICES=4 JFL_EMULATED_ORDER=1"

few=$tmp/data              # a small data set, for examples
small_data() { [ -d "$few" ] || scripts/test/data 200 "$few"; }

say() { echo "$@"; }

build() { make --no-print-directory -s -j"$(nproc)" "$@"; }

# The same, and it fails if anything is printed, such as a warning.
quiet_build() {
  build "$@" >"$tmp/build" 2>&1; status=$?
  cat "$tmp/build"
  [ $status = 0 ] && [ ! -s "$tmp/build" ]
}

# one GROUP COMMAND...: a line of a list.
one() {
  group=$1; shift
  printf '%s\t%s\n' "$group" "$*"
}

# alone GROUP COMMAND...: the same of a command that prints no summary: one test.
alone() {
  group=$1; shift
  one "$group" "$* && echo 1 passed, 0 failed"
}

# Specs for other tiers: of other programs and packages, for the deep one; of build/counted and of
# the emulated GPU's kernels, for the landing one.
hosts='spec/(hosts/|package/install_|examples/(hosts|love_pong|nginx_classify|nvim_complete)_)'
counted='spec/plan/(growth|deadline)_'
emulated='spec/dev/(gpu_(extents|fused|index|libraries|optim|random|sequence)|dnn|blas|kernels)_'

# c_tests GROUP FOLDER [SETTING]: the C tests that were built there, but for those of the deep tier.
c_tests() {
  for test in "$2"/spec/*/*_test; do
    case ${test##*/} in nvrtc_test|allocation_test) ;; *) one "$1" "$3 $test" ;; esac
  done
}

# spec_files GROUP HOST [OPTION...] PATH...: spec files, each by itself.
spec_files() {
  group=$1; shift
  scripts/busted --list="$group" "$@"
}

# share_list GROUP N HOST [OPTION...] FILE...: spec files in so many parts.
share_list() {
  group=$1 n=$2 host=$3; shift 3
  for i in $(seq "$n"); do one "$group" "$host scripts/specs.lua --share=$i/$n $*"; done
}

# pool LIST...: runs the lists that these functions print, and adds up.
pool() {
  for list; do $list; done >"$tmp/list"
  scripts/pool --slowest <"$tmp/list" >"$tmp/pool"
  sed '$d' "$tmp/pool"
  set -- $(summary "$tmp/pool")
  passed=$((passed + ${1:-0})) failed=$((failed + ${2:-1}))
}
