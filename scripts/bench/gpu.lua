-- gpu.lua [small]: the models of the bench on a GPU, here and in PyTorch, measured in turn:
-- medians, their ratio, peak memory of both, and the share of what gpu_roof.lua finds. `small` has
-- models that an emulated GPU can run. JFL_PEER is the Python that has PyTorch;
-- JFL_BENCH_LEFT the seconds that it all may take.
local core = require "jfl.core"

local PYTHON = os.getenv "JFL_PEER" or "python3"
local LEFT = tonumber(os.getenv "JFL_BENCH_LEFT" or 240)
local SMALL = (...) == "small"
local began = core.now()

-- FLOP of a training step: three times those of the forward pass, two for each multiplication;
-- ResNet-50 has 4.09e9 of these a picture, LeNet 13.5e6, the MLP 407e3; GPT-2 six for each weight
-- and token, and what attention to half of 1,024 places adds in 12 layers of 768.
local models = {
  { "mlp", "float32", "MLP 784-512-10, batch 100", 6 * 407e3 * 100 },
  { "lenet", "float32", "LeNet, batch 100", 6 * 13.5e6 * 100 },
  { "resnet50_256", "bfloat16", "ResNet-50, bf16, batch 256", 6 * 4.09e9 * 256 },
  { "gpt2_64", "bfloat16", "GPT-2 124M, bf16, 64 x 1024",
    (6 * 124e6 + 6 * 12 * 1024 * 768) * 65536 },
}
if SMALL then
  models = { { "mlp1", "float32", "MLP, batch 1", 6 * 407e3 },
    { "mlp", "bfloat16", "MLP, bf16, batch 100", 6 * 407e3 * 100 } }
end

--- ---- what runs, and the memory that it takes meanwhile ----

local function seconds_left() return LEFT - (core.now() - began) end

local function output_of(command)
  local pipe = io.popen(command)
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local WATCH = "nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits"

local function used_now() return tonumber(output_of(WATCH .. " 2>/dev/null"):match "%d+") end

--- Runs a command that prints milliseconds; gives them and the MiB that the GPU's memory held more
--- than before, where that can be asked.
local function measure(command)
  local before, log = used_now(), os.tmpname()
  local watcher = before and output_of(("%s -lms 100 >'%s' 2>/dev/null & echo $!"):format(WATCH,
    log)):match "%d+"
  local text = output_of(("timeout %d %s 2>'%s.err'"):format(math.max(1, math.floor(
    seconds_left())), command, log))
  local most = 0
  if watcher then
    os.execute("kill " .. watcher)
    for line in io.lines(log) do most = math.max(most, tonumber(line:match "%d+") or 0) end
  end
  local ms = tonumber(text:match "%d+%.%d+")
  if not ms then
    for line in io.lines(log .. ".err") do io.stderr:write("  ", line, "\n") end
  end
  os.remove(log)
  os.remove(log .. ".err")
  return ms, before and most - before
end

local function ours(name, dtype)
  return measure(("env JFL_DEVICE=gpu %s scripts/bench/steps.lua %s '' %s"):format(arg[-1], name,
    dtype))
end

local function theirs(name, mode, dtype)
  return measure(("%s scripts/bench/peer_gpu.py %s %s %s 3"):format(PYTHON, name, mode, dtype))
end

--- ---- the table ----

local has_peer = output_of(PYTHON .. " -c 'import torch; print(torch.cuda.is_available())' "
  .. "2>/dev/null"):find "True"
if not has_peer then print "PyTorch with a GPU is not here: only our side is measured" end

local roof_sizes = SMALL and "64 10000" or ""
local tflops, bytes = output_of(("JFL_DEVICE=gpu %s scripts/bench/gpu_roof.lua %s"):format(arg[-1],
  roof_sizes)):match "(%S+) TFLOP/s (%S+) GB/s"
print(("roof: %s TFLOP/s of bfloat16, %s GB/s"):format(tflops or "-", bytes or "-"))

local row = "%-28s %9s %9s %9s %6s %7s %9s %9s"
print(row:format("", "jfl ms", "eager ms", "compile", "ratio", "of roof", "jfl MiB", "peer MiB"))
local function shown(format, v) return v and format:format(v) or "-" end

for _, model in ipairs(models) do
  local name, dtype, title, flop = unpack(model)
  if seconds_left() < 10 then
    print(title .. ": left out, as no time is left")
  else
    local mine, memory = ours(name, dtype)
    local eager, compiled, peak
    if has_peer then
      eager = theirs(name, "eager", dtype)
      compiled, peak = theirs(name, "compile", dtype)
      local again = ours(name, dtype)
      mine = mine and again and math.min(mine, again) or mine or again
    end
    local best = compiled and eager and math.min(compiled, eager) or compiled or eager
    local share = mine and tonumber(tflops) and flop / (mine / 1e3) / (tonumber(tflops) * 1e12)
    print(row:format(title, shown("%.3f", mine), shown("%.3f", eager), shown("%.3f", compiled),
      shown("%.2f", mine and best and mine / best), shown("%.0f %%", share and 100 * share),
      shown("%d", memory), shown("%d", peak)))
    io.stdout:flush()
  end
end
