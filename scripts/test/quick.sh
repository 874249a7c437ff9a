# The quick tier, for a developer: what users get, the front end in a stock LuaJIT, a small part of
# what runs on other devices, and the structure of the sources.

# How a stock LuaJIT runs specs; and the spec of the core module, which takes long, so that a stock
# LuaJIT and the simulated device run it in the deep tier alone.
stock="LUA_CPATH='$PWD/build/?.so;;' luajit"
core='spec/bind/core_spec'

# Where nothing is known of how long each takes, those that take long come first. What the landing
# tier does more of is left to it there.
here_list() {
  { spec_files "specs" build/jfl spec/dev spec/lua/doc spec/examples spec/lua/job
    spec_files "specs" build/jfl spec; } |
    grep -v -E "$hosts|$counted|$emulated${strict:+|spec/pass/spmd_op_}" |
    awk '!seen[$0]++'
  c_tests "C" $native
  spec_files "specs in luajit" "$stock" spec/bind | grep -v "$core"
  alone "structure" scripts/lint.sh
  one "examples" scripts/test/examples
  alone "soak" build/jfl scripts/soak.lua 5
}

# The simulated device gives what the CPU's plain kernels give. Left out are C tests that look at
# threads and allocations of the CPU or run nothing, specs of passes and plans, which look at what
# the CPU gets (spec/dev runs all ops in jobs), and what says #cpu.
simulated_list() {
  for test in bind/bind bind/delivery bind/states checkpoint/checkpoint checkpoint/crash \
    run/exhausted run/queue; do
    one "C on sim" JFL_DEVICE=sim $native/spec/${test}_test
  done
  spec_files "specs on sim" "JFL_DEVICE=sim build/jfl" --exclude-tags=cpu spec/bind \
    spec/checkpoint spec/run | grep -v "$core"
  alone "soak on sim" JFL_DEVICE=sim build/jfl scripts/soak.lua 5
  share_list "specs on shares of the CPU" 4 "JFL_SPEC_DEVICE=core JFL_CPU_DEVICES=4 build/jfl" \
    spec/dev/async_spec.lua spec/run/staging_spec.lua
}

# beside EXAMPLE [ARGUMENT...]: it trains on the emulated GPU as on the CPU, loss by loss.
beside() {
  example=$1; shift
  alone "examples beside the CPU" "$gpu JFL_DATA=$few" build/jfl scripts/beside.lua \
    "examples/$example.lua" "$@"
}

# The emulated GPU gives what the CPU's plain kernels give. Its kernels are compiled here, so few
# ops and examples are tried.
emulated_list() {
  on_gpu="$gpu JFL_SPEC_DEVICE=gpu build/jfl"
  spec_files "specs on the emulated GPU" "$on_gpu" spec/run/staging_spec.lua
  spec_files "specs on the emulated GPU" "$on_gpu" --filter="with add" --filter="trains mlp" \
    --filter="on a device" --filter=checkpoint spec/dev/async_spec.lua
  spec_files "specs on the emulated GPU" "$on_gpu" --filter="on one device: mlp" --filter=split \
    spec/pass/spmd_spec.lua
  one "C on the emulated GPU" "$gpu JFL_DEVICE=gpu $native/spec/run/exhausted_test"
  beside synchronize_single_job 1 2
  beside gpt 6 layers=2 heads=2 size=32 context=16 batch=4
}

quick() {
  small_data
  run "build" ${strict:+quiet_}build all tests
  [ $bad = 0 ] || finish
  pool emulated_list here_list simulated_list
}
