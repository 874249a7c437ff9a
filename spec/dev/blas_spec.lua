--- Matrix products on a GPU: by cuBLASLt and, where that is missing, by a kernel of our own, both
-- on the emulated device of spec/cuda, beside the CPU's plain kernels.
local emulated = require "spec.dev.emulated"
local ffi = require "ffi"
local helper = require "spec.lua.helper"

local function on_gpu(text, variables)
  local all = { JFL_DEVICE = "gpu" }
  for name, value in pairs(variables or {}) do all[name] = value end
  return (emulated.run(all, text))
end

-- Compares every form of a product with the CPU's plain kernels, and prints what differs.
local COMPARES = [[
  local core, support = require "jfl.core", require "spec.op.support"
  local CPU, GPU = { device = "cpu", kernels = "reference" },
                   { device = "gpu", kernels = "fast", tf32 = 0 }
  -- How far results may be apart, beside the largest of them. A product that is stored in 16 bits
  -- before what follows it is applied has the error of a larger number.
  local MOST = { float32 = 2e-6, float64 = 1e-13, float16 = 2 ^ -10, bfloat16 = 2 ^ -7 }
  local n = 0

  local function run(settings, name, inputs, extra, options)
    for key, value in pairs(settings) do core.set(key, value) end
    local copies = {}
    for i, a in ipairs(inputs) do copies[i] = core.copy(a) end
    if not extra then copies[#copies + 1] = options return { core.op(name)(unpack(copies)) } end
    return { core.op(name)(copies[1], copies[2], { unpack(copies, 3) }, options) }
  end

  local function filled(dtype, shape)
    local wide = support.filled(dtype == "float64" and dtype or "float32", shape, -1.5, 2)
    return dtype:find "16" and core.cast(wide, dtype) or wide
  end

  local function compare(dtype, name, shapes, extra, options)
    local inputs = {}
    for i, shape in ipairs(shapes) do inputs[i] = filled(dtype, shape) end
    local wants = run(CPU, name, inputs, extra, options)
    local gots = run(GPU, name, inputs, extra, options)
    local most = MOST[dtype] * (dtype:find "16" and options and options.act == "tanh" and 2 or 1)
    n = n + 1
    for number, y in ipairs(wants) do
      local want, got = support.flat(y), support.flat(gots[number])
      local largest, error = 1e-3, 0
      for i, v in ipairs(want) do
        largest = math.max(largest, math.abs(v))
        error = math.max(error, math.abs(v - got[i]))
      end
      if #gots ~= #wants or #got ~= #want or not (error <= most * largest) then
        print(name, number, dtype, error / largest, options and options.act)
      end
    end
  end

  local function put(batch, ...)
    local shape = { ... }
    for i = #batch, 1, -1 do table.insert(shape, 1, batch[i]) end
    return shape
  end

  for _, dtype in ipairs { "float32", "float64", "float16", "bfloat16" } do
    for _, form in ipairs { { {}, 5, 7, 9 }, { { 3 }, 17, 8, 6 }, { { 2, 2 }, 1, 5, 4 } } do
      local batch, rows, depth, columns = unpack(form)
      for number = 0, 3 do
        local ta, tb = number % 2 == 1, number > 1
        local a = ta and put(batch, depth, rows) or put(batch, rows, depth)
        local b = tb and put(batch, columns, depth) or put(batch, depth, columns)
        local y = put(batch, rows, columns)
        local function options(more)
          more.transpose_a, more.transpose_b = ta, tb
          return more
        end
        compare(dtype, "matmul", { a, b }, false, options {})
        compare(dtype, "matmul_fused", { a, b, { columns } }, true, options { bias = true })
        compare(dtype, "matmul_fused", { a, b, y }, true, options { residual = true, act = "relu" })
        for _, act in ipairs { "relu", "gelu_tanh", "tanh" } do
          compare(dtype, "matmul_fused", { a, b, { columns }, y }, true,
            options { bias = true, residual = true, act = act })
        end
      end
    end
    -- with what a gradient reads or asks for, by the library's epilogues and beside them
    for number = 0, 3 do
      local ta, tb = number % 2 == 1, number > 1
      for _, columns in ipairs { 72, 9 } do
        local a, b = ta and { 40, 66 } or { 66, 40 }, tb and { columns, 40 } or { 40, columns }
        local y = { 66, columns }
        local function options(more)
          more.transpose_a, more.transpose_b = ta, tb
          return more
        end
        compare(dtype, "matmul_kept", { a, b, { columns } }, true,
          options { bias = true, act = "gelu_tanh" })
        compare(dtype, "matmul_kept", { a, b, { columns }, y }, true,
          options { bias = true, residual = true, act = columns == 9 and "abs" or "gelu_tanh" })
        compare(dtype, "matmul_slope", { a, b, y }, false, options { act = "gelu_tanh_slope" })
        compare(dtype, "matmul_slope", { a, b, y }, false, options { act = "square" })
        if ta then compare(dtype, "matmul_summed", { a, b }, false, options {}) end
        if not tb then compare(dtype, "matmul_summed", { a, b }, false, options { of_b = true }) end
      end
    end
    -- sums longer than a tile of a kernel, results larger than one
    compare(dtype, "matmul", { { 70, 300 }, { 300, 90 } }, false, {})
    compare(dtype, "matmul_fused", { { 70, 300 }, { 90, 300 }, { 90 } }, true,
      { bias = true, act = "relu", transpose_b = true })
  end
  print(n)
]]

local N_COMPARED = "456\n"

-- Prints a job's plan and result: a layer with relu, one with sigmoid.
local SHOWS = [[
  local flow = require "jfl"
  local tp = flow.typing
  flow.random.seed(3)
  local job = flow.global_function {
    name = "job", inputs = { { "x", tp.Numpy.Placeholder({ 4, 6 }) } }, returns = tp.Numpy,
    body = function(x)
      local h = flow.layers.dense(x, 16, { activation = flow.nn.relu, name = "h" })
      return flow.layers.dense(h, 3, { activation = flow.math.sigmoid, name = "o" })
    end,
  }
  local x, text = flow.random.normal({ 4, 6 }), {}
  for _, v in ipairs(flow.ndarray.reshape(job(x), { -1 }):totable()) do
    text[#text + 1] = ("%.7f"):format(v)
  end
  print(job:plan())
  print(table.concat(text, " "))
]]

-- Prints the plan of two layers that plain steps train.
local TRAINS = [[
  local flow = require "jfl"
  local tp = flow.typing
  local train = flow.global_function {
    name = "train", type = "train", inputs = { { "x", tp.Numpy.Placeholder({ 8, 16 }) } },
    returns = tp.Numpy,
    body = function(x)
      local h = flow.layers.dense(x, 16, { activation = flow.nn.relu, name = "h" })
      local loss = flow.math.reduce_mean(flow.layers.dense(h, 4, { name = "o" }))
      flow.optimizer.SGD(0.1):minimize(loss)
      return loss
    end,
  }
  train(flow.ndarray.ones({ 8, 16 }))
  print(train:plan())
]]

--- The numbers in the last line.
local function numbers(out)
  local list = {}
  for word in assert(out:match("([^\n]*)\n$"), out):gmatch("%S+") do
    list[#list + 1] = assert(tonumber(word), out)
  end
  assert.equal(12, #list, out)
  return list
end

local function apart(a, b)
  local most = 0
  for i, v in ipairs(a) do most = math.max(most, math.abs(v - b[i])) end
  return most
end

describe("products on a GPU", function()
  it("are those of the CPU's plain kernels, whatever their form", function()
    assert.equal(N_COMPARED, on_gpu(COMPARES))
  end)

  it("are so by our own kernel, where cuBLASLt is missing", function()
    local folder = emulated.without_blas()
    local out = on_gpu(COMPARES, { folder = folder })
    local shown = on_gpu(SHOWS, { folder = folder })
    helper.remove(folder)
    assert.equal(N_COMPARED, out)
    assert.truthy(shown:find("matmul_fused%s+cuda_matmul_fused%s"), shown)
    assert.truthy(shown:find("without a library, so slower kernels serve: libcublasLt.so: neither "
      .. "version 13 nor 12 is installed; it comes with the CUDA toolkit\n", 1, true), shown)
  end)

  it("end in what follows them, in plans", function()
    local shown = on_gpu(SHOWS)
    local _, n = shown:gsub("matmul_fused%s+cublaslt_matmul_fused%s", "")
    assert.equal(2, n, shown)
    assert.falsy(shown:find("\n%s+%d+%s+relu"), shown)
    assert.falsy(shown:find("without a library", 1, true), shown)
  end)

  it("leave steps along them to the update of all variables", function()
    local shown = on_gpu(TRAINS)
    local _, n = shown:gsub("\n%s+%d+%s+update%s", "")
    assert.equal(1, n, shown)
    assert.falsy(shown:find("matmul_update", 1, true), shown)
  end)

  it("round what they read to TF32 unless told otherwise", function()
    local want = numbers((helper.script(SHOWS, "JFL_DEVICE=cpu JFL_KERNELS=reference")))
    local exact = apart(want, numbers(on_gpu(SHOWS)))
    local rounded = apart(want, numbers(on_gpu(SHOWS, { JFL_TF32 = 1 })))
    assert.truthy(exact < 1e-6, exact)
    assert.truthy(rounded > 1e-6 and rounded < 1e-3, rounded)
  end)

  it("are measured once, and the choice is kept", function()
    local cache, counted = helper.directory(), os.tmpname()
    local function run()
      local out = on_gpu(SHOWS, { XDG_CACHE_HOME = cache, JFL_EMULATED_CALLS = counted })
      return out, tonumber(helper.read(counted):match("%d+"))
    end
    local first, calls = run()
    local second, fewer = run()
    local third, same = run()
    helper.remove(cache)
    os.remove(counted)
    assert.same(numbers(first), numbers(second))
    assert.same(numbers(first), numbers(third))
    assert.truthy(fewer < calls - 20, ("%d, then %d"):format(calls, fewer))
    assert.equal(fewer, same)
  end)

  it("tell which status a failure has", function()
    local counted = os.tmpname()
    on_gpu(SHOWS, { JFL_EMULATED_CALLS = counted })
    local number, out = tonumber(helper.read(counted):match("%d+"))
    os.remove(counted)
    -- The last product is a few calls before the end.
    for back = 1, 40 do
      out = on_gpu(SHOWS, { JFL_EMULATED_FAIL = number - back .. ":1" })
      if out:find("product failed", 1, true) then break end
    end
    assert.truthy(out:find("gpu:0: a product failed (cuBLASLt status 13)", 1, true), out)
  end)
end)

-- ---- beside the real library, where that is installed ----

local REAL = "/usr/local/cuda/lib64/libcublasLt.so.13"

local function entry_points()
  local names = {}
  for _, path in ipairs { "src/dev/cuda/blas.h", "src/dev/cuda/blas.c" } do
    for name in helper.read(path):gmatch("[( \"](cublasLt[A-Z]%w+)") do names[name] = true end
  end
  return names
end

-- What each library answers to calls that need no device: the statuses of descriptors' attributes.
local DESCRIBES = [[
  local emulated = require "spec.dev.emulated"
local ffi = require "ffi"
  ffi.cdef "int cuInit(unsigned);"
  for _, name in ipairs { "Destroy", "MatrixLayoutDestroy", "MatmulDescDestroy",
                          "MatmulPreferenceDestroy" } do
    ffi.cdef(("int cublasLt%s(void *);"):format(name))
  end
  for _, name in ipairs { "MatrixLayout", "MatmulDesc", "MatmulPreference" } do
    ffi.cdef(("int cublasLt%sSetAttribute(void *, int, const void *, size_t);"):format(name))
  end
  ffi.cdef [=[
    int cublasLtMatrixLayoutCreate(void **, int, uint64_t, uint64_t, int64_t);
    int cublasLtMatmulDescCreate(void **, int, int);
    int cublasLtMatmulPreferenceCreate(void **);
    int cublasLtCreate(void **);
  ]=]
  local lib, p, said = ffi.load(os.getenv "LIBRARY"), ffi.new("void *[1]"), {}
  local value = ffi.new("char[64]")
  local function say(status) said[#said + 1] = status end
  local function try(set, first, last)
    for attribute = first, last do
      for _, size in ipairs { 4, 8 } do say(set(p[0], attribute, value, size)) end
      say(set(p[0], attribute, nil, 4))
    end
  end
  say(lib.cublasLtCreate(p))
  say(lib.cublasLtMatrixLayoutCreate(p, 0, 3, 4, 3))
  try(lib.cublasLtMatrixLayoutSetAttribute, 0, 6)
  say(lib.cublasLtMatrixLayoutDestroy(p[0]))
  say(lib.cublasLtMatmulDescCreate(p, 68, 0))
  try(lib.cublasLtMatmulDescSetAttribute, 3, 5)
  try(lib.cublasLtMatmulDescSetAttribute, 7, 8)
  say(lib.cublasLtMatmulDescDestroy(p[0]))
  say(lib.cublasLtMatmulPreferenceCreate(p))
  try(lib.cublasLtMatmulPreferenceSetAttribute, 0, 1)
  try(lib.cublasLtMatmulPreferenceSetAttribute, 3, 3)
  try(lib.cublasLtMatmulPreferenceSetAttribute, 5, 8)
  say(lib.cublasLtMatmulPreferenceDestroy(p[0]))
  say(lib.cublasLtDestroy(nil))
  print(table.concat(said, " "))
]]

describe("the real cuBLASLt", function()
  local file = io.open(REAL)
  if file then file:close() end
  local check = file and ffi.arch == "x64" and not helper.sanitized() and it or pending

  check("has every entry point that is opened", function()
    local pipe, has = io.popen(("nm -D '%s'"):format(REAL)), {}
    for line in pipe:lines() do has[line:match("%S+$"):gsub("@.*", "")] = true end
    pipe:close()
    local names, n = entry_points(), 0
    for name in pairs(names) do
      assert.truthy(has[name], name)
      n = n + 1
    end
    assert.equal(14, n)
  end)

  check("takes and refuses attributes as the emulated one does", function()
    local function answers(library)
      return (helper.script(DESCRIBES, ("LD_LIBRARY_PATH=%s LIBRARY='%s'"):format(emulated.folder,
        library)))
    end
    local real = answers(REAL)
    assert.truthy(real:find("^1 0 "), real)
    assert.equal(real, answers(("./%s/libcublasLt.so.13"):format(emulated.folder)))
  end)
end)
