-- jfl --plan-for 4x8 script.lua: how long a step of a script's train job would take on 4 hosts of 8
-- devices each, and on fewer, and what memory it needs there. Every device works on a batch of its
-- own, and gradients are summed over all of them while the backward pass goes on.
local args = require "jfl.base.args"
local core = require "jfl.core"
local choice = require "jfl.job.devices"
local env = require "jfl.job.env"
local plan = require "jfl.job.plan"
local profile = require "jfl.tools.profile"
local queue = require "jfl.job.queue"

local forecast = {}

-- Of a device at best, by its data sheet: operations per second with float32 as they are, rounded
-- to TF32 and to bfloat16 (dense), bytes per second of its memory, and bytes per second that it
-- sends to others of its host (NVLink or PCIe, each way). A T4 has no bfloat16; what stands for it
-- is float16.
local DEVICES = {
  t4 = { float32 = 8.1e12, tf32 = 8.1e12, bfloat16 = 65e12, memory = 0.32e12, link = 16e9 },
  a100 = { float32 = 19.5e12, tf32 = 156e12, bfloat16 = 312e12, memory = 2.039e12, link = 300e9 },
  h100 = { float32 = 67e12, tf32 = 494e12, bfloat16 = 989e12, memory = 3.35e12, link = 450e9 },
  h200 = { float32 = 67e12, tf32 = 494e12, bfloat16 = 989e12, memory = 4.8e12, link = 450e9 },
  rtx4090 = { float32 = 82.6e12, tf32 = 82.6e12, bfloat16 = 165.2e12, memory = 1.008e12,
    link = 32e9 },
}
-- What processes of this machine send each other through sockets, which their cores do, in GB/s.
local HERE = 1.9
-- What kernels reach of that, and how long a step takes to begin.
local PRODUCTS, STREAMS, LAUNCH = 0.6, 0.8, 2.5e-6
forecast.LAUNCH = LAUNCH

-- What may stand behind the numbers of hosts and devices, and what holds without it.
local OPTIONS = {
  device = "here",      -- whose speed: of this machine, as measured; or a name of DEVICES
  precision = "tf32",   -- of products on those: float32, tf32, bfloat16
  link = false,         -- GB/s that a device sends to others of its host
  network = 50,         -- GB/s that each device sends to other hosts: InfiniBand NDR 50, HDR 25,
                        -- Ethernet of 100 Gbit/s for a host of 8 devices 1.5
  reach = 0.8,          -- what of those messages reach
  delay = 5,            -- us from one host to another; within one a third of that
  bucket = 25,          -- MB of gradients that are summed at once
  batch = "each",       -- each: the script's batch is that of a device; whole: that of all
}

-- ---- what was asked ----

local WORDS = { device = { here = true }, batch = { each = true, whole = true },
  precision = { float32 = true, tf32 = true, bfloat16 = true } }
for name in pairs(DEVICES) do WORDS.device[name] = true end

local function option(o, text)
  local name, value = text:match("^(%a+)=(.+)$")
  if not name or OPTIONS[name] == nil then
    core.fail("plan-for: options are %s, as in \"4x8,device=h200\", got \"%s\"",
      args.names_of(OPTIONS), text)
  end
  if WORDS[name] and not WORDS[name][value] then
    core.fail("plan-for: %s must be one of %s, got \"%s\"", name, args.names_of(WORDS[name]),
      value)
  end
  o[name] = WORDS[name] and value or tonumber(value)
  if not o[name] or (not WORDS[name] and not (o[name] > 0 and o[name] < math.huge)) then
    core.fail("plan-for: %s must be a number above 0, got \"%s\"", name, value)
  end
end

--- Reads "4x8" or "4x8,device=h200,network=50": hosts, devices of each, options.
function forecast.read(text)
  local hosts, each, rest = text:match("^(%d+)x(%d+)(.*)$")
  local o = {}
  args.check(hosts and tonumber(hosts) >= 1 and tonumber(each) >= 1, "plan-for: must be hosts and "
    .. "the devices of each, as in 4x8, got \"%s\"", text)
  for name, value in pairs(OPTIONS) do o[name] = value end
  for part in rest:gmatch("[^,]+") do option(o, part) end
  o.hosts, o.each = tonumber(hosts), tonumber(each)
  o.link = o.link or (o.device == "here" and HERE or DEVICES[o.device].link / 1e9)
  return o
