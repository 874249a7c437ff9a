-- numpy's files: .npy holds one array, .npz a zip file of them.
---@box ndarray.load ndarray.save
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local core = require "jfl.core"
local texts = require "jfl.base.text"

local npy = {}

local MAX_RANK = 8
local MAX_HEADER = 10000     -- bytes, as numpy has it
local MAX_SIZE = 2 ^ 47      -- elements of an array
local MAX_NAME = 65535 - #".npy"      -- of an array in an archive
local CHUNK = 2 ^ 20         -- bytes read or written at once; a multiple of every element's size

-- The dtypes for numpy's elements, by kind and size; integers of a size that jfl lacks become
-- wider.
local CODES = { f4 = "float32", f8 = "float64", f2 = "float16", i1 = "int8", u1 = "uint8",
  i4 = "int32", i8 = "int64", b1 = "uint8", i2 = "int32", u2 = "int32", u4 = "int64",
  u8 = "int64" }
local KINDS = { c = "complex numbers", S = "byte strings", U = "strings", O = "Python objects",
  M = "dates", m = "time spans", V = "raw bytes", f = "floats" }
local OF_DTYPE = { float32 = "<f4", float64 = "<f8", float16 = "<f2", int8 = "|i1", uint8 = "|u1",
  int32 = "<i4", int64 = "<i8" }

local transpose = core.op("transpose")

-- ---- reading ----
-- A source has a path for messages, a size, and read(first, count), which gives so many bytes. One
-- that is packed has unpack(), which is called once its header has been read.

-- A member of an archive. Only its first bytes are unpacked before the header has told that the
-- rest is what the archive says, so that a small file cannot take much memory by what it says
-- alone.
local function from_member(path, zip, name, member)
  local head = archive.head(path, zip, name, member, 12 + MAX_HEADER)
  local content
  return { path = path .. ": " .. name, size = member.size, is_member = true,
    unpack = function() content = archive.extract(path, zip, name, member) end,
    read = function(first, count)
      if not content then return head:sub(first + 1, first + count) end
      return core.bytes(core.rows(content, first, count))
    end }
end

local function from_text(path, text)
  return { path = path, size = #text, read = function(first, count)
    return text:sub(first + 1, first + count)
  end }
end

local function from_file(path, file, size)
  return { path = path, size = size, read = function(first, count)
    local text, why = core.file_read(file, count, first)
    return text or core.fail("ndarray.load: %s: %s", path, why)
  end }
end

local function cut_short(source) core.fail("%s: cut short", source.path) end

local function take(source, first, count)
  if count < 1 or first + count > source.size then cut_short(source) end
  local text = source.read(first, count)
  if #text ~= count then cut_short(source) end
  return text
end

-- The header's text, and the position of the first element, from 0.
local function header_of(source)
  local magic = source.size >= 12 and take(source, 0, 12) or ""
  if magic:sub(1, 6) ~= "\147NUMPY" then core.fail("%s: not a .npy file", source.path) end
  local major, minor, a, b, c, d = magic:byte(7, 12)
  args.check(major >= 1 and major <= 3, "%s: version %d.%d of the format is not supported",
    source.path, major, minor)
  local size, first = a + b * 256, 10
  if major > 1 then size, first = size + c * 65536 + d * 16777216, 12 end
  args.check(size <= MAX_HEADER, "%s: the header must have at most %d bytes, got %.0f", source.path,
    MAX_HEADER, size)
  return take(source, first, size), first + size
end

local function printable(text) return (text:sub(1, 200):gsub("[^ -~]+", "?")) end

local function refuse_type(path, descr)
  local what = descr:sub(1, 1) == "[" and "records" or KINDS[descr:match("^[<>|=]?(%a)")]
  core.fail("%s: elements of type %s%s are not supported; save numbers of 8 to 64 bits, such as "
    .. "x.astype('float32')", path, printable(descr), what and (" (%s)"):format(what) or "")
end

