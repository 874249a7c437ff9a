-- Types of job arguments and results: how the blobs of a body's result are listed, and how a call's
-- arrays are put into the same form.
---@space typing
---@box typing.Bundle typing.Callback typing.Dict typing.List typing.ListListNumpy typing.ListNumpy
---@box typing.Numpy typing.Tuple
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local extents = require "jfl.job.extents"

local typing = {}

local Type = { __tostring = function(t) return t.text end }
local Placeholder = {}
Placeholder.__index = Placeholder

function Type:__index(name)
  if rawget(self, "Placeholder") then
    core.fail("typing.%s has no '%s'; it is the type of a result, and typing.%s.Placeholder(shape) "
      .. "that of an argument", self.text, tostring(name), self.text)
  end
  core.fail("typing: %s has no '%s'", self.text, tostring(name))
end

function Type:__call()
  if rawget(self, "Placeholder") then
    core.fail("typing.%s: is a type and takes nothing; the type of an argument is "
      .. "typing.%s.Placeholder(shape)", self.text, self.text)
  end
  core.fail("typing: %s is a type and takes nothing", self.text)
end

function Placeholder:__tostring()
  return ("%s.Placeholder(%s, %s)"):format(self.kind, extents.text(self), self.dtype)
end

local function new(kind, text, fields)
  local t = fields or {}
  t.kind, t.text = kind, text
  return setmetatable(t, Type)
end

local function is_type(t) return metatable(t) == Type end

local function placeholder(kind)
  local path = "typing." .. kind .. ".Placeholder"
  return args.define(path, "The type of a job argument: " .. kind .. " of a fixed shape.", {
    { "shape", kind == "Numpy" and "its extents; a first one of -1 stands for any batch size, "
      .. "{ max = 512 } for any number up to that" or "its extents", type = "(integer|table)[]" },
    { "dtype", "of its elements", "float32" },
    kind == "Numpy" and { "distribute", "how it lies on several devices, such as "
      .. "flow.distribute.split(0), and which part of it each process gives", args.none,
      type = "Distribution" } or nil,
    returns = "Placeholder",
  }, function(o)
    local shape, varies = extents.read(path, o.shape, kind)
    if o.distribute ~= nil then
      require("jfl.net.distribute").check(path, "distribute", o.distribute, #shape)
    end
    return setmetatable({ kind = kind, shape = shape, dtype = args.dtype(path, "dtype", o.dtype),
      distribute = o.distribute, varies = varies }, Placeholder)
  end)
end

for _, kind in ipairs { "Numpy", "ListNumpy", "ListListNumpy" } do
  typing[kind] = new(kind, kind, { Placeholder = placeholder(kind) })
end

local function need_type(who, i, t)
  if not is_type(t) then
    local list = type(t) == "table" and is_type(t[1])
    core.fail("%s: argument %d must be a type such as Numpy, got %s", who, i,
      list and ("a list; types are given as in %s(Numpy)"):format(who) or args.describe(t))
  end
  args.check(t.kind ~= "Callback", "%s: argument %d: Callback can only be the outermost type", who,
    i)
end

--- Several values, in this order.
function typing.Tuple(...)
  local parts, texts = { ... }, {}
  for i = 1, select("#", ...) do
    need_type("Tuple", i, parts[i])
    texts[i] = parts[i].text
  end
  if #parts == 0 then core.fail("Tuple: takes at least one type, got none") end
  return new("Tuple", "Tuple(" .. table.concat(texts, ", ") .. ")", { parts = parts })
end

for _, kind in ipairs { "List", "Dict", "Bundle" } do
  typing[kind] = function(part, more)
    if kind == "Dict" and is_type(more) then
      core.fail("Dict: takes the type of the values alone, as in Dict(Numpy); keys are strings "
        .. "or numbers")
    end
    need_type(kind, 1, part)
    if more ~= nil then core.fail("%s: takes one type; several make a Tuple", kind) end
    return new(kind, ("%s(%s)"):format(kind, part.text), { part = part })
  end
end

--- What a job without `returns` gives: any nesting of blobs, in whichever view they are.
typing.any = typing.Bundle(new("Either", "Numpy"))

--- The result, of type `part`, is given to a callback later. Without a type it is what the body
-- returns, as for a job without `returns`.
function typing.Callback(...)
  local part = ...
  if select("#", ...) == 0 then part = typing.any end
  need_type("Callback", 1, part)
  return new("Callback", ("Callback(%s)"):format(part.text), { part = part })
end

function typing.is_placeholder(value) return metatable(value) == Placeholder end

function typing.is_type(value) return is_type(value) end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    if type(a) == "number" and type(b) == "number" then return a < b end
    if type(a) ~= type(b) then return type(a) == "number" end
    return tostring(a) < tostring(b)
  end)
  return keys
end

local DEEPEST = 6

-- Whether each device has a value of its own of the blob.
local function is_mirrored(blob) return core.distribution(blob) == "mirrored" end

--- How many arrays a blob gives, where this process has so many devices.
function typing.arrays_of(blob, members) return is_mirrored(blob) and members or 1 end

