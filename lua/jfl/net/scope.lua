-- flow.scope: placement, logical views and namespaces, as trailing functions.
local args = require "jfl.base.args"
local config = require "jfl.job.config"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local scope = {}

local warned = false

local Placement = { scope_kind = "placement" }
Placement.__index = Placement

function Placement:__tostring()
  return ("placement(\"%s\", \"%s\")"):format(self.device, table.concat(self.ids, "\", \""))
end

local function view_meta(text)
  return { scope_kind = "view", __tostring = function() return text end }
end

local views = {
  consistent_view = setmetatable({}, view_meta("consistent_view()")),
  mirrored_view = setmetatable({}, view_meta("mirrored_view()")),
}

-- Device numbers of "m:d" or "m:a-b".
local function check_id(id)
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
  return tonumber(last) - tonumber(first) + 1
end

-- Without a GPU the work is done by the CPU; a user who counts on one has to hear of it.
local function check_device(device)
  if device == "cpu" then return end
  if device ~= "gpu" then
    core.fail("placement: device must be \"cpu\" or \"gpu\", got %s", args.describe(device))
  end
  if config.values.strict_placement then
    core.fail("placement: no GPU is usable here and flow.config.strict_placement is on")
  end
  if not warned then
    warned = true
    io.stderr:write("jfl: no GPU is usable here: what is placed on \"gpu\" runs on the CPU",
      " (flow.config.strict_placement(true) makes this an error)\n")
  end
end

local function enter(fn, ...)
  if fn == nil then return ... end
  return fn()
end

--- Runs fn with its ops on a device and returns its results; without fn, gives an object for
-- config.default_placement_scope.
scope.placement = args.define("scope.placement", "Places the ops made by fn on devices.", {
  { "device", "\"cpu\" or \"gpu\"", type = "\"cpu\"|\"gpu\"" },
  { "ids", "\"machine:device\", \"machine:first-last\", or a list of those",
    type = "string|string[]" },
  { "fn", "what is run with this placement", args.none },
  returns = "any",
}, function(o)
  local ids = type(o.ids) == "table" and o.ids or { o.ids }
  if #ids == 0 then core.fail("placement: ids: the list is empty") end
  for _, id in ipairs(ids) do check_id(id) end
  if o.fn ~= nil then args.expect("placement", "fn", o.fn, "function") end
  check_device(o.device)
  return enter(o.fn, setmetatable({ device = o.device, ids = ids }, Placement))
end)

-- One device: both views describe the same work, so only what a call takes and gives differs,
-- which the job's types say.
for name, object in pairs(views) do
  scope[name] = function(fn)
    if fn ~= nil then args.expect(name, "fn", fn, "function") end
    return enter(fn, object)
  end
end

--- Runs fn with `name-` before the names of what it makes, and returns its results.
scope.namespace = args.define("scope.namespace", "Prefixes names of variables and ops.", {
  { "name", "the prefix, without its '-'" },
  { "fn", "what is run with it" },
  returns = "any",
}, function(o)
  if args.expect("namespace", "name", o.name, "string") == "" then
    core.fail("namespace: name must be a string that is not empty, got an empty one")
  end
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
