-- flow.env: the machines that a session runs on, of which there is one.
local args = require "jfl.base.args"
local core = require "jfl.core"
local names = require "jfl.base.names"
local settings = require "jfl.legacy.settings"

local env = {}

local started = {}      -- settings by name, as they were given

-- They are kept and have no meaning on one machine.
local function setting(name, kind, default)
  local path = "env." .. name
  env[name] = args.unlisted(path, { { "value", "", args.none } }, function(o)
    if o.value == nil then
      if started[name] == nil then return default end
      return started[name]
    end
    if kind == "port" then
      args.integer(path, "value", o.value, 1)
      if o.value > 65535 then
        core.fail("%s: value must be at most 65535, got %d", path, o.value)
      end
    else
      args.expect(path, "value", o.value, kind)
    end
    started[name] = o.value
    return o.value
  end)
end

setting("ctrl_port", "port", nil)
setting("data_port", "port", nil)
setting("grpc_use_no_signal", "boolean", true)
setting("log_dir", "string", "./log")
setting("logtostderr", "number or boolean", 0)
setting("logbuflevel", "number", -1)

local function address(value)
  if type(value) == "table" then value = value.addr end
  if type(value) == "string" and value ~= "" then return value end
  core.fail("env.machine: a machine must be an address such as \"127.0.0.1\" or "
    .. "{ addr = \"127.0.0.1\" }, got %s", args.describe(value))
end

--- The machines of a session: one address, or a list of one.
function env.machine(...)
  local first, count = (...), select("#", ...)
  local is_list = type(first) == "table" and first.addr == nil
  local list = is_list and count == 1 and first or { ... }
  for _, value in ipairs(list) do address(value) end
  if #list ~= 1 then
    core.fail("env.machine: jobs run on one machine, got %d; several are not built into jfl", #list)
  end
  started.machine = address(list[1])
end

env.init = args.unlisted("env.init", {}, function() return true end)

env.current_machine_id = args.unlisted("env.current_machine_id", {}, function() return 0 end)

env.current_resource = args.unlisted("env.current_resource", {}, function()
  return { machine_num = 1, cpu_device_num = settings.cpu_device_num(),
    gpu_device_num = settings.gpu_device_num() }
end)

return names.guard("flow.env", env)
