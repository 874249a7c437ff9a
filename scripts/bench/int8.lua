-- Predictions of ResNet-50 in float32 and in int8, here and in OpenVINO, if scripts/bench/setup or
-- JFL_PEER has it: milliseconds a call by the clock, the median, and by the processor's time of all
-- threads, the least, which tells more on a busy machine.
--   jfl scripts/bench/int8.lua [batch [threads]]
local core = require "jfl.core"
local flow = require "jfl"

local BATCH, THREADS = tonumber(arg[1] or 1), tonumber(arg[2] or 2)
local CLEAN = "env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS "
local PYTHON = os.getenv "JFL_PEER" or "build/peer/bin/python3"
local SECONDS, ROUNDS = 3, 2

flow.config.threads(THREADS)
flow.random.seed(1)

local function print_row(name, clock, used)
  print(("%-18s %8.1f %8.1f"):format(name, clock, used))
end

local function measure(name, job, x)
  local times, least, stop = {}, math.huge, core.now() + SECONDS
  for _ = 1, 3 do job(x) end
  while core.now() < stop or #times < 5 do
    local start, used = core.now(), os.clock()
    job(x)
    times[#times + 1], least = core.now() - start, math.min(least, os.clock() - used)
  end
  table.sort(times)
  print_row(name, times[math.ceil(#times / 2)] * 1000, least * 1000)
end

local function run(command) return os.execute(CLEAN .. PYTHON .. " " .. command) == 0 end

-- Has OpenVINO run the model; in int8 as NNCF makes it.
local function measure_peer(folder)
  local float, int8 = folder .. "/float32.onnx", folder .. "/int8.xml"
  if not run(("scripts/bench/peer_onnx.py %s int8 %s >/dev/null 2>&1"):format(float, int8)) then
    return print "OpenVINO and NNCF are not there: scripts/bench/setup installs them"
  end
  return function()
    for _, each in ipairs { { "OpenVINO float32", float }, { "OpenVINO int8", int8 } } do
      local form = "%s%s scripts/bench/peer_onnx.py %s openvino %d %g 2>/dev/null"
      local pipe = io.popen(form:format(
        CLEAN, PYTHON, each[2], THREADS, SECONDS))
      local clock, used = pipe:read("*a"):match "(%S+) (%S+)"
      pipe:close()
      if clock then print_row(each[1], tonumber(clock), tonumber(used)) end
    end
  end
end

local net = flow.models.resnet { depths = { 3, 4, 6, 3 }, num_labels = 1000 }
local input = flow.float32 { BATCH, 3, 224, 224 }
local job = net:predict { name = "predict", inputs = { input } }
local x = flow.ndarray.rand({ BATCH, 3, 224, 224 }) * 2 - 1
local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir " .. folder)
flow.onnx.export(job, folder .. "/float32.onnx")
print(("%-18s %8s %8s"):format("", "ms", "CPU ms"))
measure("jfl float32", job, x)
flow.quantization.quantize(net, { form = "int8", job = job, batches = { x } })
local peer = measure_peer(folder)
for _ = 1, ROUNDS do
  measure("jfl int8", job, x)
  if peer then peer() end
end
os.execute("rm -r " .. folder)
