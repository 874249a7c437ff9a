-- Protocol buffers: reads and writes messages whose fields a table describes.
--
-- A schema is a table of messages by name; a message has its fields by number:
--   { [1] = { "name", "string" }, [5] = { "dims", "int64", repeated = true } }
-- A type is one of SCALARS below or the name of another message; enums are int32. A field with
-- `span = true` is not read: its value is a list of { first =, size = }, where its bytes lie in the
-- source, so that large ones never become Lua strings. Numbers of more than 53 bits are rounded.
--
-- It is in Lua as messages hold few fields beside spans, and a damaged file cannot touch memory.
local core = require "jfl.core"

local protobuf = {}

local MOST_DEPTH = 100           -- messages within one another, as protobuf's own readers have it
local CHUNK = 2 ^ 16             -- bytes of a source that are read at once
local VARINT, WIDE, BYTES, NARROW = 0, 1, 2, 5       -- what follows a field's number

-- ---- sources ----

local Source = {}
Source.__index = Source

local function cut_short(self, at)
  core.fail("%s: cut short or damaged at byte %.0f", self.path, at)
end

-- So many bytes from `first` on, counted from 0.
function Source:text(first, count)
  local size = self.size
  if count > size or first > size - count then cut_short(self, first) end
  local at = first - self._first
  if at >= 0 and at + count <= #self._text then return self._text:sub(at + 1, at + count) end
  local text = self._read(first, math.min(math.max(count, CHUNK), size - first))
  if #text < count then cut_short(self, first) end
  if #text <= 2 * CHUNK then self._first, self._text = first, text end
  return #text > count and text:sub(1, count) or text
end

-- The byte at a position.
local function byte_at(self, at)
  local value = self._text:byte(at - self._first + 1)
  if value and at >= self._first then return value end
  if at >= self.size then cut_short(self, at) end
  return self:text(at, 1):byte()
end

--- A source of a text. path: what messages call it.
function protobuf.of_text(path, text)
  return setmetatable({ path = path, size = #text, _first = 0, _text = text,
    _read = function(first, count) return text:sub(first + 1, first + count) end }, Source)
end

--- A source of a file that is open (core.file_open), of which at most some hundred KB are in
-- memory.
function protobuf.of_file(path, file)
  local size = core.file_size(file)
  if not size then core.fail("%s: must be a file, got a pipe or a device", path) end
  return setmetatable({ path = path, size = size, file = file, _first = 0, _text = "",
    _read = function(first, count)
      local text, why = core.file_read(file, count, first)
      return text or core.fail("%s: %s", path, why)
    end }, Source)
end

-- ---- reading ----

-- The varint at a position as a number from 0 to 2^64, and where it ends.
local function varint(source, at)
  local value, factor = 0, 1
  for i = 0, 9 do
    local b = byte_at(source, at + i)
    if b < 128 then return value + b * factor, at + i + 1 end
    value, factor = value + (b - 128) * factor, factor * 128
  end
  core.fail("%s: damaged at byte %.0f: a number of more than 10 bytes", source.path, at)
end

-- A negative number takes ten bytes, whose lower ones would be lost in a double: what it lacks to
-- 2^64 is summed in their place.
local function integer(source, at)
  local value, stop = varint(source, at)
  if stop - at < 10 then return value, stop end
  local left, factor = 0, 1
  for i = 0, 8 do
    left, factor = left + (127 - byte_at(source, at + i) % 128) * factor, factor * 128
  end
  return -left - 1, stop
end

local function fixed(kind, size, dtype)
  return { kind, function(source, at)
    return core.from_bytes(source:text(at, size), dtype, { 1 })[1], at + size
  end, size = size, dtype = dtype }
end

-- A varint of 32 bits, to which writers of negative numbers add 32 more.
local function integer32(source, at)
  local value, stop = integer(source, at)
  value = value % 2 ^ 32
  return value >= 2 ^ 31 and value - 2 ^ 32 or value, stop
end

local function boolean(source, at)
  local value, stop = varint(source, at)
  return value ~= 0, stop
end

-- How each type is written, and read at a position.
local SCALARS = {
  int64 = { VARINT, integer }, int32 = { VARINT, integer32 }, bool = { VARINT, boolean },
  uint64 = { VARINT, varint }, uint32 = { VARINT, varint },
  float = fixed(NARROW, 4, "float32"), double = fixed(WIDE, 8, "float64"),
  sfixed32 = fixed(NARROW, 4, "int32"), sfixed64 = fixed(WIDE, 8, "int64"),
  string = { BYTES }, bytes = { BYTES },
}

-- Where a value of that kind ends that begins at a position, and where its contents begin.
local function extent_of(source, kind, at, stop)
  local first, last = at, nil
  if kind == VARINT then last = select(2, varint(source, at))
  elseif kind == BYTES then
    local size
    size, first = varint(source, at)
    last = first + size
  elseif kind == WIDE or kind == NARROW then last = at + (kind == WIDE and 8 or 4)
  else
    core.fail("%s: damaged at byte %.0f: a field of the unknown kind %d", source.path, at, kind)
  end
  if last > stop then cut_short(source, at) end
  return last, first
end

