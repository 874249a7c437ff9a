-- What bundles look like, for those who write and read them. Behind the command's bytes is the
-- index, a line for each file: kind, size, checksum and name; then their bytes, in that order. The
-- mark has four numbers in hexadecimal: where the index begins, its size, the size of all, and the
-- index's checksum.
local core = require "jfl.core"

local format = {}

-- Put together here, so that these bytes are in a command once: where the mark is.
format.HEAD = table.concat { "JFL ", "BUNDLE ", "MARK:" }
format.DIGITS = 64
format.SEED = 0

local CHUNK = 2 ^ 20

function format.chunks(file) return function() return file:read(CHUNK) end end

--- The checksum of what was read before and of one chunk more. All chunks but a file's last have
-- the same size.
function format.sum(before, chunk) return core.crc32(("%08x"):format(before) .. chunk) end

--- A name as it is written in the index: no "./" before, no "/" behind, one between.
function format.plain(name)
  name = name:gsub("\\", "/"):gsub("/+", "/")
  while name:find("^%./") do name = name:sub(3) end
  return #name > 1 and name:gsub("/$", "") or name
end

function format.digits(offset, size, total, sum)
  return ("%016x%016x%016x%016x"):format(offset, size, total, sum)
end

--- The four numbers.
function format.numbers(digits)
  local list = {}
  for part in digits:gmatch(("%x"):rep(16)) do
    list[#list + 1] = tonumber(part:sub(1, 8), 16) * 2 ^ 32 + tonumber(part:sub(9), 16)
  end
  return unpack(list)
end

function format.index(entries)
  local lines = {}
  for i, e in ipairs(entries) do
    lines[i] = ("%s %.0f %08x %s\n"):format(e.kind, e.size, e.sum, e.name)
  end
  return table.concat(lines)
end

--- The entries of an index, as a list and by name; the first is the script.
function format.entries(index, at)
  local entries = {}
  for kind, size, sum, name in index:gmatch("(%a+) (%d+) (%x+) ([^\n]*)\n") do
    local entry = { kind = kind, size = tonumber(size), sum = tonumber(sum, 16), name = name,
      at = at }
    at = at + entry.size
    entries[#entries + 1], entries[name] = entry, entry
  end
  return entries
end

return format
