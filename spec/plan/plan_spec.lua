local core = require "jfl.core"
local flow = require "jfl"
local tp = flow.typing

describe("a plan", function()
  after_each(function() flow.clear_default_session() end)

  local function job(body)
    local f = flow.global_function {
      name = "job", inputs = { { "x", tp.Numpy.Placeholder { 4, 256 } } }, returns = tp.Numpy,
        body = body,
    }
    f:compile()
    return f
  end

  local function temporaries(f) return tonumber(f:plan():match "temporaries of (%d+) B") end

  -- The numbers of its first line: steps, variables, and bytes of variables and of temporaries, and
  -- the fewest that temporaries could have, as they are printed.
  local function figures(f)
    return f:plan():match("^plan of job on [^\n]-: (%d+) steps, (%d+) variables of (%S+ %S+), "
      .. "temporaries of (%S+ %S+) %(no layout needs less than (%S+ %S+)%)\n")
  end

  it("tells how many bytes its variables have", function()
    for n, text in pairs { [1] = "4 B", [2499] = "9996 B", [2500] = "10.0 KB", [25013] = "100.1 KB",
      [2499990] = "10000.0 KB", [2500000] = "10.0 MB" } do
      flow.clear_default_session()
      local steps, variables, bytes = figures(job(function(x)
        return x + flow.math.reduce_sum(flow.get_variable("v", { n },
          { initializer = flow.zeros_initializer() }))
      end))
      assert.same({ "1", text }, { variables, bytes })
      assert.is_true(tonumber(steps) >= 1)
    end
    flow.clear_default_session()
    local _, variables, bytes = figures(job(function(x)
      local like = { initializer = flow.zeros_initializer() }
      local a, b = flow.get_variable("a", { 256 }, like), flow.get_variable("b", { 4, 1 }, like)
      return x + a * b
    end))
    assert.same({ "2", "1040 B" }, { variables, bytes })
  end)

  it("tells how many bytes its temporaries have, and the fewest that they could", function()
    flow.config.kernels "reference"              -- which need no room of their own
    finally(function() flow.config.kernels "fast" end)
    local f = job(function(x)
      local square = flow.matmul(x, x, { transpose_b = true })         -- 64 bytes
      local first = flow.matmul(square, x)                             -- 4096, as all below
      return flow.matmul(first, flow.matmul(square, flow.math.exp(x)), { transpose_b = true })
    end)
    -- When the second product of (4, 256) is made, square, first and exp are there, too.
    local steps, variables, bytes, taken, least = figures(f)
    assert.same({ "5", "0", "0 B" }, { steps, variables, bytes })
    assert.same({ "12.4 KB", "12.4 KB" }, { taken, least })
    assert.equal(1 + 5, select(2, f:plan():gsub("\n", "")))
  end)

  it("lets a chain of elementwise ops work in place", function()
    local f = job(function(x) return flow.nn.relu(flow.math.exp(-x)) + 1 end)
    assert.is_true(temporaries(f) <= 4 * 256 * 4 + 64)
  end)

  it("never puts a result in memory that a later step still reads", function()
    local f = job(function(x)
      local a = flow.math.exp(x)
      local b = a * a
      local c = b - a
      return c * a + b
    end)
    local x = flow.ndarray.ones { 4, 256 }
    local e = math.exp(1)
    assert.is_true(math.abs(f(x)[3][200] - ((e * e - e) * e + e * e)) < 1e-4)
  end)

  it("runs no step for a reshape", function()
    local f = job(function(x) return flow.reshape(flow.nn.relu(x), { 1024 }) end)
    assert.truthy(f:plan():match "1 steps")
  end)

  it("leaves out what neither a result nor an update needs", function()
    local f = job(function(x)
      local _ = flow.math.exp(x)
      return flow.nn.relu(x)
    end)
    assert.is_nil(f:plan():match "exp")
  end)

  it("that needs more than the budget is refused when it is made", function()
    local limit = flow.config.memory_limit
    limit(1000)
    local ok, message = pcall(job, function(x) return flow.math.exp(flow.transpose(x,
      { 1, 0 })) end)
    limit(0)
    assert.is_false(ok)
    assert.truthy(message:match "memory_limit is 1000")
  end)

  it("has no convolution by transforms where kernels are direct", function()
    local x = flow.ndarray.rand { 16, 16, 9, 9 }
    local function run(kernels)
      flow.clear_default_session()
      flow.random.seed(1)
      flow.config.kernels(kernels)
      local f = flow.global_function {
        name = "job", inputs = { { "x", tp.Numpy.Placeholder { 16, 16, 9, 9 } } },
          returns = tp.Numpy,
        body = function(v)
          return flow.layers.conv2d(v, 32, 3, { padding = "SAME", name = "c",
            kernel_initializer = flow.random_normal_initializer(0, 0.1) })
        end,
      }
      local y = core.reshape(f(x), { -1 })
      flow.config.kernels "fast"
      return y, f:plan()
    end
    local want, plan = run "direct"
    assert.is_nil(plan:find "winograd")
    local got = run "fast"
    for i = 1, #want do
      assert.is_true(math.abs(want[i] - got[i]) < 2e-5,
        ("%d: %g and %g"):format(i, want[i], got[i]))
    end
  end)

  it("keeps filters as a row transforms them until they change", function()
    local shape = { 1, 32, 8, 9 }
    flow.random.seed(1)
    -- About 0: the sums of 288 products stay small, and so does what the two ways round off.
    local x, kernel = flow.ndarray.randn(shape), { 48, 32, 3, 3 }
    local first, second = flow.ndarray.randn(kernel), flow.ndarray.randn(kernel)
    local function run(kernels)
      flow.clear_default_session()
      flow.config.kernels(kernels)
      local f = flow.global_function {
        name = "job", inputs = { { "x", tp.Numpy.Placeholder(shape) } }, returns = tp.Numpy,
        body = function(v)
          local y = flow.layers.conv2d(v, 32, 1, { name = "before",
            kernel_initializer = flow.constant_initializer(0.1) })
          return flow.layers.conv2d(y, 48, 3, { padding = "SAME", name = "c" })
        end,
      }
      local results = {}
      f:compile()
      for _, values in ipairs { first, first, second, second } do
        if values ~= results.last then flow.load_variables { ["c-weight"] = values } end
        results.last = values
        results[#results + 1] = core.reshape(f(x), { -1 })
      end
      flow.config.kernels "fast"
      return results, f:plan()
    end
    local want = run "direct"
    local got, plan = run "fast"
    local cpu = io.open("/proc/cpuinfo"):read "*a"
    if plan:find "dnnl" and cpu:find "avx512dq" and cpu:find "avx512vl" then
      assert.truthy(plan:find "winograd")
    end
    for k = 1, 4 do
      for i = 1, #want[k] do
        assert.is_true(math.abs(want[k][i] - got[k][i]) < 2e-4,
          ("%d of call %d: %g and %g"):format(i, k, want[k][i], got[k][i]))
      end
    end
  end)
end)
