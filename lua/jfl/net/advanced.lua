-- flow.advanced: a blob as a list of blobs, one on each device of the place, and back.
---@flow advanced.distribute_add advanced.distribute_clone advanced.distribute_concat
---@flow advanced.distribute_map advanced.distribute_split
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local call = require "jfl.op.call"
local core = require "jfl.core"
local devices = require "jfl.job.devices"
local scope = require "jfl.net.scope"
local trace = require "jfl.job.trace"

local op = call.op

-- The devices of the present place.
local function devices_of(who)
  local context = trace.need(who)
  if context.apart then
    core.fail("%s: gives each device a part of a blob, which it cannot where the devices get "
      .. "arrays of different sizes", who)
  end
  return devices.list((core.members(context.graph)))
end

-- A list with make(i, device's number of all) made on each device.
local function on_each(who, make)
  local list, all = {}, devices_of(who)
  for i, device in ipairs(all) do
    if #all == 1 then list[i] = make(i, 1)
    else list[i] = scope.placement(device[1], device[2], function() return make(i, #all) end) end
  end
  return list
end

local function need_list(who, list)
  local n = type(list) == "table" and metatable(list) == nil and #list or 0
  if n == 0 then core.fail("%s: xs must be a list of blobs, got %s", who, args.describe(list)) end
  for i = 1, n do args.blob(who, ("xs[%d]"):format(i), list[i]) end
  return list
end

local function need_axis(who, axis, x)
  if args.integer(who, "axis", axis, 0) < #x.shape then return axis end
  core.fail("%s: axis must be from 0 to %d, got %d", who, #x.shape - 1, axis)
end

-- Part i of n along an axis, of which the first ones have one element more.
local function part(who, x, axis, i, n)
  local begin, size, extent = {}, {}, x.shape[axis + 1]
  args.check(extent >= n, "%s: axis %d of '%s' must have an element for each of %d devices, got %d",
    who, axis, x.name, n, extent)
  for k = 1, #x.shape do begin[k], size[k] = 0, -1 end
  local each, more = math.floor(extent / n), extent % n
  begin[axis + 1] = (i - 1) * each + math.min(i - 1, more)
  size[axis + 1] = each + (i <= more and 1 or 0)
  return (op.slice(x, { begin = begin, size = size }))
end

local X = { "x", "a blob", type = "Blob" }
local LIST = { "xs", "a list of blobs, one on each device", type = "Blob[]" }
local AXIS = { "axis", "counted from 0", 0, type = "integer" }

local function define(name, doc, params, body)
  return args.define("advanced." .. name, doc, params, body)
end

define("distribute_clone", "A list with the blob on each device of the place.",
  { X, returns = "Blob[]" }, function(o, who)
    args.blob(who, "x", o.x)
    return on_each(who, function() return (op.identity(o.x)) end)
  end)

define("distribute_split", "A list with each device's part of the blob along an axis.",
  { X, AXIS, returns = "Blob[]" }, function(o, who)
    local axis = need_axis(who, o.axis, args.blob(who, "x", o.x))
    return on_each(who, function(i, n) return part(who, o.x, axis, i, n) end)
  end)

define("distribute_add", "The sum of blobs of several devices.", { LIST, returns = "Blob" },
  function(o, who)
    local sum = need_list(who, o.xs)[1]
    for i = 2, #o.xs do sum = op.add(sum, o.xs[i]) end
    return sum
  end)

define("distribute_concat", "Blobs of several devices as one, side by side along an axis.",
  { LIST, AXIS, returns = "Blob" }, function(o, who)
    local axis = need_axis(who, o.axis, need_list(who, o.xs)[1])
    return (op.concat(o.xs, { axis = axis }))
  end)

define("distribute_map", "What f makes of each device's part of a blob, on that device; a list of "
  .. "blobs gives their parts to f together. The results are put together again along the axis.", {
    { "xs", "a blob, or a list of blobs", type = "Blob|Blob[]" },
    { "f", "gets the parts of one device and gives a blob", type = "fun(...: Blob): Blob" },
    AXIS, returns = "Blob",
  }, function(o, who)
    local list = core.type(o.xs) == "blob" and { o.xs } or need_list(who, o.xs)
    args.expect(who, "f", o.f, "function")
    for _, x in ipairs(list) do need_axis(who, o.axis, x) end
    local parts = on_each(who, function(i, n)
      local own = {}
      for k, x in ipairs(list) do own[k] = part(who, x, o.axis, i, n) end
      return args.blob(who, "the result of f", o.f(unpack(own)))
    end)
    return (op.concat(parts, { axis = o.axis }))
  end)
