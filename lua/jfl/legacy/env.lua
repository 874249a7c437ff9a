-- What flow.env had in the original besides its machines: how they talked and where they wrote.
local args = require "jfl.base.args"
local config = require "jfl.job.config"
local core = require "jfl.core"

local env = {}

local kept = {}      -- settings by name, as they were given

-- They are kept and have no meaning here.
local function setting(name, kind, default)
  local path = "env." .. name
  env[name] = args.unlisted(path, { { "value", "", args.none } }, function(o)
    if o.value == nil then
      if kept[name] == nil then return default end
      return kept[name]
    end
    if kind == "port" then
      args.number(path, "value", o.value, "a whole number from 1 to 65535")
    else
      args.expect(path, "value", o.value, kind)
    end
    kept[name] = o.value
    return o.value
  end)
end

setting("data_port", "port", nil)
setting("grpc_use_no_signal", "boolean", true)
setting("log_dir", "string", "./log")
setting("logtostderr", "number or boolean", 0)
setting("logbuflevel", "number", -1)

env.init = args.unlisted("env.init", {}, function()
  core.world()
  return true
end)

env.current_machine_id = args.unlisted("env.current_machine_id", {}, function()
  return (core.world())
end)

env.current_resource = args.unlisted("env.current_resource", {}, function()
  return { machine_num = select(2, core.world()),
    cpu_device_num = config.session.cpu_device_num(),
    gpu_device_num = config.session.gpu_device_num() }
end)

return env
