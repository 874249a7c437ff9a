-- Predictions of models in ONNX files, here, in onnxruntime and in OpenVINO: milliseconds a call,
-- measured in turn, and the ratio to the better of both.
--   jfl scripts/bench/onnx.lua FOLDER [MODEL...]
-- A model is "bert_base", one that torchvision has, or such a one quantized by onnxruntime, as
-- "resnet50_int8"; scripts/bench/peer_onnx.py writes the files that are not there. The Python is
-- that of scripts/bench/setup, or the one in JFL_PEER. Each number is the least of the medians of
-- three turns, since other work on the machine only adds time.
local CLEAN = "env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS"
local PYTHON = os.getenv "JFL_PEER" or "build/peer/bin/python3"
local ROUNDS, SECONDS = 3, 1.5
local MODELS = { "resnet50", "mobilenet_v2", "vit_b_16", "bert_base" }

-- ---- one model in this process ----

local function inputs_of(flow, report)
  local types, values = {}, {}
  for i, input in ipairs(report.inputs) do
    local shape = { unpack(input.shape) }
    for k, extent in ipairs(shape) do shape[k] = type(extent) == "number" and extent or 1 end
    types[i] = flow.typing.Numpy.Placeholder(shape, { dtype = input.dtype })
    values[i] = flow.ndarray.ones(shape, input.dtype)
  end
  return types, values
end

local function median_of(job, values, seconds)
  local now = require("jfl.core").now
  local times, stop = {}, now() + seconds
  for _ = 1, 3 do job(unpack(values)) end
  while now() < stop or #times < 5 do
    local start = now()
    job(unpack(values))
    times[#times + 1] = now() - start
  end
  table.sort(times)
  return times[math.ceil(#times / 2)] * 1000
end

if arg[1] == "--one" then
  local flow = require "jfl"
  flow.config.threads(tonumber(arg[3]))
  local types, values = inputs_of(flow, flow.onnx.check(arg[2]))
  local job = flow.onnx.load(arg[2]):predict { inputs = types }
  print(median_of(job, values, tonumber(arg[4])))
  return
end

-- ---- in turn ----

local function number_of(command)
  local pipe = io.popen(CLEAN .. " " .. command .. " 2>/dev/null")
  local text = pipe:read "*a"
  pipe:close()
  return tonumber((text:match "^%S+"))
end

local function measure(path, threads)
  local least = {}
  for _ = 1, ROUNDS do
    local took = {
      ours = number_of(("%s scripts/bench/onnx.lua --one %s %d %g"):format(arg[-1], path, threads,
        SECONDS)),
    }
    for _, peer in ipairs { "onnxruntime", "openvino" } do
      took[peer] = number_of(("%s scripts/bench/peer_onnx.py %s %s %d %g"):format(PYTHON, path,
        peer, threads, SECONDS))
    end
    for who, ms in pairs(took) do least[who] = math.min(ms, least[who] or ms) end
  end
  return least
end

local function load_of()
  local file = io.open "/proc/loadavg"
  local text = file and file:read "*l" or ""
  if file then file:close() end
  return text:match "^%S+" or "unknown"
end

local function shown(ms) return ms and ("%9.2f"):format(ms) or "     none" end

local folder = assert(arg[1], "which folder has the models?")
local models = #arg > 1 and { unpack(arg, 2) } or MODELS
os.execute(("%s scripts/bench/peer_onnx.py %s write %s >/dev/null 2>&1"):format(PYTHON, folder,
  table.concat(models, " ")))
print(("load %s at the beginning"):format(load_of()))
print("model              threads  jfl ms  onnxruntime  openvino    jfl / better of both")
for _, name in ipairs(models) do
  for threads = 1, 2 do
    local t = measure(("%s/%s.onnx"):format(folder, name), threads)
    local better = math.min(t.onnxruntime or math.huge, t.openvino or math.huge)
    print(("%-18s %d %s %s %s    %s"):format(name, threads, shown(t.ours), shown(t.onnxruntime),
      shown(t.openvino), t.ours and ("%.2f"):format(t.ours / better) or "none"))
    io.stdout:flush()
  end
end
print(("load %s at the end"):format(load_of()))