end

-- ---- seconds ----

--- Seconds to sum so many bytes over hosts with so many devices each. Within a host they go round
-- a ring in two turns, of which each device sends (k - 1) / k of the bytes each time (Patarasuk and
-- Yuan, Bandwidth optimal all-reduce algorithms, 2009); between the turns each device sums its part
-- with those of other hosts alike. A turn over n hosts waits at most 2 log2(n) times where it goes
-- by trees (Sanders, Speck and Traff, Two-tree algorithms, 2009).
function forecast.sum_seconds(bytes, hosts, each, o)
  local link, network = o.link * 1e9 * o.reach, o.network * 1e9 * o.reach
  local far = o.delay * 1e-6
  local seconds = 0
  if each > 1 then
    seconds = 2 * (each - 1) * (bytes / each / link + far / 3)
  end
  if hosts > 1 then
    local waits = math.min(hosts - 1, math.log(hosts) / math.log(2))
    seconds = seconds + 2 * ((hosts - 1) / hosts * bytes / each / network + waits * far)
  end
  return seconds
end

--- The least seconds that a step can take on a device of the list, and what it does at best there.
function forecast.least_seconds(step, device, precision)
  local d = DEVICES[device]
  return math.max(step.flop / d[precision], step.bytes / d.memory), d[precision]
end

--- What a step would take on a device of the list, doing 1 / parts of its work.
function forecast.sheet_seconds(step, o, parts)
  local d = DEVICES[o.device]
  local bytes = step.still + (step.bytes - step.still) / parts
  if step.updates then bytes = step.bytes end
  return LAUNCH + math.max(step.flop / parts / (d[o.precision] * PRODUCTS),
    bytes / (d.memory * STREAMS))
end

-- What it took here; 1 / parts of the work takes as much less as the operands are fewer.
local function measured_seconds(step, parts)
  if step.updates or parts == 1 then return step.seconds end
  local left = (step.still + (step.bytes - step.still) / parts) / math.max(step.bytes, 1)
  return step.seconds * (step.flop > 0 and 1 / parts or left)
end

-- How many times longer work takes where devices are processes that share the cores of a host, and
-- whether cores are left for messages.
local function sharing(each, o)
  if o.device ~= "here" then return 1, true end
  local busy = each * o.threads / o.cores
  return math.max(busy, 1), busy < 1
end

--- What a step of the job takes: seconds in all, of the work alone, of all messages, and of those
-- that the work does not hide. Messages go one after another, each when the gradients of its bucket
-- are there; variables change when all have come. What no core is left to send has to wait.
function forecast.step(steps, hosts, each, o)
  local parts = o.batch == "whole" and hosts * each or 1
  local slower, hides = sharing(each, o)
  local now, free, updates, bucket, messages = 0, 0, 0, 0, 0
  local function send()
    if bucket == 0 or hosts * each == 1 then return end
    local seconds = slower * forecast.sum_seconds(bucket, hosts, each, o)
    free, bucket, messages = math.max(free, now) + seconds, 0, messages + seconds
  end
  for _, step in ipairs(steps) do
    local seconds = slower * (o.device == "here" and measured_seconds(step, parts)
      or forecast.sheet_seconds(step, o, parts))
    if step.updates then updates = updates + seconds
    else now = now + seconds end
    bucket = bucket + step.gradient
    if bucket >= o.bucket * 1e6 then send() end
  end
  send()
  local back = hides and math.max(now, free) or now + messages
  return { seconds = back + updates, work = now + updates, messages = messages,
    waits = back - now }
end

-- ---- the report ----

