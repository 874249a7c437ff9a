#!/bin/sh
# fuzz.sh SECONDS [TARGET...]: builds the fuzzer with sanitizers and gives it so many seconds for
# each target; 0: only the files of the corpus. What it finds is kept in build/fuzz.
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-0}
[ $# = 0 ] || shift
unset CC SAN DEBUG CFLAGS MAKEFLAGS LUA_INIT LUA_PATH LUA_CPATH
make --no-print-directory -s -j2 SAN=address,undefined fuzzer || exit 1
[ "$seconds" = 0 ] || make --no-print-directory -s build/jfl || exit 1
export ASAN_OPTIONS=allocator_may_return_null=1:fast_unwind_on_malloc=1:handle_abort=1
ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=32       # freed pages come back while they are warm
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS="use_tls=0:print_suppressions=0:suppressions=$PWD/scripts/lsan.supp"
[ ! -d /dev/shm ] || export TMPDIR=/dev/shm
mkdir -p build/fuzz
[ $# != 0 ] || set -- json inflate safetensors oneflow torch pickle shards npy npz idx loop png \
  jpeg csv tar ofrecord wav tokenizer onnx gguf world
passed=0 failed=0
for target; do
  [ "$seconds" = 0 ] || build/jfl spec/fuzz/seeds.lua "$target" "build/fuzz/$target" || exit 1
  if n=$(build/obj-gcc-address,undefined/fuzz/fuzz "$target" "$seconds" "spec/fuzz/corpus/$target" \
      "build/fuzz/$target"); then
    passed=$((passed + ${n%% *}))
  else
    failed=$((failed + 1))
    echo "$target failed" >&2
  fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
