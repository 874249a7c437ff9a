-- Reads calls in the API's convention: positional arguments, then one options table.
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local names = require "jfl.base.names"
local original = require "jfl.base.original"

local args = {}

local FEW = 8                    -- numbers of a list in a message
local MOST_SHOWN = 200           -- bytes of a text in a message

--- How many texts of a list a message shows.
args.LISTED = 8

--- Stands for the default of a parameter that may be left out and has none.
args.none = setmetatable({}, { __tostring = function() return "none" end })

--- What define() made, by path, for flow.help and the manual: { path, doc, params, fn }.
args.defined = {}

-- A table as messages show it: "{100, 10}" where it holds a few numbers and nothing else.
local function describe_table(t)
  if next(t) == nil then return "an empty table" end
  if #t > FEW then return "a table" end
  local count = 0
  for _, value in pairs(t) do
    count = count + 1
    if type(value) ~= "number" then return "a table" end
  end
  return count == #t and "{" .. table.concat(t, ", ") .. "}" or "a table"
end

--- A value as error messages name it: "number 3", "blob 'x'", "a table".
function args.describe(value)
  local kind = core.type(value)
  if kind == "blob" then return ("blob '%s'"):format(value.name) end
  if kind == "array" then return ("an NdArray %s"):format(args.shape_text(value.shape)) end
  if kind then return "a " .. kind end
  kind = type(value)
  if kind == "number" or kind == "boolean" then return kind .. " " .. tostring(value) end
  if kind == "string" then
    local is_long = #value > MOST_SHOWN
    return ("string '%s'%s"):format(is_long and value:sub(1, MOST_SHOWN) or value,
      is_long and "..." or "")
  end
  if kind == "nil" then return "nil" end
  local meta = metatable(value)
  if type(meta) == "table" and meta.namespace then
    return ("%s itself: its functions are called with a dot, not a colon"):format(meta.namespace)
  end
  if type(meta) == "table" and meta.__tostring then return tostring(value) end
  return kind == "table" and describe_table(value) or "a " .. kind
end

--- Fails unless ok, with a text that string.format makes of fmt and what follows.
function args.check(ok, fmt, ...)
  if not ok then core.fail(fmt, ...) end
end

--- The same, and behind the text the value that was given.
function args.must(ok, value, fmt, ...)
  if not ok then core.fail("%s, got %s", fmt:format(...), args.describe(value)) end
end

--- The same, with a shape behind the text.
function args.fits(ok, shape, fmt, ...)
  if not ok then core.fail("%s %s", fmt:format(...), args.shape_text(shape)) end
end

--- A shape as text: "(2, 3)" for { 2, 3 }.
function args.shape_text(shape)
  return "(" .. table.concat(shape, ", ") .. ")"
end

--- How many elements a shape has, along the axes from one to another, all unless given.
function args.count(shape, first, last)
  local n = 1
  for i = first or 1, last or #shape do n = n * shape[i] end
  return n
end

--- Fails unless value is a name that files can hold: UTF-8, not empty, not too long.
function args.name(who, what, value)
  if type(value) ~= "string" then args.expect(who, what, value, "string") end
  core.name_check(who, what, value)
  return value
end

--- Fails unless value has one of the Lua types named in `kinds` ("number or string").
function args.expect(who, name, value, kinds)
  local kind = type(value)
  if kind == kinds then return value end      -- every call with a callback comes here
  for word in kinds:gmatch("[%a]+") do
    if word == kind then return value end
  end
  core.fail("%s: %s must be a %s, got %s", who, name, kinds, args.describe(value))
end

--- Fails unless value is a list of such values.
function args.list(who, name, list, kinds)
  for i, each in ipairs(args.expect(who, name, list, "table")) do
    args.expect(who, ("%s[%d]"):format(name, i), each, kinds)
  end
  return list
end

--- Fails unless value is a scope of that kind; example: what gives one.
function args.scope(who, value, kind, example)
  local meta = metatable(value)
  if type(meta) == "table" and meta.scope_kind == kind then return value end
  core.fail("%s: value must be what %s gives, got %s", who, example, args.describe(value))
end

--- Fails unless value is one of the texts in a list of at least two.
function args.one_of(who, name, value, list)
  for _, text in ipairs(list) do
    if value == text then return value end
  end
  local quoted = {}
  for i, text in ipairs(list) do quoted[i] = ('"%s"'):format(text) end
  local last = table.remove(quoted)
  core.fail("%s: %s must be %s or %s, got %s", who, name, table.concat(quoted, ", "), last,
    args.describe(value))
end

