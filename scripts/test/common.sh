# What the tiers of tests share: a clean environment, builds, and lists of tests for scripts/pool.
unset CC SAN DEBUG CFLAGS MAKEFLAGS LUA_INIT LUA_PATH LUA_CPATH
unset JFL_KERNELS JFL_LIBRARIES JFL_PASSES JFL_DUMP JFL_GOLDEN
unset JFL_FUZZ JFL_FUZZ_SEED JFL_CUTS JFL_KILLS
unset JFL_DEVICE JFL_CPU_DEVICES JFL_SIM_DELAY JFL_SIM_SEED JFL_SIM_FAULT
unset JFL_RANK JFL_RANKS JFL_SECRET JFL_PRINT JFL_PATIENCE JFL_JOIN_SECONDS JFL_PEEK JFL_NCCL
unset JFL_MPI_SHIM
unset JFL_SIGNATURE JFL_HOSTS JFL_HOSTS_TABLE OPENBLAS_CORETYPE
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. scripts/count.sh
tab=$(printf '\t')
native=build/obj-gcc
sanitized=build/obj-gcc-address,undefined
threaded=build/obj-gcc-thread

# What a program needs to find the emulated GPU, and to keep its kernels for the next one.
gpu="LD_LIBRARY_PATH='$PWD/build/emulated' XDG_CACHE_HOME='$PWD/build/cache'"
gpu="$gpu JFL_EMULATED_DEVICES=4"

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

# Specs for other tiers: of other programs and packages, for the deep one; of build/counted, for the
# landing one.
hosts='spec/(hosts/|package/install_|examples/(hosts|love_pong|nginx_classify|nvim_complete)_)'
counted='spec/plan/growth_'

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
