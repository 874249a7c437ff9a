-- Settings of the original that flow.config takes besides its own. They concern other machines,
-- pools of memory, files and logs: what they ask for holds here anyway or means nothing.
local args = require "jfl.base.args"
local config = require "jfl.job.config"
local core = require "jfl.core"

local settings = {}

-- Keeps a setting whose values `check` reads; without a value, gives what it is now.
local function keep(name, default, check)
  settings[name] = function(value)
    if value ~= nil then config.values[name] = check("config." .. name, value) end
    local now = config.values[name]
    if now == nil then return default end
    return now
  end
end

local function count(who, value) return args.integer(who, "value", value, 0) end

local function flag(who, value) return args.expect(who, "value", value, "boolean") end

for name, default in pairs {
  comm_net_worker_num = 4, disable_group_boxing_by_dst_parallel = false,
  enable_numa_aware_cuda_malloc_host = false,
  max_mdsave_worker_num = 64, nccl_use_compute_stream = false, persistence_buf_byte = 0,
  rdma_mem_block_mbyte = 8, rdma_recv_msg_buf_mbyte = 6, reserved_device_mem_mbyte = 500,
  reserved_host_mem_mbyte = 500, save_downloaded_file_to_local_fs = false,
  thread_enable_local_message_queue = false, use_rdma = false,
} do
  keep(name, default, type(default) == "number" and count or flag)
end

-- These are turned on by a call without a value.
for _, name in ipairs { "enable_debug_mode", "enable_legacy_model_io", "enable_model_io_v2" } do
  settings[name] = function(on)
    if on == nil then on = true end
    config.values[name] = flag("config." .. name, on)
  end
end

function settings.legacy_model_io_enabled()
  return config.values.enable_legacy_model_io or false
end

-- Each process counts as a machine.
function settings.machine_num(n)
  local size = select(2, core.world())
  if n ~= nil and args.integer("config.machine_num", "value", n, 1) ~= size then
    core.fail("config.machine_num: value must be the number of processes, %d, got %d; "
      .. "jfl --ranks %d starts as many, or flow.env.machine names them before", size, n, n)
  end
  return size
end

-- 0 leaves the number to the runtime.
function settings.compute_thread_pool_size(n)
  if n ~= nil and count("config.compute_thread_pool_size", n) > 0 then core.set("threads", n) end
  return core.get("threads")
end

local NO_LIBRARY = "there are no ops in libraries; an op is built into jfl"
for name, reason in pairs {
  collect_act_event = "flow.profile shows the time that each step of a job takes",
  load_library = NO_LIBRARY, load_library_now = NO_LIBRARY,
} do
  settings[name] = function(value)
    if value ~= false then core.fail("config.%s: %s", name, reason) end
  end
end

-- How devices exchange data: any setting of it is taken and does nothing.
settings.collective_boxing = setmetatable({}, {
  __index = function() return function() end end,
  __tostring = function() return "config.collective_boxing" end,
})

return settings