-- What ranges such as "a number above 0 and below 1" say, by their texts.
local ranges = setmetatable({}, { __index = function(t, range)
  local function bound(word) return tonumber(range:match(word .. " (%-?%d[%d.]*)")) end
  t[range] = { whole = range:find("whole", 1, true), above = bound "above" or -math.huge,
    least = bound "from" or bound "at least" or -math.huge, below = bound "below" or math.huge,
    most = bound " to" or bound "at most" or math.huge,
    infinite = range:find("math.huge", 1, true) and math.huge }
  return t[range]
end })

--- Fails unless value is a finite number in a range, as the message says it: "a number from 0 to
-- below 1", "a number of at least 0", "a whole number from 1 to 100"; "a number above 0 or
-- math.huge" may be infinite.
function args.number(who, name, value, range)
  local r = ranges[range]
  if type(value) == "number" and value > r.above and value >= r.least and value <= r.most
    and (value < r.below or value == r.infinite) and (not r.whole or value % 1 == 0) then
    return value
  end
  core.fail("%s: %s must be %s, got %s", who, name, range,
    type(value) == "number" and ("%.14g"):format(value) or args.describe(value))
end

--- Fails unless pair is two numbers, above 0 and up to `most`, the smaller one first.
function args.bounds(who, name, pair, most)
  local a, b = args.expect(who, name, pair, "table")[1], pair[2]
  local right = #pair == 2 and type(a) == "number" and type(b) == "number" and a > 0 and a <= b
  args.must(right and b <= (most or b) and b < math.huge, pair,
    "%s: %s must be two numbers above 0%s, the smaller one first", who, name,
    most and (" and at most %g"):format(most) or "")
end

--- Fails unless value is a whole number of at least `least`.
function args.integer(who, name, value, least)
  if type(value) == "number" and value % 1 == 0 and value >= least then return value end
  core.fail("%s: %s must be a whole number of at least %d, got %s", who, name, least,
    args.describe(value))
end

--- Fails unless value is a blob.
function args.blob(who, name, value)
  if core.type(value) == "blob" then return value end
  core.fail("%s: %s must be a blob, got %s", who, name, args.describe(value))
end

--- Fails unless value is a tensor: a blob or an NdArray.
function args.tensor(who, name, value)
  local kind = core.type(value)
  if kind == "blob" or kind == "array" then return value end
  core.fail("%s: %s must be a blob or an NdArray, got %s", who, name, args.describe(value))
end

--- Fails unless shape is a list of extents of at least 0, of which the first may be allowed to be
-- -1. A scalar's list is empty.
function args.shape(who, name, shape, any_first)
  local n = type(shape) == "table" and table.maxn(shape) or 0
  if n == 0 and (type(shape) ~= "table" or next(shape) ~= nil) then
    core.fail("%s: %s must be a list of extents such as {100, 10}, got %s", who, name,
      args.describe(shape))
  end
  for i = 1, n do
    local extent = shape[i]
    local free = any_first and i == 1 and extent == -1
    if not free and (type(extent) ~= "number" or extent % 1 ~= 0 or extent < 0) then
      core.fail("%s: %s: dimension %d must be a whole number of at least 0%s, got %s%s", who, name,
        i, any_first and i == 1 and " or -1" or "", args.describe(extent),
        any_first and extent == -1 and "; one behind the first varies up to a bound: { max = 512 }"
          or "")
    end
  end
  return shape
end

--- Fails unless value names a dtype; gives its one spelling.
function args.dtype(who, name, value)
  if value == "float" then return "float32" end
  if value == "double" then return "float64" end
  if type(value) == "string" and core.dtypes[value] then return value end
  core.fail("%s: %s must be one of %s, got %s%s", who, name, args.names_of(core.dtypes),
    args.describe(value), type(value) == "number" and "; a shape is one list: {2, 3}" or "")
end

--- Fails unless a value is a dtype of weights in blocks.
function args.block_dtype(who, name, value)
  if core.blocks[value] then return value end
  core.fail("%s: %s must be one of %s, got %s", who, name, args.names_of(core.blocks),
    args.describe(value))
end

--- A dtype of numbers or of weights in blocks, where both may be.
function args.stored_dtype(who, name, value)
  return core.blocks[value] and value or args.dtype(who, name, value)
end

--- Whether a value is a table and no object; the shape of an array or a blob is a list.
function args.is_plain(value)
  return type(value) == "table" and (metatable(value) == nil or core.is_shape(value))
end

--- Whether t is an options table: string keys, not an object.
function args.is_options(t)
  return type(t) == "table" and metatable(t) == nil and type(next(t)) == "string"
end