--- The structure of a body's result as text, down to a limited depth: "(blob, {loss = blob})".
function typing.structure(value, depth)
  depth = depth or 1
  if core.type(value) == "blob" then return is_mirrored(value) and "mirrored blob" or "blob" end
  if not args.is_plain(value) then return args.describe(value) end
  if depth > DEEPEST then return "{...}" end
  local parts = {}
  for i, key in ipairs(sorted_keys(value)) do
    local text = typing.structure(value[key], depth + 1)
    parts[i] = key == i and text or ("%s = %s"):format(tostring(key), text)
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- Each function below appends the blobs of a body's value to `blobs` and returns a reader, or nil
-- where the value does not have the type's structure. blobs.total says how many devices there are,
-- and blobs.members how many of them this process has, each with an array of a mirrored blob. A
-- reader gets a list of arrays and the position before the first of its own; it returns the value
-- made of them and the last position.
local shapes = {}

local function read_one(list, at) return list[at + 1], at + 1 end

-- Reads an array and behind it how much of it is there along an axis. A host that asks where
-- results are, by numbers in the place of arrays, is told of the whole.
local function read_cut(axis)
  return function(list, at)
    local a, count = list[at + 1], list[at + 2]
    if core.type(a) ~= "array" then return a, at + 2 end
    local begin, size = {}, { unpack(a.shape) }
    for i = 1, #size do begin[i] = 0 end
    size[axis + 1] = count:item()
    return core.op("slice")(a, { begin = begin, size = size }), at + 2
  end
end

function shapes.Numpy(_, value, blobs)
  if core.type(value) ~= "blob" or is_mirrored(value) then return nil end
  blobs[#blobs + 1] = value
  local cut = blobs.cuts and blobs.cuts[value]
  if not cut then return read_one end
  blobs[#blobs + 1] = cut.count
  return read_cut(cut.axis)
end

-- A list of what `item` makes of each device's array.
local function shape_of_list(value, blobs, item)
  local members = blobs.members
  if core.type(value) ~= "blob" or is_mirrored(value) ~= (blobs.total > 1) then return nil end
  blobs[#blobs + 1] = value
  return function(list, at)
    local items = {}
    for i = 1, members do items[i] = item(list[at + i]) end
    return items, at + members
  end
end

function shapes.ListNumpy(_, value, blobs)
  return shape_of_list(value, blobs, function(array) return array end)
end

function shapes.Either(_, value, blobs)
  return shapes.Numpy(nil, value, blobs) or shapes.ListNumpy(nil, value, blobs)
end

function shapes.ListListNumpy(_, value, blobs)
  return shape_of_list(value, blobs, function(array) return { array } end)
end

local plain = args.is_plain

-- The reader of a value as type t, or nil, with `blobs` left as it was.
local function shape_of(t, value, blobs)
  local count = #blobs
  local reader = shapes[t.kind](t, value, blobs)
  if not reader then
    for i = #blobs, count + 1, -1 do blobs[i] = nil end
  end
  return reader
end

local function keyed(keys, readers)
  return function(list, at)
    local value = {}
    for i, key in ipairs(keys) do value[key], at = readers[i](list, at) end
    return value, at
  end
end

local function read_parts(value, part_of, blobs)
  local keys, readers = sorted_keys(value), {}
  for i, key in ipairs(keys) do
    local part = part_of(key, i)
    local reader = part and shape_of(part, value[key], blobs)
    if not reader then return nil end
    readers[i] = reader
  end
  return keyed(keys, readers)
end

local entered = {}

-- Reads the parts of a table; nil for a table that contains itself.
local function read_keys(value, part_of, blobs)
  if entered[value] then return nil end
  entered[value] = true
  local reader = read_parts(value, part_of, blobs)
  entered[value] = nil
  return reader
end

local function is_key(key) return type(key) == "string" or type(key) == "number" end

function shapes.Tuple(t, value, blobs)
  if not plain(value) or #value ~= #t.parts then return nil end
  return read_keys(value, function(key, i) return key == i and t.parts[i] end, blobs)
end

function shapes.List(t, value, blobs)
  if not plain(value) or #value == 0 then return nil end
  return read_keys(value, function(key, i) return key == i and t.part end, blobs)
end

function shapes.Dict(t, value, blobs)
  if not plain(value) or next(value) == nil then return nil end
  return read_keys(value, function(key) return is_key(key) and t.part end, blobs)
end

function shapes.Bundle(t, value, blobs)
  local reader = shape_of(t.part, value, blobs)
  if reader then return reader end
  if not plain(value) or next(value) == nil then return nil end
  return read_keys(value, function(key) return is_key(key) and t end, blobs)
end

--- Appends the blobs of a body's result to `blobs` and returns a function from a list of arrays to
-- a value of type t; nil where the result is not of that type.
function typing.match(t, value, blobs)
  local reader = shape_of(t, value, blobs)
  if not reader then return nil end
  return function(list) return (reader(list, 0)) end
end

-- Appends the path of each blob below a value.
local function add_paths(value, path, paths)
  if core.type(value) == "blob" then
    paths[#paths + 1] = path
    return
  end
  for _, key in ipairs(sorted_keys(value)) do
    add_paths(value[key], path == "" and tostring(key) or path .. "." .. tostring(key), paths)
  end
end

--- The keys that lead to each blob of what a body returned, a list of values, in the order in which
-- typing.match lists them: "logits", "parts.1", "" for the one value itself.
function typing.paths(returned)
  local paths = {}
  add_paths(#returned == 1 and returned[1] or returned, "", paths)
  return paths
end

return typing
