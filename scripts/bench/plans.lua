-- plans.lua MODEL [float32|bfloat16]: which kernels serve a training step of a model, and how many
-- of its steps each. With JFL_DUMP=plan the plan stands before that, with the kernels that were
-- refused and why.
local core = require "jfl.core"
local flow = require "jfl"

local models = dofile "scripts/bench/models.lua"

local name, dtype = ...
flow.config.enable_auto_mixed_precision(dtype == "bfloat16")
local list, by = {}, {}
for _, step in ipairs(core.plan_steps(models[name](true):compile()._latest.plan)) do
  local row = by[step.kernel]
  if not row then
    row = { kernel = step.kernel, n = 0 }
    by[step.kernel], list[#list + 1] = row, row
  end
  row.n = row.n + 1
end
table.sort(list, function(a, b) return a.n > b.n or (a.n == b.n and a.kernel < b.kernel) end)
for i, row in ipairs(list) do list[i] = ("%d %s"):format(row.n, row.kernel) end
print(("%s %s: %s"):format(name, dtype or "float32", table.concat(list, ", ")))