-- Appends numbers that lie one behind the other.
local function unpack_numbers(source, scalar, first, last, list)
  local size, n = scalar.size, #list
  if scalar.dtype then
    if (last - first) % size ~= 0 then cut_short(source, first) end
    for at = first, last - 1, CHUNK do
      local text = source:text(at, math.min(CHUNK, last - at))
      local numbers = core.to_table(core.from_bytes(text, scalar.dtype, { #text / size }))
      for i = 1, #numbers do list[n + i] = numbers[i] end
      n = n + #numbers
    end
    return
  end
  local at, read = first, scalar[2]
  while at < last do
    n = n + 1
    list[n], at = read(source, at)
  end
  if at ~= last then cut_short(source, first) end
end

local read_message

local function read_field(source, schema, field, kind, at, stop, out, depth)
  local last, first = extent_of(source, kind, at, stop)
  local name, scalar = field[1], SCALARS[field[2]]
  local own = scalar and scalar[1] or BYTES
  local packed = field.repeated and own ~= BYTES and kind == BYTES
  if kind ~= own and not packed then
    core.fail("%s: damaged at byte %.0f: '%s' is of another kind than %s", source.path, at, name,
      field[2])
  end
  local list = (field.repeated or field.span) and (out[name] or {}) or nil
  out[name] = list
  if field.span then
    list[#list + 1] = { first = first, size = last - first }
  elseif packed then
    unpack_numbers(source, scalar, first, last, list)
  else
    local value
    if not scalar then value = read_message(source, schema, field[2], first, last, depth + 1)
    elseif own == BYTES then value = source:text(first, last - first)
    else value = scalar[2](source, at) end
    if list then list[#list + 1] = value else out[name] = value end
  end
  return last
end

function read_message(source, schema, message, first, stop, depth)
  if depth > MOST_DEPTH then
    core.fail("%s: damaged at byte %.0f: more than %d messages within one another", source.path,
      first, MOST_DEPTH)
  end
  local fields, out, at = schema[message], {}, first
  while at < stop do
    local key
    key, at = varint(source, at)
    local number, kind = math.floor(key / 8), key % 8
    local field = fields[number]
    if number == 0 then cut_short(source, at) end
    at = field and read_field(source, schema, field, kind, at, stop, out, depth)
      or extent_of(source, kind, at, stop)
  end
  if at ~= stop then cut_short(source, at) end
  return out
end

--- The message of that name in a source: a table of its fields, of which repeated ones are lists
-- and those that are not there nil. first and size: the part of the source that is the message.
function protobuf.decode(source, schema, message, first, size)
  first = first or 0
  return read_message(source, schema, message, first, first + (size or source.size - first), 1)
end

-- ---- writing ----

local function varint_text(value)
  local out = {}
  if value < 0 then           -- as ten bytes of what is left to 2^64
    value = -value - 1
    for i = 1, 9 do
      out[i] = string.char(255 - value % 128)
      value = math.floor(value / 128)
    end
    return table.concat(out) .. "\1"
  end
  while value >= 128 do
    out[#out + 1] = string.char(128 + value % 128)
    value = math.floor(value / 128)
  end
  return table.concat(out) .. string.char(value)
end

-- Texts of numbers that lie one behind the other.
local function numbers_text(scalar, list)
  if scalar.dtype then return core.bytes(core.from_table(list, scalar.dtype)) end
  local texts = {}
  for i, value in ipairs(list) do
    if type(value) == "boolean" then value = value and 1 or 0 end
    texts[i] = varint_text(value)
  end
  return table.concat(texts)
end

local encode_into

-- Puts a number that says how long they are before the pieces of a field's contents.
local function add_sized(pieces, number, size, contents)
  pieces[#pieces + 1] = varint_text(number * 8 + BYTES) .. varint_text(size)
  for i = 1, #contents do pieces[#pieces + 1] = contents[i] end
  return #varint_text(number * 8) + #varint_text(size) + size
end

local function add_value(pieces, schema, number, type_name, value)
  local scalar = SCALARS[type_name]
  if not scalar then
    local contents = {}
    local size = encode_into(contents, schema, type_name, value)
    return add_sized(pieces, number, size, contents)
  end
  if scalar[1] == BYTES then
    return add_sized(pieces, number, type(value) == "table" and value.size or #value, { value })
  end
  local text = varint_text(number * 8 + scalar[1]) .. numbers_text(scalar, { value })
  pieces[#pieces + 1] = text
  return #text
end

-- The numbers of a message's fields in their order, and their names as a set, by its description.
local orders = setmetatable({}, { __mode = "k" })

local function order_of(fields)
  if orders[fields] then return orders[fields] end
  local order = { numbers = {}, known = {} }
  for number, field in pairs(fields) do
    table.insert(order.numbers, number)
    order.known[field[1]] = true
  end
  table.sort(order.numbers)
  orders[fields] = order
  return order
end

function encode_into(pieces, schema, message, values)
  local order, size = order_of(schema[message]), 0
  for name in pairs(values) do
    if not order.known[name] then core.fail("protobuf: %s has no field '%s'", message, name) end
  end
  for _, number in ipairs(order.numbers) do
    local field = schema[message][number]
    local value, scalar = values[field[1]], SCALARS[field[2]]
    if value ~= nil and field.repeated and scalar and scalar[1] ~= BYTES then
      local text = #value > 0 and numbers_text(scalar, value)
      if text then size = size + add_sized(pieces, number, #text, { text }) end
    elseif value ~= nil then
      for _, each in ipairs(field.repeated and value or { value }) do
        size = size + add_value(pieces, schema, number, field[2], each)
      end
    end
  end
  return size
end

--- A message as pieces, and its size in bytes. A piece is a text or what was given for bytes: a
-- table { size =, write = function(write) }, which calls write(text) until all is written, so that
-- large ones need not be one text.
function protobuf.encode(schema, message, values)
  local pieces = {}
  return pieces, encode_into(pieces, schema, message, values)
end

--- Gives the pieces of a message to write(text).
function protobuf.write(pieces, write)
  for _, piece in ipairs(pieces) do
    if type(piece) == "table" then piece.write(write) else write(piece) end
  end
end

return protobuf
