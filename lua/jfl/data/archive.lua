-- Files packed in others: members of a zip file, gzipped files.
local core = require "jfl.core"

local archive = {}

-- Deflate never packs more into a byte.
local MOST_RATIO, SLACK = 1032, 64
local IS_UTF8 = 0x800        -- the flag of a member whose name is not ASCII
local MOST_SIZE = 2 ^ 30     -- bytes of a file that is read whole: Lua has no longer texts

local function u16(s, at)
  local a, b = s:byte(at, at + 1)
  return a + b * 256
end

local function u32(s, at)
  local a, b, c, d = s:byte(at, at + 3)
  return a + b * 256 + c * 65536 + d * 16777216
end

--- Why a file of that size, or nil for a pipe, is not read whole; nil: it can be.
function archive.too_large(size)
  return size and size > MOST_SIZE and ("it must have at most %.0f bytes, got %.0f"):format(
    MOST_SIZE, size) or nil
end

--- The contents of a file, or nil and why not.
function archive.read(path)
  local file, err = core.file_open(path)
  if not file then return nil, err end
  local text, why = nil, archive.too_large(core.file_size(file))
  if not why then text, why = core.file_read(file) end
  core.file_close(file)
  return text, why and path .. ": " .. why
end

-- A 64-bit number; exact up to 2^53.
local function u64(s, at) return u32(s, at) + u32(s, at + 4) * 2 ^ 32 end

-- The position of the directory, from 1, and the number of its members. The end record stands
-- before a comment of at most 64 KiB. Where a number is too large for it, a record of 64-bit
-- numbers holds the number.
local function directory(path, zip)
  for at = #zip - 21, math.max(1, #zip - 65557), -1 do
    if zip:sub(at, at + 3) == "PK\5\6" and at + 21 + u16(zip, at + 20) == #zip then
      if at <= 20 or zip:sub(at - 20, at - 17) ~= "PK\6\7" then
        return u32(zip, at + 16) + 1, u16(zip, at + 10)
      end
      local wide = u64(zip, at - 12) + 1
      if zip:sub(wide, wide + 3) == "PK\6\6" and wide + 55 <= at then
        return u64(zip, wide + 48) + 1, u64(zip, wide + 32)
      end
    end
  end
  core.fail("%s: not a zip file, or cut short", path)
end

-- Replaces the numbers of a member that do not fit 32 bits by those in its extra field.
local function widen(zip, member, at, size)
  local stop = at + size
  while at + 4 <= stop do
    local id, length = u16(zip, at), u16(zip, at + 2)
    local from, to = at + 4, math.min(at + 4 + length, stop)
    for _, name in ipairs(id == 1 and { "size", "packed", "offset" } or {}) do
      if member[name] == 0xFFFFFFFF and from + 8 <= to then
        member[name] = u64(zip, from)
        from = from + 8
      end
    end
    at = at + 4 + length
  end
end

-- Checks that a member's own header repeats its name, and sets where its data begin and end.
local function place(path, zip, name, member)
  local at = member.offset
  local headed = zip:sub(at, at + 3) == "PK\3\4" and at + 29 <= #zip
  local name_size = headed and u16(zip, at + 26)
  if not headed or zip:sub(at + 30, at + 29 + name_size) ~= name then
    core.fail("%s: '%s' is damaged: its header is not where the directory says", path, name)
  end
  member.first = at + 30 + name_size + u16(zip, at + 28)
  member.last = member.first + member.packed - 1
end

