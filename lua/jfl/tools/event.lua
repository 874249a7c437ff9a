-- Writes TensorBoard's event files: records with checksums, which hold protocol buffers.
local bit = require "bit"
local ffi = require "ffi"

local event = {}

local band, bxor, rshift, byte, char = bit.band, bit.bxor, bit.rshift, string.byte, string.char

-- ---- records, as TensorFlow's TFRecord files have them ----

local POLYNOMIAL = 0x82f63b78    -- CRC-32C's, its lowest power first

local steps = {}
for i = 0, 255 do
  local crc = i
  for _ = 1, 8 do crc = bxor(rshift(crc, 1), band(crc, 1) * POLYNOMIAL) end
  steps[i] = crc
end

--- The CRC-32C of a string as a signed number, as LuaJIT's bit operations give it.
function event.crc32c(data)
  local crc = -1
  for i = 1, #data do crc = bxor(rshift(crc, 8), steps[band(bxor(crc, byte(data, i)), 255)]) end
  return bit.bnot(crc)
end

local function u32(n)
  return char(band(n, 255), band(rshift(n, 8), 255), band(rshift(n, 16), 255), rshift(n, 24))
end

-- A record's checksum, masked as the format asks: the plain CRC of data that contain their own CRC
-- is of little use.
local function checksum(data)
  return u32(bit.tobit(bit.ror(event.crc32c(data), 15) + 0xa282ead8))
end

--- A record that holds data.
function event.record(data)
  local size = u32(#data) .. "\0\0\0\0"
  return size .. checksum(size) .. data .. checksum(data)
end

-- ---- protocol buffers ----

local VARINT, DOUBLE, BYTES, FLOAT = 0, 1, 2, 5

local f32, f64 = ffi.new("float[1]"), ffi.new("double[1]")

local function varint(n)
  local parts = ""
  while n > 127 do
    parts = parts .. char(n % 128 + 128)
    n = math.floor(n / 128)
  end
  return parts .. char(n)
end

local function key(field, kind) return char(field * 8 + kind) end

local function whole(field, n) return key(field, VARINT) .. varint(n) end

local function bytes(field, data) return key(field, BYTES) .. varint(#data) .. data end

local function float(field, x)
  f32[0] = x
  return key(field, FLOAT) .. ffi.string(f32, 4)
end

local function double(field, x)
  f64[0] = x
  return key(field, DOUBLE) .. ffi.string(f64, 8)
end

local function doubles(field, list)
  return bytes(field, ffi.string(ffi.new("double[?]", #list, list), 8 * #list))
end

-- ---- events; the numbers are those of TensorFlow's event.proto and summary.proto ----

local DT_FLOAT, DT_STRING = 1, 7

--- The event that every file begins with.
function event.version(time) return double(1, time) .. bytes(3, "brain.Event:2") end

--- An event of several values.
function event.summary(time, step, values)
  local parts = {}
  for i, value in ipairs(values) do parts[i] = bytes(1, value) end
  return double(1, time) .. whole(2, step) .. bytes(5, table.concat(parts))
end

--- A value: a number.
function event.scalar(tag, x) return bytes(1, tag) .. float(2, x) end

--- A value: a picture, which is a PNG file.
function event.image(tag, height, width, channels, png)
  return bytes(1, tag) .. bytes(4, whole(1, height) .. whole(2, width) .. whole(3, channels)
    .. bytes(4, png))
end

--- A value: counts of numbers. h: min, max, num, sum, squares; lists limits and counts.
function event.histogram(tag, h)
  return bytes(1, tag) .. bytes(5, double(1, h.min) .. double(2, h.max) .. double(3, h.num)
    .. double(4, h.sum) .. double(5, h.squares) .. doubles(6, h.limits) .. doubles(7, h.counts))
end

--- A value: text, which TensorBoard reads as Markdown.
function event.text(tag, s)
  local tensor = whole(1, DT_STRING) .. bytes(2, bytes(2, whole(1, 1))) .. bytes(8, s)
  return bytes(1, tag) .. bytes(8, tensor) .. bytes(9, bytes(1, bytes(1, "text")))
end

-- A google.protobuf.Value.
local function plain(value)
  if type(value) == "number" then return double(2, value) end
  if type(value) == "string" then return bytes(3, value) end
  return whole(4, value and 1 or 0)
end

--- A value: what the run was made with, a list of { name, number, text or boolean }, as
-- TensorBoard's plugin hparams reads it (plugin_data.proto).
function event.hparams(list, start)
  local parts = {}
  for i, pair in ipairs(list) do
    parts[i] = bytes(1, bytes(1, pair[1]) .. bytes(2, plain(pair[2])))
  end
  local info = table.concat(parts) .. double(5, start)
  local data = bytes(1, bytes(1, "hparams") .. bytes(2, bytes(3, info)))
  local nothing = whole(1, DT_FLOAT) .. bytes(2, bytes(2, ""))
  return bytes(1, "_hparams_/session_start_info") .. bytes(8, nothing) .. bytes(9, data)
end

return event
