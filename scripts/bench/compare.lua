-- The bench: each model's median step here and in PyTorch, measured in turn, and their ratio.
--   jfl scripts/bench/compare.lua [model...]
-- The peer is the PyTorch that scripts/bench/setup installs, or that of the Python in JFL_PEER, and
-- for predictions OpenVINO; of its settings the best counts. What the environment chooses for BLAS
-- libraries is taken out on both sides. Behind them: what bfloat16 makes of our steps.
local CLEAN = "env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS"
local PYTHON = os.getenv "JFL_PEER" or "build/peer/bin/python3"
local ROUNDS = 3

local models = {
  { "lenet", "LeNet, batch 100, training step" },
  { "mlp", "MLP 784-512-10, batch 100, training step" },
  { "lenet1", "LeNet, batch 1, training step" },
  { "mlp1", "MLP, batch 1, training step" },
  { "predict1", "LeNet, batch 1, prediction" },
  { "resnet50", "ResNet-50, batch 16, training step" },
  { "resnet50_predict1", "ResNet-50, batch 1, prediction" },
  { "gpt2", "GPT-2 124M, 4 x 64 words, training step" },
  { "bert_predict1", "BERT-base, 1 x 128 words, prediction" },
}
local in_bfloat16 = { resnet50 = true, gpt2 = true }
local calls = {
  { "tiny", "two adds of 4 numbers, a synchronous call" },
  { "tiny_async", "the same, asynchronous with a callback" },
}

--- The number that a command prints, or nil.
local function number_of(command)
  local pipe = io.popen(command .. " 2>/dev/null")
  local text = pipe:read "*a"
  pipe:close()
  return tonumber(text)
end

local function ours(name, dtype)
  local threads = dtype and 2 or ""
  return number_of(("%s %s scripts/bench/steps.lua %s %s %s"):format(CLEAN, arg[-1], name, threads,
    dtype or ""))
end

--- Settings to try: threads, layouts of images, eager or compiled, OpenVINO.
local function settings(name)
  local list = {}
  local images = not (name:find "mlp" or name:find "gpt" or name:find "bert")
  for _, threads in ipairs { 1, 2 } do
    for _, layout in ipairs { "contiguous", "channels_last" } do
      for _, mode in ipairs { "eager", "compile", "openvino" } do
        if (layout == "contiguous" or images and mode ~= "openvino")
            and (mode ~= "openvino" or name:find "predict") then
          list[#list + 1] = { threads = threads, layout = layout, mode = mode }
        end
      end
    end
  end
  return list
end

local function peer(name, s, seconds)
  return number_of(("%s %s scripts/bench/peer_steps.py %s %d %s %s %g"):format(CLEAN, PYTHON, name,
    s.threads, s.layout, s.mode, seconds))
end

local function best_setting(name)
  local best, least
  for _, s in ipairs(settings(name)) do
    local ms = peer(name, s, 1)
    if ms and (not least or ms < least) then best, least = s, ms end
  end
  return best
end

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

--- Medians of rounds that alternate: ours, theirs, ours, ...
local function in_turn(name, setting)
  local mine, theirs = {}, {}
  for _ = 1, ROUNDS do
    mine[#mine + 1] = ours(name)
    theirs[#theirs + 1] = setting and peer(name, setting, 3)
  end
  return median(mine), median(theirs)
end

local wanted = {}
for _, name in ipairs(arg) do wanted[name] = true end
local function is_wanted(name) return not next(wanted) or wanted[name] end

local have_peer = number_of(PYTHON .. " -c 'import torch; print(1)'")
if not have_peer then
  print "PyTorch is not here (scripts/bench/setup installs it): only our side is measured"
end
local row = "%-42s %8s %10s %6s  %s"
print(row:format("", "jfl ms", "peer ms", "ratio", "its threads, layout, mode"))
for _, model in ipairs(models) do
  if is_wanted(model[1]) then
    local s = have_peer and best_setting(model[1])
    local mine, theirs = in_turn(model[1], s)
    print(row:format(model[2], ("%.3f"):format(mine), theirs and ("%.3f"):format(theirs) or "-",
      theirs and ("%.2f"):format(mine / theirs) or "-",
      s and ("%d, %s, %s"):format(s.threads, s.layout, s.mode) or ""))
    io.stdout:flush()
  end
end
print(("\n%-42s %8s %10s %6s"):format("", "float32", "bfloat16", "ratio"))
for _, model in ipairs(models) do
  if in_bfloat16[model[1]] and is_wanted(model[1]) then
    local wide, brief = {}, {}
    for i = 1, ROUNDS do
      wide[i], brief[i] = ours(model[1], "float32"), ours(model[1], "bfloat16")
    end
    print(row:format(model[2], ("%.3f"):format(median(wide)), ("%.3f"):format(median(brief)),
      ("%.2f"):format(median(brief) / median(wide)), ""))
    io.stdout:flush()
  end
end
print(("\n%-42s %8s"):format("", "us a call"))
for _, call in ipairs(calls) do
  if is_wanted(call[1]) then print(("%-42s %8.3f"):format(call[2], ours(call[1]))) end
end

print(("\nSteps: the fastest round, beside peaks measured meanwhile; cached: faster than memory"
  .. "\n%s scripts/bench/ops.lua lenet mlp"):format(arg[-1]))
io.stdout:flush()
for _, name in ipairs { "lenet", "mlp" } do
  if is_wanted(name) then
    os.execute(("%s %s scripts/bench/ops.lua %s"):format(CLEAN, arg[-1], name))
  end
end
