# The landing tier, for .ci/run: the quick tier, and what else must hold before a change lands.

# Specs that call each function, or ask for help on it, do the same on any device and in a stock
# LuaJIT, where the deep tier runs them.
same='spec/lua/(misuse|doc/(guide|help))_'

# How work grows (build/counted), the emulated GPU's kernels, and what LuaJIT says of the front end.
more_list() {
  spec_files "specs" build/jfl spec | grep -E "$counted|$emulated"
  spec_files "specs in luajit" "$stock" spec/lua | grep -v -E "$same"
  spec_files "each op in each way of its parts" "JFL_FUZZ=1 build/jfl" \
    spec/pass/spmd_op_spec.lua
  alone "documents" build/jfl scripts/doc.lua build/doc-landing
}

more_simulated_list() {
  spec_files "specs on sim" "JFL_DEVICE=sim build/jfl" --exclude-tags=cpu spec/cmd spec/lua \
    spec/op spec/optim spec/plan/fuzz_spec.lua | grep -v -E "$hosts|$same"
  one "examples on sim" scripts/test/examples sim
}

# Every case of every op, in jobs and alone.
more_emulated_list() {
  share_list "specs on the emulated GPU" 16 "$gpu JFL_SPEC_DEVICE=gpu build/jfl" \
    spec/dev/async_spec.lua
  share_list "jobs on several emulated GPUs" 4 "$gpu JFL_SPEC_DEVICE=gpu build/jfl" \
    spec/pass/spmd_spec.lua
  spec_files "jobs on several emulated GPUs" "$gpu JFL_SPEC_DEVICE=gpu build/jfl" \
    spec/lua/job/apart_spec.lua
}

# The leak check cannot read the thread storage of libraries that are opened late.
with_sanitizers() {
  export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=allocator_may_return_null=1
  # die_after_fork=0: for tests of children that go on with threads.
  export TSAN_OPTIONS="die_after_fork=0:suppressions=$PWD/scripts/tsan.supp"
  export LSAN_OPTIONS="use_tls=0:print_suppressions=0:suppressions=$PWD/scripts/lsan.supp"
}

# spec/sanitized lists the specs that reach what no sanitized C test does.
sanitized_list() {
  c_tests "sanitized C" $sanitized
  spec_files "sanitized specs" $sanitized/jfl $(grep -v '^#' spec/sanitized)
  alone "sanitized soak" $sanitized/jfl scripts/soak.lua 5
  one "files of the fuzzer" scripts/fuzz.sh
}

# What ThreadSanitizer looks at: C tests with threads, but for async_test, which runs a plan that is
# wrong on purpose, and soaks.
threaded_tests=$(printf "$threaded/spec/%s_test " api/together data/loader dev/sim dev/stream \
  run/across run/behind run/execution run/pace run/queue run/redefine run/threads run/view \
  world/door world/strangers world/world)

threaded_list() {
  # At some of the addresses that a system draws the sanitizer finds no room for its own memory.
  still=$(setarch -R true 2>&- && echo setarch -R) || still=
  for test in $threaded_tests; do one "C under ThreadSanitizer" $still $test; done
  soak="$still $threaded/jfl scripts/soak.lua"
  alone "soak under ThreadSanitizer" "$soak 10"
  alone "soak under ThreadSanitizer" "JFL_DEVICE=sim $soak 10"
  alone "soak under ThreadSanitizer" "JFL_CPU_DEVICES=2 $soak 5"
}

landing() {
  strict=1
  quick
  if command -v clang >/dev/null; then
    run "what clang says" quiet_build CC=clang SYNTAX=1 objects
  fi
  run "build of the benches" quiet_build build/bench-kernels build/bench-threads \
    build/bench-load build/bench-copy build/bench-net build/counted
  run "sanitized build" build SAN=address,undefined $sanitized/jfl tests fuzzer
  run "build for ThreadSanitizer" build SAN=thread $threaded/jfl $threaded_tests
  with_sanitizers
  pool more_emulated_list more_list more_simulated_list sanitized_list threaded_list
}
