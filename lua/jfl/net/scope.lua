-- flow.scope: placement, logical views and namespaces, as trailing functions.
---@space scope
---@box scope.namespace scope.recompute
local apart = require "jfl.job.apart"
local args = require "jfl.base.args"
local config = require "jfl.job.config"
local core = require "jfl.core"
local devices = require "jfl.job.devices"
local trace = require "jfl.job.trace"

local scope = {}

local Placement = { scope_kind = "placement" }
Placement.__index = Placement

function Placement:__tostring()
  return ("placement(\"%s\", \"%s\")"):format(self.device, table.concat(self.ids, "\", \""))
end

-- What "m:d" says, where each of the numbers may be a range "a-b".
local function read_id(id)
  local machine, m_last, first, d_last
  if type(id) == "string" then
    machine, m_last, first, d_last = id:match("^(%d+)(%-?%d*):(%d+)(%-?%d*)$")
  end
  local function last_of(number, more)
    if more == "" then return number end
    local last = more:match("^%-(%d+)$")
    return last and tonumber(last) >= tonumber(number) and last
  end
  m_last = machine and last_of(machine, m_last)
  d_last = machine and last_of(first, d_last)
  args.must(m_last and d_last, id,
    "placement: ids must be \"machine:device\" or \"machine:first-last\"")
  return tonumber(machine), tonumber(m_last), tonumber(first), tonumber(d_last)
end

local function check_machine(id, number)
  local size = select(2, core.world())
  if number < size then return end
  args.check(size ~= 1, "placement: ids: \"%s\" names machine %d; this session has machine 0 only; "
    .. "jfl --ranks, mpirun or flow.env.machine start several", id, number)
  core.fail("placement: ids: \"%s\" names machine %d; machines are 0 to %d", id, number, size - 1)
end

-- The devices that the ids name, { [machine] = { [number] = true } }, the largest number, and the
-- ids as one text.
local function read_ids(ids)
  local named, most, text = {}, 0, {}
  for i, id in ipairs(ids) do
    text[i] = id
    local machine, m_last, first, last = read_id(id)
    check_machine(id, m_last)
    most = math.max(most, last)
    for m = machine, m_last do
      named[m] = named[m] or {}
      for d = first, math.min(last, first + 65535) do named[m][d] = true end
    end
  end
  return named, most, table.concat(text, ",")
end

-- Fails unless each machine has as many devices.
local function check_even(named)
  local least, most
  for _, machine in ipairs(args.keys(named)) do
    local count = #args.keys(named[machine])
    if not least or count < least.count then least = { machine = machine, count = count } end
    if not most or count > most.count then most = { machine = machine, count = count } end
  end
  args.check(least.count == most.count, "placement: ids must name as many devices on every "
    .. "machine, got %d on machine %d and %d on machine %d", least.count, least.machine, most.count,
    most.machine)
end

local MORE = {
  cpu = "; flow.config.cpu_device_num(%d) makes as many of the processor's cores",
}

-- The name of the devices that ids say; nil for those of the session.
local function devices_of(kind, ids)
  local named, most, text = read_ids(ids)
  if text == "" then core.fail("placement: ids must not be empty") end
  check_even(named)
  local count = devices.count(kind)
  if kind == "gpu" and count == 0 then
    devices.lack_of_gpu("placement", config.values.strict_placement)
    kind, count = "cpu", devices.count("cpu")
    if count == 1 and most > 0 then return nil end
  end
  if count == 0 then args.one_of("placement", "device", kind, { "cpu", "gpu" }) end
  if most >= count then
    core.fail("placement: ids must be from 0 to %d for \"%s\", got %d%s", count - 1, kind, most,
      (MORE[kind] or ""):format(most + 1))
  end
  return kind .. " " .. text
end

-- Runs fn with what it makes on devices; outside of a body it makes nothing that has a place.
local function at(on, fn)
  local context = trace.current
  if not context then return fn() end
  local outer = context.device
  local function move(to)
    context.device = to
    apart.place(context)
  end
  move(on)
  return trace.enter(fn, function() move(outer) end)
end

--- Runs fn with its ops and variables on a device, or on several, and returns its results; without
-- fn, gives an object for config.default_placement_scope.
scope.placement = args.define("scope.placement", "Places the ops made by fn on a device, or "
  .. "splits them over several.", {
  { "device", "\"cpu\" or \"gpu\"", type = "\"cpu\"|\"gpu\"" },
  { "ids", "\"machine:device\", \"machine:first-last\", or a list of those; machines are "
    .. "processes, as flow.env.rank() counts them",
    type = "string|string[]" },
  { "fn", "what is run with this placement", args.none },
  returns = "any",
}, function(o)
  local ids = type(o.ids) == "table" and o.ids or { o.ids }
  if o.fn ~= nil then args.expect("placement", "fn", o.fn, "function") end
  local on = devices_of(o.device, ids)
  if o.fn ~= nil then return at(on, o.fn) end
  return setmetatable({ device = o.device, ids = ids, on = on }, Placement)
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
  return trace.enter(o.fn, function() context.prefix = outer end)
end)

--- Runs fn and returns its results. Gradients compute again what its ops make, but for what other
-- ops read, so that nothing keeps it until then.
scope.recompute = args.define("scope.recompute",
  "Computes what the ops made by fn give once more for the gradients, to save memory.", {
  { "fn", "what is run; a call within another belongs to that" },
  returns = "any",
}, function(o)
  args.expect("recompute", "fn", o.fn, "function")
  local context = trace.current
  if not context or context.recomputes then return o.fn() end
  local function turn(on)
    context.recomputes = on
    core.recompute(context.graph, on)
  end
  turn(true)
  return trace.enter(o.fn, function() turn(false) end)
end)

return scope
