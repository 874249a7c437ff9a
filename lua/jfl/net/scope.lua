-- flow.scope: placement, logical views and namespaces, as trailing functions.
local args = require "jfl.base.args"
local config = require "jfl.job.config"
local core = require "jfl.core"
local trace = require "jfl.job.trace"
local warn = require "jfl.base.warn"

local scope = {}

local warned = false

local Placement = { scope_kind = "placement" }
Placement.__index = Placement

function Placement:__tostring()
  return ("placement(\"%s\", \"%s\")"):format(self.device, table.concat(self.ids, "\", \""))
end

-- The numbers of the first and the last device of "m:d" or "m:a-b".
local function range_of(id)
  local machine, first, last
  if type(id) == "string" then
    machine, first = id:match("^(%d+):(%d+)$")
    last = first
    if not machine then machine, first, last = id:match("^(%d+):(%d+)%-(%d+)$") end
  end
  if not machine or tonumber(last) < tonumber(first) then
    core.fail("placement: ids must be \"machine:device\" or \"machine:first-last\", got %s",
      args.describe(id))
  end
  if tonumber(machine) ~= 0 then
    core.fail("placement: ids: \"%s\" names machine %s; this session has machine 0 only", id,
      machine)
  end
  return tonumber(first), tonumber(last)
end

-- Without a GPU the work is done where all else is; a user who counts on one has to hear of it.
local function lack_of_gpu()
  local why = core.device_absence("gpu") or "there is none"
  if config.values.strict_placement then
    core.fail("placement: no GPU is usable here and flow.config.strict_placement is on: %s", why)
  end
  if not warned then
    warned = true
    warn.say("no GPU is usable here: what is placed on \"gpu\" runs on the CPU "
      .. "(flow.config.strict_placement(true) makes this an error): " .. why)
  end
end

-- The name of the one device that the first and the last number say; nil for that of the session.
-- The CPU is one device, whatever its number.
local function device_of(kind, first, last)
  local count = type(kind) == "string" and core.device_count(kind) or 0
  if kind == "cpu" then return "cpu:0" end
  if kind == "gpu" and count == 0 then return lack_of_gpu() end
  if count == 0 then
    core.fail("placement: device must be \"cpu\" or \"gpu\", got %s", args.describe(kind))
  end
  if last >= count then
    core.fail("placement: ids must be from 0 to %d for \"%s\", got %d", count - 1, kind, last)
  end
  if first ~= last then
    core.fail("placement: ids must name one device, got %d to %d; a job's work is not split",
      first, last)
  end
  return ("%s:%d"):format(kind, first)
end

-- Runs fn with what it makes on a device; outside of a body it makes nothing that has a place.
local function at(device, fn)
  local context = trace.current
  if not context then return fn() end
  local outer = context.device
  local function move(to)
    context.device = to
    core.place(to, context.graph)
  end
  local function leave(ok, ...)
    move(outer)
    if not ok then error((...), 0) end
    return ...
  end
  move(device)
  return leave(pcall(fn))
end

--- Runs fn with its ops and variables on a device and returns its results; without fn, gives an
-- object for config.default_placement_scope.
scope.placement = args.define("scope.placement", "Places the ops made by fn on a device.", {
  { "device", "\"cpu\" or \"gpu\"", type = "\"cpu\"|\"gpu\"" },
  { "ids", "\"machine:device\", \"machine:first-last\", or a list of those",
    type = "string|string[]" },
  { "fn", "what is run with this placement", args.none },
  returns = "any",
}, function(o)
  local ids = type(o.ids) == "table" and o.ids or { o.ids }
  if #ids == 0 then core.fail("placement: ids must not be empty") end
  local first, last = math.huge, 0
  for _, id in ipairs(ids) do
    local low, high = range_of(id)
    first, last = math.min(first, low), math.max(last, high)
  end
  if o.fn ~= nil then args.expect("placement", "fn", o.fn, "function") end
  local device = device_of(o.device, first, last)
  if o.fn ~= nil then return at(device, o.fn) end
  return setmetatable({ device = o.device, ids = ids, on = device }, Placement)
end)

--- Runs fn with `name-` before the names of what it makes, and returns its results.
scope.namespace = args.define("scope.namespace", "Prefixes names of variables and ops.", {
  { "name", "the prefix, without its '-'" },
  { "fn", "what is run with it" },
  returns = "any",
}, function(o)
  args.name("namespace", "name", o.name)
  args.expect("namespace", "fn", o.fn, "function")
  local context = trace.need("namespace")
  local outer = context.prefix
  context.prefix = outer .. o.name .. "-"
  local function leave(ok, ...)
    context.prefix = outer
    if not ok then error((...), 0) end
    return ...
  end
  return leave(pcall(o.fn))
end)

return scope
