-- onnx_out.lua FOLDER: writes the jobs of spec/lua/onnx/export_cases.lua as ONNX files, with inputs
-- and results of two batch sizes beside each, for scripts/oracles/onnx_out.py to compare:
--
--   build/jfl scripts/oracles/onnx_out.lua /tmp/onnx
--   python3 scripts/oracles/onnx_out.py /tmp/onnx
local flow = require "jfl"
local cases = require "spec.lua.onnx.export_cases"
local helper = require "spec.lua.onnx.export_helper"

local folder, only = arg[1], arg[2]

local function save(case, times, path)
  local job, arrays = helper.job(case, times)
  for i, result in ipairs(helper.results(job, arrays)) do arrays["result" .. i] = result end
  flow.ndarray.save(("%s.%d.npz"):format(path, times), arrays)
  return job
end

local failed = 0
for _, case in ipairs(cases) do
  if not only or case.name:find(only) then
    local path = ("%s/%s"):format(folder, case.name)
    local ok, err = pcall(function()
      local job = save(case, 1, path)
      if not case.fixed then save(case, 2, path) end
      flow.onnx.export(job, path .. ".onnx", { batch_size = not case.fixed and "any" or nil })
    end)
    if not ok then
      failed = failed + 1
      print(("%s: %s"):format(case.name, tostring(err)))
    end
    flow.clear_default_session()
  end
end
print(("%d cases, %d not written"):format(#cases, failed))
