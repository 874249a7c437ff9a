-- Products by jfl's own loops, in the process without libraries that own_spec.lua starts: they are
-- near those of the plain kernels, whatever the extents, and the same on any number of threads.
local core = require "jfl.core"
local support = require "spec.op.support"

local ops = core.ops()

local function outcome(name, case, kernels, threads)
  core.set("kernels", kernels)
  core.set("threads", threads)
  local x = support.inputs(case, "float32")
  for _, at in ipairs(case.nan or {}) do x[at[1]][1][at[2]] = at[3] end
  local y = support.flat(support.call(ops[name], case, x))
  core.set("kernels", "fast")
  return y
end

local function check(name, case, tol)
  local one, two = outcome(name, case, "fast", 1), outcome(name, case, "fast", 2)
  local ok, message = support.close(one, outcome(name, case, "reference", 2), tol)
  assert.truthy(ok, message)
  for i = 1, #one do assert.truthy(one[i] == two[i] or one[i] ~= one[i], i) end
end

local function product(m, k, n, ta, tb)
  local a, b = ta and { k, m } or { m, k }, tb and { n, k } or { k, n }
  return { inputs = { { shape = a }, { shape = b } },
    options = { transpose_a = ta, transpose_b = tb } }
end

describe("products by own loops", function()
  teardown(core.reset)

  for _, e in ipairs { { 2, 3, 2 }, { 15, 16, 17 }, { 29, 257, 33 }, { 14, 255, 31 },
    { 169, 40, 65 }, { 5, 300, 530 }, { 343, 2, 3 } } do
    local m, k, n = unpack(e)
    it(("of %d by %d by %d are as exact as float32 sums"):format(m, k, n), function()
      for _, ta in ipairs { false, true } do
        for _, tb in ipairs { false, true } do
          check("matmul", product(m, k, n, ta, tb), 2e-6 * k)
        end
      end
    end)
  end

  -- of tiles of 14 rows and 16 columns, in blocks of 168 rows, 512 columns and 256 steps
  it("are so around tiles and blocks", function()
    for _, m in ipairs { 13, 14, 15, 28, 167, 168, 337 } do
      check("matmul", product(m, 19, 17, false, false), 4e-5)
      check("matmul", product(m, 257, 17, true, false), 5e-4)
    end
    for _, n in ipairs { 15, 16, 17, 32, 511, 512, 513, 1025 } do
      check("matmul", product(15, 19, n, false, false), 4e-5)
      check("matmul", product(15, 257, n, false, true), 5e-4)
    end
    for _, k in ipairs { 1, 15, 16, 17, 255, 256, 512, 513 } do
      check("matmul", product(29, k, 33, false, false), 2e-6 * k + 1e-6)
      check("matmul", product(29, k, 33, true, true), 2e-6 * k + 1e-6)
    end
  end)

  it("have a bias and a residual", function()
    local case = product(31, 290, 37, false, true)
    case.inputs[3], case.inputs[4] = { shape = { 37 } }, { shape = { 31, 37 } }
    case.options.bias, case.options.residual = true, true
    check("matmul_fused", case, 1e-3)
  end)

  it("keep what is not finite to the row and column where it belongs", function()
    for _, value in ipairs { 0 / 0, math.huge } do
      local case = product(20, 18, 21, false, false)
      case.nan = { { 1, 3, value } }         -- row 1, column 3 of the first factor
      local y = outcome("matmul", case, "fast", 1)
      for i = 1, 20 * 21 do
        local finite = y[i] - y[i] == 0
        assert.equal(i > 21, finite, i)
      end
    end
  end)

  it("are of a batch, matrix by matrix", function()
    check("matmul", { inputs = { { shape = { 3, 2, 17, 9 } }, { shape = { 3, 2, 33, 9 } } },
      options = { transpose_b = true } }, 1e-4)
  end)
end)
