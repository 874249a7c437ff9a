-- Numbers as the bytes of the forms that GGUF files have them in.
local core = require "jfl.core"
local ffi = require "ffi"

local pack = {}

-- The bytes of the halves nearest to numbers.
local function halves(list)
  return core.bytes(core.cast(core.from_table(list, "float32"), "float16"))
end

-- Blocks of 32 numbers, of `size` bytes each, the first two of which are a scale. measure(x, at)
-- gives that of the numbers from `at` on, and put(x, at, by, out, to) writes them times `by`.
local function blocks(size, measure, put)
  return function(array)
    local text = core.bytes(array)
    local x, n = ffi.cast("const float *", text), #text / 128
    local out, scales, by = ffi.new("uint8_t[?]", n * size), {}, ffi.new("float[1]")
    for b = 0, n - 1 do
      by[0] = measure(x, 32 * b)
      scales[b + 1] = by[0]
      by[0] = by[0] ~= 0 and 1 / by[0] or 0
      put(x, 32 * b, by[0], out, b * size + 2)
    end
    local bytes = ffi.cast("const uint8_t *", halves(scales))
    for b = 0, n - 1 do out[b * size], out[b * size + 1] = bytes[2 * b], bytes[2 * b + 1] end
    return ffi.string(out, n * size)
  end
end

local function largest(x, at)
  local most = 0
  for i = at, at + 31 do
    if math.abs(x[i]) > math.abs(most) then most = x[i] end
  end
  return most
end

-- The scale is a 127th of the largest, and halves are rounded away from 0.
local q8_0 = blocks(34, function(x, at) return math.abs(largest(x, at)) / 127 end,
  function(x, at, by, out, to)
    for i = 0, 31 do
      local v = x[at + i] * by
      out[to + i] = (v < 0 and math.ceil(v - 0.5) or math.floor(v + 0.5)) % 256
    end
  end)

local function nibble(v) return math.max(0, math.min(15, math.floor(v + 8.5))) end

-- What is farthest from 0 becomes -8; numbers i and i + 16 share a byte.
local q4_0 = blocks(18, function(x, at) return largest(x, at) / -8 end,
  function(x, at, by, out, to)
    for i = 0, 15 do
      out[to + i] = nibble(x[at + i] * by) + 16 * nibble(x[at + i + 16] * by)
    end
  end)

--- By its name: the format's number of the form, how many numbers rows are multiples of, and what
-- gives the bytes of a flat array of float32.
pack.forms = {
  float32 = { type = 0, multiple = 1, bytes = core.bytes },
  float16 = { type = 1, multiple = 1,
    bytes = function(array) return core.bytes(core.cast(array, "float16")) end },
  bfloat16 = { type = 30, multiple = 1,
    bytes = function(array) return core.bytes(core.cast(array, "bfloat16")) end },
  q8_0 = { type = 8, multiple = 32, bytes = q8_0 },
  q4_0 = { type = 2, multiple = 32, bytes = q4_0 },
}

--- How many bytes so many numbers take.
function pack.size(form, n)
  if form.type == 8 then return n / 32 * 34 end
  if form.type == 2 then return n / 32 * 18 end
  return n * (form.type == 0 and 4 or 2)
end

return pack
