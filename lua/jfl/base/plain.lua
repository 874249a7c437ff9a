-- Plain Lua values as text and back: tables, strings, numbers and booleans. The text is JSON, so
-- that other programs can read it. What JSON lacks is an object with one name that begins with a
-- tab: {"\tpairs": [[key, value], ...]} is a table with keys other than 1 to n or texts alone,
-- {"\tnumber": "inf"} a number, {"\tbytes": "ff00"} a string that is no UTF-8.
local args = require "jfl.base.args"
local core = require "jfl.core"
local text = require "jfl.base.text"

local plain = {}

local MOST_DEPTH = 100           -- of tables within tables, which ends a table within itself, too

-- ---- writing ----

local write

local function escaped(c)
  return c == '"' and '\\"' or c == "\\" and "\\\\" or ("\\u%04x"):format(c:byte())
end

local function write_string(s)
  if text.is_utf8(s) then return '"' .. s:gsub('[%c"\\]', escaped) .. '"' end
  local hex = s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
  return ('{"\\tbytes":"%s"}'):format(hex)
end

local function write_number(x)
  if x ~= x then return '{"\\tnumber":"nan"}' end
  if x == math.huge or x == -math.huge then
    return ('{"\\tnumber":"%s"}'):format(x > 0 and "inf" or "-inf")
  end
  return ("%.17g"):format(x)
end

local function write_list(t, path, depth)
  local parts = {}
  for i, value in ipairs(t) do parts[i] = write(value, ("%s[%d]"):format(path, i), depth) end
  return "[" .. table.concat(parts, ",") .. "]"
end

local function write_object(t, path, depth)
  local keys, parts = {}, {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do
    parts[i] = write_string(key) .. ":" .. write(t[key], ("%s.%s"):format(path, key), depth)
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local function write_pairs(t, path, depth)
  local list = {}
  for key, value in pairs(t) do
    local at = ("%s[%s]"):format(path, tostring(key))
    list[#list + 1] = ("[%s,%s]"):format(write(key, "a key of " .. path, depth),
      write(value, at, depth))
  end
  table.sort(list)                           -- so that equal tables are equal texts
  return '{"\\tpairs":[' .. table.concat(list, ",") .. "]}"
end

-- Whether all keys are texts that an object may have.
local function has_names(t)
  for key in pairs(t) do
    if type(key) ~= "string" or key:find("^\t") or not text.is_utf8(key) then return false end
  end
  return true
end

local function write_table(t, path, depth)
  if depth > MOST_DEPTH then
    core.fail("%s: tables must be at most %d deep, and none within itself", path, MOST_DEPTH)
  end
  local count = 0
  for _ in pairs(t) do count = count + 1 end
  local form = count == #t and write_list or has_names(t) and write_object or write_pairs
  return form(t, path, depth + 1)
end

local writers = { string = write_string, number = write_number, boolean = tostring }

function write(value, path, depth)
  if args.is_plain(value) then return write_table(value, path, depth) end
  local writer = writers[type(value)]
  if writer then return writer(value) end
  core.fail("%s must be a table, string, number or boolean, got %s%s", path, args.describe(value),
    core.type(value) == "array" and "; array:totable() gives a table" or "")
end

--- The text of a plain value; `path` is how errors call it.
function plain.write(value, path) return write(value, path, 1) end

-- ---- reading ----

local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\",
  ["/"] = "/" }

-- Readers raise this where the text is not JSON, and plain.read tells.
local WRONG = {}
local function need(value)
  if not value then error(WRONG, 0) end
  return value
end

-- The position of the next sign that is no blank.
local function skip(s, at) return s:match("^[ \n\r\t]*()", at) end

-- The letter of a code point, which \u gives below 2^16.
local function letter(code)
  if code < 0x80 then return string.char(code) end
  local low = 0x80 + code % 64
  if code < 0x800 then return string.char(0xc0 + math.floor(code / 64), low) end
  return string.char(0xe0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, low)
end

local function read_string(s, at)
  local parts = {}
  at = at + 1
  while true do
    local run, next_at = s:match('^([^"\\%z\1-\31]*)()', at)
    parts[#parts + 1] = run
    local c, escape = s:sub(next_at, next_at), s:sub(next_at + 1, next_at + 1)
    if c == '"' then return table.concat(parts), next_at + 1 end
    local code = escape == "u" and s:match("^%x%x%x%x", next_at + 2)
    need(c == "\\")
    parts[#parts + 1] = code and letter(tonumber(code, 16)) or need(ESCAPES[escape])
    at = next_at + (code and 6 or 2)
  end
end

local read_value

-- Reads what stands between two brackets, separated by commas; read(s, at) gives where one ends.
local function read_items(s, at, stop, read)
  at = skip(s, at + 1)
  if s:sub(at, at) == stop then return at + 1 end
  while true do
    at = skip(s, read(s, at))
    local c = s:sub(at, at)
    if c == stop then return at + 1 end
    need(c == ",")
    at = skip(s, at + 1)
  end
end

local function read_list(s, at, depth)
  local list = {}
  local to = read_items(s, at, "]", function(_, from)
    local value, done = read_value(s, from, depth)
    list[#list + 1] = value
    return done
  end)
  return list, to
end

-- What the objects with one special name stand for.
local SPECIAL = {
  ["\tpairs"] = function(list)
    local t = {}
    for _, pair in ipairs(need(type(list) == "table" and list)) do
      need(type(pair) == "table" and #pair == 2 and pair[1] == pair[1])
      t[pair[1]] = pair[2]
    end
    return t
  end,
  ["\tnumber"] = function(word)
    return need(({ inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0 })[word])
  end,
  ["\tbytes"] = function(hex)
    need(type(hex) == "string" and #hex % 2 == 0 and not hex:find("%X"))
    return (hex:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end))
  end,
}

local function read_object(s, at, depth)
  local t, special = {}, nil
  local to = read_items(s, at, "}", function(_, from)
    need(s:sub(from, from) == '"')
    local key, after = read_string(s, from)
    after = skip(s, after)
    need(s:sub(after, after) == ":")
    local value, done = read_value(s, skip(s, after + 1), depth)
    t[key], special = value, special or SPECIAL[key]
    if SPECIAL[key] then t = { SPECIAL[key](value) } end
    return done
  end)
  if special then return t[1], to end
  return t, to
end

function read_value(s, at, depth)
  local c = s:sub(at, at)
  if c == '"' then return read_string(s, at) end
  if c == "[" or c == "{" then
    need(depth <= MOST_DEPTH)
    return (c == "[" and read_list or read_object)(s, at, depth + 1)
  end
  local word, to = s:match("^(%a+)()", at)
  if word then
    need(word == "true" or word == "false" or word == "null")
    if word == "null" then return nil, to end
    return word == "true", to
  end
  word, to = s:match("^(-?%d[%d.eE+-]*)()", at)
  return need(tonumber(word)), to
end

--- The value of a text that plain.write gave; nil where it is none of those.
function plain.read(s)
  local ok, value, at = pcall(read_value, s, skip(s, 1), 1)
  if not ok and value ~= WRONG then error(value, 0) end
  if not ok or skip(s, at) <= #s then return nil end
  return value
end

return plain
