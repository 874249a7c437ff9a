-- beside.lua SCRIPT STEPS [ARGUMENT...]: runs a script twice from one seed, on the CPU and on a
-- GPU, and prints the losses of its training job side by side, step by step. The GPU is the
-- emulated one of `make emulated`, or with JFL_BESIDE=gpu one that is there. The last line says
-- how far apart they came; more than a thousandth is a failure.
local script, steps = ...
local MOST = 1e-3
steps = tonumber(steps)

--- ---- one run ----

--- The loss among what a call gave: its first array.
local function loss_of(result)
  if type(result) ~= "table" then return result:mean() end
  return loss_of(result.loss or result[1])
end

--- Runs the script, whose training job prints each loss, and ends after so many.
local function run(...)
  local flow = require "jfl"
  local jobs = require "jfl.job.job"             -- models make their jobs by it, too
  local make, count = jobs.global_function, 0
  flow.random.seed(11)
  jobs.global_function = function(t)
    local job = make(t)
    if t.type ~= "train" then return job end
    local function call(_, ...)
      local results = { job(...) }
      count = count + 1
      print(("\nloss %d %.6f"):format(count, loss_of(results[1])))
      if count == 1 then print(job:plan():match "^plan of [^\n]* on ([^\n]-): ") end
      if count == steps then os.exit(0) end
      return unpack(results)
    end
    return setmetatable({}, { __call = call, __index = function(_, name)
      return function(_, ...) return job[name](job, ...) end
    end })
  end
  flow.global_function = jobs.global_function
  assert(loadfile(script))(...)
end

if os.getenv "JFL_BESIDE" == "one" then
  rawset(_G, "arg", { [0] = script, select(3, ...) })
  return run(select(3, ...))
end

--- ---- both, beside each other ----

assert(steps, "usage: beside.lua SCRIPT STEPS [ARGUMENT...]")
local words = {}
for i, word in ipairs { ... } do words[i] = "'" .. word:gsub("'", "'\\''") .. "'" end
local command = ("%s scripts/beside.lua %s 2>&1"):format("build/jfl", table.concat(words, " "))

--- The losses of a run with such an environment, and all that it printed.
local function losses(environment)
  local pipe = assert(io.popen(("env JFL_BESIDE=one %s %s"):format(environment, command)))
  local text, list = pipe:read "*a", {}
  pipe:close()
  for loss in text:gmatch "\nloss %d+ (%S+)" do list[#list + 1] = tonumber(loss) end
  return list, text
end

local EMULATED = "LD_LIBRARY_PATH=build/emulated XDG_CACHE_HOME=\"$PWD/build/cache\" "
local there = (os.getenv "JFL_BESIDE" == "gpu" and "" or EMULATED) .. "JFL_TF32=0 JFL_DEVICE=gpu"
-- What the script places on a GPU runs on the CPU where none is to be seen.
local want, said = losses "CUDA_VISIBLE_DEVICES= JFL_DEVICE=cpu"
local got, there_said = losses(there)
if #want < steps or #got < steps or not there_said:find("\ngpu:0", 1, true) then
  print(#want < steps and said or there_said)
  os.exit(1)
end

local most = 0
print "step          CPU          GPU    relative difference"
for i = 1, steps do
  local apart = math.abs(got[i] - want[i]) / math.max(math.abs(want[i]), 1e-6)
  most = math.max(most, apart)
  print(("%4d %12.6f %12.6f %12.2g"):format(i, want[i], got[i], apart))
end
print(("%s: at most %.2g apart"):format(script, most))
os.exit(most <= MOST and 0 or 1)
