--- The emulated GPU of spec/cuda shows what is wrong with kernels: barriers that are missing,
-- shared memory that is read before it is written, writes beside a block of memory.
local emulated = require "spec.dev.emulated"

-- launches(source, threads, n, blocks, shared): the n numbers that the kernel `turn` writes by the
-- threads of so many blocks, or the errors of the launch and of its end.
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
    int cuMemcpyHtoDAsync_v2(uint64_t, const void *, size_t, void *);
    int cuMemsetD8Async(uint64_t, unsigned char, size_t, void *);
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
  function launches(source, threads, n, blocks, shared)
    local module, fn, y = pointer(), pointer(), ffi.new "uint64_t[1]"
    assert(cuda.cuModuleLoadData(module, image(source)) == 0)
    assert(cuda.cuModuleGetFunction(fn, module[0], "turn") == 0)
    assert(cuda.cuMemAlloc_v2(y, 4 * n) == 0)
    local parameter, list, got = ffi.new("void *[1]", { y }), {}, ffi.new("int[?]", n)
    local begun = cuda.cuLaunchKernel(fn[0], blocks or 1, 1, 1, threads, 1, 1, shared or 0,
      stream[0], parameter, nil)
    local ended = cuda.cuStreamSynchronize(stream[0])
    if begun + ended > 0 then return begun, ended end
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

  --- What `turn` gives of a kernel that ends with an error: both errors, and what was said.
  local function fails(errors, said, body, variables)
    local out = turn(body, variables)
    assert.truthy(out:find(errors, 1, true), out)
    assert.truthy(out:find(said, 1, true), out)
  end

  it("ends a launch whose threads wait at different barriers", function()
    fails("0\t719", "wait at the barriers of lines ",
      "if (i < 64) { __syncthreads(); y[i] = 1; }\n else { __syncthreads(); y[i] = 2; }")
    fails("0\t719", "wait for others that never come",
      "if (i < 3) __syncthreads(); else if (i < 32) __shfl_sync(~0u, i, 0);")
  end)

  it("gives no number from lanes that are not there", function()
    local out = turn "y[i] = __shfl_down_sync(~0u, i, 16);"
    local list = {}
    for number in out:gmatch "%S+" do list[#list + 1] = tonumber(number) end
    assert.equal(16, list[1])
    for i = 97, 100 do assert.equal(-1, list[i]) end
    fails("0\t719", "lane 3 calls with mask 0x7", "if (i < 4) __shfl_sync(7u, i, 0);")
  end)

  it("ends a launch whose addresses are not aligned as their types", function()
    fails("0\t716", "is not aligned", "if (i == 0) *(float2 *)(y + 1) = make_float2(1, 2);")
    fails("0\t716", "is not aligned", "if (i == 0) *(int4 *)(y + 2) = int4();")
    assert.equal(want, (turn "if (i % 2 == 0) *(int2 *)(y + i) = { i + 1, (i + 2) % 100 };"))
  end)

  it("lets other threads go on behind an atomic", function()
    local out = turn("y[i] = 0; __syncthreads(); " ..
      "const int was = y[0]; atomicAdd(y + 1, 1); y[0] = was + 1;")
    local count, adds = out:match "^(%d+) (%d+)"
    assert.equal("100", adds)
    assert.truthy(tonumber(count) < 100, out)
  end)

  it("refuses more threads than a kernel's bounds, and more shared memory than is usual", function()
    local out = run [=[
      local function bounded(bounds)
        return 'extern "C" __global__ void ' .. bounds .. ' turn(int *y) { ' ..
          '__shared__ int s[1000]; s[threadIdx.x % 1000] = 7; __syncthreads(); y[0] = s[0]; }'
      end
      print(launches(bounded "__launch_bounds__(64, 2)", 64, 1),
        launches(bounded "", 1024, 1, 1, 40000))
      print(launches("#define MOST __launch_bounds__(32 * 2)\n" .. bounded "MOST", 65, 1))
      print(launches(bounded "", 1, 1, 1, 48 * 1024 - 4000))
      print(launches(bounded "", 1, 1, 1, 48 * 1024 - 3999))
    ]=]
    assert.equal("7\t7\n701\t0\n7\n1\t0\n", out)
  end)

  it("runs blocks in no order that a kernel could rely on", function()
    for seed = 1, 3 do
      for _, leader in ipairs { 0, 1 } do
        local out = run(([=[
          print(launches([[extern "C" __global__ void turn(int *y) {
            const int b = blockIdx.x;
            if (b %% 2 == %d) y[b] = 1; else y[b] = y[b ^ 1]; }]], 1, 64, 64))
        ]=]):format(leader), { JFL_EMULATED_SEED = seed })
        assert.matches("%-1", out)
      end
    end
  end)

  it("joins products and sums if asked", function()
    -- the square of 1 + 1 / 4096 less what float32 keeps of it
    local body = "volatile float a = 1 + 1.0f / 4096, c = a * a; const float b = a; " ..
      "y[i] = (b * b - c) * 16777216;"
    assert.matches("^0 0", (turn(body)))
    assert.matches("^1 1", (turn(body, { JFL_EMULATED_FMA = 1 })))
  end)

  it("hands out first what was freed last, if asked", function()
    local script = [[
      local a, b = ffi.new "uint64_t[1]", ffi.new "uint64_t[1]"
      local head = 'extern "C" __global__ void turn(int *y) '
      local first = launches(head .. "{ y[threadIdx.x] = 7; }", 9, 9)
      local again = launches(head .. "{ y[1] = y[0] == 7; }", 1, 9)
      assert(cuda.cuMemAlloc_v2(a, 4000) == 0 and cuda.cuMemFree_v2(a[0]) == 0)
      assert(cuda.cuMemAlloc_v2(b, 4000) == 0)
      print(first, again, a[0] == b[0])
    ]]
    local out = run(script, { JFL_EMULATED_REUSE = 1 })
    assert.equal("7 7 7 7 7 7 7 7 7\t7 1 7 7 7 7 7 7 7\ttrue\n", out)
    out = run(script)
    assert.equal("7 7 7 7 7 7 7 7 7\t-1 0 -1 -1 -1 -1 -1 -1 -1\tfalse\n", out)
  end)

  describe("where races are looked for", function()
    local races = { JFL_EMULATED_RACES = 1 }

    it("ends a launch in which no barrier is between two threads", function()
      -- the numbers are right: both write the same
      fails("0\t719", "with no barrier between",
        "s[i / 2] = 1; __syncthreads(); y[i] = s[i / 2];", races)
      -- each reads what was there, and then what it held is written: right in some orders
      fails("0\t719", "with no barrier between",
        "s[i] = 1; __syncthreads(); const int v = s[i ^ 1]; s[i] = v; y[i] = v;", races)
      fails("0\t719", "with no barrier between",
        "if (i == 0) s[0] = 0; __syncthreads(); atomicAdd(s, 1); y[i] = s[0];", races)
      fails("0\t719", "with no barrier between",
        "s[i] = i; __syncwarp(); y[i] = s[(i + 32) % 96];", races)
    end)

    it("lets pass what barriers, warps that meet and atomics put in order", function()
      assert.equal(want, (turn("s[i] = i; __syncthreads(); y[i] = s[(i + 1) % 100];", races)))
      for _, body in ipairs {
        "s[i] = i; __syncwarp(); y[i] = s[i ^ 1]; __syncwarp(); s[i ^ 2] = y[i];",
        "if (i == 0) s[0] = 0; __syncthreads(); atomicAdd(s, 1); __syncthreads(); y[i] = s[0];",
        "s[i] = i; __syncthreads(); y[i] = s[0] + s[1]; __syncthreads(); s[i] = 2;" } do
        local out, status = turn(body, races)
        assert.equal(0, status, out)
        assert.falsy(out:find("719", 1, true), out)
      end
    end)
  end)

  describe("where the order of streams is looked at", function()
    --- What happens where two streams use a block: `uses` is called with the driver, its two
    -- streams, an event, the block and 8 bytes of the host.
    local function streams(uses, variables)
      return (run(([[
        local other, e, at = pointer(), pointer(), ffi.new "uint64_t[1]"
        assert(cuda.cuStreamCreate(other, 0) == 0 and cuda.cuEventCreate(e, 0) == 0)
        assert(cuda.cuMemAlloc_v2(at, 64) == 0)
        local function uses(cuda, a, b, e, at, bytes) %s end
        uses(cuda, stream[0], other[0], e[0], at[0], ffi.new "char[8]")
        print(cuda.cuStreamSynchronize(stream[0]), cuda.cuStreamSynchronize(other[0]))
      ]]):format(uses), variables or { JFL_EMULATED_ORDER = 1 }))
    end
    local PUT = " cuda.cuMemcpyHtoDAsync_v2(at, bytes, 8, a) "
    local wrong = {
      PUT .. "cuda.cuMemsetD8Async(at + 7, 1, 8, b)",
      PUT .. "cuda.cuMemcpyDtoHAsync_v2(bytes, at, 8, b)",
      "cuda.cuEventRecord(e, a)" .. PUT .. "cuda.cuStreamWaitEvent(b, e, 0) "
        .. "cuda.cuMemsetD8Async(at, 1, 8, b)",
    }
    local right = {
      PUT .. "cuda.cuMemsetD8Async(at, 1, 8, a)",
      PUT .. "cuda.cuMemsetD8Async(at + 8, 1, 8, b)",
      PUT .. "cuda.cuStreamSynchronize(a) cuda.cuMemsetD8Async(at, 1, 8, b)",
      PUT .. "cuda.cuEventRecord(e, a) cuda.cuStreamWaitEvent(b, e, 0) "
        .. "cuda.cuMemsetD8Async(at, 1, 8, b)",
      PUT .. "cuda.cuEventRecord(e, a) cuda.cuEventSynchronize(e) "
        .. "cuda.cuMemsetD8Async(at, 1, 8, b)",
    }

    it("ends a device where nothing puts a copy in order with another use", function()
      for _, uses in ipairs(wrong) do
        local out = streams(uses)
        assert.matches("in order with a copy to it on another stream", out)
        assert.matches("719\t719", out)
        assert.equal("0\t0\n", streams(uses, {}))
      end
    end)

    it("lets pass what a stream, an event or the host puts in order", function()
      for _, uses in ipairs(right) do assert.equal("0\t0\n", streams(uses), uses) end
    end)

    it("knows a launch by what it is given", function()
      local out = run([[
        local other, module, fn, at = pointer(), pointer(), pointer(), ffi.new "uint64_t[1]"
        local text = 'extern "C" __global__ void turn(int *y) { *y = 1; }'
        assert(cuda.cuModuleLoadData(module, image(text)) == 0)
        assert(cuda.cuModuleGetFunction(fn, module[0], "turn") == 0)
        assert(cuda.cuStreamCreate(other, 0) == 0 and cuda.cuMemAlloc_v2(at, 64) == 0)
        local parameter = ffi.new("void *[1]", { at })
        cuda.cuLaunchKernel(fn[0], 1, 1, 1, 1, 1, 1, 0, stream[0], parameter, nil)
        cuda.cuMemcpyHtoDAsync_v2(at[0], ffi.new "char[8]", 8, other[0])
        print(cuda.cuStreamSynchronize(stream[0]))
      ]], { JFL_EMULATED_ORDER = 1 })
      assert.matches("a copy to memory in order with a launch that uses it", out)
      assert.matches("719", out)
    end)
  end)

  it("forgets shared memory from launch to launch, and from block to block", function()
    local out = run([[
      local source = 'extern "C" __global__ void turn(int *y) { __shared__ int s; *y = s; s = 5; }'
      print(launches(source, 1, 1), launches(source, 1, 1))
    ]])
    assert.equal("-1\t-1\n", out)
    assert.equal("-1 -1 -1\n", (run([[
      print(launches('extern "C" __global__ void turn(int *y) ' ..
        '{ __shared__ int s; y[blockIdx.x] = s; s = 5; }', 1, 3, 3))
    ]])))
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

  it("has memory for plans of any size where it computes nothing", function()
    local script = [[
      local address, list = ffi.new "uint64_t[1]", {}
      for i = 1, 4 do
        list[i] = cuda.cuMemAlloc_v2(address, 2 ^ 36)
        if list[i] == 0 then assert(cuda.cuMemFree_v2(address[0]) == 0) end
      end
      print(unpack(list))
      print(launches('extern "C" __global__ void turn(int *y) { *y = 5; }', 1, 1))
    ]]
    assert.equal("0\t0\t0\t0\n0\n", (run(script, { JFL_EMULATED_COMPILE = 0 })))
    assert.equal("2\t2\t2\t2\n5\n", (run(script)))
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