-- Fails where members share bytes: so many of them could unpack to far more than their file holds.
local function refuse_overlaps(path, members, stop)
  local list = {}
  for name, member in pairs(members) do list[#list + 1] = { name, member } end
  table.sort(list, function(a, b) return a[2].offset < b[2].offset end)
  for i, item in ipairs(list) do
    local name, member, following = item[1], item[2], list[i + 1]
    if following and member.last >= following[2].offset then
      core.fail("%s: damaged: '%s' and '%s' overlap", path, name, following[1])
    end
    if member.last >= stop then core.fail("%s: '%s' is cut short", path, name) end
  end
end

--- The members of a zip file: name -> { first, last, method, packed, size, crc, is_secret }.
function archive.members(path, zip)
  local at, count = directory(path, zip)
  local members, start = {}, at
  for _ = 1, count do
    if zip:sub(at, at + 3) ~= "PK\1\2" or at + 45 > #zip then
      core.fail("%s: damaged zip directory at byte %.0f", path, at - 1)
    end
    local name_size, extra, comment = u16(zip, at + 28), u16(zip, at + 30), u16(zip, at + 32)
    local stop = at + 46 + name_size + extra + comment
    if stop > #zip then core.fail("%s: the zip directory is cut short", path) end
    local member = { method = u16(zip, at + 10), packed = u32(zip, at + 20),
      size = u32(zip, at + 24), crc = u32(zip, at + 16), offset = u32(zip, at + 42),
      is_secret = u16(zip, at + 8) % 2 == 1 }
    widen(zip, member, at + 46 + name_size, extra)
    member.offset = member.offset + 1
    local name = zip:sub(at + 46, at + 45 + name_size)
    if name:find("%z") then core.fail("%s: the names in it must not hold zero bytes", path) end
    if members[name] then core.fail("%s: damaged: '%s' occurs twice", path, name) end
    place(path, zip, name, member)
    members[name] = member
    at = stop
  end
  refuse_overlaps(path, members, start)
  return members
end

-- The packed bytes of a member, which can be unpacked to as many as its size says.
local function packed_bytes(path, zip, name, member)
  if member.is_secret then core.fail("%s: '%s' is encrypted", path, name) end
  if member.method ~= 0 and member.method ~= 8 then
    core.fail("%s: '%s' must be packed by method 0 (stored) or 8 (deflate), got %d", path, name,
      member.method)
  end
  local most = member.method == 0 and member.packed or member.packed * MOST_RATIO + SLACK
  if member.packed == 0 or member.size == 0 then core.fail("%s: '%s' is empty", path, name) end
  if member.size > most then
    core.fail("%s: '%s' is damaged: its %.0f bytes cannot hold %.0f", path, name, member.packed,
      member.size)
  end
  return zip:sub(member.first, member.last)
end

--- The first bytes of a member as text, at most `count`.
function archive.head(path, zip, name, member, count)
  local data = packed_bytes(path, zip, name, member)
  if member.method == 0 then return data:sub(1, count) end
  return core.bytes(core.inflate_head(data, "raw", count, path .. ": " .. name))
end

--- A member's bytes as a uint8 array.
function archive.extract(path, zip, name, member)
  local data = packed_bytes(path, zip, name, member)
  local content = member.method == 0 and core.from_bytes(data, "uint8", { #data })
    or core.inflate_within(data, "raw", member.size, path .. ": " .. name)
  if #content ~= member.size or core.crc32(content) ~= member.crc then
    core.fail("%s: '%s' is damaged: its checksum does not match", path, name)
  end
  return content
end

--- The bytes of a file that may be gzipped, as a uint8 array. size_of(head) tells how many bytes
-- it must have from its first `count` ones; no more are unpacked.
function archive.unpacked(path, data, count, size_of)
  if #data == 0 then core.fail("%s: the file is empty", path) end
  if data:sub(1, 2) ~= "\31\139" then
    size_of(data:sub(1, count))
    return core.from_bytes(data, "uint8", { #data })
  end
  local size = size_of(core.bytes(core.inflate_head(data, "gzip", count, path)))
  return core.inflate_within(data, "gzip", size, path)
end

--- A whole number as so many bytes, the lowest first.
local function whole(n, count)
  local out = {}
  for i = 1, count do
    out[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  return table.concat(out)
end
archive.whole = whole

--- Writes a zip file by calls of write(text). list: { name, data } for each member, which is stored
-- unpacked; data is a function that returns the bytes, so that only one member at a time is in
-- memory.
function archive.zip(write, list)
  local central, offset = {}, 0
  for i, member in ipairs(list) do
    local name, data = member[1], member[2]()
    if i >= 0xFFFF or offset + #data + #name + 30 >= 0xFFFFFFFF then
      core.fail("zip: '%s' and those before it are more than a file of 4 GiB and 65534 members "
        .. "holds", name)
    end
    local sizes = whole(core.crc32(data), 4) .. whole(#data, 4):rep(2) .. whole(#name, 2)
    local flags = name:find("[\128-\255]") and IS_UTF8 or 0
    local common = whole(20, 2) .. whole(flags, 2) .. whole(0, 2) .. whole(0x00210000, 4) .. sizes
      .. whole(0, 2)
    write("PK\3\4" .. common .. name)
    write(data)
    central[i] = "PK\1\2" .. whole(20, 2) .. common .. whole(0, 10) .. whole(offset, 4) .. name
    offset = offset + 30 + #name + #data
  end
  local tail = table.concat(central)
  local count = whole(#list, 2)
  write(tail)
  write("PK\5\6" .. whole(0, 4) .. count .. count .. whole(#tail, 4) .. whole(offset, 4)
    .. whole(0, 2))
end

--- Writes a file by calling produce(write). It is written under another name in the same folder,
-- synced and renamed when whole, so that the old file is there until then. Devices and pipes are
-- written directly. It has the old file's rights, or those of the file at the path `model`.
function archive.replace(who, path, produce, model)
  local file = core.output_open(path, who)
  local ok, why = pcall(function()
    if model then core.output_rights(file, model, who) end
    produce(function(text) core.output_write(file, text, who) end)
  end)
  if ok then return core.output_keep(file, who) end
  core.output_drop(file)
  error(why, 0)
end

return archive
