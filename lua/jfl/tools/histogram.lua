-- Histograms with TensorFlow's buckets: each is a tenth wider than the next one nearer to 0.
local core = require "jfl.core"
local ffi = require "ffi"

local histogram = {}

local LEAST, MOST, RATIO = 1e-12, 1e20, 1.1
local PER_STEP = 1 / math.log(RATIO)
local HUGE = 1.7976931348623157e308

-- The upper limits of all buckets, computed when first needed, and their number.
local limits, n_limits

local function make_limits()
  local up = {}
  local v = LEAST
  while v < MOST do
    up[#up + 1] = v
    v = v * RATIO
  end
  up[#up + 1] = HUGE
  n_limits = 2 * #up + 1
  limits = ffi.new("double[?]", n_limits)
  for i, limit in ipairs(up) do
    limits[#up - i], limits[#up + i] = -limit, limit
  end
end

-- The first bucket whose limit is above v. The logarithm gives it up to rounding.
local function find(v)
  local zero, away = (n_limits - 1) / 2, math.abs(v)
  local step = away > LEAST and math.floor(math.log(away / LEAST) * PER_STEP) + 1 or 0
  local at = v < 0 and math.max(zero - step, 0) or math.min(zero + step + 1, n_limits - 1)
  while at < n_limits - 1 and limits[at] <= v do at = at + 1 end
  while at > 0 and limits[at - 1] > v do at = at - 1 end
  return at
end

local function count(data, n, h)
  local counts = ffi.new("double[?]", n_limits)
  local least, most, num, sum, squares = math.huge, -math.huge, 0, 0, 0
  for i = 0, n - 1 do
    local v = data[i]
    if v - v == 0 then
      local at = find(v)
      counts[at] = counts[at] + 1
      least, most = math.min(least, v), math.max(most, v)
      num, sum, squares = num + 1, sum + v, squares + v * v
    end
  end
  h.num, h.sum, h.squares = num, sum, squares
  h.min, h.max = num > 0 and least or 0, num > 0 and most or 0
  return counts
end

-- Merges neighbouring buckets that are empty.
local function pack(counts, h)
  local i = 0
  while i < n_limits do
    local limit, number = limits[i], counts[i]
    i = i + 1
    while number == 0 and i < n_limits and counts[i] == 0 do
      limit = limits[i]
      i = i + 1
    end
    h.limits[#h.limits + 1], h.counts[#h.counts + 1] = limit, number
  end
end

--- Counts the numbers of an array that are finite: { min, max, num, sum, squares, limits, counts }.
function histogram.of(array)
  if not limits then make_limits() end
  local dtype = array.dtype == "float32" and "float32" or "float64"
  if array.dtype ~= dtype then array = core.cast(array, dtype) end
  local data = ffi.cast(dtype == "float32" and "float *" or "double *", core.pointer(array))
  local h = { limits = {}, counts = {} }
  pack(count(data, array.size, h), h)
  return h
end

return histogram
