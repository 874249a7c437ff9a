-- Which devices a session has, and what is said where there is no GPU.
local args = require "jfl.base.args"
local core = require "jfl.core"
local warn = require "jfl.base.warn"

local devices = {}

local warned = false

--- Says once that what is wanted of GPUs is done on the CPU, or fails if `strict`.
function devices.lack_of_gpu(who, strict)
  local why = core.device_absence("gpu") or "there is none"
  if strict then
    core.fail("%s: no GPU is usable here and flow.config.strict_placement is on: %s", who, why)
  end
  if warned then return end
  warned = true
  warn.say("no GPU is usable here: what is placed on \"gpu\" runs on the CPU "
    .. "(flow.config.strict_placement(true) makes this an error): " .. why)
end

--- How many devices of a kind placements may name, on the machine that this process is.
function devices.count(kind)
  if kind == "cpu" then return core.get("cpu_devices") end
  return type(kind) == "string" and core.device_count(kind) or 0
end

--- The devices of a place, as core.members names it: { kind, "machine:device" } each.
function devices.list(place)
  local kind, numbers = place:match("^(%a+)[ :](.*)$")
  local list = {}
  for range in numbers:gmatch("[^,]+") do
    local m, n, first, last = range:match("^(%d+)%-?(%d*):(%d+)%-?(%d*)$")
    if not m then m, n, first, last = 0, 0, range, range end
    for machine = m, n ~= "" and n or m do
      for device = first, last ~= "" and last or first do
        list[#list + 1] = { kind, ("%d:%d"):format(machine, device) }
      end
    end
  end
  return list
end

--- Divides the CPU into n devices, on which jobs run that name none; gives how many there are.
function devices.cpu(n)
  if n ~= nil then core.set("cpu_devices", args.integer("config.cpu_device_num", "value", n, 1)) end
  return core.get("cpu_devices")
end

--- Runs jobs that name no device on n GPUs. Where there is no GPU, the CPU is divided in place of
-- them. Fewer than two change nothing, unless there were more `before`.
function devices.gpu(n, strict, before)
  args.integer("config.gpu_device_num", "value", n, 0)
  if n < 2 and before < 2 then return end
  local count = core.device_count("gpu")
  if count == 0 then
    if n > 1 then devices.lack_of_gpu("config.gpu_device_num", strict) end
    return devices.cpu(math.max(n, 1))
  end
  args.check(n <= count, "config.gpu_device_num: value must be at most %d, as many as there are, "
    .. "got %d", count, n)
  core.set("device", n > 1 and ("gpu:0-%d"):format(n - 1) or n == 1 and "gpu:0" or "cpu:0")
end

return devices
