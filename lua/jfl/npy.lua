-- numpy's files: .npy holds one array, .npz a zip file of them.
local archive = require "jfl.archive"
local args = require "jfl.args"
local core = require "jfl.core"

local npy = {}

local MAX_RANK = 8

local CODES = { f4 = "float32", f8 = "float64", f2 = "float16", i1 = "int8", u1 = "uint8",
  i4 = "int32", i8 = "int64", b1 = "uint8" }
local OF_DTYPE = { float32 = "<f4", float64 = "<f8", float16 = "<f2", int8 = "|i1", uint8 = "|u1",
  int32 = "<i4", int64 = "<i8" }

-- The header's text, and the position of the first element, from 0.
local function header_of(path, data)
  local magic = core.bytes(core.rows(data, 0, math.min(12, #data)))
  if magic:sub(1, 6) ~= "\147NUMPY" or #magic < 12 then core.fail("%s: not a .npy file", path) end
  local major, minor, a, b, c, d = magic:byte(7, 12)
  if major < 1 or major > 3 then
    core.fail("%s: version %d.%d of the format is not supported", path, major, minor)
  end
  local size, first = a + b * 256, 10
  if major > 1 then size, first = size + c * 65536 + d * 16777216, 12 end
  if size == 0 or first + size > #data then core.fail("%s: cut short", path) end
  return core.bytes(core.rows(data, first, size)), first + size
end

-- What a header says: the dtype and the shape.
local function parse(path, header)
  local descr = header:match("'descr':%s*'([^']*)'") or header:match("'descr':%s*(%[.*%])")
  local order = header:match("'fortran_order':%s*(%a+)")
  local extents = header:match("'shape':%s*%(([%d%s,]*)%)")
  if not (descr and extents and (order == "True" or order == "False")) then
    core.fail("%s: a header that numpy does not write: %s", path, header:gsub("%s+$", ""))
  end
  local dtype = CODES[descr:match("^[<>|=](%w+)$")]
  if not dtype or descr:sub(1, 1) == ">" then
    core.fail("%s: elements of type %s are not supported", path, descr)
  end
  if order == "True" then core.fail("%s: arrays in Fortran order are not supported", path) end
  local shape = {}
  for extent in extents:gmatch("%d+") do shape[#shape + 1] = tonumber(extent) end
  return dtype, #shape > 0 and shape or { 1 }
end

--- The array of a .npy file's bytes, a uint8 array; path is for messages.
function npy.decode(path, data)
  local header, first = header_of(path, data)
  local dtype, shape = parse(path, header)
  local size = core.dtypes[dtype]
  for _, extent in ipairs(shape) do size = size * extent end
  if size == 0 or #shape > MAX_RANK then
    core.fail("%s: shape %s is not supported: expected 1 to %d dimensions, none of them 0", path,
      args.shape_text(shape), MAX_RANK)
  end
  if first + size > #data then
    core.fail("%s: cut short: %s %s wants %.0f bytes, got %d", path, dtype,
      args.shape_text(shape), size, #data - first)
  end
  local content = core.rows(data, first, size)
  if dtype == "uint8" then return core.copy(core.reshape(content, shape)) end
  return core.from_bytes(core.bytes(content), dtype, shape)
end

local function encode(who, a)
  if core.type(a) ~= "array" then
    core.fail("%s: expected an NdArray, got %s", who, args.describe(a))
  end
  local descr = OF_DTYPE[a.dtype]
  if not descr then core.fail("%s: numpy has no %s", who, a.dtype) end
  local shape = a.shape
  local header = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }"):format(descr,
    table.concat(shape, ", "), #shape == 1 and "," or "")
  header = header .. (" "):rep(63 - (10 + #header) % 64) .. "\n"
  return "\147NUMPY\1\0" .. string.char(#header % 256, math.floor(#header / 256)) .. header
    .. core.bytes(a)
end

local function write(who, path, text)
  local file, err = io.open(path, "wb")
  if not file then core.fail("%s: %s", who, err) end
  local ok, why = file:write(text)
  local closed, late = file:close()
  if not (ok and closed) then core.fail("%s: %s: %s", who, path, why or late) end
end

--- Saves an array as .npy, or a table of arrays by name as .npz.
function npy.save(path, value)
  local who = "ndarray.save"
  args.expect(who, "path", path, "string")
  if core.type(value) == "array" then return write(who, path, encode(who, value)) end
  args.expect(who, "value", value, "table")
  local names, list = {}, {}
  for name in pairs(value) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for i, name in ipairs(names) do
    list[i] = { name .. ".npy", encode(who .. ": " .. name, value[name] or value[tonumber(name)]) }
  end
  write(who, path, archive.zip(list))
end

--- The arrays of an .npz file by name; those in `only`, a set, if it is given.
function npy.members(path, zip, only)
  local arrays = {}
  for name, member in pairs(archive.members(path, zip)) do
    local short = name:gsub("%.npy$", "")
    if not only or only[short] then
      arrays[short] = npy.decode(path .. ": " .. name, archive.extract(path, zip, name, member))
    end
  end
  return arrays
end

--- Loads a .npy file as an array, or an .npz file as a table of arrays by name.
function npy.load(path)
  args.expect("ndarray.load", "path", path, "string")
  local data, err = archive.read(path)
  if not data then core.fail("ndarray.load: %s", err) end
  if data:sub(1, 2) == "PK" then return npy.members(path, data) end
  if #data == 0 then core.fail("ndarray.load: %s: the file is empty", path) end
  return npy.decode(path, core.from_bytes(data, "uint8", { #data }))
end

return npy
