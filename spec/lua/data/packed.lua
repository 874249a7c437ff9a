-- Writes archives for specs: tar files, and OneFlow's records.
local packed = {}

-- ---- tar ----

local function octal(n, digits) return ("%0" .. digits .. "o\0"):format(n) end

--- A header of a member, of POSIX; `changes` replaces bytes at places, before the sum is made.
function packed.header(name, size, kind)
  local head = (name .. ("\0"):rep(100)):sub(1, 100) .. octal(420, 7) .. octal(0, 7) .. octal(0, 7)
    .. octal(size, 11) .. octal(0, 11) .. (" "):rep(8) .. (kind or "0") .. ("\0"):rep(100)
    .. "ustar\0" .. "00" .. ("\0"):rep(64) .. octal(0, 7) .. octal(0, 7) .. ("\0"):rep(155)
    .. ("\0"):rep(12)
  return packed.summed(head)
end

--- A header with the sum that it needs.
function packed.summed(head)
  local sum = 0
  head = head:sub(1, 148) .. (" "):rep(8) .. head:sub(157)
  for i = 1, #head do sum = sum + head:byte(i) end
  return head:sub(1, 148) .. ("%06o\0 "):format(sum) .. head:sub(157)
end

local function padded(text) return text .. ("\0"):rep(-#text % 512) end

--- A member: its header and its bytes.
function packed.member(name, text, kind) return packed.header(name, #text, kind) .. padded(text) end

packed.END = ("\0"):rep(1024)

--- The tar file of a list of { name, text }.
function packed.tar(list)
  local parts = {}
  for i, each in ipairs(list) do parts[i] = packed.member(each[1], each[2]) end
  return table.concat(parts) .. packed.END
end

-- ---- OneFlow's records ----

function packed.varint(n)
  local out = ""
  while n >= 128 do
    out, n = out .. string.char(n % 128 + 128), math.floor(n / 128)
  end
  return out .. string.char(n)
end

--- A field of bytes.
function packed.field(number, text)
  return packed.varint(number * 8 + 2) .. packed.varint(#text) .. text
end

local KINDS = { bytes = 1, float = 2, double = 3, int32 = 4, int64 = 5 }

local ffi = require "ffi"

local function packed_values(kind, values)
  local parts = {}
  for i, v in ipairs(values) do
    if kind == "float" or kind == "double" then
      local size = kind == "float" and 4 or 8
      parts[i] = ffi.string(ffi.new(kind .. "[1]", v), size)
    elseif v < 0 then
      local low, rest = {}, ffi.cast("uint64_t", ffi.cast("int64_t", v))
      for k = 1, 10 do
        low[k] = string.char(tonumber(rest % 128) + (k < 10 and 128 or 0))
        rest = rest / 128
      end
      parts[i] = table.concat(low)
    else
      parts[i] = packed.varint(v)
    end
  end
  return table.concat(parts)
end

--- A feature: its kind and its values, a text for bytes.
function packed.feature(kind, values)
  if kind == "bytes" then return packed.field(KINDS.bytes, packed.field(1, values)) end
  return packed.field(KINDS[kind], packed.field(1, packed_values(kind, values)))
end

--- A feature of numbers that come one by one, each as a field.
function packed.loose(kind, values)
  local tag = ({ float = 5, double = 1 })[kind] or 0
  local parts = {}
  for i, v in ipairs(values) do parts[i] = packed.varint(8 + tag) .. packed_values(kind, { v }) end
  return packed.field(KINDS[kind], table.concat(parts))
end

--- A record of features by name: a list of { name, feature }.
function packed.record(list)
  local parts = {}
  for i, each in ipairs(list) do
    parts[i] = packed.field(1, packed.field(1, each[1]) .. packed.field(2, each[2]))
  end
  return table.concat(parts)
end

--- The file of a list of records.
function packed.ofrecord(list)
  local parts = {}
  for i, record in ipairs(list) do
    parts[i] = ffi.string(ffi.new("int64_t[1]", #record), 8) .. record
  end
  return table.concat(parts)
end

return packed
