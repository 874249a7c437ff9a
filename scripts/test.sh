#!/bin/sh
# test.sh [ci]: builds and runs the tests; with ci those that take long too, and warnings are
# failures. The last line adds them up.
cd "$(dirname "$0")/.." || exit 1
. scripts/unset.sh
ci=$1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
. scripts/count.sh

# aside COMMAND...: runs parts while others go on. meet: waits for all of these, and counts them.
lanes=0
aside() {
  lanes=$((lanes + 1))
  mkdir "$tmp/$lanes"
  ( tmp=$tmp/$lanes passed=0 failed=0
    "$@"
    echo "$passed $failed" >"$tmp/total"
  ) >"$tmp/$lanes.log" 2>&1 &
}

meet() {
  wait
  while [ $lanes != 0 ]; do
    cat "$tmp/$lanes.log"
    good=0 bad=1             # where it ended before it could tell
    read -r good bad <"$tmp/$lanes/total"
    rm -r "$tmp/$lanes"
    passed=$((passed + good)) failed=$((failed + bad)) lanes=$((lanes - 1))
  done
}

# What builds in folders of its own.
packages() {
  run "the rock" scripts/package/rock
  run "Debian packages" scripts/package/deb
}

systems() {
  run "jfl for 64-bit ARM" scripts/systems/test arm64
  run "jfl with musl" scripts/systems/test musl
  run "jfl for Windows" scripts/systems/test windows
}

build() { make --no-print-directory -s -j2 "$@"; }

# The same, and it fails if anything is printed, such as a warning.
quiet_build() {
  build "$@" >"$tmp/build" 2>&1; status=$?
  cat "$tmp/build"
  [ $status = 0 ] && [ ! -s "$tmp/build" ]
}

# Where Lua's errors unwind the stack only the sanitizer's fast unwinder is safe; the suppressions
# of the other tests need the whole stack. Two tests take more than a minute: they are for CI.
c_tests() {
  for test in "$2"/spec/*_test; do
    case $ci${test#"$2"/spec/} in nvrtc_test|allocation_test) continue ;; esac
    case $test in
      */bind_test|*/cycles_test|*/states_test|*/delivery_test) fast=1 ;;
      */script_test|*/script_memory_test|*/layer_test|*/misuse_test) fast=1 ;;
      *) fast=0 ;;
    esac
    export ASAN_OPTIONS=allocator_may_return_null=1:fast_unwind_on_malloc=$fast
    run "$1 $(basename "$test")" "$test"
  done
}

# The first `count` records of an IDX file.
cut_idx() {
  count=$3 header=$4 record=$5
  { gzip -dc "$1" | head -c 4
    printf "\\0\\0\\$(printf %o $((count / 256)))\\$(printf %o $((count % 256)))"
    gzip -dc "$1" | head -c $((header + count * record)) | tail -c +9
  } >"$2"
}

# So many images of each kind in a folder; with 1000 an example's epoch takes a second.
small_data() {
  from=/usr/share/datasets/fashion-mnist
  mkdir -p "$2"
  for kind in train t10k; do
    cut_idx $from/$kind-images-idx3-ubyte.gz "$2/$kind-images-idx3-ubyte" "$1" 16 784
    cut_idx $from/$kind-labels-idx1-ubyte.gz "$2/$kind-labels-idx1-ubyte" "$1" 8 1
  done
}

# Their order matters: some load the checkpoints of others.
example_names='job_function_define_call synchronize_single_job synchronize_batch_job
  async_single_job async_batch_job mlp_mnist_finetune demo'

examples() {
  root=$PWD
  small_data 1000 "$tmp/data"
  cd "$tmp" || return
  for name in $example_names; do
    JFL_DATA=$tmp/data run "example $name" "$root/build/jfl" "$root/examples/$name.lua" 1
  done
  cd "$root" || return
}

# Runs the examples from a seed in the folder, and keeps there what they print and their variables.
seeded_examples() {
  root=$PWD
  mkdir -p "$tmp/$1" && cd "$tmp/$1" || return
  for name in $example_names; do
    JFL_DATA=$tmp/few "$root/build/jfl" "$root/scripts/seeded.lua" "$root/examples/$name.lua" 1 \
      >"$name.out" 2>"$tmp/err" </dev/null || { echo "$name failed"; cat "$tmp/err"; } >>failed.out
  done
  cd "$root" || return
}

# Prints how two folders differ, or what failed in either; succeeds if there is nothing to print.
same_examples() {
  cat "$tmp/$1/failed.out" "$tmp/$2/failed.out" 2>/dev/null && return 1
  diff -r "$tmp/$1" "$tmp/$2"
}

# The simulated device gives what the CPU's plain kernels give. Left out are C tests that look at
# threads and allocations of the CPU or run nothing, specs of passes and plans, which look at what
# the CPU gets (spec/dev runs all ops in jobs), and what says #cpu.
simulated() {
  export JFL_DEVICE=sim
  for test in bind checkpoint crash delivery exhausted queue states; do
    run "C on sim ${test}_test" "build/obj-gcc/spec/${test}_test"
  done
  run "specs on sim" scripts/busted build/jfl --exclude-tags=cpu spec/bind spec/checkpoint \
    spec/run ${ci:+spec/cmd spec/lua spec/op spec/optim spec/plan/fuzz_spec.lua}
  run "soak on sim" build/jfl scripts/soak.lua 5
  small_data 200 "$tmp/few"
  export JFL_KERNELS=reference       # for jobs that examples place on the CPU
  seeded_examples sim
  unset JFL_DEVICE
  seeded_examples plain
  unset JFL_KERNELS
  run "examples on sim" same_examples plain sim
}

