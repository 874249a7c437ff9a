# The deep tier: what takes long or needs other programs, in slices, of which .ci/run does one at a
# time. A slice is a function slice_NAME.

# has LIST: installs what a slice needs; without it the slice skips what is missing, and says so.
has() { scripts/setup "$1" </dev/null || echo "going on without what 'scripts/setup $1' installs"; }

# Other systems and packages.
slice_arm64() { has systems; run "jfl for 64-bit ARM" scripts/systems/test arm64; }
slice_musl() { has systems; run "jfl with musl" scripts/systems/test musl; }
slice_windows() { has systems; run "jfl for Windows" scripts/systems/test windows; }
slice_rock() { has package; run "the rock" scripts/package/rock; }
slice_deb() {
  has package
  run "Debian packages" scripts/package/deb
  pool installed_list
}
installed_list() { spec_files "specs of packages" build/jfl spec/package; }

# What processors with fewer vector instructions than this one compute. Loops that are chosen for
# AVX2 or for neither would else run nowhere.
slice_vectors() {
  for bits in 256 128; do
    run "a build of $bits bits" build VECTORS=$bits build/obj-gcc-$bits/jfl
  done
  pool vectors_list
}
vectors_list() {
  for bits in 256 128; do
    spec_files "kernels of $bits bits" build/obj-gcc-$bits/jfl spec/op spec/oracle_spec.lua
  done
}

# Inside other programs, with all that is done there.
slice_hosts() { has hosts; pool hosts_list; }
hosts_list() {
  spec_files "specs of hosts" "JFL_HOSTS=1 build/jfl" spec | grep -E "$hosts"
  one "programs in C that come and go" JFL_HOSTS=1 $native/spec/bind/cycles_test
}

# Each instruction, allocation and call of a driver fails once, not some of them.
slice_allocations() { pool allocations_list; }
allocations_list() {
  one "each allocation" $native/spec/run/allocation_test
  one "each allocation" JFL_CUTS=1 $native/spec/bind/delivery_test
  spec_files "some allocations, also of libraries" "JFL_CUTS=10 build/jfl" \
    spec/system/starved_spec.lua
  spec_files "each instruction" "JFL_CUTS=1 build/jfl" spec/lua/job/cut_spec.lua \
    spec/op/signature_spec.lua
  spec_files "each limit of memory" "JFL_CUTS=1 build/jfl" spec/plan/room_spec.lua
}

# Each system call of what saves and loads fails, or is the last one; crashes of the machine.
slice_faults() { pool faults_list; }
faults_list() {
  spec_files "each system call" "JFL_CUTS=1 build/jfl" spec/system/faults_spec.lua
  spec_files "some calls on sockets" "JFL_CUTS=25 build/jfl" spec/system/worlds_spec.lua
  one "crashes of the machine" JFL_CUTS=50 $native/spec/checkpoint/crash_test
}
slice_drivers() { pool drivers_list; }
drivers_list() {
  spec_files "each call of a driver" "JFL_CUTS=1 build/jfl" spec/dev/gpu_spec.lua \
    spec/dev/dnn_spec.lua
}

# Ranks that are killed, and ranks on two hosts.
slice_kills() {
  has network
  pool kills_list
  run "two hosts" scripts/two_hosts
}
kills_list() {
  spec_files "ranks killed at many moments" "JFL_KILLS=50 build/jfl" spec/cmd/ranks_spec.lua
  spec_files "training that goes on after kills" "JFL_KILLS=${JFL_KILLS:-250} build/jfl" \
    spec/checkpoint/resume_spec.lua
}

# Random files, calls, jobs and scripts.
slice_files() { run "random files" scripts/fuzz.sh 20; }
slice_random() { pool random_list; }
random_list() {
  spec_files "random jobs" "JFL_FUZZ=1000 build/jfl" spec/plan/fuzz_spec.lua \
    spec/pass/fuse_spec.lua spec/pass/layout_spec.lua spec/examples/devices_spec.lua
  spec_files "random calls" "JFL_FUZZ=100 build/jfl" spec/op/fuzz_spec.lua spec/bind/core_spec.lua
  spec_files "random scripts" "JFL_FUZZ=2000 build/jfl" spec/box/fuzz_spec.lua \
    spec/box/cross_spec.lua spec/lua/repl/locals_spec.lua
  spec_files "calls in luajit" "$stock" spec/bind/core_spec.lua spec/lua/misuse_spec.lua \
    spec/lua/doc/guide_spec.lua spec/lua/doc/help_spec.lua
  spec_files "random calls on sim" "JFL_DEVICE=sim build/jfl" --exclude-tags=cpu \
    spec/bind/core_spec.lua
  spec_files "limits passed 2000 times" "JFL_FUZZ=500 build/jfl" spec/box/limits_spec.lua
  spec_files "random calls on an emulated GPU" "JFL_FUZZ=1 build/jfl" spec/dev/gpu_fused_spec.lua
}

# The specs under the sanitizers that the landing tier does not run so (spec/sanitized), but for
# examples, which train for minutes what others train in small. Some start ranks by an MPI, for
# which all products are needed.
slice_sanitized() {
  run "sanitized build" build SAN=address,undefined products
  with_sanitizers
  pool more_sanitized_list
}
more_sanitized_list() {
  grep -v '^#' spec/sanitized >"$tmp/landing"
  spec_files "sanitized specs" $sanitized/jfl spec | grep -v -F -f "$tmp/landing" |
    grep -v -E "$hosts|$counted|spec/(examples/|pass/examples_)"
}

# GPUs: NVIDIA's compiler for all architectures, and examples on the emulated one.
slice_architectures() {
  pool architectures_list
  run "kernels by NVIDIA's compiler" build/jfl scripts/spills.lua 100
}
architectures_list() { one "kernels for all architectures" $native/spec/kernels/nvrtc_test; }
slice_gpu_examples() {
  pool gpu_examples_list
  run "scripts/gpu in small" env JFL_GPU_TRIAL=1 scripts/gpu
}
gpu_examples_list() {
  beside synchronize_single_job 4 2
  beside resnet50 2 size=28 blocks=1,1 width=8 batch=10 seed=1
  beside wide_and_deep 3 3
  beside unet 2
  beside lstm 3 3
  beside bert 2 3
  beside dcgan 2 1 2
  beside dqn 3
}

slices() { sed -n 's/^slice_\([a-z0-9_]*\)() .*/\1/p' scripts/test/deep.sh; }

# The slice of the commit, which its hash chooses.
commit_slice() {
  hash=$(git rev-parse --short=7 HEAD) || return
  slices | awk -v n=$((0x$hash)) '{ name[NR - 1] = $1 } END { print name[n % NR] }'
}

# deep [SLICE...]: builds, and runs these slices, or all. A file of theirs may take long.
deep() {
  [ $# != 0 ] || set -- $(slices)
  for slice; do
    slices | grep -q -x -e "$slice" || {
      echo "test.sh: SLICE must be one of $(echo $(slices)), got '$slice'" >&2
      exit 2
    }
  done
  export JFL_TEST_SECONDS=3600
  small_data
  run "build" build all tests
  [ $bad = 0 ] || finish
  for slice; do
    failed_before=$failed
    say "slice $slice of the deep tier:"
    slice_$slice
    [ $failed = "$failed_before" ] || say "repeat it by: make test-deep SLICES=$slice"
  done
}
