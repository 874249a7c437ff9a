--- The emulated GPU of spec/cuda shows what is wrong with kernels: barriers that are missing,
-- shared memory that is read before it is written, writes beside a block of memory.
local emulated = require "spec.dev.emulated"

-- launches(source, threads, n): the n numbers that the kernel `turn` writes by a block's threads.
local LAUNCHES = [[
  local ffi = require "ffi"
  ffi.cdef [=[
    int nvrtcCreateProgram(void **, const char *, const char *, int, void *, void *);
    int nvrtcCompileProgram(void *, int, const char **);
    int nvrtcGetCUBINSize(void *, size_t *); int nvrtcGetCUBIN(void *, char *);
    int nvrtcDestroyProgram(void **);
    int cuInit(unsigned);
    int cuDevicePrimaryCtxRetain(void **, int); int cuCtxPushCurrent_v2(void *);
    int cuModuleLoadData(void **, const void *); int cuModuleUnload(void *);
    int cuModuleGetFunction(void **, void *, const char *);
    int cuStreamCreate(void **, unsigned); int cuStreamSynchronize(void *);
    int cuEventCreate(void **, unsigned); int cuEventRecord(void *, void *);
    int cuEventSynchronize(void *); int cuEventQuery(void *);
    int cuStreamWaitEvent(void *, void *, unsigned);
    int cuStreamBeginCapture_v2(void *, int); int cuStreamEndCapture(void *, void **);
    int cuMemAlloc_v2(uint64_t *, size_t); int cuMemFree_v2(uint64_t);
    int cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, void *);
    int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void *, void **, void **);
  ]=]
  local cuda, nvrtc = ffi.load "libcuda.so.1", ffi.load "libnvrtc.so.13"
  local function pointer() return ffi.new "void *[1]" end
  local function image(source)
    local program, size = pointer(), ffi.new "size_t[1]"
    assert(nvrtc.nvrtcCreateProgram(program, source, "", 0, nil, nil) == 0)
    local options = ffi.new("const char *[1]", { "--gpu-architecture=sm_90" })
    assert(nvrtc.nvrtcCompileProgram(program[0], 1, options) == 0)
    assert(nvrtc.nvrtcGetCUBINSize(program[0], size) == 0)
    local bytes = ffi.new("char[?]", size[0])
    assert(nvrtc.nvrtcGetCUBIN(program[0], bytes) == 0)
    assert(nvrtc.nvrtcDestroyProgram(program) == 0)
    return bytes
  end
  local context, stream = pointer(), pointer()
  assert(cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(context, 0) == 0)
  assert(cuda.cuCtxPushCurrent_v2(context[0]) == 0 and cuda.cuStreamCreate(stream, 0) == 0)
  function captures(turn)
    local e, graph = pointer(), pointer()
    assert(cuda.cuEventCreate(e, 0) == 0 and cuda.cuEventRecord(e[0], stream[0]) == 0)
    assert(cuda.cuStreamBeginCapture_v2(stream[0], 2) == 0)
    print(turn(cuda, e[0], stream[0]))
    assert(cuda.cuStreamEndCapture(stream[0], graph) == 0)
  end
  function launches(source, threads, n)
    local module, fn, y = pointer(), pointer(), ffi.new "uint64_t[1]"
    assert(cuda.cuModuleLoadData(module, image(source)) == 0)
    assert(cuda.cuModuleGetFunction(fn, module[0], "turn") == 0)
    assert(cuda.cuMemAlloc_v2(y, 4 * n) == 0)
    local parameter, list, got = ffi.new("void *[1]", { y }), {}, ffi.new("int[?]", n)
    assert(cuda.cuLaunchKernel(fn[0], 1, 1, 1, threads, 1, 1, 0, stream[0], parameter, nil) == 0)
    assert(cuda.cuMemcpyDtoHAsync_v2(got, y[0], 4 * n, stream[0]) == 0)
    assert(cuda.cuStreamSynchronize(stream[0]) == 0 and cuda.cuMemFree_v2(y[0]) == 0)
    assert(cuda.cuModuleUnload(module[0]) == 0)
    for i = 0, n - 1 do list[#list + 1] = got[i] end
    return table.concat(list, " ")
  end
]]

--- Runs a script, which ends while the driver's threads are still there.
local function run(script, variables)
  return emulated.run(variables or {}, LAUNCHES .. script .. " os.exit(0)")
end

--- What a kernel of 100 threads writes, whose body is given.
local function turn(body, variables)
  local head = 'extern "C" __global__ void turn(int *y) { __shared__ int s[100]; '
  local text = ("%sconst int i = threadIdx.x; %s }"):format(head, body)
  return run(("print(launches([[%s]], 100, 100))"):format(text), variables)
end

describe("the emulated GPU", function()
  local want = {}
  for i = 1, 100 do want[i] = i % 100 end
  want = table.concat(want, " ") .. "\n"

  it("gives what a kernel with its barriers gives, in any order of threads", function()
    for seed = 1, 3 do
      assert.equal(want, (turn("s[i] = i; __syncthreads(); y[i] = s[(i + 1) % 100];",
        { JFL_EMULATED_SEED = seed })))
    end
  end)

  it("gives something else where a barrier is missing, in any order", function()
    for seed = 1, 3 do
      for _, by in ipairs { 1, 99, 32, 68 } do
        local out, status = turn(("s[i] = i; y[i] = s[(i + %d) %% 100] - %d;"):format(by, by - 1),
          { JFL_EMULATED_SEED = seed })
        assert.equal(0, status)
        assert.matches("%-%d", out)         -- of what was not yet there, which is -1
      end
    end
  end)

  it("refuses events that lead out of captured work, as the real one does", function()
    assert.equal("905\n", (run [[
      captures(function(cuda, e, stream) return cuda.cuStreamWaitEvent(stream, e, 0) end)
    ]]))
    assert.equal("0 907 907\n", (run [[
      captures(function(cuda, e, stream)
        return ("%d %d %d"):format(cuda.cuEventRecord(e, stream), cuda.cuEventSynchronize(e),
          cuda.cuEventQuery(e))
      end)
    ]]))
  end)

  it("forgets shared memory from launch to launch", function()
    local out = run([[
      local source = 'extern "C" __global__ void turn(int *y) { __shared__ int s; *y = s; s = 5; }'
      print(launches(source, 1, 1), launches(source, 1, 1))
    ]])
    assert.equal("-1\t-1\n", out)
  end)

  it("keeps freed addresses out of reach without a mapping for each", function()
    local out = run [[
      local function mappings()
        local n = 0
        for _ in io.lines "/proc/self/maps" do n = n + 1 end
        return n
      end
      local before, address = mappings(), ffi.new "uint64_t[1]"
      for _ = 1, 1000 do
        assert(cuda.cuMemAlloc_v2(address, 400) == 0 and cuda.cuMemFree_v2(address[0]) == 0)
      end
      print(mappings() - before < 100)
    ]]
    assert.equal("true\n", out)
  end)

  it("ends the program where something was written beside a block", function()
    for _, at in ipairs { 100, 127, -1 } do
      local out, status = turn(("y[i] = 1; y[%d] = 1;"):format(at))
      assert.truthy(status ~= 0, out)
      local said = ("byte %d of a block of 400 was written"):format(4 * at)
      assert.truthy(out:find(said, 1, true), out)
    end
  end)
end)