# beside EXAMPLE STEPS [ARGUMENT...]: it trains on the emulated GPU as on the CPU, loss by loss.
beside() {
  name=$1; shift
  JFL_DATA=$tmp/few run "$name beside the CPU" build/jfl scripts/beside.lua \
    "examples/$name.lua" "$@"
}

# The emulated GPU gives what the CPU's plain kernels give. Its kernels are compiled here, so few
# ops and examples are tried outside of CI.
emulated() {
  export JFL_SPEC_DEVICE=gpu JFL_EMULATED_DEVICES=4 XDG_CACHE_HOME="$PWD/build/cache"
  export LD_LIBRARY_PATH="$PWD/build/emulated"
  if [ -n "$ci" ]; then
    run "specs on the emulated GPU" scripts/gpu workers spec/dev/late_spec.lua
  else
    specs "specs on the emulated GPU" build/jfl --filter="with add" --filter="trains mlp" \
      --filter="on a device" --filter=checkpoint spec/dev/late_spec.lua
  fi
  specs "runs on the emulated GPU" build/jfl spec/run/lane_spec.lua
  if [ -n "$ci" ]; then
    specs "jobs on several emulated GPUs" build/jfl spec/pass/spread_spec.lua
  else
    specs "jobs on several emulated GPUs" build/jfl --filter="on one device: mlp" \
      --filter=split spec/pass/spread_spec.lua
  fi
  JFL_DEVICE=gpu run "C on the emulated GPU exhausted_test" build/obj-gcc/spec/exhausted_test
  unset JFL_SPEC_DEVICE JFL_EMULATED_DEVICES XDG_CACHE_HOME LD_LIBRARY_PATH
  if [ -n "$ci" ]; then steps=4; else steps=1; fi
  beside synchronize_single_job $steps 2
  beside gpt 6 layers=2 heads=2 size=32 context=16 batch=4
  [ -n "$ci" ] || return
  beside resnet50 2 size=28 blocks=1,1 width=8 batch=10 seed=1
  beside wide_and_deep 3 3
  beside unet 2
  beside lstm 3 3
  beside bert 2 3
  beside dcgan 2 1 2
  beside dqn 3
  JFL_GPU_TRIAL=1 run "scripts/gpu in small" scripts/gpu
  run "kernels by NVIDIA's compiler" build/jfl scripts/spills.lua 200
}

run "build" ${ci:+quiet_}build all tests
[ $failed = 0 ] || finish
if [ -n "$ci" ] && command -v clang >/dev/null; then
  run "build with clang" quiet_build CC=clang objects
fi
run "build of the benches" quiet_build build/bench-kernels build/bench-threads \
  build/bench-load build/bench-copy build/bench-net
run "structure" scripts/lint.sh
# Every instruction, allocation and part, not some; and ranks killed at more moments; and all
# that is done in hosts.
[ -z "$ci" ] || export JFL_CUTS=1 JFL_KILLS=50 JFL_HOSTS=1
aside c_tests "C" build/obj-gcc
run "specs" scripts/busted build/jfl spec
meet
unset JFL_CUTS JFL_HOSTS
LUA_CPATH="$PWD/build/?.so;;" run "specs in luajit" scripts/busted luajit spec/bind spec/lua
JFL_SPEC_DEVICE=core JFL_CPU_DEVICES=4 specs "specs on shares of the CPU" build/jfl \
  spec/dev/late_spec.lua spec/run/lane_spec.lua
[ -z "$ci" ] || JFL_FUZZ=1 specs "each op in each way of its parts" build/jfl \
  spec/pass/spread_op_spec.lua
[ -z "$ci" ] || JFL_FUZZ=2000 specs "random texts in restricted scripts" build/jfl \
  spec/script/fuzz_spec.lua
examples
[ -z "$ci" ] || run "two hosts" scripts/two_hosts
run "soak" build/jfl scripts/soak.lua 5
simulated
emulated

# The leak check cannot read the thread storage of libraries that are opened late.
sanitized=build/obj-gcc-address,undefined
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS="use_tls=0:print_suppressions=0:suppressions=$PWD/scripts/lsan.supp"
run "sanitized build" build SAN=address,undefined products tests
export ASAN_OPTIONS=allocator_may_return_null=1
aside c_tests "sanitized C" $sanitized
some="spec/bind spec/checkpoint spec/run spec/script"
if [ -n "$ci" ]; then
  aside packages
  aside systems
  some=spec
fi
run "sanitized specs" scripts/busted $sanitized/jfl $some
meet
run "fuzzing" scripts/fuzz.sh ${ci:+3}
run "sanitized soak" $sanitized/jfl scripts/soak.lua 5
run "build for ThreadSanitizer" build SAN=thread products
run "soak under ThreadSanitizer" build/obj-gcc-thread/jfl scripts/soak.lua 10
JFL_DEVICE=sim run "the same on sim" build/obj-gcc-thread/jfl scripts/soak.lua 10
JFL_CPU_DEVICES=2 run "the same on shares of the CPU" build/obj-gcc-thread/jfl scripts/soak.lua 5
finish