-- Reads a header: numpy's code of the elements, the shape, and whether the elements lie in
-- Fortran's order, with neighbours along the first axis side by side.
local function parse(path, header)
  local descr = header:match("'descr':%s*'([^']*)'") or header:match("'descr':%s*(%[.*%])")
  local order = header:match("'fortran_order':%s*(%a+)")
  local extents = header:match("'shape':%s*%(([%d%sL,]*)%)")
  if not (descr and extents and (order == "True" or order == "False")) then
    core.fail("%s: a header that numpy does not write: %s", path,
      printable(header:gsub("%s+$", "")))
  end
  if not CODES[descr:match("^[<>|=](%w+)$")] then refuse_type(path, descr) end
  local shape = {}
  for extent in extents:gmatch("%d+") do shape[#shape + 1] = tonumber(extent) end
  return descr, shape, order == "True"
end

local function reversed(list)
  local out = {}
  for i = 1, #list do out[i] = list[#list + 1 - i] end
  return out
end

local function check_size(source, descr, shape, first)
  local count = 1
  for _, extent in ipairs(shape) do count = count * extent end
  args.fits(#shape <= MAX_RANK, shape, "%s: the shape must have at most %d dimensions, got",
    source.path, MAX_RANK)
  local size = count * descr:sub(3)
  if first + size > source.size then
    core.fail("%s: cut short: %s %s must have %.0f bytes, got %d", source.path,
      CODES[descr:sub(2)], args.shape_text(shape), size, source.size - first)
  end
  local product = 1
  for _, extent in ipairs(shape) do product = product * math.max(extent, 1) end
  args.fits(product <= MAX_SIZE, shape,
    "%s: the extents that are not 0 must multiply to at most 2^47, got", source.path)
  if source.is_member and first + size < source.size then
    core.fail("%s: %s %s must have %.0f bytes, got %.0f", source.path, CODES[descr:sub(2)],
      args.shape_text(shape), size, source.size - first)
  end
  return size
end

local function fill(source, a, descr, first, size)
  local flat, width = core.reshape(a, { -1 }), tonumber(descr:sub(3))
  for at = 0, size - 1, CHUNK do
    local text = take(source, first + at, math.min(CHUNK, size - at))
    core.decode(flat, at / width, descr, text, source.path)
  end
end

local function decode(source)
  local header, first = header_of(source)
  local descr, shape, fortran = parse(source.path, header)
  local size = check_size(source, descr, shape, first)
  if source.unpack then source.unpack() end
  local a = core.array(CODES[descr:sub(2)], fortran and reversed(shape) or shape)
  fill(source, a, descr, first, size)
  if not fortran or #shape < 2 then return a end
  local perm = {}
  for i = 1, #shape do perm[i] = #shape - i end
  local turned = transpose(a, { perm = perm })
  core.free(a)
  return turned
end

--- The array of the bytes of a .npy file, which errors call `path`.
function npy.decode(path, bytes) return decode(from_text(path, bytes)) end

--- The arrays of an .npz file by name; with `only`, a set of names, just those.
function npy.members(path, zip, only)
  local arrays = {}
  for name, member in pairs(archive.members(path, zip)) do
    local short = name:gsub("%.npy$", "")
    if arrays[short] then core.fail("%s: damaged: two arrays have the name '%s'", path, short) end
    if not only or only[short] then
      arrays[short] = decode(from_member(path, zip, name, member))
    end
  end
  return arrays
end

-- Turns names that are numbers back into numbers, so that a list which was saved is a list again.
local function with_numbers(arrays)
  local out = {}
  for name, a in pairs(arrays) do
    out[name:match("^[1-9]%d*$") and #name < 16 and tonumber(name) or name] = a
  end
  return out
end

local function load(path, file)
  local start, why = core.file_read(file, 2)
  args.check(start and start ~= "", "ndarray.load: %s: %s", path, why or "the file is empty")
  local is_zip, size = start == "PK", core.file_size(file)
  if not is_zip and size then return decode(from_file(path, file, size)) end
  local rest, wrong = nil, is_zip and archive.too_large(size)
  if not wrong then rest, wrong = core.file_read(file) end
  if not rest then core.fail("ndarray.load: %s: %s", path, wrong) end
  local text = start .. rest
  if is_zip then return with_numbers(npy.members(path, text)) end
  return decode(from_text(path, text))
end

npy.load = args.define("ndarray.load", "The array of numpy's .npy file, or a table of those of its "
  .. ".npz file by name. Fortran order and either byte order are converted; bool becomes uint8, "
  .. "integers that jfl lacks become the next wider.", {
  { "path", "of the file", type = "string" },
  returns = "NdArray|table<string|integer, NdArray>",
}, function(o)
  local file, err = core.file_open(o.path)
  if not file then core.fail("ndarray.load: %s", err) end
  local ok, result = pcall(load, o.path, file)
  core.file_close(file)
  if not ok then error(result, 0) end
  return result
end)

-- ---- writing ----

local function header_for(who, a)
  args.must(core.type(a) == "array", a, "%s: value must be an NdArray", who)
  local descr = OF_DTYPE[a.dtype]
  args.check(descr, "%s: numpy has no %s; save a:astype(\"float32\")", who, a.dtype)
  local shape = a.shape
  local header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }"):format(descr,
    table.concat(shape, ", "), #shape == 1 and "," or "")
  header = header .. (" "):rep(63 - (10 + #header) % 64) .. "\n"
  return "\147NUMPY\1\0" .. string.char(#header % 256, math.floor(#header / 256)) .. header
end

local function write_array(write, header, a)
  local flat = core.reshape(a, { -1 })
  write(header)
  for first = 0, #flat - 1, CHUNK do
    write(core.bytes(core.rows(flat, first, math.min(CHUNK, #flat - first))))
  end
end

-- Refuses names that could not be read back, by us or by numpy.
local function check_name(who, name)
  args.check(#name <= MAX_NAME, "%s: the name of an array must have at most %d bytes, got %d", who,
    MAX_NAME, #name)
  if name:find("%z") or not texts.is_utf8(name) then
    core.fail("%s: the name of an array must be UTF-8 without zero bytes, got '%s'", who,
      printable(name))
  end
end

-- The members of an .npz file, checked before anything is written.
local function members_of(who, arrays)
  local list, seen = {}, {}
  for key, a in pairs(arrays) do
    args.must(type(key) == "string" or type(key) == "number", key,
      "%s: keys must be names of arrays", who)
    local name = tostring(key)
    if seen[name] then core.fail("%s: two arrays have the name '%s'", who, name) end
    check_name(who, name)
    seen[name] = true
    local header = header_for(who .. ": " .. name, a)
    list[#list + 1] = { name .. ".npy", function() return header .. core.bytes(a) end }
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

--- Saves an array as .npy, or a table of arrays by name as .npz. A file that is there is replaced
-- once the new one is whole.
function npy.save(path, value, ...)
  local who = "ndarray.save"
  args.expect(who, "path", path, "string")
  args.check(select("#", ...) == 0, "%s: takes a path and a value; several arrays are one table, "
    .. "by name", who)
  if core.type(value) == "array" then
    local header = header_for(who, value)
    return archive.replace(who, path, function(write) write_array(write, header, value) end)
  end
  args.must(type(value) == "table", value,
    "%s: value must be an NdArray, or a table of NdArrays by name", who)
  local list = members_of(who, value)
  archive.replace(who, path, function(write) archive.zip(write, list) end)
end

return npy