--- Whether a value is called as a function is.
function args.is_callable(value)
  local meta = metatable(value)
  return type(value) == "function" or type(meta) == "table" and meta.__call ~= nil
end

--- The keys of a table, which are texts, in alphabetical order.
function args.keys(t)
  local list = {}
  for key in pairs(t) do list[#list + 1] = key end
  table.sort(list)
  return list
end

--- The keys of a table in alphabetical order, for messages: "a, b".
function args.names_of(t)
  local list = {}
  for name in pairs(t) do list[#list + 1] = tostring(name) end
  table.sort(list)
  return table.concat(list, ", ")
end

--- A list of any length in another table.
function args.copied(list)
  local copy = {}
  for i, value in ipairs(list) do copy[i] = value end
  return copy
end

--- A list of texts for messages: all, or the first few and how many more there are.
function args.listed(list)
  if #list <= args.LISTED then return table.concat(list, ", ") end
  return ("%s, and %d more"):format(table.concat(list, ", ", 1, args.LISTED), #list - args.LISTED)
end

--- The end of a message that refuses a name: what it may have meant, or what there is. known: a
-- table with the names as keys; what: "its columns".
function args.instead(name, known, what)
  local list, set = {}, {}
  for key in pairs(known) do
    if type(key) == "string" then list[#list + 1], set[key] = key, true end
  end
  table.sort(list)
  local like = names.suggest(tostring(name), set)
  return like == "" and #list > 0 and ("; %s are %s"):format(what, args.listed(list)) or like
end

--- Fails unless all keys of a table are those of another; noun: what messages call a key.
function args.known(who, given, known, noun)
  for key in pairs(given) do
    if known[key] == nil then
      core.fail("%s: unknown %s '%s'; %ss are %s%s", who, noun, tostring(key), noun,
        args.names_of(known), names.suggest(tostring(key), known))
    end
  end
end

--- Gives what fails unless it gets an object of a class as self, and the method's name. called: an
-- object's name in messages.
function args.colon(class, called)
  return function(self, method)
    if metatable(self) == class then return self end
    core.fail("%s: call it with a colon: %s:%s(...)", method, called, method)
  end
end

local function names_of(params)
  local list = {}
  for _, param in ipairs(params) do
    if param[1] ~= "self" then list[#list + 1] = param[1] end
  end
  return table.concat(list, ", ")
end

local function take_options(f, values, options)
  for name, value in pairs(options) do
    if not f.index[name] then
      local hint = names.suggest(tostring(name), f.known)
      core.fail("%s: unknown option '%s'; options are %s%s", f.path, tostring(name),
        names_of(f.params), hint ~= "" and hint or names.pointer(tostring(name)))
    end
    if values[name] ~= nil then
      core.fail("%s: '%s' is given twice: as argument %d and as an option", f.path, name,
        f.index[name])
    end
    values[name] = value
  end
end

local function take_defaults(f, values, count)
  for i, param in ipairs(f.taken) do
    local name, default = param[1], param[3]
    if values[name] == nil and default == nil then
      core.fail("%s: argument %d '%s' is %s", f.path, i, name,
        i <= count and "nil: is a name misspelled?" or "missing")
    end
    if values[name] == nil and default ~= args.none then values[name] = default end
  end
end

local LUA = { boolean = true, ["function"] = true, number = true, string = true, table = true }

-- Fails where a value is none of its parameter's words, not in its range, no whole number of at
-- least its least, or not of its type, if that is one of Lua's or Tensor. A parameter that is true
-- or false by default is boolean where it says nothing else.
local function check_value(who, param, value)
  local name, of = param[1], param.type or type(param[3]) == "boolean" and "boolean"
  if param.words then args.one_of(who, name, value, param.words)
  elseif param.range then args.number(who, name, value, param.range)
  elseif param.least then args.integer(who, name, value, param.least)
  elseif LUA[of] then args.expect(who, name, value, of)
  elseif of == "Tensor" and not param.stands then args.tensor(who, name, value) end
end

-- Whether a parameter may be a number, as far as its type and its default say.
local function takes_number(param)
  local of, default = param.type, param[3]
  if of then return of:find "number" or of:find "integer" end
  return not param.words and (default == nil or type(default) == "number")
end

-- Fails where the numbers from argument i on are meant as a list, as in zeros(2, 3): the last of
-- them stand where no number may, or nothing at all.
local function check_list(f, given, i)
  local param, behind, last = f.taken[i], f.taken[i + 1], i
  while type(given[last + 1]) == "number" do last = last + 1 end
  if not (param.type or ""):find("[]", 1, true) or behind and takes_number(behind) then return end
  core.fail("%s: %s is one list: {%s}", f.path, param[1], table.concat(given, ", ", i, last))
end

local function check_lists(f, given, count)
  for i = 1, math.min(count - 1, #f.taken) do
    if type(given[i]) == "number" and type(given[i + 1]) == "number" then
      check_list(f, given, i)
    end
  end
end

-- Hints at the list that is missing where a shape is given as several numbers before others.
local function list_hint(f, given)
  local i = f.index.shape
  if not i or type(given[i]) ~= "number" or type(given[i + 1]) ~= "number" then return "" end
  return "; a shape is one list: {" .. given[i] .. ", " .. given[i + 1] .. ", ...}"
end

-- Whether the table that stands in place of parameter i is its value, a table with names of its
-- own, and not the options. It is the options where it names the parameter, or any option if the
-- parameter may be left out.
local function is_keyed(f, i, options)
  local param = f.taken[i]
  if not param or not param.keyed or options[param[1]] ~= nil then return false end
  for name in pairs(options) do
    if f.index[name] and param[3] ~= nil then return false end
  end
  return true
end

-- Whether an empty table in place of a parameter may be its value: one that must be given, or is a
-- list.
local function takes_list(param)
  local default, of = param[3], param.type or ""
  return default == nil or default ~= args.none and type(default) == "table" or param.keyed
    or of:find("[]", 1, true) or ("|" .. of):find("|table", 1, true)
end

-- The further arguments that scripts of the original give.
local function older(f) return original.ask("arguments", f.path) or {} end

-- Prepares a function to be called: finds all that it takes in positional order, its parameters and
-- between them those that only scripts of the original give, and which of the former come first.
local function prepare(f)
  local taken, index, known, n_first = { unpack(f.params) }, {}, {}, 0
  for _, e in ipairs(older(f)) do table.insert(taken, e[1], { e[2], "", args.none }) end
  for i, param in ipairs(taken) do index[param[1]] = i end
  for i, param in ipairs(f.params) do
    known[param[1]] = true
    if taken[i] == param then n_first = i end
  end
  f.index, f.known, f.n_first = index, known, n_first
  f.taken = taken                  -- last: with it the others are whole, if memory runs out or not
end

--- All that a function takes, in positional order: its parameters, and those of the original.
function args.taken(f)
  if not f.taken then prepare(f) end
  return f.taken
end

--- How many parameters of a function can be given in their order; the others go by name.
function args.positional(f)
  if not f.taken then prepare(f) end
  return f.n_first
end

local function read(f, n, ...)
  if not f.taken then prepare(f) end
  local given, values = { ... }, {}
  local last = given[n]
  local empty = type(last) == "table" and next(last) == nil and metatable(last) == nil
    and (n > #f.taken or not takes_list(f.taken[n]))
  local is_options = empty or args.is_options(last) and not is_keyed(f, n, last)
  local options = is_options and last or nil
  local count = options and n - 1 or n
  check_lists(f, given, count)
  if count > #f.taken then
    core.fail("%s: takes at most %d arguments (%s), got %d%s", f.path, #f.taken,
      names_of(f.params), count, list_hint(f, given))
  end
  for i = 1, count do values[f.taken[i][1]] = given[i] end
  if options then take_options(f, values, options) end
  take_defaults(f, values, count)
  for _, param in ipairs(f.params) do
    local value = values[param[1]]
    if value ~= nil then check_value(f.path, param, value) end
  end
  for _, e in ipairs(older(f)) do values[e[2]] = nil end
  return values
end

local function reader(f, body)
  return function(...) return body(read(f, select("#", ...), ...), f.path) end
end

--- Makes a function of the API. Each of params is { name, doc, default }, in positional order:
-- without a default it must be given, with args.none it may be nil. A parameter with the field
-- `keyed` takes tables with names of their own, such as variables. body gets one table with the
-- values by name, and the path, which begins messages. A parameter may have a field `type`, and
-- params a field `returns` (a type or a list of them), in the language of LuaLS's annotations, for
-- the reference; where the type is one of Lua's or Tensor, values are checked, but not where the
-- field `stands` says that other things may stand for tensors. Where there is no type and the
-- default is true or false, nothing else is taken. Values of a parameter with the field `least` are
-- whole numbers of at least that, with `range` in what args.number takes, and with `words` one of
-- that list.
function args.define(path, doc, params, body)
  local f = { path = path, doc = doc, params = params }
  args.defined[path], f.fn = f, reader(f, body)
  return f.fn
end

--- Makes a function that help does not list.
function args.unlisted(path, params, body)
  return reader({ path = path, params = params }, body)
end

return args
