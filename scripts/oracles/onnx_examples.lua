-- onnx_examples.lua FOLDER SCRIPT [WORD]...: runs an example with its words and writes each of its
-- predict jobs as an ONNX file at its first call, beside it the arguments and results of that call,
-- for scripts/oracles/onnx_out.py to compare. Train jobs take two steps, and give what the last one
-- gave from then on.
--
--   build/jfl scripts/oracles/onnx_examples.lua /tmp/onnx examples/gpt.lua 3 layers=2 size=64
local flow = require "jfl"

local folder, script = arg[1], arg[2]
local STEPS = 2

local define = flow.global_function
local stem = script:match("([^/]*)%.lua$")

local function save(job, args, result)
  local arrays, inputs = {}, job._inputs
  for i, input in ipairs(inputs) do
    local value = args[i]
    if type(value) == "table" then
      value = flow.ndarray.array(value, { dtype = input.type.dtype })
    end
    arrays[input.name] = value
  end
  local n = 0
  local function add(each)
    if type(each) ~= "table" then
      n = n + 1
      arrays["result" .. n] = each
      return
    end
    for _, value in ipairs(each) do add(value) end
  end
  add(result)
  local path = ("%s/%s-%s"):format(folder, stem, job.name)
  local ok, err = pcall(flow.onnx.export, job, path .. ".onnx")
  if not ok then return print(("%s: %s"):format(path, err)) end
  flow.ndarray.save(path .. ".1.npz", arrays)
  print("wrote " .. path .. ".onnx")
end

-- What stands for a job in the script.
local function watched(job)
  local calls, last = 0, nil
  return setmetatable({}, {
    __index = function(_, key)
      local value = job[key]
      if type(value) ~= "function" then return value end
      return function(_, ...) return value(job, ...) end
    end,
    __call = function(_, ...)
      calls = calls + 1
      if job.type == "train" and calls > STEPS then return unpack(last) end
      last = { job(...) }
      if job.type == "predict" and calls == 1 then
        save(job, { ... }, #last == 1 and last[1] or last)
      end
      return unpack(last)
    end,
  })
end

rawset(flow, "global_function", function(...)
  local made = define(...)
  if type(made) == "function" then return function(...) return watched(made(...)) end end
  return watched(made)
end)

table.remove(arg, 1)
table.remove(arg, 1)
rawset(arg, 0, script)
assert(loadfile(script))(unpack(arg))
