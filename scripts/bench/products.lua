-- Times products and convolutions by jfl's own loops beside oneDNN's, in turn, and prints
-- microseconds and the ratio:
--   jfl scripts/bench/products.lua [threads [WORD]...]
-- Only rows whose name has one of the words are timed. Each side is a process of its own, row by
-- row; that without libraries has JFL_LIBRARIES=none.
local core = require "jfl.core"
local flow = require "jfl"

local tp = flow.typing
local THREADS = tonumber(arg[1] or 2)
local ROUNDS, SECONDS = 3, tonumber(os.getenv "JFL_BENCH_SECONDS" or 0.1)

-- Blocks of memory are kept, instead of given back after each call.
local CLEAN = "env -u OPENBLAS_CORETYPE MALLOC_MMAP_THRESHOLD_=4294967296 "
  .. "MALLOC_TRIM_THRESHOLD_=17179869184"

local rows = {}

--- A product of m by k by n. `how`: which operands are transposed; `batch`: how many there are.
local function product(m, k, n, how, batch)
  how = how or {}
  local a, b = how.a and { k, m } or { m, k }, how.b and { n, k } or { k, n }
  if batch then
    table.insert(a, 1, batch)
    table.insert(b, 1, batch)
  end
  local name = ("%s%dx%dx%d%s%s"):format(batch and batch .. " of " or "", m, k, n,
    how.a and " ta" or "", how.b and " tb" or "")
  rows[#rows + 1] = { name = name, inputs = { a, b }, weights = how.weights,
    body = function(x, y)
      return flow.matmul(x, y, { transpose_a = how.a, transpose_b = how.b })
    end }
end

for _, how in ipairs { {}, { b = true }, { a = true } } do
  product(100, 784, 512, how)
  product(1024, 768, 3072, how)
  product(256, 256, 256, how)
end
product(64, 768, 768, { b = true })
product(16, 768, 3072, { b = true })
product(4096, 64, 64)
product(784, 100, 512, { a = true })
product(100, 512, 10)
product(8, 8, 8)
product(32, 32, 32)
product(2, 512, 10)
product(128, 64, 128, { b = true }, 48)
product(128, 128, 64, {}, 48)

--- A convolution of `n` pictures of `size` by `size`.
local function conv(n, from, to, size, window, stride, groups)
  rows[#rows + 1] = {
    name = ("conv %d of %d>%d %dx%d %dx%d%s%s"):format(n, from, to, size, size, window, window,
      stride > 1 and " /" .. stride or "", groups and " groups " .. groups or ""),
    inputs = { { n, from, size, size }, { to, from / (groups or 1), window, window } },
    body = function(x, w)
      return flow.nn.conv2d(x, w, { strides = stride, padding = "SAME", groups = groups })
    end
  }
end

for _, n in ipairs { 1, 8 } do
  conv(n, 3, 64, 224, 7, 2)
  conv(n, 64, 64, 56, 1, 1)
  conv(n, 64, 64, 56, 3, 1)
  conv(n, 64, 256, 56, 1, 1)
  conv(n, 256, 512, 56, 1, 2)
  conv(n, 128, 128, 28, 3, 1)
  conv(n, 256, 256, 14, 3, 1)
  conv(n, 256, 256, 28, 3, 2)
  conv(n, 1024, 256, 14, 1, 1)
  conv(n, 512, 512, 7, 3, 1)
  conv(n, 512, 2048, 7, 1, 1)
end
conv(100, 1, 32, 28, 5, 1)
conv(100, 32, 64, 14, 5, 1)
conv(8, 64, 64, 56, 3, 1, 64)
conv(8, 64, 64, 56, 3, 1, 4)

local function wanted(name)
  for i = 2, #arg do
    if name:find(arg[i], 1, true) then return true end
  end
  return #arg < 2
end

--- Microseconds of a call: the least of a few means.
local function time_of(f)
  f()
  local best = math.huge
  for _ = 1, ROUNDS do
    local n, start = 0, core.now()
    while core.now() - start < SECONDS / ROUNDS or n == 0 do
      f()
      n = n + 1
    end
    best = math.min(best, (core.now() - start) / n)
  end
  return best * 1e6
end

local function time_row(row, number)
  local inputs, values = {}, {}
  for i, shape in ipairs(row.inputs) do
    inputs[i] = { "x" .. i, tp.Numpy.Placeholder(shape) }
    values[i] = flow.ndarray.rand(shape) - 0.5
  end
  local job = flow.global_function { name = "row" .. number, type = "predict", inputs = inputs,
    returns = tp.Numpy, body = row.body }
  return time_of(function() job(unpack(values)) end)
end

local only = tonumber(os.getenv "JFL_BENCH_ROW" or "")
if only then
  flow.config.threads(THREADS)
  print(time_row(rows[only], only))
  os.exit(0)
end

--- Microseconds of row i in a process of its own, with these variables.
local function side(i, variables)
  local pipe = io.popen(("%s JFL_BENCH_ROW=%d %s %s %s %d"):format(CLEAN, i, variables, arg[-1],
    arg[0], THREADS))
  local us = tonumber(pipe:read "*l")
  pipe:close()
  return us
end

print(("%-34s %10s %10s %6s"):format("us, " .. THREADS .. " threads", "own", "oneDNN", "ratio"))
for i, row in ipairs(rows) do
  if wanted(row.name) then
    local own, other = math.huge, math.huge
    for _ = 1, 2 do
      own = math.min(own, side(i, "JFL_LIBRARIES=none"))
      other = math.min(other, side(i, ""))
    end
    print(("%-34s %10.1f %10.1f %6.2f"):format(row.name, own, other, own / other))
  end
end
