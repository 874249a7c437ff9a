-- ONNX's types of few bits, which jfl holds as wider ones: integers of 2 and 4 bits as int8 and
-- uint8, floats of 4 and 8 bits as float32; what their bits are, and how numbers become them.
local call = require "jfl.op.call"
local core = require "jfl.core"
local trace = require "jfl.job.trace"
local values = require "jfl.onnx.values"

local op = call.op

local narrow = {}

-- The least and the largest integer of each type of integers that is not one of jfl's.
local LIMITS = { uint2 = { 0, 3 }, int2 = { -2, 1 }, uint4 = { 0, 15 }, int4 = { -8, 7 },
  uint16 = { 0, 65535 }, int16 = { -32768, 32767 }, uint8 = { 0, 255 }, int8 = { -128, 127 } }

-- By type: bits of the exponent and of the mantissa, what is subtracted from the exponent, the
-- largest number, and what the numbers beyond it become that do not saturate. float4e2m1 has no
-- nan, which becomes 0.
local FLOATS = {
  float8e4m3fn = { 4, 3, 7, 448, 0 / 0 }, float8e4m3fnuz = { 4, 3, 8, 240, 0 / 0 },
  float8e5m2 = { 5, 2, 15, 57344, math.huge }, float8e5m2fnuz = { 5, 2, 16, 57344, 0 / 0 },
  float4e2m1 = { 2, 1, 1, 6, 6 }, float8e8m0 = { 8, 0, 127, 2 ^ 127, 0 / 0 },
}

local BITS = { uint2 = 2, int2 = 2, uint4 = 4, int4 = 4, float4e2m1 = 4 }

-- ---- what bits stand for ----

-- The number of these bits of a float.
local function float_of(name, code)
  local t = FLOATS[name]
  if name == "float8e8m0" then return code == 255 and 0 / 0 or 2 ^ (code - t[3]) end
  local most = 2 ^ (t[1] + t[2])
  local sign, rest = code >= most and -1 or 1, code % most
  local exponent, mantissa = math.floor(rest / 2 ^ t[2]), rest % 2 ^ t[2]
  local scale = 2 ^ (math.max(exponent, 1) - t[3] - t[2])
  local number = (mantissa + (exponent > 0 and 2 ^ t[2] or 0)) * scale
  if name:find "uz$" and code == most then return 0 / 0 end      -- in the place of -0
  if number <= t[4] then return sign * number end
  return name == "float8e5m2" and mantissa == 0 and sign * math.huge or 0 / 0
end

local function number_of(name, code)
  if FLOATS[name] then return float_of(name, code) end
  return code > LIMITS[name][2] and code - 2 ^ BITS[name] or code
end

--- How many bits an element of a type takes in a file; nil for types of whole bytes that jfl has.
function narrow.bits(name) return BITS[name] or FLOATS[name] and 8 end

-- By type: the numbers of each byte, as an array (256, numbers in a byte).
local tables = {}

local function table_of(name, dtype)
  if tables[name] then return tables[name] end
  local bits, list = narrow.bits(name), {}
  for byte = 0, 255 do
    for at = 0, 8 - bits, bits do
      list[#list + 1] = number_of(name, math.floor(byte / 2 ^ at) % 2 ^ bits)
    end
  end
  tables[name] = values.array(list, dtype, { 256, 8 / bits })
  return tables[name]
end

--- The elements of a type that a file has as these bytes, the first in the lowest bits.
function narrow.decode(name, dtype, bytes, count)
  if count == 0 then return values.array({}, dtype) end
  return trace.without_graph(function()
    local index = op.cast(core.from_bytes(bytes, "uint8", { #bytes }), { dtype = "int32" })
    local all = op.gather(table_of(name, dtype), index, { axis = 0 })
    return values.slice(values.reshape(all, { values.count(all.shape) }), 0, 0, count)
  end)
end

-- ---- rounding ----

-- The largest power of 2 that is at most each number of x, of which none is 0, from 2^low to
-- 2^high; 2^low for nan, which is 0 as an integer. The logarithm may be off beside a power of 2.
local function power_below(x, low, high)
  local list = {}
  for e = low, high do list[#list + 1] = 2 ^ e end
  local powers = values.array(list, "float32")
  local e = op.clip_by_value(op.floor(op.divide(op.log(x), math.log(2))),
    { min_value = low, max_value = high })
  local p = op.gather(powers, values.cast(op.subtract(e, low), "int32"), { axis = 0 })
  p = op.where(op.greater(p, x), op.multiply(p, 0.5), p)
  return op.where(op.less_equal(op.multiply(p, 2), x), op.multiply(p, 2), p)
end

-- x as powers of 2, for scales of blocks.
local function to_power(x, t, saturate, how)
  local least, most = 2 ^ -t[3], t[4]
  local p = op.maximum(power_below(op.abs(x), -t[3] + 1, t[3]), least)
  local double, q = op.multiply(p, 2), p
  if how == "up" then q = op.where(op.greater(x, p), double, p)
  elseif how == "nearest" then
    q = op.where(op.greater_equal(x, op.multiply(p, 1.5)), double, p)
  end
  local is_none = op.isnan(x)
  if not saturate then
    local is_beyond = op.logical_or(op.less(x, least), op.greater(op.maximum(q, x), most))
    is_none = op.logical_or(is_none, is_beyond)
  end
  return op.where(is_none, values.scalar(0 / 0, "float32"), op.minimum(q, most))
end

--- x rounded to the numbers of a type of floats of few bits, as float32. saturate: whether what is
-- beyond them becomes the largest; how: "up", "down" or "nearest", where a type has powers of 2.
function narrow.round(x, name, saturate, how)
  local t = FLOATS[name]
  x = values.cast(x, "float32")
  if name == "float8e8m0" then return to_power(x, t, saturate, how) end
  local size, least = op.abs(x), 1 - t[3]
  local unit = op.multiply(power_below(op.maximum(size, 2 ^ least), least, 17), 2 ^ -t[2])
  local y = op.multiply(op.round(op.divide(x, unit)), unit)
  local most = saturate and t[4] or t[5]
  local beyond = op.greater(op.abs(y), t[4])
  local limit = values.scalar(most, "float32")
  y = op.where(beyond, op.where(op.less(x, 0), op.negative(limit), limit), y)
  return op.where(op.isnan(x), name == "float4e2m1" and values.scalar(0, "float32") or x, y)
end

--- Whether a type is one of floats that are rounded so.
function narrow.is_float(name) return FLOATS[name] ~= nil end

--- The least and the largest integer of a type, or nil.
function narrow.limits(name) return unpack(LIMITS[name] or {}, 1, 2) end

--- Integers as those of a type, of which the bits beyond it are left out.
function narrow.wrap(x, name)
  local low, high = narrow.limits(name)
  if not low then return x end
  local span = high - low + 1
  return op.add(op.mod(op.subtract(x, low), span), low)
end

return narrow
