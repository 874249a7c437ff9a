-- Files packed in others: members of a zip file, gzipped files.
local core = require "jfl.core"

local archive = {}

local function u16(s, at)
  local a, b = s:byte(at, at + 1)
  return a + b * 256
end

local function u32(s, at)
  local a, b, c, d = s:byte(at, at + 3)
  return a + b * 256 + c * 65536 + d * 16777216
end

--- The contents of a file, or nil and why not.
function archive.read(path)
  local file, err = io.open(path, "rb")
  if not file then return nil, err end
  local text, why = file:read("*a")
  file:close()
  return text, why and path .. ": " .. why
end

-- The end record stands before a comment of at most 64 KiB.
local function directory(path, zip)
  for at = #zip - 21, math.max(1, #zip - 65557), -1 do
    if zip:sub(at, at + 3) == "PK\5\6" then return u32(zip, at + 16) + 1, u16(zip, at + 10) end
  end
  core.fail("%s: not a zip file, or cut short", path)
end

--- The members of a zip file: name -> { offset, method, packed, size, crc }.
function archive.members(path, zip)
  local at, count = directory(path, zip)
  local members = {}
  for _ = 1, count do
    if zip:sub(at, at + 3) ~= "PK\1\2" or at + 45 > #zip then
      core.fail("%s: damaged zip directory at byte %d", path, at - 1)
    end
    local name_size, extra, comment = u16(zip, at + 28), u16(zip, at + 30), u16(zip, at + 32)
    members[zip:sub(at + 46, at + 45 + name_size)] = { method = u16(zip, at + 10),
      packed = u32(zip, at + 20), size = u32(zip, at + 24), crc = u32(zip, at + 16),
      offset = u32(zip, at + 42) + 1 }
    at = at + 46 + name_size + extra + comment
  end
  return members
end

-- What a member's packed bytes hold.
local function unpack_member(path, name, member, data)
  if member.method == 0 then return core.from_bytes(data, "uint8", { #data }) end
  if member.method == 8 then return core.inflate(data, "raw", member.size, path .. ": " .. name) end
  core.fail("%s: '%s' is packed by method %d; expected 0 (stored) or 8 (deflate)", path, name,
    member.method)
end

--- A member's bytes as a uint8 array.
function archive.extract(path, zip, name, member)
  local at = member.offset
  if zip:sub(at, at + 3) ~= "PK\3\4" or at + 29 > #zip then
    core.fail("%s: '%s' is damaged", path, name)
  end
  if member.size == 0 then core.fail("%s: '%s' is empty", path, name) end
  local first = at + 30 + u16(zip, at + 26) + u16(zip, at + 28)
  local data = zip:sub(first, first + member.packed - 1)
  if #data == 0 or #data ~= member.packed then
    core.fail("%s: '%s' is cut short", path, name)
  end
  local content = unpack_member(path, name, member, data)
  if #content ~= member.size or core.crc32(content) ~= member.crc then
    core.fail("%s: '%s' is damaged: its checksum does not match", path, name)
  end
  return content
end

--- The bytes of a file that may be gzipped, as a uint8 array.
function archive.unpacked(path, data)
  if #data == 0 then core.fail("%s: the file is empty", path) end
  if data:sub(1, 2) ~= "\31\139" then return core.from_bytes(data, "uint8", { #data }) end
  return core.inflate(data, "gzip", #data < 4 and 0 or u32(data, #data - 3), path)
end

local function bytes(n, count)
  local out = {}
  for i = 1, count do
    out[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  return table.concat(out)
end

--- The text of a zip file with the members of a list of { name, data }, stored.
function archive.zip(list)
  local parts, central, offset = {}, {}, 0
  for _, member in ipairs(list) do
    local name, data = member[1], member[2]
    local sizes = bytes(core.crc32(data), 4) .. bytes(#data, 4):rep(2) .. bytes(#name, 2)
    local common = bytes(20, 2) .. bytes(0, 4) .. bytes(0x00210000, 4) .. sizes .. bytes(0, 2)
    parts[#parts + 1] = "PK\3\4" .. common .. name
    parts[#parts + 1] = data
    central[#central + 1] = "PK\1\2" .. bytes(20, 2) .. common .. bytes(0, 10) .. bytes(offset, 4)
      .. name
    offset = offset + 30 + #name + #data
  end
  local tail = table.concat(central)
  parts[#parts + 1] = tail
  local count = bytes(#list, 2)
  parts[#parts + 1] = "PK\5\6" .. bytes(0, 4) .. count .. count .. bytes(#tail, 4)
    .. bytes(offset, 4) .. bytes(0, 2)
  return table.concat(parts)
end

return archive
