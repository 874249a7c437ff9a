-- roof.lua [MODEL [DEVICE]]: how fast a training step could be on GPUs that are not here. For each
-- model: the steps of its plan, what these launch (kernels, fills, and calls of libraries, which
-- may launch several), the operations and the bytes of what they read and write, and for each GPU
-- the least milliseconds by its data sheet (each step as quick as its products or its memory
-- allow), those expected (`forecast` in lua/jfl/tools says what kernels reach), and which share of
-- its operations per second products then make (MFU).
-- Of one model: which kinds of steps take the time on the device, h100 if none is given.
-- `make roof MODEL=gpt2_16` makes the plans for the emulated GPU, which then computes nothing and
-- has memory for any size.
local ffi = require "ffi"

local core = require "jfl.core"
local flow = require "jfl"
local forecast = require "jfl.tools.forecast"

local profile = require "jfl.tools.profile"

ffi.cdef "int64_t emulated_launches(void);"
local driver = ffi.load "libcuda.so.1"

local models = dofile "scripts/bench/models.lua"

local ORDER = {
  { "lenet", "LeNet b100", "tf32" }, { "resnet50_256", "ResNet-50 b256", "bfloat16" },
  { "gpt2_16", "GPT-2 16x1024", "bfloat16" }, { "bert", "BERT 32x128", "bfloat16" },
  { "lstm", "LSTM 32x32", "tf32" },
}
local DEVICES = { "t4", "a100", "h100", "h200", "rtx4090" }

--- The steps of a model's plan, and the job of it.
local function steps_of(name, precision)
  flow.clear_default_session()
  flow.config.enable_auto_mixed_precision(precision == "bfloat16" and "bfloat16" or false)
  local job = models[name](true):compile()
  return core.plan_steps(job._latest.plan), job
end

--- What a step of the job launches: of the second run, whose steps are queued one by one for the
-- profile; the first makes variables.
local function launches_of(job)
  local inputs = {}
  for i, input in ipairs(job._inputs) do
    inputs[i] = flow.ndarray.zeros(input.type.shape, input.type.dtype)
  end
  job(unpack(inputs))
  profile.start()
  local before = driver.emulated_launches()
  job(unpack(inputs))
  local n = tonumber(driver.emulated_launches() - before)
  profile.finish()
  return n
end

-- Libraries' products and convolutions use the precision; other operations are of float32.
local function precision_of(step, precision)
  return step.kernel:find "^cu[bd]" and precision or "float32"
end

--- Adds up least and expected seconds, and the operations of products.
local function sum(steps, launches, device, precision)
  local least, expected, flop = 0, (launches - #steps) * forecast.LAUNCH, 0
  for _, step in ipairs(steps) do
    local own = precision_of(step, precision)
    least = least + forecast.least_seconds(step, device, own)
    expected = expected + forecast.sheet_seconds(step, { device = device, precision = own }, 1)
    if own == precision then flop = flop + step.flop end
  end
  local _, best = forecast.least_seconds(steps[1], device, precision)
  return least, expected, flop / best
end

local function totals(steps)
  local flop, bytes = 0, 0
  for _, step in ipairs(steps) do flop, bytes = flop + step.flop, bytes + step.bytes end
  return flop / 1e12, bytes / 1e9
end

local function print_all()
  local head = ("%-15s %5s %8s %8s %7s"):format("", "steps", "launches", "TFLOP", "GB")
  for _, device in ipairs(DEVICES) do head = head .. ("  | %21s"):format(device .. " ms, MFU") end
  print(head)
  for _, m in ipairs(ORDER) do
    local steps, job = steps_of(m[1], m[3])
    local launches = launches_of(job)
    local line = ("%-15s %5d %8d %8.4f %7.2f"):format(m[2], #steps, launches, totals(steps))
    local below = ("%-47s"):format "  expected"
    for _, device in ipairs(DEVICES) do
      local least, expected, at_best = sum(steps, launches, device, m[3])
      local cell = "  | %13.2f %6.1f%%"
      line = line .. cell:format(1e3 * least, 100 * at_best / least)
      below = below .. cell:format(1e3 * expected, 100 * at_best / expected)
    end
    print(line .. "\n" .. below)
  end
end

--- Which kinds of steps take the time.
local function print_one(name, precision, device)
  local steps, job = steps_of(name, precision)
  local kinds, by = {}, {}
  for _, step in ipairs(steps) do
    local kind = by[step.op]
    if not kind then
      kind = { op = step.op, kernel = step.kernel, n = 0, flop = 0, bytes = 0, least = 0 }
      by[step.op], kinds[#kinds + 1] = kind, kind
    end
    kind.n, kind.flop, kind.bytes = kind.n + 1, kind.flop + step.flop, kind.bytes + step.bytes
    kind.least = kind.least + forecast.least_seconds(step, device, precision_of(step, precision))
  end
  table.sort(kinds, function(a, b) return a.least > b.least end)
  print(("%5s %9s %8s %9s  %s, %s"):format("steps", "TFLOP", "GB", "least ms", name, device))
  for _, k in ipairs(kinds) do
    print(("%5d %9.4f %8.3f %9.3f  %s by %s"):format(k.n, k.flop / 1e12, k.bytes / 1e9,
      1e3 * k.least, k.op, k.kernel))
  end
  print(("%5d launches of %d steps"):format(launches_of(job), #steps))
end

local name, device = ...
for _, m in ipairs(ORDER) do
  if m[1] == name then return print_one(name, m[3], device or "h100") end
end
if name then core.fail("roof: no model is called '%s'", name) end
print_all()
