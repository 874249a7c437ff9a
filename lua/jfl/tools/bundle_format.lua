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

format.CHUNK = 2 ^ 20         -- bytes that are read at a time

--- The checksum of what was read before and of one chunk more. All chunks but a file's last have
-- the same size.
function format.sum(before, chunk) return core.crc32(("%08x"):format(before) .. chunk) end

--- A name as it is written in the index: no "./" before, no "/" behind, one between.
function format.plain(name)
  name = name:gsub("\\", "/"):gsub("/+", "/")
  while name:find("^%./") do name = name:sub(3) end
  return #name > 1 and name:gsub("/$", "") or name
end

--- Whether a name leads out of the folder that it is looked up in.
function format.leads_out(name)
  name = "/" .. name:gsub("\\", "/") .. "/"
  return name:find("^//") ~= nil or name:find("^/%a:") ~= nil or name:find("/../", 1, true) ~= nil
end

function format.digits(offset, size, total, sum)
  return ("%016x%016x%016x%016x"):format(offset, size, total, sum)
end

--- The four numbers; nil: they are none, or do not fit each other.
function format.numbers(digits)
  local list = {}
  for part in digits:gmatch(("%x"):rep(16)) do
    list[#list + 1] = tonumber(part:sub(1, 8), 16) * 2 ^ 32 + tonumber(part:sub(9), 16)
  end
  if #list < 4 or list[1] + list[2] > list[3] then return nil end
  return unpack(list)
end

function format.index(entries)
  local lines = {}
  for i, e in ipairs(entries) do
    lines[i] = ("%s %.0f %08x %s\n"):format(e.kind, e.size, e.sum, e.name)
  end
  return table.concat(lines)
end

--- The entries of an index, as a list and by name; the first is the script. at, stop: where their
-- bytes begin and end. nil: they do not fit each other.
function format.entries(index, at, stop)
  local entries, read = {}, 1
  for line, kind, size, sum, name in index:gmatch("((%a+) (%d+) (%x+) ([^\n]*)\n)") do
    local entry = { kind = kind, size = tonumber(size), sum = tonumber(sum, 16), name = name,
      at = at }
    if name == "" or format.leads_out(name) or entries[name] then return nil end
    at, read = at + entry.size, read + #line
    entries[#entries + 1], entries[name] = entry, entry
  end
  local whole = read == #index + 1 and at == stop and entries[1] and entries[1].kind == "script"
  return whole and entries or nil
end

return format