local function sizes(o)
  local list, n = {}, 1
  while n < o.each do
    list[#list + 1], n = { 1, n }, 2 * n
  end
  n = 1
  while n < o.hosts do
    list[#list + 1], n = { n, o.each }, 2 * n
  end
  list[#list + 1] = { o.hosts, o.each }
  return list
end

local HEAD = "%10s %9s %9s %8s %9s %11s %11s %9s"
local ROW = "%10s %9.2f %9.2f %8.2f %8.1f%% %11.1f %10.0f%% %9.1f"

local function memory_of(found, devices, o)
  local parts = o.batch == "whole" and devices or 1
  local bucket = devices > 1 and math.min(o.bucket * 1e6, found.gradients) or 0
  return found.variables + found.temporaries / parts + bucket
end

--- The table for what was asked, of what the plan does.
function forecast.text(found, o)
  local one = forecast.step(found.steps, 1, 1, o)
  local lines = { HEAD:format("devices", "ms/step", "work ms", "sums ms", "waiting", "samples/s",
    "efficiency", "MB each") }
  for _, size in ipairs(sizes(o)) do
    local n = size[1] * size[2]
    local s = forecast.step(found.steps, size[1], size[2], o)
    local batch = o.batch == "whole" and found.batch or found.batch * n
    local alone = o.batch == "whole" and one.seconds / n or one.seconds
    lines[#lines + 1] = ROW:format(("%dx%d"):format(size[1], size[2]), s.seconds * 1e3,
      s.work * 1e3, s.messages * 1e3, 100 * s.waits / s.seconds, batch / s.seconds,
      100 * alone / s.seconds, memory_of(found, n, o) / 1e6)
  end
  return table.concat(lines, "\n")
end

-- Steps of the plan with what they took here on arrays of zeros.
local function measure(entry, steps, inputs)
  local RUNS = 5
  local run = function() core.run(entry.plan, unpack(inputs)) end
  for _ = 1, 2 do run() end
  profile.start()
  for _ = 1, RUNS do run() end
  local rows, ok, err = profile.finish()
  if not ok then error(err, 0) end
  local seconds = {}
  for _, row in ipairs(rows) do seconds[row.name .. " " .. row.op] = row.seconds / row.runs end
  for _, step in ipairs(steps) do step.seconds = seconds[step.name .. " " .. step.op] or 0 end
end

local function zeros(self, shapes)
  local list = {}
  for i, input in ipairs(self._inputs) do
    list[i] = require("jfl.nd.array").zeros(shapes[i], input.type.dtype)
  end
  return list
end

-- Fails where the job has several devices of a kind, or other processes: a forecast is made from
-- the steps of one.
local function check_alone(self, steps)
  local first = {}
  for _, step in ipairs(steps) do
    local device = step.device
    local kind = device:match("^%a+")
    local between = kind == "net" or kind == "nccl"
    first[kind] = first[kind] or device
    if between or first[kind] ~= device then
      core.fail("plan-for: job '%s' must run on one device, got steps on %s; leave out --ranks, "
        .. "JFL_CPU_DEVICES and placements on several devices", self.name,
        between and "several ranks" or first[kind] .. " and " .. device)
    end
  end
end

local function tell(self, entry, shapes, o)
  local steps, variables, temporaries = core.plan_steps(entry.plan)
  check_alone(self, steps)
  o.threads = core.get("threads")
  if o.device == "here" then measure(entry, steps, zeros(self, shapes)) end
  local gradients = 0
  for _, step in ipairs(steps) do gradients = gradients + step.gradient end
  local batch = shapes[1] and shapes[1][1] or 1
  print(("job '%s': %d steps, batch of %d, gradients of %.1f MB; devices: %s, %s"):format(self.name,
    #steps, batch, gradients / 1e6, o.device == "here" and "as this one with "
      .. core.get("threads") .. " threads" or o.device .. " with products in " .. o.precision,
    o.batch == "each" and "each with such a batch" or "which share the batch"))
  print(forecast.text({ steps = steps, variables = variables, temporaries = temporaries,
    gradients = gradients, batch = batch }, o))
end

--- Makes the first train job that is compiled print what is asked and end the program. Returns a
-- function to call at the end of a program without one.
function forecast.start(text)
  local o = forecast.read(text)
  o.cores = core.get("threads")
  -- Makes calls that ask for several devices or machines do nothing: what is asked says how many.
  function choice.cpu() return 1 end
  function choice.gpu() end
  function env.machine() end
  core.set("passes", "-matmul_update")
  -- Plans for plain kernels have none of the conversions that fast ones of a CPU want.
  if o.device ~= "here" then core.set("kernels", "reference") end
  local compile = plan.compile
  function plan.compile(self, key, shapes)
    local entry = compile(self, key, shapes)
    if self.type ~= "train" then return entry end
    queue.sync()
    tell(self, entry, shapes, o)
    os.exit(0)
  end
  return function() core.fail("plan-for: the program called no train job") end
end

return forecast
