-- flow.distribute: how a value lies on the devices of its place, and blobs that are made to lie so.
---@flow distribute.auto distribute.broadcast distribute.split parallel_cast
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"

local distribute = {}

local Distribution = {}
Distribution.__index = Distribution

function Distribution:__tostring()
  return self.kind == "split" and ("split(%d)"):format(self.axis) or self.kind .. "()"
end

-- The text by which the core knows it: "split(0)".
local function text_of(d) return d.kind == "split" and tostring(d) or d.kind end

local made = {}

-- The one object of a kind and, where it splits, an axis.
local function object(kind, axis)
  local key = kind .. (axis or "")
  made[key] = made[key] or setmetatable({ kind = kind, axis = axis }, Distribution)
  return made[key]
end

distribute.split = args.define("distribute.split", "Each device has its share of the elements "
  .. "along an axis; of n on k devices the first n % k have one more.", {
    { "axis", "which one, counted from 0", type = "integer" },
    returns = "Distribution",
  }, function(o) return object("split", args.integer("distribute.split", "axis", o.axis, 0)) end)

distribute.broadcast = args.define("distribute.broadcast", "Each device has all of it.", {
  returns = "Distribution",
}, function() return object("broadcast") end)

distribute.auto = args.define("distribute.auto", "Nothing is said: it lies as costs least where it "
  .. "is read.", { returns = "Distribution" }, function() return object("auto") end)

--- Fails unless value is a distribution that serves a tensor of so many axes; gives it.
function distribute.check(who, name, value, rank)
  args.must(metatable(value) == Distribution, value,
    "%s: %s must be a distribution such as flow.distribute.split(0)", who, name)
  if value.kind == "split" and value.axis >= rank then
    core.fail("%s: %s must split along an axis from 0 to %d, as there are %d, got split(%d)", who,
      name, rank - 1, rank, value.axis)
  end
  return value
end

-- Fails if there are fewer elements along the axis of a split than devices in the present place.
local function check_extent(who, name, d, what, shape, context)
  local extent = d.kind == "split" and shape[d.axis + 1] or math.huge
  local place, n = core.members(context.graph)
  if extent >= n then return end
  core.fail("%s: %s: axis %d of %s must have an element for each of the %d devices of %s, got %d",
    who, name, d.axis, what, n, place, extent)
end

--- Makes a variable of that shape lie so.
function distribute.lay(who, name, d, blob)
  check_extent(who, name, d, ("'%s'"):format(blob.name), blob.shape,
    require("jfl.job.trace").need(who))
  core.distribute(blob, d.kind, d.axis)
end

local parallel_cast

-- The blob x, made to lie so; x itself where there is one device, or nothing is said.
local function cast(who, x, d, gradient, name)
  local context = require("jfl.job.trace").need(who)
  args.blob(who, "input", x)
  core.need_blob(context.graph, x, who .. ": input")
  local function check(option, value)
    distribute.check(who, option, value, #x.shape)
    check_extent(who, option, value, ("'%s'"):format(x.name), x.shape, context)
  end
  check("distribute", d)
  check("gradient_distribute", gradient)
  local _, devices = core.members(context.graph)
  if devices == 1 or (d.kind == "auto" and gradient.kind == "auto") then return x end
  args.check(core.distribution(x) ~= "mirrored", "%s: '%s' is mirrored, and each device's value is "
    .. "its own; flow.cast_to_current_logical_view in the consistent view makes one of them", who,
    x.name)
  parallel_cast = parallel_cast or core.op "parallel_cast"
  return (parallel_cast(x, { distribute = text_of(d), gradient_distribute = text_of(gradient),
    name = name }))
end

--- x as it is, lying on the devices of its place as said.
distribute.parallel_cast = args.define("parallel_cast", "The same blob, made to lie on the devices "
  .. "of its place as said; and its gradient.", {
    { "input", "a blob", type = "Blob" },
    { "distribute", "such as flow.distribute.split(0); unless given, as input lies", args.none,
      type = "Distribution" },
    { "gradient_distribute", "how its gradient lies; unless given, as it comes", args.none,
      type = "Distribution" },
    { "name", "of the op", args.none },
    returns = "Blob",
  }, function(o)
    local auto = object("auto")
    return cast("parallel_cast", o.input, o.distribute or auto, o.gradient_distribute or auto,
      require("jfl.op.call").full_name("parallel_cast", o.name))
  end)

--- Methods of blobs: x as it is, read as lying so; and with a gradient that lies so.
function distribute.with_distribute(x, d) return cast("with_distribute", x, d, object("auto")) end

function distribute.with_gradient_distribute(x, d)
  return cast("with_gradient_distribute", x, object("auto"), d)
end

--- How a blob lies, as far as that is settled while the body runs.
function distribute.of(x)
  local kind, axis = core.distribution(x)
  return object(kind, axis)
end

return distribute
